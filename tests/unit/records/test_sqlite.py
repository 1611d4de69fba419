import json
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier, Timer

import apsw
import pytest

from carrel.records.changes import SPLICE_BYTES, Change, Splice
from carrel.records.content import RecordDamaged
from carrel.records.database import Database, DatabaseUnavailable, NewerFormat
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.records.recalls import RecallEvent
from carrel.records.sqlite import SqliteRecords
from carrel.records.sqlite.schema import MIGRATIONS
from carrel.records.usage import Spent

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LEASE = timedelta(minutes=5)

# Written as the first Carrel wrote it; this text is not to follow later changes of the code.
FORMAT_1 = """
    CREATE TABLE facts_of_workspace (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE assemblies (
        agent TEXT NOT NULL, session TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE frozen (
        agent TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 1;
    INSERT INTO facts_of_workspace VALUES ('layout', 'nexo');
    INSERT INTO assemblies VALUES ('kate', 's1', '{"text":"sent"}');
    INSERT INTO frozen VALUES ('kate', 's1', 'main', '{"1":"as it was"}');
    """

# As it was before calls were counted by Carrel too; only what a later format changes.
FORMAT_2 = """
    CREATE TABLE usage (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, session ANY NOT NULL, turn ANY NOT NULL,
        model ANY NOT NULL, at INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL,
        output INTEGER NOT NULL, cost REAL, purpose TEXT NOT NULL,
        UNIQUE (agent, session, turn)
    ) STRICT;
    CREATE TABLE recalls (
        id INTEGER PRIMARY KEY, agent ANY NOT NULL, session ANY NOT NULL, at INTEGER NOT NULL,
        query ANY NOT NULL, path ANY NOT NULL, line INTEGER NOT NULL, tier ANY NOT NULL,
        rank INTEGER NOT NULL, score REAL NOT NULL, text ANY NOT NULL, who TEXT NOT NULL
    ) STRICT;
    CREATE INDEX recalls_by_time ON recalls (agent, at);
    PRAGMA user_version = 2;
    INSERT INTO usage VALUES (1, 'kate', 's1', 't1', 'gpt-5', 1777032000000000, 120, 80, 7, 0.5, 'turn');
    """

# As it was before facts, changes and proposals; what was there by then, with a row of each.
FORMAT_3 = """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind ANY NOT NULL, key ANY NOT NULL, payload TEXT NOT NULL,
        state TEXT NOT NULL, attempts INTEGER NOT NULL, not_before INTEGER NOT NULL, error ANY NOT NULL,
        result TEXT NOT NULL, claim INTEGER NOT NULL, worker ANY NOT NULL, due INTEGER,
        UNIQUE (kind, key)
    ) STRICT;
    CREATE INDEX jobs_open ON jobs (id, due, kind) WHERE due IS NOT NULL;
    CREATE INDEX jobs_by_state ON jobs (state);
    CREATE INDEX usage_by_session ON usage (agent, session);
    CREATE INDEX usage_by_time ON usage (at);
    CREATE TABLE audit (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor ANY NOT NULL, action ANY NOT NULL,
        target ANY NOT NULL, session ANY NOT NULL, detail TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_by_action ON audit (action);
    CREATE INDEX audit_by_target ON audit (target);
    ALTER TABLE usage ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
    PRAGMA user_version = 3;
    INSERT INTO jobs VALUES
        (4, 'extract', 'k', '{"n":1}', 'waiting', 2, 1777032000000000, 'no', '{}', 2, 'ann', 1777032000000000);
    INSERT INTO usage VALUES (2, 'kate', 's1', 't2', 'gpt-5', 1777032000000000, 9, 0, 1, NULL, 'turn', 8);
    INSERT INTO audit VALUES (7, 1777032000000000, 'kate', 'write', X'6DEDB3BF', 's1', '{"bytes":3}');
    INSERT INTO recalls VALUES
        (1, 'kate', 's1', 1777032000000000, 'q', 'MEMORY.md', 1, 'profile', 1, 0.5, 't', 'tool'),
        (3, 'kate', 's1', 1777032000000000, 'q', 'MEMORY.md', 1, 'profile', 1, 0.5, 't', 'tool'),
        (4, 'ana', 's2', 1777032000000001, X'6DEDB3BF', X'6DEDB3BF', 2, 'journal', 3, 0.25, X'6DEDB3BF', 'chat');
    """


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "records.db"


