"""`carrel memory consolidate`: what is new in the journal becomes a part of MEMORY.md."""

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.diffs import coloured
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import foretells
from carrel.memory.consolidate.consolidator import Consolidated
from carrel.memory.consolidate.rows import consolidated_row
from carrel.runtime.model import OFFLINE


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would change by rules, and write nothing.")
@click.option("--model", "model_name", metavar="PROVIDER:MODEL", help="Who writes; else as the settings say.")
@shared_options
@foretells
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
    model_name = OFFLINE if dry_run else model_name
    with waiting(shared, "Consolidating"), shared.open() as workspace:
        model = workspace.model(model_name) if model_name else None
        done = workspace.conversations.learning.consolidate(model, dry_run=dry_run)
    output.warnings(done.findings)
    if shared.as_json:
        output.document(to_builtins(consolidated_row(done)))
    else:
        _show(done)


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
