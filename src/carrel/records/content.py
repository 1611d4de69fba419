"""What a record may hold: names, excerpts and JSON, and how much of each."""

from collections.abc import Mapping
from typing import Any

from carrel import plainjson
from carrel.errors import UsageError

Payload = Mapping[str, Any]

NAME_CHARACTERS = 4_096
"""Of what is looked up: a kind, key, agent, session, turn, action or target; a path may be as long."""

PAYLOAD_CHARACTERS = 1_000_000
"""The JSON of one job, one result or one event; what is longer belongs into a file."""


class RecordTooLarge(UsageError):
    """A record was given more than one may hold; nothing was written."""

    code = "record_too_large"

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(
            f"{what} has {size:,} characters and may have {limit:,}.",
            hint="Keep the text in a file of the workspace and name its path here.",
        )
        self.size = size
        self.limit = limit


def named(text: str) -> str:
    """Return a name as it is; one that is too long is refused, since a cut one could be another's."""
    if len(text) > NAME_CHARACTERS:
        raise RecordTooLarge("A name in a record", len(text), NAME_CHARACTERS)
    return text


def pack(payload: Payload, *, limit: int | None = PAYLOAD_CHARACTERS) -> str:
    """Return the JSON of a payload; what JSON cannot say is a TypeError."""
    text = plainjson.dumps(payload).decode()
    if limit is not None and len(text) > limit:
        raise RecordTooLarge("The payload of a record", len(text), limit)
    return text


def unpack(text: str) -> Payload:
    """Return the payload of a JSON."""
    return plainjson.loads(text)
