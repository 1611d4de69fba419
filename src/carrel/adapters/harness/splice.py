"""One member of a JSON object put in, replaced or taken out, and every other byte left as it is."""

import json
from typing import Any

from msgspec import Struct

_BLANK = " \t\r\n"
_STEP = "  "


class NoPlainObject(Exception):
    """The text is not one JSON object whose keys are all different."""


class Member(Struct, frozen=True):
    """A key of an object, with where it begins and where its value begins and ends."""

    key: str
    start: int
    value: int
    end: int


def parse(text: str) -> dict[str, Any]:
    """Return an object; comments, commas too many and keys that occur twice are errors."""
    try:
        found: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise NoPlainObject(str(error)) from None
    if not isinstance(found, dict):
        raise NoPlainObject("it is no object")
    return found  # pyright: ignore[reportUnknownVariableType]


def put(text: str, key: str, value: Any) -> str:
    """Return the text of an object with this member: in the place of the same key, else as the last."""
    found = _members(text)
    step = _step(text, found)
    newline = "\r\n" if "\r\n" in text else "\n"
    said = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"{newline}{step}")
    for member in found:
        if member.key == key:
            return text[: member.value] + said + text[member.end :]
    added = f"{newline}{step}{json.dumps(key)}: {said}"
    if found:
        return f"{text[: found[-1].end]},{added}{text[found[-1].end :]}"
    begin = text.index("{") + 1
    return f"{text[:begin]}{added}{newline}{text[begin:].lstrip(_BLANK)}"


def drop(text: str, key: str) -> str:
    """Return the text of an object without this member."""
    found = _members(text)
    place = next((place for place, member in enumerate(found) if member.key == key), None)
    if place is None:
        return text
    member = found[place]
    if place:
        return text[: found[place - 1].end] + text[member.end :]
    if len(found) > 1:
        return text[: member.start] + text[found[1].start :]
    begin = text.index("{") + 1
    return text[:begin] + text[member.end :].lstrip(_BLANK)


def _members(text: str) -> list[Member]:
    """Return the members of the outermost object, in their order; the text was parsed before."""
    decoder = json.JSONDecoder()
    found: list[Member] = []
    place = _skip(text, text.index("{") + 1)
    while text[place] != "}":
        key, end = decoder.raw_decode(text, place)
        value = _skip(text, _skip(text, end) + 1)
        _, end = decoder.raw_decode(text, value)
        found.append(Member(key, place, value, end))
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def _skip(text: str, place: int) -> int:
    while text[place] in _BLANK:
        place += 1
    return place


def _step(text: str, members: list[Member]) -> str:
    """Return how far members stand in, as far as the first one shows it."""
    if not members:
        return _STEP
    line = text[: members[0].start].rpartition("\n")[2]
    return line if "\n" in text[: members[0].start] and line and not line.strip(" \t") else _STEP


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
