"""What the demo shows: headings, commands and what they print, each claim with whether it held."""

import re
import shutil
import sys
from collections.abc import Iterator
from itertools import count

from carrel.cli import output
from carrel.cli.chat.voice import safe

_WIDEST = 100
_MARGIN = "  "
_TOKEN = re.compile(r"\x1b\[[0-9;]*m|[^\S\x1b]+|[^\s\x1b]+")
_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")
_PLAIN = "\x1b[0m"
_LEAD = re.compile(r"^\s*(?:[-·✓✗$+] )?")
_WHEEL = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class Screen:
    """Prints the story as it happens; on a terminal with colours, wrapped, and a wheel while it waits.

    A pipe gets the lines as they are: no escape codes, no carriage returns, nothing wrapped.
    """

    def __init__(self, *, is_silent: bool = False) -> None:
        self.is_silent = is_silent
        self._is_watched = not is_silent and sys.stdout.isatty()
        self.width = min(shutil.get_terminal_size().columns, _WIDEST)
        self._turns = count()
        self._waiting = 0
        self._begun = ""

    @property
    def room(self) -> int:
        """How many characters of a line a command may fill."""
        return self.width - len(_MARGIN)

    def heading(self, number: int, of: int, title: str, shows: str) -> None:
        """Begin a step: how far the story is, its title, and what is to be seen."""
        done = self.width * number // of
        self._line(f"\n{output.styled(f'{number} of {of}', fg='cyan')}  {output.styled(title, bold=True)}")
        rest = output.styled("─" * (self.width - done), dim=True)
        self._line(output.styled("━" * done, fg="cyan") + rest)
        self.say(f"{shows}\n")

    def say(self, text: str) -> None:
        """Print a sentence."""
        for line in text.split("\n"):
            self._wrapped(line, "")

    def command(self, text: str) -> None:
        """Print what is typed, which may go on in further lines."""
        first, *more = text.split("\n")
        self._wrapped(f"{output.styled('$', fg='green', bold=True)} {output.styled(first, bold=True)}", "")
        for line in more:
            self._wrapped(output.styled(line, bold=True), _MARGIN)

    def typed(self, text: str) -> None:
        """Print what is said to a program that listens."""
        self._wrapped(output.styled(text, bold=True), _MARGIN)

    def printed(self, text: str) -> None:
        """Print what a command prints, as its lines come."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._wrapped(line, _MARGIN)

    def ended(self) -> None:
        """End what a command has printed, in the middle of a line or not."""
        if self._begun:
            self.printed("\n")
        self._stop_waiting()
        self._line("")

    def holds(self, claim: str, *, is_true: bool) -> None:
        """Say whether what the step claims was observed."""
        sign = (
            output.styled("✓", fg="green", bold=True) if is_true else output.styled("✗", fg="red", bold=True)
        )
        self._wrapped(f"{sign} {claim}", "")

    def wait(self, seconds: float) -> None:
        """Turn the wheel where somebody looks."""
        if self._is_watched:
            text = f"{_MARGIN}{_WHEEL[next(self._turns) % len(_WHEEL)]} {seconds:.1f} s"
            output.write(f"\r{text}")
            self._waiting = len(text)

    def _stop_waiting(self) -> None:
        if self._waiting:
            output.write(f"\r{' ' * self._waiting}\r")
            self._waiting = 0

    def _wrapped(self, line: str, margin: str) -> None:
        shown = "".join(each if _COLOUR.fullmatch(each) else safe(each) for each in _COLOUR.split(line))
        rows = wrap(shown, self.width - len(margin)) if self._is_watched else (shown,)
        for row in rows:
            self._line(f"{margin}{row}".rstrip())

    def _line(self, text: str) -> None:
        if not self.is_silent:
            self._stop_waiting()
            output.line(text)


def wrap(line: str, width: int) -> Iterator[str]:
    """Yield a line in pieces of so many characters at most, those of colours not counted.

    What goes on begins where the text of the line began, in its colour; a word that is longer stays whole.
    """
    bare = _COLOUR.sub("", line)
    lead = len(bare) - len(_LEAD.sub("", bare, count=1))
    row, used, colour = "", 0, ""
    for token in _TOKEN.findall(line):
        if _COLOUR.fullmatch(token):
            colour = "" if token == _PLAIN else colour + token
            row += token
            continue
        if used + len(token) > width and used > lead:
            yield row + (_PLAIN if colour else "")
            row, used = " " * lead + colour, lead
            token = token.lstrip()  # noqa: PLW2901 - a line does not begin with the space before a word
        row, used = row + token, used + len(token)
    yield row
