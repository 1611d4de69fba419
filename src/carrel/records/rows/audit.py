"""Events as rows."""

from typing import Any

from carrel.records.audit import Event
from carrel.records.content import as_written, unpack
from carrel.records.rows.columns import to_moment, to_text

COLUMNS = ("at", "actor", "action", "target", "session", "detail")


@as_written("An event")
def to_event(row: tuple[Any, ...]) -> Event:
    """Return the event of a number and these columns."""
    number, at, actor, action, target, session, detail = row
    return Event(
        id=number,
        at=to_moment(at),
        actor=to_text(actor),
        action=to_text(action),
        target=to_text(target),
        session=to_text(session),
        detail=unpack(detail),
    )
