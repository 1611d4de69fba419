import os
import shutil
from pathlib import Path

import apsw
import pytest

from carrel.errors import Unavailable
from carrel.records.database import Database, DatabaseUnavailable, NewerFormat

FIRST = "CREATE TABLE one (x INTEGER) STRICT"
SECOND = "CREATE TABLE two (y INTEGER) STRICT; INSERT INTO two VALUES (7)"


def tables(database: Database) -> set[str]:
    return {row[0] for row in database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def test_no_path_is_a_database_in_memory():
    database = Database(None, (FIRST,), durable=True)
    database.rows("INSERT INTO one VALUES (?)", (3,))
    assert database.rows("SELECT x FROM one") == [(3,)]


def test_its_directory_is_made_for_its_owner_alone(tmp_path):
    Database(tmp_path / "a" / "b.db", (FIRST,), durable=True).close()
    assert (tmp_path / "a").stat().st_mode & 0o077 == 0


def test_migrations_run_once_each_and_in_order(tmp_path):
    path = tmp_path / "x.db"
    old = Database(path, (FIRST,), durable=True)
    old.rows("INSERT INTO one VALUES (1)")
    old.close()
    new = Database(path, (FIRST, SECOND), durable=True)
    assert tables(new) == {"one", "two"}
    assert new.rows("SELECT * FROM one") == [(1,)]
    new.close()
    again = Database(path, (FIRST, SECOND), durable=True)
    assert again.rows("SELECT * FROM two") == [(7,)]
    again.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "x.db"
    Database(path, (FIRST,), durable=True).close()
    with pytest.raises(Unavailable):
        Database(path, (FIRST, "CREATE TABLE two (y); NONSENSE"), durable=True)
    database = Database(path, (FIRST,), durable=True)
    assert tables(database) == {"one"}
    database.close()


def test_a_transaction_is_kept_whole_or_not_at_all():
    database = Database(None, (FIRST,), durable=True)
    with database.transaction():
        database.rows("INSERT INTO one VALUES (1)")

    def change_and_fail() -> None:
        with database.transaction():
            database.rows("INSERT INTO one VALUES (2)")
            raise KeyError

    with pytest.raises(KeyError):
        change_and_fail()
    assert database.rows("SELECT x FROM one") == [(1,)]


def test_a_wrong_statement_is_a_typed_error():
    with pytest.raises(DatabaseUnavailable):
        Database(None, (FIRST,), durable=True).rows("SELECT nothing FROM nowhere")


def test_a_place_where_no_file_can_be_is_a_typed_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "x.db", tmp_path):
        with pytest.raises(DatabaseUnavailable):
            Database(path, (FIRST,), durable=True)


