import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier, Event, Thread

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


def add(database: Database, *numbers: int, fail: bool = False) -> None:
    with database.transaction():
        for number in numbers:
            database.rows("INSERT INTO one VALUES (?)", (number,))
        if fail:
            raise KeyError


def numbers_in(database: Database) -> list[int]:
    return [row[0] for row in database.rows("SELECT x FROM one ORDER BY rowid")]


def test_a_transaction_inside_another_is_undone_alone_and_kept_with_the_whole(tmp_path):
    path = tmp_path / "x.db"
    database, other = (Database(path, (FIRST,), durable=True) for _ in range(2))
    with database.transaction():
        add(database, 1)
        with pytest.raises(KeyError):
            add(database, 2, fail=True)
        with database.transaction():
            add(database, 3)
            with pytest.raises(KeyError):
                add(database, 4, fail=True)
        assert numbers_in(other) == []
    assert numbers_in(other) == [1, 3]
    database.close()
    other.close()


@pytest.mark.parametrize("path", [None, "x.db"])
def test_threads_that_share_a_database_do_not_get_into_each_others_transactions(tmp_path, path):
    database = Database(path and tmp_path / path, (FIRST,), durable=False)
    ready = Barrier(8, timeout=30)

    def work(number: int) -> None:
        ready.wait()
        for step in range(20):
            first = (number * 20 + step) * 2
            if step % 4 == 0:
                with pytest.raises(KeyError):
                    add(database, first, first + 1, fail=True)
            else:
                add(database, first, first + 1)
            numbers_in(database)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    found = numbers_in(database)
    assert len(found) == 8 * 15 * 2
    assert found[1::2] == [number + 1 for number in found[::2]]
    database.close()


def test_a_thread_waits_until_the_transaction_of_another_is_over():
    database = Database(None, (FIRST,), durable=True)
    begun, done = Event(), Event()

    def write() -> None:
        begun.wait(30)
        add(database, 2)
        done.set()

    thread = Thread(target=write)
    thread.start()
    with database.transaction():
        begun.set()
        assert not done.wait(0.1)
        add(database, 1)
    thread.join(30)
    assert done.is_set()
    assert numbers_in(database) == [1, 2]


FORKED = """
import os, sys
from pathlib import Path
from threading import Event, Thread
from carrel.errors import Unavailable
from carrel.records.database import Database

database = Database(Path(sys.argv[1]), ("CREATE TABLE one (x INTEGER) STRICT",), durable=True)
held, over = Event(), Event()

def hold():
    with database.transaction():
        database.rows("INSERT INTO one VALUES (1)")
        held.set()
        over.wait()

thread = Thread(target=hold)
thread.start()
held.wait()
child = os.fork()  # while a thread, which the child will not have, holds the lock
if not child:
    said = []
    for use in (lambda: database.rows("SELECT 1"), database.transaction().__enter__, database.check):
        try:
            use()
        except Unavailable as error:
            said.append(f"{error.code} {bool(error.hint)}")
    database.close()
    print(said, flush=True)
    os._exit(0)
os.waitpid(child, 0)
over.set()
thread.join()
print(database.rows("SELECT x FROM one"))
"""


def test_a_forked_process_is_kept_away_and_its_parent_goes_on(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "x.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    said, kept = done.stdout.splitlines()
    assert said == str(["database_unavailable True"] * 3)
    assert kept == "[(1,)]"


@contextmanager
def no_more_room(database: Database):
    (pages,) = database.rows("PRAGMA page_count")[0]
    database.rows(f"PRAGMA max_page_count = {pages}")
    yield
    database.rows(f"PRAGMA max_page_count = {1 << 30}")


@pytest.mark.parametrize("path", [None, "x.db"])
def test_a_disk_without_room_is_a_typed_error_and_what_was_kept_stays(tmp_path, path):
    database = Database(path and tmp_path / path, ("CREATE TABLE one (x ANY)",), durable=True)
    database.rows("INSERT INTO one VALUES ('kept')")
    with no_more_room(database), pytest.raises(DatabaseUnavailable, match="full"):
        database.rows("INSERT INTO one VALUES (?)", ("x" * 100_000,))
    assert database.rows("SELECT x FROM one") == [("kept",)]
    database.rows("INSERT INTO one VALUES (?)", ("x" * 100_000,))
    assert database.rows("SELECT count(*) FROM one") == [(2,)]
    database.close()


def test_a_transaction_that_the_disk_undid_does_not_go_on_by_halves():
    """SQLite may undo all of it by itself; whoever does not notice would keep the rest, piece by piece."""
    database = Database(None, (FIRST,), durable=True)

    def go_on() -> None:
        with database.transaction():
            add(database, 1)
            database.rows("ROLLBACK")  # as a full disk does
            with pytest.raises(DatabaseUnavailable):
                database.rows("INSERT INTO one VALUES (2)")
            with pytest.raises(DatabaseUnavailable):
                add(database, 3)

    with pytest.raises(DatabaseUnavailable):
        go_on()
    assert numbers_in(database) == []
    add(database, 4)
    assert numbers_in(database) == [4]


def test_a_closed_database_is_a_typed_error():
    database = Database(None, (FIRST,), durable=True)
    database.close()
    database.close()
    with pytest.raises(DatabaseUnavailable):
        database.rows("SELECT 1")
    with pytest.raises(DatabaseUnavailable):
        add(database, 1)


def test_damage_that_shows_inside_a_transaction_is_a_typed_error(tmp_path):
    path = tmp_path / "x.db"
    database = Database(path, (FIRST,), durable=False)
    add(database, *range(10_000))
    database.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    damaged = Database(path, (FIRST,), durable=False)
    with pytest.raises(DatabaseUnavailable, match="malformed"), damaged.transaction():
        damaged.rows("SELECT sum(x) FROM one")
    assert (tmp_path / "x.db.damaged").exists()


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("odd", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("absent")])
def test_what_is_no_file_among_those_of_a_database_is_never_opened(tmp_path, suffix, odd):
    path = tmp_path / "x.db"
    Database(path, (FIRST,), durable=True).close()
    if not suffix:
        path.unlink()
    odd(tmp_path / f"x.db{suffix}")
    signal.alarm(10)
    with pytest.raises(DatabaseUnavailable, match=f"x.db{suffix} is a link, or no regular file"):
        Database(path, (FIRST,), durable=True, inside=tmp_path)
    signal.alarm(0)


