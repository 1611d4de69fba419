"""What is true of records in PostgreSQL beyond the contract: many servers, tenants, numbers, round trips, plans."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Barrier, Event, Thread
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from carrel.postgres import Postgres, PostgresNotReady, Tenant
from carrel.records.changes import Change, Splice
from carrel.records.dreams import Dream, Promotion
from carrel.records.facts import Fact
from carrel.records.keys import mint
from carrel.records.postgres import PostgresRecords
from carrel.records.proposals import Proposal
from carrel.records.queue import LeaseLost
from carrel.records.recalls import RecallEvent
from carrel.records.usage import Spent

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LEASE = timedelta(minutes=5)
CANARY = "canary-7f3a"


@pytest.fixture
def servers(database: str) -> Iterator[list[Postgres]]:
    """Several processes' worth of connections to one database."""
    opened = [Postgres(database) for _ in range(4)]
    yield opened
    for each in opened:
        each.close()


def records_of(server: Postgres, tenant: str = "acme", workspace: str = "desk") -> PostgresRecords:
    return PostgresRecords(server.tenant(tenant), workspace)


def at_once(action: Callable[[int], Any], many: int = 4) -> list[Any]:
    """Run an action in several threads at the same moment; the first error of any is raised."""
    ready = Barrier(many, timeout=30)

    def run(number: int) -> Any:
        ready.wait()
        return action(number)

    with ThreadPoolExecutor(many) as threads:
        return list(threads.map(run, range(many)))


def fact(name: str = "f1", **changes: Any) -> Fact:
    first = {"agent": "kate", "layer": "project", "kind": "note", "text": "T", "key": "t", "at": NOW}
    return Fact(id=name, **(first | changes))


def change(**changes: Any) -> Change:
    first = {
        "at": NOW, "actor": "kate", "action": "append", "path": "p", "before": None, "after": "d",
        "splice": Splice(0, b"", b"x"),
    }  # fmt: skip
    return Change(**(first | changes))


def proposal(key: str = "k", **changes: Any) -> Proposal:
    first = {
        "at": NOW,
        "agent": "kate",
        "actor": "kate",
        "action": "add",
        "why": "w",
        "reason": "r",
        "path": "p",
    }
    return Proposal(key=key, **(first | changes))


def recall(**changes: Any) -> RecallEvent:
    event = {
        "agent": "kate", "session": "s1", "at": NOW, "query": "q", "path": "MEMORY.md", "line": 1, "tier": "profile",
        "rank": 1, "score": 0.5, "text": "t", "who": "tool",
    }  # fmt: skip
    return RecallEvent(**(event | changes))


def spent(**changes: Any) -> Spent:
    figures = {
        "agent": "kate",
        "session": "s1",
        "model": "m",
        "at": NOW,
        "input": 9,
        "cached": 4,
        "output": 2,
    }
    return Spent(**(figures | changes))


def dream(*keys: str) -> Dream:
    promotions = tuple(Promotion(key=key, text=CANARY, score=0.5, hits=3, days=2) for key in keys)
    return Dream(agent="kate", at=NOW, path="M", diary="D", heading="H", promotions=promotions)


def write_all(records: PostgresRecords) -> None:
    records.remember_layout(CANARY)
    records.keep_assembly("kate", "s1", "main", assembly={"text": CANARY}, frozen={"1": CANARY})
    records.queue.put("extract", {"text": CANARY}, key="k")
    records.usage.add(spent(model=CANARY), turn="t1")
    records.audit.note(at=NOW, actor=CANARY, action="write", target="t")
    records.recalls.add([recall(text=CANARY, query=CANARY)])
    records.facts.add([fact(text=CANARY)])
    records.facts.advance("kate", "s1", expect=0, to=5)
    records.changes.begin(change(reason=CANARY))
    records.proposals.add(proposal(new=CANARY))
    records.dreams.plan(dream("k1"), after=0)
    records.keys.add(mint(name=CANARY, right="read", scope="main", now=NOW, expires=None)[0])


