"""What changed in memory: who, when, what and why, and the way back."""

from typing import Annotated

from fastapi import Depends, Path, Query
from msgspec import Meta, Struct
from msgspec.structs import asdict

from carrel.http.answers import Page
from carrel.http.desk import Admin, Desk, OwnerReader
from carrel.http.routing import Routes, sent
from carrel.memory.rows import ChangeRow, change_row
from carrel.memory.splice import diff
from carrel.records.changes import Change

routes = Routes("changes", "/w/{workspace}")

_HIGHEST = 2**62

Number = Annotated[int, Path(ge=1, le=_HIGHEST)]


class ChangeShown(ChangeRow, frozen=True, kw_only=True):
    """A change with what it did, line by line."""

    diff: str


class Undo(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of the last changes are taken back."""

    count: Annotated[int, Meta(ge=1, le=1_000)] = 1


class Undone(Struct, frozen=True, kw_only=True):
    """The changes that took others back."""

    undone: tuple[ChangeRow, ...]


@routes.get("/changes", Page[ChangeRow])
def list_changes(
    desk: OwnerReader,
    path: Annotated[str | None, Query(max_length=4_096)] = None,
    cursor: Annotated[int | None, Query(ge=1, le=_HIGHEST)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Page[ChangeRow]:
    """List what changed in memory, the newest first.

    Large changes make a page shorter than its limit: only one without `next_cursor` is the last.
    """
    found = desk.workspace.memory.history(path, limit=limit, before=cursor)
    more = str(found[-1].id) if found and found[-1].id > 1 else None
    return Page(items=tuple(map(change_row, found)), next_cursor=more)


@routes.get("/changes/{number}", ChangeShown)
def show_change(desk: OwnerReader, number: Number) -> ChangeShown:
    """Return a change with its diff."""
    change = desk.workspace.memory.change(number)
    return ChangeShown(**asdict(change_row(change)), diff=diff(change))


@routes.post("/changes/{number}:undo", Undone)
def undo_change(desk: Admin, number: Number) -> Undone:
    """Take one change back, whatever came after it; what was edited by hand since then stays."""
    return _noted(desk, desk.workspace.memory.undo_change(number))


@routes.post("/changes:undo", Undone, takes=Undo)
def undo_last_changes(desk: Admin, body: Annotated[Undo, Depends(sent(Undo))]) -> Undone:
    """Take the last changes back that stand, byte for byte."""
    return _noted(desk, desk.workspace.memory.undo(body.count))


def _noted(desk: Desk, undone: list[Change]) -> Undone:
    for change in undone:
        desk.note("change.undo", str(change.undoes), change=change.id, path=change.path)
    return Undone(undone=tuple(map(change_row, undone)))
