"""Activity: who did what, what memory changed with the way back, and the work that waits."""

from typing import Annotated, get_args

from fastapi import Query
from starlette.responses import HTMLResponse

from carrel.http.explorer.choosing import hidden_from
from carrel.http.explorer.deeds import of_change, of_event
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.memory.splice import diff
from carrel.records.facts import Fact
from carrel.records.queue import State

router = pages()

_PAGE = 50
_HIGHEST = 2**62
_DIFF = 60_000
"""Characters of a difference that are shown."""

_SCANNED = 1_000
"""Events that one page looks through for an actor."""

Cursor = Annotated[int | None, Query(ge=1, le=_HIGHEST)]
Text = Annotated[str, Query(max_length=4_096)]


@router.get("/activity")
def activity(  # noqa: PLR0917 - each is a parameter of the address
    viewer: Looking,
    view: Text = "",
    cursor: Cursor = None,
    action: Text = "",
    target: Text = "",
    actor: Text = "",
    state: Text = "",
    path: Text = "",
    change: Cursor = None,
) -> HTMLResponse:
    """Show the trail, the changes of memory, or the queue; an empty trail is nothing to begin with."""
    if hidden := hidden_from(viewer, title="Activity", here="activity"):
        return hidden
    records = viewer.desk.workspace.records
    shown: dict[str, object] = {
        "called": viewer.desk.workspace.memory.called,
        "jobs_of": records.queue.counts(),
        "cursor": cursor,
    }
    if not (view or cursor or action or target or actor or records.audit.events(limit=1)):
        view = "changes"
    if view == "jobs":
        shown |= _jobs(viewer, state, cursor)
    elif view == "changes":
        shown |= _change(viewer, change) if change else _changes(viewer, path, cursor)
    else:
        view = "trail"
        shown |= _trail(viewer, action, target, actor, cursor)
    return page(viewer, "activity.html", title="Activity", here="activity", view=view, **shown)


def _trail(viewer: Viewer, action: str, target: str, actor: str, cursor: int | None) -> dict[str, object]:
    """Return the events, the newest first; those of one actor are picked from the newest there are."""
    audit = viewer.desk.workspace.records.audit
    most = _SCANNED if actor else _PAGE + 1
    found = audit.events(before=cursor, action=action or None, target=target or None, limit=most)
    wanted = [event for event in found if actor in ("", event.actor)]
    kept = wanted[:_PAGE]
    is_more = len(wanted) > _PAGE or len(found) == most
    return {
        "deeds": [of_event(event) for event in kept],
        "more": (kept or found)[-1].id if is_more and found else None,
        "action": action,
        "target": target,
        "actor": actor,
    }


def _changes(viewer: Viewer, path: str, cursor: int | None) -> dict[str, object]:
    found = viewer.desk.workspace.memory.history(path or None, limit=_PAGE, before=cursor)
    return {
        "changes": [(change, of_change(change)) for change in found],
        "more": found[-1].id if found and found[-1].id > 1 else None,
        "path": path,
        "one": None,
    }


def _change(viewer: Viewer, number: int) -> dict[str, object]:
    """Return one change with what it did, line by line, and the facts that it wrote."""
    workspace = viewer.desk.workspace
    found = workspace.memory.change(number)
    told = diff(found)
    facts: list[Fact] = workspace.records.facts.find(change=number, limit=_PAGE)
    return {
        "one": found,
        "deed": of_change(found),
        "diff": told[:_DIFF],
        "is_cut": len(told) > _DIFF,
        "facts": facts,
        "path": "",
    }


def _jobs(viewer: Viewer, state: str, cursor: int | None) -> dict[str, object]:
    queue = viewer.desk.workspace.records.queue
    wanted: State | None = next((each for each in get_args(State) if each == state), None)
    found = queue.jobs(wanted, limit=_PAGE + 1, after=cursor or 0)
    return {
        "jobs": found[:_PAGE],
        "more": found[_PAGE - 1].id if len(found) > _PAGE else None,
        "state": wanted or "",
        "states": get_args(State),
    }
