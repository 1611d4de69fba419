"""`carrel export`: a workspace to give away, whole or to be read."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import click
from msgspec import to_builtins

from carrel import exporting
from carrel.backing.newfile import new_file, refuse_file
from carrel.cli import complete, output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import bar, waiting
from carrel.cli.rehearsal import foretells
from carrel.context.report import Report
from carrel.exporting import FORMS, Exported, Form, form_of
from carrel.exporting.drawing import PLAIN, Drawing
from carrel.findings import Finding
from carrel.home.local import absolute

_PRINTABLE = ("json", "markdown")


@click.command()
@click.option(
    "--to",
    metavar="FILE",
    shell_complete=complete.any_files,
    help="A new file; its suffix says the format.",
)
@click.option("--format", "form", type=click.Choice(FORMS), help="Where the file's name does not say it.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be in it.")
@shared_options
@foretells
def export(shared: Shared, to: str | None, form: Form | None, dry_run: bool) -> None:
    r"""Write a workspace into one file: whole (zip, json), or to be read (markdown, html).

    A ZIP or JSON has all files, records and what the agents learnt, and `carrel import` makes an equal
    workspace of it. Credentials are left out, and told. --scope shared writes only what others may see.

    \b
    Examples:
      carrel -C my-agent export --to my-agent.zip
      carrel -C my-agent export --to report.html
      carrel -C my-agent export --format markdown | less
      carrel -C my-agent --scope shared export --to for-others.zip
    """
    shared.know_agent()
    if to == "":
        raise click.UsageError("--to is empty: name a file.")
    chosen = form or form_of(to or "") or ("json" if shared.as_json and to is None else None)
    if chosen is None:
        raise click.UsageError(f"Say which of {', '.join(FORMS)}: with --format, or by the suffix of --to.")
    if to is None and not dry_run:
        if chosen not in _PRINTABLE or (shared.as_json and chosen != "json"):
            raise click.UsageError("Name a file with --to.")
        _print(shared, chosen)
        return
    exported = _written(shared, chosen, absolute(to) if to else None, dry_run=dry_run)
    output.warnings(inside(shared, to) if to else ())
    _tell(shared, exported, to, dry_run=dry_run)


def _written(shared: Shared, form: Form, to: Path | None, *, dry_run: bool) -> Exported:
    if dry_run or to is None:
        with TemporaryFile() as nowhere:
            return _export(shared, form, nowhere, None)
    refuse_file(to)
    with new_file(to) as stream:
        return _export(shared, form, stream, to.parent)


def _print(shared: Shared, form: Form) -> None:
    """Print an export once all of it is there."""
    with TemporaryFile() as held:
        exported = _export(shared, form, held, None)
        held.seek(0)
        for line in held:
            output.write(line.decode("utf-8", "replace"))
    _warn(exported)


def _export(shared: Shared, form: Form, stream: IO[bytes], near: Path | None) -> Exported:
    drawing = _drawing() if form == "html" else PLAIN
    is_counted = form in ("zip", "json")
    with nullcontext() if is_counted else waiting(shared, "Writing it"):
        return exporting.export(
            shared.root,
            form,
            stream,
            environ=os.environ,
            scope=shared.scope,
            near=near,
            drawing=drawing,
            progress=bar(shared) if is_counted else None,
        )


def _drawing() -> Drawing:
    """Return how the explorer shows texts and contexts, where it is installed."""
    try:
        from carrel.http.explorer import pictures  # noqa: PLC0415 - only a page needs them
        from carrel.http.explorer.markup import rendered  # noqa: PLC0415 - as above
        from carrel.http.explorer.pictures.bar import bar as picture  # noqa: PLC0415 - as above
        from carrel.http.explorer.pictures.bar import legend  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("carrel"):
            raise
        return PLAIN

    def context(report: Report) -> str:
        wide = picture(report, pictures.WIDE, key="wide")
        narrow = picture(report, pictures.NARROW, key="narrow")
        shown = f'<div class="wide-only">{wide}</div><div class="narrow">{narrow}</div>'
        return f"{shown}{legend(report)}"

    return Drawing(markdown=rendered, context=context)


def _tell(shared: Shared, exported: Exported, to: str | None, *, dry_run: bool) -> None:
    if shared.as_json:
        output.document({"file": to, "dry_run": dry_run, **to_builtins(exported)})
        return
    verb = "There are" if dry_run else "Exported"
    output.line(f"{verb} {exported.files:,} files and {exported.records:,} records.")
    if to and not dry_run:
        output.line(f"  {output.printable(to)}")
    _warn(exported)


def inside(shared: Shared, file: str) -> Iterator[Finding]:
    """Yield that a file was put into the workspace that it is made of: the next one would hold it."""
    if isinstance(shared.root, Path) and absolute(file).resolve().is_relative_to(shared.root.resolve()):
        yield Finding(
            code="written_inside",
            severity="warning",
            message="The file stands inside the workspace: the next export or backup holds it, too.",
            hint="Move it elsewhere.",
            path=file,
        )


def _warn(exported: Exported) -> None:
    """Tell what is not in the file, and what is in it that should not be."""
    if exported.hidden:
        output.line(f"hidden: {exported.hidden:,} files are the owner's alone.", to_stderr=True)
    for left in exported.left_out:
        output.line(f"left out: {output.printable(left.path)}: {left.reason}.", to_stderr=True)
    output.warnings(exported.findings)
