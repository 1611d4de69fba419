"""`carrel memory consolidate`: what is new in the journal becomes a part of MEMORY.md."""

from typing import Any

import click

from carrel.cli import output
from carrel.cli.changes import coloured
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.memory.consolidate.consolidator import Consolidated


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@click.option("--model", "model_name", metavar="PROVIDER:MODEL", help="Who writes; else as the settings say.")
@shared_options
def consolidate(shared: Shared, *, dry_run: bool, model_name: str | None) -> None:
    r"""Take what is new in the journal into the section Consolidated of MEMORY.md.

    What you wrote there yourself stays as it is, and so does what you pinned. What no longer fits goes to
    the archive, which search finds. Old journals go there too. An answer of the model that would lose or
    invent something changes nothing. Without a model, entries are taken over as they are written.

    \b
    Examples:
      carrel memory consolidate --dry-run     what would change
      carrel memory consolidate
      carrel memory consolidate --model offline --json
    """
    owner_only(shared)
    with shared.open() as workspace:
        model = workspace.model(model_name) if model_name else None
        done = workspace.conversations.learning.consolidate(model, dry_run=dry_run)
    output.warnings(done.findings)
    if shared.as_json:
        output.document(_to_json(done))
    else:
        _show(done)


def _to_json(done: Consolidated) -> dict[str, Any]:
    draft = done.draft
    return {
        "dry_run": done.dry_run,
        "reason": done.reason,
        "target": draft.plan.target if draft else None,
        "entries": draft.batch.taken if draft else 0,
        "left_out": dict(draft.left) if draft else {},
        "waiting": len(draft.batch.waiting) if draft else 0,
        "files_left": draft.batch.days if draft else 0,
        "added": list(draft.added) if draft else [],
        "removed": list(draft.removed) if draft else [],
        "diff": draft.diff() if draft else "",
        "archived": list(done.archived),
        "rebuilt": done.rebuilt,
        "finished": done.finished,
        "findings": [
            {"code": each.code, "severity": each.severity, "message": each.message, "hint": each.hint}
            for each in done.findings
        ],
    }


def _show(done: Consolidated) -> None:
    if done.finished:
        output.line("A run that had been cut short is finished now.")
    draft = done.draft
    if draft is None:
        output.line("Nothing is new in the journal.")
    else:
        for line in draft.diff().splitlines():
            output.line(coloured(line))
        would = "would be" if done.dry_run else "were"
        where = output.printable(draft.plan.target)
        output.line(
            f"{draft.batch.taken:,} entries {would} taken into {where}: "
            f"{len(draft.added):,} statements added, {len(draft.removed):,} removed."
        )
    for path in done.archived:
        output.line(f"{output.printable(path)} is in the archive now.")
