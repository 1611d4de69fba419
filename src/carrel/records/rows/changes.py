"""Changes as rows; each side of a splice is compressed where that makes it shorter."""

import zlib
from typing import Any

from carrel.records.changes import SPLICE_BYTES, Change, Splice
from carrel.records.content import RecordDamaged, RecordTooLarge, as_written, named, whole
from carrel.records.rows.columns import FromText, from_moment, from_whole, to_moment, to_text

COLUMNS = (
    "at",
    "actor",
    "action",
    "store",
    "path",
    "before",
    "after",
    "start",
    "old",
    "old_size",
    "new",
    "new_size",
    "agent",
    "session",
    "reason",
    "state",
    "undoes",
    "revision",
    "line",
)
_FAST = 1
"""How hard to compress: prose is halved at once, and more effort gains little."""


def from_change(change: Change, text: FromText) -> tuple[Any, ...]:
    """Return the columns of a change; one that cannot be kept is refused."""
    return (
        from_moment(change.at),
        text(named(change.actor)),
        text(named(change.action)),
        change.store,
        text(named(change.path)),
        None if change.before is None else text(named(change.before)),
        None if change.after is None else text(named(change.after)),
        from_whole(change.splice.start),
        *_deflated(change.splice.old),
        *_deflated(change.splice.new),
        text(named(change.agent)),
        text(named(change.session)),
        text(whole(change.reason)),
        change.state,
        from_whole(change.undoes),
        text(named(change.commit)),
        from_whole(change.splice.line),
    )


@as_written("A change")
def to_change(row: tuple[Any, ...]) -> Change:
    """Return the change of a number and these columns."""
    number, at, actor, action, store, path, before, after, start, old, old_size, new, new_size, *rest = row
    agent, session, reason, state, undoes, revision, line = rest
    return Change(
        id=number,
        at=to_moment(at),
        actor=to_text(actor),
        action=to_text(action),
        store=store,
        path=to_text(path),
        before=None if before is None else to_text(before),
        after=None if after is None else to_text(after),
        splice=Splice(start, _inflated(number, old, old_size), _inflated(number, new, new_size), line),
        agent=to_text(agent),
        session=to_text(session),
        reason=to_text(reason),
        state=state,
        undoes=undoes,
        commit=to_text(revision),
    )


def _deflated(side: bytes) -> tuple[bytes, int]:
    """Return one side of a splice the shorter way, and how long it is."""
    size = len(side)
    if size > SPLICE_BYTES:
        hint = "Split the file: memory changes only files that are read as a whole."
        raise RecordTooLarge("A change of a file", size, SPLICE_BYTES, unit="bytes", hint=hint)
    return min(side, zlib.compress(side, _FAST), key=len), size


def _inflated(number: int, column: bytes, size: int) -> bytes:
    """Return one side of a splice; what somebody else put there takes no more room than one of ours."""
    if len(column) >= size:
        return column
    stream = zlib.decompressobj()
    try:
        side = stream.decompress(column, min(size, SPLICE_BYTES) + 1)  # to its end, where its checksum stands
    except zlib.error:
        side = b""
    if len(side) != size or not stream.eof:
        raise RecordDamaged(f"Change {number}")
    return side
