"""What is too large for a window: results become files with a preview, and old arguments are clipped.

Nothing is lost by either: the file holds the whole result, and the log the whole arguments.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from carrel import plainjson
from carrel.context.render import printable_surrogates
from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, FileStore
from carrel.findings import Finding
from carrel.sessions.attachments import Attachment
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import whole_turns
from carrel.tools.excerpt import boundary

PAGED = frozenset(("read_file",))
"""Tools whose results are pages already: what is read back page by page must not become a file again."""

KEPT_TURNS = 3
LONGEST_ARGUMENT = 2_000
SHOWN = 200
"""Characters that are left of an argument that is clipped."""

_SHORTEST = 300  # more than a clipped argument has, so that none is clipped twice
_DEEPEST = 64  # no provider is sent arguments that are nested deeper
_NEAR = 200  # characters within which a cut looks for the end of a line
_CHARACTERS = 4  # to begin with; few texts have more in a token

Count = Callable[[str], int]


class Sizes(Struct, frozen=True, kw_only=True):
    """In tokens: what a result may have, and what its preview shows of its two ends."""

    limit: int = 20_000
    head: int = 1_500
    tail: int = 500


class Kept(Struct, frozen=True, kw_only=True):
    """A result as model and log see it, and the file that holds the whole where it was too large."""

    text: str
    path: str | None = None
    findings: tuple[Finding, ...] = ()


def keep_large(
    text: str,
    *,
    files: FileStore,
    folder: str,
    count: Count,
    screen: Callable[[str], str],
    sizes: Sizes | None = None,
) -> Kept:
    """Store a result that is too large in a folder, without secrets, and return what is shown in its place.

    The file is durable when this returns; the same result has the same name. One that cannot be stored is
    shortened all the same, and says so. A small result is returned as it is, at no cost.
    """
    sizes = sizes or Sizes()
    if _most_tokens(text) <= sizes.limit:
        return Kept(text=text)
    clean = printable_surrogates(screen(text))
    whole = count(clean)
    if whole <= sizes.limit:
        return Kept(text=text)
    path, stored = _file(folder, clean)
    shown = _preview(clean, where=_where(path, clean, stored, whole), count=count, sizes=sizes)
    if len(shown) >= len(clean):
        return Kept(text=text)
    try:
        Attachment(path, stored.encode()).store(files)
    except CarrelError as error:
        where = f"the result had {whole:,} tokens and could not be stored ({error.code}). Ask for less."
        return Kept(
            text=_preview(clean, where=lambda _: where, count=count, sizes=sizes), findings=(_lost(error),)
        )
    return Kept(text=shown, path=path)


def clip_old(
    messages: Sequence[Message], *, keep_turns: int = KEPT_TURNS, limit: int = LONGEST_ARGUMENT
) -> tuple[Message, ...]:
    """Return a history in which calls of older turns hold only the beginnings of long texts.

    What becomes of a message depends on it alone, and once it is old it stays so: the prefix of the next
    call differs by the turn that has just become old, and by nothing else.
    """
    turns = whole_turns(messages)
    old = turns[: max(0, len(turns) - max(0, keep_turns))]
    end = old[-1].stop if old else 0
    longest = max(limit, _SHORTEST)
    return (*(_clipped(message, longest) for message in messages[:end]), *messages[end:])


def clip_results(
    messages: Sequence[Message], room: int, size: Callable[[Sequence[Message]], int]
) -> tuple[Message, ...]:
    """Return a turn under way with only the beginnings of its results, the oldest first, until it fits.

    What the last reply asked for comes last: the model has not read it yet.
    """
    clipped = list(messages)
    for number, message in enumerate(messages):
        if size(clipped) <= room:
            break
        if message.role == "tool":
            clipped[number] = replace(message, content=_clip(message.to_text(), _SHORTEST))
        else:
            clipped[number] = _clipped(message, _SHORTEST)
    return tuple(clipped)


def _most_tokens(text: str) -> int:
    """Return how many tokens a text has at most: each is a byte or more."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _file(folder: str, text: str) -> tuple[str, str]:
    """Return the path for a text, and as much of it as a file can hold that is to be read back."""
    data = text.encode()
    stored = text if len(data) <= READ_LIMIT else data[:READ_LIMIT].decode("utf-8", "ignore")
    return f"{folder}/{sha256(stored.encode()).hexdigest()[:32]}.txt", stored


