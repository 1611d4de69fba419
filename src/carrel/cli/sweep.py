"""`carrel sweep`: do what waits in the queue."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import writes
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope


@click.command()
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Most jobs to do.")
@click.option("--model", "model_name", metavar="PROVIDER:MODEL", help="Who works; else as the settings say.")
@shared_options
@writes
def sweep(shared: Shared, limit: int, model_name: str | None) -> None:
    r"""Do what waits in the queue: tasks that agents left for others, facts to be taken from sessions.

    A job that fails is tried again later, and given up after five times. Run it from cron, or by hand; when
    it is stopped, what it was doing waits in the queue again. `carrel jobs list` shows what waits, and why.

    \b
    Examples:
      carrel sweep
      carrel sweep --limit 1 --json
      */5 * * * * carrel -C /home/me/agent sweep
    """
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope("the queue")
    with _stoppable(), waiting(shared, "Sweeping"), shared.open(team=True) as workspace:
        swept = workspace.sweep(model=workspace.model(model_name) if model_name else None, limit=limit)
    output.warnings(swept.findings)
    if shared.as_json:
        output.document(to_builtins(swept))
        return
    output.line(
        f"{swept.done:,} done · {swept.failed:,} given up · {swept.retrying:,} to be tried again · "
        f"{swept.left:,} left"
    )


@contextmanager
def _stoppable() -> Generator[None]:
    """Let a process be told to end as Ctrl-C does it: what it holds is let go of on the way out."""
    told: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        told.append(number)
        interrupt = signal.getsignal(signal.SIGINT)  # that of a loop that runs ends its tasks first
        if not callable(interrupt):
            raise SystemExit(128 + number)
        interrupt(signal.SIGINT, frame)

    before = signal.getsignal(signal.SIGTERM)
    if before is not signal.SIG_DFL:  # somebody knows better
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        if told:
            raise SystemExit(128 + told[0]) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
