"""`carrel backup create | verify | restore`: a workspace in one file, and back again."""

import os
from pathlib import Path
from shlex import quote

import click
from msgspec import to_builtins

from carrel.backing import Created, Restored, check, create
from carrel.backing import restore as bring_back
from carrel.bundle.reading import Verified
from carrel.cli import complete, output
from carrel.cli.errors import EXIT_CODES
from carrel.cli.export import inside
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import bar
from carrel.cli.rehearsal import foretells
from carrel.errors import CheckFailed


@click.group()
@shared_options
def backup(_: Shared) -> None:
    r"""Keep a workspace safe: all of it in one file, and back again.

    \b
    Examples:
      carrel -C my-agent backup create               into your own directory of backups
      carrel backup verify my-agent-2026-05-01T120000Z.zip
      carrel backup restore my-agent-2026-05-01T120000Z.zip --into my-agent-again
    """


@backup.command("create")
@click.option(
    "--to",
    metavar="FILE|DIR",
    shell_complete=complete.any_files,
    help="Where; in a directory it gets a name with the date.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be in it.")
@shared_options
@foretells
def create_command(shared: Shared, to: str | None, dry_run: bool) -> None:
    r"""Copy a workspace as it is at one moment, while agents work on: files, records, trash, namespaces.

    The file is read again before this says that it is done. Secrets of keys are never in it.

    \b
    Examples:
      carrel -C my-agent backup create
      carrel -C my-agent backup create --to /mnt/backups/
      carrel -C pg://acme/studio backup create --to studio.zip --json
    """
    owner_only(shared)
    shared.know_agent()
    created = create(shared.root, to, environ=os.environ, progress=bar(shared), dry_run=dry_run)
    output.warnings(inside(shared, created.file))
    if shared.as_json:
        output.document(to_builtins(created))
        return
    _show_created(created)


@backup.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@shared_options
def verify_command(shared: Shared, file: Path) -> None:
    r"""Read all of a backup: every digest, and every record as it would be kept.

    It ends with 4 if anything is damaged, and says what.

    \b
    Examples:
      carrel backup verify studio.zip
      carrel backup verify studio.zip --json
    """
    found = check(file, progress=bar(shared))
    if shared.as_json:
        output.document({**to_builtins(found), "whole": not found.damaged})
    else:
        _show_verified(found)
    if found.damaged:
        click.get_current_context().exit(EXIT_CODES[CheckFailed])


@backup.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--into", required=True, metavar="DIR", help="A new directory, or an empty one.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be there.")
@shared_options
@foretells
def restore_command(shared: Shared, file: Path, into: str, dry_run: bool) -> None:
    r"""Make a directory that is the workspace of a backup: all of it, or nothing.

    What is in a file may be anybody's, so that the new workspace is not trusted, and its records do not
    count, until you say so.

    \b
    Examples:
      carrel backup restore studio.zip --into studio --dry-run
      carrel backup restore studio.zip --into studio
      carrel trust studio
    """
    owner_only(shared)
    restored = bring_back(file, into, environ=os.environ, progress=bar(shared), dry_run=dry_run)
    if shared.as_json:
        output.document(to_builtins(restored))
        return
    _show_restored(restored)


def _show_created(created: Created) -> None:
    rows = sum(created.rows.values())
    told = f"{created.files:,} files and {rows:,} records ({created.size:,} bytes)"
    if created.dry_run:
        output.line(f"There are {told}. They would go to {output.printable(created.file)}.")
    else:
        output.line(f"Backed up and verified: {told}.")
        output.line(f"  {output.printable(created.file)}  {created.file_size:,} bytes")
    output.warnings(created.findings)
    if not created.dry_run:
        output.line(f"\nNext: carrel backup restore {output.printable(quote(created.file))} --into DIR")


def _show_verified(found: Verified) -> None:
    rows = sum(found.rows.values())
    for each in found.damaged:
        output.line(f"  {output.styled('damaged', fg='red')}  {output.printable(each)}")
    whole = output.styled("whole", fg="green")
    state = f"{len(found.damaged):,} damaged" if found.damaged else whole
    output.line(f"{found.files:,} files, {rows:,} records, {found.size:,} bytes: {state}.")


def _show_restored(restored: Restored) -> None:
    rows = sum(restored.rows.values())
    told = f"{restored.files:,} files ({restored.size:,} bytes) and {rows:,} records"
    if restored.dry_run:
        output.line(f"There are {told}. They would go to {output.printable(restored.target)}.")
        return
    output.line(f"Restored {told}.")
    output.warnings(restored.findings)
    target = output.printable(quote(restored.target))
    output.line(f"\nNot trusted. Look at it, then: carrel trust {target}")
