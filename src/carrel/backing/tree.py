"""A directory that nobody sees until all of it is there: filled under another name, then renamed.

What a killed writer left is removed by the next who wants the same place; the kernel's lock tells the two
apart.
"""

import fcntl
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

from carrel.errors import Conflict
from carrel.files.disk import typed_failures
from carrel.files.folders import folders_below, make_folders, remove_folder, sync_folder
from carrel.files.paths import TEMPORARY

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class RestoreUnderWay(Conflict):
    """Somebody else fills the same place."""

    code = "restore_under_way"

    def __init__(self, target: Path) -> None:
        super().__init__(f"Another restore into {target} is under way.", hint="Wait for it, then look.")


class PlaceTaken(Conflict):
    """There is something where the new directory should be."""

    code = "place_taken"

    def __init__(self, target: Path) -> None:
        super().__init__(
            f"{target} is not empty.",
            hint=f"Name a new directory, or move this one away first: mv {target} {target}.old",
        )


def refuse_taken(target: Path) -> None:
    """Refuse a place where anything is, but for an empty directory."""
    with typed_failures(str(target)):
        is_taken = os.path.lexists(target) and (
            target.is_symlink() or not target.is_dir() or any(target.iterdir())
        )
    if is_taken:
        raise PlaceTaken(target)


@contextmanager
def unseen(target: Path) -> Generator[Path]:
    """Hold an empty directory beside the target; it takes the target's place when all went well.

    The lock is on a folder around it: whoever writes inside locks the directory itself.
    """
    refuse_taken(target)
    around = target.with_name(f"{TEMPORARY}restore-{target.name}")
    with typed_failures(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        fd = _locked(around, target)
    try:
        with typed_failures(str(around)):
            _emptied(around)
            beside = around / "whole"
            beside.mkdir(mode=0o700)
        yield beside
        refuse_taken(target)
        with typed_failures(str(target)):
            _sync_folders(beside)
            beside.rename(target)
            sync_folder(target.parent)
    finally:
        with suppress(OSError):
            remove_folder(around)
        os.close(fd)


def put(root: Path, path: str, chunks: Iterable[bytes]) -> None:
    """Write a new file below a directory that is nobody else's yet; its bytes are durable."""
    place = root / path
    with typed_failures(path):
        make_folders(place.parent)
        fd = os.open(place, _NEW, 0o666)
    with os.fdopen(fd, "wb") as stream:
        for chunk in chunks:
            with typed_failures(path):
                stream.write(chunk)
        with typed_failures(path):
            stream.flush()
            os.fsync(fd)


def _locked(around: Path, target: Path) -> int:
    """Make the folder, or take over one that a killed restore left behind."""
    with suppress(FileExistsError):
        around.mkdir(mode=0o700)
    fd = os.open(around, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise RestoreUnderWay(target) from None
    return fd


def _emptied(folder: Path) -> None:
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            remove_folder(each)
        else:
            each.unlink()


def _sync_folders(root: Path) -> None:
    for folder in folders_below(root):
        sync_folder(folder)
