"""Rulers: the units that limits are counted in, and the cut that each layout's unit calls for."""

from collections.abc import Callable
from hashlib import sha256
from typing import Protocol

from carrel.context.truncate import Cut, Marker, cut, cut_exactly, cut_middle, finish
from carrel.workspace.counts import NO_PLACE, TokenCounts
from carrel.workspace.layout import Keep, Unit


class Ruler(Protocol):
    """Measures and cuts in one unit."""

    def size(self, text: str) -> int:
        """Return how much room a text takes."""
        ...

    def cut(self, text: str, limit: int, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
        """Shorten a text to a limit; none where not even a character of it fits."""
        ...


class CharacterRuler:
    """Counts code points."""

    def size(self, text: str) -> int:
        """Return the code points of a text."""
        return len(text)

    def spans(self, text: str, keep: Keep) -> Callable[[int], int]:
        """A unit is a character at either end."""
        del text, keep
        return int

    def cut(self, text: str, limit: int, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
        """Cut at one end, or where both are kept in the middle."""
        if keep == "both":
            return cut_middle(text, limit, marker=marker, path=path)
        return cut(text, limit, self, keep=keep, marker=marker, path=path)


class QuarterRuler:
    """Takes four characters for a token, rounded down."""

    def size(self, text: str) -> int:
        """Return a quarter of the code points."""
        return len(text) // 4

    def cut(self, text: str, limit: int, *, keep: Keep, marker: Marker, path: str) -> Cut:
        """Cut exactly, without looking for a better place."""
        del keep
        return cut_exactly(text, limit * 4, marker=marker, path=path)


class TokenRuler:
    """Counts tokens, each text once."""

    def __init__(self, counts: TokenCounts) -> None:
        self._counts = counts

    def size(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._counts.count(text)

    def spans(self, text: str, keep: Keep) -> Callable[[int], int]:
        """Encode once; n tokens then cover the whole characters that their bytes spell."""
        tokenizer = self._counts.tokenizer
        ids = tokenizer.encode(text)

        def covered(count: int) -> int:
            chosen = ids[:count] if keep == "head" else ids[max(len(ids) - count, 0) :]
            return len(tokenizer.decode(chosen).decode("utf-8", "ignore"))

        return covered

    def cut(self, text: str, limit: int, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
        """Cut as `truncate.cut` does, but only once per text and rule, in any process."""
        rule = f"{limit} {keep} {sha256(f'{marker}{path}'.encode('utf-8', 'replace')).hexdigest()[:16]}"
        known = self._counts.place(text, rule)
        if known is None:
            done = cut(text, limit, self, keep=keep, marker=marker, path=path)
            self._counts.keep_place(text, rule, (*done.spans[0], done.marked) if done else NO_PLACE)
            return done
        if known == NO_PLACE:
            return None
        span = (known[0], known[1])
        if not known[2]:
            return Cut(text=text[span[0] : span[1]], spans=(span,), marked=False)
        finished = finish(text, span, self, keep=keep, marker=marker, path=path, limit=limit)
        return Cut(text=finished, spans=(span,))


def ruler_for(unit: Unit, counts: TokenCounts) -> Ruler:
    """Return the ruler of a unit."""
    if unit == "tokens":
        return TokenRuler(counts)
    return CharacterRuler() if unit == "characters" else QuarterRuler()