def test_damage_to_what_must_last_is_an_error_and_nothing_is_moved(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database, but long enough to be one" * 100)
    before = path.read_bytes()
    with pytest.raises(DatabaseUnavailable):
        Database(path, (FIRST,), durable=True)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.db"]


def test_damage_to_a_cache_sets_it_aside_and_begins_anew(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database, but long enough to be one" * 100)
    database = Database(path, (FIRST,), durable=False)
    assert tables(database) == {"one"}
    assert (tmp_path / "x.db.damaged").read_bytes().startswith(b"not a database")
    database.close()


def test_a_cache_that_cannot_be_set_aside_is_a_typed_error(tmp_path):
    path = tmp_path / "x.db"
    path.write_bytes(b"not a database, but long enough to be one" * 100)
    (tmp_path / "x.db.damaged" / "in the way").mkdir(parents=True)
    with pytest.raises(Unavailable):
        Database(path, (FIRST,), durable=False)


def test_a_cache_that_was_killed_and_then_damaged_begins_anew(tmp_path):
    """What a killed process left in the log belongs to the damaged file, not to its successor."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    running = apsw.Connection(str(there / "x.db"))
    list(running.execute(f"PRAGMA journal_mode = WAL; {FIRST}; PRAGMA user_version = 1"))
    list(running.execute("INSERT INTO one VALUES (1)"))
    shutil.copytree(there, here)
    running.close()
    with (here / "x.db").open("r+b") as file:
        file.write(b"damaged" * 20)
    database = Database(here / "x.db", (FIRST,), durable=False)
    database.rows("INSERT INTO one VALUES (2)")
    assert database.rows("PRAGMA integrity_check") == [("ok",)]
    database.close()


@pytest.mark.parametrize("link", ["own", "own/cache", "own/cache/x.db"])
def test_no_link_below_a_directory_that_others_fill_is_followed(tmp_path, link):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir()
    (inside / link).parent.mkdir(parents=True)
    (inside / link).symlink_to(outside / "x.db" if link.endswith("db") else outside)
    for durable in (True, False):
        with pytest.raises(DatabaseUnavailable, match=link):
            Database(inside / "own/cache/x.db", (FIRST,), durable=durable, inside=inside)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_no_link_in_the_place_of_a_log_is_followed(tmp_path, suffix):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir()
    inside.mkdir()
    (inside / f"x.db{suffix}").symlink_to(outside / "theirs")
    with pytest.raises(DatabaseUnavailable):
        Database(inside / "x.db", (FIRST,), durable=True, inside=inside)
    assert list(outside.iterdir()) == []


def test_the_directory_itself_may_be_reached_by_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    database = Database(tmp_path / "link/own/x.db", (FIRST,), durable=True, inside=tmp_path / "link")
    assert tables(database) == {"one"}
    database.close()


def test_a_pipe_in_the_place_of_a_database_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.db")
    with pytest.raises(DatabaseUnavailable):
        Database(tmp_path / "x.db", (FIRST,), durable=True, inside=tmp_path)


def test_a_name_that_is_no_text_can_be_a_database(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 %41?#")
    path = Path(folder) / "x.db"
    database = Database(path, (FIRST,), durable=True)
    database.rows("INSERT INTO one VALUES (1)")
    database.close()
    assert path.is_file()
    assert Database(path, (FIRST,), durable=True).rows("SELECT * FROM one") == [(1,)]


def test_what_a_newer_carrel_left_in_the_log_stays_there(tmp_path):
    """Whoever closes a database last moves its log into it, unless told not to."""
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    running = apsw.Connection(str(there / "x.db"))
    list(running.execute(f"PRAGMA journal_mode = WAL; {FIRST}; PRAGMA user_version = 99"))
    list(running.execute("INSERT INTO one VALUES (1)"))
    shutil.copytree(there, here)
    running.close()
    before = {path.name: path.read_bytes() for path in here.iterdir() if not path.name.endswith("-shm")}
    with pytest.raises(NewerFormat):
        Database(here / "x.db", (FIRST,), durable=True)
    after = {path.name: path.read_bytes() for path in here.iterdir() if not path.name.endswith("-shm")}
    assert after == before
    assert len(before["x.db-wal"]) > 0


def test_a_cache_whose_damage_shows_late_is_begun_anew_by_the_next_one(tmp_path):
    path = tmp_path / "x.db"
    database = Database(path, (FIRST,), durable=False)
    with database.transaction():
        for number in range(10_000):
            database.rows("INSERT INTO one VALUES (?)", (number,))
    database.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    damaged = Database(path, (FIRST,), durable=False)
    with pytest.raises(DatabaseUnavailable):
        damaged.rows("SELECT sum(x) FROM one")
    with pytest.raises(DatabaseUnavailable):
        damaged.rows("SELECT 1")
    damaged.close()
    anew = Database(path, (FIRST,), durable=False)
    assert anew.rows("SELECT count(*) FROM one") == [(0,)]
    anew.close()


def test_a_commit_that_fails_leaves_the_next_transaction_free(tmp_path):
    path = tmp_path / "x.db"
    database = Database(path, (FIRST, "CREATE TABLE child (x REFERENCES parent (x) DEFERRABLE INITIALLY DEFERRED); CREATE TABLE parent (x PRIMARY KEY)"), durable=True)  # fmt: skip
    database.rows("PRAGMA foreign_keys = ON")
    with pytest.raises(DatabaseUnavailable), database.transaction():
        database.rows("INSERT INTO child VALUES (1)")
    with database.transaction():
        database.rows("INSERT INTO one VALUES (1)")
    assert database.rows("SELECT x FROM one") == [(1,)]
    database.close()
