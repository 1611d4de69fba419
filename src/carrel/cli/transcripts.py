"""How sessions look: on a terminal, and as JSON."""

from datetime import UTC, datetime
from typing import Any

from carrel import plainjson
from carrel.cli import output
from carrel.sessions.export import moment, remarks_on, visible
from carrel.sessions.message import ToolCall
from carrel.sessions.placed import Placed
from carrel.sessions.search import Match, excerpt

_PREVIEW = 200
_ROLES = {"user": "cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}
_AGES = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
_OLD_DAYS = 30


def match_json(match: Match) -> dict[str, Any]:
    """Return what was found: the place, and a part of the text with the ranges of the words in it."""
    text = match.entry.to_text()
    cut = excerpt(text, match.ranges, _PREVIEW)
    about = {"session": match.session, "number": match.number, "message_id": match.entry.message_id}
    about |= {"timestamp": match.entry.timestamp, "role": match.entry.role}
    return about | {"text": cut.text, "ranges": cut.ranges, "is_whole": len(text) <= _PREVIEW}


def age(updated: str, now: datetime) -> str:
    """Return how long ago something was, for people."""
    try:
        then = datetime.fromisoformat(updated)
        passed = now - (then if then.tzinfo else then.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return output.printable(updated[:14])
    if passed.days > _OLD_DAYS or passed.days < 0:
        return updated[:10]
    for seconds, unit in _AGES:
        if passed.total_seconds() >= seconds:
            number = int(passed.total_seconds() // seconds)
            return f"{number} {unit}{'s' * (number > 1)} ago"
    return "just now"


def _role(role: str) -> str:
    return output.styled(role, fg=_ROLES.get(role))


def drawn(placed: Placed) -> str:
    """Return an entry for people: a line about it, then what was said."""
    entry = placed.entry
    named = (output.printable(each) for each in (entry.name, entry.sender_id or "") if each)
    about = (output.styled(f"#{placed.number}", bold=True), _role(entry.role), *named)
    quiet = (moment(entry.timestamp), output.printable(entry.message_id), *remarks_on(entry))
    lines = ["  ".join((*about, *(output.styled(visible(each), dim=True) for each in quiet if each)))]
    lines += [visible(text)] if (text := entry.to_text()) else []
    lines += [f"→ {output.printable(call.name)} {visible(_arguments(call))}" for call in entry.tool_calls]
    return "".join(f"{line}\n" for line in lines)


def _arguments(call: ToolCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else plainjson.dumps(call.arguments).decode()


def marked(match: Match) -> str:
    """Return where something was found, and the words with some of what is around them, on two lines."""
    cut = excerpt(match.entry.to_text(), match.ranges, _PREVIEW)
    text = "".join(char if char.isprintable() else " " for char in cut.text)
    done, pieces = 0, list[str]()
    for start, end in cut.ranges:
        pieces += [text[done:start], output.styled(text[start:end], bold=True, fg="yellow")]
        done = end
    entry = match.entry
    place = output.styled(f"{match.session} #{match.number}", bold=True)
    about = f"{place}  {_role(entry.role)}  {moment(entry.timestamp)}".rstrip()
    return "".join((f"{about}\n  ", *pieces, text[done:]))
