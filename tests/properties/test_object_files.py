"""Files as objects answer as files in a dict do, and keep every line however their requests come between others."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from threading import Condition, Thread, local
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.properties.test_postgres_files import PATHS, change, changes, contents, outcome, sizes, state

from carrel.files import Stale
from carrel.files.objects import ObjectFiles, reading, store
from carrel.testing import EphemeralFiles

NUMBERS = count(1)
REQUESTS = ("get", "get_part", "look", "below", "folder", "create", "swap", "empty", "delete", "delete_once")


def fresh() -> str:
    return f"memory://property-{next(NUMBERS)}"


@settings(max_examples=80, deadline=None)
@given(done=st.lists(changes, max_size=12))
def test_any_changes_leave_what_they_leave_in_a_dict(done: list[Any]) -> None:
    url, model = fresh(), EphemeralFiles()
    files = ObjectFiles(url, "acme", "studio")
    for what, path, *rest in done:
        before, old = files.stamps(PATHS), model.stamps(PATHS)
        was = outcome(lambda path=path: model.read(path))
        assert change(files, what, path, *rest) == change(model, what, path, *rest)
        after, new = files.stamps(PATHS), model.stamps(PATHS)
        assert [stamp is None for stamp in after] == [stamp is None for stamp in new]
        # A dict takes every change for one; here the stamp of what is as it was stays.
        is_same = was == outcome(lambda path=path: model.read(path))
        assert is_same or [a == b for a, b in zip(old, new, strict=True)] == [
            a == b for a, b in zip(before, after, strict=True)
        ]
    for seen in (files, ObjectFiles(url, "acme", "studio")):
        assert state(seen) == state(model)


@settings(max_examples=80, deadline=None)
@given(written=st.lists(contents, min_size=1, max_size=6), part=st.tuples(sizes, sizes), limit=sizes)
def test_any_part_is_that_part_of_the_whole(written: list[bytes], part: tuple[int, int], limit: int) -> None:
    first, *lines = written
    files, model = ObjectFiles(fresh(), "acme", "studio"), EphemeralFiles()
    for each in (files, model):
        each.write("log", first, expect=None)
    for line in lines:
        assert files.append("log", line) == model.append("log", line)
    one, two = files.part("log", *part), model.part("log", *part)
    assert (one.data, one.size, one.target) == (two.data, two.size, two.target)
    assert outcome(lambda: files.read("log", limit=limit)) == outcome(lambda: model.read("log", limit=limit))
    assert files.write("log", b"new", expect=model.read("log").digest)
    assert files.read("log").data == b"new"


class Turns:
    """Lets one of several threads at a time do one request, in a given order."""

    def __init__(self, order: list[int]) -> None:
        self.order = iter(order)
        self.later = count()
        self.turn = Condition()
        self.mine = local()
        self.alive: set[int] = set()
        self.waiting: set[int] = set()
        self.chosen = -1

    def run(self, works: list[Callable[[], None]]) -> list[BaseException]:
        failures: list[BaseException] = []

        def guarded(who: int, work: Callable[[], None]) -> None:
            self.mine.who = who
            try:
                work()
            except BaseException as error:  # noqa: BLE001  a thread's failure must fail the test
                failures.append(error)
            with self.turn:
                self.alive.discard(who)
                self.choose()

        self.alive = set(range(len(works)))
        threads = [Thread(target=guarded, args=item) for item in enumerate(works)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failures

    def wait(self) -> None:
        who = getattr(self.mine, "who", None)
        if who is None:
            return
        with self.turn:
            self.waiting.add(who)
            self.choose()
            self.turn.wait_for(lambda: self.chosen == who)
            self.chosen = -1
            self.waiting.discard(who)

    def choose(self) -> None:
        if self.chosen == -1 and self.waiting and self.waiting == self.alive:
            drawn = next(self.order, None)
            able = sorted(self.waiting)
            self.chosen = able[(next(self.later) if drawn is None else drawn) % len(able)]
            self.turn.notify_all()


def in_turns(url: str, turns: Turns) -> ObjectFiles:
    files = ObjectFiles(url, "acme", "studio")
    for name in REQUESTS:
        asked = getattr(files._bucket, name)

        def request(*given: Any, asked: Callable[..., Any] = asked, **more: Any) -> Any:
            turns.wait()
            return asked(*given, **more)

        setattr(files._bucket, name, request)
    return files


def one_by_one(work: Callable[[Any], Any], given: Any) -> list[Any]:
    return [work(item) for item in given]


class Ledger:
    """Which lines were added to a file, and which of them were taken away, as those who did it were told."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.taken: list[str] = []

    def change(self, files: ObjectFiles, what: str, line: str) -> None:
        found = files.read("log")
        old = found.data if found else b""
        if what == "remove":
            if found:
                files.remove("log", expect=found.digest)
                self.taken.extend(old.decode().splitlines())
            return
        new = f"{line}\n".encode()
        if what == "write":
            files.write("log", old + new, expect=found and found.digest)
        elif what == "at":
            assert files.append("log", new, at=len(old)) == len(old + new)
        else:
            files.append("log", new)
        self.kept.append(line)

    def run(self, files: ObjectFiles, who: int, plan: list[str]) -> None:
        for number, what in enumerate(plan):
            with suppress(Stale):
                self.change(files, what, f"{who}.{number}")


plans = st.lists(st.sampled_from(["append", "at", "write", "remove"]), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.integers(0, 2),
    several=st.lists(plans, min_size=2, max_size=3),
    order=st.lists(st.integers(0, 5), max_size=60),
)
def test_no_line_is_lost_or_doubled_whatever_comes_between(
    monkeypatch: pytest.MonkeyPatch, start: int, several: list[list[str]], order: list[int]
) -> None:
    monkeypatch.setattr(reading, "in_parallel", one_by_one)
    monkeypatch.setattr(store, "in_parallel", one_by_one)
    url, turns, ledger = fresh(), Turns(order), Ledger()
    ledger.run(ObjectFiles(url, "acme", "studio"), 9, ["append"] * start)  # none, a document, a log
    works = [partial(ledger.run, in_turns(url, turns), who, plan) for who, plan in enumerate(several)]
    assert turns.run(works) == []
    found = ObjectFiles(url, "acme", "studio").read("log")
    left = found.data.decode().splitlines() if found else []
    assert Counter(left + ledger.taken) == Counter(ledger.kept)
