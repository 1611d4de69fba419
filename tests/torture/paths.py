"""Row 7: paths that lead elsewhere, and files that are none, by every way in; and links swapped in at the wrong moment.

Nothing outside is opened, read or changed, as the kernel tells; nothing is waited for; whatever is refused says so.
"""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.torture import canaries
from tests.torture.canaries import CANARY, OTHERS, Lookout
from tests.torture.desk import FILES, Child, Desk, Say
from tests.torture.paths_named import MET, furnish, some_path
from tests.torture.paths_surfaces import Way, ways_into
from tests.torture.races import swap
from tests.torture.rows import Defect, Meter, Row

from carrel.errors import CarrelError

HANG_SECONDS = 1.0
_ALARM = 20
_ROUND = 500
_PLAIN = ("library read", "library list", "library write", "library append")
"""By these ways every link and special file is met in each round."""

_QUICK = 900
CONFIG = "layout: carrel\nagents:\n  - {id: kate, allowed_tools: ['*', memory]}\nsearch: {embedder: none}\n"


class _Hung(BaseException):
    """It waits for something that never comes; no `except` on the way stops this."""


def lead_astray(meter: Meter) -> None:
    """Try paths by all ways, then races; of the quick tier 400 and 500, of a long one five and one of six."""
    races = meter.wanted * 5 // 9 if meter.wanted <= _QUICK else meter.wanted // 6
    while meter.goes_on and meter.trials < meter.wanted - races:
        count = min(_ROUND, meter.wanted - races - meter.trials)
        _round(meter, lambda desk, say, count=count: _try_paths(desk, _chance(meter), count, say))
    while meter.goes_on:
        count = min(_ROUND, meter.wanted - meter.trials)
        _round(meter, lambda desk, say, count=count: swap(desk, _chance(meter), count, say))


def _chance(meter: Meter) -> random.Random:
    """Of each round its own: what a child draws, its parent does not."""
    return random.Random(f"{meter.seed}/{meter.trials}")


def _round(meter: Meter, work: Callable[[Desk, Say], None]) -> None:
    """Lay out a new desk with canaries around it, and let a child work there that says what it tried, and what is bad."""
    folder = meter.folder / "one"
    canaries.lay_out(folder)
    desk = Desk(folder, {**FILES, "carrel.yaml": CONFIG})
    os.chdir(folder)
    furnish(desk.root)
    before, first = canaries.digest(folder), meter.trials
    said = Child(lambda say: work(desk, say)).listen()
    meter.check(said and said[-1] == "done", f"{meter.seed}/{first}: it fell over after {said[-1:]}")
    for line in said:
        if line == "tried":
            meter.tried()
        meter.check(not line.startswith("bad "), f"{meter.seed}/{meter.trials} {line}")
    meter.check(canaries.digest(folder) == before, f"{meter.seed}/{first}: what lies outside was changed")
    meter.check(meter.trials > first, f"{meter.seed}/{first}: nothing was tried")
    os.chdir(meter.folder)
    shutil.rmtree(folder)


def _try_paths(desk: Desk, chance: random.Random, count: int, say: Say) -> None:
    os.environ.update(desk.environ)
    signal.signal(signal.SIGALRM, _give_up)
    with ways_into(desk) as ways:
        lookout = Lookout(desk.root.parent)
        for path, name in islice(_tries(desk.root.parent, sorted(ways), chance), count):
            furnish(desk.root)
            for fault in _faults(ways[name], path, lookout):
                say(f"bad {name} {path[:200]!r}: {fault}")
            say("tried")
        lookout.close()
    say("done")


def _tries(folder: Path, ways: Sequence[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield paths and the ways to try them by, without end."""
    met = [(path, way) for path in MET for way in _PLAIN]
    chance.shuffle(met)
    yield from met
    while True:
        yield some_path(folder, chance), chance.choice(ways)


def _faults(way: Way, path: str, lookout: Lookout) -> list[str]:
    began, said, found = time.process_time(), "", list[str]()
    signal.alarm(_ALARM)
    try:
        said = way(path)
    except CarrelError as error:
        said = f"{error.message} {error.hint}"
    except _Hung:
        found.append("it hung")
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        found.append(f"{type(error).__name__} {str(error)[:300]!r}")
    finally:
        signal.alarm(0)
    if (took := time.process_time() - began) > HANG_SECONDS:
        found.append(f"it took {took:.1f} s of the processor")
    if any(mark in said for mark in (CANARY, *OTHERS)):
        found.append("what lies outside was told")
    return [*found, *lookout.seen()]


def _give_up(*_: object) -> None:
    raise _Hung


PATHS = Row(
    number=7,
    promise="hostile paths and special files, by every way in, to read and to write; swap races",
    quick=_QUICK,
    long=60_000,
    share=8,
    run=lead_astray,
    passes="0 bytes outside, 0 hangs",
    defects=(
        Defect(
            "files/resolve.py",
            "DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW",
            "DIRECTORY = os.O_RDONLY | os.O_DIRECTORY",
            "links to folders are followed by the kernel",
        ),
        Defect(
            "files/durable.py",
            "TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
            "TO_READ = os.O_RDONLY",
            "a link or a pipe that was swapped in is opened",
        ),
        Defect(
            "files/local.py",
            "if found is not None and found.st_nlink == 1:",
            "if found is not None:",
            "what has a second name outside is added to in its place",
        ),
    ),
)
