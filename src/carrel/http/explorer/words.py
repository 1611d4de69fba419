"""How values are told on a page: numbers, sizes and times, and addresses that keep what was chosen."""

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from carrel.workspace.scope import Scope

AT: ContextVar[datetime] = ContextVar("at")
"""When the page is made that is being made: by the workspace's clock, of which a filter knows nothing."""

_UNITS = ("B", "kB", "MB", "GB", "TB")
_STEP = 1_000
_AGES = ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))


def number(value: float | None) -> str:
    """Return a number with its thousands apart; what is not known is said so."""
    return "unknown" if value is None else f"{value:,}"


def many(value: int, what: str) -> str:
    """Return so many of something."""
    return f"{value:,} {what}{'' if value == 1 else 's'}"


def size(value: int | None) -> str:
    """Return a number of bytes as a person says it."""
    if value is None:
        return "unknown"
    amount, unit = float(value), _UNITS[0]
    for unit in _UNITS:  # noqa: B007 - the last one stands for all that is larger
        if amount < _STEP:
            break
        amount /= _STEP
    return f"{amount:.0f} {unit}" if unit == _UNITS[0] or amount >= 100 else f"{amount:.1f} {unit}"  # noqa: PLR2004


def percent(part: float, whole: float) -> str:
    """Return a share; a small one is not nothing."""
    if not whole:
        return "0 %"
    share = 100 * part / whole
    return "< 1 %" if 0 < share < 1 else f"{share:.0f} %"


def age(moment: datetime | str | None, now: datetime | None = None) -> str:
    """Return how long ago something was."""
    if moment is None or moment == "":
        return "never"
    at = _moment(moment)
    seconds = ((now or AT.get()) - at).total_seconds()
    for length, unit in _AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "now" if seconds > -60 else f"on {at:%Y-%m-%d}"  # noqa: PLR2004


def moment(value: datetime | str | None) -> str:
    """Return a time to the minute, in UTC."""
    return "never" if value is None or value == "" else f"{_moment(value):%Y-%m-%d %H:%M} UTC"


def path(value: str) -> str:
    """Return a path as a part of an address: the bytes of its name, which need not be Unicode."""
    try:
        return quote(value, safe="/", errors="surrogateescape")
    except UnicodeEncodeError:
        return quote(value, safe="/", errors="surrogatepass")  # no file is called that


def kept(agent: str | None, scope: Scope, **more: Any) -> str:
    """Return the query that keeps who is looked at, and with whose eyes, from page to page."""
    chosen = {"agent": agent, "scope": None if scope is Scope.MAIN else scope.value, **more}
    given = {name: value for name, value in chosen.items() if value not in (None, "", False)}
    return f"?{urlencode(given, errors='surrogatepass')}" if given else ""


def with_query(address: str, **more: Any) -> str:
    """Return an address with more to its query."""
    given = {name: value for name, value in more.items() if value not in (None, "", False)}
    joined = "&" if "?" in address else "?"
    return f"{address}{joined}{urlencode(given, doseq=True, errors='surrogatepass')}" if given else address


def _moment(value: datetime | str) -> datetime:
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "number": number,
    "many": many,
    "size": size,
    "age": age,
    "percent": percent,
    "moment": moment,
    "path": path,
    "with_query": with_query,
}
