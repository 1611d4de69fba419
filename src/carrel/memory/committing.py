"""Changes as commits: in the order they were made, each with exactly what it did.

The bytes of every change are found again from its neighbours: back from the file as it is, or on from what
was committed last. Where neither leads to a change, since the file was edited by hand in between, the next
commit that is sure holds it too.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import takewhile

from msgspec import Struct

from carrel.files import FileStore, show
from carrel.files.history import Commits
from carrel.memory.splice import applied, digest_of, reverted
from carrel.records.changes import Change, Changes, UnknownChange

_MOST = 64
"""How many changes of one file become commits of their own; older ones are held by the first of these."""

Sides = tuple[bytes | None, bytes | None]
"""A file before and after a change."""


class Version(Struct, frozen=True):
    """A file as it was at some time, none where there was none, and its digest."""

    data: bytes | None
    digest: str | None


def commit_pending(
    path: str, *, changes: Changes, files: FileStore, commits: Commits, written: Version | None = None
) -> dict[int, str]:
    """Commit what was done to a file and is in no commit yet; return which commit holds which change.

    `written` is what was written just now, if anything was, and saves reading the file.
    """
    found = changes.list(store="workspace", path=path, committed=False, limit=_MOST)
    pending = in_order(list(takewhile(lambda change: change.state != "begun", reversed(found))))
    if not pending:
        return {}
    now = written if written and written.digest == pending[-1].after else _read(files, path)
    place = _place_of(files, path)
    sides = sides_of(pending, now=now, head=lambda: commits.content(place))
    kept: dict[int, str] = {}
    held: list[Change] = []
    done = _committed_already(pending, lambda: commits.content(place))
    for number, change in enumerate(pending):
        held.append(change)
        if number < done or change.id not in sides:
            continue
        before, after = sides[change.id]
        commit = commits.commit(place, after, before=before, message=message_of(change), at=change.at)
        if not commit:
            return kept
        kept |= _keep(changes, held, commit)
        held = []
    is_quiet = len(pending) == len(found)  # else whoever is writing commits these with their own
    if held and is_quiet:
        last = held[-1]
        commit = commits.commit(place, now.data, before=now.data, message=message_of(last), at=last.at)
        kept |= _keep(changes, held, commit)
    if len(found) == _MOST and pending[0].id in kept:
        _keep_older(changes, pending[0], kept[pending[0].id])
    return kept


def _committed_already(pending: Sequence[Change], head: Callable[[], bytes | None]) -> int:
    """Return how many changes the owner's own commit holds, but for the last of them, which finds it."""
    if len(pending) == 1 or (found := digest_of(head())) == pending[0].before:
        return 0
    return next((n for n in range(len(pending) - 1, -1, -1) if pending[n].after == found), 0)


def in_order(changes: Sequence[Change]) -> list[Change]:
    """Return changes in the order they were made: each begins with what the one before it left.

    Their numbers say so too, but for one that was begun again after another process took its writer for dead.
    """
    ordered: list[Change] = []
    rest = list(changes)
    while rest:
        if ordered:
            following = (change for change in rest if change.before == ordered[-1].after)
        else:
            left = {change.after for change in rest}
            following = (change for change in rest if change.before not in left)
        ordered.append(next(following, rest[0]))
        rest.remove(ordered[-1])
    return ordered


def sides_of(
    pending: Sequence[Change], *, now: Version, head: Callable[[], bytes | None]
) -> dict[int, Sides]:
    """Return the file before and after each change, as far as that can be known for sure."""
    found: dict[int, Sides] = {}
    data, digest = now.data, now.digest
    for change in reversed(pending):
        if digest != change.after:
            break
        found[change.id] = reverted(change, data), data
        data = found[change.id][0]
        if len(found) < len(pending):
            digest = digest_of(data)
    if len(found) == len(pending):
        return found
    data = head()
    for change in pending:
        if change.id in found or digest_of(data) != change.before:
            break
        found[change.id] = data, applied(change, data)
        data = found[change.id][1]
    return found


def message_of(change: Change) -> str:
    """Return what a commit says of a change; no word of it can pass for a line of its own."""
    about = [f"memory: {_line(change.action)} {show(change.path)}"]
    if reason := _line(change.reason):
        about += ["", reason]
    told = [("Actor", change.actor), ("Session", change.session), ("Change", str(change.id))]
    trailers = [f"{name}: {line}" for name, text in told if (line := _line(text))]
    return "\n".join((*about, "", *trailers)) + "\n"


def _line(text: str) -> str:
    return show(" ".join(text.split()))


def _read(files: FileStore, path: str) -> Version:
    content = files.read(path)
    return Version(content.data, content.digest) if content else Version(None, None)


def _place_of(files: FileStore, path: str) -> str:
    """Return where a path leads: a repository knows a file by that, and a link by its own path."""
    part = files.part(path, 0, 0)
    return part.target if part else path


def _keep(changes: Changes, held: Iterable[Change], commit: str) -> dict[int, str]:
    if not commit:
        return {}
    for change in held:
        with suppress(UnknownChange):  # it turned out not to have been made
            changes.keep_commit(change.id, commit)
    return dict.fromkeys((change.id for change in held), commit)


def _keep_older(changes: Changes, oldest: Change, commit: str) -> None:
    """Say of all changes before this one that its commit holds them: they are in what it began with."""
    before = oldest.id
    while older := changes.list(store="workspace", path=oldest.path, committed=False, before=before):
        _keep(changes, older, commit)
        before = older[-1].id
