"""`carrel dream`: what is promoted because it was recalled often, what may be, and the way back."""

from collections.abc import Iterable

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import foretells, writes
from carrel.cli.transcripts import visible
from carrel.dreaming import Dreamt
from carrel.memory.dream.gates import Gate, in_words
from carrel.memory.dream.plan import Judged
from carrel.memory.dream.rows import dream_row
from carrel.records.dreams import Dream

_MARKS = {"ready": "+", "later": "…", "blocked": "!", "known": "=", "below": " "}


@click.group()
@shared_options
def dream(_: Shared) -> None:
    r"""Promote what was recalled often, lately, for different reasons and over days to MEMORY.md.

    \b
    Examples:
      carrel dream run --dry-run              what would be promoted
      carrel dream run
      carrel dream candidates --why           each gate, and what is in the way
      carrel dream status
      carrel dream revert                     take the last one back
      0 3 * * * carrel -C /home/me/agent dream run
    """


@dream.command()
@click.option("--dry-run", is_flag=True, help="Show what would be promoted, and write nothing.")
@shared_options
@foretells
def run(shared: Shared, *, dry_run: bool) -> None:
    r"""Promote what passes every gate: at the end of MEMORY.md, and with an entry in DREAMS.md.

    What is promoted once is not promoted again. What a kill has left half done is finished first.

    \b
    Examples:
      carrel dream run
      carrel dream run --dry-run --json
    """
    owner_only(shared)
    with waiting(shared, "Dreaming"), shared.open() as workspace:
        dreamt = workspace.dreaming.run(dry_run=dry_run)
    output.warnings((*dreamt.outlook.findings, *dreamt.findings))
    if shared.as_json:
        output.document(to_builtins(dreamt.to_row()))
        return
    for each in dreamt.finished:
        output.line(f"Dream {each.id}, which had been cut short, is {each.state} now.")
    ready = dreamt.outlook.plan.ready
    if ready:
        where = output.printable(dreamt.outlook.target)
        output.line(f"Would be promoted to {where}:" if dry_run else f"Promoted to {where}{_number(dreamt)}:")
        _show(ready, why=True)
    else:
        output.line(f"Nothing {'would be' if dry_run else 'was'} promoted. {dreamt.outlook.plan.reason}")


@dream.command()
@click.option("--why", is_flag=True, help="Show each gate's value against its threshold, and the places.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most of them.")
@shared_options
def candidates(shared: Shared, *, why: bool, limit: int) -> None:
    r"""List what was recalled, the best first: ready, blocked with the reason, known, or not there yet.

    \b
    Examples:
      carrel dream candidates
      carrel dream candidates --why
      carrel dream candidates --limit 500 --json
    """
    owner_only(shared)
    with waiting(shared, "Weighing"), shared.open() as workspace:
        outlook = workspace.dreaming.look()
    output.warnings(outlook.findings)
    shown = outlook.plan.judged[:limit]
    if shared.as_json:
        output.document(to_builtins(outlook.to_row(limit)))
        return
    _show(shown, why=why)
    if (more := len(outlook.plan.judged) - len(shown)) > 0:
        output.line(f"And {more:,} more.", to_stderr=True)
    if not outlook.plan.ready:
        output.line(f"Nothing would be promoted. {outlook.plan.reason}", to_stderr=True)


@dream.command()
@shared_options
def status(shared: Shared) -> None:
    r"""Tell of the last run, when the next is due, and how much was promoted so far.

    \b
    Examples:
      carrel dream status
      carrel dream status --json
    """
    owner_only(shared)
    with shared.open() as workspace:
        now = workspace.dreaming.status()
    if shared.as_json:
        output.document(to_builtins(now.to_row()))
        return
    output.line(f"last run   {_last(now.last)}")
    when = "now" if now.is_due else now.due.strftime("%Y-%m-%d %H:%M UTC") if now.due else "only when you ask"
    output.line(f"next run   {when if now.enabled else 'never: dreaming is switched off'}")
    output.line(f"promoted   {now.counts['promoted']:,}, taken back {now.counts['reverted']:,}")
    output.line(f"recalls    {now.recalls:,}")
    for each in now.unfinished:
        problem = f": {output.printable(each.problem)}" if each.problem else "; the next run finishes it"
        output.line(f"unfinished dream {each.id}{problem}")


@dream.command()
@click.argument("number", type=click.IntRange(1), required=False, metavar="[RUN]")
@shared_options
@writes
def revert(shared: Shared, number: int | None) -> None:
    r"""Take back exactly what a run has added, else the last one that promoted something.

    What was edited by hand since then stays; where both touched the same lines, nothing is changed (exit 5).
    It may be promoted again only after it was recalled anew, often enough.

    \b
    Examples:
      carrel dream revert
      carrel dream revert 3
    """
    owner_only(shared)
    with shared.open() as workspace:
        dreamt = workspace.dreaming.revert(number)
    output.warnings(dreamt.findings)
    taken = dreamt.dream
    assert taken is not None
    if shared.as_json:
        output.document(to_builtins(dream_row(taken)))
        return
    output.line(f"Dream {taken.id} of {output.printable(taken.path)} is taken back:")
    for each in taken.promotions:
        if each.state == "reverted":
            output.line(f"  {visible(each.text)}")


def _show(judged: Iterable[Judged], *, why: bool) -> None:
    for each in judged:
        candidate = each.candidate
        note = f"  [{each.reason}]" if each.reason else ""
        output.line(f"{_MARKS[each.state]} {candidate.score:.2f}  {visible(candidate.text)}{note}")
        if not why:
            continue
        gates = " ".join(_gate_words(gate) for gate in candidate.gates)
        output.line(output.styled(f"        {gates}", dim=True))
        places = ", ".join(f"{source.path}:{source.line}" for source in candidate.sources)
        output.line(output.styled(f"        {output.printable(places)}", dim=True))
        if each.why:
            output.line(output.styled(f"        {each.why}", dim=True))


def _gate_words(gate: Gate) -> str:
    return f"{in_words(gate)} {'✓' if gate.is_open else '✗'}"


def _number(dreamt: Dreamt) -> str:
    return f" (dream {dreamt.dream.id})" if dreamt.dream else ""


def _last(last: Dream | None) -> str:
    if last is None:
        return "never"
    count = sum(each.state in ("promoted", "planned") for each in last.promotions)
    told = f"{last.at:%Y-%m-%d %H:%M} UTC, dream {last.id}, {last.state}: "
    return told + (f"{count:,} promoted" if count or not last.reason else f"nothing promoted. {last.reason}")
