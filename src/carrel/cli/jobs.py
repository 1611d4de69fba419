"""`carrel jobs list | show | retry`: what waits to be done, and what became of it."""

from typing import Any, get_args

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.cli.rehearsal import writes
from carrel.cli.transcripts import visible
from carrel.records.queue import AT_ONCE, Job, State
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

_KEY = 60


@click.group()
@shared_options
def jobs(_: Shared) -> None:
    r"""See what waits in the queue, what is being done, and what went wrong; `carrel sweep` does it.

    \b
    Examples:
      carrel jobs list                    what waits, is being done, or was given up
      carrel jobs show 12                 one of them, whole
      carrel jobs retry 12                once more, after it was given up
    """


@jobs.command("list")
@click.option("--state", type=click.Choice(get_args(State)), help="Only these; else all that are not done.")
@click.option("--kind", metavar="KIND", help="Only of this kind: extract, delegate, consolidate.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Most jobs.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="ID", help="Only those after this one.")
@shared_options
def list_(shared: Shared, state: State | None, kind: str | None, limit: int, after: int) -> None:
    r"""List jobs in the order in which they were put.

    \b
    Examples:
      carrel jobs list
      carrel jobs list --state failed
      carrel jobs list --kind extract --state done --json
    """
    _owners(shared)
    with shared.open(team=True) as workspace:
        queue = workspace.records.queue
        states = ("waiting", "running", "failed") if state is None else (state,)
        pages = (queue.jobs(each, kind=kind, limit=limit + 1, after=after) for each in states)
        found = sorted((job for page in pages for job in page), key=lambda job: job.id)
        counts = queue.counts()
    shown, is_more = found[:limit], len(found) > limit
    if shared.as_json:
        cursor = shown[-1].id if is_more else None
        output.document({"jobs": [to_builtins(job) for job in shown], "counts": counts, "next": cursor})
        return
    for job in shown:
        about = f"{output.printable(job.kind):<11} {output.printable(job.key[:_KEY])}"
        output.line(f"{job.id:>5}  {_state(job)}  {about}")
        if about := _about(job):
            output.line(output.styled(f"       {about}", dim=True))
    if is_more:
        output.line(f"There are more: --after {shown[-1].id}", to_stderr=True)
    elif not shown:
        output.line("Nothing of that is in the queue.", to_stderr=True)


@jobs.command()
@click.argument("number", type=click.IntRange(1), metavar="ID")
@shared_options
def show(shared: Shared, number: int) -> None:
    r"""Show one job: what it is about, how often it was tried, and what came of it.

    \b
    Examples:
      carrel jobs show 12
      carrel jobs show 12 --json
    """
    _owners(shared)
    with shared.open(team=True) as workspace:
        _tell(shared, workspace.records.queue.get(number))


@jobs.command()
@click.argument("number", type=click.IntRange(1), metavar="ID")
@shared_options
@writes
def retry(shared: Shared, number: int) -> None:
    r"""Put a job that was given up back into the queue; any other stays as it is.

    \b
    Examples:
      carrel jobs retry 12
    """
    _owners(shared)
    with shared.open(team=True) as workspace:
        _tell(shared, workspace.records.queue.again(number))


def _tell(shared: Shared, job: Job) -> None:
    if shared.as_json:
        output.document(to_builtins(job))
        return
    told: dict[str, Any] = to_builtins(job)
    for name in ("id", "kind", "key", "state", "attempts"):
        output.line(f"{name:<9} {output.printable(str(told[name]))}")
    for name in ("payload", "result"):
        for key, value in told[name].items():
            output.line(f"{name:<9} {output.printable(key)}: {visible(str(value))}")
    if about := _about(job):
        output.line(about)


def _about(job: Job) -> str:
    """Return what a person wants to know of a job beside its state."""
    told: list[str] = []
    if job.attempts:
        told.append(f"{job.attempts} tried" if job.state != "running" else f"attempt {job.attempts}")
    if job.state == "waiting" and job.not_before > AT_ONCE:
        told.append(f"not before {job.not_before:%Y-%m-%d %H:%M:%S} UTC")
    if job.leased_until is not None:
        told.append(f"by {output.printable(job.worker)} until {job.leased_until:%Y-%m-%d %H:%M:%S} UTC")
    if job.error:
        told.append(visible(job.error))
    return "; ".join(told)


def _state(job: Job) -> str:
    colours = {"failed": "red", "running": "yellow", "done": "green", "waiting": "cyan"}
    return output.styled(f"{job.state:<7}", fg=colours[job.state])


def _owners(shared: Shared) -> None:
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope("the queue")
