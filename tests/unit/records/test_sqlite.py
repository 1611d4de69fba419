import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Timer

import apsw
import pytest

from carrel.records.database import NewerFormat
from carrel.records.sqlite import SqliteRecords


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "records.db"


def keep(records, *, scope="main", assembly="sent", frozen="as it was", session="s1"):
    records.keep_assembly("kate", session, scope, assembly={"text": assembly}, frozen={"1": frozen})


def test_nothing_is_known_at_first():
    records = SqliteRecords()
    assert records.layout() is None
    assert records.last_assembly("kate", "s1") is None
    assert records.frozen("kate", "s1", "main") is None


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


def test_the_layout_may_be_remembered_anew():
    records = SqliteRecords()
    records.remember_layout("nexo")
    records.remember_layout("astra")
    assert records.layout() == "astra"


def test_the_first_to_freeze_a_session_wins_and_the_last_assembly_is_kept():
    records = SqliteRecords()
    keep(records, assembly="first", frozen="first")
    keep(records, assembly="second", frozen="second")
    assert records.frozen("kate", "s1", "main") == {"1": "first"}
    assert records.last_assembly("kate", "s1") == {"text": "second"}


def test_a_change_of_scope_replaces_what_is_frozen():
    records = SqliteRecords()
    keep(records, scope="main", frozen="for the owner")
    assert records.frozen("kate", "s1", "shared") is None
    keep(records, scope="shared", frozen="for all")
    assert records.frozen("kate", "s1", "shared") == {"1": "for all"}
    assert records.frozen("kate", "s1", "main") is None


def test_sessions_and_agents_are_kept_apart():
    records = SqliteRecords()
    keep(records, session="s1", frozen="one")
    keep(records, session="s2", frozen="two")
    assert records.frozen("kate", "s1", "main") == {"1": "one"}
    assert records.frozen("kate", "s2", "main") == {"1": "two"}
    assert records.frozen("ana", "s1", "main") is None


def test_thawing_ends_the_freeze_of_one_session_and_keeps_its_last_assembly():
    records = SqliteRecords()
    keep(records, session="s1")
    keep(records, session="s2")
    records.thaw("kate", "s1")
    assert records.frozen("kate", "s1", "main") is None
    assert records.last_assembly("kate", "s1") is not None
    assert records.frozen("kate", "s2", "main") is not None
    keep(records, session="s1", frozen="read again")
    assert records.frozen("kate", "s1", "main") == {"1": "read again"}


def test_text_that_is_not_unicode_survives():
    records = SqliteRecords()
    keep(records, frozen="a\udcffb\0c🐙")
    assert records.frozen("kate", "s1", "main") == {"1": "a\udcffb\0c🐙"}


def test_a_write_that_fails_leaves_neither_half():
    records = SqliteRecords()
    with pytest.raises(TypeError):
        records.keep_assembly("kate", "s1", "main", assembly={"text": "sent"}, frozen={"1": object()})
    assert records.last_assembly("kate", "s1") is None
    assert records.frozen("kate", "s1", "main") is None
    keep(records)  # and the next write is not caught in the failed one
    assert records.last_assembly("kate", "s1") == {"text": "sent"}


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