def keep(records, *, scope="main", assembly="sent", frozen="as it was", session="s1"):
    records.keep_assembly("kate", session, scope, assembly={"text": assembly}, frozen={"1": frozen})


def test_everything_is_there_after_opening_again(path):
    records = SqliteRecords(path)
    records.remember_layout("nexo")
    keep(records)
    records.close()
    again = SqliteRecords(path)
    assert again.layout() == "nexo"
    assert again.last_assembly("kate", "s1") == {"text": "sent"}
    assert again.frozen("kate", "s1", "main") == {"1": "as it was"}
    again.close()


def test_what_was_written_is_there_without_closing(path):
    keep(SqliteRecords(path))
    assert SqliteRecords(path).last_assembly("kate", "s1") == {"text": "sent"}


def test_two_connections_see_each_other(path):
    one, two = SqliteRecords(path), SqliteRecords(path)
    keep(one, frozen="one")
    keep(two, frozen="two")
    assert one.frozen("kate", "s1", "main") == two.frozen("kate", "s1", "main") == {"1": "one"}
    two.thaw("kate", "s1")
    assert one.frozen("kate", "s1", "main") is None


def at_once(action, many=8):
    """Run an action in several threads at the same moment; the first error of any is raised."""
    ready = Barrier(many, timeout=30)

    def run(number: int):
        ready.wait()
        return action(number)

    with ThreadPoolExecutor(many) as threads:
        return list(threads.map(run, range(many)))


def test_of_many_that_freeze_at_once_all_read_the_same_afterwards(path):
    connections = [SqliteRecords(path) for _ in range(8)]

    def freeze(number: int) -> str:
        keep(connections[number], frozen=f"writer {number}")
        return json.dumps(connections[number].frozen("kate", "s1", "main"))

    assert len(set(at_once(freeze))) == 1


def test_opening_waits_while_another_process_makes_the_file(path):
    path.parent.mkdir()
    other = apsw.Connection(str(path))
    other.set_busy_timeout(5_000)  # whoever waits looks at the file again and again, and may be in its way
    list(other.execute("BEGIN IMMEDIATE; CREATE TABLE being_made (x)"))
    Timer(0.2, lambda: list(other.execute("COMMIT"))).start()
    records = SqliteRecords(path)
    keep(records)
    assert records.frozen("kate", "s1", "main") == {"1": "as it was"}


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_a_newer_carrel_is_refused_and_not_touched(path, mode):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(
        connection.execute(f"PRAGMA journal_mode = {mode}; CREATE TABLE later (x); PRAGMA user_version = 99")
    )
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerFormat) as refusal:
        SqliteRecords(path)
    assert refusal.value.code == "newer_format"
    assert "99" in refusal.value.message
    assert refusal.value.hint
    assert path.read_bytes() == before


def spent(**changes):
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


def recalled():
    return RecallEvent(
        agent="kate", session="s1", at=NOW, query="q", path="MEMORY.md", line=1, tier="profile", rank=1,
        score=0.5, text="t", who="tool",
    )  # fmt: skip


def write_all(records):
    records.remember_layout("astra")
    keep(records)
    records.queue.put("extract", {}, key="k")
    records.usage.add(spent(), turn="t1")
    records.audit.note(at=NOW, actor="kate", action="write")
    records.recalls.add([recalled()])
    records.facts.add([fact("f1")])
    records.facts.advance("kate", "s1", expect=0, to=5)
    records.changes.settle(records.changes.begin(change()).id, "done")
    records.proposals.add(proposal("k1"))


