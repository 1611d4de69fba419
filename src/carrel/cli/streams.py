"""What comes in a message a line, and what goes out as a new file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import click

from carrel import plainjson
from carrel.errors import UsageError
from carrel.files import READ_LIMIT, show
from carrel.sessions.transcript import LINE_LIMIT
from carrel.sessions.turn import BadMessage


class LineTooLong(UsageError):
    """A line of standard input has more bytes than any message."""

    code = "line_too_long"

    def __init__(self) -> None:
        super().__init__(
            f"The line has more than {LINE_LIMIT:,} bytes.",
            hint="One message a line. Put a long text into a file, and let the message name it.",
        )


class TooLarge(UsageError):
    """More was given than one file may hold here."""

    code = "too_large"

    def __init__(self) -> None:
        super().__init__(f"More than {READ_LIMIT:,} bytes were given.", hint="Split it into several files.")


def all_given() -> bytes:
    """Return what standard input holds; a closed one is a mistake, and no reason to empty a file."""
    stream: TextIO | None = sys.stdin  # none where the shell closed it
    if stream is None:
        raise click.UsageError("Standard input is closed: there is no text to write.")
    data = stream.buffer.read(READ_LIMIT + 1)
    if len(data) > READ_LIMIT:
        raise TooLarge
    return data


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


def save(target: Path, pieces: Iterator[str], *, dry_run: bool = False) -> int:
    """Write a new file, whole or not at all and for its owner's eyes; return its size."""
    from carrel.backing.newfile import new_file, refuse_file  # noqa: PLC0415 - few commands make one

    if not target.parent.is_dir():
        raise click.UsageError(f"There is no directory {show(str(target.parent))}.")
    if dry_run:
        refuse_file(target)
        return sum(len(piece.encode("utf-8", "replace")) for piece in pieces)
    with new_file(target) as stream:
        return sum(stream.write(piece.encode("utf-8", "replace")) for piece in pieces)
