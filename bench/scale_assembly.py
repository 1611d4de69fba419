"""What an assembly asks of the database, counted: on another machine each is a way there and back."""

import os
import time
from collections.abc import Callable
from itertools import count

from tests.stubs.postgres import Server

from carrel import Workspace
from figures import Figure, best, figure

HERE = "pg://acme/studio"
TURNS, NOTES = 20, 30
MOST = 3
"""Round trips of a warm assembly."""


def measure(server: Server, times: int) -> list[Figure]:
    """Figures of one workspace; how many others there are changes none of them."""
    del times
    environ = {"CARREL_DATABASE_URL": server.database(), "CARREL_HOME": os.environ["CARREL_HOME"]}
    Workspace.init(HERE, environ=environ)
    with Workspace.open(HERE, environ=environ) as workspace:
        for number in range(NOTES):
            workspace.put(f"knowledge/part{number}/note.md", f"Note {number} is about quokkas.\n".encode())
        for number in range(TURNS):
            said = [
                {"role": "user", "content": f"Question {number}?"},
                {"role": "assistant", "content": "Yes."},
            ]
            workspace.record("s1", said)
        time.sleep(2.1)  # what changed within 2 s is read again, whatever its stamp
        asks = map("Where are {} quokkas?".format, count())  # nobody asks the same thing twice
        works: dict[str, tuple[Callable[[], object], int | None]] = {
            "warm assembly": (workspace.assemble, MOST),
            "warm assembly of a session": (lambda: workspace.assemble("s1"), MOST),
            "warm prepare": (lambda: workspace.prepare("s1"), MOST),
            "warm prepare with a message": (
                lambda: workspace.prepare("s1", next(asks)),
                None,
            ),
            "warm search": (lambda: workspace.search(next(asks)), None),
        }
        return [each for name, (work, bar) in works.items() for each in counted(workspace, name, work, bar)]


def counted(workspace: Workspace, name: str, work: Callable[[], object], bar: int | None) -> list[Figure]:
    """How often the database was waited for, and the time that all of it took."""
    for _ in range(4):
        work()
    tenant = workspace.home.tenant
    before = tenant.round_trips
    work()
    trips = tenant.round_trips - before
    return [
        figure(f"round trips of a {name}", trips, "", bar),
        figure("  and its time, database and all on this machine", best(work, 30), "ms"),
    ]
