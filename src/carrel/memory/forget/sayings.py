"""What is to be forgotten, as it may stand in a file, and the file without it; pure.

A statement is found by what it says: as a bullet, an entry of a journal, a promotion of a dream, or struck
out. Nothing else of a text changes by a byte.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from carrel.markdown.lines import body_start, heading_of, is_bullet
from carrel.markdown.structure import structure_of
from carrel.memory import journal
from carrel.memory.fact import key_of
from carrel.memory.pages import without_day, without_links
from carrel.memory.sameness import form_of
from carrel.memory.written import anchor_of
from carrel.records.facts import Fact, Store

_BULLET = re.compile(r"[ \t]*+(?:[-*+]|[0-9]{1,9}[.)])[ \t]++")
_PASSES = 10
_STRUCK = "~~"
_NOW = "; now: "
_NOTE, _NOTED = " _(", ")_"
_JOURNAL = tuple("[0123456789")  # how an entry begins that has an hour or a category

Place = tuple[Store, str]


class Sayings(Struct, frozen=True, kw_only=True):
    """What is to be forgotten, in the form that is compared, by how far it reaches.

    An event is one of its day: elsewhere it may be told, on other days it is another one. The line of a page
    says something of its subject, and nothing of others.
    """

    everywhere: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    within: Mapping[Place, frozenset[str]] = {}
    anchors: tuple[str, ...] = ()

    def at(self, place: Place, *, is_day: bool) -> frozenset[str]:
        """Return what is to be forgotten in one file."""
        own = self.everywhere | self.within.get(place, frozenset())
        return own if is_day else own | self.events


class Taken(Struct, frozen=True):
    """Lines that were taken out of a text: the number of the first, and what they were."""

    line: int
    text: str


class Cleared(Struct, frozen=True):
    """A text without what was to be forgotten."""

    text: str
    taken: tuple[Taken, ...] = ()


def sayings_of(facts: Iterable[Fact]) -> Sayings:
    """Return what facts say, and how far it is to be looked for."""
    everywhere, events, anchors = set[str](), set[str](), set[str]()
    within: dict[Place, set[str]] = {}
    for fact in facts:
        if not fact.key:
            continue
        (events if fact.kind == "event" else everywhere).add(form_of(fact.text))
        anchors.add(anchor_of(fact.text))
        if fact.line:
            within.setdefault((fact.store, fact.path), set()).update(_forms(fact.line))
            anchors.add(anchor_of(fact.line))
    return Sayings(
        everywhere=frozenset(everywhere),
        events=frozenset(events),
        within={place: frozenset(forms) for place, forms in within.items()},
        anchors=tuple(anchors),
    )


def without(text: str, forms: frozenset[str], anchors: Sequence[str]) -> Cleared:
    """Return a text without the lines that say something of this; one that has none is the same."""
    if not forms or not _has(text, anchors):
        return Cleared(text)
    lines, numbers = text.split("\n"), list(range(1, text.count("\n") + 2))
    taken: list[Taken] = []
    for _ in range(_PASSES):  # what goes may leave lines together that say it again
        kept: dict[int, str | None] = {}
        for block in _blocks("\n".join(lines), lines):
            if _has(" ".join(lines[place] for place in block), anchors):
                kept |= _forgotten(lines, block, forms)
        if not kept:
            break
        taken += (Taken(numbers[place], lines[place].removesuffix("\r")) for place in kept)
        left = [
            (number, kept.get(n, line)) for n, (number, line) in enumerate(zip(numbers, lines, strict=True))
        ]
        numbers = [number for number, line in left if line is not None]
        lines = [line for _, line in left if line is not None]
    return Cleared("\n".join(lines), tuple(sorted(taken, key=lambda each: each.line)))


def _forgotten(lines: Sequence[str], block: Sequence[int], forms: frozenset[str]) -> dict[int, str | None]:
    """Return which lines of a bullet or a paragraph go, and which become others."""
    first, *rest = block
    if (struck := _unstruck(lines[first], forms)) is not lines[first]:
        return {first: struck}
    if not forms.isdisjoint(_forms(" ".join(lines[number].strip() for number in block))):
        return dict.fromkeys(block)
    if not is_bullet(lines[first]):
        return {number: None for number in block if not forms.isdisjoint(_forms(lines[number].strip()))}
    if forms.isdisjoint(_forms(lines[first].strip())):
        return {}
    own = takewhile(lambda number: lines[number][:1] in (" ", "\t"), rest)
    return dict.fromkeys((first, *own))


def _unstruck(line: str, forms: frozenset[str]) -> str | None:
    """Return a line that is struck out without what is forgotten; none where it goes as a whole."""
    mark = _BULLET.match(line)
    start = mark.end() if mark else 0
    end = line.find(_STRUCK, start + len(_STRUCK))
    if not line.startswith(_STRUCK, start) or end < 0:
        return line
    if not forms.isdisjoint(_forms(line[start + len(_STRUCK) : end])):
        return None
    at, close = line.find(_NOW, end), line.rfind(_NOTED)
    if 0 <= at < close and not forms.isdisjoint(_forms(line[at + len(_NOW) : close])):
        return line[:at] + line[close:]
    return line


def _forms(line: str) -> Iterator[str]:
    """Yield what a line may say: as it stands, without its hour and source, without a note behind it."""
    plain = without_day(line.strip())
    bare = plain[mark.end() :] if (mark := _BULLET.match(plain)) else plain
    yield form_of(bare)
    if "[[" in bare:
        yield form_of(without_links(bare))
    if bare.endswith(_NOTED) and (at := bare.rfind(_NOTE)) > 0:
        yield form_of(bare[:at])
    if bare.startswith(_JOURNAL) or bare.endswith(_NOTED):
        yield from (form_of(entry.text) for entry in journal.parse(f"- {bare}"))


def _blocks(text: str, lines: Sequence[str]) -> Iterator[list[int]]:
    """Yield the numbers of the lines of each bullet and paragraph, outside of fences and front matter."""
    fences, begin = structure_of(text).fences, body_start(text)
    at, fence = 0, 0
    held: list[int] = []
    for number, line in enumerate(lines):
        while fence < len(fences) and fences[fence][1] <= at:
            fence += 1
        is_fenced = fence < len(fences) and fences[fence][0] <= at
        bare = line.strip()
        is_end = at < begin or is_fenced or not bare or (bare[0] == "#" and heading_of(bare) is not None)
        if held and (is_end or is_bullet(line)):
            yield held
            held = []
        if not is_end:
            held.append(number)
        at += len(line) + 1
    if held:
        yield held


def _has(text: str, anchors: Sequence[str]) -> bool:
    """Tell whether a text has the beginning of a word of something; most texts have none, and cost little."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return any(anchor in folded for anchor in anchors)


def says_alike(line: str, query: str) -> bool:
    """Tell whether a line holds what somebody looks for, word for word or all of its words."""
    own, wanted = key_of(line), key_of(query)
    words = wanted.split()
    return bool(words) and (wanted in own or set(words) <= set(own.split()))


def statements(text: str) -> Iterator[Taken]:
    """Yield the bullets and paragraphs of a text, each with the number of its first line."""
    lines = text.split("\n")
    for block in _blocks(text, lines):
        yield Taken(block[0] + 1, "\n".join(lines[number].removesuffix("\r") for number in block))
