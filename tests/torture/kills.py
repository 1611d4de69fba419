"""Row 1: kill -9 at random and at every named point, through library, command line, HTTP and the worker of the queue.

Most who are killed are forks of a process that has loaded everything. Some commands and servers are started as users do,
while nobody else of this row works, so that their starts are measured and not the row.
"""

import json
import random
import re
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from itertools import count, cycle, islice
from pathlib import Path
from typing import NamedTuple

from tests.torture.crowd import together
from tests.torture.deeds import KINDS, Deeds
from tests.torture.desk import Child, Desk, Forked, Say
from tests.torture.fuse import POINTS, Fuse
from tests.torture.rows import Defect, Meter, Row

RESTART_SECONDS = 2.0
"""From which on a start after a kill is too slow, unless one without a kill takes nearly as long.

What it waits for a processor does not count: other programs have those.
"""

_BUSY = 3
"""So many times what a start without a kill takes at that moment is the machine's doing."""

_QUICK = 80
_KILLS_PER_DESK = 40
_EACH, _AT_ONCE = 500, 4
_LONGEST = 0.12
_SUCCESS = (200, 201)
_DEEDS = (KINDS, KINDS[:-1], KINDS[:-1])
"""What is done until a file is changed: one time in three, a fact is learnt too, which takes longest."""
_ALONE_OF, _FEWEST_ALONE = 16, 6
"""One trial of so many is made alone, at least so many: a command and a server are among six in a row."""


class Killed(NamedTuple):
    """Seconds from the start to the first acknowledged write, what went wrong before the kill, and whether there was one."""

    started: float | None
    wrong: str = ""
    counts: bool = True


class Found(NamedTuple):
    """How often somebody was killed, by who it was, and how long each start took on what a kill had left."""

    kills: Counter[str]
    restarts: dict[str, list[float]]


Way = Callable[[Deeds, str, random.Random], Killed]
Start = Callable[..., "Forked | subprocess.Popen[bytes]"]


