"""Namespaces: what agents learnt beyond one workspace, and who reads it."""

from typing import Annotated

from fastapi import Depends, Path
from msgspec import Meta, Struct
from starlette.responses import Response

from carrel.http.answers import Page, raw
from carrel.http.desk import Admin, Desk, OwnerReader
from carrel.http.routing import Routes, sent
from carrel.memory.namespaces import NamespaceRow, UnknownNamespace
from carrel.memory.splice import digest_of
from carrel.workspace.namespace import SUFFIX, plain_title

routes = Routes("namespaces", "/w/{workspace}")

Key = Annotated[str, Path(max_length=255)]


class ListedNamespace(Struct, frozen=True, kw_only=True):
    """A namespace: who reads it, whose it is, and how much it holds."""

    key: str
    title: str
    enabled: bool
    agent: str | None
    profile: str | None
    workspace: str | None
    facts: int
    size: int
    problem: str | None


class Switch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether every agent reads it, and what it is called; what is left out stays as it is."""

    enabled: bool | None = None
    title: Annotated[str, Meta(max_length=1_000)] | None = None


@routes.get("/namespaces", Page[ListedNamespace])
def list_namespaces(desk: OwnerReader) -> Page[ListedNamespace]:
    """List the namespaces. A key of one workspace sees its own, and those that are enabled for all."""
    return Page(items=tuple(_listed(row) for row in _rows(desk)))


@routes.patch("/namespaces/{key}", ListedNamespace, takes=Switch)
def change_namespace(
    desk: Admin, key: Key, body: Annotated[Switch, Depends(sent(Switch))]
) -> ListedNamespace:
    """Let every agent read a namespace or not, and give it another title. Its key stays."""
    row = _one(desk, key, to_change=True)
    namespaces = desk.workspace.memory.namespaces
    if body.title is not None:
        row = namespaces.rename(row.key, body.title)
        desk.note("namespace.rename", row.key)
    if body.enabled is not None:
        row = namespaces.enable(row.key) if body.enabled else namespaces.disable(row.key)
        desk.note(f"namespace.{'enable' if body.enabled else 'disable'}", row.key)
    return _listed(row)


@routes.get("/namespaces/{key}/export", None, media="text/plain")
def export_namespace(desk: OwnerReader, key: Key) -> Response:
    """Return a namespace as Markdown, front matter too, to be put in place elsewhere."""
    row = _one(desk, key)
    data = desk.workspace.memory.namespaces.export(row.key).encode("utf-8", "replace")
    return raw(data, name=row.key + SUFFIX, digest=digest_of(data) or "")


def _one(desk: Desk, key: str, *, to_change: bool = False) -> NamespaceRow:
    rows = _rows(desk, to_change=to_change)
    found = next((row for row in rows if row.key == key), None)
    if found is None:
        raise UnknownNamespace(key, [row.title for row in rows])
    return found


def _rows(desk: Desk, *, to_change: bool = False) -> list[NamespaceRow]:
    """Return the namespaces within reach: all of them for the owner, else the workspace's own.

    They lie outside any workspace, so that a key of one would open the others' without this.
    """
    rows = desk.workspace.memory.namespaces.list()
    if desk.access.workspace is None:
        return rows
    home = plain_title(desk.workspace.location)
    profiles = {agent.profile for agent in desk.workspace.config.settings.agents if agent.profile}
    return [
        row
        for row in rows
        if row.workspace == home or row.profile in profiles or (row.enabled and not to_change)
    ]


def _listed(row: NamespaceRow) -> ListedNamespace:
    return ListedNamespace(**row.to_json())
