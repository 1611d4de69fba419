"""Dreams: what is promoted because it was recalled often, what may be, and the way back."""

from typing import Annotated

from fastapi import Depends, Path, Query
from msgspec import Struct

from carrel.http.answers import Page
from carrel.http.desk import Admin, OwnerReader, OwnerWriter
from carrel.http.routing import Routes, sent
from carrel.memory.dream.rows import CandidatesRow, DreamRow, DreamStatusRow, DreamtRow, dream_row

routes = Routes("dreams", "/w/{workspace}")

_HIGHEST = 2**62


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether only to show what would be promoted."""

    dry_run: bool = False


@routes.get("/dreams", Page[DreamRow])
def list_dreams(
    desk: OwnerReader,
    cursor: Annotated[int | None, Query(ge=1, le=_HIGHEST)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[DreamRow]:
    """List the runs, the newest first, each with what it promoted and why."""
    workspace = desk.own
    found = workspace.records.dreams.list(agent=workspace.agent.id, before=cursor, limit=limit + 1)
    more = str(found[limit - 1].id) if len(found) > limit else None
    return Page(items=tuple(map(dream_row, found[:limit])), next_cursor=more)


@routes.get("/dreams/candidates", CandidatesRow)
def list_candidates(desk: OwnerReader, limit: Annotated[int, Query(ge=1, le=10_000)] = 50) -> CandidatesRow:
    """List what was recalled, the best first, with each gate's value against its threshold."""
    return desk.own.dreaming.look().to_row(limit)


@routes.get("/dreams/status", DreamStatusRow)
def show_dream_status(desk: OwnerReader) -> DreamStatusRow:
    """Tell of the last run, when the next is due, and how much was promoted so far."""
    return desk.own.dreaming.status().to_row()


@routes.post("/dreams", DreamtRow, takes=Run)
def run_dream(desk: OwnerWriter, body: Annotated[Run, Depends(sent(Run))]) -> DreamtRow:
    """Promote what passes every gate; a dry run only tells what that would be."""
    dreamt = desk.own.dreaming.run(dry_run=body.dry_run)
    if dreamt.dream is not None:
        desk.note("dream.run", str(dreamt.dream.id), changes=list(dreamt.dream.changes))
    return dreamt.to_row()


@routes.post("/dreams/{run}:revert", DreamRow)
def revert_dream(desk: Admin, run: Annotated[int, Path(ge=1, le=_HIGHEST)]) -> DreamRow:
    """Take back exactly what a run has added; what was edited by hand since then stays."""
    taken = desk.own.dreaming.revert(run).dream
    assert taken is not None
    desk.note("dream.revert", str(run), changes=list(taken.changes))
    return dream_row(taken)
