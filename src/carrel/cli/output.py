"""Printing: text for people, one JSON document for machines, always UTF-8."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import IO, Any

import click
from msgspec import Struct, json

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.plainjson import unicode_only

SCHEMA_VERSION = 1


class Manner(Struct):
    """How this command prints, as its options say."""

    is_quiet: bool = False
    """Nothing goes to standard error but errors."""
    stage: str = ""
    """What stands before every path of a dry run, and is not told."""
    noticed_by: list[Callable[[Finding], None]] = []
    """Who else is told of findings."""
    held: list[Mapping[str, Any]] | None = None
    """The documents of a dry run, which are printed once it is known what would change."""


manner = Manner()


def begin() -> None:
    """Print as no option says: for the first command of a process, and for the next."""
    manner.is_quiet, manner.stage, manner.noticed_by, manner.held = False, "", [], None


class ReaderGone(Exception):
    """Whoever read standard output has enough; click would take a BrokenPipeError for a failure."""


class OutputFailed(Unavailable):
    """Standard output cannot be written, so that nobody learns the rest."""

    code = "output_failed"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"Standard output cannot be written: {problem}.",
            hint="Send it to a file or pipe that has room.",
        )


def write(text: str, *, to_stderr: bool = False, is_error: bool = False) -> None:
    """Write text as UTF-8 whatever the locale says; what is not Unicode becomes `?`.

    On standard error it is left out where only errors are wanted, unless it is one.
    """
    to_stderr = to_stderr or is_error
    if to_stderr and manner.is_quiet and not is_error:
        return
    text = text.replace(manner.stage, "") if manner.stage else text
    stream: IO[str] | None = sys.stderr if to_stderr else sys.stdout  # none where the shell closed it
    data = text.encode("utf-8", "replace")
    if to_stderr:
        with suppress(OSError, ValueError):  # there is nobody left to tell
            _put(stream, data)
        return
    try:
        _put(stream, data)
    except BrokenPipeError:
        raise ReaderGone from None
    except (OSError, ValueError) as error:
        raise OutputFailed(getattr(error, "strerror", None) or str(error)) from None


def _put(stream: IO[str] | None, data: bytes) -> None:
    if stream is None:
        raise ValueError("it is closed")
    stream.flush()
    buffer: IO[bytes] | None = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode())
    else:
        buffer.write(data)
        buffer.flush()


def give_up() -> None:
    """Let go of what waits to be written, so that the interpreter does not try it again at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def line(text: str = "", *, to_stderr: bool = False, is_error: bool = False) -> None:
    """Write a line."""
    write(f"{text}\n", to_stderr=to_stderr, is_error=is_error)


def document(data: Mapping[str, Any]) -> None:
    """Write one JSON document with its version, on several lines where somebody looks at it."""
    if manner.held is not None:
        manner.held.append(data)
        return
    text = json.encode(unicode_only({"schema_version": SCHEMA_VERSION, **data}))
    line((json.format(text, indent=2) if _is_terminal() else text).decode())


def _is_terminal() -> bool:
    stream: IO[str] | None = sys.stdout
    return stream is not None and stream.isatty()


def styled(text: str, **style: Any) -> str:
    """Colour a text where somebody looks at it: on a terminal, and not against their wish."""
    return click.style(text, **style) if is_coloured() else text


def is_coloured() -> bool:
    """Tell whether colours are wanted; FORCE_COLOR wants them in a pipe, too, and NO_COLOR never."""
    wished = _is_terminal() or bool(os.environ.get("FORCE_COLOR"))
    return wished and not os.environ.get("NO_COLOR")


def printable(name: str) -> str:
    """Show a name so that no character of it moves the cursor or hides another."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)


def warnings(findings: Iterable[Finding]) -> None:
    """Tell a person on standard error what they should know of what was printed."""
    for finding in findings:
        for notice in manner.noticed_by:
            notice(finding)
        text = f"{finding.severity}: {printable(finding.message)} [{finding.code}]"
        line(f"{text} {printable(finding.hint)}".rstrip(), to_stderr=True)
