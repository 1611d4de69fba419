"""Which commit a branch is at, and how it moves on: by compare-and-swap, under git's own lock."""

import os
import re
import stat
from contextlib import suppress

from msgspec import Struct

from carrel.files.durable import CHUNK, write_all
from carrel.files.git import LeftAlone, damaged, refused, waiting
from carrel.files.git.folder import Folder
from carrel.files.git.repository import REF_DRAFT

_ID = re.compile(r"[0-9a-f]{40}")
_BRANCH = re.compile(r"refs/heads(/(?![./])[^\0-\x20\x7f~^:?*\[\\/]{1,255})+")
_ODD = re.compile(r"\.\.|@\{|\.lock(/|\Z)|\.\Z|/-")
_PACKED_LIMIT = 16 * CHUNK
_NOTHING = "0" * 40


class Head(Struct, frozen=True):
    """The branch that is checked out, and the commit it is at; none before its first."""

    branch: str
    commit: str | None


def head_of(folder: Folder) -> Head:
    """Return the branch that commits go to; where there is none to go to, they wait."""
    text = _text(folder.read("HEAD"))
    if text is None:
        raise damaged(".git/HEAD is missing")
    if _ID.fullmatch(text):
        hint = "They are committed once a branch is checked out (git switch BRANCH)."
        raise waiting("no branch is checked out (HEAD is detached)", hint)
    name = text.removeprefix("ref:").strip()
    if name == text or not _BRANCH.fullmatch(name) or _ODD.search(name):
        raise damaged(".git/HEAD does not name a branch")
    return Head(name, _commit_of(folder, name))


def move(folder: Folder, head: Head, commit: str, who: str, subject: str) -> bool:
    """Move the branch to a commit, unless it, or what is checked out, is no longer what it was."""
    *names, leaf = head.branch.split("/")
    folder.draft(REF_DRAFT, f"{commit}\n".encode())
    with folder.inside(*names, make=True) as into:
        moved = folder.publish(REF_DRAFT, into, leaf, lambda: head_of(folder) == head)
    if moved:
        line = f"{head.commit or _NOTHING} {commit} {who}\tcommit: {subject}\n"
        for log in ("HEAD", head.branch):
            # It only tells how a branch came to be where it is.
            with suppress(OSError, LeftAlone):
                _note(folder, f"logs/{log}", line.encode(errors="replace"))
    return moved


def _commit_of(folder: Folder, branch: str) -> str | None:
    *names, leaf = branch.split("/")
    try:
        with folder.inside(*names) as within:
            text = _text(within.read(leaf))
    except FileNotFoundError:
        text = None
    if text is None:
        return _packed(folder, branch)
    if text.startswith("ref:"):
        raise refused(f"the branch {branch} is only another name")
    if not _ID.fullmatch(text):
        raise damaged(f"the branch {branch} names no commit")
    return text


def _packed(folder: Folder, branch: str) -> str | None:
    for line in (folder.read("packed-refs", _PACKED_LIMIT) or b"").split(b"\n"):
        commit, _, name = line.partition(b" ")
        if name == branch.encode() and _ID.fullmatch(text := commit.decode("ascii", "replace")):
            return text
    return None


def _text(data: bytes | None) -> str | None:
    """Return what a small file says; no branch or commit has a name that is not Unicode."""
    try:
        return None if data is None else data.decode().strip()
    except UnicodeDecodeError:
        return "?"


def _note(folder: Folder, path: str, line: bytes) -> None:
    """Add a line to a log that is kept; git begins one where it wants one."""
    *names, leaf = path.split("/")
    with folder.inside(*names) as logs:
        found = logs.look(leaf)
        if found is None or not stat.S_ISREG(found.st_mode):
            return
        fd = logs.disk.open(leaf, os.O_WRONLY | os.O_APPEND, 0, directory=logs.fd)
        try:
            write_all(logs.disk, fd, line)
        finally:
            os.close(fd)
