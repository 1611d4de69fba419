"""The gates that a memory passes before it is promoted, each with its value and what is asked for."""

from typing import Literal

from msgspec import Struct

from carrel.memory.dream.score import Signals
from carrel.settings import DreamingSettings

GateName = Literal["recalls", "queries", "days", "score"]


class Gate(Struct, frozen=True, kw_only=True):
    """One gate: what a memory has, and the least that it needs."""

    name: GateName
    value: float
    least: float

    @property
    def is_open(self) -> bool:
        """Whether the memory passes."""
        return self.value >= self.least


def gates_of(signals: Signals, score: float, settings: DreamingSettings) -> tuple[Gate, ...]:
    """Return the four gates of a memory."""
    return (
        Gate(name="recalls", value=signals.hits, least=settings.min_recalls),
        Gate(name="queries", value=signals.queries, least=settings.min_queries),
        Gate(name="days", value=signals.days, least=settings.min_days),
        Gate(name="score", value=score, least=settings.min_score),
    )


def in_words(gate: Gate) -> str:
    """Say how a memory stands at a gate: `days 1 of 2`."""
    value, least = (f"{n:.2f}" if gate.name == "score" else f"{n:.0f}" for n in (gate.value, gate.least))
    return f"{gate.name} {value} of {least}"
