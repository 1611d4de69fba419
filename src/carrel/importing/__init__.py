"""Importing: another workspace, the memory of another program or an export, into a workspace.

    imported = bring_in(workspace, "~/notes", mine=True)

A source is read piece by piece; for each piece it is decided what becomes of it, and that is carried out.
What is there is never overwritten, and doing it again changes nothing.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from carrel.app import Workspace
from carrel.config import WORKSPACE_FILE
from carrel.errors import UsageError
from carrel.findings import Finding
from carrel.home.local import absolute
from carrel.importing.carrying import Carrier
from carrel.importing.claude import read_claude
from carrel.importing.guess import guess_kind
from carrel.importing.notes import read_basic_memory, read_vault
from carrel.importing.piece import BASIC_MEMORY, CLAUDE_CODE, EXPORT, KINDS, OBSIDIAN, Imported, Piece, Row
from carrel.importing.planning import Planner
from carrel.importing.source import Packed, Source, open_folder
from carrel.importing.target import Target
from carrel.importing.workspaces import agents_of, read_workspace
from carrel.making import LayoutDiffers
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.manifest import MANIFEST_FILE

__all__ = ["KINDS", "Imported", "Row", "bring_in", "is_export"]

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""

_READERS: Mapping[str, Callable[[Source], Iterator[Piece]]] = {
    CLAUDE_CODE: read_claude,
    BASIC_MEMORY: read_basic_memory,
    OBSIDIAN: read_vault,
}


class UnknownKind(UsageError):
    """There is no such kind of source."""

    code = "unknown_kind"

    def __init__(self, kind: str) -> None:
        super().__init__(f"There is no kind of source {kind!r}.", hint=f"Choose one of: {', '.join(KINDS)}.")


def bring_in(
    desk: Workspace,
    source: str | os.PathLike[str],
    *,
    kind: str | None = None,
    mine: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Bring what a source holds into a workspace, or tell what that would do.

    What is not the owner's own, and would enter a file that every prompt holds, waits for their word.
    """
    if kind is not None and kind not in KINDS:
        raise UnknownKind(kind)
    path = absolute(source)
    if desk.root is not None and desk.root.resolve() == path.resolve():
        return _adopted(desk, kind)
    folder = open_folder(path, without=desk.root)
    found = kind or guess_kind(folder, path)
    if found == EXPORT:
        from carrel.bundle.reading import open_bundle  # noqa: PLC0415 - few imports are of exports

        with closing(open_bundle(path)) as bundle:
            packed, layout = Packed(str(path), bundle), bundle.manifest.layout
            return _import(desk, packed, layout, path, mine=mine, dry_run=dry_run, progress=progress)
    return _import(desk, folder, found, path, mine=mine, dry_run=dry_run, progress=progress)


def is_export(source: str | os.PathLike[str], kind: str | None = None) -> bool:
    """Tell whether a source is a file that `carrel export` or `carrel backup` wrote."""
    path = absolute(source)
    if kind is not None or not path.is_file():
        return kind == EXPORT
    return guess_kind(open_folder(path), path) == EXPORT


def _import(
    desk: Workspace,
    source: Source,
    kind: str,
    path: Path,
    *,
    mine: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    pieces = list(_pieces(source, kind))
    target = Target(desk, kind, mine=mine)
    planner = Planner(source, kind, target, _agents(source, kind, desk))
    carrier = Carrier(desk, kind, str(path), mine=mine)
    rows: list[Row] = []
    try:
        for number, piece in enumerate(pieces, 1):
            rows += (step.row if dry_run else carrier.carry(step) for step in planner.steps(piece))
            if progress is not None:
                progress(number, len(pieces))
    finally:
        carrier.settle()
    return Imported(
        source=str(path),
        kind=kind,
        target=desk.location,
        layout=desk.layout.name,
        rows=tuple(rows),
        dry_run=dry_run,
        findings=_seen_by_others(kind, rows, target),
    )


def _adopted(desk: Workspace, kind: str | None) -> Imported:
    """Take a directory for a workspace as it is: its layout is remembered, and no file is changed."""
    layout = desk.layout
    if kind is not None and kind != layout.name:
        if kind not in LAYOUTS or desk.config.origins["layout"] in (WORKSPACE_FILE, MANIFEST_FILE):
            raise LayoutDiffers(desk.location, layout.name, kind)
        layout = load_layout(kind)
    desk.records.remember_layout(layout.name)
    pieces = read_workspace(open_folder(desk.location), layout)
    return Imported(
        source=desk.location,
        kind=layout.name,
        target=desk.location,
        layout=layout.name,
        rows=tuple(Row(source=each.source, target=each.source, action="same") for each in pieces),
        in_place=True,
    )


def _seen_by_others(kind: str, rows: Sequence[Row], target: Target) -> tuple[Finding, ...]:
    """Tell how many notes of a person are where shared scope sees them."""
    seen = sum(row.action == "new" and not target.is_private(row.target) for row in rows)
    if kind not in (OBSIDIAN, BASIC_MEMORY) or not seen:
        return ()
    message = (
        f"Shared scope sees {'one' if seen == 1 else f'{seen:,}'} of the new files: knowledge is for all."
    )
    hint = "Put `scope: private` into the front matter of those that are yours alone."
    return (Finding(code="imported_in_sight", severity="info", message=message, hint=hint),)


def _pieces(source: Source, kind: str) -> Iterator[Piece]:
    if kind in LAYOUTS:
        return read_workspace(source, load_layout(kind))
    return _READERS[kind](source)


def _agents(source: Source, kind: str, desk: Workspace) -> dict[str, str]:
    """Return who is whom: an only agent becomes the target's own, of several each stays who it is."""
    known = {agent.id for agent in desk.config.settings.agents} or {desk.agent.id}
    own = agents_of(source, load_layout(kind)) if kind in LAYOUTS else []
    return {each: desk.agent.id for each in own if each not in known} if len(own) == 1 else {}
