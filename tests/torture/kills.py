"""Row 1: kill -9 at random and at every named point, through library, command line, HTTP and the worker of the queue.

Most who are killed are forks of a process that has loaded everything. Some commands and servers are started as users do,
while nobody else of this row works, so that their starts are measured and not the row. Who comes to which points is
seen first, by each once who is not killed.
"""

import random
import signal
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import chain, count, cycle, islice
from typing import NamedTuple

from tests.torture import verifier
from tests.torture.asking import (
    COMMANDS,
    RECORD,
    REQUESTS,
    Client,
    Command,
    Process,
    Request,
    find_link,
    lay_out,
)
from tests.torture.crowd import together
from tests.torture.deeds import AT, DIRECT, KINDS, Deeds
from tests.torture.desk import Child, Desk, Say
from tests.torture.fuse import POINTS, Fuse, Scout, seen_by
from tests.torture.rows import Defect, Meter, Row
from tests.torture.waiting import waited

RESTART_SECONDS = 2.0
"""From which on a start after a kill is too slow.

What its first thread waits for a processor does not count: other programs have those.
"""

_QUICK = 144
_KILLS_PER_DESK = 40
_EACH, _AT_ONCE = 500, 4
_LONGEST = 0.12
_BRIEF = 0.05
"""Seconds within which a command that does one thing is killed."""

_TOGETHER = 3.0
"""Seconds for which a server is asked that comes to no point: before it sweeps by itself, with a model of its own."""

_DEEDS_TO_A_POINT, _LATEST = 4, 3
"""How many deeds a point is waited for, and the time at which it kills at the latest."""

_WHO = ("library", "worker", "command", "server")
_MOMENT, _MOMENTS, _MISSES = 0.01, 200, 5
_ALONE_OF, _FEWEST_ALONE = 16, 6
"""One trial of so many is made alone, at least so many: a command and a server are among six in a row."""


class Killed(NamedTuple):
    """Seconds from the start to the first acknowledged write, what went wrong before the kill, and whether there was one."""

    started: float | None
    wrong: str = ""
    counts: bool = True


class Found(NamedTuple):
    """How often somebody was killed, by who it was and where, and how long each start took on what a kill had left."""

    kills: Counter[str]
    restarts: dict[str, list[float]]


class Spot(NamedTuple):
    """A point, and one who comes to it so often: by which deed, which command, or whatever a server is asked."""

    point: str
    who: str
    by: int = 0
    times: int = 1

    @property
    def name(self) -> str:
        return f"{self.who}{_AT}{self.point}"


_AT = " at "
Way = Callable[[Deeds, str, random.Random], Killed]
Start = Callable[..., Process]


