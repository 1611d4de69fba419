"""Is this string a secret? Find secrets in text and in nested values, and put a mark in their place.

    redact("use AKIA... here")  ->  "use [REDACTED:AWS_ACCESS_KEY] here"

Ordinary text costs a few searches for fixed bytes; a pattern is only tried where one of these was found, and
takes time in proportion to what it reads. A mark is no secret, so redacting twice changes nothing.
"""

from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Any, cast

from msgspec import Struct

from carrel.screen.assigned import assigned
from carrel.screen.blocks import armoured, encoded
from carrel.screen.candidate import Candidate
from carrel.screen.cards import cards
from carrel.screen.commands import commands
from carrel.screen.headers import headers
from carrel.screen.kinds import KINDS
from carrel.screen.links import logins
from carrel.screen.names import by_key, lowered
from carrel.screen.shapes import shaped

__all__ = ["KINDS", "Redacted", "Secret", "find", "redact", "redact_value"]

_SHORTEST = 6
_MOST_PASSES = 8


class Secret(Struct, frozen=True):
    """One secret in a text: what it is, and the characters that it takes."""

    kind: str
    start: int
    end: int


class Redacted(Struct, frozen=True):
    """A text with marks for its secrets, and the kinds of these, each once, in the order met."""

    text: str
    kinds: tuple[str, ...] = ()


def find(text: str) -> tuple[Secret, ...]:
    """Return the secrets of a text in order; no two overlap."""
    return _find(text, "")


def redact(text: str) -> Redacted:
    """Return the text with `[REDACTED:KIND]` for each secret; what stands around one stays as it is."""
    return _redact(text, "")


def redact_value(value: Any) -> tuple[Any, tuple[str, ...]]:
    """Redact the strings in nested lists and objects, each with its key in mind, and return the kinds found.

    Where nothing was found the very same object comes back. Depth costs memory, not the stack.
    """
    kinds: dict[str, None] = {}
    if isinstance(value, str):
        return _leaf(value, "", kinds), tuple(kinds)
    done: dict[int, Any] = {}
    waiting: list[tuple[Any, str, bool]] = [(value, "", False)]
    while waiting:
        node, key, is_entered = waiting.pop()
        if is_entered:
            done[id(node)] = _rebuilt(node, key, done, kinds)
        elif _is_node(node) and id(node) not in done:
            done[id(node)] = node
            waiting.append((node, key, True))
            waiting.extend((child, name, False) for name, child in _children(node, key) if _is_node(child))
    return done.get(id(value), value), tuple(kinds)


def _find(text: str, key: str) -> tuple[Secret, ...]:
    if len(text) < _SHORTEST:
        return ()
    candidates = [Candidate(rank, start - 1, end - 1, kind) for rank, start, end, kind in _candidates(text)]
    if key and (given := by_key(key, text)):
        candidates.append(given)
    if not candidates:
        return ()
    return tuple(Secret(c.kind, c.start, c.end) for c in _chosen(candidates) if c.kind)


def _candidates(text: str) -> Iterator[Candidate]:
    """Yield all that may be a secret, from views of the text with one byte for each character."""
    text = f"\n{text}"  # so that a word always begins behind something
    plain = text.encode("latin-1", "replace")
    for search in (shaped, armoured, encoded, logins, cards, commands):
        yield from search(text, plain)
    lower = lowered(text)
    yield from assigned(text, lower)
    yield from headers(plain, lower)


def _chosen(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield those that do not overlap, in order."""
    together: list[Candidate] = []
    end = 0
    for candidate in sorted(candidates, key=lambda c: c.start):
        if together and candidate.start >= end:
            yield from _best(together)
            together = []
        together.append(candidate)
        end = max(end, candidate.end)
    yield from _best(together)


def _best(together: list[Candidate]) -> list[Candidate]:
    """Return, of some that hang together, those that count: the surer ones, then the longer ones."""
    chosen: list[Candidate] = []
    starts: list[int] = []
    for candidate in sorted(together, key=lambda c: (c.rank, c.start - c.end)):
        place = bisect(starts, candidate.start)
        is_free = place == 0 or chosen[place - 1].end <= candidate.start
        if is_free and (place == len(starts) or candidate.end <= starts[place]):
            chosen.insert(place, candidate)
            starts.insert(place, candidate.start)
    return chosen


def _redact(text: str, key: str) -> Redacted:
    kinds: dict[str, None] = {}
    for _ in range(_MOST_PASSES):  # a mark parts words, so that another secret may begin behind it
        secrets = _find(text, key)
        if not secrets:
            break
        kinds.update(dict.fromkeys(secret.kind for secret in secrets))
        text = "".join(_marked(text, secrets))
    return Redacted(text, tuple(kinds))


def _marked(text: str, secrets: Sequence[Secret]) -> Iterator[str]:
    position = 0
    for secret in secrets:
        yield text[position : secret.start]
        yield f"[REDACTED:{secret.kind.upper()}]"
        position = secret.end
    yield text[position:]


def _is_node(value: Any) -> bool:
    return isinstance(value, (dict, list, tuple))


def _children(node: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield what a list or object holds, each with the key that says what it is.

    A list passes on its own key. A `value` is what the `name` beside it says, else the key above.
    """
    if not isinstance(node, dict):
        yield from ((key, child) for child in cast("Sequence[Any]", node))
        return
    fields = cast("dict[Any, Any]", node)
    name = fields.get("name")
    for own, child in fields.items():
        if own == "value":
            yield (name if isinstance(name, str) else key), child
        else:
            yield (own if isinstance(own, str) else ""), child


def _rebuilt(node: Any, key: str, done: dict[int, Any], kinds: dict[str, None]) -> Any:
    """Return a list or object with its children redacted; itself where none of them changed."""
    old = list(_children(node, key))
    new = [
        _leaf(child, name, kinds) if isinstance(child, str) else done.get(id(child), child)
        for name, child in old
    ]
    names = list(cast("dict[Any, Any]", node)) if isinstance(node, dict) else []
    shown = [_leaf(name, "", kinds) if isinstance(name, str) else name for name in names]
    is_same = shown == names and all(before is after for (_, before), after in zip(old, new, strict=True))
    if is_same:
        return cast("Any", node)
    if names:
        # Two names that are both secrets may become one: then the later value stays, as in any object.
        return dict(zip(shown, new, strict=True))
    return tuple(new) if isinstance(node, tuple) else new


def _leaf(text: str, key: str, kinds: dict[str, None]) -> str:
    redacted = _redact(text, key)
    kinds.update(dict.fromkeys(redacted.kinds))
    return redacted.text