def seen(records: PostgresRecords) -> list[Any]:
    return [
        records.layout(),
        records.last_assembly("kate", "s1"),
        records.frozen("kate", "s1", "main"),
        records.queue.jobs(),
        records.usage.last("kate", "s1"),
        records.audit.events(),
        records.recalls.since("kate", NOW),
        records.recalls.remembered("kate", tiers=["profile"], until=NOW),
        records.facts.find(),
        records.facts.cursor("kate", "s1"),
        records.changes.list(),
        records.proposals.list(),
        records.dreams.list(),
        records.dreams.promoted("kate"),
        records.keys.all(),
    ]


# Many servers


def test_everything_written_is_seen_by_another_server(servers: list[Postgres]) -> None:
    write_all(records_of(servers[0]))
    assert seen(records_of(servers[0])) == seen(records_of(servers[1]))
    assert all(seen(records_of(servers[1])))


def test_what_a_transaction_begins_is_seen_by_nobody_before_it_is_kept(servers: list[Postgres]) -> None:
    one, two = (records_of(server) for server in servers[:2])
    with one.transaction():
        write_all(one)
        assert not any(seen(two))
    assert all(seen(two))


def test_of_many_servers_that_freeze_at_once_all_read_the_same_afterwards(servers: list[Postgres]) -> None:
    def freeze(number: int) -> str:
        records = records_of(servers[number])
        records.keep_assembly("kate", "s1", "main", assembly={}, frozen={"1": f"server {number}"})
        return json.dumps(records.frozen("kate", "s1", "main"))

    assert len(set(at_once(freeze))) == 1


def test_what_is_read_in_a_transaction_may_be_written_back(servers: list[Postgres]) -> None:
    records_of(servers[0]).facts.add([fact(seen=0)])

    def count(number: int) -> None:
        records = records_of(servers[number])
        for _ in range(10):
            with records.transaction():
                known = records.facts.get("f1")
                records.facts.update(replace(known, seen=known.seen + 1))

    at_once(count)
    assert records_of(servers[0]).facts.get("f1").seen == 40


def test_of_many_servers_one_has_each_job(servers: list[Postgres]) -> None:
    first = records_of(servers[0])
    with first.transaction():
        for number in range(60):
            first.queue.put("extract", {}, key=str(number))

    def work(number: int) -> list[str]:
        queue, keys = records_of(servers[number]).queue, []
        while (job := queue.take(["extract"], now=NOW, lease=LEASE, worker=str(number))) is not None:
            queue.finish(job)
            keys.append(job.key)
        return keys

    done = [key for keys in at_once(work) for key in keys]
    assert sorted(done, key=int) == [str(number) for number in range(60)]


def test_a_worker_does_not_wait_for_a_job_that_another_is_about_to_take(servers: list[Postgres]) -> None:
    one, two = (records_of(server) for server in servers[:2])
    for key in "ab":
        one.queue.put("extract", {}, key=key)
    with one.transaction():
        first = one.queue.take(["extract"], now=NOW, lease=LEASE, worker="one")
        second = two.queue.take(["extract"], now=NOW, lease=LEASE, worker="two")
        assert two.queue.take(["extract"], now=NOW, lease=LEASE, worker="two") is None
    assert first is not None
    assert second is not None
    assert (first.key, second.key) == ("a", "b")


def test_a_transaction_that_fails_gives_back_the_job_it_took(servers: list[Postgres]) -> None:
    one, two = (records_of(server) for server in servers[:2])
    put = one.queue.put("extract", {}, key="k")

    def take_and_fail() -> None:
        with one.transaction():
            one.queue.take(["extract"], now=NOW, lease=LEASE, worker="one")
            raise KeyError

    with pytest.raises(KeyError):
        take_and_fail()
    assert two.queue.take(["extract"], now=NOW, lease=LEASE, worker="two") == replace(
        put, state="running", attempts=1, claim=1, worker="two", leased_until=NOW + LEASE
    )


def test_many_servers_that_put_the_same_put_it_once(servers: list[Postgres]) -> None:
    def put(number: int) -> tuple[int, ...]:
        queue = records_of(servers[number]).queue
        return tuple(queue.put("extract", {}, key=str(key)).id for key in range(20))

    (numbers,) = set(at_once(put))
    assert list(numbers) == sorted(numbers)


