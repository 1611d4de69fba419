"""Row 1: kill -9 at random and at every named point, through library, command line, HTTP and the worker of the queue."""

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from itertools import count, cycle, islice
from typing import NamedTuple

from tests.torture.deeds import KINDS, Deeds
from tests.torture.desk import Child, Desk, Say
from tests.torture.fuse import POINTS, Fuse
from tests.torture.rows import Defect, Meter, Row

RESTART_SECONDS = 2.0
"""From which on a start after a kill is too slow, unless one without a kill takes nearly as long."""

_BUSY = 3
"""So many times what a start without a kill takes at that moment is the machine's doing."""

_KILLS_PER_DESK = 40
_LONGEST = 0.12


class Killed(NamedTuple):
    """How long it took to start, what went wrong before the kill, and whether there was one at all."""

    started: float
    wrong: str = ""
    counts: bool = True


Way = Callable[[Deeds, str, random.Random], Killed]


def kill_at_random(meter: Meter) -> None:
    """Kill who works, again and again, and look at the disk each time."""
    chance, ways = random.Random(meter.seed), _ways(meter.seed)
    slowest, reached, serial = dict[str, float](), set[str](), count(1)
    while meter.goes_on:
        deeds = Deeds(Desk(meter.folder / f"{meter.trials}"))
        for _ in range(_KILLS_PER_DESK):
            if not meter.goes_on:
                break
            name, way = next(ways)
            killed = way(deeds, str(next(serial)), chance)
            if killed.counts:
                meter.tried()
                reached.add(name)
            meter.check(not killed.wrong, f"{name}: {killed.wrong}")
            kind = name.partition(":")[0]
            slowest[kind] = max(slowest.get(kind, 0), killed.started)
            _check_start(meter, name, way, killed.started, chance)
        _look(meter, deeds)
    named = [name for name in reached if name.startswith("point:")]
    meter.figures["named points"] = f"{len(named)} of {len(POINTS)}"
    if len(named) < len(POINTS):
        unseen = sorted({f"point:{point}" for point in POINTS} - reached)
        meter.left_out.append(f"not come to: {', '.join(unseen)}")
    meter.figures["slowest start"] = ", ".join(f"{kind} {took:.2f} s" for kind, took in slowest.items())


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
    if took <= RESTART_SECONDS:
        return
    fresh = Deeds(Desk(meter.folder / f"fresh-{meter.trials}-{time.monotonic_ns()}"))
    usual = way(fresh, "0", chance).started
    is_busy = took <= _BUSY * usual
    meter.check(is_busy, f"{name}: a start after a kill took {took:.1f} s, one without {usual:.1f} s")


def _ways(seed: int) -> Iterator[tuple[str, Way]]:
    """Yield who is killed next: at each named point in turn, and between these anybody."""
    points = cycle(POINTS[seed % len(POINTS) :] + POINTS[: seed % len(POINTS)])
    while True:
        for _ in range(6):
            for point in islice(points, 2):
                yield f"point:{point}", _at(point)
            yield "library", _library
        yield "command", _command
        yield "worker", _worker
        yield "server", _server


def _at(point: str) -> Way:
    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        times = 1 if "mkdir" in point else chance.randint(1, 3)
        kinds = ("facts",) if "Queue" in point or "Facts" in point else KINDS

        def work(say: Say) -> None:
            Fuse(point, times).lay()
            deeds.work(run, say, kinds, most=4 * len(KINDS))

        began = time.monotonic()
        child = Child(work)
        started = time.monotonic() - began if (first := child.wait_for_word()) else 0
        lines = child.listen()
        deeds.heard([first.decode().strip(), *lines])
        return Killed(started, "it failed" if child.has_failed else "", counts=child.was_killed)

    return way


def _library(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    return _killed(deeds, chance, lambda say: deeds.work(run, say))


def _worker(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    return _killed(deeds, chance, lambda say: deeds.work(run, say, kinds=("facts",)))


def _killed(deeds: Deeds, chance: random.Random, work: Callable[[Say], None]) -> Killed:
    began = time.monotonic()
    child = Child(work)
    child.wait_for_word()
    started = time.monotonic() - began
    time.sleep(chance.uniform(0, _LONGEST))
    deeds.heard(child.kill())
    return Killed(started, "it failed" if child.has_failed else "")


def _command(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    """`sessions record`, which says the id of each message when it is durable."""
    began = time.monotonic()
    with deeds.desk.carrel("sessions", "record", "--session", "log") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = [{"role": "user", "content": f"<c{run}.{n}>", "message_id": f"c{run}.{n}"} for n in range(400)]
        process.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in said))
        process.stdin.close()
        first = process.stdout.readline()
        started = time.monotonic() - began
        time.sleep(chance.uniform(0, _LONGEST))
        process.send_signal(signal.SIGKILL)
        lines = [first, *process.stdout]
        deeds.heard([f"log {json.loads(line)['message_id']}" for line in lines if line.endswith(b"\n")])
    return Killed(started, "" if first else "it recorded nothing")


def _server(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    """`carrel serve`, asked by a client that takes an answer of success for what it is."""
    began = time.monotonic()
    with deeds.desk.carrel("serve", "--port", "0") as process:
        port, token = link_of(process)
        started = time.monotonic() - began
        wire = HTTPConnection("127.0.0.1", port, timeout=30)
        head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        end, acknowledged, answers = time.monotonic() + chance.uniform(0.05, 0.3), list[str](), list[int]()
        try:
            for number in range(100_000):
                if time.monotonic() > end:
                    process.send_signal(signal.SIGKILL)  # while the next is under way
                own = f"h{run}.{number}"
                body = {"messages": [{"role": "user", "content": f"<{own}>", "message_id": own}]}
                wire.request("POST", "/api/v1/w/default/sessions/log/entries", json.dumps(body), head)
                answer = wire.getresponse()
                answers.append(answer.status)
                if answer.read() and answer.status in (200, 201):
                    acknowledged.append(f"log {own}")
        except (OSError, HTTPException):
            pass
        process.kill()
    deeds.heard(acknowledged)
    wrong = [status for status in answers if status not in (200, 201, 429)]
    return Killed(started, f"it answered {wrong[:3]}" if wrong else "")


def link_of(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Return the port and the token that a server prints when it is ready."""
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = re.search(r":(\d+)/\S*?token=([\w-]+)", line)
    assert found, line
    return int(found[1]), found[2]


KILLS = Row(
    number=1,
    promise="kill -9 at random and at every named point: library, CLI, HTTP, worker",
    quick=80,
    long=5_000,
    share=3,
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
            "WHERE due <= ? AND kind IN ({}) ORDER BY id LIMIT 1",
            "WHERE due <= ? AND attempts = 0 AND kind IN ({}) ORDER BY id LIMIT 1",
            "the job of a worker that was killed is never taken again",
        ),
    ),
)
