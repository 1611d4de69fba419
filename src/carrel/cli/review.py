"""`carrel memory review`: what waits for the owner's word."""

from collections.abc import Sequence

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.diffs import coloured
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.rehearsal import writes
from carrel.cli.transcripts import visible
from carrel.errors import UsageError
from carrel.memory.proposed import diff_of
from carrel.memory.rows import proposal_row
from carrel.records.proposals import Proposal

_MOST_LINES = 40


class NothingNamed(UsageError):
    """Neither numbers nor --all were given."""

    code = "nothing_named"

    def __init__(self) -> None:
        super().__init__(
            "Name what you decide on.", hint="`carrel memory review` lists the numbers; --all is all of them."
        )


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Most to show.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="N", help="Only those after this one.")
@shared_options
@click.pass_context
def review(context: click.Context, shared: Shared, limit: int, after: int) -> None:
    r"""Show the changes of memory that wait for you, with their source and what they would change.

    What waits: facts from tools, web pages, other agents and group members; what would replace or remove
    your own words; what looks like an instruction in disguise.

    \b
    Examples:
      carrel memory review
      carrel memory review approve 3 4
      carrel memory review approve 5 --text "Ana uses a Samsung."
      carrel memory review reject --all
    """
    if context.invoked_subcommand is not None:
        return
    owner_only(shared)
    with shared.open(team=True) as workspace:
        found = workspace.memory.review.waiting(limit + 1, after)
        waiting, is_more = found[:limit], len(found) > limit
        counts = workspace.records.proposals.counts()
        files = [workspace.memory.called(each.store, each.path) for each in waiting]
    if shared.as_json:
        rows = [to_builtins(proposal_row(each)) for each in waiting]
        last = waiting[-1].id if is_more else None
        output.document({"waiting": counts["waiting"], "proposals": rows, "next": last})
        return
    for proposal, file in zip(waiting, files, strict=True):
        _show(proposal, file)
    if not waiting:
        output.line("Nothing waits for you.")
    elif is_more:
        output.line(f"{counts['waiting']:,} wait in all. More: --after {waiting[-1].id}", to_stderr=True)


@review.command()
@click.argument("numbers", nargs=-1, type=click.IntRange(1), metavar="[N]…")
@click.option("--all", "everything", is_flag=True, help="All that wait.")
@click.option("--text", help="Write this instead of what was proposed; for one number only.")
@shared_options
@writes
def approve(shared: Shared, numbers: Sequence[int], text: str | None, *, everything: bool) -> None:
    r"""Let changes happen.

    \b
    Examples:
      carrel memory review approve 3 4
      carrel memory review approve 5 --text "Ana uses a Samsung."
      carrel memory review approve --all
    """
    owner_only(shared)
    if text is not None and (everything or len(numbers) != 1):
        raise click.UsageError("--text takes exactly one number.")
    with shared.open(team=True) as workspace:
        review_ = workspace.memory.review
        chosen = _chosen(numbers, review_.all_waiting() if everything else None)
        decided = review_.approve(chosen, by="owner", text=text)
    _told(shared, decided)


@review.command()
@click.argument("numbers", nargs=-1, type=click.IntRange(1), metavar="[N]…")
@click.option("--all", "everything", is_flag=True, help="All that wait.")
@shared_options
@writes
def reject(shared: Shared, numbers: Sequence[int], *, everything: bool) -> None:
    r"""Keep changes from happening; they are not proposed again.

    \b
    Examples:
      carrel memory review reject 3
      carrel memory review reject --all
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        review_ = workspace.memory.review
        chosen = _chosen(numbers, review_.all_waiting() if everything else None)
        decided = review_.reject(chosen, by="owner")
    _told(shared, decided)


def _chosen(numbers: Sequence[int], everything: Sequence[int] | None) -> Sequence[int]:
    if everything is not None:
        return everything
    if not numbers:
        raise NothingNamed
    return numbers


def _told(shared: Shared, decided: Sequence[Proposal]) -> None:
    if shared.as_json:
        output.document({"proposals": [to_builtins(proposal_row(each)) for each in decided]})
        return
    for each in decided:
        output.line(f"{each.id}  {each.state}  {output.printable(each.path)}")
    if not decided:
        output.line("Nothing waits for you.")


def _show(proposal: Proposal, file: str) -> None:
    where = f"{file} > {proposal.section}" if proposal.section else file
    output.line(f"{proposal.id}.  {output.styled(output.printable(where), bold=True)}  {proposal.action}")
    source = f"from {proposal.trust}" + (f", session {proposal.session}" if proposal.session else "")
    output.line(output.styled(f"    {visible(proposal.reason)} ({visible(source)})", dim=True))
    lines = diff_of(proposal).split("\n")
    for line in lines[:_MOST_LINES]:
        output.line(f"    {coloured(line)}")
    if (left := len(lines) - _MOST_LINES) > 0:
        output.line(f"    … and {left:,} more lines: --json shows all of them")
