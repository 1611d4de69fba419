"""Front matter: what a document says about itself at its very start, in comments or in YAML.

    <!-- priority: 10 -->            ---
    <!-- tags: code, style -->  or   priority: 10
                                     tags: [code, style]
                                     ---

Both forms are read, and a change is written back in the form found. Nothing here can fail:
what cannot be understood stays text, or is left out and named in `problems`.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from carrel import plainyaml
from carrel.plainyaml import BadYaml

KEYS = ("priority", "tags", "scope")
_BLOCK_LIMIT = 65_536
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")


class Meta(Struct, frozen=True, kw_only=True):
    """A document's own wishes: a place in the order, tags to filter by, and privacy."""

    priority: int | None = None
    tags: tuple[str, ...] = ()
    private: bool = False
    extra: Mapping[str, object] = {}


class Parsed(Struct, frozen=True, kw_only=True):
    """A text taken apart: its meta, the text without front matter, and what was not understood."""

    meta: Meta
    body: str
    problems: tuple[str, ...] = ()


def parse(text: str) -> Parsed:
    """Split front matter from text (newlines already LF); without any, the text comes back whole."""
    fields, body, problems = _split(text)
    if body is text:
        return Parsed(meta=Meta(), body=text, problems=tuple(problems))
    meta = _meta(fields, problems)
    return Parsed(meta=meta, body=_without_leading_blank_lines(body), problems=tuple(problems))


def update(text: str, changes: Mapping[str, str | int | tuple[str, ...]]) -> str:
    """Set keys in the front matter, in the form found (comments where there is none).

    Everything else keeps its bytes: other keys, their order, comments, and the newline style.
    """
    newline = "\r\n" if "\r\n" in text[:_BLOCK_LIMIT] else "\n"
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text[len(mark) :].split(newline)
    end = _yaml_end(lines)
    yaml_form = end is not None and isinstance(_load_block("\n".join(lines[1:end]), []), dict)
    first, last = (1, cast("int", end)) if yaml_form else (0, _count_comments(lines))
    for key, value in changes.items():
        line = _format(key, value, yaml_form=yaml_form)
        spot = _find(lines, first, last, key, yaml_form=yaml_form)
        if spot is None:
            lines.insert(last, line)
            last += 1
        else:
            lines[spot[0] : spot[1]] = [line]
            last -= spot[1] - spot[0] - 1
    return mark + newline.join(lines)


def _split(text: str) -> tuple[dict[str, Any], str, list[str]]:
    """Return raw fields, the rest of the text (the same object when there is none), and problems."""
    problems: list[str] = []
    if text.startswith("<!--"):
        fields: dict[str, Any] = {}
        rest = text
        while (found := _comment(line := rest.partition("\n")[0])) is not None:
            fields[found[0]] = found[1]
            rest = rest[len(line) + 1 :]
        return fields, rest if fields else text, problems
    if text.startswith("---"):
        lines = text[:_BLOCK_LIMIT].split("\n")
        end = _yaml_end(lines)
        if end is not None:
            block = "\n".join(lines[1:end])
            loaded = _load_block(block, problems)
            if isinstance(loaded, dict):
                size = sum(len(line) + 1 for line in lines[: end + 1])
                return cast("dict[str, Any]", loaded), text[size:], problems
    return {}, text, problems


def _comment(line: str) -> tuple[str, str] | None:
    """Return key and value of a one-line front matter comment."""
    line = line.rstrip()
    if not (line.startswith("<!--") and line.endswith("-->") and len(line) > len("<!---->")):
        return None
    key, colon, value = line[4:-3].partition(":")
    key = key.strip().lower()
    return (key, value.strip()) if colon and key in KEYS and "-->" not in value else None


def _count_comments(lines: list[str]) -> int:
    count = 0
    while count < len(lines) and _comment(lines[count]) is not None:
        count += 1
    return count


def _yaml_end(lines: list[str]) -> int | None:
    """Return the index of the line that closes a YAML block begun on the first line."""
    if not lines or lines[0].rstrip() != "---":
        return None
    return next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)


def _load_block(block: str, problems: list[str]) -> object:
    try:
        return plainyaml.load(block)
    except BadYaml as error:
        problems.append(f"the YAML block at its start is not read: {error.message}")
        return None


def _meta(fields: Mapping[str, Any], problems: list[str]) -> Meta:
    extra = {key: value for key, value in fields.items() if key not in KEYS}
    return Meta(
        priority=_priority(fields.get("priority"), problems),
        tags=(tags := _tags(fields.get("tags"), problems)),
        private=_private(fields.get("scope"), problems) or "private" in tags,
        extra=extra,
    )


def _priority(value: object, problems: list[str]) -> int | None:
    if value is None:
        return None
    if isinstance(value, (int, str)) and not isinstance(value, bool):
        text = str(value).strip()
        if _INTEGER.fullmatch(text):
            return int(text)
    problems.append(f"priority {str(value)[:40]!r} is not a whole number, and was ignored")
    return None


def _tags(value: object, problems: list[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        items: list[object] = list(value.split(","))
    elif isinstance(value, list):
        items = cast("list[object]", value)
    else:
        problems.append("tags are not a list, and were ignored")
        return ()
    names = [str(item).strip().lower() for item in items if isinstance(item, (str, int))]
    return tuple(dict.fromkeys(name for name in names if name))


def _private(value: object, problems: list[str]) -> bool:
    """Read `scope`; what is not understood is taken as private, since a leak cannot be taken back."""
    if value is None:
        return False
    name = str(value).strip().lower()
    if name not in ("private", "main", "shared"):
        problems.append(f"scope {name[:40]!r} is unknown and taken as private (write private or shared)")
    return name != "shared"


def _without_leading_blank_lines(text: str) -> str:
    position = 0
    while (end := text.find("\n", position)) != -1 and not text[position:end].strip():
        position = end + 1
    return text[position:]


def _format(key: str, value: str | int | tuple[str, ...], *, yaml_form: bool) -> str:
    if isinstance(value, tuple):
        value = f"[{', '.join(value)}]" if yaml_form else ", ".join(value)
    return f"{key}: {value}" if yaml_form else f"<!-- {key}: {value} -->"


def _find(lines: list[str], first: int, last: int, key: str, *, yaml_form: bool) -> tuple[int, int] | None:
    """Return the span of lines that hold a key; in YAML its indented or listed continuation too."""
    for index in range(first, last):
        if not yaml_form:
            found = _comment(lines[index])
            if found is not None and found[0] == key:
                return index, index + 1
        elif lines[index].startswith(f"{key}:"):
            end = index + 1
            while end < last and lines[end][:1] in (" ", "\t", "-"):
                end += 1
            return index, end
    return None
