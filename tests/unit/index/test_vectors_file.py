"""The file under the vectors: shared, torn, damaged, foreign, full, and read-only."""

import errno
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from carrel.files.disk import Disk, DiskFull, LockTimeout
from carrel.index import rowfile
from carrel.index.rowfile import VectorsUnavailable
from carrel.index.rows import HEADER_SIZE, Header, format_header
from carrel.index.vectors import Vectors
from carrel.records.database import NewerFormat
from carrel.testing import FaultyDisk

DIMENSIONS = 16
RECORD = 4 * DIMENSIONS + 16


def unit(count, dimensions=DIMENSIONS, seed=0):
    made = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.bin"


def open_at(path, **more):
    return Vectors(path, **({"embedder": "test"} | more))


def filled(path, count=10):
    vectors = open_at(path)
    vectors.put(range(1, count + 1), unit(count))
    return vectors


def names(path):
    return sorted(item.name for item in path.parent.iterdir())


def test_what_was_put_is_there_when_opened_again(path):
    hits = filled(path).search(unit(1)[0], k=5)
    again = open_at(path)
    assert (again.search(unit(1)[0], k=5), again.dimensions) == (hits, DIMENSIONS)
    assert not again.was_damaged


def test_a_reader_sees_at_once_what_another_writes(path):
    writer, reader = filled(path), open_at(path)
    assert len(reader) == 10
    writer.put([50], unit(1, seed=3))
    assert reader.search(unit(1, seed=3)[0], k=1)[0][0] == 50
    writer.drop([50])
    assert reader.ids.tolist() == list(range(1, 11))


def test_rows_are_added_without_a_new_file(path):
    vectors = filled(path)
    inode, size = path.stat().st_ino, path.stat().st_size
    vectors.put([11], unit(1))
    vectors.drop([1])
    assert (path.stat().st_ino, path.stat().st_size) == (inode, size + 2 * RECORD)


def test_a_file_with_many_dead_rows_is_replaced_by_a_small_one(path):
    writer, reader = filled(path, 3_000), open_at(path)
    query = unit(1, seed=7)[0]
    assert len(reader) == 3_000
    kept = [hit for hit in reader.search(query, k=3_000) if hit[0] > 2_000]
    writer.drop(range(1, 2_001))
    assert path.stat().st_size == HEADER_SIZE + 1_000 * RECORD
    assert list(reader.search(query, k=3_000)) == kept
    assert reader.ids.tolist() == list(range(2_001, 3_001))


def test_vectors_that_are_replaced_again_and_again_take_bounded_room(path):
    vectors = open_at(path)
    for seed in range(60):
        vectors.put(range(100), unit(100, seed=seed))
    assert path.stat().st_size < HEADER_SIZE + 1_400 * RECORD
    assert vectors.search(unit(100, seed=59)[42], k=1)[0][0] == 42


