"""What a prompt reminds of: the lines of memory and knowledge that have its words, without an index to load.

Every word stands once in a text of its own, with the places of the lines that have it; to look a word up is
to find it there.
"""

from collections.abc import Iterable
from math import log

from carrel.memory.words import content_stems

MOST_LINES = 20_000
LONGEST_LINE = 400
_MOST_WORDS = 64
_MOST_PLACES = 500
"""A word that more lines have than this says nothing about any of them."""

_RARE = 3
_MOST_FOUND = 5


def build(lines: Iterable[tuple[str, int, str]]) -> tuple[bytes, bytes]:
    """Return the lines and the words of them, from (path, number, text)."""
    told = bytearray()
    places: dict[str, list[int]] = {}
    for path, number, text in lines:
        place = len(told)
        for stem in content_stems(text):
            places.setdefault(stem, []).append(place)
        told += _encoded(f"{_flat(path)}\t{number}\t{_flat(text)[:LONGEST_LINE]}\n")
    words = (
        f"{stem}\t{' '.join(map(str, found))}"
        for stem, found in sorted(places.items())
        if len(found) <= _MOST_PLACES
    )
    return bytes(told), _encoded("\n".join(("", *words, "")))


class Reminder:
    """A line that a prompt reminds of; its score is the part of the prompt's known words that it has."""

    __slots__ = ("number", "path", "score", "text")

    def __init__(self, line: bytes, score: float) -> None:
        self.path, number, self.text = line.decode("utf-8", "surrogatepass").split("\t", 2)
        self.number = int(number)
        self.score = score

    def shown(self) -> str:
        """Return it as a model reads it, with its place."""
        return f"- {self.text} ({self.path}:{self.number})"


def find(prompt: str, lines: bytes, words: bytes, room: int) -> list[Reminder]:
    """Return what a prompt reminds of, best first, as much as is shown in so many bytes."""
    total = lines.count(b"\n") + 1
    every = 0.0
    scores: dict[int, float] = {}
    hits: dict[int, int] = {}
    wanted = sorted(content_stems(prompt[:20_000]), key=len, reverse=True)[:_MOST_WORDS]
    for stem in wanted:
        found = _places(words, stem)
        weight = log(1 + total / len(found)) if found else 0.0
        every += weight
        for place in found:
            scores[place] = scores.get(place, 0.0) + weight
            hits[place] = hits.get(place, 0) + (2 if len(found) <= _RARE else 1)
    best = sorted((place for place in scores if hits[place] > 1), key=lambda place: (-scores[place], place))
    told: list[Reminder] = []
    for place in best[:_MOST_FOUND]:
        reminder = Reminder(lines[place : lines.index(b"\n", place)], scores[place] / every)
        room -= len(reminder.shown().encode("utf-8", "replace")) + 1
        if room < 0:
            break
        told.append(reminder)
    return told


def _places(words: bytes, stem: str) -> list[int]:
    sought = b"\n" + _encoded(stem) + b"\t"
    begin = words.find(sought)
    if begin < 0:
        return []
    begin += len(sought)
    return [int(place) for place in words[begin : words.index(b"\n", begin)].split()]


def _flat(text: str) -> str:
    return " ".join(text.split())


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
