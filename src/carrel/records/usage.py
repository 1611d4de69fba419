"""What the models cost: tokens and money, by turn."""

from datetime import datetime
from math import isfinite
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

Purpose = Literal["turn", "background"]

MOST_TOKENS = 1_000_000_000
"""More than any turn has; a provider that reports more is not believed beyond it."""

MOST_COST = 1_000_000.0
MODEL_CHARACTERS = 200


class Spent(Struct, frozen=True, kw_only=True):
    """What one turn took; `cached` are among the `input` tokens, an unknown cost is none."""

    agent: str
    session: str
    model: str
    at: datetime
    input: int
    cached: int
    output: int
    cost: float | None = None
    purpose: Purpose = "turn"
    counted: int = 0
    """What Carrel itself counted of the input, tools left out; nothing where it did not."""


class Total(Struct, frozen=True, kw_only=True):
    """Sums over turns; `cost` is what is known of it, and `unpriced` says for how many turns it is not."""

    turns: int
    input: int
    cached: int
    output: int
    cost: float | None
    unpriced: int

    def __add__(self, other: "Total") -> "Total":
        """Return both together."""
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Total(
            turns=self.turns + other.turns,
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            cost=sum(costs) if costs else None,
            unpriced=self.unpriced + other.unpriced,
        )


class Usage(Protocol):
    """The account of every turn."""

    def add(self, spent: Spent, *, turn: str) -> None:
        """Keep what a turn took, believably; the same turn of a session twice changes nothing.

        Background work beside a turn names a turn of its own.
        """
        ...

    def last(self, agent: str, session: str, *, purpose: Purpose | None = None) -> Spent | None:
        """Return what was added last for a session, by turns or by background work where that is asked."""
        ...

    def turns(self, agent: str, session: str, *, limit: int) -> list[Spent]:
        """Return what the last turns of a session took, the oldest first; background work is left out."""
        ...

    def total(
        self,
        *,
        since: datetime | None = None,
        agent: str | None = None,
        session: str | None = None,
        purpose: Purpose | None = None,
    ) -> Total:
        """Return the sums over all that match, from `since` on."""
        ...


def believable(spent: Spent) -> Spent:
    """Return the figures within what can be: a provider that lies or errs must not break a turn."""
    every = _tokens(spent.input)
    return replace(
        spent,
        model=str(spent.model)[:MODEL_CHARACTERS],
        input=every,
        cached=min(_tokens(spent.cached), every),
        output=_tokens(spent.output),
        cost=_cost(spent.cost),
        counted=_tokens(spent.counted),
    )


def _tokens(value: Any) -> int:
    try:
        return min(max(int(value), 0), MOST_TOKENS)
    except (TypeError, ValueError, OverflowError):  # none, a word, not a number, infinity
        return 0


def _cost(value: Any) -> float | None:
    try:
        cost = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return cost if isfinite(cost) and 0 <= cost <= MOST_COST else None
