"""What a person or a pipe says: lines, put together to messages.

A line is a message. One that ends with a backslash goes on in the next, and between two marks of three
quotation marks everything is one message, word for word.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TextIO

from msgspec import Struct

from carrel.sessions.turn import MESSAGE_LIMIT, MessageTooLarge

QUOTES = '"""'
PROMPT = "you> "
MORE = "...> "
_LONGEST_LINE = 4 * MESSAGE_LIMIT
"""Bytes; a line with more has more characters than a message may have."""


class Typed(Struct, frozen=True):
    """One message as it was typed; one in quotation marks is never a command."""

    text: str
    is_quoted: bool = False


class Lines(Protocol):
    """Where lines come from."""

    def next(self, *, more: bool = False) -> str | None:
        """Return the next line without its end, none at the end of the input; `more` inside a message."""
        ...


class PipedLines:
    """The lines of standard input, as they come; bytes that are no text are kept as they are."""

    def next(self, *, more: bool = False) -> str | None:
        """Return the next line."""
        del more
        stream: TextIO | None = sys.stdin  # none where the shell closed it
        data = stream.buffer.readline(_LONGEST_LINE + 1) if stream else b""
        if len(data) > _LONGEST_LINE:
            raise MessageTooLarge(len(data))
        return data.decode("utf-8", "surrogateescape").rstrip("\r\n") if data else None


class PromptedLines:
    """The lines of somebody at a terminal, edited as it can; they are remembered as long as it is open."""

    def __init__(self) -> None:
        reconfigure = getattr(sys.stdin, "reconfigure", None)
        if reconfigure is not None:  # bytes that are no text must not end a conversation
            reconfigure(encoding="utf-8", errors="surrogateescape")
        self._begun: Callable[[], str] = lambda: ""
        with suppress(ImportError):  # not every Python has it
            import readline  # noqa: PLC0415 - nobody else needs it

            self._begun = readline.get_line_buffer

    def next(self, *, more: bool = False) -> str | None:
        """Ask for a line; Ctrl-C raises KeyboardInterrupt, Ctrl-D on an empty line ends the input."""
        try:
            return input(MORE if more else PROMPT)
        except (EOFError, OSError):  # a terminal that is gone says nothing more
            return None

    def begun(self) -> str:
        """Return what stood on the line when Ctrl-C was pressed."""
        return self._begun()


class _Draft:
    """A message in the making, which ends where it becomes too large to be one."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._size = 0

    def add(self, part: str) -> None:
        """Take a line in."""
        self.parts.append(part)
        self._size += len(part) + 1
        if self._size > MESSAGE_LIMIT:
            raise MessageTooLarge(self._size)


def read_message(lines: Lines) -> Typed | None:
    """Return the next message, none at the end of the input; what the end cuts off is a message too."""
    first = lines.next()
    if first is None:
        return None
    if first.lstrip().startswith(QUOTES):
        return Typed(_quoted(first.lstrip()[len(QUOTES) :], lines), is_quoted=True)
    draft = _Draft()
    line: str | None = first
    while line is not None and line.endswith("\\"):
        draft.add(line[:-1])
        line = lines.next(more=True)
    if line is not None:
        draft.add(line)
    return Typed("\n".join(draft.parts))


def _quoted(opening: str, lines: Lines) -> str:
    """Return everything up to the closing marks; the line of a mark that stands alone is no part of it."""
    draft = _Draft()
    line: str | None = opening
    while line is not None:
        ending = line.rstrip()
        if ending.endswith(QUOTES):
            draft.add(ending[: -len(QUOTES)])
            break
        draft.add(line)
        line = lines.next(more=True)
    parts = draft.parts
    if len(parts) > 1:
        parts = parts[not parts[0] : len(parts) - (not parts[-1])]
    return "\n".join(parts)
