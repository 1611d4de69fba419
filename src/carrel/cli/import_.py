"""`carrel import`: other workspaces, other programs' memory and exports, into this workspace."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.errors import exit_code
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import bar
from carrel.cli.rehearsal import foretells
from carrel.home.address import is_address
from carrel.importing import KINDS, Imported, Row, bring_in, is_export
from carrel.importing.undoing import ImportEdited, take_back

if TYPE_CHECKING:
    from carrel.backing.restoring import Restored

_MOST_ROWS = 100
_SAID = {
    "new": ("new", "green"),
    "merge": ("merged", "green"),
    "proposal": ("waiting for you", "yellow"),
    "beside": ("kept beside", "magenta"),
    "skipped": ("skipped", "red"),
    "same": ("there already", "bright_black"),
}
_LONGEST = max(map(len, _SAID))


class Kind(click.Choice[str]):
    """The kinds that are built in, to be shown and completed; an extension may know others."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Take any name: who imports says which there are."""
        del param, ctx
        return value


@click.command("import")
@click.argument("source")
@click.option("--from", "kind", type=Kind(KINDS), help="What SOURCE is; else told by its files.")
@click.option("--mine", is_flag=True, help="It is all your own: nothing of it waits for your word.")
@click.option("--undo", is_flag=True, help="Take back the last import from SOURCE.")
@click.option("--dry-run", is_flag=True, help="Only tell what would happen.")
@shared_options
@foretells
def import_(
    shared: Shared, source: str, kind: str | None, *, mine: bool, undo: bool, dry_run: bool
) -> int | None:
    r"""Bring in what SOURCE holds: another workspace, the memory of another program, or an export.

    SOURCE is a workspace of any layout, the memory of Claude Code (a project, ~/.claude, a folder of notes,
    a transcript), a project of basic-memory, an Obsidian vault, or a file of `carrel export`. What is there
    already stays as it is. What would enter a file that every prompt holds waits for your word, unless it
    is your own. Importing again changes nothing. --undo takes it all back, but for what was changed since:
    that stays, and is told (exit 5).

    \b
    Examples:
      carrel import ~/.claude/projects/-home-me-shop/memory --dry-run
      carrel import ~/vault --mine
      carrel import ~/vault --undo
      carrel -C new-agent import old-agent     from one layout to another
      carrel -C old-agent import old-agent     take a directory as it is
      carrel -C restored import desk.zip       an export, into a new directory
    """
    owner_only(shared)
    if undo:
        return _take_back(shared, source, dry_run=dry_run)
    if (place := _new_place(shared)) is not None and is_export(source, kind):
        _restore(shared, source, place, dry_run=dry_run)
        return None
    with shared.open() as workspace:
        done = bring_in(workspace, source, kind=kind, mine=mine, dry_run=dry_run, progress=bar(shared))
    output.warnings(done.findings)
    if shared.as_json:
        output.document(to_builtins(done) | {"counts": done.counts})
    else:
        _show(shared, done)
    return None


def _take_back(shared: Shared, source: str, *, dry_run: bool) -> int:
    """Take an import back; a dry run does so with copies, which a database has none of."""
    if dry_run and is_address(shared.directory or ""):
        raise click.UsageError("--undo has no --dry-run where the workspace is in a database")
    with shared.open() as workspace:
        done = take_back(workspace, source)
    output.warnings(done.findings)
    if shared.as_json:
        output.document(to_builtins(done) | {"dry_run": dry_run})
    else:
        for row in done.rows:
            reason = f": {row.reason}" if row.reason else ""
            output.line(output.printable(f"{row.action:<{_LONGEST}}  {row.path}{reason}"))
        taken = sum(row.action == "undone" for row in done.rows)
        output.line(f"{taken:,} of {len(done.rows):,} {'would be' if dry_run else 'are'} taken back.")
    return 0 if done.is_whole else exit_code(ImportEdited(""))


def _new_place(shared: Shared) -> str | None:
    """Return the directory that was named if there is nothing in it yet."""
    place = shared.directory
    if place is None or is_address(place):
        return None
    is_taken = os.path.lexists(place) and not (Path(place).is_dir() and not any(Path(place).iterdir()))
    return None if is_taken else place


def _restore(shared: Shared, source: str, place: str, *, dry_run: bool) -> None:
    """Bring back a whole workspace, records and all, where there is nothing yet."""
    from carrel.backing.restoring import restore  # noqa: PLC0415 - few imports are of exports

    restored: Restored = restore(source, place, environ=os.environ, progress=bar(shared), dry_run=dry_run)
    output.warnings(restored.findings)
    if shared.as_json:
        output.document(to_builtins(restored))
        return
    verb = "There are" if dry_run else "Brought back"
    output.line(f"{verb} {restored.files:,} files ({restored.size:,} bytes).")
    if not dry_run:
        output.line(f"\nNext: carrel trust {output.printable(place)}")


def _show(shared: Shared, done: Imported) -> None:
    """Say for people what became of each piece, and what to do next."""
    output.line(f"{output.printable(done.source)} is {done.kind}.")
    if done.in_place:
        output.line(f"It is used as it is, with {len(done.rows):,} files; none was changed.")
        output.line(f"\nNext: {shared.again} context report")
        return
    told = [row for row in done.rows if row.action != "same"]
    for row in told[:_MOST_ROWS]:
        _show_row(row)
    if (left := len(told) - _MOST_ROWS) > 0:
        output.line(f"… and {left:,} more: --json shows all of them")
    counts = done.counts
    summary = ", ".join(
        f"{counts[action]:,} {said}" for action, (said, _) in _SAID.items() if action in counts
    )
    output.line(f"{'It would be' if done.dry_run else 'In all'}: {summary or 'nothing'}.")
    _show_next(shared, done)


def _show_row(row: Row) -> None:
    action = output.styled(f"{row.action:<{_LONGEST}}", fg=_SAID[row.action][1])
    where = f" → {output.printable(row.target)}" if row.target else ""
    output.line(f"{action}  {output.printable(row.source)}{where}")
    if row.reason:
        output.line(output.styled(f"{'':<{_LONGEST}}  {output.printable(row.reason)}", dim=True))


def _show_next(shared: Shared, done: Imported) -> None:
    counts = done.counts
    if done.dry_run:
        output.line("\nNothing was changed. Next: the same command without --dry-run")
    elif counts.get("proposal"):
        output.line(f"\nNext: {shared.again} memory review   (what waits for your word)")
    elif counts.get("new") or counts.get("merge"):
        output.line(f"\nNext: {shared.again} context report")
    if not done.dry_run and any(counts.get(action) for action in ("new", "merge", "proposal", "beside")):
        output.line("Undo: the same command with --undo")
