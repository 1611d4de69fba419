"""Whether what kills and power cuts could do to a desk is seen there: held here on damage that is done by hand."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.torture.deeds import AT, FILED, Deeds
from tests.torture.desk import Desk

KINDS = (*FILED, "fact", "revoked", "usage", "jobs", "reviewed")


@pytest.fixture
def deeds(tmp_path: Path) -> Deeds:
    """A desk at which something of each kind was done, and a turn that waits for the worker."""
    deeds, said = Deeds(Desk(tmp_path, AT)), list[str]()
    deeds.work("r", said.append, KINDS, most=len(KINDS))
    with deeds.desk.open() as workspace:
        turn = {
            "role": "user",
            "content": "The berth r.x of the harbour was given away.",
            "message_id": "r.x",
        }
        workspace.record("facts", [turn, {"role": "assistant", "content": "Good.", "message_id": "a"}])
    deeds.heard([*said, "facts r.x"])
    return deeds


def records(deeds: Deeds) -> Path:
    return deeds.desk.root / ".carrel/state/records.db"


def lose(deeds: Deeds, sql: str) -> None:
    with closing(sqlite3.connect(records(deeds), isolation_level=None)) as database:
        database.execute(sql)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_sound_desk_is_found_to_be_so_once_the_worker_is_done(deeds: Deeds):
    assert deeds.wrong() == ["facts: r.x is lost"]
    deeds.settle()
    assert deeds.wrong() == []


def test_a_job_that_is_lost_is_told_of_by_what_it_would_have_done(deeds: Deeds):
    lose(deeds, "DELETE FROM jobs WHERE kind != 'torture'")
    deeds.settle()
    assert deeds.wrong() == ["facts: r.x is lost"]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("DELETE FROM jobs", "jobs in the records: r.9 is lost"),
        ("UPDATE keys SET revoked = NULL", "revoked in the records: r.7 is lost"),
        ("DELETE FROM usage", "usage in the records: r.8 is lost"),
        ("UPDATE proposals SET state = 'waiting'", "reviewed in the records: r.10 is lost"),
    ],
)
def test_a_record_that_is_lost_is_told_of(deeds: Deeds, sql: str, told: str):
    lose(deeds, sql)
    assert told in deeds.wrong()


def test_damage_of_the_records_is_told_of(deeds: Deeds):
    lose(deeds, "DELETE FROM jobs")
    with records(deeds).open("r+b") as file:
        file.seek(4096 * 20)
        file.write(b"\xff" * 4096)
    assert "records: SQLite finds damage" in deeds.wrong()


def test_damage_of_what_is_committed_is_told_of(deeds: Deeds):
    for path in (deeds.desk.root / ".git/objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"")
    assert "git finds damage in what is committed" in deeds.wrong()
