"""The cache of where entries stand: lost, damaged or somebody else's, it costs time and nothing else."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from carrel.files.disk import Disk
from carrel.files.local import LocalFiles
from carrel.sessions.known import Known
from carrel.sessions.log import Log
from carrel.sessions.offsets import Offset, Offsets
from carrel.sessions.placed import Added
from carrel.sessions.transcript import Entry, Header, Title, encode
from carrel.testing import EphemeralFiles

PATH = "agents/kate/sessions/s.log.jsonl"
HEADER = Header(id="s", agent_id="kate")


def entry(number: int | str) -> Entry:
    return Entry(role="user", content=f"message {number}", message_id=f"m{number}")


def add(log: Log, *numbers: int | str) -> list[bool]:
    return [added.is_new for added in log.add([entry(number) for number in numbers], HEADER)]


def ids(log: Log) -> list[str]:
    return [each.entry.message_id for each in log.entries(1, 10**9)]


def names(*numbers: int) -> list[str]:
    return [f"m{number}" for number in numbers]


def written(files: LocalFiles) -> list[str]:
    """The ids in the file, by the simplest means."""
    text = (files.root / PATH).read_text()
    return [line.split('"message_id":"')[1].split('"')[0] for line in text.splitlines() if '"entry"' in line]


class Hasty(Disk):
    """A disk that does not wait: nothing here is about power cuts."""

    def fsync(self, fd: int) -> None:
        pass

    def fdatasync(self, fd: int) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    (tmp_path / "desk").mkdir()
    return LocalFiles(tmp_path / "desk", disk=Hasty())


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "sessions.db"


def filled(files: LocalFiles, cache: Path, count: int = 20) -> None:
    """Leave a log and a cache that knows all of it."""
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    add(log, *range(1, count + 1))
    log.flush()
    offsets.close()


# ------------------------------------------------------------------------------------------------ what is kept


def test_what_was_kept_is_known_to_the_next_process(cache: Path) -> None:
    known = Known(size=100, ending="e", entries=2, title="t", compacted=(1, 50, 20), header={"id": "s"})
    places = [Offset(1, 10, 20, "a"), Offset(2, 30, 20, ""), Offset(3, 50, 20, "")]
    first = Offsets(cache)
    version = first.keep(PATH, known, places, version=0, anew=False)
    first.close()
    again = Offsets(cache)
    assert again.known(PATH) == (version, known)
    assert again.entries(PATH, 1, 3) == places
    assert again.entries(PATH, 2, 2) == places[1:2]
    assert again.number_of(PATH, "a") == (version, 1)
    assert again.number_of(PATH, "b") == (version, None)
    assert again.known("another") == (0, None)
    assert again.number_of("another", "a") == (0, None)
    again.close()


def test_what_is_kept_anew_replaces_what_was_known(cache: Path) -> None:
    offsets = Offsets(cache)
    places = [Offset(1, 0, 5, "a"), Offset(2, 5, 5, "b")]
    version = offsets.keep(PATH, Known(entries=2), places, version=0, anew=False)
    assert version
    assert offsets.keep(PATH, Known(entries=1), [Offset(1, 0, 9, "x")], version=0, anew=True) is None
    newer = offsets.keep(PATH, Known(entries=1), [Offset(1, 0, 9, "c")], version=version, anew=True)
    assert newer not in (None, version)
    assert offsets.entries(PATH, 1, 9) == [Offset(1, 0, 9, "c")]
    assert offsets.number_of(PATH, "a") == (newer, None)
    offsets.forget(PATH)
    assert offsets.entries(PATH, 1, 9) == []
    offsets.close()


@pytest.mark.parametrize("text", ["a\0b", "'; DROP TABLE entries; --", "é", "e\u0301", "%", "x" * 256])
def test_an_id_of_any_text_is_found_again_and_no_other(cache: Path, text: str) -> None:
    offsets = Offsets(cache)
    places = [Offset(1, 0, 5, text), Offset(2, 5, 5, "b")]
    offsets.keep(PATH, Known(entries=2), places, version=0, anew=False)
    assert offsets.number_of(PATH, text)[1] == 1
    assert offsets.entries(PATH, 1, 2) == [Offset(1, 0, 5, text), Offset(2, 5, 5, "b")]
    assert offsets.number_of(PATH, text + "x")[1] is None
    offsets.close()


@pytest.mark.parametrize("bad", [{"message_id": "\ud800"}, {"title": "\ud800"}], ids=str)
def test_text_that_is_no_unicode_does_not_cost_the_entries_around_it(
    cache: Path, bad: dict[str, str]
) -> None:
    files = EphemeralFiles()
    for _ in range(2):
        offsets = Offsets(cache)
        log = Log(files, PATH, offsets)
        add(log, 1)
        if "title" in bad:
            log.add([Title(title=bad["title"])], HEADER)
            assert log.look().title == "\ud800"
        else:
            log.add([Entry(role="user", content="x", message_id="\ud800")], HEADER)
        add(log, 2)
        assert [name for name in ids(log) if name != "\ud800"] == names(1, 2)
        assert log.number_of("m2") is not None
        log.flush()
        offsets.close()
    assert Log(files, PATH, Offsets(None)).look().duplicates == 0


# ------------------------------------------------------------------------------------------------ before a process starts


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def scribble(cache: Path) -> None:
    cache.write_bytes(noise(8192))


def scribble_inside(cache: Path) -> None:
    data = bytearray(cache.read_bytes())
    data[4096:] = noise(len(data) - 4096)
    cache.write_bytes(bytes(data))


def empty(cache: Path) -> None:
    cache.write_bytes(b"")


def cut(cache: Path) -> None:
    cache.write_bytes(cache.read_bytes()[:5000])


def another_database(cache: Path) -> None:
    cache.unlink()
    connection = apsw.Connection(str(cache))
    connection.execute("CREATE TABLE entries (a); CREATE TABLE logs (b); PRAGMA user_version = 1")
    connection.close()


def of_a_newer_carrel(cache: Path) -> None:
    connection = apsw.Connection(str(cache))
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def broken_row(cache: Path) -> None:
    connection = apsw.Connection(str(cache))
    connection.execute("UPDATE logs SET known = '{'")
    connection.close()


def row_of_other_types(cache: Path) -> None:
    connection = apsw.Connection(str(cache))
    connection.execute("""UPDATE logs SET known = '{"size": "all", "entries": []}'""")
    connection.close()


def lost_rows(cache: Path) -> None:
    connection = apsw.Connection(str(cache))
    connection.execute("DELETE FROM entries WHERE number > 10")
    connection.close()


def a_directory(cache: Path) -> None:
    cache.unlink()
    cache.mkdir()


MISHAPS: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "folder deleted": lambda cache: shutil.rmtree(cache.parent),
    "noise": scribble,
    "noise inside": scribble_inside,
    "empty": empty,
    "cut": cut,
    "another database": another_database,
    "of a newer Carrel": of_a_newer_carrel,
    "a broken row": broken_row,
    "a row of other types": row_of_other_types,
    "lost rows": lost_rows,
    "a directory": a_directory,
}


@pytest.mark.parametrize("mishap", MISHAPS)
def test_whatever_became_of_the_cache_every_entry_is_served_and_none_is_added_twice(
    files: LocalFiles, cache: Path, mishap: str
) -> None:
    filled(files, cache)
    MISHAPS[mishap](cache)
    for _ in range(2):
        offsets = Offsets(cache)
        log = Log(files, PATH, offsets)
        assert add(log, 5, 15, 20) == [False] * 3
        assert ids(log) == names(*range(1, 21))
        log.flush()
        offsets.close()
    assert written(files) == names(*range(1, 21))


@pytest.mark.parametrize("mishap", MISHAPS)
def test_whatever_became_of_the_cache_a_session_is_continued(
    files: LocalFiles, cache: Path, mishap: str
) -> None:
    filled(files, cache)
    MISHAPS[mishap](cache)
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    assert log.add([entry(21)], HEADER) == [Added(21, is_new=True)]
    assert add(log, 20, 21, 22) == [False, False, True]
    assert ids(log) == written(files) == names(*range(1, 23))
    log.flush()
    offsets.close()


def lines_of(*numbers: int) -> bytes:
    return encode(HEADER) + b"".join(encode(entry(number)) for number in numbers)


@pytest.mark.parametrize("mishap", [None, "a broken row", "lost rows"])
@pytest.mark.parametrize(
    "numbers",
    [
        tuple(range(20, 0, -1)),
        tuple(range(101, 140)),
        (*range(101, 110), 5),
        (20,),
        (),
        (*range(1, 10), *range(11, 21)),
        (*range(1, 21), *range(21, 40)),
    ],
    ids=["reversed", "another", "another with one of ours", "cut", "emptied", "one taken out", "grown"],
)
def test_a_cache_of_another_file_of_this_name_is_not_believed(
    files: LocalFiles, cache: Path, numbers: tuple[int, ...], mishap: str | None
) -> None:
    filled(files, cache)
    if mishap:
        MISHAPS[mishap](cache)
    (files.root / PATH).write_bytes(lines_of(*numbers))
    for _ in range(2):
        offsets = Offsets(cache)
        log = Log(files, PATH, offsets)
        assert ids(log) == names(*numbers)
        log.flush()
        offsets.close()
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    assert add(log, 5, 10) == [number not in numbers for number in (5, 10)]
    assert sorted(written(files)) == sorted({*names(*numbers), "m5", "m10"})
    offsets.close()


def test_a_cache_that_cannot_be_made_lasts_as_long_as_the_process(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    offsets = Offsets(tmp_path / "file" / "sessions.db")
    log = Log(files, PATH, offsets)
    add(log, *range(1, 600))
    assert ids(log) == names(*range(1, 600))
    assert add(log, 1, 599) == [False, False]
    offsets.close()


def test_a_cache_behind_a_link_in_a_foreign_workspace_is_not_followed(
    files: LocalFiles, tmp_path: Path
) -> None:
    desk, outside = tmp_path / "cloned", tmp_path / "outside"
    desk.mkdir()
    outside.mkdir()
    (desk / ".carrel").symlink_to(outside)
    offsets = Offsets(desk / ".carrel" / "cache" / "sessions.db", inside=desk)
    log = Log(files, PATH, offsets)
    add(log, 1, 2)
    log.flush()
    assert ids(log) == names(1, 2)
    assert list(outside.iterdir()) == []
    offsets.close()


# ------------------------------------------------------------------------------------------------ while a process runs


def test_a_cache_that_is_deleted_under_a_running_process_costs_nothing(
    files: LocalFiles, cache: Path
) -> None:
    filled(files, cache)
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    assert len(ids(log)) == 20
    shutil.rmtree(cache.parent)
    add(log, *range(21, 400))
    assert add(log, 3, 300) == [False, False]
    assert ids(log) == written(files) == names(*range(1, 400))
    log.flush()
    offsets.close()
    fresh = Offsets(cache)
    assert ids(Log(files, PATH, fresh)) == names(*range(1, 400))
    fresh.close()


def test_a_cache_that_is_damaged_under_a_running_process_costs_nothing(
    files: LocalFiles, cache: Path
) -> None:
    filled(files, cache, 3_000)
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    assert add(log, 1) == [False]
    for path in (cache, cache.with_name(f"{cache.name}-wal")):
        if path.exists():
            path.write_bytes(noise(path.stat().st_size))
    assert add(log, 17, 2_900, 3_001) == [False, False, True]
    assert ids(log) == names(*range(1, 3_002))
    assert written(files) == names(*range(1, 3_002))
    log.flush()
    offsets.close()


def test_a_cache_that_another_holds_locked_costs_nothing(
    files: LocalFiles, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than anybody waits for it: what could not be kept is not forgotten."""
    monkeypatch.setattr("carrel.records.database.BUSY_MILLISECONDS", 20)
    filled(files, cache, 2)
    offsets = Offsets(cache)
    log = Log(files, PATH, offsets)
    assert len(ids(log)) == 2
    holder = apsw.Connection(str(cache))
    holder.execute("BEGIN EXCLUSIVE")
    add(log, 3, 4)
    assert ids(log) == names(1, 2, 3, 4)
    assert add(log, 3, 4) == [False, False]
    holder.execute("ROLLBACK")
    holder.close()
    assert add(log, 3, 4) == [False, False]
    assert ids(log) == written(files) == names(1, 2, 3, 4)
    log.flush()
    offsets.close()


