"""Looking after a workspace: its health, what waits, who did what, what it cost, and what happens now."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from msgspec import Meta, Struct, to_builtins
from starlette.responses import Response

from carrel.config import effective
from carrel.http.answers import EventStream, Page
from carrel.http.desk import Admin, OwnerReader, Reader
from carrel.http.hub import Hub
from carrel.http.routing import Routes, sent
from carrel.records.audit import Event
from carrel.records.queue import Job, State
from carrel.records.usage import Total

routes = Routes("care", "/w/{workspace}")

Json = dict[str, Any]
Limit = Annotated[int, Query(ge=1, le=500)]
_HIGHEST = 2**62


class Sweep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of what waits is done at most."""

    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100


@routes.get("/health", Json)
def show_health(desk: Reader) -> Json:
    """Look the whole workspace over. Of private files shared scope learns only the number."""
    return desk.workspace.health(scope=desk.scope).to_json()


@routes.get("/config", Json)
def show_config(desk: OwnerReader) -> Json:
    """Return the settings in force, each with its origin."""
    config = desk.workspace.config
    rows = [
        {"key": key, "value": to_builtins(value), "origin": origin}
        for key, value, origin in effective(config)
    ]
    return {"settings": rows, "trusted": config.trusted, "layout": desk.workspace.layout.name}


@routes.get("/usage", Total)
def show_usage(
    desk: OwnerReader,
    since: datetime | None = None,
    session: Annotated[str | None, Query(max_length=200)] = None,
) -> Total:
    """Return what the models cost, in all, in a session, or since a moment."""
    moment = since.astimezone() if since else None
    return desk.workspace.records.usage.total(since=moment, agent=desk.agent, session=session)


@routes.get("/jobs", Page[Job])
def list_jobs(
    desk: OwnerReader,
    state: State | None = None,
    cursor: Annotated[int, Query(ge=0, le=_HIGHEST)] = 0,
    limit: Limit = 100,
) -> Page[Job]:
    """List what waits to be done, is being done, was done, or was given up."""
    jobs = desk.workspace.records.queue.jobs(state, limit=limit + 1, after=cursor)
    more = str(jobs[limit - 1].id) if len(jobs) > limit else None
    return Page(items=tuple(jobs[:limit]), next_cursor=more)


@routes.post("/jobs/{number}:retry", Job)
def retry_job(desk: Admin, number: Annotated[int, Path(ge=0, le=_HIGHEST)]) -> Job:
    """Put a job that was given up back into the queue."""
    job = desk.workspace.records.queue.again(number)
    desk.note("job.retry", str(number), kind=job.kind)
    return job


@routes.post("/jobs:sweep", Json, takes=Sweep)
def sweep_jobs(desk: Admin, body: Annotated[Sweep, Depends(sent(Sweep))]) -> Json:
    """Do what waits in the queue now."""
    swept = desk.workspace.sweep(limit=body.limit)
    desk.note("job.sweep", done=swept.done, failed=swept.failed)
    return to_builtins(swept)


@routes.get("/audit", Page[Event])
def list_audit(
    desk: Admin,
    cursor: Annotated[int | None, Query(ge=0, le=_HIGHEST)] = None,
    action: Annotated[str | None, Query(max_length=200)] = None,
    target: Annotated[str | None, Query(max_length=4_096)] = None,
    limit: Limit = 100,
) -> Page[Event]:
    """List who did what, the newest first."""
    audit = desk.workspace.records.audit
    events = audit.events(before=cursor, action=action, target=target, limit=limit + 1)
    more = str(events[limit - 1].id) if len(events) > limit else None
    return Page(items=tuple(events[:limit]), next_cursor=more)


@routes.get("/events", None, media="text/event-stream")
async def follow_events(
    desk: OwnerReader, request: Request, after: Annotated[int | None, Query(ge=0, le=_HIGHEST)] = None
) -> Response:
    """Stream what happens in the workspace. `Last-Event-ID` goes on where a stream was cut.

    `missed` says that more happened than was told. The stream ends when its key is revoked or expires.
    """
    hub: Hub = request.app.state.hub
    last = request.headers.get("last-event-id", "")
    if after is None and last.isascii() and last.isdigit():
        after = min(int(last[:19]), _HIGHEST)
    return EventStream(hub.listen(desk.name, desk.access, after))
