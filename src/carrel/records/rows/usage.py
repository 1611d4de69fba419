"""What turns took, as rows."""

from typing import Any

from carrel.records.content import as_written, named
from carrel.records.rows.columns import FromText, from_moment, to_moment, to_text
from carrel.records.usage import Spent, believable

COLUMNS = (
    "agent",
    "session",
    "model",
    "at",
    "input",
    "cached",
    "output",
    "cost",
    "purpose",
    "counted",
)


def from_spent(spent: Spent, text: FromText) -> tuple[Any, ...]:
    """Return the columns of what a turn took, as far as it can be believed."""
    known = believable(spent)
    return (
        text(named(known.agent)),
        text(named(known.session)),
        text(known.model),
        from_moment(known.at),
        known.input,
        known.cached,
        known.output,
        known.cost,
        known.purpose,
        known.counted,
    )


@as_written("What was spent")
def to_spent(row: tuple[Any, ...]) -> Spent:
    """Return what a turn took."""
    agent, session, model, at, every, cached, output, cost, purpose, counted = row
    return Spent(
        agent=to_text(agent),
        session=to_text(session),
        model=to_text(model),
        at=to_moment(at),
        input=every,
        cached=cached,
        output=output,
        cost=cost,
        purpose=purpose,
        counted=counted,
    )
