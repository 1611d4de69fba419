"""Changes that a person makes to files: put, move and discard, none of which can lose bytes."""

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from carrel.errors import CarrelError, Refused, Unavailable, UsageError
from carrel.files import READ_LIMIT, Content, FileStore, Stale, show
from carrel.files.disk import typed_failures
from carrel.files.durable import HASH_LIMIT
from carrel.files.folders import make_folders
from carrel.files.local import LocalFiles
from carrel.files.paths import is_own, new_name, refuse_long
from carrel.runtime.view import BARE, NoSuchPath, View, discreet, fetch, spelled
from carrel.workspace.scope import HiddenByScope

ABSENT = "absent"
"""What to expect of a file that must not exist yet."""

KEPT_BYTES = 1024 * 1024
"""The largest file whose changes can be undone."""


class Reserved(Refused):
    """The path is inside a folder that Carrel or git looks after."""

    code = "reserved"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} is inside a folder that Carrel or git keeps for itself.",
            hint="Change it with the program that it belongs to.",
        )
        self.path = path


class IsLink(Refused):
    """The path is a link, and what it leads to would be copied under a name that hides nothing."""

    code = "is_link"

    def __init__(self, path: str, target: str) -> None:
        super().__init__(
            f"{show(path)} is a link to {show(target)}, and is not moved.",
            hint="Move what it leads to, or make the link anew.",
        )
        self.path = path


class Written(Struct, frozen=True, kw_only=True):
    """A file that was put in place; `replaced` is the digest of what stood there, none when it is new.

    `change` is the number by which it can be undone; 0 where what stood there was not kept.
    """

    path: str
    digest: str
    size: int
    replaced: str | None
    change: int = 0


class Moved(Struct, frozen=True, kw_only=True):
    """A file that has another path now."""

    path: str
    target: str
    digest: str


class Discarded(Struct, frozen=True, kw_only=True):
    """A file that was removed, and where it is kept."""

    path: str
    digest: str
    kept: str


class Trash(Struct, frozen=True, kw_only=True):
    """Where removed files are kept: a store of its own, and how a person finds it."""

    store: FileStore
    place: str


def open_trash(state: Path) -> Trash:
    """Return the trash in a workspace's state directory, made where missing, for its owner's eyes only."""
    folder = state / "trash"
    with typed_failures(str(folder)):
        make_folders(folder, mode=0o700)
    return Trash(store=LocalFiles(folder), place=str(folder))


Keep = Callable[[str, bytes, Content | None], int]
"""Writes bytes over a content, keeping what it takes to undo that; returns the number of the change."""


def put(
    files: FileStore,
    path: str,
    data: bytes,
    *,
    expect: str | None = None,
    view: View = BARE,
    keep: Keep | None = None,
) -> Written:
    """Write a file over the content with the digest `expect`, which may be "absent".

    Without it, over what is there now: a change between this look and the write is still a conflict. What is
    large on either side is written without being kept.
    """
    path = changeable(path)
    found = _found(files, path, view, HASH_LIMIT)  # what has grown beyond all use can be made smaller
    now = found.digest if found else None
    if expect is None:
        expect = now or ABSENT
    before = None if expect == ABSENT else expect
    is_small = len(data) <= KEPT_BYTES and (found is None or len(found.data) <= KEPT_BYTES)
    if keep is None or not is_small or data == (found.data if found else None):
        digest, change = files.write(path, data, expect=before), 0
    elif before != now:
        raise Stale(path, expected=before, found=now)
    else:
        change, digest = keep(path, data, found), sha256(data).hexdigest()
    return Written(path=path, digest=digest, size=len(data), replaced=now, change=change)


def move(files: FileStore, source: str, target: str, *, view: View = BARE) -> Moved:
    """Give a file another path, which must be free; at every moment one of the two has the bytes.

    The copy is durable before the original goes. If the original stays, the copy goes.
    """
    source = changeable(source)
    if target.endswith("/"):
        target += source.rpartition("/")[2]
    target = changeable(target)
    content = _content(files, source, view)
    if content.target != source:
        raise IsLink(source, content.target)
    is_free = _found(files, target, view) is None
    try:
        files.write(target, content.data, expect=None)
    except Unavailable:
        if is_free:  # and it may have its name all the same
            _take_back(files, source, target, content.digest)
        raise
    try:
        files.remove(source, expect=content.digest)
    except CarrelError:
        _take_back(files, source, target, content.digest)
        raise
    return Moved(path=source, target=target, digest=content.digest)


def _take_back(files: FileStore, source: str, copy: str, digest: str) -> None:
    """Remove the copy, unless it is all there is: a removal may fail after the name has gone."""
    with suppress(CarrelError):
        if files.read(source) is not None:
            files.remove(copy, expect=digest)


def discard(
    files: FileStore, path: str, *, trash: Callable[[], Trash], now: datetime, view: View = BARE
) -> Discarded:
    """Remove a file, after a copy of it is durable in the trash, which is opened for nothing less."""
    path = changeable(path)
    content = _content(files, path, view, limit=HASH_LIMIT)
    moment = now.astimezone(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    place = f"{moment}-{content.digest[:8]}/{_portable(path)}"
    opened = trash()
    try:
        opened.store.write(place, content.data, expect=None)
    except Stale as error:
        if error.found != content.digest:
            raise
    files.remove(path, expect=content.digest)
    return Discarded(path=path, digest=content.digest, kept=f"{opened.place}/{place}")


def changeable(path: str) -> str:
    """Return a path that a person or an agent may change; what Carrel and git keep is refused."""
    path = spelled(path)
    if not path:
        raise UsageError("The root is not a file.", hint="Name a file inside the workspace.")
    if is_own(path):
        raise Reserved(path)
    return path


def _found(files: FileStore, path: str, view: View, limit: int = READ_LIMIT) -> Content | None:
    """Return what is at a path, refusing what this view may not see or what is not for people to change."""
    refuse_long(path, path)
    content = fetch(files, path, view=view, limit=limit)
    written = files.target(path)  # which may be elsewhere than what is read, or not there yet
    if is_own(written) or (content is not None and is_own(content.target)):
        raise Reserved(path)
    if view.hides and view.privacy is not None and view.privacy.covers_name(written):
        raise HiddenByScope(path)
    return content


def _content(files: FileStore, path: str, view: View, limit: int = READ_LIMIT) -> Content:
    with discreet(path, view):
        content = _found(files, path, view, limit)
    if content is None:
        raise NoSuchPath(path)
    return content


def _portable(path: str) -> str:
    """Return a path whose names may be made anywhere; one that may not is told by its digest."""
    return "/".join(_portable_name(name) for name in path.split("/"))


def _portable_name(name: str) -> str:
    try:
        new_name(name, name)
    except UsageError:
        return f"unportable-{sha256(os.fsencode(name)).hexdigest()[:8]}"
    return name
