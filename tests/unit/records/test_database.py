import shutil

import apsw
import pytest

from carrel.errors import Unavailable
from carrel.records.database import Database, DatabaseUnavailable

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
