"""Row 12: mixed load for hours: memory, descriptors and threads stay as they are, and nothing is left lying about.

One server lives all the time. Another serves the same workspace, is killed again and again and started anew; and the time
of day leaps forwards and back, for both at once. Whatever was acknowledged is there once, in its order.

There is ever as much to know: what was said long ago is removed, and the same things are asked again. So what grows is a
leak, and neither the data nor what is kept of them for speed. Only notes and facts stay, and are in each prompt: few are made.
"""

import random
import re
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from http.client import HTTPException
from itertools import combinations, count
from pathlib import Path
from typing import NamedTuple

from tests.torture import verifier
from tests.torture.desk import FILES, Desk
from tests.torture.rows import Defect, Meter, Row
from tests.torture.serving import Daytime, Sample, Server

_QUICK = 600


class Scale(NamedTuple):
    """How much there is to know, how often what happens, all of it by requests: a machine may be busy."""

    files: int
    things: int
    """How many are asked for, and how many files rewritten: with ever new ones, what is kept for speed would never be full."""

    sessions: int
    lasting: int
    """Requests during which the same sessions are spoken in; those before them are left alone as long, and then removed."""

    warm: int
    """Requests before memory is judged: by then each thing was asked for, and whatever can happen has happened."""

    leap: int
    """Requests between two leaps of the clock."""

    kill: int
    """Requests between two kills of the other server."""

    beat: float
    """Seconds from one request to the next, after the first ones: a long run is to last, beside others."""


_SHORT = Scale(files=200, things=30, sessions=5, lasting=100, warm=500, leap=50, kill=400, beat=0)
_LONG = Scale(
    files=10_000, things=200, sessions=20, lasting=1_000, warm=10_000, leap=1_000, kill=1_500, beat=0.2
)

_HOUR, _DAY = 3_600, 86_400
_FAR = (_HOUR, -_HOUR, _DAY, -_DAY, 40 * _DAY, 3_650 * _DAY, -400 * _DAY, 0)
"""Seconds by which the time of day can be wrong; each once before memory is judged."""

_SERVED = 200
"""Messages of a session that are asked for: more than it comes to have."""

_BETWEEN = 10
"""Requests between two looks at what the server has."""

_ASKED = 0.3
"""How often the other server is asked to stop, and not killed."""

_SAMPLES = 400
_FEWEST = 8
_SPARE = 1
"""How many more descriptors or threads are mostly in use in the second half, at most: what lasts as long as a request is no leak."""

MOST_GROWTH = 5.0
"""Megabytes, in a short run; a longer one is held to a slope."""

MOST_SLOPE = 1.0
"""Megabytes an hour."""

_LONG_SECONDS = 600.0
_TOKEN = re.compile(r"<(\w+)>")
_ID = re.compile(r'"message_id":"(m\d+)"')

Place = tuple[Desk, Daytime]