def fact(name, **changes):
    return Fact(
        id=name, agent="kate", layer="project", kind="note", at=NOW, **({"text": "t", "key": "t"} | changes)
    )


def change(splice=None, **changes):
    first = {"at": NOW, "actor": "kate", "action": "append", "path": "p", "before": None, "after": "d"}
    return Change(splice=splice or Splice(0, b"", b"- t\n"), **(first | changes))


def proposal(key, **changes):
    return Proposal(
        key=key, at=NOW, agent="kate", actor="kate", action="add", why="w", reason="r", path="p", **changes
    )


def seen(records):
    return (
        records.layout(),
        records.last_assembly("kate", "s1"),
        records.queue.jobs(),
        records.usage.total(),
        records.audit.events(),
        records.recalls.since("kate", NOW),
        records.facts.find(),
        records.facts.cursor("kate", "s1"),
        records.changes.list(),
        records.proposals.list(),
    )


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_the_first_format_is_brought_up_to_date(path, mode):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute(f"PRAGMA journal_mode = {mode}; {FORMAT_1}"))
    connection.close()
    records = SqliteRecords(path)
    assert records.layout() == "nexo"
    assert records.last_assembly("kate", "s1") == {"text": "sent"}
    assert records.frozen("kate", "s1", "main") == {"1": "as it was"}
    write_all(records)
    before = seen(records)
    records.close()
    again = SqliteRecords(path)
    assert seen(again) == before
    assert again.frozen("kate", "s1", "main") == {"1": "as it was"}
    again.close()


def test_calls_that_were_reported_before_they_were_counted_keep_their_account(path):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute(f"{FORMAT_1}; {FORMAT_2}"))
    connection.close()
    records = SqliteRecords(path)
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert (last.at, last.input, last.cost, last.counted) == (NOW, 120, 0.5, 0)
    later = Spent(agent="kate", session="s1", model="gpt-5", at=NOW, input=9, cached=0, output=1, counted=8)
    records.usage.add(later, turn="t2")
    records.close()
    again = SqliteRecords(path)
    assert again.usage.last("kate", "s1") == later
    assert again.usage.total().input == 129
    again.close()


def test_the_turns_of_a_session_come_in_their_order_and_without_background_work(path):
    records = SqliteRecords(path)
    for number in range(5):
        records.usage.add(spent(input=number), turn=f"t{number}")
    records.usage.add(spent(input=90, purpose="background"), turn="b1")
    records.usage.add(spent(input=91, session="s2"), turn="t9")
    assert [each.input for each in records.usage.turns("kate", "s1", limit=3)] == [2, 3, 4]
    assert records.usage.turns("kate", "s3", limit=3) == []
    records.close()


def test_a_change_of_before_lines_were_counted_has_none(path):
    path.parent.mkdir()
    old = Database(path, MIGRATIONS[:5], durable=True)
    old.rows(
        "INSERT INTO changes VALUES (3, 1777032000000000, 'owner', 'append', 'workspace', 'a.md', 'd0', 'd1', "
        "40, x'', 0, x'61', 1, '', '', '', 'done', 0, '')"
    )
    old.close()
    records = SqliteRecords(path)
    assert records.changes.get(3).splice == Splice(40, b"", b"a", 0)
    records.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_file_of_before_facts_keeps_every_row(path, mode):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute(f"PRAGMA journal_mode = {mode}; {FORMAT_1}; {FORMAT_2}; {FORMAT_3}"))
    kept = ("facts_of_workspace", "assemblies", "frozen", "jobs", "usage", "audit")
    before = {table: list(connection.execute(f"SELECT * FROM {table}")) for table in kept}
    assert all(before.values())
    connection.close()
    records = SqliteRecords(path)
    assert {table: records._database.rows(f"SELECT * FROM {table}") for table in kept} == before
    assert records.audit.events()[0].target == "m\udcff"
    assert records.usage.total().input == 129
    assert records.recalls.since("kate", NOW) == [recalled()] * 2
    (odd,) = records.recalls.since("ana", NOW)
    assert (odd.query, odd.path, odd.text, odd.line, odd.rank) == ("m\udcff", "m\udcff", "m\udcff", 2, 3)
    assert (records.facts.find(), records.changes.list(), records.proposals.list()) == ([], [], [])
    write_all(records)
    after = seen(records)
    records.close()
    again = SqliteRecords(path)
    assert seen(again) == after
    assert again._database.rows("PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert again._database.rows("PRAGMA integrity_check") == [("ok",)]
    again.close()


def test_a_file_that_was_brought_up_to_date_is_made_like_a_new_one(path):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute(FORMAT_1))
    connection.close()
    tables = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
    assert SqliteRecords(path)._database.rows(tables) == SqliteRecords()._database.rows(tables)


