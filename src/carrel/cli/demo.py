"""`carrel demo`: the story of one fact, told by running what a user would type, and checked as it is told."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import click

from carrel import plainyaml
from carrel.cli import output, progress
from carrel.cli.demo_screen import Screen
from carrel.cli.demo_stage import WORKSPACE, DemoFailed, Stage
from carrel.cli.demo_steps import Story, Told, tell
from carrel.cli.demo_studio import NEIGHBOUR, furnish
from carrel.cli.options import Shared, shared_options
from carrel.cli.serve import serve
from carrel.clock import SystemClock

STUDIO = "harbour"


@click.command()
@click.option("--serve", "is_served", is_flag=True, help="Then open it in your browser, until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Where to serve. [default: any free]")
@shared_options
def demo(shared: Shared, is_served: bool, port: int) -> None:
    r"""See one fact learnt, found, killed over, recalled, hidden, promoted and taken back.

    All of it really happens, in a temporary directory that is removed afterwards, with the offline model:
    no key, no network. With --json, what was typed, printed and observed in each step.

    \b
    Examples:
      carrel demo
      carrel demo --serve
      carrel demo --json
    """
    with tempfile.TemporaryDirectory(prefix="carrel-demo-") as name:
        folder = Path(name).resolve()
        screen = Screen(is_silent=shared.as_json)
        told = _tell(folder, screen)
        if failed := [each.seen.claim for each in told if not each.seen.holds]:
            raise DemoFailed(" ".join(failed))
        if is_served:
            _serve(folder, shared, port)
    if not is_served:
        _farewell(screen)


def _tell(folder: Path, screen: Screen) -> Sequence[Told]:
    """Tell the story: to people as it happens, to machines when it is over."""
    begun = monotonic()
    plainyaml.remember_in(folder / "home/cache/yaml")
    stage = Stage(folder, os.environ, screen)
    screen.say("One agent, one fact, four days. All of it is really typed, and really happens.")
    told = list(tell(Story(stage, SystemClock().now())))
    seconds = monotonic() - begun
    if screen.is_silent:
        steps = [each.to_json(number) for number, each in enumerate(told, 1)]
        output.document({"steps": steps, "seconds": round(seconds, 1), "explorer": _opens_it()})
    held, typed = sum(each.seen.holds for each in told), sum(len(each.ran) for each in told)
    screen.say(f"\n{held} of {len(told)} claims held: {typed} commands in {seconds:.0f} seconds, no network.")
    return told


def _farewell(screen: Screen) -> None:
    """Say what to type next."""
    is_cloned = bool(os.environ.get("MAKELEVEL"))
    screen.say("\nNothing of it is left. To see it in your browser, beside three weeks of work:\n")
    screen.command(_opens_it())
    screen.say("\nTo make an agent of your own:\n")
    screen.command(f"{'. .venv/bin/activate && ' if is_cloned else ''}carrel init my-agent")


def _serve(folder: Path, shared: Shared, port: int) -> None:
    """Serve what the story left, and a studio in which three weeks of work were done."""
    os.environ["CARREL_HOME"] = str(folder / "home")  # the server's workers are told by it, too
    studio = folder / STUDIO
    output.line("\nA studio beside it is being furnished with three weeks of work.", to_stderr=True)
    furnish(studio, os.environ, progress.bar(shared))
    where = f"The link opens the studio; what you have just seen is beside it, at /w/{WORKSPACE}/overview."
    output.line(f"{where} Ctrl-C ends it and removes everything.", to_stderr=True)
    more = tuple(map(str, (studio, folder / WORKSPACE, folder / NEIGHBOUR)))
    click.get_current_context().invoke(serve, more=more, port=port)


def _opens_it() -> str:
    """Return the command that shows the same in a browser, as whoever runs this would type it."""
    return "SERVE=1 make demo" if os.environ.get("MAKELEVEL") else "carrel demo --serve"