@pytest.mark.parametrize("cut", [1, 8, RECORD - 1, RECORD + 5])
def test_a_torn_end_is_nothing_and_heals_with_the_next_write(path, cut):
    filled(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    whole = 10 - cut // RECORD - 1
    vectors = open_at(path)
    assert (vectors.ids.tolist(), vectors.was_damaged) == (list(range(1, whole + 1)), False)
    vectors.put([10], unit(1, seed=3))
    assert open_at(path).ids.tolist() == [*range(1, whole + 1), 10]
    assert (path.stat().st_size - HEADER_SIZE) % RECORD == 0


@pytest.mark.parametrize("tail", [b"\0" * RECORD * 3, b"\xff" * RECORD, b"\0" * (RECORD * 2 + 7)])
def test_an_end_that_a_power_cut_left_without_content_is_nothing(path, tail):
    filled(path)
    with path.open("ab") as file:
        file.write(tail)
    vectors = open_at(path)
    assert (len(vectors), vectors.was_damaged) == (10, False)
    vectors.drop([1])
    assert len(open_at(path)) == 9


def test_an_end_that_is_torn_while_it_is_open_is_nothing_either(path):
    vectors = filled(path)
    assert len(vectors) == 10
    with path.open("ab") as file:
        file.write(b"half a record")
    assert len(vectors) == 10
    vectors.put([11], unit(1))
    assert vectors.ids.tolist() == list(range(1, 12))


def test_a_file_that_somebody_cut_while_it_is_open_is_read_anew(path):
    vectors = filled(path)
    assert len(vectors) == 10
    os.truncate(path, HEADER_SIZE + 4 * RECORD)
    assert [identity for identity, _ in vectors.search(unit(10)[2], k=1)] == [3]
    vectors.put([11], unit(1))
    assert vectors.ids.tolist() == [1, 2, 3, 4, 11]


def spoil(path, at, data=b"\x55"):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


DAMAGE = {
    "magic": lambda path: spoil(path, 0),
    "header": lambda path: spoil(path, 40),
    "size of the header": lambda path: spoil(path, 16, b"\xff\xff\xff\xff"),
    "a value": lambda path: spoil(path, HEADER_SIZE + 5 * RECORD),
    "an id": lambda path: spoil(path, HEADER_SIZE + RECORD - 12),
    "a hole": lambda path: spoil(path, HEADER_SIZE, b"\0" * RECORD),
    "empty": lambda path: path.write_bytes(b""),
    "short": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "a text": lambda path: path.write_text("# Not vectors\n" * 1_000),
    "a database": lambda path: path.write_bytes(b"SQLite format 3\0" * 1_000),
    "no dimensions": lambda path: path.write_bytes(format_header(Header(embedder="test"))),
    "too many": lambda path: path.write_bytes(format_header(Header(embedder="test", dimensions=1 << 40))),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_set_aside_and_begun_anew(path, damage):
    filled(path)
    damage(path)
    spoiled = path.read_bytes()
    vectors = open_at(path)
    assert (vectors.search(unit(1)[0], k=5), len(vectors), vectors.was_damaged) == ([], 0, True)
    assert path.read_bytes() == spoiled
    vectors.put([1], unit(1))
    assert path.with_name("vectors.bin.damaged").read_bytes() == spoiled
    again = open_at(path)
    assert (again.ids.tolist(), again.was_damaged) == ([1], False)


def test_vectors_of_another_embedder_are_none_and_stay_until_there_are_new_ones(path):
    filled(path)
    other = open_at(path, embedder="other")
    assert (other.search(unit(1, 3)[0], k=5), len(other), other.was_damaged) == ([], 0, False)
    other.drop([1])
    assert len(open_at(path)) == 10
    other.put([1], unit(1, 3))
    assert (other.dimensions, len(open_at(path))) == (3, 0)
    assert names(path) == ["vectors.bin", "vectors.bin.lock"]


def test_a_file_of_a_newer_version_is_left_alone(path):
    path.write_bytes(format_header(Header(version=2, embedder="test")) + b"anything")
    before = path.read_bytes()
    vectors = open_at(path)
    for use in (
        lambda: vectors.search(unit(1)[0], k=1),
        lambda: vectors.put([1], unit(1)),
        lambda: len(vectors),
    ):
        with pytest.raises(NewerFormat):
            use()
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_file_is_an_error_and_does_not_block(path, make):
    make(path)
    vectors = open_at(path)
    with pytest.raises(VectorsUnavailable) as caught:
        vectors.search(unit(1)[0], k=1)
    assert caught.value.code == "vectors_unavailable"


def test_no_link_below_a_directory_of_others_is_followed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    filled(tmp_path / "elsewhere/vectors.bin")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/cache").symlink_to(tmp_path / "elsewhere")
    vectors = open_at(tmp_path / "inside/cache/vectors.bin", inside=tmp_path / "inside")
    with pytest.raises(VectorsUnavailable):
        len(vectors)
    with pytest.raises(Exception, match="link"):
        vectors.put([99], unit(1))
    assert len(open_at(tmp_path / "elsewhere/vectors.bin")) == 10


def test_a_file_that_goes_away_is_begun_anew(path):
    vectors = filled(path)
    path.unlink()
    assert len(vectors) == 0
    vectors.put([1], unit(1))
    assert open_at(path).ids.tolist() == [1]


def test_after_close_it_can_be_used_again(path):
    vectors = filled(path)
    vectors.close()
    assert len(vectors) == 10


def calls_of(work, path):
    disk = FaultyDisk()
    work(open_at(path, disk=disk))
    return disk.calls


def change(vectors):
    vectors.put([3, 11], unit(2, seed=4))
    vectors.drop([5])


def rewrite(vectors):
    vectors.drop(range(1, 1_500))


@pytest.mark.parametrize(("work", "count"), [(change, 10), (rewrite, 1_600)])
def test_a_full_disk_at_any_moment_is_an_error_after_which_all_goes_on(tmp_path, work, count):
    filled(tmp_path / "whole", count)
    total = len(calls_of(work, tmp_path / "whole"))
    assert total > 4
    for number in range(1, total + 1):
        path = tmp_path / f"try {number}"
        filled(path, count)
        with pytest.raises(DiskFull):
            work(open_at(path, disk=FaultyDisk(fail_at=number, error=errno.ENOSPC)))
        fresh = open_at(path)
        assert not fresh.was_damaged
        assert set(range(1_500, count + 1)) <= set(fresh.ids.tolist()) <= set(range(1, count + 3))
        work(fresh)
        assert open_at(path).ids.tolist() == open_at(tmp_path / "whole").ids.tolist()


class Filling(Disk):
    """A disk that takes so many bytes more."""

    def __init__(self, room):
        self.room = room

    def write(self, fd, data):
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        written = super().write(fd, data[: self.room])
        self.room -= written
        return written


@pytest.mark.parametrize("room", [0, 1, RECORD - 1, RECORD, RECORD + 1, 2 * RECORD - 1])
def test_rows_that_did_not_fit_on_the_disk_can_be_put_again(path, room):
    reader = filled(path)
    with pytest.raises(DiskFull):
        open_at(path, disk=Filling(room)).put([11, 12], unit(2, seed=4))
    assert reader.ids.tolist()[:10] == list(range(1, 11))
    open_at(path).put([11, 12], unit(2, seed=4))
    assert (reader.ids.tolist(), reader.was_damaged) == (list(range(1, 13)), False)


KILLED = """
import sys
from pathlib import Path
import numpy as np
from carrel.index.vectors import Vectors
from carrel.testing import FaultyDisk
vectors = Vectors(Path(sys.argv[1]), embedder="test", disk=FaultyDisk(kill_at=sys.argv[2]))
if sys.argv[3] == "append":
    vectors.put([11, 12], np.eye(2, 16, dtype=np.float32))
else:
    vectors.drop(range(1, 1_500))
"""


@pytest.mark.parametrize("moment", ["before:write", "after:write", "after:fdatasync"])
def test_a_writer_killed_while_it_adds_leaves_a_file_that_works(path, moment):
    filled(path)
    done = subprocess.run([sys.executable, "-c", KILLED, path, moment, "append"], check=False)
    assert done.returncode == -signal.SIGKILL
    vectors = open_at(path)
    assert vectors.ids.tolist() in (list(range(1, 11)), list(range(1, 13)))
    vectors.put([13], unit(1))
    assert (13 in open_at(path).ids, vectors.was_damaged) == (True, False)


@pytest.mark.parametrize("moment", ["before:write", "after:write", "before:rename", "after:rename"])
def test_a_writer_killed_while_it_replaces_leaves_the_old_file_or_the_new_one(path, moment):
    filled(path, 1_600)
    done = subprocess.run([sys.executable, "-c", KILLED, path, moment, "replace"], check=False)
    assert done.returncode == -signal.SIGKILL
    vectors = open_at(path)
    assert vectors.ids.tolist() in (list(range(1, 1_601)), list(range(1_500, 1_601)))
    vectors.put([9_999], unit(1))
    vectors.drop(range(1, 1_500))
    assert open_at(path).ids.tolist() == [*range(1_500, 1_601), 9_999]
    assert names(path) == ["vectors.bin", "vectors.bin.lock"]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from carrel.index.vectors import Vectors
first = int(sys.argv[2])
vectors = Vectors(Path(sys.argv[1]), embedder="test")
for number in range(first, first + 400, 4):
    vectors.put(range(number, number + 4), np.full((4, 16), 0.25, np.float32))
    vectors.drop([number])
"""


def test_several_processes_may_write_and_none_loses_anything(path):
    reader = open_at(path)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, str(first)], stderr=subprocess.PIPE)
        for first in (1_000, 2_000, 3_000)
    ]
    while any(writer.poll() is None for writer in writers):
        for _, score in reader.search(np.full(16, 0.25, np.float32), k=2_000):
            assert score == pytest.approx(1)
    assert [writer.communicate()[1] for writer in writers] == [b""] * 3
    expected = [n for first in (1_000, 2_000, 3_000) for n in range(first, first + 400) if n % 4]
    assert reader.ids.tolist() == expected


def test_threads_may_share_one(path):
    vectors = filled(path, 500)
    failures = []

    def work(first):
        try:
            for number in range(first, first + 20):
                vectors.put([number], unit(1, seed=number))
                assert vectors.search(unit(1, seed=number)[0], k=1)[0][0] == number
        except Exception as error:  # noqa: BLE001 - a thread tells nobody by itself
            failures.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in (1_000, 2_000, 3_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(open_at(path)) == 560


def test_who_waits_too_long_for_another_writer_is_told(path, monkeypatch):
    vectors = filled(path)
    monkeypatch.setattr(rowfile, "LOCK_SECONDS", 0.05)
    with vectors._file.writing(), pytest.raises(LockTimeout):
        open_at(path).put([1], unit(1))
    open_at(path).put([11], unit(1))
    assert len(vectors) == 11


def test_files_that_may_not_be_written_can_still_be_searched(process, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    filled(folder / "vectors.bin")
    (folder / "vectors.bin").chmod(0o400)
    folder.chmod(0o500)
    program = (
        "import sys\nfrom pathlib import Path\nimport numpy as np\n"
        "from carrel.index.vectors import Vectors\nfrom carrel.files.disk import ReadOnly\n"
        "vectors = Vectors(Path(sys.argv[1]), embedder='test')\n"
        "assert len(vectors.search(np.ones(16, np.float32), k=5)) == 5\n"
        "try:\n    vectors.put([99], np.ones((1, 16), np.float32))\n"
        "except ReadOnly as error:\n    print(error.code)\n"
    )
    outcome = process(folder / "vectors.bin", python=("-c", program), privileged=False)
    folder.chmod(0o700)
    assert (outcome.code, outcome.text.strip()) == (0, "read_only"), outcome.warnings