def test_many_that_bring_a_file_up_to_date_at_once_do_it_once(path):
    path.parent.mkdir()
    connection = apsw.Connection(str(path))
    list(connection.execute(FORMAT_1))
    connection.close()

    def opened(number: int) -> str:
        records = SqliteRecords(path)
        records.queue.put("extract", {}, key=str(number))
        return records.layout()

    assert at_once(opened) == ["nexo"] * 8
    assert len(SqliteRecords(path).queue.jobs()) == 8


def test_everything_written_is_seen_by_others_without_closing(path):
    one, two = SqliteRecords(path), SqliteRecords(path)
    write_all(one)
    assert seen(one) == seen(two)
    assert all(seen(two))


def test_of_many_connections_one_has_each_job(path):
    connections = [SqliteRecords(path) for _ in range(4)]
    with connections[0].transaction():
        for number in range(30):
            connections[0].queue.put("extract", {}, key=str(number))

    def work(number: int) -> list[str]:
        queue, keys = connections[number].queue, []
        while (job := queue.take(["extract"], now=NOW, lease=LEASE, worker=str(number))) is not None:
            queue.finish(job)
            keys.append(job.key)
        return keys

    done = [key for keys in at_once(work, 4) for key in keys]
    assert sorted(done, key=int) == [str(number) for number in range(30)]


def test_many_connections_that_put_the_same_put_it_once(path):
    connections = [SqliteRecords(path) for _ in range(4)]

    def put(number: int) -> tuple[int, ...]:
        return tuple(connections[number].queue.put("extract", {}, key=str(key)).id for key in range(10))

    assert len(set(at_once(put, 4))) == 1
    assert connections[0].queue.counts()["waiting"] == 10


def test_what_a_worker_begins_is_seen_by_nobody_before_it_is_kept(path):
    one, two = SqliteRecords(path), SqliteRecords(path)
    with one.transaction():
        write_all(one)
        assert two.queue.jobs() == []
        assert two.queue.take(["extract"], now=NOW, lease=LEASE, worker="two") is None
    assert len(two.queue.jobs()) == 1


