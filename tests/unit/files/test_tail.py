"""The kept end of a log: quick as it is, it writes to nothing but what the path leads to now."""

import errno
import os
from pathlib import Path

import pytest

from carrel.errors import CarrelError
from carrel.files.local import LocalFiles
from carrel.testing import FaultyDisk

LOG = "a/b/log.jsonl"


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    files = LocalFiles(tmp_path)
    for line in (b"1\n", b"2\n", b"3\n"):  # the third goes through the kept end
        files.append(LOG, line)
    return files


def test_a_log_that_was_replaced_is_added_to_where_it_is_now(files: LocalFiles, tmp_path: Path) -> None:
    old = tmp_path / LOG
    old.rename(tmp_path / "kept.jsonl")
    old.write_bytes(b"new\n")
    files.append(LOG, b"4\n")
    assert old.read_bytes() == b"new\n4\n"
    assert (tmp_path / "kept.jsonl").read_bytes() == b"1\n2\n3\n"


def test_a_log_whose_folder_was_replaced_is_added_to_where_it_is_now(
    files: LocalFiles, tmp_path: Path
) -> None:
    (tmp_path / "a").rename(tmp_path / "old")
    files.append(LOG, b"4\n")
    assert (tmp_path / LOG).read_bytes() == b"4\n"
    assert (tmp_path / "old/b/log.jsonl").read_bytes() == b"1\n2\n3\n"


def test_a_log_that_was_removed_begins_anew(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / LOG).unlink()
    assert files.append(LOG, b"4\n") == 2
    assert (tmp_path / LOG).read_bytes() == b"4\n"


def test_a_log_that_gave_way_to_a_link_outside_is_refused(files: LocalFiles, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "log.jsonl").write_bytes(b"theirs\n")
    (tmp_path / "a/b").rename(tmp_path / "a/old")
    (tmp_path / "a/b").symlink_to(outside)
    with pytest.raises(CarrelError) as error:
        files.append(LOG, b"4\n")
    assert error.value.code == "link_outside"
    assert (outside / "log.jsonl").read_bytes() == b"theirs\n"


def test_a_log_that_became_a_hard_link_leaves_its_other_name_alone(files: LocalFiles, tmp_path: Path) -> None:
    os.link(tmp_path / LOG, tmp_path / "other")
    files.append(LOG, b"4\n")
    assert (tmp_path / "other").read_bytes() == b"1\n2\n3\n"
    assert (tmp_path / LOG).read_bytes() == b"1\n2\n3\n4\n"


def test_a_log_that_was_marked_read_only_is_respected(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / LOG).chmod(0o444)
    with pytest.raises(CarrelError) as error:
        files.append(LOG, b"4\n")
    assert error.value.code == "read_only"
    assert (tmp_path / LOG).read_bytes() == b"1\n2\n3\n"


def test_a_log_that_others_shortened_is_added_to_at_its_end(files: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"1\ntorn")
    assert files.append(LOG, b"4\n") == 9
    assert (tmp_path / LOG).read_bytes() == b"1\ntorn\n4\n"


def test_a_forked_child_and_its_parent_keep_each_other_out(files: LocalFiles, tmp_path: Path) -> None:
    children = []
    for who in range(3):
        child = os.fork()
        if child == 0:
            try:
                for number in range(40):
                    files.append(LOG, f"{who}.{number}\n".encode())
            finally:
                os._exit(0)
        children.append(child)
    for number in range(40):
        files.append(LOG, f"parent.{number}\n".encode())
    for child in children:
        os.waitpid(child, 0)
    lines = (tmp_path / LOG).read_text().split()
    wanted = [f"{who}.{n}" for who in (0, 1, 2, "parent") for n in range(40)]
    assert sorted(lines) == sorted(["1", "2", "3", *wanted])


def test_only_a_few_logs_are_kept_open(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    for number in range(40):
        for line in (b"1\n", b"2\n"):
            files.append(f"s/{number}.jsonl", line)
    assert 0 < count_open(tmp_path) <= 8
    del files
    assert count_open(tmp_path) == 0


def count_open(below: Path) -> int:
    """How many files of this process below a directory are open; others may be let go of meanwhile."""
    return sum(each.resolve().is_relative_to(below) for each in Path("/dev/fd").iterdir())


def test_an_append_that_fails_at_the_opening_leaves_nothing_open_while_its_error_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "log").write_bytes(b"one\n")
    disk = FaultyDisk(fail_at=2, error=errno.EMFILE)
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(CarrelError) as kept:
        LocalFiles(tmp_path, disk=disk).append("log", b"two\n")
    assert (disk.calls, kept.value.code) == (["lock", "open"], "disk_failed")
    assert len(list(Path("/dev/fd").iterdir())) == before
