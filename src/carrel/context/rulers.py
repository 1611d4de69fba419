"""Rulers: the units that limits are counted in."""

from collections.abc import Callable
from hashlib import sha256

from carrel.context.truncate import Cut, Marker, cut, finish
from carrel.workspace.counts import NO_PLACE, TokenCounts
from carrel.workspace.layout import Keep


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
        """Cut as `truncate.cut` does."""
        return cut(text, limit, self, keep=keep, marker=marker, path=path)


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
            chosen = ids[:count] if keep == "head" else ids[len(ids) - count :]
            return len(tokenizer.decode(chosen).decode("utf-8", "ignore"))

        return covered

    def cut(self, text: str, limit: int, *, keep: Keep, marker: Marker, path: str) -> Cut | None:
        """Cut as `truncate.cut` does, but only once per text and rule, in any process."""
        rule = f"{limit} {keep} {sha256(f'{marker}{path}'.encode('utf-8', 'replace')).hexdigest()[:16]}"
        known = self._counts.place(text, rule)
        if known is None:
            done = cut(text, limit, self, keep=keep, marker=marker, path=path)
            self._counts.keep_place(text, rule, (done.start, done.end, done.kept) if done else NO_PLACE)
            return done
        if known == NO_PLACE:
            return None
        start, end, kept = known
        line = marker.text(path=path, kept=kept, whole=self.size(text), limit=limit)
        finished = finish(text[start:end], line, keep=keep, before=marker.before)
        return Cut(start=start, end=end, kept=kept, text=finished)
