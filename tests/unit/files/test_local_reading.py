"""Reading a directory that may be odd, hostile, huge or busy."""

import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from carrel.errors import NotFound, UsageError
from carrel.files import Unreadable, is_settled, walk
from carrel.files.local import LocalFiles


def test_a_pipe_or_socket_blocks_no_verb(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "MEMORY.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(tmp_path, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{here}/s" if sys.platform == "linux" else str(tmp_path / "s"))
        finally:
            os.close(here)
    files = LocalFiles(tmp_path)
    started = time.monotonic()
    for path in ("MEMORY.md", "s"):
        for call in (
            lambda path=path: files.read(path),
            lambda path=path: files.write(path, b"x", expect=None),
            lambda path=path: files.append(path, b"x\n"),
            lambda path=path: files.remove(path, expect="0" * 64),
        ):
            with pytest.raises(Unreadable) as caught:
                call()
            assert caught.value.reason == "special_file"
    assert files.stamps(["MEMORY.md", "s"]) == [None, None]
    assert [entry.kind for entry in files.list()] == ["special", "special"]
    assert time.monotonic() - started < 5


ODD = [
    "new\nline.md",
    "tab\t.md",
    "x" * 255,
    "aux.md",
    "a\\b.md",
    "~",
    " lead",
    "end.",
    "%2e%2e",
    "\udcff\udcfe.md",
    "\x1b[31m",
]


@pytest.mark.parametrize("name", ODD)
def test_an_existing_file_with_an_odd_name_is_listed_read_and_changed(tmp_path: Path, name: str) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / name).write_bytes(b"odd")
    files = LocalFiles(tmp_path)
    (entry,) = walk(files, skip=lambda _: False)
    content = files.read(entry.path)
    assert content.data == b"odd"
    assert files.stamps([entry.path]) == [entry.stamp]
    digest = files.write(entry.path, b"changed", expect=content.digest)
    files.append(entry.path, b"x\n")
    assert files.read(entry.path).data == b"changed\nx\n"
    assert digest != files.read(entry.path).digest
    files.remove(entry.path, expect=files.read(entry.path).digest)
    assert files.list("d") == []


def test_a_file_can_be_made_in_a_directory_whose_name_is_odd(tmp_path: Path) -> None:
    (tmp_path / "aux").mkdir()
    files = LocalFiles(tmp_path)
    files.write("aux/plan.md", b"x", expect=None)
    assert (tmp_path / "aux" / "plan.md").read_bytes() == b"x"


