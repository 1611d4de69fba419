"""A workspace of any layout, read piece by piece; what it is made of, its description says."""

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, cast

from msgspec.structs import replace

from carrel import plainyaml
from carrel.config import WORKSPACE_FILE
from carrel.errors import CarrelError
from carrel.files.paths import BadId, valid_id
from carrel.home.local import STATE_FOLDER
from carrel.importing.piece import Piece
from carrel.importing.places import Spot, is_derived, spot_of
from carrel.importing.source import FILE_LIMIT, Folder, Item, Source, text_of
from carrel.importing.talks import object_in
from carrel.settings import LAYOUT
from carrel.workspace.ignore import IGNORE_FILE, Rules, ignore_rules
from carrel.workspace.layout import Layout
from carrel.workspace.manifest import MANIFEST_FILE, parse_manifest
from carrel.workspace.scope import Privacy

_MARKS = (".gitkeep", ".gitignore", ".DS_Store")


def read_workspace(source: Source, layout: Layout) -> Iterator[Piece]:
    """Yield the pieces of a workspace; what is derived from others is made anew, and not told."""
    agents = agents_of(source, layout)
    privacy = Privacy(layout, frozenset)
    ignored = ignore_rules(text_of(source, IGNORE_FILE))
    for item in source.items():
        if item.path.rpartition("/")[2] not in _MARKS:
            yield from _pieces(source, item, layout, agents, ignored, privacy)
    if isinstance(source, Folder) and source.has(STATE_FOLDER):
        why = "records stay with their workspace: `carrel migrate` and `carrel export` take all of it"
        yield Piece(source=STATE_FOLDER, role="left", reason=why)


def agents_of(source: Source, layout: Layout) -> list[str]:
    """Return the agents of a workspace: those that it names, else those that left files in it."""
    named = [_id(agent.get("id")) for agent in _list(settings_of(source).get("agents"))]
    with suppress(CarrelError):
        if data := source.read(MANIFEST_FILE):
            named += [agent.id for agent in parse_manifest(data).agents]
    if not any(named):
        spots = (spot_of(item.path, layout, ()) for item in source.items("agents"))
        named = [_id(spot.agent) for spot in spots]
    return list(dict.fromkeys(filter(None, named)))


def layout_named(source: Source) -> str | None:
    """Return the layout that a workspace says it has, by its name or its file."""
    name = settings_of(source).get("layout")
    return name if isinstance(name, str) and re.fullmatch(LAYOUT, name) else None


def settings_of(source: Source) -> dict[str, Any]:
    """Return what a workspace's own settings say, nothing where they cannot be read."""
    with suppress(CarrelError):
        found: object = plainyaml.load(text_of(source, WORKSPACE_FILE) or "")
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    return {}


def whose_log(data: bytes) -> str:
    """Return the agent that the head of a log names, "" where it names none."""
    return _id(object_in(data.partition(b"\n")[0]).get("agent_id"))


def _pieces(  # noqa: PLR0917 - what one file is told by
    source: Source, item: Item, layout: Layout, agents: Collection[str], ignored: Rules, privacy: Privacy
) -> Iterator[Piece]:
    spot = spot_of(item.path, layout, agents)
    log = is_derived(item.path, layout) if spot.role != "log" else None
    if log is not None and (not log or source.has(log)):
        return
    why = item.problem or (f"it has more than {FILE_LIMIT:,} bytes" if item.size > FILE_LIMIT else "")
    if not why and spot.role != "settings" and ignored(item.path):
        why = f"{IGNORE_FILE} keeps it out"
    if not why and spot.role == "log":
        spot = _owned(source, item, spot)
    yield Piece(
        source=item.path,
        role="left" if why else spot.role,
        name=spot.name,
        agent=spot.agent,
        modified_ns=item.modified_ns,
        private=privacy.covers_name(item.path),
        reason=why,
    )


def _owned(source: Source, item: Item, spot: Spot) -> Spot:
    """Return the spot of a log with its agent; in a folder that agents share its head says whose it is."""
    if spot.agent:
        return spot
    with suppress(CarrelError):
        return replace(spot, agent=whose_log(source.read(item.path) or b""))
    return spot


def _list(value: object) -> list[dict[str, Any]]:
    found = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in found if isinstance(each, dict)]


def _id(value: object) -> str:
    try:
        return valid_id(value) if isinstance(value, str) else ""
    except BadId:
        return ""
