"""A model's list is held against what it was made of; one that loses, invents or orders is refused.

Old memory is worth more than a bad answer: whatever is wrong with one, it is told and nothing is changed.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from carrel.markdown.lines import heading_of
from carrel.memory.consolidate.pieces import (
    Bullet,
    Material,
    Piece,
    day_of,
    says,
    size_of,
    sources_of,
    topic_of,
)
from carrel.memory.fact import LONGEST, normalise
from carrel.memory.sameness import form_of
from carrel.memory.support import supports
from carrel.memory.trust import is_suspect
from carrel.memory.words import fold
from carrel.screen.injection import suspicious
from carrel.screen.policy import Screen

LONGEST_ANSWER = 200_000
"""Characters of an answer that is read at all."""

_BULLET = re.compile(r"[ \t]{0,3}[-*+][ \t]+(\S.*)")
_FENCES = ("```", "~~~")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019]t)?")
_DENYING = frozenset(
    """
    not no never none nobody nothing without cannot can't don't doesn't didn't isn't aren't wasn't weren't
    won't hasn't haven't hadn't shouldn't wouldn't couldn't nicht kein keine keinen keiner nie niemals ohne
    nunca sin tampoco jamais pas sans
    """.split()  # noqa: SIM905 - a list of words is easier to read and to change as words
)
_MOST_TOPICS = 60
_LONGEST_TOPIC = 80
_OTHER = "Notes"
_KNOWN_SHARE = 2  # one of so many that were known must stay
_NEW_SHARE = 5  # and one of so many that are new must be said


class Judged(Struct, frozen=True, kw_only=True):
    """The bullets of an answer; `problem` says why it may not stand, after `The answer`."""

    bullets: tuple[Bullet, ...] = ()
    problem: str = ""


def judge(
    text: str,
    material: Material,
    *,
    count: Callable[[str], int],
    is_whole: bool = True,
    screen: Screen | None = None,
) -> Judged:
    """Return the bullets of an answer with what each was made of, or why it may not stand."""
    told = list(_read(text[: LONGEST_ANSWER + 1], screen or Screen()))
    problem = _form_problem(text, told, is_whole=is_whole)
    if problem:
        return Judged(problem=problem)
    kept = {form_of(each) for each in material.kept}
    bullets: dict[str, Bullet] = {}
    for topic, said in told:
        form = form_of(said)
        if said and form not in kept and form not in bullets:
            sources = sources_of(said, material.pieces)
            bullets[form] = Bullet(text=said, topic=topic or _OTHER, sources=sources)
    found = tuple(bullets.values())
    problem = _problem(found, material, count)
    return Judged(problem=problem) if problem else Judged(bullets=found)


def _read(text: str, screen: Screen) -> Iterator[tuple[str, str]]:
    """Yield topic and statement of each line; a topic alone, and what is neither, states nothing."""
    topic = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        bare = line.strip()
        heading = heading_of(bare)
        if heading is not None:
            topic = topic_of(heading[1])
            yield topic, ""
        elif found := _BULLET.fullmatch(line.rstrip()):
            yield topic, normalise(screen.of(found[1]).text)
        elif bare:
            yield "\n", ""  # which is no topic


def _form_problem(text: str, told: Sequence[tuple[str, str]], *, is_whole: bool) -> str:
    topics = {topic for topic, _ in told}
    checks = (
        (not is_whole, "broke off"),
        (not text.strip(), "is empty"),
        (len(text) > LONGEST_ANSWER, "is far too long"),
        (any(line.lstrip().startswith(_FENCES) for line in text.split("\n")), "holds a code fence"),
        ("\n" in topics, "is more than topics and statements"),
        (not any(said for _, said in told), "states nothing"),
        (any(len(said) > LONGEST for _, said in told), "has a statement that is too long"),
        (
            len(topics) > _MOST_TOPICS or any(len(topic) > _LONGEST_TOPIC for topic in topics),
            "has odd topics",
        ),
        (any(suspicious(topic) for topic in topics), "gives orders"),
    )
    return next((why for is_so, why in checks if is_so), "")


def _problem(bullets: Sequence[Bullet], material: Material, count: Callable[[str], int]) -> str:
    """Return what is wrong with what an answer says, nothing where it may stand."""
    if not bullets and material.pieces:
        return "states nothing"
    forms = {piece.form for piece in material.pieces}
    made_up = [bullet for bullet in bullets if not _is_supported(bullet)]
    if made_up:
        return f"says what neither memory nor the journal says: {made_up[0].text[:120]!r}"
    if any(is_suspect(bullet.text, bullet.trust) for bullet in bullets if form_of(bullet.text) not in forms):
        return "gives orders"
    size = size_of(bullets, count)
    if size > material.room:
        return f"has {size:,} tokens and may have {material.room:,}"
    return "" if size * 2 > material.room else _lost(bullets, material)


def _lost(bullets: Sequence[Bullet], material: Material) -> str:
    """Say where an answer drops too much although it has room."""
    gone = _unsaid(material.known, bullets)
    if (len(material.known) - gone) * _KNOWN_SHARE < len(material.known):
        return f"drops {gone:,} of {len(material.known):,} statements that memory has"
    unsaid = _unsaid(material.new, bullets)
    if len(material.new) - unsaid < len(material.new) // _NEW_SHARE:
        return f"leaves out {unsaid:,} of {len(material.new):,} entries that are new"
    return ""


def _unsaid(pieces: Sequence[Piece], bullets: Sequence[Bullet]) -> int:
    return sum(not any(says(bullet.text, piece) for bullet in bullets) for piece in pieces)


def _is_supported(bullet: Bullet) -> bool:
    """Tell whether a bullet says what its sources do, and not the opposite."""
    days = {day for piece in bullet.sources if (day := day_of(piece))}
    told = [piece.text for piece in bullet.sources]
    if not told or not supports(bullet.text, told, days):
        return False
    denied = [_denies(text) for text in told]
    return any(denied) if _denies(bullet.text) else not all(denied)


def _denies(text: str) -> bool:
    return not _DENYING.isdisjoint(fold(word.replace("\u2019", "'")) for word in _WORD.findall(text))
