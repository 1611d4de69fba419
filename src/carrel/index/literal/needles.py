r"""What is looked for: a substring, with or without its case, or a regular expression.

Finding takes time linear in the text. Patterns are RE2's, which have no look-around and no backreferences,
and in which `\w` is ASCII; a match stays within its line. A match has at least one character.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import accumulate, pairwise
from time import monotonic
from typing import Any, Protocol

from carrel.errors import UsageError
from carrel.screen.secrets import redact
from carrel.sessions.search import MOST_RANGES, Range

LONGEST_SUBSTRING = 10_000
LONGEST_PATTERN = 1_000
LARGEST_PROGRAM = 5_000
"""Steps of a compiled pattern: where RE2 must take its slowest way, the time grows with them."""

_PIECE = 1 << 16  # characters after which a pattern looks at the clock, at the next end of a line
_MOST_MISSES = 10_000  # in one text: empty matches, and matches that begin or end inside of a character
_NEWLINE = "\n"
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_BY_LINE = "(?m)"
_LAST_EXPANDING = 0xFB20
_HINT = (
    "Patterns are RE2's: no look-around such as (?=a), no backreferences such as \\1. "
    "To find the text as it stands, use the literal mode."
)


class BadPattern(UsageError):
    """What is looked for cannot be looked for: it is too long, or no pattern of RE2."""

    code = "bad_pattern"

    def __init__(self, problem: str, *, hint: str) -> None:
        super().__init__(f"The pattern cannot be used: {problem}.", hint=hint)
        self.problem = problem


class Needle(Protocol):
    """What is looked for."""

    def find(self, text: str, end: float) -> Iterator[Range]:
        """Yield where the matches are, in order, none overlapping another; raise GaveUp after `end`."""
        ...


class GaveUp(Exception):
    """The rest of a text is not searched."""


def substring(wanted: str, *, case: bool = False) -> Needle:
    """Return a needle for these very characters; without `case`, for any that fold to the same."""
    _check_length(wanted, LONGEST_SUBSTRING)
    wanted = wanted.replace("\r\n", _NEWLINE)
    return _Exact(wanted) if case else _Folded(wanted.casefold())


def pattern(wanted: str, *, case: bool = False) -> Needle:
    """Return a needle for a regular expression of RE2, with `^` and `$` at the ends of lines."""
    _check_length(wanted, LONGEST_PATTERN)
    return _Pattern(_compiled(wanted.translate(_SURROGATES), case=case))


def _check_length(wanted: str, most: int) -> None:
    if len(wanted) > most:
        raise BadPattern(
            f"it has {len(wanted):,} characters, and the most is {most:,}",
            hint="Look for a shorter part of it, or search for its words.",
        )


class _Exact:
    """These characters, and no others."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def find(self, text: str, end: float) -> Iterator[Range]:  # noqa: ARG002 - quick whatever the text
        if not self._wanted:
            return
        quota = _Quota(text)
        start = text.find(self._wanted)
        while start >= 0:
            stop = start + len(self._wanted)
            yield start, stop
            start = text.find(self._wanted, quota.after(start, stop))