def test_a_process_that_lags_behind_does_not_undo_what_another_kept(files: LocalFiles, cache: Path) -> None:
    """The session was deleted and begun again, so that both know that what is kept is out of date."""
    filled(files, cache, 3)
    (files.root / PATH).unlink()
    offsets, others = Offsets(cache), Offsets(cache)
    offsets.forget(PATH)
    quick, slow = Log(files, PATH, offsets), Log(files, PATH, others)
    add(quick, 1)
    assert slow.look().entries == 1
    add(quick, *range(2, 11))
    assert ids(quick) == names(*range(1, 11))  # which keeps all ten
    slow.flush()  # which knows of one
    assert add(quick, 5, 10, 11) == [False, False, True]
    assert ids(quick) == names(*range(1, 12))
    assert add(slow, 6, 11) == [False, False]
    assert ids(slow) == written(files) == names(*range(1, 12))
    quick.flush()
    offsets.close()
    others.close()
    fresh = Offsets(cache)
    assert ids(Log(files, PATH, fresh)) == names(*range(1, 12))
    fresh.close()


FORKED = """
import os, sys
from pathlib import Path
from carrel.files.local import LocalFiles
from carrel.sessions.log import Log
from carrel.sessions.offsets import Offsets
from carrel.sessions.transcript import Entry, Header
root, cache = sys.argv[1:]
log = Log(LocalFiles(root), "agents/kate/sessions/s.log.jsonl", Offsets(Path(cache)))
def add(*numbers):
    entries = [Entry(role="user", content=f"message {n}", message_id=f"m{n}") for n in numbers]
    return [added.is_new for added in log.add(entries, Header(id="s"))]
def ids():
    return [each.entry.message_id for each in log.entries(1, 10**9)]
add(1, 2, 3)
ids()
add(4)
child = os.fork()
if not child:
    ok = add(2, 4, 5) == [False, False, True] and ids() == ["m1", "m2", "m3", "m4", "m5"]
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
assert status == 0, status
assert add(2, 5, 6) == [False, False, True]
assert ids() == ["m1", "m2", "m3", "m4", "m5", "m6"], ids()
"""


def test_a_forked_process_goes_on_with_a_cache_of_its_own(files: LocalFiles, cache: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(files.root), str(cache)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert written(files) == names(*range(1, 7))
