"""`carrel index sync | status | rebuild`: the search structure that is derived from the files."""

from collections.abc import Mapping

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import bar
from carrel.cli.rehearsal import writes
from carrel.index import SyncReport, Unsearched
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope


@click.group()
@shared_options
def index(_: Shared) -> None:
    r"""Look after the index, which search is answered from; it can be deleted at any time.

    \b
    Examples:
      carrel index status     what it holds, and whether all is well
      carrel index sync       make it match the files now
      carrel index rebuild    make it anew
    """


@index.command()
@shared_options
@writes
def sync(shared: Shared) -> None:
    r"""Make the index match the files and the sessions; only what changed is read.

    \b
    Examples:
      carrel index sync --json
    """
    _owners(shared)
    with shared.open() as workspace:
        _tell(shared, workspace.searching.sync(progress=bar(shared)))


@index.command()
@shared_options
@writes
def rebuild(shared: Shared) -> None:
    r"""Forget the index and make it anew.

    \b
    Examples:
      carrel index rebuild
    """
    _owners(shared)
    with shared.open() as workspace:
        _tell(shared, workspace.searching.rebuild(progress=bar(shared)))


@index.command()
@shared_options
def status(shared: Shared) -> None:
    r"""Say what the index holds, what makes its vectors, and whether all is well.

    \b
    Examples:
      carrel index status --json
    """
    _owners(shared)
    with shared.open() as workspace:
        told = workspace.searching.status()
    if shared.as_json:
        output.document(to_builtins(told))
        return
    output.line(f"{told.chunks:,} chunks of {told.places:,} files and sessions")
    output.line(f"{told.vectors:,} vectors by {told.embedder}" if told.embedder else "words only, no vectors")
    if told.waiting:
        output.line(f"{told.waiting:,} chunks wait to be written: `carrel index sync`")
    _tell_unsearched(told.unsearched)
    output.line(output.printable(told.location), to_stderr=True)
    output.warnings(told.findings)


def _tell(shared: Shared, report: SyncReport) -> None:
    if shared.as_json:
        output.document(to_builtins(report))
        return
    output.line(f"{report.changed:,} changed · {report.gone:,} gone · {report.chunks:,} chunks written")
    if report.unread:
        output.line(f"{len(report.unread):,} cannot be read now, and are found as they were before")
    if report.waiting:
        output.line(f"{report.waiting:,} chunks wait for their vectors")
    _tell_unsearched(report.unsearched)
    output.warnings(report.findings)


def _tell_unsearched(found: Mapping[str, Unsearched]) -> None:
    """Say how many files are not searched and why, and name some of them."""
    if not found:
        return
    number = sum(each.count for each in found.values())
    reasons = {lack.replace("_", " "): each for lack, each in sorted(found.items())}
    told = ", ".join(f"{each.count:,} {reason}" for reason, each in reasons.items())
    output.line(f"{number:,} file{' is' if number == 1 else 's are'} not searched: {told}")
    for reason, each in reasons.items():
        names = [output.printable(path) for path in each.paths]
        more = ["…"] if each.count > len(names) else []
        output.line(f"  {reason}: {', '.join([*names, *more])}")


def _owners(shared: Shared) -> None:
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope("the index")
