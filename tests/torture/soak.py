"""Row 12: mixed load for hours: memory, descriptors and threads stay as they are, and nothing is left lying about."""

import json
import random
import signal
import statistics
import subprocess
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from itertools import combinations, count
from pathlib import Path
from typing import NamedTuple

from tests.torture import verifier
from tests.torture.desk import FILES, Desk
from tests.torture.kills import link_of
from tests.torture.rows import Defect, Meter, Row

_FILES = 10_000
_WARM_REQUESTS, _LONGEST_WARM, _STEP = 600, 1_500, 100
"""How many warm a server up: some at least, then until a step of them adds no megabyte, else all of these.

What is kept for speed is there by then; by count, as a busy machine needs longer for it.
"""

_PAUSE = 0.1
"""Between two requests after that: a server is not asked all the time, and other tests run beside this one."""

_KILL_SECONDS = 300.0
_QUIET = 0.5
_SAMPLES = 400
_SPARE = 8
MOST_GROWTH = 5.0
"""Megabytes, in a run of less than ten minutes; a longer one is held to a slope."""

MOST_SLOPE = 1.0
"""Megabytes an hour."""

_LONG_SECONDS = 600.0


class Sample(NamedTuple):
    """What a process has at a moment."""

    at: float
    megabytes: float
    descriptors: int
    threads: int


