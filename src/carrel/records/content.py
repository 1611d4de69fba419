"""What a record may hold: names, excerpts and JSON, and how much of each."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import DecodeError, convert

from carrel import plainjson
from carrel.errors import DatabaseUnavailable, UsageError

Value = TypeVar("Value")
Payload = Mapping[str, Any]

NAME_CHARACTERS = 4_096
"""Of what is looked up: a kind, key, agent, session, turn, action or target; a path may be as long."""

PAYLOAD_CHARACTERS = 1_000_000
"""The JSON of one job, one result or one event; what is longer belongs into a file."""

PROSE_CHARACTERS = 20_000
"""Of what is read by people and models: a fact, the line it became, the reason of a change."""


class RecordTooLarge(UsageError):
    """A record was given more than one may hold; nothing was written."""

    code = "record_too_large"

    def __init__(
        self,
        what: str,
        size: int,
        limit: int,
        *,
        unit: str = "characters",
        hint: str = "Keep the text in a file of the workspace and name its path here.",
    ) -> None:
        super().__init__(f"{what} has {size:,} {unit} and may have {limit:,}.", hint=hint)
        self.size = size
        self.limit = limit


class RecordDamaged(DatabaseUnavailable):
    """A record holds what nobody wrote; its database finds nothing wrong with it."""

    code = "record_damaged"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is damaged and cannot be read.",
            hint="Restore the records from a backup; the files themselves are as they were.",
        )


@contextmanager
def as_written(what: str) -> Generator[None]:
    """Make one error of all that comes of reading a record that is not as it was written.

    No database has a checksum of what it holds: a byte that a disk has changed is noticed here, if at all.
    """
    try:
        yield
    except (DecodeError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        raise RecordDamaged(what) from error


def named(text: str) -> str:
    """Return a name as it is; one that is too long is refused, since a cut one could be another's."""
    if len(text) > NAME_CHARACTERS:
        raise RecordTooLarge("A name in a record", len(text), NAME_CHARACTERS)
    return text


def whole(text: str, limit: int = PROSE_CHARACTERS) -> str:
    """Return a text as it is; one that is too long is refused, since nobody would miss what was cut."""
    if len(text) > limit:
        raise RecordTooLarge("A text in a record", len(text), limit)
    return text


def pack(payload: Payload | Sequence[str], *, limit: int | None = PAYLOAD_CHARACTERS) -> str:
    """Return the JSON of a payload; what JSON cannot say is a TypeError."""
    text = plainjson.dumps(payload).decode()
    if limit is not None and len(text) > limit:
        raise RecordTooLarge("The payload of a record", len(text), limit)
    return text


@as_written("A payload")
def unpack(text: str) -> Payload:
    """Return the payload of a JSON."""
    return to_payload(text)


def to_payload(text: str | bytes) -> Payload:
    """Return the payload of a JSON, for who says itself what is damaged where it is none."""
    return convert(plainjson.loads(text), dict[str, Any])


@as_written("A payload")
def shaped(payload: object, kind: type[Value]) -> Value:
    """Return a payload, or a part of one, as the value that it was made from."""
    return convert(payload, kind)


def sayings(texts: Iterable[str]) -> list[tuple[str, str]]:
    """Return each text that is not empty, with every way in which it may stand inside of a payload.

    There are two where it is not plain: what stands beside it decides whether a payload is escaped.
    """
    import json as escaping  # noqa: PLC0415 - only what is forgotten is looked for

    return [
        (text, said)
        for text in filter(None, texts)
        for said in sorted({plainjson.dumps(text).decode()[1:-1], escaping.dumps(text)[1:-1]})
    ]
