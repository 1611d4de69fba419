"""`carrel memory forget`."""

import sys
from collections.abc import Sequence
from typing import Any, TextIO

import click
from msgspec import to_builtins

from carrel.cli import complete, output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import foretells
from carrel.cli.transcripts import visible
from carrel.errors import UsageError
from carrel.memory.forget.choice import Choice
from carrel.memory.forget.report import Copy, Forgotten
from carrel.memory.forget.rows import forgotten_row

_SHOWN = 20


class NotConfirmed(UsageError):
    """What a query finds was to be forgotten, and nobody was there to look at it first."""

    code = "not_confirmed"

    def __init__(self) -> None:
        super().__init__(
            "What a query finds is forgotten only when somebody has seen it.",
            hint="Look with --dry-run, then say --yes.",
        )


@click.command()
@click.argument("facts", nargs=-1, metavar="[FACT]...")
@click.option(
    "--session", metavar="ID", shell_complete=complete.sessions, help="What was learnt in this session."
)
@click.option("--sender", metavar="ID", help="What was learnt from somebody's messages.")
@click.option("--file", metavar="PATH", help="What stands in this file, or was learnt from reading it.")
@click.option("--query", metavar="TEXT", help="Facts and lines with these words; asks first.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be forgotten.")
@click.option("--purge", is_flag=True, help="Also out of transcripts and the history of changes, for good.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@shared_options
@foretells
def forget(
    shared: Shared, facts: Sequence[str], *, dry_run: bool, purge: bool, yes: bool, **within: Any
) -> int:
    r"""Forget facts everywhere, and tell where copies remain; nobody but you can bring them back.

    Where a file could not be written, the exit code says so; `carrel sweep` finishes it.

    \b
    Examples:
      carrel memory forget 3f2a91c0d2b7e4f10a5b
      carrel memory forget --session 2026-04-24-k3f9 --dry-run
      carrel memory forget --sender +15551234567 --purge
      carrel memory forget --query "Samsung" --yes --json
    """
    owner_only(shared)
    choice = Choice(facts=tuple(facts), **within)
    with shared.open() as workspace:
        forgetting = workspace.forgetting
        if choice.query and not (dry_run or yes):
            with waiting(shared, "Looking for it"):
                found = forgetting.forget(choice, purge=purge, dry_run=True)
            _ask(found)
        with waiting(shared, "Forgetting"):
            done = forgetting.forget(choice, purge=purge, dry_run=dry_run)
    output.warnings(done.findings)
    if shared.as_json:
        output.document(to_builtins(forgotten_row(done)))
    else:
        _show(done)
    return int(any(finding.severity == "error" for finding in done.findings))


def _ask(found: Forgotten) -> None:
    """Show whoever sits at a terminal what would go, and ask; a program has to say that it is sure."""
    stream: TextIO | None = sys.stdin
    if stream is None or not stream.isatty():
        raise NotConfirmed
    for fact in found.facts[:_SHOWN]:
        output.line(f"  {visible(fact.text)}", to_stderr=True)
    if len(found.facts) > _SHOWN:
        output.line(f"  … and {len(found.facts) - _SHOWN:,} more", to_stderr=True)
    click.confirm(f"Forget {len(found.facts):,} facts and lines?", abort=True, err=True)


def _show(done: Forgotten) -> None:
    output.line(f"{'Would be forgotten' if done.dry_run else 'Forgotten'}: {len(done.facts):,}")
    for fact in done.facts:
        output.line(f"  {output.styled(fact.id, dim=True)}  {visible(fact.text)}")
    for each in done.removed:
        output.line(f"  {output.printable(each.path)}:{each.line}  {visible(each.text)}")
    _show_copies("Rewritten for good", done.purged)
    _show_copies("Copies remain", done.remaining)


def _show_copies(title: str, copies: Sequence[Copy]) -> None:
    if copies:
        output.line(f"{title}:")
    for copy in copies:
        told = f"  {copy.kind:<10} {output.printable(copy.place)} ({copy.count:,})"
        output.line(f"{told}  {output.styled(copy.how, dim=True)}".rstrip())
