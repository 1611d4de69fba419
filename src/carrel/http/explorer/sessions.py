"""Sessions: the list, what was said in one, and how full its window is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Path, Query
from msgspec import Struct
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.context.forecast import COMPACT_PERCENT, FLUSH_PERCENT, Forecast, forecast
from carrel.errors import CarrelError
from carrel.http.explorer.growth import growth
from carrel.http.explorer.pages import Looking, Viewer, fragment, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.pictures import both
from carrel.http.explorer.pictures.bar import bar, legend
from carrel.http.explorer.pictures.stack import stack, stack_legend, turns_of
from carrel.http.explorer.transcript import Where, moment_of, stretch
from carrel.http.explorer.whose import name_of, only, seat_of, seats
from carrel.http.explorer.words import path
from carrel.index import Filter
from carrel.runtime.hits import hit_to_json
from carrel.sessions.account import SessionRow
from carrel.sessions.places import valid_session
from carrel.sessions.search import fold
from carrel.workspace.scope import Scope

router = pages()

_LISTED = 30
_LOOKED_AT = 500
"""Sessions of one agent that are looked through for a word or a kind."""

_HITS = 20
_CALLS = 60
"""Calls of one session that are told of, the newest that a provider counted."""

_HIGHEST = 2**62

Number = Annotated[int | None, Query(ge=1, le=_HIGHEST)]
Text = Annotated[str, Query(max_length=1_000)]


class Listed(Struct, frozen=True, kw_only=True):
    """A session in the list, and whose it is."""

    row: SessionRow
    agent: str
    name: str

    @property
    def kind(self) -> str:
        """Where it was held: what recorded its first message."""
        return self.row.source or "library"

    @property
    def updated(self) -> datetime | None:
        """When something was last said in it."""
        return moment_of(self.row.updated)


@router.get("/sessions")
def list_sessions(
    viewer: Looking,
    q: Text = "",
    kind: Text = "",
    cursor: Annotated[int, Query(ge=0, le=_HIGHEST)] = 0,
) -> HTMLResponse:
    """Show the sessions, the last used first."""
    shown: dict[str, object] = {
        "q": q,
        "kind": kind,
        "rows": (),
        "kinds": (),
        "hits": (),
        "more": None,
        "earlier": None,
    }
    if viewer.desk.scope is Scope.MAIN:
        every, total = _every(viewer, cursor, is_filtered=bool(q or kind))
        rows = [each for each in every if _is_wanted(each, q, kind)]
        begin = min(cursor, total)
        shown |= {
            "rows": rows[begin : begin + _LISTED] if q or kind else rows[:_LISTED],
            "kinds": sorted({each.kind for each in every}),
            "hits": _hits(viewer, q) if q else (),
            "more": begin + _LISTED if begin + _LISTED < (len(rows) if q or kind else total) else None,
            "earlier": max(0, begin - _LISTED) if begin else None,
            "total": total,
        }
    return page(viewer, "sessions.html", title="Sessions", here="sessions", **shown)


@router.get("/sessions/{session}")
def show_session(  # noqa: PLR0917 - each is a parameter of the address
    viewer: Looking,
    session: Annotated[str, Path(max_length=200)],
    first: Annotated[int | None, Query(alias="from", ge=1, le=_HIGHEST)] = None,
    before: Number = None,
    m: Text = "",
    view: Text = "",
    full: Text = "",
    part: bool = False,
) -> HTMLResponse:
    """Show what was said, some messages at a time, or how full the window is."""
    seat = seat_of(viewer, valid_session(session))
    where = _where(seat, session, first=first, before=before, message=m or full, whole=full)
    shown: dict[str, object] = {
        "session": session,
        "whose": seat.agent.id,
        "stretch": stretch(seat, session, where, viewer.desk.scope),
        "chosen": m or full,
        "called": seat.memory.called,
    }
    if part:
        return fragment(viewer, "session_part.html", link="", **shown)
    is_window = view == "window" and viewer.desk.scope is Scope.MAIN
    shown |= {"view": "window" if is_window else "", "name": name_of(seat)}
    shown |= _about(seat, session) if viewer.desk.scope is Scope.MAIN else {"row": None, "findings": ()}
    shown |= _window(viewer, seat, session) if is_window else {}
    return page(viewer, "session.html", title=f"Session {session}", here="sessions", **shown)


def _where(
    seat: Workspace, session: str, *, first: int | None, before: int | None, message: str, whole: str
) -> Where:
    """Return where somebody reads; a message that is named and exists decides."""
    number = seat.sessions.number_of(session, message) if message else None
    if first is None and before is None and number is not None:
        first = max(1, number - 2)
    return Where(first=first or 1, before=before, whole=whole)


def _every(viewer: Viewer, cursor: int, *, is_filtered: bool) -> tuple[list[Listed], int]:
    """Return sessions of all that are looked at, the last used first, and how many there are."""
    listed: list[Listed] = []
    total = 0
    every = seats(viewer)
    alone = only(every)
    for seat in every:
        offset, limit = (
            (0, _LOOKED_AT) if is_filtered else (cursor, _LISTED) if alone else (0, cursor + _LISTED)
        )
        rows, count = seat.sessions.rows(limit=limit, offset=offset)
        total += count
        listed += [Listed(row=row, agent=seat.agent.id, name=name_of(seat)) for row in rows]
    listed.sort(key=lambda each: each.row.updated, reverse=True)
    return (listed if alone or is_filtered else listed[cursor:]), total


def _is_wanted(each: Listed, q: str, kind: str) -> bool:
    told = fold(f"{each.row.id} {each.row.title} {each.row.summary}")
    return kind in ("", each.kind) and all(word in told for word in fold(q).split())


def _hits(viewer: Viewer, q: str) -> Sequence[dict[str, Any]]:
    """Return what was said that answers a query; without an index there is nothing to tell."""
    agents = (viewer.desk.agent,) if viewer.desk.agent else ()
    try:
        within = Filter(tiers=("session",), agents=agents)
        found = viewer.desk.workspace.search(q, mode="lexical", limit=_HITS, within=within)
    except CarrelError:
        return ()
    return [hit_to_json(hit) for hit in found.hits]


def _about(seat: Workspace, session: str) -> dict[str, object]:
    page = seat.sessions.page(session, limit=0)
    return {"row": seat.sessions.row(session), "findings": page.findings}


def _window(viewer: Viewer, seat: Workspace, session: str) -> dict[str, object]:
    """Return how full the window of a session is, when it is compacted, and what it cost."""
    report = seat.assemble(session).report
    usage, window = seat.records.usage, report.tokens.window
    seen = seat.sessions.seen(session, scope=Scope.MAIN)[1]
    turns = growth(report, seen, f"{viewer.base}/sessions/{path(session)}")
    calls = turns_of(usage.turns(seat.agent.id, session, limit=_CALLS))
    told: Forecast = report.forecast or forecast(report.tokens.used, window, ())
    return {
        "report": report,
        "told": told,
        "limits": (FLUSH_PERCENT, COMPACT_PERCENT),
        "bars": both(lambda width, key: bar(report, width, key=f"bar-{key}")),
        "bar_legend": legend(report),
        "turns": turns,
        "stacks": both(lambda width, key: stack(turns, width, window=window, key=f"turns-{key}")),
        "stack_legend": stack_legend(turns),
        "calls": calls,
        "call_stacks": both(lambda width, key: stack(calls, width, window=window, key=f"calls-{key}")),
        "call_legend": stack_legend(calls, "calls-legend"),
        "total": usage.total(agent=seat.agent.id, session=session),
        "last": usage.last(seat.agent.id, session, purpose="turn"),
    }
