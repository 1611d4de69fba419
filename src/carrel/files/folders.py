"""Folders outside any store: made for good, walked through and removed, however deep.

What Python has for this calls itself once for each level, and a stranger's workspace may have thousands.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from carrel.files.disk import Disk


def make_folders(folder: Path, *, mode: int = 0o777) -> None:
    """Make a folder where it is missing, and those above it; a power cut takes none of them away again.

    Where that cannot be said they are removed, and the next call tries again. The mode is of the last; an
    OSError is the caller's to type, who knows what it was for.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        for path in reversed(missing or [folder]):
            path.mkdir(mode=mode if path == folder else 0o777, exist_ok=True)
        for path in missing:
            sync_folder(path.parent)
    except OSError:
        for path in missing:
            with suppress(OSError):
                path.rmdir()
        raise


def sync_folder(folder: Path) -> None:
    """Return when the names in a folder would survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        Disk().fsync(fd)
    finally:
        os.close(fd)


def folders_below(top: Path) -> Iterator[Path]:
    """Yield a folder and all below it, each before those in it; not links, nor those that cannot be seen."""
    pending = [top]
    while pending:
        folder = pending.pop()
        yield folder
        with suppress(OSError), os.scandir(folder) as entries:
            pending += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]


def remove_folder(top: Path) -> None:
    """Remove a folder of ours with all in it; what its owner may not change there is made theirs first.

    What cannot be removed keeps nothing else: the first error is told at the end.
    """
    found, failed = list[Path](), list[OSError]()
    for folder in folders_below(top):
        with _gone_or_told(failed):
            folder.chmod(0o700)
        found.append(folder)
    for folder in reversed(found):
        with _gone_or_told(failed), os.scandir(folder) as entries:
            for entry in [each for each in entries if not each.is_dir(follow_symlinks=False)]:
                with _gone_or_told(failed):
                    Path(entry.path).unlink()
        with _gone_or_told(failed):
            folder.rmdir()
    if failed:
        raise failed[0]


@contextmanager
def _gone_or_told(failed: list[OSError]) -> Generator[None]:
    """Go on after an error, which is told unless somebody was quicker."""
    try:
        yield
    except FileNotFoundError:
        pass
    except OSError as error:
        failed.append(error)