@pytest.mark.parametrize("sql", ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"])
def test_not_even_a_statement_of_ours_changes_the_audit(sql):
    records = SqliteRecords()
    event = records.audit.note(at=NOW, actor="kate", action="write")
    with pytest.raises(DatabaseUnavailable, match="only added to"):
        records._database.rows(sql)
    assert records.audit.events() == [event]


def add_turns(records, many):
    with records.transaction():
        for number in range(many):
            records.usage.add(spent(), turn=f"{number}")


WRITES = {
    "layout": lambda records: records.remember_layout("x" * 50_000),
    "assembly": lambda records: keep(records, assembly="x" * 50_000),
    "queue": lambda records: records.queue.put("extract", {"text": "x" * 50_000}, key="other"),
    "finish": lambda records: records.queue.finish(records.queue.jobs()[0], {"text": "x" * 50_000}),
    "usage": lambda records: add_turns(records, 1000),
    "audit": lambda records: records.audit.note(at=NOW, actor="k", action="a", detail={"text": "x" * 50_000}),
    "recalls": lambda records: records.recalls.add([recalled()] * 1000),
    "facts": lambda records: records.facts.add(fact(f"{n}", text="x" * 1000) for n in range(50)),
    "fact": lambda records: records.facts.update(fact("f1", text="x" * 20_000, key="y" * 20_000)),
    "changes": lambda records: records.changes.begin(
        change(Splice(0, b"", random.Random(1).randbytes(50_000)))
    ),
    "proposals": lambda records: records.proposals.add(proposal("other", new="x" * 50_000)),
}


@pytest.mark.parametrize("what", sorted(WRITES))
def test_a_full_disk_is_a_typed_error_and_what_was_acknowledged_stays(path, what):
    records = SqliteRecords(path)
    write_all(records)
    records.queue.take(["extract"], now=NOW, lease=LEASE, worker="ann")
    before = seen(records)
    (pages,) = records._database.rows("PRAGMA page_count")[0]
    records._database.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DatabaseUnavailable) as failure:
        WRITES[what](records)
    assert failure.value.code == "database_unavailable"
    assert failure.value.hint
    assert seen(records) == before
    records._database.rows(f"PRAGMA max_page_count = {1 << 30}")
    WRITES[what](records)
    assert seen(records) != before
    records.close()


def test_a_large_change_of_prose_takes_a_part_of_its_room(path):
    records = SqliteRecords(path)
    prose = b"".join(b"- Ana likes the number %d.\n" % number for number in range(20_000))
    begun = records.changes.begin(change(Splice(0, prose, b"")))
    records.close()
    assert path.stat().st_size < len(prose) / 2
    assert SqliteRecords(path).changes.get(begun.id).splice.old == prose


@pytest.mark.parametrize(
    "damage",
    [
        "old = X'00'",
        "old = substr(old, 1, length(old) - 5)",
        "old_size = old_size + 1",
        "old_size = old_size - 1",
        f"old_size = {SPLICE_BYTES * 1000}",
    ],
)
def test_a_damaged_splice_is_a_typed_error_and_the_others_are_not_touched(damage):
    records = SqliteRecords()
    whole = records.changes.begin(change())
    records.changes.begin(change(Splice(0, b"\0" * 100_000, b"")))
    records._database.rows(f"UPDATE changes SET {damage} WHERE id = 2")
    with pytest.raises(DatabaseUnavailable, match="Change 2 is damaged") as failure:
        records.changes.get(2)
    assert failure.value.hint
    with pytest.raises(DatabaseUnavailable):
        records.changes.list()
    assert records.changes.list(before=2) == [whole]


ONE_OF_MANY = {
    "key": lambda records: records.facts.find(
        agent="kate", key="k7", states=["planned", "written"], path="p"
    ),
    "line": lambda records: records.facts.find(store="workspace", path="p", line="- 9", states=["written"]),
    "session": lambda records: records.facts.find(agent="kate", session="s7"),
    "change": lambda records: records.facts.find(change=9, states=["written"]),
    "subject": lambda records: records.facts.find(agent="kate", subject="b9", states=["written"]),
    "state": lambda records: records.facts.find(states=["planned"]),
    "agent and state": lambda records: records.facts.find(agent="kate", states=["planned"]),
    "first page": lambda records: records.facts.find(agent="kate", states=["written", "waiting"], limit=1),
    "last page": lambda records: records.facts.find(agent="kate", path="p", after="1998"),
    "begun": lambda records: records.changes.list(state="begun"),
    "uncommitted": lambda records: records.changes.list(state="done", committed=False),
    "path": lambda records: records.changes.list(path="p9", state="done"),
    "waiting": lambda records: records.proposals.list(agent="kate"),
}