def test_many_servers_that_propose_and_learn_the_same_do_it_once(servers: list[Postgres]) -> None:
    def add(number: int) -> tuple[int, tuple[int, ...]]:
        records = records_of(servers[number])
        names = [f"f{n}" for n in (range(10) if number % 2 else reversed(range(10)))]
        return (
            records.facts.add(map(fact, names)),
            tuple(records.proposals.add(proposal(str(n))).id for n in range(10)),
        )

    answers = at_once(add)
    assert sum(added for added, _ in answers) == 10
    assert len({numbers for _, numbers in answers}) == 1


def test_many_servers_that_recall_the_same_stand_in_nobodys_way(servers: list[Postgres]) -> None:
    def add(number: int) -> None:
        recalls = records_of(servers[number]).recalls
        texts = [f"t{n}" for n in range(20)][:: 1 if number % 2 else -1]
        for _ in range(5):
            recalls.add(recall(text=text, query=text) for text in texts)

    at_once(add)
    found = records_of(servers[0]).recalls.remembered("kate", tiers=["profile"], until=NOW)
    assert [(each.hits, len(each.queries)) for each in found] == [(20, 1)] * 20


def test_a_claim_that_two_end_in_the_same_way_has_ended_once(servers: list[Postgres]) -> None:
    """As after a lost link: the first attempt may still be under way when the second begins."""
    records = records_of(servers[0])
    for number in range(10):
        records.queue.put("extract", {}, key=str(number))
        job = records.queue.take(["extract"], now=NOW, lease=LEASE, worker="w")
        assert job is not None
        at_once(lambda n, job=job: records_of(servers[n]).queue.finish(job))
    assert records.queue.counts()["done"] == 10


# Numbers


def test_whoever_follows_the_audit_misses_nothing(servers: list[Postgres]) -> None:
    """A later number is never visible before an earlier one, however long that one's transaction takes."""
    over, heard = Event(), []

    def follow() -> None:
        audit, last = records_of(servers[3]).audit, 0
        while True:
            is_last = over.is_set()
            while page := audit.events(after=last, limit=7):
                heard.extend(event.target for event in reversed(page))
                last = page[0].id
            if is_last:
                return

    def note(number: int) -> None:
        records = records_of(servers[number])
        for n in range(20):
            if n % 2:
                with records.transaction():
                    records.audit.note(at=NOW, actor="k", action="a", target=f"{number}.{n}")
                    records.queue.put("slow", {}, key=f"{number}.{n}")
            else:
                records.audit.note(at=NOW, actor="k", action="a", target=f"{number}.{n}")

    listener = Thread(target=follow)
    listener.start()
    at_once(note, 3)
    over.set()
    listener.join()
    assert sorted(heard) == sorted(f"{number}.{n}" for number in range(3) for n in range(20))


def test_numbers_tell_nothing_of_other_workspaces_and_tenants(servers: list[Postgres]) -> None:
    for tenant, workspace in (("acme", "desk"), ("acme", "shelf"), ("umbrella", "desk")):
        records = records_of(servers[0], tenant, workspace)
        write_all(records)
        assert records.queue.jobs()[0].id == 1
        assert records.audit.events()[0].id == 1
        assert records.changes.list()[0].id == 1
        assert records.proposals.list()[0].id == 1
        assert records.dreams.list()[0].id == 1


def test_what_is_there_already_takes_no_number(servers: list[Postgres]) -> None:
    records = records_of(servers[0])
    for _ in range(3):
        records.queue.put("extract", {}, key="k")
        records.proposals.add(proposal())
        records.facts.add([fact()])
    assert records.queue.put("extract", {}, key="next").id == 2
    assert records.proposals.add(proposal("next")).id == 2
    held = servers[0].tenant("acme").rows("SELECT value FROM carrel.counters WHERE name = 'facts'")
    assert held == [(1,)]


# Tenants


