"""Records behind a link that is cut at any byte: nothing acknowledged is lost, and nothing is there twice."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

import pytest
from tests.stubs.postgres import Server
from tests.stubs.proxy import Proxy

from carrel.postgres import Postgres, PostgresUnavailable
from carrel.records.changes import Change, Splice
from carrel.records.facts import Fact
from carrel.records.postgres import PostgresRecords
from carrel.records.proposals import Proposal
from carrel.records.recalls import RecallEvent
from carrel.records.usage import Spent

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LEASE = timedelta(minutes=5)
Made = TypeVar("Made")
CUTS = 30
STATEMENT = 900
"""About as many bytes as a statement has, the one that says whose it is included."""


@pytest.fixture
def proxy(postgres_server: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    yield proxy
    proxy.close()


@pytest.fixture
def far(proxy: Proxy, database: str) -> Iterator[PostgresRecords]:
    """Records at the other end of the link."""
    postgres = Postgres(proxy.url(database))
    yield PostgresRecords(postgres.tenant("acme"), "desk")
    postgres.close()


@pytest.fixture
def near(database: str) -> Iterator[PostgresRecords]:
    """The same over a link that nothing happens to."""
    postgres = Postgres(database)
    yield PostgresRecords(postgres.tenant("acme"), "desk")
    postgres.close()


def cut_soon(proxy: Proxy, chance: random.Random, statements: int = 1) -> None:
    """Cut the link within the next statements; sometimes the server does not hear of it, and goes on."""
    proxy.half_open = chance.random() < 0.5
    way = chance.choice(["up", "down"])
    proxy.cut_after(**{way: chance.randint(0, statements * STATEMENT)})


def insist(call: Callable[[], Made]) -> Made:
    """Do something again where the link was cut, as the hint says."""
    while True:
        with suppress(PostgresUnavailable):
            return call()


def test_what_carries_its_own_name_is_written_once_over_any_cut(
    far: PostgresRecords, near: PostgresRecords, proxy: Proxy
) -> None:
    chance, names = random.Random(3), [str(number) for number in range(CUTS)]
    for name in names:
        cut_soon(proxy, chance)
        job = insist(lambda name=name: far.queue.put("extract", {"n": name}, key=name))
        assert job.payload == {"n": name}
        cut_soon(proxy, chance)
        spent = Spent(agent="kate", session="s", model="m", at=NOW, input=1, cached=0, output=0)
        insist(lambda spent=spent, name=name: far.usage.add(spent, turn=name))
        cut_soon(proxy, chance)
        proposal = Proposal(
            key=name, at=NOW, agent="kate", actor="kate", action="add", why="w", reason="r", path="p"
        )
        assert insist(lambda proposal=proposal: far.proposals.add(proposal)).key == name
    proxy.mend()
    assert [job.key for job in near.queue.jobs()] == names
    assert [each.key for each in near.proposals.list()] == names
    assert near.usage.total().turns == CUTS


def test_a_job_is_ended_once_over_any_cut(far: PostgresRecords, near: PostgresRecords, proxy: Proxy) -> None:
    chance = random.Random(4)
    for number in range(CUTS):
        near.queue.put("extract", {}, key=str(number))
        job = near.queue.take(["extract"], now=NOW, lease=LEASE, worker="w")
        assert job is not None
        cut_soon(proxy, chance)
        job = insist(lambda job=job: far.queue.extend(job, now=NOW, lease=LEASE))
        cut_soon(proxy, chance)
        if number % 2:
            insist(lambda job=job: far.queue.finish(job, {"n": 1}))
        else:
            insist(lambda job=job: far.queue.fail(job, "no", retry_at=None))
    assert near.queue.counts() == {"waiting": 0, "running": 0, "done": CUTS / 2, "failed": CUTS / 2}


def test_what_is_counted_is_there_if_it_was_acknowledged_and_never_by_halves(
    far: PostgresRecords, near: PostgresRecords, proxy: Proxy
) -> None:
    chance, heard = random.Random(5), Counter[str]()
    recall = RecallEvent(
        agent="kate", session="s", at=NOW, query="q", path="p", line=1, tier="t", rank=1, score=0.5, text="t",
        who="tool",
    )  # fmt: skip
    change = Change(
        at=NOW, actor="k", action="a", path="p", before=None, after=None, splice=Splice(0, b"", b"x")
    )
    writes = {
        "note": lambda name: far.audit.note(at=NOW, actor="k", action="a", target=name),
        "begin": lambda _: far.changes.begin(change),
        "recall": lambda _: far.recalls.add([recall] * 3),
        "learn": lambda name: far.facts.add(
            Fact(id=f"{name}.{n}", agent="kate", layer="project", kind="k", text="t", key="t", at=NOW)
            for n in range(3)
        ),
    }
    for number in range(CUTS):
        for what, write in writes.items():
            cut_soon(proxy, chance)
            try:
                write(str(number))
            except PostgresUnavailable as error:
                heard[f"{what} {error.reason}"] += 1
            else:
                heard[what] += 1
    proxy.mend()
    there = {
        "note": len(near.audit.events(limit=1_000)),
        "begin": len(near.changes.list(limit=1_000)),
        "recall": near.recalls.count("kate", NOW) / 3,
        "learn": len(near.facts.find(limit=1_000)) / 3,
    }
    for what, many in there.items():
        assert heard[what] <= many <= heard[what] + heard[f"{what} unknown"]
        assert many == int(many)
    assert {name for name in heard if " " in name} >= {"note unknown", "begin unknown"}
    assert not any(name.endswith(" undone") for name in heard)


def test_each_job_has_one_effect_over_any_cuts(
    far: PostgresRecords, near: PostgresRecords, proxy: Proxy
) -> None:
    chance, names = random.Random(6), {str(number) for number in range(CUTS)}
    for name in names:
        near.queue.put("extract", {}, key=name)
    for turn in count():
        if not near.queue.counts()["waiting"] + near.queue.counts()["running"]:
            break
        cut_soon(proxy, chance, statements=8)
        try:
            job = far.queue.take(["extract"], now=NOW + turn * LEASE, lease=LEASE, worker="w")
            if job is not None:
                with far.transaction():
                    far.audit.note(at=NOW, actor="w", action="worked", target=job.key)
                    far.queue.finish(job)
        except PostgresUnavailable:
            continue
    proxy.mend()
    assert Counter(event.target for event in near.audit.events(limit=1_000)) == dict.fromkeys(names, 1)
