"""Which lines answer a question best: by the words in common, the rare ones and names and numbers first."""

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from carrel.runtime.offline.sources import SAID_BY_USER, Line, shorten
from carrel.runtime.offline.words import Weights, fold, is_telling, stems, weigh

_MOST = 3
_ASKED = 2_000
_RARE, _SELDOM = 2, 8
_MINE = re.compile(r"\b(?:my|me|i|mine|mi|mis|mein|meine|ich)\b")
_YOURS = re.compile(r"\b(?:you|your|yours|tu|tus|dein|deine|du)\b")
_OF_AGENT = ("IDENTITY.md", "SOUL.md")


class _Match(Struct, frozen=True):
    line: Line
    place: int
    own: frozenset[str]
    around: frozenset[str]


def choose(question: str, lines: Sequence[Line], *, most: int = _MOST, loosely: bool = False) -> list[Line]:
    """Return the lines that share most with a question, best first.

    Those that share only words which say little are taken where it is asked for loosely.
    """
    asked = shorten(question, _ASKED)
    weights = weigh(asked)
    if not weights:
        return []
    matches = _matches(weights, lines, fold(asked), loosely=loosely)
    common = Counter(stem for match in matches for stem in match.own | match.around)
    is_mine, is_yours = bool(_MINE.search(fold(asked))), bool(_YOURS.search(fold(asked)))
    scored: list[tuple[int, int, int, Line]] = []
    for match in matches:
        line = match.line
        of_agent = line.source.endswith(_OF_AGENT)
        if of_agent and is_mine and not is_yours:
            continue
        favoured = (is_mine and (line.rank == SAID_BY_USER or "USER.md" in line.source)) or (
            is_yours and not is_mine and of_agent
        )
        # What was said later holds, and files keep their order.
        place = -match.place if line.rank >= SAID_BY_USER else match.place
        scored.append((-_score(weights, match, common) - favoured, line.rank, place, line))
    return _first(scored, most)


def _first(scored: list[tuple[int, int, int, Line]], most: int) -> list[Line]:
    """Return the best, each text once, and nothing far behind the first."""
    scored.sort(key=lambda entry: entry[:3])
    kept: dict[str, Line] = {}
    for score, _, _, line in scored:
        if score * 5 > scored[0][0] * 3 or len(kept) == most:
            break
        kept.setdefault(fold(line.text), line)
    return list(kept.values())


def _matches(weights: Weights, lines: Sequence[Line], asked: str, *, loosely: bool) -> list[_Match]:
    """Return the lines with words in common, without those that only repeat the question."""
    found: list[_Match] = []
    for place, line in enumerate(lines):
        own = weights.keys() & stems(line.text)
        around = (weights.keys() & stems(line.heading)) - own if line.heading else set[str]()
        is_match = (own or around) and (loosely or is_telling(weights, own | around))
        if is_match and not _is_repeated(fold(line.text).strip(".… "), asked):
            found.append(_Match(line, place, frozenset(own), frozenset(around)))
    return found


def _is_repeated(text: str, asked: str) -> bool:
    """Tell a line that is most of the question itself, as a search of logs finds it."""
    return text in asked and len(text) * 2 >= len(asked)


def _score(weights: Weights, match: _Match, common: Counter[str]) -> int:
    """Add up the words in common; those of the heading above a line count half."""
    return sum(
        weights[stem] * _rarity(common[stem]) * (2 if stem in match.own else 1)
        for stem in match.own | match.around
    )


def _rarity(count: int) -> int:
    if count <= _RARE:
        return 3
    return 2 if count <= _SELDOM else 1