class Load:
    """Whoever asks for a little of everything, and remembers what was acknowledged."""

    def __init__(self, meter: Meter, scale: Scale) -> None:
        self._meter, self.scale, self.chance = meter, scale, random.Random(meter.seed)
        self.requests = self.refused = 0
        self.said: dict[str, list[str]] = defaultdict(list)
        self.removed: list[str] = []
        self.written: dict[str, str] = {}
        self.noted: list[str] = []
        self.facts: list[str] = []

    def ask(self, server: Server) -> None:
        """Ask for something; what is not done is told, and it is refused only where that is right."""
        self.requests += 1
        old = next((session for session in self.said if self._age(session) > 1), None)
        deed = self.chance.choices(*zip(*self._deeds(), strict=True))[0]
        status = deed(server) if old is None else self._remove(server, old)
        self.refused += status >= 400
        self._meter.check(status < 400, f"{self.requests}: answered {status}")

    def leave(self, server: Server) -> None:
        """Say something, and do not wait for an answer."""
        self.requests += 1
        server.send("POST", f"sessions/{self._session()}/entries", self._message())

    def _deeds(self) -> list[tuple[Callable[[Server], int], float]]:
        thing, session = self.chance.randrange(self.scale.things), f"s{self._now}-0"
        asked = {"session": session, "query": f"Which thing is {thing}?"}
        return [
            (self._say, 20),
            (self._write, 15),
            (self._note, 0.2),
            (self._learn, 0.2),
            (lambda server: server.ask("POST", "context:prepare", asked), 20),
            (lambda server: server.ask("GET", f"search?q=thing+{thing}"), 20),
            (lambda server: server.ask("GET", "context/report"), 10),
            (lambda server: server.ask("GET", "sessions"), 10),
            (lambda server: server.ask("GET", "tree"), 3),
            (lambda server: server.ask("GET", "health"), 0.3),
        ]

    @property
    def _now(self) -> int:
        return self.requests // self.scale.lasting

    def _session(self) -> str:
        return f"s{self._now}-{self.chance.randrange(self.scale.sessions)}"

    def _age(self, session: str) -> int:
        return self._now - int(session[1:].partition("-")[0])

    def _message(self) -> dict[str, object]:
        said = {
            "role": "user",
            "content": f"Thing {self.requests % self.scale.things} is red.",
            "message_id": f"m{self.requests}",
        }
        return {"messages": [said]}

    def _say(self, server: Server) -> int:
        session = self._session()
        status = server.ask("POST", f"sessions/{session}/entries", self._message())
        self.said[session] += [f"m{self.requests}"] if status < 300 else []
        return status

    def _remove(self, server: Server, session: str) -> int:
        for told in self._served_wrong(server, session):
            self._meter.check(is_kept=False, told=told)
        del self.said[session]  # whether it is there is not known until there is an answer
        status = server.ask("DELETE", f"sessions/{session}")
        self.removed += [session] if status < 300 else []
        return status

    def _write(self, server: Server) -> int:
        number, text = self.chance.randrange(self.scale.things), f"# New\n\n{self.requests}\n"
        path = f"knowledge/new/{number}.md"
        head = {"If-Match": "*"} if path in self.written else {"If-None-Match": "*"}
        status = server.ask("PUT", f"files/{path}", text.encode(), **head)
        self.written |= {path: text} if status < 300 else {}
        return status

    def _note(self, server: Server) -> int:
        status = server.ask("POST", "journal", {"text": f"Noted <n{self.requests}>."})
        self.noted += [f"n{self.requests}"] if status < 300 else []
        return status

    def _learn(self, server: Server) -> int:
        status = server.ask("POST", "facts", {"text": f"Berth <f{self.requests}> was given away."})
        self.facts += [f"f{self.requests}"] if status < 300 else []
        return status

    def served_wrong(self, server: Server) -> list[str]:
        """Return what is served in another order than it was said in, whatever the clock showed then."""
        return [wrong for session in self.said for wrong in self._served_wrong(server, session)]

    def _served_wrong(self, server: Server, session: str) -> list[str]:
        told, text = self.said[session], server.read(f"sessions/{session}/entries?limit={_SERVED}")
        found = [each for each in _ID.findall(text) if each in set(told)]
        return [] if found == told[:_SERVED] else [f"{session}: not all is served, or in another order"]

    def wrong(self, desk: Desk) -> list[str]:
        """Return what is lost, doubled, torn or in another order, as the disk has it."""
        wrong = list[str]()
        for session, told in self.said.items():
            log = desk.log(session)
            entries, torn = verifier.entries(log) if log.exists() else ([], [])
            found = [str(entry["message_id"]) for entry in entries]
            known = set(told)
            wrong += [*torn, *verifier.told_once(told, found, session)]
            wrong += (
                [f"{session}: in another order"] if [each for each in found if each in known] != told else []
            )
        wrong += [f"{session} is back" for session in self.removed if desk.log(session).exists()]
        wrong += [f"{path} is lost" for path, text in self.written.items() if _text(desk.root / path) != text]
        notes = [_text(path) for path in (desk.root / "memory").glob("2*.md")]
        wrong += verifier.told_once(self.noted, _TOKEN.findall("".join(notes)), "journal")
        facts = _TOKEN.findall(_text(desk.root / "memory/kate.md"))
        return wrong + verifier.told_once(self.facts, facts, "facts")


class Seen(NamedTuple):
    """What the server that lives had from time to time, and how often what happened."""

    samples: list[Sample]
    happened: Counter[str]


def soak(meter: Meter) -> None:
    """Do a little of everything until it was asked for often enough; each request after the first ones is a trial."""
    scale = _SHORT if meter.wanted <= _QUICK else _LONG
    more = {
        f"knowledge/{n // 100:03}/{n:05}.md": f"# {n}\n\nThing {n} stands here.\n" for n in range(scale.files)
    }
    desk, daytime, load = Desk(meter.folder, {**FILES, **more}), Daytime(meter.folder), Load(meter, scale)
    seen, server = Seen([], Counter()), Server(desk, daytime)
    try:
        _go_on(meter, load, server, seen, (desk, daytime))
        for told in load.served_wrong(server):
            meter.check(is_kept=False, told=told)
    except (OSError, HTTPException) as error:
        meter.check(is_kept=False, told=f"{load.requests}: {type(error).__name__} {error}")
    finally:
        server.stop(signal.SIGKILL)
    _judge(meter, seen.samples)
    meter.figures["requests"] = f"{load.requests:,}, {load.refused:,} refused"
    meter.figures |= {name: f"{times}" for name, times in seen.happened.items()}
    _look_after(meter, desk)
    for told in load.wrong(desk):
        meter.check(is_kept=False, told=told)


