"""What comes in a message a line, and what goes out as a new file."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import click

from carrel import plainjson
from carrel.errors import Conflict, UsageError
from carrel.files import show
from carrel.files.disk import typed_failures
from carrel.files.paths import TEMPORARY
from carrel.sessions.transcript import LINE_LIMIT
from carrel.sessions.turn import BadMessage

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})


class LineTooLong(UsageError):
    """A line of standard input has more bytes than any message."""

    code = "line_too_long"

    def __init__(self) -> None:
        super().__init__(
            f"The line has more than {LINE_LIMIT:,} bytes.",
            hint="One message a line. Put a long text into a file, and let the message name it.",
        )


class OutputExists(Conflict):
    """There is something at the path that was to be written."""

    code = "output_exists"

    def __init__(self, path: str) -> None:
        super().__init__(f"{show(path)} exists already.", hint="Name another file, or remove it first.")


def numbered(stream: TextIO | None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers, as they come; of one too long only a part."""
    number = 0
    while stream is not None and (line := stream.buffer.readline(LINE_LIMIT + 1)):
        number += 1
        if line.strip():
            yield number, line


def message(line: bytes) -> dict[str, Any]:
    """Return the message that a line holds."""
    if len(line) > LINE_LIMIT:
        raise LineTooLong
    try:
        value = plainjson.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise BadMessage("is not JSON") from None
    if not isinstance(value, dict):
        raise BadMessage("is not an object")
    return cast("dict[str, Any]", value)


def save(target: Path, pieces: Iterator[str]) -> int:
    """Write a new file, whole or not at all and for its owner's eyes; return its size."""
    if os.path.lexists(target):
        raise OutputExists(str(target))
    if not target.parent.is_dir():
        raise click.UsageError(f"There is no directory {show(str(target.parent))}.")
    temporary = target.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
    with typed_failures(str(target)):
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(fd, "wb") as file:
                size = sum(file.write(piece.encode("utf-8", "replace")) for piece in pieces)
                file.flush()
                os.fsync(file.fileno())
            _place(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    return size


def _place(temporary: Path, target: Path) -> None:
    """Give a file its name if nothing has it."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise OutputExists(str(target)) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        target.touch(exist_ok=False)
        temporary.replace(target)