def test_nothing_of_one_tenant_or_workspace_is_in_anothers(servers: list[Postgres]) -> None:
    write_all(records_of(servers[0]))
    for tenant, workspace in (("umbrella", "desk"), ("acme", "shelf")):
        other = records_of(servers[0], tenant, workspace)
        assert CANARY not in repr(seen(other))
        assert not any(seen(other))
        assert other.queue.take(["extract"], now=NOW, lease=LEASE, worker="w") is None
        assert other.queue.holding([CANARY]) == other.forget([CANARY]) == other.recalls.forget([CANARY]) == 0
        assert other.dreams.purge(["k1"]) == 0
        for call in (
            lambda other=other: other.queue.get(1),
            lambda other=other: other.changes.settle(1, "done"),
            lambda other=other: other.proposals.decide(1, "approved", at=NOW, by="owner"),
            lambda other=other: other.facts.update(fact()),
            lambda other=other: other.dreams.update(replace(dream("k1"), id=1)),
        ):
            with pytest.raises(Exception, match="There is no"):
                call()
    assert all(seen(records_of(servers[0])))


def test_a_claim_of_another_tenant_ends_nothing(servers: list[Postgres]) -> None:
    mine, other = records_of(servers[0]), records_of(servers[0], "umbrella")
    mine.queue.put("extract", {}, key="k")
    job = mine.queue.take(["extract"], now=NOW, lease=LEASE, worker="w")
    assert job is not None
    for end in (other.queue.finish, lambda job: other.queue.extend(job, now=NOW, lease=LEASE)):
        with pytest.raises(LeaseLost):
            end(job)
    other.queue.release(job)
    assert mine.queue.get(job.id) == job


TABLES = (
    "counters", "facts_of_workspace", "assemblies", "frozen", "jobs", "usage", "audit", "queries", "recalled",
    "recalls", "facts", "cursors", "changes", "proposals", "dreams", "promotions", "keys",
)  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
def test_the_database_keeps_tenants_apart_where_a_statement_would_not(
    servers: list[Postgres], table: str
) -> None:
    write_all(records_of(servers[0]))
    count = f"SELECT count(*) FROM carrel.{table}"
    assert servers[0].tenant("acme").rows(count)[0][0] > 0
    assert servers[0].tenant("umbrella").rows(count) == [(0,)]


# The audit


@pytest.mark.parametrize(
    "statement", ["UPDATE carrel.audit SET actor = ''", "DELETE FROM carrel.audit", "TRUNCATE carrel.audit"]
)
def test_neither_a_tenant_nor_the_owner_of_the_tables_changes_the_audit(
    servers: list[Postgres], database: str, statement: str
) -> None:
    records = records_of(servers[0])
    event = records.audit.note(at=NOW, actor="kate", action="write")
    with pytest.raises(PostgresNotReady):
        servers[0].tenant("acme").rows(statement)
    with psycopg.connect(database) as owner, pytest.raises(psycopg.Error, match="only added to"):
        owner.execute(statement)
    assert records.audit.events() == [event]


# Round trips


@contextmanager
def trips(tenant: Tenant) -> Iterator[list[int]]:
    before, taken = tenant.round_trips, []
    yield taken
    taken.append(tenant.round_trips - before)


