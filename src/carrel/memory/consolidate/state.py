"""The state of consolidation: which entries were taken, when it last ran, and the plan of a run on its way.

It is one small file beside the journal. A plain moment, as AgentScope writes it, is read too: what stands in
the files of earlier days was taken by then. Of a damaged one nothing is believed; then every entry is new,
and what memory says already is recognised.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo

from msgspec import DecodeError, Struct, ValidationError, json

from carrel.records.facts import Fact

NAME = ".consolidation_state"
VERSION = 1

_LONGEST_MOMENT = 64


class Plan(Struct, frozen=True, kw_only=True):
    """What a run will do, before it does it: the region as it is and as it will be, and what goes where.

    `mark` is the last change of memory before it, `before` the digest of the region that it was made for.
    `facts` are the bullets that are new, `gone` the ids of those that no longer stand, each with the id of
    what says it now or none. `files` is what was taken once it is done.
    """

    id: str
    at: datetime
    mark: int
    target: str
    before: str
    region: str
    topics: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    gone: Mapping[str, str] = {}
    archive: str = ""
    fallen: tuple[str, ...] = ()
    waiting: tuple[Fact, ...] = ()
    files: Mapping[str, tuple[str, ...]] = {}
    rebuilding: bool = False


class State(Struct, frozen=True, kw_only=True):
    """What was done so far. `before` is the day before which all is taken; `files` has hashes of entries."""

    version: int = VERSION
    last_run: datetime | None = None
    before: str = ""
    files: Mapping[str, tuple[str, ...]] = {}
    topics: tuple[str, ...] = ()
    failures: int = 0
    rebuilding: bool = False
    plan: Plan | None = None


def read_state(data: bytes | None, zone: tzinfo) -> tuple[State, bool]:
    """Return a state, and whether it could be read; where there is none, everything begins."""
    if data is None or not data.strip():
        return State(), True
    try:
        state = json.decode(data, type=State)
    except (DecodeError, ValidationError, UnicodeDecodeError, RecursionError):
        return _moment(data, zone)
    is_known = state.version == VERSION and _is_sound(state)
    return (state, True) if is_known else (State(), False)


def write_state(state: State) -> bytes:
    """Return a state as it is kept."""
    return json.format(json.encode(state), indent=1) + b"\n"


def _is_sound(state: State) -> bool:
    """Tell whether every moment has its zone."""
    moments = (state.last_run, state.plan.at if state.plan else None)
    return all(moment is None or moment.tzinfo is not None for moment in moments)


def _moment(data: bytes, zone: tzinfo) -> tuple[State, bool]:
    """Read a state that is nothing but a moment."""
    try:
        at = datetime.fromisoformat(data[:_LONGEST_MOMENT].decode().strip())
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return State(last_run=at, before=at.astimezone(zone).date().isoformat()), True
    except (ValueError, OverflowError):
        return State(), False
