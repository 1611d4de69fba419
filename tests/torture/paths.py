"""Row 7: paths that lead elsewhere, and files that are none, by every way in; and links swapped in at the wrong moment.

Nothing outside is opened, read or changed, as the kernel tells, and of what git and Carrel keep inside nothing is changed,
nor told by an agent's way or a page, nor settings by an agent's; nothing is waited for; whatever is refused says so.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from tests.torture import canaries
from tests.torture.canaries import Lookout
from tests.torture.desk import FILES, Child, Desk, Say
from tests.torture.paths_named import MET, furnish, own_paths, some_path
from tests.torture.paths_surfaces import PAGES, SaidNo, Way, harmless, ways_into
from tests.torture.races import swap
from tests.torture.rows import Defect, Meter, Row
from tests.torture.waiting import HANG_SECONDS, Hung, at_most, stopwatch

from carrel.errors import CarrelError

_ALARM = 20
_ROUND = 700
_PLAIN = ("library read", "library list", "library write", "library append")
"""By these ways every link and special file is met in each round."""

_QUICK = 1_400
_AGENTS = ("tool ", "memory ", "mcp ")
"""How the ways begin that are an agent's: its owner's, by whom all others are, may read all and change settings."""

CONFIG = "layout: carrel\nagents:\n  - {id: kate, allowed_tools: ['*', memory]}\nsearch: {embedder: none}\n"


def lead_astray(meter: Meter) -> None:
    """Try paths by all ways, then races; of the quick tier 900 and 500, of a long one five and one of six.

    Where time is short, paths leave a sixth of it to the races.
    """
    races = meter.wanted * 5 // 14 if meter.wanted <= _QUICK else meter.wanted // 6
    told, kept = list[str](), meter.seconds_left / 6
    while meter.goes_on and meter.trials < meter.wanted - races and meter.seconds_left > kept:
        count = min(_ROUND, meter.wanted - races - meter.trials)
        told += _round(
            meter, lambda desk, say, n=count: _try_paths(desk, _chance(meter), n, not meter.trials, say)
        )
    paths = meter.trials
    while meter.goes_on and meter.trials < paths + races:
        count = min(_ROUND, paths + races - meter.trials)
        told += _round(meter, lambda desk, say, count=count: swap(desk, _chance(meter), count, say))
    meter.figures |= {
        "paths": f"{paths:,} by {len(_words(told, 'way'))} ways",
        "races": f"{meter.trials - paths:,} of {len(_words(told, 'deed'))} kinds",
        "the longest took": f"{max(map(float, _words(told, 'longest')), default=0):.2f} s by the clock, without waits for a processor",
    }


def _words(told: Sequence[str], kind: str) -> set[str]:
    """Return what children said of a kind: ways and deeds that did on a harmless path what they are for, or seconds."""
    return {line.removeprefix(f"{kind} ") for line in told if line.startswith(f"{kind} ")}


def _chance(meter: Meter) -> random.Random:
    """Of each round its own: what a child draws, its parent does not."""
    return random.Random(f"{meter.seed}/{meter.trials}")


def _round(meter: Meter, work: Callable[[Desk, Say], None]) -> list[str]:
    """Lay out a new desk with canaries around it, let a child work there, and return what else it says.

    It says what it tried, and what is bad.
    """
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
    meter.check(
        canaries.digest(folder) == before,
        f"{meter.seed}/{first}: what lies outside, or git keeps, was changed",
    )
    meter.check(meter.trials > first, f"{meter.seed}/{first}: nothing was tried")
    os.chdir(meter.folder)
    shutil.rmtree(folder)
    return [line for line in said if line != "tried"]


def _try_paths(desk: Desk, chance: random.Random, count: int, is_first: bool, say: Say) -> None:
    os.environ.update(desk.environ)
    longest = 0.0
    with ways_into(desk) as ways:
        if is_first:
            _see_that_each_works(desk.root, ways, say)
        lookout, inside = Lookout(desk.root.parent), Lookout.within(desk.root)
        before = canaries.kept(desk.root)
        for path, name in islice(_tries(desk.root.parent, sorted(ways), chance, is_first=is_first), count):
            furnish(desk.root)
            list(inside.seen())  # of what was put back
            found, took = _faults(name, ways[name], path)
            for fault in (*found, *lookout.seen(), *inside.seen(), *_taken(name, desk.root, before)):
                say(f"bad {name} {path[:200]!r}: {fault}")
            canaries.put_back(desk.root, before)
            longest = max(longest, took)
            say("tried")
        lookout.close()
        inside.close()
    say(f"longest {longest:.2f}")
    say("done")


def _see_that_each_works(root: Path, ways: Mapping[str, Way], say: Say) -> None:
    """Go each way with a path that nobody minds: one that refuses everything would try nothing."""
    for name, way in ways.items():
        furnish(root)
        try:
            way(harmless(name))
        except (CarrelError, SaidNo) as error:
            say(f"bad {name} {harmless(name)!r}: a harmless path is refused: {str(error)[:300]!r}")
        else:
            say(f"way {name}")


def _taken(name: str, root: Path, before: Mapping[Path, bytes | None]) -> Iterator[str]:
    """Yield what was made or changed, by a way, that is called as what git, Carrel and the settings are."""
    now = canaries.kept(root)
    for path in sorted(before.keys() | now.keys()):
        is_folder = (now if path in now else before)[path] is None
        is_another = path not in now or path not in before or now[path] != before[path]
        if is_another and (is_folder or name.startswith(_AGENTS)):
            yield f"{path.relative_to(root)} was made or changed"


def _tries(
    folder: Path, ways: Sequence[str], chance: random.Random, *, is_first: bool
) -> Iterator[tuple[str, str]]:
    """Yield paths and the ways to try them by, without end; first, once, what git and Carrel keep, by each way."""
    if is_first:
        own = [(path, way) for way in ways for path in own_paths(way)]
        chance.shuffle(own)
        yield from own
    met = [(path, way) for path in MET for way in _PLAIN]
    chance.shuffle(met)
    yield from met
    while True:
        yield some_path(folder, chance), chance.choice(ways)


def _faults(name: str, way: Way, path: str) -> tuple[list[str], float]:
    """Go a way with a path, and return what is wrong with the answer and how long it took."""
    said, found, taken = "", list[str](), stopwatch()
    try:
        with at_most(_ALARM):
            said = way(path)
    except CarrelError as error:
        said = f"{error.message} {error.hint}"
    except SaidNo as error:
        said = str(error)
    except Hung:
        found.append("it hung")
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        found.append(f"{type(error).__name__} {str(error)[:300]!r}")
    if (took := taken()) > HANG_SECONDS:
        found.append(f"it took {took:.1f} s")
    if canaries.is_told(said):
        found.append("what lies outside was told")
    if canaries.GUARD in said and name.startswith((*_AGENTS, PAGES)):
        found.append("what git or Carrel keeps was told")
    return found, took


PATHS = Row(
    number=7,
    promise="hostile paths and special files, by every way in, to read and to write; swap races",
    quick=_QUICK,
    long=60_000,
    share=17,
    in_memory=True,
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
            "files/durable.py",
            "    if not stat.S_ISREG(found.st_mode):\n",
            "    if not stat.S_ISREG(found.st_mode) and not __import__('time').sleep(2):\n",
            "a pipe is waited for two seconds, and then refused",
        ),
        Defect(
            "files/local.py",
            "if found is not None and found.st_nlink == 1:",
            "if found is not None:",
            "what has a second name outside is added to in its place",
        ),
        Defect(
            "tools/access.py",
            'if is_own(path):\n            return "own"',
            'if is_own("") and path:\n            return "own"',
            "tools read what git and Carrel keep",
        ),
        Defect(
            "tools/memory_tool.py",
            '        self.writer.access.refuse(path, place, "change")  #',
            "        pass  #",
            "the memory tool makes what git and Carrel act upon",
        ),
        Defect(
            "runtime/edit.py",
            "    if is_own(path):\n        raise Reserved(path)",
            '    if is_own(""):\n        raise Reserved(path)',
            "the library writes hooks of git",
        ),
        Defect(
            "http/explorer/files.py",
            "        return None  # it is made from the files, or git's\n",
            "        pass\n",
            "a page of the explorer shows what git and Carrel keep",
        ),
    ),
)