VERBS: dict[str, Callable[[PostgresRecords], Any]] = {
    "layout": lambda r: r.layout(),
    "remember_layout": lambda r: r.remember_layout("astra"),
    "last_assembly": lambda r: r.last_assembly("kate", "s1"),
    "frozen": lambda r: r.frozen("kate", "s1", "main"),
    "kept": lambda r: r.kept("kate", "s1", "main"),
    "keep_assembly": lambda r: r.keep_assembly("kate", "s1", "main", assembly={}, frozen={}),
    "thaw": lambda r: r.thaw("kate", "s1"),
    "put": lambda r: r.queue.put("extract", {}, key="another"),
    "put again": lambda r: r.queue.put("extract", {}, key="k"),
    "take": lambda r: r.queue.take(["extract"], now=NOW, lease=LEASE, worker="w"),
    "take nothing": lambda r: r.queue.take(["dream"], now=NOW, lease=LEASE, worker="w"),
    "jobs": lambda r: r.queue.jobs(),
    "get": lambda r: r.queue.get(1),
    "holding": lambda r: r.queue.holding(["x"]),
    "counts": lambda r: r.queue.counts(),
    "usage add": lambda r: r.usage.add(spent(), turn="t2"),
    "usage last": lambda r: r.usage.last("kate", "s1"),
    "usage total": lambda r: r.usage.total(since=NOW, agent="kate"),
    "note": lambda r: r.audit.note(at=NOW, actor="k", action="a"),
    "events": lambda r: r.audit.events(after=0, action="write"),
    "recalls add": lambda r: r.recalls.add([recall(rank=n) for n in range(20)]),
    "recalls since": lambda r: r.recalls.since("kate", NOW),
    "remembered": lambda r: r.recalls.remembered("kate", tiers=["profile"], until=NOW),
    "facts get": lambda r: r.facts.get("f1"),
    "facts update": lambda r: r.facts.update(fact()),
    "facts find": lambda r: r.facts.find(key="t", states=["planned"]),
    "facts counts": lambda r: r.facts.counts(),
    "cursor": lambda r: r.facts.cursor("kate", "s1"),
    "advance": lambda r: r.facts.advance("kate", "s1", expect=5, to=6),
    "begin": lambda r: r.changes.begin(change()),
    "settle": lambda r: r.changes.settle(1, "done"),
    "changes list": lambda r: r.changes.list(path="p"),
    "propose": lambda r: r.proposals.add(proposal("another")),
    "decide": lambda r: r.proposals.decide(1, "approved", at=NOW, by="owner"),
    "proposals list": lambda r: r.proposals.list(),
    "dreams list": lambda r: r.dreams.list(),
    "dreams update": lambda r: r.dreams.update(replace(dream("k1"), id=1)),
    "promoted": lambda r: r.dreams.promoted("kate"),
    "key": lambda r: r.keys.get("k"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_one_round_trip(tenant: Tenant, verb: str) -> None:
    records = PostgresRecords(tenant, "desk")
    write_all(records)
    with trips(tenant) as taken:
        VERBS[verb](records)
    assert taken == [1]


def test_what_a_prepare_keeps_is_one_round_trip(tenant: Tenant) -> None:
    records = PostgresRecords(tenant, "desk")
    with trips(tenant) as taken, records.transaction():
        records.recalls.add([recall(rank=n) for n in range(20)])
        records.keep_assembly("kate", "s1", "main", assembly={}, frozen={})
    assert taken == [1]
    assert records.recalls.count("kate", NOW) == 20
    assert records.last_assembly("kate", "s1") == {}


@pytest.mark.parametrize(
    "verb",
    [
        lambda r: r.facts.add([fact(f"f{n}") for n in range(50)]),
        lambda r: r.dreams.plan(dream(*map(str, range(20))), after=0),
        lambda r: r.recalls.forget(["x"]),
        lambda r: r.forget(["x"]),
        lambda r: r.queue.purge(["x"]),
    ],
    ids=["facts", "plan", "forget recalls", "forget", "purge"],
)
def test_a_verb_that_locks_and_answers_is_two(tenant: Tenant, verb: Callable[[PostgresRecords], Any]) -> None:
    with trips(tenant) as taken:
        verb(PostgresRecords(tenant, "desk"))
    assert taken == [2]


# Plans


class Planned(Exception):
    """How the first statement of a call would be done."""


class Planning:
    """A tenant that does nothing, and says how it would."""

    def __init__(self, tenant: Tenant) -> None:
        self.name = tenant.name
        self._tenant = tenant

    def rows(self, sql: str, params: Any) -> list[tuple[Any, ...]]:
        raise Planned("\n".join(row[0] for row in self._tenant.rows(f"EXPLAIN {sql}", params)))

    def retried(self, work: Callable[[], Any]) -> Any:
        return work()


MANY = """
    INSERT INTO carrel.counters VALUES ('acme', 'desk', 'jobs', 4000);
    INSERT INTO carrel.jobs
    SELECT 'acme', 'desk', n, 'extract', n::text::bytea, '{}', 'done', 1, 0, '', '{}', 1, '',
        CASE WHEN n > 3990 THEN 0 END FROM numbers AS n;
    INSERT INTO carrel.facts
    SELECT 'acme', 'desk', n, ('f' || n)::bytea, 'kate', 'project', 'note', 't', ('k' || n)::bytea, 0,
        ('s' || n)::bytea, '[]', 'owner', '', '', '', 'written', '', 'workspace', 'p', '', ('l' || n)::bytea, '',
        '', 1, 0, n FROM numbers AS n;
    INSERT INTO carrel.audit
    SELECT 'acme', 'desk', n, n, 'kate', 'write', ('t' || n)::bytea, '', '{}' FROM numbers AS n;
    INSERT INTO carrel.usage
    SELECT 'acme', 'desk', n, 'kate', ('s' || n % 100)::bytea, n::text::bytea, 'm', n, 1, 1, 1, NULL, 'turn', 0
    FROM numbers AS n;
    INSERT INTO carrel.recalls
    SELECT 'acme', 'desk', n, ('a' || n % 100)::bytea, 's', n, 'q', 'r', 1, 0.5, 'tool' FROM numbers AS n;
    INSERT INTO carrel.changes
    SELECT 'acme', 'desk', n, n, 'k', 'append', 'workspace', ('p' || n % 100)::bytea, NULL, NULL, 0, '', 0, '', 0, '',
        '', '', CASE WHEN n % 100 = 0 THEN 'begun' ELSE 'done' END, 0, 'c', 0 FROM numbers AS n;
    INSERT INTO carrel.proposals
    SELECT 'acme', 'desk', n, n::text::bytea, n, 'kate', 'k', 'add', 'w', 'r', 'workspace', 'p', '', '', '', 'owner',
        '', '[]', '[]', CASE WHEN n % 100 = 0 THEN 'waiting' ELSE 'rejected' END, NULL, '' FROM numbers AS n;
    """

LOOKUPS: list[tuple[Callable[[PostgresRecords], Any], str, str]] = [
    (lambda r: r.queue.take(["extract"], now=NOW, lease=LEASE, worker="w"), "jobs_open", "due <= "),
    (lambda r: r.queue.put("extract", {}, key="k"), "jobs_once", "name_hash = "),
    (lambda r: r.facts.get("f7"), "facts_once", "id_hash = "),
    (lambda r: r.facts.find(key="k7"), "facts_by_key", "key_hash = "),
    (lambda r: r.facts.find(line="l7", path="p", agent="kate"), "facts_by_line", "line_hash = "),
    (lambda r: r.facts.find(session="s7", states=["written"]), "facts_by_session", "session_hash = "),
    (lambda r: r.facts.find(change=7), "facts_by_change", "change = "),
    (lambda r: r.audit.events(target="t7"), "audit_by_target", "target_hash = "),
    (lambda r: r.usage.last("kate", "s7"), "usage_by_session", "session_hash = "),
    (lambda r: r.recalls.since("a7", NOW), "recalls_by_time", "agent_hash = "),
    (lambda r: r.changes.list(path="p7"), "changes_by_path", "path_hash = "),
    (lambda r: r.changes.list(state="begun"), "changes_by_state", "state = "),
    (lambda r: r.proposals.list(["waiting"]), "proposals_by_state", "state = "),
]


@pytest.mark.parametrize("is_analysed", [True, False])
def test_a_lookup_is_led_by_its_index_in_spite_of_the_wall(database: str, is_analysed: bool) -> None:
    """What is not leakproof is no index condition behind row-level security; and a new table has no statistics."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute("CREATE TEMPORARY VIEW numbers AS SELECT generate_series(1, 4000)::bigint AS n")
        for statement in MANY.replace("FROM numbers AS n", "FROM (SELECT n FROM numbers) AS numbers").split(
            ";"
        ):
            owner.execute(statement)
        if is_analysed:
            owner.execute("ANALYZE")
    server = Postgres(database)
    for call, index, condition in LOOKUPS:
        with pytest.raises(Planned) as plan:
            call(PostgresRecords(Planning(server.tenant("acme")), "desk"))  # pyright: ignore[reportArgumentType]
        lines = str(plan.value).splitlines()
        led = [lines[at + 1 : at + 3] for at, line in enumerate(lines) if f" {index} " in f"{line} "]
        conditions = [line for after in led for line in after if "Index Cond" in line]
        assert any(condition in line for line in conditions), "\n".join(lines)
    server.close()
