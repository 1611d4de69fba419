"""What is told of taking facts: whether it is due, what a session taught, and what can go wrong."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from carrel.errors import Conflict, Unavailable
from carrel.findings import Finding
from carrel.memory.keeping import Kept
from carrel.memory.sorting import CROWDED_OUT
from carrel.records.facts import Fact
from carrel.records.proposals import MOST_WAITING
from carrel.records.queue import Job

Reason = Literal["", "memory_off", "no_model", "too_few_turns", "put_before"]

_NAME = 120
_WORDS: dict[Reason, str] = {
    "memory_off": "its memory is switched off",
    "no_model": "there is no model to call",
    "too_few_turns": "there are too few new turns",
    "put_before": "it waits in the queue already",
}


class BadExtraction(Unavailable):
    """A model's answer that is no list of facts; nothing was learnt, and the turns are still to be read."""

    code = "bad_extraction"

    def __init__(self, model: str, problem: str) -> None:
        name = "".join(c if c.isprintable() else "?" for c in model[:_NAME])
        super().__init__(
            f"The model {name} was asked for facts and gave an answer that {problem}.",
            hint="Nothing is lost: the session has every word. Try again, or with another model.",
        )


class Overtaken(Conflict):
    """Somebody else has taken facts from the same turns meanwhile."""

    code = "extraction_overtaken"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"Facts were taken from session {session} by somebody else meanwhile.",
            hint="Nothing is to be done.",
        )


class Due(Struct, frozen=True, kw_only=True):
    """Whether a job was put; else why not."""

    job: Job | None = None
    reason: Reason = ""
    turns: int = 0
    needed: int = 0

    def finding(self) -> Finding | None:
        """Say why no facts are taken, nothing where they will be."""
        if not self.reason:
            return None
        more = f" ({self.turns} of {self.needed})" if self.reason == "too_few_turns" else ""
        return Finding(
            code="extraction_skipped",
            message=f"No facts are taken from the session now: {_WORDS[self.reason]}{more}.",
            severity="info",
            hint="`carrel memory extract` takes them at once.",
        )


class Learnt(Struct, frozen=True, kw_only=True):
    """What a session taught: what became of the facts, and which turns they are from."""

    kept: Kept = Kept()
    turns: int = 0
    through: int = 0
    cut: int = 0
    odd: int = 0
    is_left: bool = False
    """Whether there are turns still to be read."""
    findings: tuple[Finding, ...] = ()

    def __add__(self, other: "Learnt") -> "Learnt":
        """Return both together, the other being the later one."""
        return Learnt(
            kept=self.kept + other.kept,
            turns=self.turns + other.turns,
            through=max(self.through, other.through),
            cut=self.cut + other.cut,
            odd=self.odd + other.odd,
            is_left=other.is_left,
            findings=(*self.findings, *other.findings),
        )

    def to_json(self) -> dict[str, object]:
        """Return the figures, which a job keeps."""
        return {
            "turns": self.turns,
            "through": self.through,
            "written": len(self.kept.written),
            "waiting": len(self.kept.waiting),
            "known": self.kept.known,
            "refused": reasons_of(self.kept.refused),
            "cut": self.cut,
            "odd": self.odd,
        }


def reasons_of(facts: Sequence[Fact]) -> dict[str, int]:
    """Return how many facts were refused for which reason."""
    return dict(Counter(fact.reason for fact in facts))


def remarks(learnt: Learnt) -> Iterator[Finding]:
    """Say what became of claims other than that they are facts."""
    if learnt.cut:
        said = f"{learnt.cut:,} facts more than one answer may hold were left out."
        yield Finding(code="facts_cut", message=said, hint="The session has every word.")
    if crowded_out := reasons_of(learnt.kept.refused).get(CROWDED_OUT, 0):
        yield Finding(
            code="facts_crowded_out",
            message=f"{crowded_out:,} facts were left out, since {MOST_WAITING:,} changes wait already.",
            hint="Look through `carrel memory review`; `carrel memory extract --anew` then takes them.",
        )
    if learnt.kept.refused or learnt.odd:
        reasons = reasons_of(learnt.kept.refused) | ({"malformed": learnt.odd} if learnt.odd else {})
        told = ", ".join(f"{number:,} {reason}" for reason, number in reasons.items())
        yield Finding(
            code="facts_refused",
            message=f"Facts were refused: {told}.",
            severity="info",
            hint="`carrel memory facts --state refused` lists them.",
        )