@pytest.fixture(scope="module")
def many():
    """Two thousand of each kind, written, committed and decided but for one."""
    records = SqliteRecords()
    with records.transaction():
        for n in range(2000):
            one = n == 7
            state = "planned" if one else "written"
            names = {"key": f"k{n}", "line": f"- {n}", "session": f"s{n}", "subject": f"b{n}"}
            records.facts.add([fact(f"{n}", state=state, path="p", change=n, **names)])
            begun = records.changes.begin(change(path=f"p{n}", state="begun" if n == 8 else "done"))
            if not one:
                records.changes.keep_commit(begun.id, "c")
            made = records.proposals.add(proposal(f"{n}"))
            if not one:
                records.proposals.decide(made.id, "approved", at=NOW, by="owner")
    return records


@pytest.mark.parametrize("what", sorted(ONE_OF_MANY))
def test_what_is_asked_of_every_fact_does_not_look_at_all_of_them(many, what):
    steps = []
    many._database._connection.set_progress_handler(lambda: bool(steps.append(1)), 100)
    found = ONE_OF_MANY[what](many)
    many._database._connection.set_progress_handler(None)
    assert len(found) == 1
    assert len(steps) < 10


READ_ONLY = """
import sys
from pathlib import Path
from carrel.errors import CarrelError
from carrel.records.sqlite import SqliteRecords
try:
    records = SqliteRecords(Path(sys.argv[1]))
    records.queue.put("extract", {}, key="other")
except CarrelError as error:
    print(error.code, bool(error.hint))
"""


@pytest.mark.parametrize("running", [False, True], ids=["at rest", "in use"])
def test_a_file_that_may_not_be_written_is_a_typed_error(path, process, running):
    records = SqliteRecords(path)
    write_all(records)
    before = seen(records)
    if not running:
        records.close()
    for each in path.parent.iterdir():
        each.chmod(0o444)
    path.parent.chmod(0o555)
    outcome = process(path, python=("-c", READ_ONLY), privileged=False)
    assert outcome.warnings == ""
    assert outcome.text == "database_unavailable True\n"
    path.parent.chmod(0o755)
    for each in path.parent.iterdir():
        each.chmod(0o644)
    assert seen(SqliteRecords(path)) == before


DAMAGED = {
    "job": ("UPDATE jobs SET payload = '{\"ta'", lambda records: records.queue.again(1)),
    "job that is a list": ("UPDATE jobs SET result = '[1]'", lambda records: records.queue.again(1)),
    "event": (
        "INSERT INTO audit (at, actor, action, target, session, detail) VALUES (0, 'a', 'b', '', '', '{')",
        lambda records: records.audit.events(),
    ),
    "fact": ("UPDATE facts SET evidence = '[\"m1'", lambda records: records.facts.find()),
    "text": ("UPDATE facts SET text = x'ffff'", lambda records: records.facts.find()),
    "moment": (f"UPDATE facts SET at = {2**62}", lambda records: records.facts.find()),
    "frozen": ("UPDATE frozen SET payload = '{\"0'", lambda records: records.kept("kate", "s1", "main")),
    "sent": ("UPDATE assemblies SET payload = '7'", lambda records: records.last_assembly("kate", "s1")),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_record_that_nobody_wrote_is_a_typed_error(what):
    damage, read = DAMAGED[what]
    records = SqliteRecords()
    records.queue.put("extract", {"task": "x"}, key="k")
    records.audit.note(at=NOW, actor="kate", action="did")
    records.facts.add([fact("f1")])
    records.keep_assembly("kate", "s1", "main", assembly={"rows": []}, frozen={"0": {}})
    assert read(records)
    records._database.rows(damage)
    with pytest.raises(RecordDamaged) as failure:
        read(records)
    assert (failure.value.code, bool(failure.value.hint)) == ("record_damaged", True)
