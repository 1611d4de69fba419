"""One look at the index of a workspace: how it is, and what is due, in one statement."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from carrel.index.catalog import FORMAT
from carrel.index.postgres.desk import STATE, Desk, State, state_of
from carrel.index.postgres.segments import Listed, read_totals
from carrel.records.database import NewerFormat

_NAMES = STATE.split(", ")
_DUE = (
    "(SELECT count(*) FROM carrel.index_due d WHERE d.tenant = s.tenant AND d.workspace = s.workspace "
    "AND d.part = '{}')"
)
_LOOK = (
    f"SELECT {', '.join(f's.{name}' for name in _NAMES)}, {_DUE.format('words')}, {_DUE.format('vectors')}, "  # noqa: S608 - constants
    "EXISTS (SELECT FROM carrel.index_places p WHERE p.tenant = s.tenant AND p.workspace = s.workspace "
    "AND p.lack <> ''), g.segment, g.buckets, g.entries, g.totals "
    "FROM carrel.index_state s LEFT JOIN carrel.index_segments g ON g.tenant = s.tenant "
    "AND g.workspace = s.workspace WHERE s.tenant = %s AND s.workspace = %s"
)


class Seen(Struct, frozen=True, kw_only=True):
    """The index at one moment; what is due of the words and the vectors, and whether some files lack any."""

    state: State = State()
    words_due: int = 0
    vectors_due: int = 0
    is_lacking: bool = False
    segments: Sequence[Listed] = ()


def look(desk: Desk) -> Seen:
    """Return how the index is; one of a later format cannot be read, one of an earlier is as good as none."""
    rows = desk.rows(_LOOK)
    state = state_of(rows[0]) if rows else State()
    if state.format > FORMAT:
        raise NewerFormat(Path("index"), state.format)
    if state.format < FORMAT:
        return Seen()
    words_due, vectors_due, is_lacking = rows[0][len(_NAMES) : len(_NAMES) + 3]
    told = (row[len(_NAMES) + 3 :] for row in rows)
    return Seen(
        state=state,
        words_due=words_due,
        vectors_due=vectors_due,
        is_lacking=is_lacking,
        segments=[
            Listed(number, buckets, entries, read_totals(totals))
            for number, buckets, entries, totals in told
            if totals is not None
        ],
    )
