"""The first page: how the workspace is, what the model gets, what was learnt, and what needs its owner."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, tzinfo
from itertools import islice
from weakref import WeakKeyDictionary

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import HTMLResponse, RedirectResponse

from carrel.app import Workspace
from carrel.context.report import Report
from carrel.errors import CarrelError
from carrel.http.explorer.deeds import is_diary, merged
from carrel.http.explorer.health import looked_over, searched
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.pictures.calendar import Day, calendar, days_of, first_day
from carrel.http.explorer.pictures.gauge import gauge
from carrel.http.explorer.whose import name_of, seats
from carrel.http.explorer.words import kept, many
from carrel.opening import time_zone
from carrel.records.changes import Change
from carrel.records.facts import Fact
from carrel.sessions.account import SessionRow
from carrel.workspace.scope import Scope

router = pages()

_RECENT = 10
_LOOKED_AT = 2_000
"""Messages that the calendar counts, the newest of all; older ones are left out, and that is said."""

_SESSIONS = 100
"""Sessions of one agent that it looks at."""

_WRITES = 500
_LATELY, _SHOWN = 12, 3
"""Changes that are looked at for facts, and facts that are shown."""


_Counted = tuple[tuple[int, str], Counter[date]]
"""How long a session was and when it was last used, and how much was said on which day."""

_COUNTED: WeakKeyDictionary[Workspace, dict[str, _Counted]] = WeakKeyDictionary()


class Glance(Struct, frozen=True, kw_only=True):
    """One agent: what its model gets, what it learnt, and when it dreams."""

    id: str
    name: str
    report: Report
    picture: Markup
    states: Mapping[str, int]
    cut: tuple[str, ...]
    out: tuple[str, ...]
    """What does not fit at all; what is not for the prompt was never meant to."""
    facts: int = 0
    dreams: bool = False
    last_dream: datetime | None = None
    next_dream: datetime | None = None


class Need(Struct, frozen=True):
    """Something that waits for the owner, and where it is dealt with."""

    what: str
    address: str


@router.get("")
def first(viewer: Looking) -> RedirectResponse:
    """Lead to the overview, seen with the same eyes."""
    desk = viewer.desk
    return RedirectResponse(f"{viewer.base}/overview{kept(desk.agent, desk.scope)}")


@router.get("/overview")
def overview(viewer: Looking) -> HTMLResponse:
    """Show how the workspace is."""
    desk = viewer.desk
    seen = looked_over(viewer)
    glances = [_glance(seat, desk.scope, number) for number, seat in enumerate(seats(viewer))]
    shown: dict[str, object] = {
        "seen": seen,
        "glances": glances,
        "dreamt": max((each.last_dream for each in glances if each.last_dream), default=None),
        "due_next": min((each.next_dream for each in glances if each.next_dream), default=None),
        "named": desk.workspace.config.settings.workspace.name or desk.name,
    }
    if desk.scope is Scope.MAIN:
        shown |= _owners(viewer, seen.counts)
    return page(viewer, "overview.html", title="Overview", here="overview", **shown)


def _owners(viewer: Viewer, counts: Mapping[str, int]) -> dict[str, object]:
    """Return what is for the owner's eyes alone."""
    workspace = viewer.desk.workspace
    records = workspace.records
    changes = workspace.memory.history(limit=_WRITES)
    waiting = len(records.proposals.list(agent=viewer.desk.agent, limit=1_000))
    days, is_whole = _days(viewer, changes)
    told = [each for each in changes if not is_diary(each)]
    standing = [each for each in told if each.state == "done" and not each.undoes]
    return {
        "waiting": waiting,
        "needs": list(_needs(viewer, waiting, counts, records.queue.counts()["failed"])),
        "searched": searched(workspace),
        "recent": merged(records.audit.events(limit=_RECENT), told[:_RECENT], _RECENT),
        "last_change": standing[0] if standing else None,
        "learnt": _learnt(workspace, standing),
        "sessions": sum(seat.sessions.rows(limit=0)[1] for seat in seats(viewer)),
        "called": workspace.memory.called,
        "days": days,
        "calendar": calendar(days),
        "is_whole": is_whole,
    }


