"""Importing: another workspace, the memory of another program or an export, into a workspace.

    imported = bring_in(workspace, "~/notes", mine=True)

A source is read piece by piece; for each piece it is decided what becomes of it, and that is carried out.
What is there is never overwritten, and doing it again changes nothing.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import convert
from msgspec.structs import asdict

from carrel.app import Workspace
from carrel.config import WORKSPACE_FILE
from carrel.errors import UsageError
from carrel.extensions import blamed_on, every, find, offered
from carrel.files import show
from carrel.files.disk import typed_failures
from carrel.files.ephemeral import EphemeralFiles
from carrel.findings import Finding
from carrel.importing.carrying import Carrier
from carrel.importing.claude import read_claude
from carrel.importing.guess import guess_kind
from carrel.importing.notes import read_basic_memory, read_vault
from carrel.importing.piece import BASIC_MEMORY, CLAUDE_CODE, EXPORT, KINDS, OBSIDIAN, Imported, Piece, Row
from carrel.importing.planning import Planner
from carrel.importing.source import NoSource, Packed, Source, open_folder, place_of
from carrel.importing.step import holds_secret
from carrel.importing.target import Target
from carrel.importing.workspaces import agents_of, read_workspace
from carrel.making import LayoutDiffers
from carrel.workspace.detect import DEFAULT_LAYOUT
from carrel.workspace.layout import LAYOUTS, Layout, load_layout
from carrel.workspace.layout_places import USER_FOLDER, find_layout, is_file
from carrel.workspace.manifest import MANIFEST_FILE

__all__ = ["KINDS", "Imported", "Row", "bring_in", "is_export"]

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""

_SHOWN = 5

_READERS: Mapping[str, Callable[[Source], Iterator[Piece]]] = {
    CLAUDE_CODE: read_claude,
    BASIC_MEMORY: read_basic_memory,
    OBSIDIAN: read_vault,
}


class UnknownKind(UsageError):
    """There is no such kind of source."""

    code = "unknown_kind"

    def __init__(self, kind: str) -> None:
        known = ", ".join(every("importers", KINDS))
        super().__init__(f"There is no kind of source {kind!r}.", hint=f"Choose one of: {known}.")


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
    if kind is not None and kind not in KINDS and not offered("importers", kind):
        raise UnknownKind(kind)
    path = place_of(source)
    own = None if desk.root is None else Path(desk.location)  # in a dry run, the root is a copy
    if own is not None and own.resolve() == path.resolve():
        return _adopted(desk, kind)
    folder = open_folder(path, without=own)
    found = kind or guess_kind(folder, path)
    if found == EXPORT:
        from carrel.bundle.reading import open_bundle  # noqa: PLC0415 - few imports are of exports

        with closing(open_bundle(path)) as bundle:
            packed = Packed(str(path), bundle)
            packed.refuse_damaged()
            layout = _layout(packed, bundle.manifest.layout or DEFAULT_LAYOUT, desk)
            return _import(desk, packed, layout, path, mine=mine, dry_run=dry_run, progress=progress)
    # A name that a source gives itself is that of a layout: which code reads it, only who imports it says.
    is_workspace = found in LAYOUTS or (kind is None and folder.has(WORKSPACE_FILE))
    told = _layout(folder, found, desk) if is_workspace else found
    return _import(desk, folder, told, path, mine=mine, dry_run=dry_run, progress=progress)


def is_export(source: str | os.PathLike[str], kind: str | None = None) -> bool:
    """Tell whether a source is a file that `carrel export` or `carrel backup` wrote."""
    path = place_of(source)
    with typed_failures(str(path)):
        if kind is not None or not path.is_file():
            return kind == EXPORT
    return guess_kind(open_folder(path), path) == EXPORT


def _import(
    desk: Workspace,
    source: Source,
    told: Layout | str,
    path: Path,
    *,
    mine: bool,
    dry_run: bool,
    progress: Progress | None,
) -> Imported:
    kind = told if isinstance(told, str) else told.name
    pieces = _pieces(source, told)
    if not pieces:
        raise NoSource(str(path), f"nothing in it is of {kind}")
    target = Target(desk, kind, mine=mine)
    planner = Planner(source, kind, target, _agents(source, told, desk))
    carrier = Carrier(desk, kind, str(path), mine=mine)
    rows: list[Row] = []
    secret: list[str] = []
    try:
        for number, piece in enumerate(pieces, 1):
            for step in planner.steps(piece):
                rows.append(step.row if dry_run else carrier.carry(step))
                secret += [step.row.target] * holds_secret(step)
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
        findings=(*_seen_by_others(kind, rows, target), *_with_secrets(secret)),
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


def _with_secrets(paths: Sequence[str]) -> Iterator[Finding]:
    """Tell which files have secrets in them, as they had where they come from."""
    if paths:
        more = f" and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else ""
        some = f"{', '.join(map(show, paths[:_SHOWN]))}{more}"
        yield Finding(
            code="secrets_imported",
            message=f"What looks like secrets is in files that are brought in as they are: {some}.",
            hint="Take them out of these files, or --undo the import; memory itself holds none.",
        )


def _layout(source: Source, name: str, desk: Workspace) -> Layout:
    """Return the layout that a workspace names, also one from outside: only it says what is private there."""
    path = name.removeprefix("./")
    data = source.read(path) if is_file(name) else None
    files = EphemeralFiles({} if data is None else {path: data})
    return find_layout(name, files, desk.config.directories.config / USER_FOLDER)


def _pieces(source: Source, told: Layout | str) -> list[Piece]:
    if isinstance(told, Layout):
        return list(read_workspace(source, told))
    if told in _READERS:
        return list(_READERS[told](source))
    offer = find("importers", told, known=KINDS)
    with blamed_on(offer):
        return [convert(asdict(each), Piece) for each in offer.load()(source)]


def _agents(source: Source, told: Layout | str, desk: Workspace) -> dict[str, str]:
    """Return who is whom: an only agent becomes the target's own, of several each stays who it is."""
    known = {agent.id for agent in desk.config.settings.agents} or {desk.agent.id}
    own = agents_of(source, told) if isinstance(told, Layout) else []
    return {each: desk.agent.id for each in own if each not in known} if len(own) == 1 else {}