def test_a_name_longer_than_the_disk_allows_is_absent(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    assert files.read("x" * 300) is None
    assert files.list("x" * 300) == []
    assert files.stamps(["x" * 300, f"{'x' * 300}/y"]) == [None, None]


def test_a_sparse_terabyte_is_refused_without_being_read(tmp_path: Path) -> None:
    with (tmp_path / "big.md").open("wb") as file:
        file.truncate(1 << 40)
    files = LocalFiles(tmp_path)
    started = time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for call in (
        lambda: files.read("big.md"),
        lambda: files.write("big.md", b"", expect="0" * 64),
        lambda: files.remove("big.md", expect="0" * 64),
    ):
        with pytest.raises(Unreadable) as caught:
            call()
        assert caught.value.reason == "too_large"
    assert files.list()[0].size == 1 << 40
    assert time.process_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_a_file_that_keeps_growing_is_read_as_a_whole_number_of_writes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.is_set() and file.tell() < 20_000_000:
                file.write(b"0123456789abcde\n")

    thread = threading.Thread(target=grow)
    thread.start()
    files = LocalFiles(tmp_path)
    try:
        for _ in range(50):
            content = files.read("log", limit=1 << 30)
            assert len(content.data) % 16 == 0
    finally:
        stop.set()
        thread.join()


def test_a_file_replaced_again_and_again_is_never_read_torn(tmp_path: Path) -> None:
    path = tmp_path / "f.md"
    path.write_bytes(b"a" * 300_000)
    stop = threading.Event()

    def replace() -> None:
        for letter in b"bcdefgh" * 1000:
            if stop.is_set():
                return
            (tmp_path / "f.new").write_bytes(bytes([letter]) * 300_000)
            (tmp_path / "f.new").rename(path)

    thread = threading.Thread(target=replace)
    thread.start()
    files = LocalFiles(tmp_path)
    try:
        for _ in range(100):
            content = files.read("f.md")
            assert len(content.data) == 300_000
            assert len(set(content.data)) == 1
    finally:
        stop.set()
        thread.join()


def test_a_fresh_file_is_not_settled_and_an_old_one_is(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.write("fresh.md", b"x", expect=None)
    assert not is_settled(files.stamps(["fresh.md"])[0], time.time_ns())
    # Only the kernel sets ctime, so an old file has to be one that was there before.
    old = LocalFiles(Path(os.__file__).parent).stamps(["os.py"])[0]
    assert is_settled(old, time.time_ns())


def test_a_file_from_before_the_clock_was_set_back_is_settled_and_one_on_a_server_that_is_ahead_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.md").write_text("x")
    (stamp,) = LocalFiles(tmp_path).stamps(["a.md"])
    assert stamp is not None
    minute = 60_000_000_000
    assert not is_settled(stamp, stamp[3] - minute)
    assert is_settled(stamp, stamp[3] - 60 * minute)
    assert is_settled(stamp, stamp[3] + minute)


def test_a_changed_file_with_a_forged_old_time_is_not_settled(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    os.utime(tmp_path / "a.md", (1, 1))
    assert not is_settled(LocalFiles(tmp_path).stamps(["a.md"])[0], time.time_ns())


def test_a_file_that_goes_between_list_and_read_is_absent(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    files = LocalFiles(tmp_path)
    (entry,) = files.list()
    (tmp_path / "a.md").unlink()
    assert files.read(entry.path) is None
    assert files.stamps([entry.path]) == [None]


def test_a_tree_a_thousand_deep_is_walked(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("deeper", dir_fd=fd)
        below = os.open("deeper", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(os.open("leaf.md", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    files = LocalFiles(tmp_path)
    try:
        (leaf,) = walk(files, skip=lambda _: False)
        assert leaf.path.count("/") == 1000
        assert files.read(leaf.path).data == b""
        assert files.stamps([leaf.path]) == [leaf.stamp]
    finally:
        # pytest's own cleaning recurses, and would fail on what we pass.
        subprocess.run(["rm", "-rf", str(tmp_path / "deeper")], check=True)


def test_three_thousand_files_in_one_directory_are_listed_quickly(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    for i in range(3_000):
        os.close(os.open(f"{i}.md", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    started = time.process_time()
    listed = LocalFiles(tmp_path).list()
    assert time.process_time() - started < 5
    assert [entry.path for entry in listed] == sorted(f"{i}.md" for i in range(3_000))


def test_the_root_must_be_a_directory_that_exists(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        LocalFiles(tmp_path / "nowhere")
    assert missing.value.hint
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        LocalFiles(tmp_path / "file")


def test_a_root_that_is_removed_at_run_time_is_an_error_for_every_verb(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    files = LocalFiles(root)
    root.rmdir()
    for call in (
        lambda: files.read("a"),
        lambda: files.stamps(["a"]),
        files.list,
        lambda: files.write("a", b"", expect=None),
        lambda: files.append("a", b"\n"),
        lambda: files.remove("a", expect="0" * 64),
    ):
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.code == "root_missing"
    assert not root.exists()


def test_a_root_that_is_a_link_stays_where_it_was_opened(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.md").write_text("SECRET")
    (tmp_path / "ws").symlink_to("one")
    files = LocalFiles(tmp_path / "ws")
    (tmp_path / "ws").unlink()
    (tmp_path / "ws").symlink_to("two")
    assert files.read("a.md") is None


def test_no_file_is_held_open_between_operations(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    before = descriptors()
    digest = files.write("a/b/c.md", b"x", expect=None)
    files.part("a/b/c.md", 0, 1)
    (tmp_path / "l").symlink_to("a/b/c.md")
    (tmp_path / "out").symlink_to("..")
    for path in ("l", "out", "a", "absent", "a/b/c.md/x"):
        with suppress(Unreadable):
            files.read(path)
    files.list("a/b")
    files.stamps(["a/b/c.md", "x/y", "l"])
    with pytest.raises(Unreadable):
        files.list("l")
    assert digest
    assert descriptors() == before


def descriptors() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory outside pytest's own, which only its owner may enter."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        path = Path(made)
        path.chmod(0o777)
        yield path
        for below in path.rglob("*"):
            below.chmod(0o700)


BOUND = """
import os, resource
from carrel.files import walk
from carrel.files import is_settled
from carrel.files.local import LocalFiles
if os.geteuid() == 0:  # after the imports: the interpreter itself may be the superuser's
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, getattr(error, "reason", error.code), bool(error.hint))
"""


def as_nobody(root: Path, code: str) -> str:
    """Run code as a user whom permissions bind, also when the tests run as the superuser."""
    script = f"{BOUND}\nfiles = LocalFiles({str(root)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_permissions_forbid_is_unreadable_or_read_only_and_never_empty(open_to_all: Path) -> None:
    root = open_to_all
    (root / "secret.md").write_text("x")
    (root / "shut").mkdir()
    (root / "shut" / "a.md").write_text("x")
    (root / "fixed").mkdir()
    (root / "fixed" / "a.md").write_text("x")
    for path, mode in (("secret.md", 0), ("fixed/a.md", 0o444), ("shut", 0), ("fixed", 0o555)):
        (root / path).chmod(mode)
    said = as_nobody(
        root,
        """
attempt(lambda: files.read("secret.md"))
attempt(lambda: files.read("shut/a.md"))
attempt(lambda: files.list("shut"))
attempt(lambda: files.stamps(["shut/a.md"]))
attempt(lambda: files.read("fixed/a.md").data)
attempt(lambda: files.write("fixed/new.md", b"y", expect=None))
attempt(lambda: files.append("fixed/new.md", b"y"))
attempt(lambda: files.write("shut/new.md", b"y", expect=None))
attempt(lambda: [(e.path, e.kind) for e in walk(files, skip=lambda e: False)])
""",
    )
    assert said.splitlines() == [
        "Unreadable permission True",
        "Unreadable permission True",
        "Unreadable permission True",
        "[None]",
        "b'x'",
        "ReadOnly read_only True",
        "ReadOnly read_only True",
        "ReadOnly read_only True",
        "[('fixed/a.md', 'file'), ('secret.md', 'file'), ('shut', 'directory')]",
    ]
    assert (root / "fixed" / "a.md").read_text() == "x"


def test_running_out_of_descriptors_is_a_typed_error_and_passes(open_to_all: Path) -> None:
    (open_to_all / "d").mkdir()
    (open_to_all / "d" / "a.md").write_text("x")
    (open_to_all / "d" / "a.md").chmod(0o666)
    (open_to_all / "d").chmod(0o777)
    said = as_nobody(
        open_to_all,
        """
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
held = []
try:
    while True: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError: pass
outcomes, nameless = set(), set()
for spare in range(6):
    for call in (lambda: files.read("d/a.md"), lambda: files.list("d"),
                 lambda: files.write("d/b.md", b"", expect=None), lambda: files.append("d/a.md", b"y"),
                 lambda: files.list()):
        try: call()
        except Exception as error:
            outcomes.add(type(error).__name__)
            if " :" in str(error): nameless.add(str(error))
    os.close(held.pop())
print(sorted(outcomes - {"Stale"}))
print(sorted(nameless))
for fd in held: os.close(fd)
attempt(lambda: files.read("d/b.md").data)
""",
    )
    first, nameless, last = said.splitlines()
    assert set(eval(first)) <= {"Unreadable", "DiskFailed"}
    assert nameless == "[]"
    assert last == "b''"
