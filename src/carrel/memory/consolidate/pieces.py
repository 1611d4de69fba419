"""What a consolidation is made of: statements with where they come from, and bullets made of them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache

from msgspec import Struct

from carrel.memory.fact import normalise
from carrel.memory.sameness import form_of
from carrel.memory.support import supports
from carrel.memory.trust import least
from carrel.memory.words import content_stems
from carrel.records.facts import Trust

SHARE = 0.5
"""Of the words of a statement, those that a bullet must have to be made of it."""

SAID = 0.75
"""And those that it must have to say it too, with all names and numbers."""

_MOST_SOURCES = 50


class Piece(Struct, frozen=True, kw_only=True):
    """One statement: a bullet that stands in memory, or an entry of the journal, as the file of a day has it.

    `evidence` says where it comes from: messages as `session/message`, and an entry of no session as
    `#path#hash`. `facts` are the ids of the facts that a bullet is.
    """

    text: str
    day: str
    topic: str = ""
    trust: Trust = "owner"
    evidence: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """What is equal for statements that say the same."""
        return _form(self.text)

    @property
    def stems(self) -> frozenset[str]:
        """The words that say what it is about."""
        return _stems(self.text)


class Bullet(Struct, frozen=True, kw_only=True):
    """One bullet as it will stand, below its topic, and the statements that it was made of."""

    text: str
    topic: str
    sources: tuple[Piece, ...]

    @property
    def line(self) -> str:
        """The line that it becomes."""
        return f"- {self.text}"

    @property
    def trust(self) -> Trust:
        """How far it may be trusted: as far as the least of its sources."""
        return least(piece.trust for piece in self.sources)

    @property
    def day(self) -> str:
        """The newest day of its sources."""
        return max(piece.day for piece in self.sources)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Where its sources come from, each place once."""
        return tuple(dict.fromkeys(each for piece in self.sources for each in piece.evidence))


class Material(Struct, frozen=True, kw_only=True):
    """What a consolidation may write: bullets that stand, and what is new. `kept` stands beside it anyway.

    `room` are the tokens that all bullets and topics may have together.
    """

    known: tuple[Piece, ...]
    new: tuple[Piece, ...]
    kept: tuple[str, ...] = ()
    room: int

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All of them, the known first."""
        return self.known + self.new


Writer = Callable[[Material], Sequence[Bullet]]
"""Makes bullets of the material, all that are to stand; raises where it cannot."""


def says(text: str, piece: Piece) -> bool:
    """Tell whether a text says what a statement does, in the same words or in most of them."""
    if _form(text) == piece.form:
        return True
    return share_of(piece.stems, _stems(text)) >= SAID and supports(piece.text, [text])


def says_all(text: str, piece: Piece) -> bool:
    """Tell whether a text has every word of a statement: then nothing of it is lost."""
    return _form(text) == piece.form or share_of(piece.stems, _stems(text)) >= 1


def sources_of(text: str, pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Return what a bullet was made of: the statements that it says, else those with most of its words."""
    own = _stems(text)
    scored = [(share_of(piece.stems, own), len(own & piece.stems), piece) for piece in pieces]
    said = [each for each in scored if each[0] >= SHARE or each[2].form == _form(text)]
    near = said or [each for each in scored if each[1]]
    near.sort(key=lambda each: (each[1], each[0]), reverse=True)
    return tuple(piece for _, _, piece in near[:_MOST_SOURCES])


def share_of(wanted: frozenset[str], said: frozenset[str]) -> float:
    """Return how many of some words are among others, from 0 to 1."""
    return len(wanted & said) / len(wanted) if wanted else 0.0


def size_of(bullets: Sequence[Bullet], count: Callable[[str], int]) -> int:
    """Return how many tokens bullets and their topics take."""
    topics = {bullet.topic for bullet in bullets}
    return sum(count(f"### {topic}\n\n") for topic in topics) + sum(
        count(f"{bullet.line}\n") for bullet in bullets
    )


def topic_of(words: str) -> str:
    """Return a topic as it may stand in a heading."""
    return normalise(words).strip("# ")


def day_of(piece: Piece) -> date | None:
    """Return the day of a statement."""
    try:
        return date.fromisoformat(piece.day)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    return form_of(text)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(content_stems(text))
