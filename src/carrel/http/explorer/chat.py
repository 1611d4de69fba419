"""Chat: a turn with the agent as it happens, and beside it what the agent knew."""

from itertools import chain, count
from typing import Annotated

from fastapi import Query
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.context.compare import recollect
from carrel.errors import NotFound
from carrel.http.explorer.pages import Looking, fragment, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.transcript import Stretch, Where, stretch
from carrel.http.explorer.whose import name_of
from carrel.http.explorer.words import path
from carrel.opening import AgentRequired
from carrel.sessions.places import valid_session
from carrel.workspace.scope import Scope

router = pages()

_RECENT = 12
_HIGHEST = 2**62
_ROOM = 16_000
"""Characters of what was said before; the transcript has all of it."""

Session = Annotated[str, Query(max_length=200)]


@router.get("/chat")
def chat(viewer: Looking, session: Session = "") -> HTMLResponse:
    """Show the last of a session and a place to say something; without one a new session is begun."""
    try:
        seat = viewer.desk.own
    except AgentRequired:
        return page(viewer, "choose.html", title="Chat", here="chat")
    is_owner = viewer.desk.scope is Scope.MAIN
    named = valid_session(session) if session else _fresh(seat)
    said = _said(seat, named, Where(before=_HIGHEST, room=_ROOM), viewer.desk.scope)
    return page(
        viewer,
        "chat.html",
        title="Chat",
        here="chat",
        session=named,
        whose=seat.agent.id,
        name=name_of(seat),
        model=seat.model().name,
        stretch=said,
        called=seat.memory.called,
        recent=seat.sessions.rows(limit=_RECENT)[0] if is_owner else (),
        sent=_sent(seat, named) if is_owner else None,
        window=seat.assemble(scope=viewer.desk.scope).report.tokens.window,
    )


@router.get("/chat/said")
def show_said(
    viewer: Looking, session: Session, first: Annotated[int, Query(alias="from", ge=1, le=_HIGHEST)]
) -> HTMLResponse:
    """Return what was said in a session from a message on, as the transcript shows it."""
    seat = viewer.desk.own
    said = _said(seat, valid_session(session), Where(first=first), viewer.desk.scope)
    return fragment(
        viewer,
        "session_part.html",
        session=session,
        whose=seat.agent.id,
        stretch=said,
        chosen="",
        called=seat.memory.called,
        link=f"{viewer.base}/sessions/{path(session)}",
    )


def _said(seat: Workspace, session: str, where: Where, scope: Scope) -> Stretch:
    """Return some of a session, nothing where it has not begun."""
    try:
        return stretch(seat, session, where, scope)
    except NotFound:
        return Stretch(said=(), total=0, first=1, last=0)


def _fresh(seat: Workspace) -> str:
    """Return an id that no session has yet."""
    name = f"chat-{seat.config.clock.now():%Y%m%d-%H%M%S}"
    return next(
        each for each in chain((name,), (f"{name}-{n}" for n in count(2))) if not seat.sessions.exists(each)
    )


def _sent(seat: Workspace, session: str) -> dict[str, object] | None:
    """Return what the last call of a session held, for a page that is opened after it."""
    last = seat.records.last_assembly(seat.agent.id, session)
    if last is None:
        return None
    rows = recollect(last).rows
    shown = [row for row in rows if row.kind != "history" and row.state != "missing"]
    return {"rows": shown, "used": sum(row.tokens for row in rows)}
