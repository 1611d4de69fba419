"""May a candidate be promoted? Decided by where it stands and who wrote it there, with the reason if not.

What came from outside is blocked, and stays a candidate that its owner can see. What the owner wrote by hand
never is: a line of a notebook or a journal that neither a fact nor a change of Carrel's accounts for.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from carrel.memory.dream.candidates import Candidate, Said, Source
from carrel.memory.dream.statements import statements
from carrel.memory.dream.talk import is_small_talk
from carrel.memory.fact import LONGEST, key_of
from carrel.memory.forget.blotting import Told, blotted, told_of
from carrel.memory.sameness import form_of
from carrel.memory.trust import OUTSIDE, is_suspect, least
from carrel.records.facts import Fact, Trust
from carrel.screen import personal, secrets
from carrel.screen.policy import Screen

Reason = Literal[
    "known",
    "forgotten",
    "superseded",
    "secret",
    "personal",
    "external_source",
    "suspected_injection",
    "agents_words",
    "question",
    "small_talk",
    "too_long",
    "gone",
]

REASONS: Mapping[Reason, str] = {
    "known": "It stands there already.",
    "forgotten": "You had it forgotten.",
    "superseded": "Something else is true now.",
    "secret": "It holds a secret.",
    "personal": "It holds personal data, which privacy.personal keeps out.",
    "external_source": "It comes from a tool, another agent or somebody else than you.",
    "suspected_injection": "It reads like an instruction to the agent.",
    "agents_words": "The agent said so, and not you.",
    "question": "It asks, and states nothing.",
    "small_talk": "It states nothing.",
    "too_long": "It is too long for one line.",
    "gone": "It no longer stands where it was recalled from.",
}
"""Why a candidate is not promoted, in words for people; of several reasons, the first here."""

_ORDER = tuple(REASONS)
_WRITTEN = frozenset(("planned", "written"))
_ASKING = ("?", "\uff1f", "\u061f")


class Origin(Struct, frozen=True, kw_only=True):
    """Where a candidate may be promoted from: the place, how far it is trusted, and the fact that it is."""

    source: Source
    trust: Trust
    fact: Fact | None = None


class Verdict(Struct, frozen=True):
    """Where a candidate may be promoted from, else why it may not."""

    origin: Origin | None = None
    reason: Reason | None = None


class Ground(Struct, frozen=True, kw_only=True):
    """What is to be known of files and facts to decide.

    `read` returns a file's text, none where there is none; `facts` those with a key; `is_owners` tells
    whether some lines of a file are the owner's own; `forgotten` are all facts that were.
    """

    target: str
    read: Callable[[str], str | None]
    facts: Callable[[str], list[Fact]]
    is_owners: Callable[[str, str], bool]
    forgotten: Callable[[], Sequence[Fact]] = tuple
    screen: Screen = Screen()


class Judge:
    """Decides about candidates one by one; what is promoted is known to the next."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._files: dict[str, dict[str, str]] = {}

    def judge(self, candidate: Candidate) -> Verdict:
        """Return the verdict on a candidate, and take what may be promoted for known from now on."""
        form = form_of(candidate.text)
        if form in self._known:
            return Verdict(reason="known")
        facts = self._ground.facts(candidate.key)
        if reason := _reason_of(candidate.text, facts, self._ground.screen):
            return Verdict(reason=reason)
        verdict = min((self._at(source, candidate.key, facts) for source in candidate.sources), key=_rank)
        if verdict.origin is not None:
            self._known.add(form)
        return verdict

    @cached_property
    def _known(self) -> set[str]:
        """What the file says that is promoted to."""
        return {form_of(each.text) for each in statements(self._ground.read(self._ground.target) or "")}

    def _at(self, source: Source, key: str, facts: list[Fact]) -> Verdict:
        """Return the verdict on what stands in one place."""
        if source.said is not None:
            is_forgotten = self._is_forgotten(source.said.text, source.said.message_id)
            return Verdict(reason="forgotten") if is_forgotten else _spoken(source, source.said)
        lines = self._lines(source).get(key)
        if lines is None:
            return Verdict(reason="gone")
        own = [fact for fact in facts if _is_written(fact, source.path)]
        if not own and self._is_forgotten(lines):
            return Verdict(reason="forgotten")
        trust: Trust = least(fact.trust for fact in own) if own else "owner"
        if trust in OUTSIDE:
            return Verdict(reason="external_source")
        if is_suspect(lines, trust) and (own or not self._ground.is_owners(source.path, lines)):
            return Verdict(reason="suspected_injection")
        return Verdict(Origin(source=source, trust=trust, fact=own[-1] if own else None))

    def _is_forgotten(self, text: str, message: str = "") -> bool:
        """Tell whether a text says what was forgotten, in other words too, or is what that was taken from."""
        return blotted(text, self._forgotten, message) != text

    @cached_property
    def _forgotten(self) -> tuple[Told, ...]:
        return told_of(self._ground.forgotten())

    def _lines(self, source: Source) -> dict[str, str]:
        """Return what a file states now, by its keys, with the lines that do."""
        if source.path not in self._files:
            told = statements(self._ground.read(source.path) or "", in_journal=source.tier == "journal")
            self._files[source.path] = {key_of(each.text): each.lines for each in told if not each.is_dreamt}
        return self._files[source.path]


def _reason_of(text: str, facts: list[Fact], screen: Screen) -> Reason | None:
    """Return why something is not promoted wherever it stands."""
    states = {fact.state for fact in facts}
    if not states & _WRITTEN:
        if "forgotten" in states:
            return "forgotten"
        if "superseded" in states:
            return "superseded"
    if screen.secrets != "allow" and secrets.find(text):
        return "secret"
    if screen.personal != "allow" and personal.find(text):
        return "personal"
    return "too_long" if len(text) > LONGEST else None


def _is_written(fact: Fact, path: str) -> bool:
    """Tell whether a fact was written into a file; one that waits says nothing of the lines there."""
    return fact.state in _WRITTEN and (fact.store, fact.path) == ("workspace", path)


def _spoken(source: Source, said: Said) -> Verdict:
    """Decide about what was said: only the owner's own statements are promoted."""
    reason: Reason | None = None
    if said.trust in OUTSIDE:
        reason = "external_source"
    elif said.trust != "owner":
        reason = "agents_words"
    elif is_suspect(said.text, said.trust):
        reason = "suspected_injection"
    elif said.text.rstrip().endswith(_ASKING):
        reason = "question"
    elif is_small_talk(said.text):
        reason = "small_talk"
    return Verdict(reason=reason) if reason else Verdict(Origin(source=source, trust=said.trust))


def _rank(verdict: Verdict) -> int:
    """Return how much a verdict on one place counts among those on others: what may be promoted is first."""
    return -1 if verdict.reason is None else _ORDER.index(verdict.reason)
