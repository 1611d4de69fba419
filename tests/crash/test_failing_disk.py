"""Every call to the disk fails once, for every operation: SQLite's way of testing, on our seam."""

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.errors import CarrelError, Unavailable
from carrel.files.disk import DiskFull
from carrel.files.local import LocalFiles
from carrel.testing import FaultyDisk

OLD = b"old line\n"
NEW = b"new line\n"
DIGEST = hashlib.sha256(OLD).hexdigest()

OPERATIONS: dict[str, tuple[Callable[[LocalFiles], object], str, bytes | None]] = {
    "replace": (lambda f: f.write("a.md", NEW, expect=DIGEST), "a.md", NEW),
    "create": (lambda f: f.write("new.md", NEW, expect=None), "new.md", NEW),
    "create in new directories": (lambda f: f.write("x/y/new.md", NEW, expect=None), "x/y/new.md", NEW),
    "append": (lambda f: f.append("a.md", NEW), "a.md", OLD + NEW),
    "append to nothing": (lambda f: f.append("x/log.jsonl", NEW), "x/log.jsonl", NEW),
    "append to a hard link": (lambda f: f.append("hard.md", NEW), "hard.md", OLD + NEW),
    "remove": (lambda f: f.remove("a.md", expect=DIGEST), "a.md", None),
}
FAULTS = {
    "EIO": {"error": errno.EIO},
    "ENOSPC": {"error": errno.ENOSPC},
    "EDQUOT": {"error": errno.EDQUOT},
    "EROFS": {"error": errno.EROFS},
    "EMFILE": {"error": errno.EMFILE},
    "EINTR": {"error": errno.EINTR},
    "ENOENT": {"error": errno.ENOENT},
    "short write": {"short": True},
}


def build(root: Path) -> Path:
    root.mkdir()
    (root / "a.md").write_bytes(OLD)
    (root / "beside.md").write_bytes(OLD)
    os.link(root / "beside.md", root / "hard.md")
    return root


def found(root: Path, path: str) -> bytes | None:
    return (root / path).read_bytes() if (root / path).exists() else None


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_failed_call_leaves_old_or_new_a_typed_error_and_a_retry_that_works(
    tmp_path: Path, operation: str, fault: str
) -> None:
    act, path, after = OPERATIONS[operation]
    for turn in range(1, 100):
        root = build(tmp_path / str(turn))
        before = found(root, path)
        disk = FaultyDisk(fail_at=turn, **FAULTS[fault])
        error = attempt(act, LocalFiles(root, disk=disk))
        if error is None:
            assert found(root, path) == after
        else:
            assert error.hint
            assert found(root, path) in (before, after)
            if found(root, path) == before:
                act(LocalFiles(root))
            assert found(root, path) == after
        assert (root / "beside.md").read_bytes() == OLD
        assert not list(root.rglob(".carrel-tmp-*"))
        if turn > len(disk.calls):
            break
    assert turn > 2
    assert not disk.fired


def test_a_full_disk_is_named_as_such(tmp_path: Path) -> None:
    root = build(tmp_path / "ws")
    for turn, _ in enumerate(["open", "lock", "resemble", "write"], 1):
        files = LocalFiles(root, disk=FaultyDisk(fail_at=turn, error=errno.ENOSPC))
        error = attempt(OPERATIONS["replace"][0], files)
        assert isinstance(error, DiskFull)
        assert "a.md" in error.message


def test_an_append_whose_repair_fails_too_is_isolated_by_the_next_append(tmp_path: Path) -> None:
    class Dying(FaultyDisk):
        def truncate(self, fd: int, size: int) -> None:  # noqa: ARG002  the disk's own signature
            raise OSError(errno.EIO, "gone")

    root = build(tmp_path / "ws")
    with pytest.raises(Unavailable):
        LocalFiles(root, disk=Dying(fail_at=3, short=True)).append("a.md", b'{"whole":1}\n')
    torn = (root / "a.md").read_bytes()
    assert torn.startswith(OLD)
    LocalFiles(root).append("a.md", b'{"next":2}\n')
    assert (root / "a.md").read_bytes() == torn + b"\n" + b'{"next":2}\n'


def test_a_real_full_disk_leaves_the_old_file_and_recovers(tmp_path: Path) -> None:
    """A limit on file size is the kernel's own way to stop a write at byte k."""
    root = build(tmp_path / "ws")
    for limit in (1, 100, 4096, 9999):
        report = run_limited(root, limit)
        assert report == "disk_full disk_full"
        assert found(root, "a.md") == OLD
        assert sorted(path.name for path in root.iterdir()) == ["a.md", "beside.md", "hard.md"]


def run_limited(root: Path, limit: int) -> str:
    script = f"""
import resource, signal
from carrel.errors import CarrelError
from carrel.files.local import LocalFiles
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
files = LocalFiles({str(root)!r})
for call in (lambda: files.write("a.md", b"x" * 10000, expect={DIGEST!r}), lambda: files.append("a.md", b"x" * 10000)):
    try:
        call()
    except CarrelError as error:
        print(error.code, end=" ")
"""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def attempt(act: Callable[[LocalFiles], object], files: LocalFiles) -> CarrelError | None:
    """Return the typed error; anything else, a conflict too, is a bug and fails the test."""
    try:
        act(files)
    except Unavailable as error:
        return error
    return None
