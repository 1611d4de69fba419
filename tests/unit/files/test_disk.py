"""What the system says about a disk, in words that a person can act on; and what a new file takes from an old one."""

import errno
import hashlib
import os
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from carrel.errors import CarrelError
from carrel.files import Stale, Unreadable, walk
from carrel.files import disk as disk_module
from carrel.files.disk import Disk, DiskFailed, DiskFull, ReadOnly, typed_failures
from carrel.files.durable import Directory, refuse_special
from carrel.files.local import LocalFiles, _bounded
from carrel.files.resolve import Place
from carrel.testing import FaultyDisk


def said(error: OSError) -> CarrelError:
    with pytest.raises(CarrelError) as caught, typed_failures("notes/a\nb.md"):
        raise error
    assert caught.value.__cause__ is error
    assert "notes/a\\nb.md" in caught.value.message
    return caught.value


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_is_told_as_such(number: int) -> None:
    assert type(said(OSError(number, "x"))) is DiskFull


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_what_may_not_be_changed_is_told_with_the_reason_of_the_system(number: int) -> None:
    error = said(OSError(number, "x"))
    assert type(error) is ReadOnly
    assert os.strerror(number) in error.message


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_process_that_ran_out_of_something_is_told_what_to_do(number: int) -> None:
    error = said(OSError(number, "x"))
    assert type(error) is DiskFailed
    assert os.strerror(number) in error.message
    assert "ulimit" in (error.hint or "")


def test_any_other_failure_is_told_as_the_system_tells_it() -> None:
    error = said(OSError(errno.EIO, "x"))
    assert type(error) is DiskFailed
    assert os.strerror(errno.EIO) in error.message
    assert "ulimit" not in (error.hint or "")
    assert "our own words" in said(OSError("our own words")).message