def kill_at_random(meter: Meter) -> None:
    """Let several at once kill who works, and tell of all together."""
    import_module("carrel.http.server")  # forks find it loaded
    most = max(_FEWEST_ALONE, meter.wanted // _ALONE_OF)
    alone = _kill_some(meter, _ways(meter.seed, _STARTED), most)
    found = together(
        meter, lambda own: _kill_some(own, _ways(own.seed, _FORKED), own.wanted), each=_EACH, most=_AT_ONCE
    )
    kills, restarts = Counter[str](), defaultdict[str, list[float]](list)
    for each in (alone, *found):
        kills += each.kills
        for kind, seconds in each.restarts.items():
            restarts[kind] += seconds
    unseen = [point for point in POINTS if not kills[f"point:{point}"]]
    kinds = Counter(dict.fromkeys(("point", *restarts), 0))
    for name, times in kills.items():
        kinds[name.partition(":")[0]] += times
    meter.figures["killed"] = ", ".join(f"{kind} {times:,}" for kind, times in kinds.items())
    meter.figures["named points"] = f"{len(POINTS) - len(unseen)} of {len(POINTS)}"
    if unseen:
        meter.left_out.append(f"not come to: {', '.join(unseen)}")
    meter.figures["from start after a kill to first write acknowledged, median and worst"] = ", ".join(
        f"{kind} {statistics.median(took):.2f} and {max(took):.2f} s" for kind, took in restarts.items()
    )
    slow = sum(took > RESTART_SECONDS for kind in restarts.values() for took in kind)
    meter.figures[f"starts over {RESTART_SECONDS:.0f} s"] = (
        f"{slow:,} of {sum(map(len, restarts.values())):,}"
    )


def _kill_some(meter: Meter, ways: Iterator[tuple[str, Way]], most: int) -> Found:
    """Kill who works, again and again until it was tried so often, and look at the disk each time."""
    chance, serial = random.Random(meter.seed), count(1)
    found = Found(Counter(), defaultdict(list))
    while meter.goes_on and meter.trials < most:
        deeds = Deeds(Desk(meter.folder / f"{meter.trials}"))
        is_first = True
        for _ in range(_KILLS_PER_DESK):
            if not meter.goes_on or meter.trials >= most:
                break
            name, way = next(ways)
            killed = way(deeds, str(next(serial)), chance)
            meter.check(not killed.wrong, f"{name}: {killed.wrong}")
            if killed.started is not None and not is_first:
                found.restarts[name.partition(":")[0]].append(killed.started)
                _check_start(meter, name, way, killed.started, chance)
            if killed.counts:
                meter.tried()
                found.kills[name] += 1
                is_first = False
        _look(meter, deeds)
    return Found(found.kills, dict(found.restarts))


def _look(meter: Meter, deeds: Deeds) -> None:
    """See what is there: as the kills left it, and after the next worker did what they left undone."""
    facts = deeds.acknowledged.pop("facts")
    for told in deeds.wrong():
        meter.check(is_kept=False, told=told)
    child = Child(lambda _: deeds.settle())
    child.listen()
    meter.check(not child.has_failed, "what kills left behind has to be repaired by hand")
    deeds.acknowledged["facts"] = facts
    for told in deeds.wrong():
        meter.check(is_kept=False, told=f"after the next start: {told}")


def _check_start(meter: Meter, name: str, way: Way, took: float, chance: random.Random) -> None:
    """Hold a start to its limit, in the long tier only: `make test` runs on machines that have no time."""
    if took <= RESTART_SECONDS or meter.wanted <= _QUICK:
        return
    fresh = Deeds(Desk(meter.folder / f"fresh-{meter.trials}-{time.monotonic_ns()}"))
    usual = way(fresh, "0", chance).started or 0
    is_busy = took <= _BUSY * usual
    meter.check(is_busy, f"{name}: a start after a kill took {took:.1f} s, one without {usual:.1f} s")


def _ways(seed: int, anybody: Sequence[tuple[str, Way]]) -> Iterator[tuple[str, Way]]:
    """Yield who is killed next: at each named point in turn, and between these anybody."""
    points = cycle(POINTS[seed % len(POINTS) :] + POINTS[: seed % len(POINTS)])
    for each in cycle(anybody):
        for point in islice(points, 2):
            yield f"point:{point}", _at(point)
        yield each


def _at(point: str) -> Way:
    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        times = 1 if "mkdir" in point else chance.randint(1, 3)
        kinds = ("facts",) if "Queue" in point or "Facts" in point else chance.choice(_DEEDS)

        def work(say: Say) -> None:
            Fuse(point, times).lay()
            deeds.work(run, say, kinds, most=4 * len(KINDS))

        child, first, started = _begun(work)
        deeds.heard([first, *child.listen()])
        return Killed(
            started if first else None, "it failed" if child.has_failed else "", counts=child.was_killed
        )

    return way


def _library(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    return _killed(deeds, chance, lambda say: deeds.work(run, say))


def _worker(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    return _killed(deeds, chance, lambda say: deeds.work(run, say, kinds=("facts",)))


def _killed(deeds: Deeds, chance: random.Random, work: Callable[[Say], None]) -> Killed:
    """Kill who works, or, one time in four, who has just begun."""
    if chance.random() < 0.25:
        child, first, started = Child(work), "", None
        time.sleep(chance.uniform(0, _LONGEST / 2))
    else:
        child, first, started = _begun(work)
        time.sleep(chance.uniform(0, _LONGEST))
    deeds.heard([first, *child.kill()])
    return Killed(started, "it failed" if child.has_failed else "")


def _begun(work: Callable[[Say], None]) -> tuple[Child, str, float]:
    """Return who works, the first that it acknowledged, if it came to that, and the seconds until then."""
    began = time.monotonic()
    child = Child(work)
    child.wait_for_word()  # that it is ready
    first = child.wait_for_word().decode().strip()
    return child, first, _since(began, child.pid)


def _since(began: float, pid: int) -> float:
    """Return the seconds since a process began, without those that it waited for a processor, if Linux tells."""
    waited = 0.0
    with suppress(OSError, IndexError):
        waited = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    return time.monotonic() - began - waited


def _command(start: Start) -> Way:
    """`sessions record`, which says the id of each message when it is durable."""

    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        began = time.monotonic()
        with start(deeds.desk, "sessions", "record", "--session", "log") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            said = [
                {"role": "user", "content": f"<c{run}.{n}>", "message_id": f"c{run}.{n}"} for n in range(400)
            ]
            process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in said))
            process.stdin.close()
            first = process.stdout.readline()
            started = _since(began, process.pid)
            time.sleep(chance.uniform(0, _LONGEST))
            process.kill()
            lines = [first, *process.stdout]
            deeds.heard([f"log {json.loads(line)['message_id']}" for line in lines if line.endswith(b"\n")])
        return Killed(started, "" if first else "it recorded nothing")

    return way


def _server(start: Start) -> Way:
    """`carrel serve`, asked by a client that takes an answer of success for what it is."""

    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        began = time.monotonic()
        with start(deeds.desk, "serve", "--port", "0") as process:
            client, answers, started = _Client(*link_of(process)), list[int](), None
            end = None
            for number in count():
                if end and time.monotonic() > end:
                    process.kill()  # while the next is under way
                status = client.record(f"h{run}.{number}")
                if not status:
                    break
                answers.append(status)
                if not started:
                    started = _since(began, process.pid)
                    end = time.monotonic() + chance.uniform(0, 2 * _LONGEST)
            process.kill()
        deeds.heard(client.acknowledged)
        wrong = [status for status in answers if status not in (*_SUCCESS, 429)]
        return Killed(started, f"it answered {wrong[:3]}" if wrong else "")

    return way


_LIBRARY, _COMMAND, _SERVER, _WORKER = (
    ("library", _library),
    ("command", _command(Desk.forked)),
    ("server", _server(Desk.forked)),
    ("worker", _worker),
)
_FORKED = (_LIBRARY, _COMMAND, _SERVER, _WORKER, _LIBRARY, _LIBRARY, _COMMAND, _SERVER)
_STARTED = (
    ("command started anew", _command(Desk.carrel)),
    ("server started anew", _server(Desk.carrel)),
)


class _Client:
    """Asks a server to write messages down, and knows what it was told of them."""

    def __init__(self, port: int, token: str) -> None:
        self._wire = HTTPConnection("127.0.0.1", port, timeout=30)
        self._head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.acknowledged: list[str] = []

    def record(self, token: str) -> int:
        """Return the status of the answer; 0 where there is none."""
        body = {"messages": [{"role": "user", "content": f"<{token}>", "message_id": token}]}
        try:
            self._wire.request("POST", "/api/v1/w/default/sessions/log/entries", json.dumps(body), self._head)
            answer = self._wire.getresponse()
            if answer.read() and answer.status in _SUCCESS:
                self.acknowledged.append(f"log {token}")
        except (OSError, HTTPException):
            return 0
        return answer.status


def link_of(process: "Forked | subprocess.Popen[bytes]") -> tuple[int, str]:
    """Return the port and the token that a server prints when it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = re.search(r":(\d+)/\S*?token=([\w-]+)", line)
    assert found, line
    return int(found[1]), found[2]


KILLS = Row(
    number=1,
    promise="kill -9 at random and at every named point: library, CLI, HTTP, worker",
    quick=_QUICK,
    long=5_000,
    share=8,
    in_memory=True,
    run=kill_at_random,
    passes="0 acknowledged writes lost, duplicated or torn; a start ≤ 2 s, nothing repaired by hand",
    defects=(
        Defect(
            "files/durable.py",
            "        self.disk.rename(temporary, name, directory=self.fd)\n        self.disk.fsync(self.fd)\n",
            "        with suppress(FileNotFoundError):\n"
            "            self.disk.unlink(name, directory=self.fd)\n"
            "        self.disk.rename(temporary, name, directory=self.fd)\n"
            "        self.disk.fsync(self.fd)\n",
            "the old file is removed before the new one has its name",
        ),
        Defect(
            "records/sqlite/queue.py",
            "(due <= ? OR due > ?) AND kind IN ({}) ORDER BY id LIMIT 1",
            "(due <= ? OR due > ?) AND attempts = 0 AND kind IN ({}) ORDER BY id LIMIT 1",
            "the job of a worker that was killed is never taken again",
        ),
    ),
)