def kill_at_random(meter: Meter) -> None:
    """Let several at once kill who works, and tell of all together."""
    import_module("carrel.http.server")  # forks find it loaded
    spots = _scouted(meter)
    most = max(_FEWEST_ALONE, meter.wanted // _ALONE_OF)
    alone = _kill_some(meter, _ways(meter.seed, spots, _STARTED, is_reversed=True), most)
    found = together(
        meter,
        lambda own: _kill_some(own, _ways(own.seed, spots, _FORKED), own.wanted),
        each=_EACH,
        most=_AT_ONCE,
    )
    kills, restarts = Counter[str](), defaultdict[str, list[float]](list)
    for each in (alone, *found):
        kills += each.kills
        for kind, seconds in each.restarts.items():
            restarts[kind] += seconds
    meter.left_out += verifier.not_looked_at()
    _tell_kills(meter, spots, kills)
    _tell_starts(meter, restarts)


def _tell_kills(meter: Meter, spots: Sequence[Spot], kills: Counter[str]) -> None:
    at_points, others = Counter[str](), Counter[str]()
    for name, times in kills.items():
        who, at, _ = name.partition(_AT)
        (at_points if at else others)[who] += times
    meter.figures["killed at random"] = ", ".join(f"{who} {times:,}" for who, times in others.items())
    meter.figures["killed at a named point"] = ", ".join(
        f"{who} {times:,}" for who, times in at_points.items()
    )
    burnt = {name.partition(_AT)[2] for name in kills if _AT in name}
    meter.figures["named points"] = f"{len(burnt)} of {len(POINTS)}"
    theirs = defaultdict[str, set[str]](set)
    for spot in spots:
        theirs[spot.who].add(spot.point)
    meter.figures["of those that each comes to"] = ", ".join(
        f"{who} {sum(bool(kills[Spot(point, who).name]) for point in points)} of {len(points)}"
        for who, points in theirs.items()
    )
    if unseen := [point for point in POINTS if point not in burnt]:
        meter.left_out.append(f"not come to: {', '.join(unseen)}")


def _tell_starts(meter: Meter, restarts: dict[str, list[float]]) -> None:
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
        deeds = Deeds(Desk(meter.folder / f"{meter.trials}", AT))
        is_first = True
        for _ in range(_KILLS_PER_DESK):
            if not meter.goes_on or meter.trials >= most:
                break
            name, way = next(ways)
            killed = way(deeds, str(next(serial)), chance)
            meter.check(not killed.wrong, f"{name}: {killed.wrong}")
            if killed.started is not None and not is_first:
                found.restarts[name.partition(_AT)[0]].append(killed.started)
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
    fresh = Deeds(Desk(meter.folder / f"fresh-{meter.trials}-{time.monotonic_ns()}", AT))
    usual = way(fresh, "0", chance).started or 0
    meter.check(
        is_kept=False, told=f"{name}: a start after a kill took {took:.1f} s, one without {usual:.1f} s"
    )


def _scouted(meter: Meter) -> list[Spot]:
    """Let each work once who is not killed, and return who comes to which points.

    Somebody has done everything there before: what is made only once is not to be counted on.
    """
    deeds, notes, chance = Deeds(Desk(meter.folder / "scout", AT)), count(), random.Random(meter.seed)

    def scout(who: str, by: int, way: Callable[[Scout], Killed]) -> Iterator[Spot]:
        path = meter.folder / f"notes-{next(notes)}"
        killed = way(Scout(path))
        meter.check(not killed.wrong, f"{who}, which nobody killed: {killed.wrong}")
        yield from (Spot(point, who, by, times) for point, times in sorted(seen_by(path).items()))

    meter.check(deeds.do_all(), "who did everything, and was not killed, failed")
    spots = list[Spot]()
    for by, kind in enumerate(KINDS):
        spots += scout(_who(kind), by, lambda own, by=by: _library_at(own, by, deeds, f"s{by}"))
    for by, command in enumerate(COMMANDS):
        spots += scout("command", by, lambda own, each=command: _told_once(own, each, deeds, f"s{each.kind}"))
    spots += scout("server", 0, lambda own: _server_at(own, deeds, "s", chance))
    _look(meter, deeds)
    return spots


def _who(kind: str) -> str:
    return "library" if kind in DIRECT else "worker"


def _ways(
    seed: int, spots: Sequence[Spot], anybody: Sequence[tuple[str, Way]], *, is_reversed: bool = False
) -> Iterator[tuple[str, Way]]:
    """Yield who is killed next: at each named point in turn, by all in turn who come to it, and between these anybody."""
    chance, theirs = random.Random(seed), defaultdict[str, list[Spot]](list)
    for spot in chance.sample(spots, len(spots)):
        theirs[spot.point].append(spot)
    turns = [cycle(_mixed(own, chance)) for own in theirs.values()]
    turns = turns[::-1] if is_reversed else turns
    points = chain.from_iterable(zip(*turns, strict=True))
    for each in cycle(anybody):
        for spot in islice(points, 2):
            yield spot.name, _at(spot)
        yield each


def _mixed(spots: Sequence[Spot], chance: random.Random) -> list[Spot]:
    """Return them with each who comes first, before any of them comes again."""
    times, order = Counter[str](), chance.sample(_WHO, len(_WHO))
    ranked = list[tuple[int, int, Spot]]()
    for spot in spots:
        ranked.append((times[spot.who], order.index(spot.who), spot))
        times[spot.who] += 1
    return [spot for *_, spot in sorted(ranked)]


def _at(spot: Spot) -> Way:
    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        fuse = Fuse(spot.point, chance.randint(1, min(spot.times, _LATEST)))
        if spot.who == "server":
            return _server_at(fuse, deeds, run, chance)
        if spot.who == "command":
            return _told_once(fuse, COMMANDS[spot.by], deeds, run)
        return _library_at(fuse, spot.by, deeds, run)

    return way


def _library_at(fuse: Fuse, by: int, deeds: Deeds, run: str) -> Killed:
    """Do one deed again and again until a fuse burns."""

    def work(say: Say) -> None:
        fuse.lay()
        deeds.work(run, say, (KINDS[by],), most=_DEEDS_TO_A_POINT)

    child, first, started = _begun(work)
    deeds.heard([first, *child.listen()])
    return Killed(
        started if first else None, "it failed" if child.has_failed else "", counts=child.was_killed
    )


def _library(deeds: Deeds, run: str, chance: random.Random) -> Killed:
    start = chance.randrange(len(KINDS))
    return _killed(deeds, chance, lambda say: deeds.work(run, say, (*KINDS[start:], *KINDS[:start])))


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
    return Killed(started, "it failed" if child.has_failed else "", counts=child.was_killed)


def _begun(work: Callable[[Say], None]) -> tuple[Child, str, float]:
    """Return who works, the first that it acknowledged, if it came to that, and the seconds until then."""
    began = time.monotonic()
    child = Child(work)
    child.wait_for_word()  # that it is ready
    first = child.wait_for_word().decode().strip()
    return child, first, _since(began, child.pid)


def _since(began: float, pid: int) -> float:
    """Return the seconds since a process began, without those that it waited for a processor, if Linux tells.

    Those are the waits of its first thread, which does all that a start does: what the others wait counts.
    """
    return time.monotonic() - began - waited(str(pid))


def _ended(deeds: Deeds, process: Process, started: float | None, *, may_end: bool = False) -> Killed:
    """Tell how a process ended: only one that was killed counts, and one that failed by itself is wrong."""
    code = process.wait()
    if code == -signal.SIGKILL or (may_end and not code):
        return Killed(started, counts=bool(code))
    told = deeds.desk.complaints.read_text(errors="replace").strip().splitlines()[-1:]
    return Killed(started, f"it ended by itself with {code}: {' '.join(told)}", counts=False)


def _command(start: Start, commands: Sequence[Command]) -> Way:
    """A command that is killed: one that records many messages after the first, any other at any moment."""

    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        began, command, token = time.monotonic(), chance.choice(commands), f"c{run}"
        first, started = b"", None
        lay_out(deeds.desk, command.kind, token)
        with start(deeds.desk, *command.words(token)) as process:
            assert process.stdout is not None
            _give(process, command.given(token))
            if command is RECORD:
                first = process.stdout.readline()
                started = _since(began, process.pid) if first else None
            time.sleep(chance.uniform(0, _BRIEF))
            process.kill()
            told, killed = [first, *process.stdout], _ended(deeds, process, started, may_end=True)
        deeds.heard(command.heard(token, told, is_done=process.returncode == 0))
        return killed

    return way


def _told_once(fuse: Fuse, command: Command, deeds: Deeds, run: str) -> Killed:
    """Run a command until a fuse burns, else to its end."""
    token = f"c{run}"
    lay_out(deeds.desk, command.kind, token)
    with deeds.desk.forked(*command.words(token), first=fuse.lay) as process:
        _give(process, command.given(token))
        told, killed = [*process.stdout], _ended(deeds, process, None, may_end=True)
    deeds.heard(command.heard(token, told, is_done=process.returncode == 0))
    return killed


def _give(process: Process, text: str) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it may be killed by now
        process.stdin.write(text.encode())
        process.stdin.close()


def _server(start: Start) -> Way:
    """A server that is killed while it has something to do."""

    def way(deeds: Deeds, run: str, chance: random.Random) -> Killed:
        return _asked(start, deeds, run, chance, seconds=chance.uniform(0, 2 * _LONGEST))[0]

    return way


def _server_at(fuse: Fuse, deeds: Deeds, run: str, chance: random.Random) -> Killed:
    """Ask a server until a fuse burns; one that does not come to that point is killed, which does not count."""
    start = partial(Desk.forked, first=fuse.lay)
    killed, is_by_itself = _asked(start, deeds, run, chance, seconds=_TOGETHER, most=4 * len(REQUESTS))
    return killed._replace(counts=killed.counts and is_by_itself)


def _asked(
    start: Start, deeds: Deeds, run: str, chance: random.Random, *, seconds: float, most: int = 100_000
) -> tuple[Killed, bool]:
    """Ask `carrel serve` for changes in any order, and kill it while one is under way, so many seconds after the first.

    An answer of success is taken for what it is. Tell, too, whether it was gone before it was to be killed.
    """
    began, end, started, misses, is_killed = time.monotonic(), None, None, 0, False
    with start(deeds.desk, "serve", "--port", "0") as process:
        link = find_link(process)
        client = Client(*link) if link else None
        for number, request in enumerate(islice(_shuffled(chance), most if client else 0)):
            assert client is not None
            if end and time.monotonic() > end:
                process.kill()
                is_killed = True
            lay_out(deeds.desk, request.kind, token := f"h{run}.{number}")
            if not client.ask(request, token):
                misses += 1
                time.sleep(_MOMENT)
                if is_killed or process.poll() is not None or misses > _MISSES:
                    break
            elif started is None:
                started = _since(began, process.pid)
                end = time.monotonic() + seconds
        is_by_itself = not is_killed and (misses > 0 or not link) and _is_gone(process)
        process.kill()
        killed = _ended(deeds, process, started)
    deeds.heard(client.acknowledged if client else [])
    told = f"it answered {client.refused[:3]}" if client and client.refused else ""
    silent = "it did not answer" if misses > _MISSES else ""
    return killed._replace(wrong=killed.wrong or told or silent), is_by_itself


def _is_gone(process: Process) -> bool:
    """Tell whether a process that says nothing any more has ended, or does so in a moment."""
    for _ in range(_MOMENTS):
        if process.poll() is not None:
            return True
        time.sleep(_MOMENT)
    return False


def _shuffled(chance: random.Random) -> Iterator[Request]:
    """Yield all requests in some order, and again in another."""
    while True:
        yield from chance.sample(REQUESTS, len(REQUESTS))


_LIBRARY, _COMMAND, _SERVER, _WORKER = (
    ("library", _library),
    ("command", _command(Desk.forked, COMMANDS)),
    ("server", _server(Desk.forked)),
    ("worker", _worker),
)
_FORKED = (_LIBRARY, _COMMAND, _SERVER, _WORKER, _LIBRARY, _LIBRARY, _COMMAND, _SERVER)
_STARTED = (
    ("command started anew", _command(Desk.anew, (RECORD,))),
    ("server started anew", _server(Desk.anew)),
)


def link_of(process: Process) -> tuple[int, str]:
    """Return the port and the token that a server prints when it is ready."""
    link = find_link(process)
    assert link, "it ended before it was ready"
    return link


KILLS = Row(
    number=1,
    promise="kill -9 at random and at every named point: library, CLI, HTTP, worker",
    quick=_QUICK,
    long=5_000,
    share=12,
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
        Defect(
            "runtime/record.py",
            "            findings += self._attempt(lambda: self._end(session, recorded[-1]))\n",
            "",
            "a turn is acknowledged, and the job that it leaves is lost",
        ),
    ),
)
