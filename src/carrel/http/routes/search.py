"""Search over everything, and the index that it is answered from."""

from datetime import date
from typing import Annotated, Any

from fastapi import Query

from carrel.http.desk import Admin, OwnerReader, Reader
from carrel.http.routing import Routes
from carrel.index import Filter, Mode, Status, SyncReport
from carrel.runtime.hits import found_to_json, reasons_of

routes = Routes("search", "/w/{workspace}")

Json = dict[str, Any]
Several = Annotated[list[str], Query(max_length=20)]


@routes.get("/search", Json)
def search(  # noqa: PLR0917 - each is a parameter of the address
    desk: Reader,
    q: Annotated[str, Query(max_length=100_000, description="Any text; there is no syntax")],
    mode: Mode = "hybrid",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 10,
    tier: Several = [],  # noqa: B006 - FastAPI copies it
    in_agent: Several = [],  # noqa: B006
    section: Several = [],  # noqa: B006
    tag: Several = [],  # noqa: B006
    path: Several = [],  # noqa: B006
    in_session: Several = [],  # noqa: B006
    since: date | None = None,
    until: date | None = None,
    session: Annotated[str | None, Query(max_length=200, description="The one the listener is in")] = None,
    case: bool = False,
    lines: Annotated[int, Query(ge=0, le=50)] = 0,
    facets: bool = True,
    explain: bool = False,
) -> Json:
    """Find what was written and said. Hits carry their place, the words found, and all scores."""
    found = desk.workspace.search(
        q,
        mode=mode,
        limit=limit,
        within=Filter(
            tiers=tuple(tier),
            agents=tuple(in_agent),
            sections=tuple(section),
            tags=tuple(tag),
            paths=tuple(path),
            sessions=tuple(in_session),
            since=since.isoformat() if since else "",
            until=until.isoformat() if until else "",
        ),
        scope=desk.scope,
        session=None if session is None else desk.session(session),
        case=case,
        lines=lines,
        facets=facets,
    )
    findings = [{"code": each.code, "message": each.message} for each in found.findings]
    document = {**found_to_json(found), "findings": findings}
    return {**document, "why": reasons_of(found)} if explain else document


@routes.get("/index", Status)
def index_status(desk: OwnerReader) -> Status:
    """Say what the index holds, and whether all is well."""
    return desk.workspace.searching.status()


@routes.post("/index:sync", SyncReport)
def sync_index(desk: Admin) -> SyncReport:
    """Make the index match the files and the sessions now."""
    report = desk.workspace.searching.sync()
    desk.note("index.sync", changed=report.changed, gone=report.gone)
    return report


@routes.post("/index:rebuild", SyncReport)
def rebuild_index(desk: Admin) -> SyncReport:
    """Make the index anew."""
    report = desk.workspace.searching.rebuild()
    desk.note("index.rebuild", chunks=report.chunks)
    return report
