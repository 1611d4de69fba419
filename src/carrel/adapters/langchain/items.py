"""An item of a store as a page of Markdown that people can read and edit, and where that page is.

What is said of the item is front matter, and each field of its value is a bullet, one line of JSON behind its
name. The value has a heading of its own, so that the index takes it for what the item says.

A namespace is a folder and a key is a file in it. What is plain is its own name; whatever else somebody calls
a thing ("..", "Alice", a NUL, a whole page) becomes a short name with a digest, so that no name leads out of
the folder and no two things share a file. The file itself says what they are called.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from msgspec import Struct, ValidationError, convert

from carrel import plainjson
from carrel.errors import Unavailable, UsageError
from carrel.files import show
from carrel.files.paths import PATH_BYTES, BadId, fold, valid_id

ENDING = ".md"
HEADING = "Value"

_LONGEST = 64
_SHOWN = 24
_DIGEST = 20
_UNPLAIN = re.compile(r"[^\w-]+")
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_MIDDLE = f"---\n\n# {HEADING}\n"
_BULLET = "- "


class BadItem(UsageError, ValueError):
    """An item, or what is asked of the store, cannot be as it was given; nothing was written."""

    code = "bad_item"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The store cannot do this: {problem}.",
            hint="A value is what JSON can hold, with texts as keys; names of namespaces and keys are texts.",
        )


class UnreadableItem(Unavailable):
    """Where an item should be is a file that is not this item; it is left as it is."""

    code = "unreadable_item"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} does not hold the item that belongs there.",
            hint="Mend the file, or move it away: its name follows from the namespace and key in it.",
        )
        self.path = path


class Kept(Struct, frozen=True, kw_only=True):
    """An item as its file has it."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    def to_text(self) -> str:
        """Return the text of its page."""
        _json(self.value)  # which ends where a value holds itself, or too much
        _refuse_other_keys(self.value)
        head = {name: getattr(self, name) for name in ("namespace", "key")}
        times = {name: getattr(self, name).isoformat() for name in ("created_at", "updated_at")}
        said = "".join(f"{line}\n" for line in _lines(head | times))
        value = "".join(f"{_BULLET}{line}\n" for line in _lines(self.value))
        return f"---\n{said}{_MIDDLE}\n{value}"


def parse(root: str, path: str, data: bytes) -> Kept | None:
    """Return the item that a page holds, none where it holds something else or stands in a wrong place."""
    try:
        head, _, value = data.decode().replace("\r\n", "\n").partition(_MIDDLE)
        bullets = (line.removeprefix(_BULLET) for line in value.split("\n"))
        told = {**_fields(head.removeprefix("---\n").split("\n")), "value": _fields(bullets)}
        kept = convert(told, Kept)
        return kept if place_of(root, kept.namespace, kept.key) == path else None
    except (ValueError, ValidationError):
        return None


def folder_of(root: str, namespace: tuple[str, ...]) -> str:
    """Return the folder of a namespace."""
    folder = "/".join((root, *(_name(label, dots=False) for label in namespace)))
    if len(folder.encode()) > PATH_BYTES // 2:
        raise BadItem("the namespace is too deep")
    return folder


def place_of(root: str, namespace: tuple[str, ...], key: str) -> str:
    """Return the path of an item's file."""
    return f"{folder_of(root, namespace)}/{_name(key, dots=True)}{ENDING}"


def _name(given: str, *, dots: bool) -> str:
    """Return the name of a folder or file for a name that may be anything; two never get the same.

    A folder has no dot in its name, so that it cannot be some item's file.
    """
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadItem("a name in the namespace, or a key, is not a text")
    if _is_plain(given) and (dots or "." not in given):
        return given
    digest = sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{_UNPLAIN.sub('-', fold(given[:_SHOWN]))[:_SHOWN].strip('-_')}={digest}"


def _is_plain(given: str) -> bool:
    """Tell whether every system can hold a name, and none takes it for another's."""
    try:
        return valid_id(given) == given.lower() and len(given) <= _LONGEST
    except BadId:
        return False


def _refuse_other_keys(value: object) -> None:
    """Refuse what JSON would write down as a text and give back as one."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            inner = cast("Mapping[Any, Any]", each)
            if not all(isinstance(key, str) for key in inner):
                raise BadItem("a key in the value is not a text")
            pending.extend(inner.values())
        elif isinstance(each, list | tuple):
            pending.extend(cast("list[Any]", each))


def _lines(fields: Mapping[str, Any]) -> Iterator[str]:
    for name, value in fields.items():
        yield f"{name if _FIELD.fullmatch(name) else _json(name)}: {_json(value)}"


def _fields(lines: Iterable[str]) -> dict[str, Any]:
    return dict(_field(line) for line in lines if line.strip())


def _field(line: str) -> tuple[str, Any]:
    if not line.startswith('"'):
        name, _, value = line.partition(":")
        return name.strip(), plainjson.loads(value)
    name, end = json.JSONDecoder().raw_decode(line)
    return name, plainjson.loads(line[end:].lstrip().removeprefix(":"))


def _json(value: Any) -> str:
    """Return a value as one line of JSON; half a character cannot be in a file, but its escape can."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        return text if _is_unicode(text) else json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadItem(f"the value is not JSON ({error})") from None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
