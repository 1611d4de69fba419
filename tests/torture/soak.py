"""Row 12: mixed load for hours: memory, descriptors and threads stay as they are, and nothing is left lying about.

One server lives all the time. Another serves the same workspace, is killed again and again and started anew; and the time
of day leaps forwards and back, for both at once. Whatever was acknowledged is there once, in its order.

There is ever as much to know: what was said long ago is removed, and the same things are asked again. So what grows is a
leak, and neither the data nor what is kept of them for speed.
"""

import random
import re
import signal
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from http.client import HTTPException
from itertools import combinations
from pathlib import Path

from tests.torture import verifier
from tests.torture.desk import FILES, Desk
from tests.torture.rows import Defect, Meter, Row
from tests.torture.serving import Daytime, Sample, Server

_FILES = 10_000
_WARM, _WARM_LONG = 600, 10_000
"""How many requests warm a server up, without a pause, in a short run and in a long one: what is kept for speed is there then.

By count, as a machine may be busy.
"""

_PAUSE = 0.1
"""Between two requests after that: a server is not asked all the time, and other tests run beside this one."""

_KILLS, _LEAPS = 24, 40
"""How many of each there are in a long run; a short one has an eighth of them."""

_HOUR, _DAY = 3_600, 86_400
_FAR = (_HOUR, -_HOUR, _DAY, -_DAY, 40 * _DAY, 3_650 * _DAY, -400 * _DAY, 0)
"""Seconds by which the time of day can be wrong."""

_QUIET = 0.5
_SAMPLES = 400
_SPARE = 8
MOST_GROWTH = 5.0
"""Megabytes, in a run of less than ten minutes; a longer one is held to a slope."""

MOST_SLOPE = 1.0
"""Megabytes an hour."""

_LONG_SECONDS = 600.0
_TOKEN = re.compile(r"<(\w+)>")
_ID = re.compile(r'"message_id":"(m\d+)"')
_SESSIONS = 20
_LASTING = 1_000
"""Requests during which the same sessions are spoken in; those before them are left alone as long, and then removed."""

_THINGS = 200
"""How many are asked for: with ever new ones, what is kept for speed would take hours to be full."""

Place = tuple[Desk, Daytime]


class Load:
    """Whoever asks for a little of everything, and remembers what was acknowledged."""

    def __init__(self, meter: Meter, chance: random.Random) -> None:
        self._meter, self.chance = meter, chance
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
        thing, session = self.chance.randrange(_THINGS), f"s{self.requests // _LASTING}-0"
        asked = {"session": session, "query": f"Which thing is {thing}?"}
        return [
            (self._say, 20),
            (self._write, 15),
            (self._note, 1),
            (self._learn, 1),
            (lambda server: server.ask("POST", "context:prepare", asked), 20),
            (lambda server: server.ask("GET", f"search?q=thing+{thing}"), 20),
            (lambda server: server.ask("GET", "context/report"), 10),
            (lambda server: server.ask("GET", "sessions"), 10),
            (lambda server: server.ask("GET", "tree"), 3),
            (lambda server: server.ask("GET", "health"), 0.3),
        ]

    def _session(self) -> str:
        return f"s{self.requests // _LASTING}-{self.chance.randrange(_SESSIONS)}"

    def _age(self, session: str) -> int:
        return self.requests // _LASTING - int(session[1:].partition("-")[0])

    def _message(self) -> dict[str, object]:
        said = {
            "role": "user",
            "content": f"Thing {self.requests % _THINGS} is red.",
            "message_id": f"m{self.requests}",
        }
        return {"messages": [said]}

    def _say(self, server: Server) -> int:
        session = self._session()
        status = server.ask("POST", f"sessions/{session}/entries", self._message())
        self.said[session] += [f"m{self.requests}"] if status < 300 else []
        return status

    def _remove(self, server: Server, session: str) -> int:
        status = server.ask("DELETE", f"sessions/{session}")
        self.removed += [session] if status < 300 else []
        del self.said[session]
        return status

    def _write(self, server: Server) -> int:
        path, text = f"knowledge/new/{self.chance.randrange(200)}.md", f"# New\n\n{self.requests}\n"
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
        wrong = list[str]()
        for session, told in sorted(self.said.items())[-_SESSIONS:]:
            known, text = set(told), server.read(f"sessions/{session}/entries?limit=200")
            found = [each for each in _ID.findall(text) if each in known]
            wrong += (
                [f"{session}: served in another order"] if found != told[: len(found)] or not found else []
            )
        return wrong

    def wrong(self, desk: Desk) -> list[str]:
        """Return what is lost, doubled, torn or in another order, as the disk has it."""
        wrong = list[str]()
        for session, told in self.said.items():
            entries, torn = verifier.entries(desk.log(session))
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


