"""How values become columns, and columns values."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from carrel import plainjson
from carrel.records.content import pack

FromText = Callable[[str], str | bytes]
"""How an engine takes a text: as it is, or as bytes where it could not hold it otherwise."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_MOST = 2**63 - 1


def to_text(column: Any) -> str:
    """Return the text of a column; anything else is a TypeError."""
    if isinstance(column, bytes):
        return column.decode(errors="surrogatepass")
    if not isinstance(column, str):
        raise TypeError(f"{type(column).__name__} is no text")
    return column


def from_texts(texts: Sequence[str]) -> str:
    """Return the JSON of some texts."""
    return pack(texts)


def to_texts(column: str) -> tuple[str, ...]:
    """Return the texts of a JSON."""
    return tuple(plainjson.loads(column))


def from_moment(moment: datetime, later: timedelta = timedelta()) -> int:
    """Return an aware moment, or the one so much later, in microseconds; a naive one is a TypeError."""
    return min(max((moment - _EPOCH) // _MICROSECOND + later // _MICROSECOND, _FIRST), _LAST)


def to_moment(column: int) -> datetime:
    """Return the moment of a column, in UTC."""
    return _EPOCH + timedelta(microseconds=column)


def from_whole(number: int) -> int:
    """Return a whole number as a column takes it; beyond that there is no row and no limit anyway."""
    return min(max(number, -_MOST), _MOST)