class _Folded:
    """Characters that fold to these: a letter in either case, `ß` for `SS`, a ligature for its letters."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def find(self, text: str, end: float) -> Iterator[Range]:
        folded = text.casefold()
        found = _Exact(self._wanted).find(folded, end)
        return found if len(folded) == len(text) else self._unfolded(text, folded)

    def _unfolded(self, text: str, folded: str) -> Iterator[Range]:
        """Yield the ranges of the text itself; half of a character that folds to two is no match."""
        places = _Places(text)
        misses = 0
        quota = _Quota(text)
        start = folded.find(self._wanted) if self._wanted else -1
        while start >= 0:
            stop = start + len(self._wanted)
            first, after = places.unfolded(start), places.unfolded(stop)
            if first is None or after is None:
                misses += 1
                if misses > _MOST_MISSES:
                    raise GaveUp
                start = folded.find(self._wanted, start + 1)
                continue
            yield first, after
            onward = quota.after(first, after)
            start = folded.find(self._wanted, places.folded(onward))


class _Places:
    """Where characters of a text are once it is folded; only those that become longer are kept."""

    def __init__(self, text: str) -> None:
        found = [(match.start(), len(match[0].casefold()) - 1) for match in _expanding().finditer(text)]
        self._starts = [start for start, _ in found]
        self._extra = [0, *accumulate(extra for _, extra in found)]
        self._folded = [start + extra for start, extra in zip(self._starts, self._extra, strict=False)]

    def folded(self, place: int) -> int:
        return place + self._extra[bisect_left(self._starts, place)]

    def unfolded(self, place: int) -> int | None:
        """Return where in the text a place of the folded one is, None inside of a character."""
        before = bisect_left(self._folded, place)  # characters that become longer and begin before the place
        unfolded = place - self._extra[before]
        is_inside = before > 0 and unfolded <= self._starts[before - 1]
        return None if is_inside else unfolded


class _Pattern:
    """What a compiled expression of RE2 finds."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def find(self, text: str, end: float) -> Iterator[Range]:
        starts = range(0, len(text), _PIECE)
        ends = [text.find(_NEWLINE, start) + 1 or len(text) for start in starts[1:]]
        for start, stop in pairwise([0, *dict.fromkeys(ends), len(text)]):
            if monotonic() > end:
                raise GaveUp
            for first, after in self._within(text[start:stop]):
                yield start + first, start + after

    def _within(self, text: str) -> Iterator[Range]:
        data = _encoded(text)
        quota = _Quota(data)
        misses = place = known = characters = 0
        while place <= len(data) and (match := self._compiled.search(data, place)):
            start, stop = match.span()
            if start == stop:
                misses += 1
                if misses > _MOST_MISSES:
                    raise GaveUp
                place = _next_character(data, start)
                continue
            first = characters + _count(data, known, start)
            known, characters = stop, first + _count(data, start, stop)
            yield first, characters
            place = quota.after(start, stop)


class _Quota:
    """Sees to it that no line costs more than its share: after enough matches the rest of it is passed over.

    A pattern may have to read to the end of a line for every match in it.
    """

    def __init__(self, text: str | bytes) -> None:
        self._text: Any = text
        self._newline: Any = _NEWLINE if isinstance(text, str) else _NEWLINE.encode()
        self._end_of_line = -1
        self._matches = 0

    def after(self, start: int, stop: int) -> int:
        """Return where to look on after a match."""
        if start > self._end_of_line:
            found: int = self._text.find(self._newline, start)
            self._end_of_line = found if found >= 0 else len(self._text)
            self._matches = 0
        self._matches += 1
        return stop if self._matches < MOST_RANGES else max(stop, self._end_of_line)


def _compiled(wanted: str, *, case: bool) -> Any:
    re2: Any = import_module("re2")  # only who looks for a pattern needs it, and it has no types
    options = re2.Options()
    options.case_sensitive = case
    options.log_errors = False
    options.never_capture = True
    options.never_nl = True
    try:
        compiled = re2.compile(_BY_LINE + wanted, options)
    except re2.error as error:
        problem = error.args[0].decode("utf-8", "replace").replace(_BY_LINE, "", 1)
        raise BadPattern(redact(problem).text, hint=_HINT) from None  # it quotes what was asked for
    finally:
        re2.purge()  # it would keep the last 128, each with megabytes of states
    if compiled.programsize > LARGEST_PROGRAM:
        raise BadPattern("it is too large", hint="Use smaller counts: .{0,50} rather than .{0,500}.")
    if compiled.search(b""):
        raise BadPattern("it matches the empty text", hint="Ask for one character at least: a+ for a*.")
    return compiled


def _encoded(text: str) -> bytes:
    """Return the text in UTF-8, character for character; half of a surrogate pair has no form there."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.translate(_SURROGATES).encode()


def _count(data: bytes, start: int, stop: int) -> int:
    """Return how many characters there are between two places."""
    return len(data[start:stop].decode())


def _next_character(data: bytes, place: int) -> int:
    place += 1
    while place < len(data) and data[place] & 0xC0 == 0x80:  # noqa: PLR2004 - goes on with a character
        place += 1
    return place


@cache
def _expanding() -> re.Pattern[str]:
    """Return what finds the characters that become longer when their case is folded."""
    found = (char for char in map(chr, range(_LAST_EXPANDING)) if len(char.casefold()) > 1)
    return re.compile(f"[{''.join(found)}]")
