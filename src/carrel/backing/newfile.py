"""A new file beside the workspace: whole and durable under its name, or not there at all."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from carrel.errors import Conflict
from carrel.files.disk import typed_failures
from carrel.files.folders import make_folders, sync_folder
from carrel.files.paths import TEMPORARY


class FileTaken(Conflict):
    """There is a file of this name already."""

    code = "file_taken"

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} exists already.", hint="Name another file, or remove this one first.")


def refuse_file(file: Path) -> None:
    """Refuse a place where something is."""
    if os.path.lexists(file):
        raise FileTaken(file)


@contextmanager
def new_file(file: Path) -> Generator[IO[bytes]]:
    """Write a file for its owner's eyes; it has its name once all went well and all of it is durable.

    Until then it has another one, `stream.name`.
    """
    refuse_file(file)
    hidden = file.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
    with typed_failures(str(file)):
        make_folders(file.parent, mode=0o700)
        fd = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)  # which tells it from what a killed writer left
    try:
        with typed_failures(str(file)), hidden.open("r+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _settle(hidden, file)
    finally:
        with suppress(OSError):
            hidden.unlink()
        os.close(fd)


def _settle(hidden: Path, file: Path) -> None:
    """Give the file its name, which nobody may have taken meanwhile."""
    with typed_failures(str(file)):
        try:
            os.link(hidden, file)
        except FileExistsError:
            raise FileTaken(file) from None
        except OSError:  # a disk without links
            refuse_file(file)
            hidden.rename(file)
        sync_folder(file.parent)