def soak(meter: Meter) -> None:
    """Do a little of everything until the time is up; each second of it is a trial."""
    chance = random.Random(meter.seed)
    more = {f"knowledge/{n // 100:03}/{n:05}.md": f"# {n}\n\nThing {n} stands here.\n" for n in range(_FILES)}
    desk, daytime, load = Desk(meter.folder, {**FILES, **more}), Daytime(meter.folder), Load(meter, chance)
    samples, happened, server = list[Sample](), dict[str, int](), Server(desk, daytime)
    try:
        happened = _go_on(meter, load, server, samples, (desk, daytime))
        for told in load.served_wrong(server):
            meter.check(is_kept=False, told=told)
    except (OSError, HTTPException) as error:
        meter.check(is_kept=False, told=f"{load.requests}: {type(error).__name__} {error}")
    finally:
        server.stop(signal.SIGKILL)
    _judge(meter, samples)
    meter.figures["requests"] = f"{load.requests:,}, {load.refused:,} refused"
    meter.figures |= {name: f"{times}" for name, times in happened.items()}
    _look_after(meter, desk)
    for told in load.wrong(desk):
        meter.check(is_kept=False, told=told)


def _go_on(meter: Meter, load: Load, server: Server, samples: list[Sample], place: Place) -> dict[str, int]:
    """Ask two servers by turns, of which one is killed now and then; return how often what happened."""
    kills, leaps = 0, 0
    few, warm = (1, _WARM_LONG) if meter.wanted >= _LONG_SECONDS else (8, _WARM)
    chance, other = load.chance, Server(*place)
    try:
        for _ in range(warm):
            load.ask(server)
        while meter.goes_on:
            load.ask(chance.choice((server, other)))
            time.sleep(_PAUSE)
            if not samples or time.monotonic() - samples[-1].at > _QUIET:
                samples.append(server.sample())
                meter.tried(round(samples[-1].at - samples[0].at) - meter.trials)
            if meter.trials * _LEAPS > leaps * meter.wanted * few:
                leaps += place[1].leap(_FAR[leaps % len(_FAR)] if leaps < len(_FAR) else chance.choice(_FAR))
            if meter.trials * _KILLS > (kills + 1) * meter.wanted * few:
                load.leave(other)
                other.stop(signal.SIGTERM if chance.random() < 0.3 else signal.SIGKILL)  # as often
                other, kills = Server(*place), kills + 1
    finally:
        other.stop(signal.SIGKILL)
    if not place[1].leap(0):
        meter.left_out.append("no compiler here: the time of day did not leap")
    return {"kills": kills, "leaps of the clock": leaps}


def _look_after(meter: Meter, desk: Desk) -> None:
    """Whatever was killed has left nothing behind once the workspace is open again."""
    with desk.open() as workspace:
        for folder in ("", "knowledge/new", "memory", "agents/kate/sessions"):
            workspace.write(f"{folder}/after.md".lstrip("/"), "After.\n", expect=None)
        bad = [each.message for each in workspace.health().findings if each.severity == "error"]
        meter.check(not bad, f"health: {bad[:3]}")
    meter.check(not verifier.leftovers(desk.root), "temporary files are left")


def _judge(meter: Meter, samples: list[Sample]) -> None:
    if len(samples) < _SPARE:
        meter.left_out.append("too short a time to see anything grow")
        return
    is_long = samples[-1].at - samples[0].at >= _LONG_SECONDS
    if is_long:
        samples = samples[len(samples) // 4 :]  # by then whatever is kept for speed is kept
    seconds, third = samples[-1].at - samples[0].at, len(samples) // 3
    sizes = [each.megabytes for each in samples]
    growth = statistics.median(sizes[-third:]) - statistics.median(sizes[:third])
    told = f"{sizes[0]:.0f} MB, {growth:+.1f} MB in {seconds:.0f} s"
    if not is_long:
        meter.check(growth <= MOST_GROWTH, f"memory grew by {growth:.1f} MB in {seconds:.0f} s")
    else:
        slope = _slope(samples) * _HOUR
        meter.check(slope <= MOST_SLOPE, f"memory grows by {slope:.1f} MB an hour")
        told = f"{told}, {slope:+.2f} MB an hour"
    for name in ("descriptors", "threads"):
        values = [getattr(each, name) for each in samples]
        half = len(values) // 2
        meter.check(
            max(values[half:]) <= max(values[:half]) + _SPARE, f"{name}: {values[0]} became {values[-1]}"
        )
    meter.figures["memory"] = told
    meter.figures["descriptors and threads"] = f"{samples[-1].descriptors} and {samples[-1].threads}"


def _slope(samples: list[Sample]) -> float:
    """The Theil-Sen slope of memory, in megabytes a second: what most pairs say."""
    some = samples[:: max(1, len(samples) // _SAMPLES)]
    return statistics.median((b.megabytes - a.megabytes) / (b.at - a.at) for a, b in combinations(some, 2))


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


SOAK = Row(
    number=12,
    promise="soak: mixed load over 10,000 files, with kills and leaps of the clock; in seconds",
    quick=45,
    long=7_200,
    share=1,
    run=soak,
    paced=True,
    passes="memory <= +5 MB in a short run, <= 1 MB an hour in a long one; descriptors and threads flat; "
    "all that was acknowledged there once, in its order",
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