SPOILT_TEXT = "CREATE TABLE said (what TEXT); INSERT INTO said VALUES (CAST(x'ff' AS TEXT))"


def test_a_text_that_is_none_is_damage_and_a_typed_error(tmp_path):
    database = Database(tmp_path / "x.db", (SPOILT_TEXT,), durable=True)
    with pytest.raises(DatabaseUnavailable) as failure:
        database.rows("SELECT what FROM said")
    assert "restore" in failure.value.hint
    database.close()
    assert [each.name for each in tmp_path.iterdir()] == ["x.db"]


def test_a_cache_with_a_text_that_is_none_is_set_aside(tmp_path):
    database = Database(tmp_path / "x.db", (SPOILT_TEXT,), durable=False)
    with pytest.raises(DatabaseUnavailable):
        database.rows("SELECT what FROM said")
    assert [each.name for each in tmp_path.iterdir()] == ["x.db.damaged"]


def test_a_check_finds_damage_where_nobody_reads(tmp_path):
    path = tmp_path / "x.db"
    database = Database(path, (FIRST, SECOND), durable=True)
    database.check()
    database.rows("INSERT INTO two VALUES (8)")
    (page,) = database.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'two'")[0]
    database.close()
    spoilt = bytearray(path.read_bytes())
    spoilt[(page - 1) * 4096 : (page - 1) * 4096 + 200] = b"\xff" * 200
    path.write_bytes(spoilt)
    database = Database(path, (FIRST, SECOND), durable=True)
    assert database.rows("SELECT x FROM one") == []
    with pytest.raises(DatabaseUnavailable) as failure:
        database.check()
    assert "restore" in failure.value.hint
    database.close()


def content_of(folder: Path) -> dict[str, bytes]:
    """Return what all files hold but the one in which readers leave marks while they read."""
    return {each.name: each.read_bytes() for each in folder.iterdir() if not each.name.endswith("-shm")}


@pytest.mark.parametrize("name", ["x.db", os.fsdecode(b"caf\xe9 %41?#.db")])
def test_a_check_waits_for_no_thread_and_keeps_none_waiting(tmp_path, name):
    database = Database(tmp_path / name, (FIRST,), durable=True, inside=tmp_path)
    add(database, *range(10_000))
    before = content_of(tmp_path)
    checking = Thread(target=database.check, daemon=True)
    with database.transaction():
        checking.start()
        checking.join(20)
        assert not checking.is_alive()
    assert content_of(tmp_path) == before
    assert len(numbers_in(database)) == 10_000
    database.close()


def hot_journal(folder: Path) -> bytes:
    """Return what somebody who was killed in the midst of a write to another database left behind."""
    with closing(apsw.Connection(str(folder / "other.db"))) as other:
        other.execute("CREATE TABLE one (x); INSERT INTO one VALUES (1); PRAGMA cache_size = 1; BEGIN")
        for _ in range(300):
            other.execute("INSERT INTO one VALUES (randomblob(900))")
        return (folder / "other.db-journal").read_bytes()


def test_a_check_plays_no_journal_that_appeared_since(tmp_path):
    inside = tmp_path / "inside"
    database = Database(inside / "x.db", (FIRST,), durable=True, inside=inside)
    add(database, 1)
    (inside / "x.db-journal").write_bytes(hot_journal(tmp_path))
    before = content_of(inside)
    database.check()
    assert content_of(inside) == before
    assert numbers_in(database) == [1]
    database.close()


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal", "-shm"])
@pytest.mark.parametrize("odd", [os.mkfifo, lambda path: path.symlink_to("absent")])
def test_a_check_opens_nothing_that_has_become_no_file(tmp_path, suffix, odd):
    database = Database(tmp_path / "x.db", (FIRST,), durable=True, inside=tmp_path)
    (tmp_path / f"x.db{suffix}").unlink(missing_ok=True)
    odd(tmp_path / f"x.db{suffix}")
    signal.alarm(10)
    with pytest.raises(DatabaseUnavailable, match=f"x.db{suffix} is a link, or no regular file"):
        database.check()
    signal.alarm(0)
    database.close()


def test_a_check_leaves_the_log_to_those_who_have_it_open(tmp_path):
    """Who reads alone and closes last would else move it into a file that it may not write."""
    database = Database(tmp_path / "x.db", (FIRST,), durable=True)
    add(database, 1)
    log = (tmp_path / "x.db-wal").read_bytes()
    database.check()
    assert (tmp_path / "x.db-wal").read_bytes() == log != b""
    database.close()