def test_a_replaced_file_keeps_its_owner_where_that_is_allowed(tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []

    class Foreign(Disk):
        def resemble(self, fd: int, like: os.stat_result) -> None:
            changed = list(like)
            changed[4] = like.st_uid + 1  # as of a file that belongs to somebody else
            super().resemble(fd, os.stat_result(changed))
            asked.append((os.fstat(fd).st_uid, os.fstat(fd).st_mode & 0o777))

    (tmp_path / "a.md").write_bytes(b"old")
    (tmp_path / "a.md").chmod(0o640)
    old = hashlib.sha256(b"old").hexdigest()
    LocalFiles(tmp_path, disk=Foreign()).write("a.md", b"new", expect=old)
    own = os.geteuid()
    assert asked == [(own + 1 if own == 0 else own, 0o640)]


class Reluctant(Disk):
    """Takes a few bytes at a time, is interrupted between them, and at `dead` takes none."""

    def __init__(self, *, dead: bool = False) -> None:
        self.turns = 0
        self.dead = dead

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.turns += 1
        if self.turns % 2:
            raise InterruptedError
        return 0 if self.dead else super().write(fd, data[:7])


def test_a_file_is_whole_however_few_bytes_the_system_takes_at_a_time(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path, disk=Reluctant())
    files.write("a.md", b"0123456789" * 5, expect=None)
    assert (tmp_path / "a.md").read_bytes() == b"0123456789" * 5


def test_a_disk_that_takes_no_bytes_is_no_endless_loop(tmp_path: Path) -> None:
    with pytest.raises(DiskFailed):
        LocalFiles(tmp_path, disk=Reluctant(dead=True)).write("a.md", b"text", expect=None)
    assert list(tmp_path.iterdir()) == []


def test_a_stale_write_says_what_became_of_the_file(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    digest = files.write("a.md", b"one", expect=None)
    with pytest.raises(Stale, match="exists already") as caught:
        files.write("a.md", b"two", expect=None)
    assert (caught.value.expected, caught.value.found) == (None, digest)
    with pytest.raises(Stale, match="changed by somebody else"):
        files.write("a.md", b"two", expect="0" * 64)
    (tmp_path / "a.md").unlink()
    with pytest.raises(Stale, match="is gone"):
        files.write("a.md", b"two", expect=digest)
    with pytest.raises(Stale, match="is gone"):
        files.remove("a.md", expect=digest)


def test_a_folder_that_cannot_be_listed_is_yielded_as_itself(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.md").write_bytes(b"a")

    class Locked(LocalFiles):
        def list(self, under: str = "") -> list:
            if under == "closed":
                raise Unreadable(under, "permission")
            return super().list(under)

    found = walk(Locked(tmp_path), skip=lambda _: False)
    assert [(entry.path, entry.kind) for entry in found] == [("closed", "directory"), ("open/a.md", "file")]


def test_a_link_into_what_git_and_carrel_keep_for_themselves_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_bytes(b"[core]\n")
    (tmp_path / "notes.md").symlink_to(".git/config")
    files = LocalFiles(tmp_path)
    for change in (
        lambda: files.append("notes.md", b"x\n"),
        lambda: files.write("notes.md", b"x", expect=hashlib.sha256(b"[core]\n").hexdigest()),
    ):
        with pytest.raises(CarrelError) as caught:
            change()
        assert (caught.value.code, caught.value.path) == ("link_reserved", "notes.md")  # type: ignore[attr-defined]
    assert (tmp_path / ".git" / "config").read_bytes() == b"[core]\n"


def test_a_new_path_as_long_as_no_system_takes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "l").symlink_to("deep")
    with pytest.raises(CarrelError) as caught:
        LocalFiles(tmp_path).write("l/" + "x" * 200 + ("/" + "y" * 200) * 20, b"x", expect=None)
    assert caught.value.code == "bad_path"
    assert list((tmp_path / "deep").iterdir()) == []


def test_a_log_kept_open_still_minds_the_size_that_was_read(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.append("log.jsonl", b"1\n")
    files.append("log.jsonl", b"2\n")
    assert files.append("log.jsonl", b"3\n", at=4) == 6
    with pytest.raises(Stale) as caught:
        files.append("log.jsonl", b"4\n", at=4)
    assert (caught.value.expected, caught.value.found) == ("4", "6")
    assert (tmp_path / "log.jsonl").read_bytes() == b"1\n2\n3\n"


def test_a_log_with_a_second_name_is_copied_before_it_grows(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"torn")
    os.link(tmp_path / "a.md", tmp_path / "twin.md")
    files = LocalFiles(tmp_path)
    assert files.append("a.md", b"next\n") == 10
    assert (tmp_path / "a.md").read_bytes() == b"torn\nnext\n"
    assert (tmp_path / "twin.md").read_bytes() == b"torn"


class Busy(LocalFiles):
    """Files of which one is changed by somebody else right after the way to it was walked."""

    def __init__(self, root: Path, meanwhile: Callable[[], object]) -> None:
        super().__init__(root)
        self._meanwhile = meanwhile

    @contextmanager
    def _resolved(self, names: Sequence[str], *, follow_last: bool = True) -> Generator[Place]:
        with super()._resolved(names, follow_last=follow_last) as place:
            self._meanwhile()
            yield place


def test_a_file_that_goes_between_look_and_open_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    for verb in (lambda files: files.read("a.md"), lambda files: files.part("a.md", 0, 9)):
        path.write_bytes(b"text")
        assert verb(Busy(tmp_path, lambda: path.unlink(missing_ok=True))) is None


def test_a_file_that_is_a_link_at_every_opening_is_not_looked_for_without_end(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes(b"b")
    shown = tmp_path / "a.md"

    class Swapping(Busy):
        @contextmanager
        def _resolved(self, names: Sequence[str], *, follow_last: bool = True) -> Generator[Place]:
            shown.unlink(missing_ok=True)
            shown.write_bytes(b"text")
            with super()._resolved(names, follow_last=follow_last) as place:
                yield place

    def swap() -> None:
        shown.unlink()
        shown.symlink_to("b.md")

    for verb in (lambda files: files.read("a.md"), lambda files: files.part("a.md", 0, 9)):
        with pytest.raises(Unreadable, match="again and again"):
            verb(Swapping(tmp_path, swap))


def test_a_file_that_gives_way_to_a_socket_is_no_file(tmp_path: Path) -> None:
    shown = tmp_path / "a.md"
    shown.write_bytes(b"text")

    def swap() -> None:
        shown.unlink()
        here = os.open(tmp_path, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"/proc/self/fd/{here}/a.md" if sys.platform == "linux" else str(shown))
        os.close(here)

    with pytest.raises(Unreadable) as caught:
        Busy(tmp_path, swap).read("a.md")
    assert caught.value.reason == "special_file"


def test_what_is_no_file_is_refused_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    refuse_special("x", (tmp_path / "file").lstat())
    for name, reason in (("link", "io_error"), ("pipe", "special_file"), (".", "directory")):
        with pytest.raises(Unreadable) as caught:
            refuse_special("x", (tmp_path / name).lstat())
        assert caught.value.reason == reason


def test_an_open_log_on_a_disk_that_fails_is_a_typed_error_and_the_line_is_not_there(tmp_path: Path) -> None:
    disk = FaultyDisk(error=errno.ENOSPC)
    files = LocalFiles(tmp_path, disk=disk)
    for number in range(3):
        files.append("log.jsonl", b"%d\n" % number)
    disk._fail_at = len(disk.calls) + 2  # lock, then write
    with pytest.raises(DiskFull):
        files.append("log.jsonl", b"3\n")
    assert disk.fired
    assert files.append("log.jsonl", b"4\n") == 8
    assert (tmp_path / "log.jsonl").read_bytes() == b"0\n1\n2\n4\n"


def test_only_what_a_dead_writer_left_is_swept(tmp_path: Path) -> None:
    disk = Disk()
    for name in ("dead", "alive"):
        (tmp_path / f".carrel-tmp-{name}").write_bytes(b"half")
    fd = os.open(tmp_path / ".carrel-tmp-alive", os.O_RDONLY)
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        assert disk.lock(fd)
        directory = Directory(disk, here, "a.md")
        own, temporary = directory.names()
        assert (own, sorted(temporary)) == ([], [".carrel-tmp-alive", ".carrel-tmp-dead"])
        directory.sweep([*temporary, ".carrel-tmp-gone"])
        assert directory.names() == ([], [".carrel-tmp-alive"])
    finally:
        os.close(fd)
        os.close(here)


def test_a_part_is_what_there_is_of_it_and_tells_the_size_of_all(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"0123456789")
    files = LocalFiles(tmp_path)
    for start, size, data in ((0, 3, b"012"), (8, 9, b"89"), (10, 1, b""), (99, 1, b""), (3, 0, b"")):
        part = files.part("a.md", start, size)
        assert part is not None
        assert (part.data, part.size, part.target, part.links) == (data, 10, "a.md", 1)
    assert files.part("b.md", 0, 1) is None


def test_a_read_takes_just_so_much(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"0123456789")
    files = LocalFiles(tmp_path)
    content = files.read("a.md", limit=10)
    assert content is not None
    assert content.data == b"0123456789"
    with pytest.raises(Unreadable) as caught:
        files.read("a.md", limit=9)
    assert caught.value.reason == "too_large"


def test_a_file_gets_a_second_name_only_where_that_is_free(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"a")
    (tmp_path / "b.md").write_bytes(b"b")
    (tmp_path / "folder").mkdir()
    here, there = (os.open(path, os.O_RDONLY) for path in (tmp_path, tmp_path / "folder"))
    try:
        Disk().link("a.md", "same.md", directory=here, into=there)
        with pytest.raises(FileExistsError):
            Disk().link("a.md", "b.md", directory=here, into=here)
    finally:
        os.close(here)
        os.close(there)
    assert (tmp_path / "folder" / "same.md").samefile(tmp_path / "a.md")
    assert (tmp_path / "b.md").read_bytes() == b"b"


def test_no_more_than_the_limit_is_read_of_a_file_that_grows_meanwhile(tmp_path: Path) -> None:
    reader, writer = os.pipe()  # which has no size, and more to read than anybody asked for
    os.write(writer, b"x" * 30)
    try:
        with pytest.raises(Unreadable) as caught:
            _bounded("a.md", reader, 0, 10)
        assert len(os.read(reader, 100)) == 30 - 11
    finally:
        os.close(reader)
        os.close(writer)
    assert caught.value.reason == "too_large"


@pytest.mark.parametrize("turn", range(1, 8))
def test_a_write_that_fails_at_any_call_leaves_nothing_open_and_nothing_behind(
    tmp_path: Path, turn: int
) -> None:
    files = LocalFiles(tmp_path, disk=FaultyDisk(fail_at=turn))
    try:
        files.write("a.md", b"text", expect=None)
    except CarrelError:
        left = [path.name for path in tmp_path.iterdir()]
        assert left in ([], ["a.md"])
    assert [place for place in opened() if place.startswith(str(tmp_path))] == []


def opened() -> Iterator[str]:
    """Yield where the descriptors of this process lead; those of others come and go."""
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            yield str(entry.readlink())


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "old").write_text("old")
    (tmp_path / "new").write_text("new")
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def test_two_files_exchange_their_names(tmp_path: Path, pair: int) -> None:
    Disk().swap("old", "new", directory=pair)
    assert [(tmp_path / name).read_text() for name in ("old", "new")] == ["new", "old"]


def test_a_name_that_is_free_is_taken(tmp_path: Path, pair: int) -> None:
    Disk().swap("old", "other", directory=pair)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "other"]


def test_where_names_cannot_be_exchanged_the_new_one_takes_the_place(
    tmp_path: Path, pair: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_module, "_renameat2", lambda: None)
    Disk().swap("old", "new", directory=pair)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("new", "old")]


def test_a_system_that_has_no_such_call_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    disk_module._renameat2.cache_clear()
    monkeypatch.setattr(disk_module.ctypes, "CDLL", lambda *_, **__: object())
    assert disk_module._renameat2() is None
    disk_module._renameat2.cache_clear()


def test_an_exchange_that_fails_for_another_reason_is_an_error_and_changes_nothing(
    tmp_path: Path, pair: int
) -> None:
    with pytest.raises(OSError, match="descriptor"):
        Disk().swap("old", "new", directory=10_000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]