def _glance(seat: Workspace, scope: Scope, number: int) -> Glance:
    report = seat.assemble(scope=scope).report
    glance = Glance(
        id=seat.agent.id,
        name=name_of(seat),
        report=report,
        picture=gauge(
            prefix=report.prefix.tokens,
            used=report.tokens.used,
            window=report.tokens.window,
            key=f"gauge-{number}",
        ),
        states=Counter(row.state for row in report.sections),
        cut=tuple(row.name for row in report.sections if row.state == "truncated"),
        out=tuple(row.name for row in report.sections if row.reason in ("total", "no_room")),
    )
    return glance if scope is Scope.SHARED else _with_memory(glance, seat)


def _with_memory(glance: Glance, seat: Workspace) -> Glance:
    """Add what the agent learnt and dreams."""
    status = seat.dreaming.status()
    written = seat.records.facts.counts(seat.agent.id)["written"]
    return replace(
        glance,
        facts=written,
        dreams=status.enabled,
        last_dream=status.last.at if status.last else None,
        next_dream=status.due,
    )


def _learnt(workspace: Workspace, standing: Sequence[Change]) -> list[Fact]:
    """Return what was written last, the newest first."""
    facts = (
        fact
        for change in standing[:_LATELY]
        for fact in workspace.records.facts.find(change=change.id, limit=1)
    )
    return list(islice((fact for fact in facts if fact.state == "written"), _SHOWN))


def _needs(viewer: Viewer, waiting: int, counts: Mapping[str, int], failed: int) -> Iterator[Need]:
    if waiting:
        yield Need(f"{many(waiting, 'change')} of memory to approve or reject", "review")
    if counts["error"]:
        yield Need(f"{many(counts['error'], 'error')} in the workspace", "health?severity=error")
    if counts["warning"]:
        yield Need(f"{many(counts['warning'], 'warning')} about files and context", "health?severity=warning")
    if failed:
        yield Need(f"{many(failed, 'job')} given up after several tries", "activity?view=jobs&state=failed")
    if not viewer.desk.workspace.config.trusted:
        yield Need("This workspace is not trusted: its models and commands are ignored", "settings")


def _days(viewer: Viewer, changes: Sequence[Change]) -> tuple[tuple[Day, ...], bool]:
    """Return the days of the calendar, and whether every message of them was counted."""
    config = viewer.desk.workspace.config
    zone = time_zone(config.settings.time_zone)
    today = config.clock.now().astimezone(zone).date()
    said = Counter[date]()
    left = _LOOKED_AT
    for seat in seats(viewer):
        left -= _count(seat, said, zone, first_day(today), left)
    written = Counter(change.at.astimezone(zone).date() for change in changes)
    return days_of(today, said, written), left > 0


def _count(seat: Workspace, said: Counter[date], zone: tzinfo, first: date, most: int) -> int:
    """Count the messages of an agent by day, those of its newest sessions, and return how many there were.

    Of a session in which nothing was said since, the days are remembered.
    """
    known = _COUNTED.get(seat, {})
    remembered: dict[str, _Counted] = {}
    counted = 0
    for row in seat.sessions.rows(limit=_SESSIONS)[0]:
        if counted >= most:
            break
        if row.problem or row.updated[:10] < first.isoformat():
            continue
        before, mark = known.get(row.id), (row.entries, row.updated)
        days = before[1] if before and before[0] == mark else _said(seat, row, zone)
        remembered[row.id] = (mark, days)
        said.update(days)
        counted += days.total()
    _COUNTED[seat] = remembered
    return counted


def _said(seat: Workspace, row: SessionRow, zone: tzinfo) -> Counter[date]:
    """Return how much was said in a session on which day, as far as its newest messages tell."""
    try:
        entries = seat.sessions.entries(row.id, max(1, row.entries - _LOOKED_AT + 1))
        days = (_day(placed.entry.timestamp, zone) for placed in islice(entries, _LOOKED_AT))
        return Counter(day for day in days if day is not None)
    except CarrelError:  # it was removed meanwhile
        return Counter()


def _day(timestamp: str, zone: tzinfo) -> date | None:
    try:
        return datetime.fromisoformat(timestamp).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None