class Served:
    """`carrel serve` over a desk, and a client of it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.process = desk.carrel("serve", "--port", "0", stderr=subprocess.DEVNULL)
        port, token = link_of(self.process)
        self.wire = HTTPConnection("127.0.0.1", port, timeout=60)
        self.head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: object = None) -> int:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        self.wire.request(method, f"/api/v1/w/default/{path}", data, self.head)
        answer = self.wire.getresponse()
        answer.read()
        return answer.status

    def sample(self) -> Sample:
        own = Path(f"/proc/{self.process.pid}")
        told = dict(line.split(":", 1) for line in (own / "status").read_text().splitlines())
        fds = len(list((own / "fd").iterdir()))
        return Sample(time.monotonic(), int(told["VmRSS"].split()[0]) / 1024, fds, int(told["Threads"]))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()


def soak(meter: Meter) -> None:
    """Do a little of everything until the time is up; each second of it is a trial."""
    chance = random.Random(meter.seed)
    more = {f"knowledge/{n // 100:03}/{n:05}.md": f"# {n}\n\nThing {n} stands here.\n" for n in range(_FILES)}
    desk = Desk(meter.folder, {**FILES, **more})
    runs, requests, refused = list[list[Sample]](), 0, 0
    while meter.goes_on:
        server, samples, began = Served(desk), list[Sample](), time.monotonic()
        warm, size = False, 0.0
        try:
            for number in count():
                if not meter.goes_on or time.monotonic() - began > _KILL_SECONDS:
                    break
                status = _something(server, chance, requests)
                meter.check(status < 500, f"{requests}: answered {status}")  # our fault
                requests, refused = requests + 1, refused + (status >= 400)  # theirs
                if not warm and number >= _WARM_REQUESTS and number % _STEP == 0:
                    size, before = server.sample().megabytes, size
                    warm = size - before < 1 or number >= _LONGEST_WARM
                if not warm:
                    continue
                time.sleep(_PAUSE)
                if not samples or time.monotonic() - samples[-1].at > _QUIET:
                    samples.append(server.sample())
                    meter.tried(round(samples[-1].at - samples[0].at) - meter.trials + _before(runs))
        except (OSError, HTTPException) as error:
            meter.check(is_kept=False, told=f"{requests}: {type(error).__name__} {error}")
            break
        finally:
            server.stop(signal.SIGKILL if chance.random() < 0.5 else signal.SIGTERM)  # as often
        runs.append(samples)
    _judge(meter, [each for each in runs if len(each) > 1])
    meter.figures["requests"] = f"{requests:,}, {refused:,} refused"
    _look_after(meter, desk)


def _before(runs: list[list[Sample]]) -> int:
    return sum(round(each[-1].at - each[0].at) for each in runs if each)


def _look_after(meter: Meter, desk: Desk) -> None:
    """Whatever was killed has left nothing behind once the workspace is open again."""
    with desk.open() as workspace:
        for folder in ("", "knowledge/new", "memory", "agents/kate/sessions"):
            workspace.write(f"{folder}/after.md".lstrip("/"), "After.\n", expect=None)
    meter.check(not verifier.leftovers(desk.root), "temporary files are left")


def _something(server: Served, chance: random.Random, number: int) -> int:
    session = f"s{chance.randrange(20)}"
    said = {"messages": [{"role": "user", "content": f"Thing {number} is red.", "message_id": f"m{number}"}]}
    path = f"files/knowledge/new/{chance.randrange(200)}.md"
    deeds: list[Callable[[], int]] = [
        lambda: server.ask("POST", f"sessions/{session}/entries", said),
        lambda: server.ask(
            "POST", "context:prepare", {"session": session, "query": f"Which thing is {number}?"}
        ),
        lambda: server.ask("GET", f"search?q=thing+{chance.randrange(_FILES)}"),
        lambda: server.ask("PUT", path, f"# New\n\n{number}\n".encode()),
        lambda: server.ask("GET", "context/report"),
        lambda: server.ask("GET", "tree"),
        lambda: server.ask("GET", "health") if number % 50 == 0 else server.ask("GET", "sessions"),
    ]
    return chance.choice(deeds)()


def _judge(meter: Meter, runs: list[list[Sample]]) -> None:
    if not runs:
        meter.left_out.append("too short a time to see anything grow")
        return
    longest = max(runs, key=len)
    seconds = longest[-1].at - longest[0].at
    third = len(longest) // 3 or 1
    sizes = [each.megabytes for each in longest]
    growth = statistics.median(sizes[-third:]) - statistics.median(sizes[:third])
    if seconds < _LONG_SECONDS and len(runs) == 1:
        meter.check(growth <= MOST_GROWTH, f"memory grew by {growth:.1f} MB in {seconds:.0f} s")
    else:
        slope = statistics.median(_slope(each) * 3_600 for each in runs)
        meter.check(slope <= MOST_SLOPE, f"memory grows by {slope:.1f} MB an hour")
    for name in ("descriptors", "threads"):
        values = [getattr(each, name) for each in longest]
        half = len(values) // 2
        meter.check(
            max(values[half:]) <= max(values[:half]) + _SPARE, f"{name}: {values[0]} became {values[-1]}"
        )
    meter.figures["memory"] = f"{longest[0].megabytes:.0f} MB, {growth:+.1f} MB in {seconds:.0f} s"
    meter.figures["descriptors and threads"] = f"{longest[-1].descriptors} and {longest[-1].threads}"


def _slope(samples: list[Sample]) -> float:
    """The Theil-Sen slope of memory, in megabytes a second: what most pairs say."""
    some = samples[:: max(1, len(samples) // _SAMPLES)]
    return statistics.median((b.megabytes - a.megabytes) / (b.at - a.at) for a, b in combinations(some, 2))


SOAK = Row(
    number=12,
    promise="soak: mixed load over 10,000 files, with kills; in seconds",
    quick=45,
    long=7_200,
    share=8,
    run=soak,
    passes="memory <= +5 MB in a short run, <= 1 MB an hour in a long one; descriptors and threads flat",
    defects=(
        Defect(
            "files/resolve.py",
            "    def __exit__(self, *_: object) -> None:\n        os.close(self.fd)",
            "    def __exit__(self, *_: object) -> None:\n        pass",
            "a descriptor stays open after each operation",
        ),
        Defect(
            "files/local.py",
            "        return open_root(str(self.root), self._spellings)",
            "        self.__dict__.setdefault('kept', []).append(bytes(19_999) + b'x')\n"
            "        return open_root(str(self.root), self._spellings)",
            "something of each operation stays in memory",
        ),
    ),
)
