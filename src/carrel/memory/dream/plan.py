"""Which candidates a run promotes, and why the others are not: pure, but for what the judge looks up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from carrel.memory.dream.candidates import Candidate
from carrel.memory.dream.gates import in_words
from carrel.memory.dream.verdict import REASONS, Judge, Origin, Reason, Verdict
from carrel.records.dreams import Promotion

State = Literal["ready", "later", "blocked", "known", "below"]
"""ready: to be promoted; later: beyond the cap of one run; below: some gate is not open yet."""


class Judged(Struct, frozen=True, kw_only=True):
    """A candidate and what becomes of it; where it may be promoted from, or why it may not."""

    candidate: Candidate
    state: State
    reason: Reason | None = None
    origin: Origin | None = None

    @property
    def why(self) -> str:
        """Why it is not promoted, in words for people; nothing where it is."""
        if self.reason is not None:
            return REASONS[self.reason]
        if self.state == "later":
            return "One run promotes only so many."
        shut = [in_words(gate) for gate in self.candidate.gates if not gate.is_open]
        return f"Not yet: {', '.join(shut)}." if shut else ""


class Plan(Struct, frozen=True, kw_only=True):
    """What a run would do; where it would promote nothing, `reason` says why."""

    judged: tuple[Judged, ...]
    reason: str = ""

    @property
    def ready(self) -> tuple[Judged, ...]:
        """What is to be promoted, the best first."""
        return tuple(each for each in self.judged if each.state == "ready")

    @property
    def counts(self) -> Mapping[str, int]:
        """How many candidates are in each state."""
        tally = Counter(each.state for each in self.judged)
        return {"candidates": len(self.judged), **{state: tally[state] for state in _STATES}}


_STATES: tuple[State, ...] = ("ready", "later", "blocked", "known", "below")


def plan(candidates: Sequence[Candidate], judge: Judge, *, most: int, nothing: str = "") -> Plan:
    """Return what becomes of candidates that come best first; `nothing` is why there are none.

    What is blocked takes nobody's place: however much of it there is, the next one has its turn.
    """
    judged: list[Judged] = []
    room = most
    for candidate in candidates:
        each = _judged(candidate, judge, has_room=room > 0)
        room -= each.state == "ready"
        judged.append(each)
    done = Plan(judged=tuple(judged))
    return done if done.ready else Plan(judged=done.judged, reason=_reason(done, nothing))


def promotion_of(judged: Judged) -> Promotion:
    """Return a candidate as it is promoted, with where it came from."""
    candidate, origin = judged.candidate, judged.origin
    assert origin is not None
    said, fact = origin.source.said, origin.fact
    return Promotion(
        key=candidate.key,
        text=candidate.text,
        score=candidate.score,
        hits=candidate.signals.hits,
        days=candidate.signals.days,
        trust=origin.trust,
        kind=fact.kind if fact else "note",
        subject=fact.subject if fact else "",
        session=said.session if said else fact.session if fact else "",
        evidence=(said.message_id,) if said else fact.evidence if fact else (),
        source=origin.source.path,
    )


def _judged(candidate: Candidate, judge: Judge, *, has_room: bool) -> Judged:
    if not candidate.passes:
        return Judged(candidate=candidate, state="below")
    if not has_room:
        return Judged(candidate=candidate, state="later")
    verdict: Verdict = judge.judge(candidate)
    if verdict.origin is not None:
        return Judged(candidate=candidate, state="ready", origin=verdict.origin)
    state: State = "known" if verdict.reason == "known" else "blocked"
    return Judged(candidate=candidate, state=state, reason=verdict.reason)


def _reason(done: Plan, nothing: str) -> str:
    """Say why nothing is promoted."""
    if not done.judged:
        return nothing
    held = [each for each in done.judged if each.state != "below"]
    if not held:
        nearest = done.judged[0]
        return f"None of {len(done.judged):,} candidates passes every gate. The best of them: {nearest.why}"
    tally = Counter(each.reason for each in held if each.reason is not None)
    told = ", ".join(f"{count:,} {reason}" for reason, count in tally.most_common())
    return (
        f"{len(held):,} of {len(done.judged):,} candidates pass the gates, and none may be promoted: {told}."
    )
