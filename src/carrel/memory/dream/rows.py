"""Dreams and their candidates as every surface shows them: pure, and the same as JSON everywhere."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict

from carrel.findings import Finding
from carrel.memory.dream.gates import Gate, GateName
from carrel.memory.dream.plan import Judged, State
from carrel.memory.dream.verdict import Reason
from carrel.records.dreams import Dream, DreamState, Promotion, PromotionState
from carrel.records.facts import Trust

_DIGITS = 6


class GateRow(Struct, frozen=True, kw_only=True):
    """A gate: what a memory has, the least that it needs, and whether that is enough."""

    name: GateName
    value: float
    least: float
    open: bool


class SourceRow(Struct, frozen=True, kw_only=True):
    """A place where a memory was recalled from."""

    tier: str
    path: str
    line: int


class JudgedRow(Struct, frozen=True, kw_only=True):
    """A memory that was recalled, how it does at each gate, and what becomes of it."""

    text: str
    state: State
    reason: Reason | None
    why: str | None
    score: float
    hits: int
    queries: int
    days: int
    signs: Mapping[str, float]
    gates: tuple[GateRow, ...]
    sources: tuple[SourceRow, ...]


class PromotionRow(Struct, frozen=True, kw_only=True):
    """One memory that a run promoted, and what it was promoted for."""

    text: str
    score: float
    hits: int
    days: int
    trust: Trust
    source: str
    session: str
    evidence: tuple[str, ...]
    state: PromotionState


class DreamRow(Struct, frozen=True, kw_only=True):
    """One run; of one that promoted nothing, `reason` says why."""

    id: int
    at: str
    agent: str
    state: DreamState
    path: str
    heading: str
    counts: Mapping[str, int]
    reason: str | None
    problem: str | None
    changes: tuple[int, ...]
    promotions: tuple[PromotionRow, ...]


class DreamtRow(Struct, frozen=True, kw_only=True):
    """What a run came to; a dry one has no `run`."""

    dry_run: bool
    run: DreamRow | None
    ready: tuple[JudgedRow, ...]
    finished: tuple[DreamRow, ...]
    path: str
    counts: Mapping[str, int]
    reason: str | None
    findings: tuple[Finding, ...]


class CandidatesRow(Struct, frozen=True, kw_only=True):
    """What was recalled, the best first, and why nothing would be promoted where that is so."""

    candidates: tuple[JudgedRow, ...]
    path: str
    counts: Mapping[str, int]
    reason: str | None
    findings: tuple[Finding, ...]


class DreamStatusRow(Struct, frozen=True, kw_only=True):
    """How dreaming is doing: the last run, when the next is due, and what was promoted so far."""

    enabled: bool
    schedule: str | None
    due: str | None
    is_due: bool
    last: DreamRow | None
    unfinished: tuple[DreamRow, ...]
    promotions: Mapping[PromotionState, int]
    recalls: int


def judged_row(judged: Judged) -> JudgedRow:
    """Return a candidate as every surface shows it."""
    candidate = judged.candidate
    return JudgedRow(
        text=candidate.text,
        state=judged.state,
        reason=judged.reason,
        why=judged.why or None,
        score=round(candidate.score, _DIGITS),
        hits=candidate.signals.hits,
        queries=candidate.signals.queries,
        days=candidate.signals.days,
        signs={name: round(value, _DIGITS) for name, value in asdict(candidate.signs).items()},
        gates=tuple(map(_gate_row, candidate.gates)),
        sources=tuple(
            SourceRow(tier=each.tier, path=each.path, line=each.line) for each in candidate.sources
        ),
    )


def dream_row(dream: Dream) -> DreamRow:
    """Return a run as every surface shows it."""
    return DreamRow(
        id=dream.id,
        at=dream.at.isoformat(),
        agent=dream.agent,
        state=dream.state,
        path=dream.path,
        heading=dream.heading,
        counts=dream.counts,
        reason=dream.reason or None,
        problem=dream.problem or None,
        changes=dream.changes,
        promotions=tuple(map(_promotion_row, dream.promotions)),
    )


def _gate_row(gate: Gate) -> GateRow:
    return GateRow(name=gate.name, value=round(gate.value, _DIGITS), least=gate.least, open=gate.is_open)


def _promotion_row(promotion: Promotion) -> PromotionRow:
    return PromotionRow(
        text=promotion.text,
        score=round(promotion.score, _DIGITS),
        hits=promotion.hits,
        days=promotion.days,
        trust=promotion.trust,
        source=promotion.source,
        session=promotion.session,
        evidence=promotion.evidence,
        state=promotion.state,
    )
