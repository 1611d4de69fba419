"""Folders outside any store, which are there for good once they are made."""

import os
from pathlib import Path

from carrel.files.disk import Disk


def make_folders(folder: Path, *, mode: int = 0o777) -> None:
    """Make a folder where it is missing, and those above it; a power cut takes none of them away again.

    The mode is that of the last; an OSError is the caller's to type, who knows what it was for.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for path in missing:
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            Disk().fsync(fd)
        finally:
            os.close(fd)