def _go_on(meter: Meter, load: Load, server: Server, seen: Seen, place: Place) -> None:
    """Ask two servers by turns, of which one is killed now and then, in a time of day that leaps."""
    scale, chance, other = load.scale, load.chance, Server(*place)
    try:
        for asked in count(1):
            if not meter.goes_on:
                break
            began, is_warm = time.monotonic(), asked > scale.warm
            load.ask(chance.choice((server, other)))
            if is_warm and asked % _BETWEEN == 0:
                seen.samples.append(server.sample())
            if asked % scale.leap == 0:
                leaps = seen.happened["leaps of the clock"]
                place[1].leap(_FAR[leaps] if leaps < len(_FAR) else chance.choice(_FAR))
                seen.happened["leaps of the clock"] += 1
            if asked % scale.kill == 0:
                load.leave(other)
                is_asked = chance.random() < _ASKED
                other.stop(signal.SIGTERM if is_asked else signal.SIGKILL)
                other = Server(*place)
                seen.happened["stops" if is_asked else "kills"] += 1
            meter.tried(int(is_warm))
            time.sleep(max(0.0, began + scale.beat - time.monotonic()) if is_warm else 0)
    finally:
        other.stop(signal.SIGKILL)
    if not place[1].leap(0):
        meter.left_out.append("no compiler here: the time of day did not leap")


def _look_after(meter: Meter, desk: Desk) -> None:
    """Whatever was killed has left nothing behind once the workspace is open again."""
    with desk.open() as workspace:
        for folder in ("", "knowledge/new", "memory", "agents/kate/sessions"):
            workspace.write(f"{folder}/after.md".lstrip("/"), "After.\n", expect=None)
        bad = [each.message for each in workspace.health().findings if each.severity == "error"]
        meter.check(not bad, f"health: {bad[:3]}")
    meter.check(not verifier.leftovers(desk.root), "temporary files are left")


def _judge(meter: Meter, samples: list[Sample]) -> None:
    """Hold memory to its limit, in a long run from where SQLite's pages, the last to be, are all in use."""
    if len(samples) < _FEWEST:
        meter.left_out.append("too short a time to see anything grow")
        return
    seconds, sizes = samples[-1].at - samples[0].at, [each.megabytes for each in samples]
    growth = _slope(list(enumerate(sizes))) * len(sizes)
    told = f"{sizes[0]:.0f} MB, {growth:+.1f} MB in {len(sizes) * _BETWEEN:,} requests"
    if meter.wanted <= _QUICK or seconds < _LONG_SECONDS:
        meter.check(growth <= MOST_GROWTH, f"memory grows: {told}")
    else:
        full = samples[len(samples) // 3 :]
        slope = _slope([(each.at, each.megabytes) for each in full]) * _HOUR
        meter.check(slope <= MOST_SLOPE, f"memory grows by {slope:.1f} MB an hour")
        told = f"{told}, {slope:+.2f} MB an hour"
    for name in ("descriptors", "threads"):
        values = [getattr(each, name) for each in samples]
        first, second = (
            statistics.median(half) for half in (values[: len(values) // 2], values[len(values) // 2 :])
        )
        meter.check(second <= first + _SPARE, f"{name}: {first:.0f} became {second:.0f}")
        meter.figures[name] = f"{first:.0f}, later {second:.0f}"
    meter.figures["memory"] = told


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The Theil-Sen slope: what most pairs say, so that a step which is made once is none."""
    some = points[:: max(1, len(points) // _SAMPLES)]
    return statistics.median((y - x) / (b - a) for (a, x), (b, y) in combinations(some, 2))


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


SOAK = Row(
    number=12,
    promise="soak: mixed load over 10,000 files, with kills and leaps of the clock; in requests",
    quick=_QUICK,
    long=36_000,
    share=1,
    in_memory=True,
    run=soak,
    paced=True,
    passes="memory <= +5 MB in a short run, <= 1 MB an hour in a long one; descriptors and threads flat; "
    "all that was acknowledged there once, in its order; no temporary files where somebody wrote since",
    defects=(
        Defect(
            "files/resolve.py",
            "    def __exit__(self, *_: object) -> None:\n        release(self.fd)",
            "    def __exit__(self, *_: object) -> None:\n        pass",
            "a descriptor stays open after each operation",
        ),
        Defect(
            "files/local.py",
            "        return open_root(str(self.root), self._spellings)",
            "        self.__dict__.setdefault('kept', []).append(bytes(199_999) + b'x')\n"
            "        return open_root(str(self.root), self._spellings)",
            "something of each operation stays in memory",
        ),
        Defect(
            "http/routes/sessions.py",
            "    rows = [entry_row(placed, characters=characters) for placed in islice(entries, limit + 1)]\n",
            "    found = [entry_row(placed, characters=characters) for placed in islice(entries, limit + 1)]\n"
            "    rows = sorted(found, key=lambda row: row.timestamp)\n",
            "what was said is put in order by a clock",
        ),
    ),
)
