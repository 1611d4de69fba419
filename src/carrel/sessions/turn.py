"""What a caller gives to be recorded: one message of a turn, checked before it touches a disk."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast, get_args

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict

from carrel.errors import Refused, UsageError
from carrel.sessions.message import Message, Role, ToolCall
from carrel.sessions.transcript import KINDS, Content, Finish

MESSAGE_LIMIT = 16 * 1024 * 1024
"""Characters that the text of one message may have; more belongs into a file."""

ATTACHMENT_LIMIT = 32 * 1024 * 1024
_ID_CHARACTERS = 256
_ROLES = get_args(Role)


class BadMessage(UsageError):
    """A message that cannot be recorded as it was given."""

    code = "bad_message"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The message {problem}.",
            hint='Give an object with "role" and "content"; docs/reference/sessions.md lists the other keys.',
        )


class MessageTooLarge(UsageError):
    """A message with more text than a transcript takes."""

    code = "message_too_large"

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The message is too large, with {size:,} characters or bytes; 16 MiB of text is the most.",
            hint="Put the text into a file of the workspace and let the message name it.",
        )


class OthersInstructions(Refused):
    """A system message came from somebody else than the owner, whose model would obey it."""

    code = "others_instructions"

    def __init__(self) -> None:
        super().__init__(
            "A system message is taken from the owner alone.", hint="Record it as what a user or a tool said."
        )


class Said(Struct, frozen=True, kw_only=True):
    """One message to be recorded; one without an id gets one, one without a time is said now."""

    role: Role
    content: Content = ""
    message_id: str = ""
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    timestamp: str = ""
    sender_id: str | None = None
    source: str = ""
    finish: Finish = "stop"


Sayable = Said | Message | Mapping[str, Any]


def said(given: Sayable) -> Said:
    """Return a message that may be recorded, whatever form it came in; one that may not is refused."""
    if isinstance(given, Said):
        return _from_mapping(asdict(given) | {"message_id": given.message_id or None})
    if isinstance(given, Message):
        # The parts after the first are for this call only: what was recalled, and the day.
        first = given.content if isinstance(given.content, str) else next(iter(given.content), None)
        if first is None:
            raise BadMessage("has no content")
        return _from_mapping(asdict(given) | {"content": first})
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadMessage("is not an object")
    return _from_mapping(given)


def _from_mapping(given: Mapping[str, Any]) -> Said:
    value = {key: item for key, item in given.items() if item is not None and key in _KNOWN}
    if given.get("role") not in _ROLES:
        raise BadMessage(f'needs a "role" that is one of {", ".join(_ROLES)}')
    if not isinstance(value.get("content", ""), str | list):
        raise BadMessage("has a content that is neither a text nor a list of parts")
    for part in cast("list[Any]", value["content"]) if isinstance(value.get("content"), list) else ():
        _check_part(part)
    if not _is_id(value.get("message_id", "-")):
        raise BadMessage(f"has a message_id that is empty, unprintable or longer than {_ID_CHARACTERS}")
    value["timestamp"] = _moment(value.get("timestamp", ""))
    value["tool_calls"] = [_call(call) for call in _list(value.get("tool_calls", []))]
    try:
        return convert(value, Said)
    except ValidationError as error:
        raise BadMessage(f"cannot be read: {error}") from None


_KNOWN = frozenset(Said.__struct_fields__)


def _is_id(given: Any) -> bool:
    return isinstance(given, str) and 0 < len(given) <= _ID_CHARACTERS and given.isprintable()


def _check_part(part: Any) -> None:
    """Refuse a part that a damaged log could show as a line of its own."""
    if not isinstance(part, dict):
        raise BadMessage("has a part that is not an object")
    kind = cast("dict[str, Any]", part).get("type")
    if isinstance(kind, str) and (kind in KINDS or kind == "attachment"):
        raise BadMessage("has a part of a type that transcripts keep for themselves")


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise BadMessage('has "tool_calls" that are not a list')
    return list(cast("list[Any]", value))


def _call(call: Any) -> Any:
    """Return a call of a tool; OpenAI's own form of it is understood too."""
    if isinstance(call, ToolCall):
        return call.to_json()
    if not isinstance(call, dict):
        raise BadMessage("has a call of a tool that is not an object")
    call = cast("dict[str, Any]", call)
    function: dict[str, Any] = call["function"] if isinstance(call.get("function"), dict) else {}
    return {key: call.get(key, function.get(key)) for key in ("id", "name")} | {
        "arguments": call.get("arguments", function.get("arguments", {}))
    }


def _moment(given: Any) -> str:
    """Return a time as UTC, "" where none was given."""
    if given == "":
        return ""
    if isinstance(given, datetime):
        moment = given
    else:
        try:
            moment = datetime.fromisoformat(str(given))
        except ValueError:
            raise BadMessage(f"has a timestamp that is no ISO time: {str(given)[:40]!r}") from None
    try:
        return stamp(moment)
    except OverflowError:
        raise BadMessage(f"has a timestamp that no calendar has in UTC: {str(given)[:40]!r}") from None


def stamp(moment: datetime) -> str:
    """Return a moment as transcripts write it: UTC, to the millisecond."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"
