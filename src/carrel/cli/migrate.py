"""`carrel migrate --to`: a workspace into a database, out of it, or to another directory."""

import os

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import bar
from carrel.cli.rehearsal import foretells
from carrel.moving import Moved, move


@click.command()
@click.option(
    "--to", "target", required=True, metavar="URL|DIR", help="Where: pg://TENANT/NAME, or a directory."
)
@click.option("--dry-run", is_flag=True, help="Only tell what there is to be moved.")
@shared_options
@foretells
def migrate(shared: Shared, target: str, dry_run: bool) -> None:
    r"""Move a workspace to another place: files, sessions, records, trash, and what its agents learnt.

    All is compared when it has come. The old one stays as it is, for you to remove. A move that was broken
    off goes on where it stopped: give the same command again.

    \b
    Examples:
      carrel -C my-agent migrate --to pg://acme/studio --dry-run
      carrel -C my-agent migrate --to pg://acme/studio
      carrel -C pg://acme/studio migrate --to ./my-agent
    """
    owner_only(shared)
    shared.know_agent()
    moved = move(shared.root, target, environ=os.environ, progress=bar(shared), dry_run=dry_run)
    if shared.as_json:
        output.document(to_builtins(moved))
        return
    _show(moved)


def _show(moved: Moved) -> None:
    rows = sum(moved.rows.values())
    verb = "There are" if moved.dry_run else "Moved"
    output.line(f"{verb} {moved.files:,} files ({moved.size:,} bytes) and {rows:,} records.")
    output.warnings(moved.findings)
    if not moved.dry_run:
        output.line(f"\nNext: carrel -C {output.printable(moved.target)} health")