def _where(path: str, text: str, stored: str, tokens: int) -> Callable[[str], str]:
    lines = text.count("\n") + (not text.endswith("\n"))
    part = (
        "" if len(stored) == len(text) else f" of which the file holds the first {len(stored):,} characters,"
    )

    def where(head: str) -> str:
        line, column = head.count("\n") + 1, len(head) - head.rfind("\n")
        return (
            f"the whole result, {tokens:,} tokens, {len(text):,} characters in {lines:,} lines,{part} is in "
            f"{path}. Read it in pages with read_file: offset={line} and column={column} go on from here, "
            "and every page says where the next one begins."
        )

    return where


def _preview(text: str, *, where: Callable[[str], str], count: Count, sizes: Sizes) -> str:
    """Return both ends of a text, and between them how much is missing; `where` tells, given the head."""
    end = _after_line(text, boundary(text, _covered(text, sizes.head, count)))
    rest = text[end:]
    start = len(text) - _covered(rest, sizes.tail, count, at_end=True)
    start = _before_line(text, boundary(text, start))
    head, tail = text[:end], text[start:]
    return f"{head}\n\n[{start - end:,} characters are left out here; {where(head)}]\n\n{tail}"


def _covered(text: str, tokens: int, count: Count, *, at_end: bool = False) -> int:
    """Return a number of characters at one end of a text that have about so many tokens, and not more."""
    length = min(len(text), tokens * _CHARACTERS)
    while length:
        found = count(text[len(text) - length :] if at_end else text[:length])
        if found <= tokens:
            break
        length = min(length - 1, length * tokens // found)
    return length


def _after_line(text: str, end: int) -> int:
    newline = text.rfind("\n", max(0, end - _NEAR), end)
    return end if newline < 0 else newline + 1


def _before_line(text: str, start: int) -> int:
    newline = text.find("\n", start, start + _NEAR)
    return start if newline < 0 or newline + 1 == len(text) else newline + 1


def _lost(error: CarrelError) -> Finding:
    return Finding(
        code="result_not_stored",
        message=f"A large result of a tool could not be stored, and only its ends were kept: {error.message}",
        hint=error.hint,
    )


def _clipped(message: Message, longest: int) -> Message:
    calls = tuple(_clipped_call(call, longest) for call in message.tool_calls)
    same = all(new is old for new, old in zip(calls, message.tool_calls, strict=True))
    return message if same else replace(message, tool_calls=calls)


def _clipped_call(call: ToolCall, longest: int) -> ToolCall:
    """Return a call with short arguments, in the form that they had: an object, or the text of one."""
    written = call.arguments if isinstance(call.arguments, str) else None
    if written is not None and len(written) <= longest:
        return call
    arguments = call.parsed()
    short = _shortened(arguments, longest)
    if arguments is not None and short is arguments:
        return call
    if written is not None:
        short = _written(short) or _clip(written, longest)
    return replace(call, arguments=short)


def _shortened(value: Any, longest: int, depth: int = 0) -> Any:
    """Return a value with short texts; where none is long, the very same."""
    if isinstance(value, str):
        return _clip(value, longest)
    if depth == _DEEPEST:
        return value
    if isinstance(value, dict):
        own = cast("dict[Any, Any]", value)
        table = {key: _shortened(item, longest, depth + 1) for key, item in own.items()}
        return table if any(table[key] is not item for key, item in own.items()) else own
    if isinstance(value, list):
        items = cast("list[Any]", value)
        row = [_shortened(item, longest, depth + 1) for item in items]
        return row if any(new is not old for new, old in zip(row, items, strict=True)) else items
    return value


def _written(value: Any) -> str | None:
    """Return an object as JSON; none where it is none, or holds what cannot be written."""
    try:
        return plainjson.dumps(value).decode() if value is not None else None
    except (ValueError, TypeError, OverflowError):
        return None


def _clip(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[: boundary(text, SHOWN)]}… [{len(text):,} characters, clipped]"
