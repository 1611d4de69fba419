"""Front matter: what a document says about itself at its very start, in comments or in YAML.

    <!-- priority: 10 -->            ---
    <!-- tags: code, style -->  or   priority: 10
                                     tags: [code, style]
                                     ---

Both forms are read, and a change is written back in the form found. Reading cannot fail: what is not
understood stays text, or is left out and named in `problems`. Writing can: what would not be read back as it
was meant is refused.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct, json

from carrel import plainyaml
from carrel.errors import UsageError
from carrel.plainyaml import BadYaml

KEYS = ("priority", "tags", "scope")
_BLOCK_LIMIT = 65_536
_MOST_PROBLEMS = 3
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_SAYS_SCOPE = re.compile(r"""(?:^|[{,])[ \t]*+["']?scope["']?[ \t]*+:""", re.MULTILINE | re.IGNORECASE)
_NEEDS_NO_QUOTES = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*")
_NOT_TEXT = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))

Value = str | int | tuple[str, ...]
Fields = dict[str, Any]


class BadMeta(UsageError):
    """A document's front matter cannot be changed as asked without losing something."""

    code = "bad_meta"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The front matter cannot be changed: {problem}.",
            hint="Correct the document's first lines by hand, or choose plainer values.",
        )


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
    fields, size, problems = _split(text)
    meta = _meta(fields, problems)
    body = _without_leading_blank_lines(text[size:]) if size else text
    return Parsed(meta=meta, body=body, problems=tuple(problems))


def update(text: str, changes: Mapping[str, Value]) -> str:
    """Set keys in the front matter, in the form found (comments where there is none).

    Everything else keeps its bytes: other keys, their order, comments, and the newlines. Only a YAML block
    that cannot be edited line by line is written anew. What was written is read back: where it does not hold
    the wanted values beside all the old ones, that is an error, and no text is returned.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    old = text[len(mark) :]
    fields, size, problems = _split(_with_lf(old))
    given: Fields = {key: list(v) if isinstance(v, tuple) else v for key, v in changes.items()}
    refused = [*problems[:1]] if fields and not size else []
    _meta(given, refused)
    if refused:
        raise BadMeta(refused[0])
    wanted = _meta({**fields, **given}, []), _without_leading_blank_lines(_with_lf(old)[size:])
    for changed in _attempts(old, size, fields, given):
        after, size_after, _ = _split(_with_lf(changed))
        if wanted == (_meta(after, []), _without_leading_blank_lines(_with_lf(changed)[size_after:])):
            return mark + changed
    raise BadMeta(f"{', '.join(changes)[:80]} would not be read back as given")


def _split(text: str) -> tuple[Fields, int, list[str]]:
    """Return raw fields, the characters that they take at the start, and problems.

    Where a block cannot be read but speaks of a scope, it takes none and the field is there all the same: a
    leak cannot be taken back.
    """
    problems: list[str] = []
    if text.startswith("<!--"):
        return (*_comments(text, problems), problems)
    lines = _first_lines(text) if text.startswith("---") else []
    if not lines or lines[0].rstrip() != "---":
        return {}, 0, problems
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    loaded = _load_block("\n".join(lines[1:end]), problems) if end is not None else None
    if end is not None and isinstance(loaded, dict):
        size = sum(len(line) + 1 for line in lines[: end + 1])
        return cast("Fields", loaded), min(size, len(text)), problems
    if end is None:  # never closed, so its first paragraph
        end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    if _SAYS_SCOPE.search("\n".join(lines[1:end])):
        problems.append("its first lines speak of a scope but cannot be read, so it is taken as private")
        return {"scope": "private"}, 0, problems
    return {}, 0, problems


def _comments(text: str, problems: list[str]) -> tuple[Fields, int]:
    """Return the fields of the comments at the start, and the characters that these take.

    They are front matter as far as they go, but beyond the limit they no longer count.
    """
    fields: Fields = {}
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end == -1 else end
        found = _comment(text[position:end])
        if found is None:
            break
        if end <= _BLOCK_LIMIT:
            fields[found[0]] = found[1]
        position = min(end + 1, len(text))
    if position > _BLOCK_LIMIT + 1:
        problems.append("its comments run on beyond 64 KB; those do not count, and it is taken as private")
        fields["scope"] = "private"
    return fields, position


def _first_lines(text: str) -> list[str]:
    """Return the whole lines that a YAML block may take."""
    lines = text[:_BLOCK_LIMIT].split("\n")
    return lines if len(text) <= _BLOCK_LIMIT else lines[:-1]


def _comment(line: str) -> tuple[str, str] | None:
    """Return key and value of a one-line front matter comment."""
    line = line.rstrip()
    if not (line.startswith("<!--") and line.endswith("-->") and len(line) > len("<!---->")):
        return None
    key, colon, value = line[4:-3].partition(":")
    key = key.strip().lower()
    return (key, value.strip()) if colon and key in KEYS and "-->" not in value else None


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
    odd = [item for item in items if not isinstance(item, (str, int))]
    problems.extend(
        f"the tag {str(item)[:40]!r} is not text, and was ignored" for item in odd[:_MOST_PROBLEMS]
    )
    if len(odd) > _MOST_PROBLEMS:
        problems.append(f"{len(odd) - _MOST_PROBLEMS} more tags are not text, and were ignored")
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


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def _attempts(text: str, size: int, fields: Fields, changes: Fields) -> Iterator[str]:
    """Yield the changed text: edited line by line, then, where that is not enough, with its block anew."""
    front = _front(text, size)
    body = text[sum(map(len, front)) :]
    first = text.find("\n")
    newline = "\r\n" if text[:first].endswith("\r") and first > 0 else "\n"
    if not (front and text.startswith("---")):
        yield "".join(_edited(front, changes, newline)) + body
        return
    block = _edited_yaml(front[1:-1], changes, newline)
    yield "".join([front[0], *block, front[-1]]) + body
    block = [_yaml_line(key, value) + newline for key, value in {**fields, **changes}.items()]
    yield "".join([front[0], *block, front[-1]]) + body


def _front(text: str, size: int) -> list[str]:
    """Return the lines that take `size` characters with their newlines as LF, each with its own newline."""
    lines: list[str] = []
    position = 0
    while size > 0:
        end = text.find("\n", position) + 1 or len(text)
        lines.append(text[position:end])
        size -= end - position - lines[-1].endswith("\r\n")
        position = end
    return lines


def _edited(lines: list[str], changes: Fields, newline: str) -> list[str]:
    """Set keys among comments; of two that are equal the last counts."""
    lines = list(lines)
    for key, value in changes.items():
        written = ", ".join(cast("list[str]", value)) if isinstance(value, list) else value
        line = f"<!-- {key}: {written} -->"
        found = [i for i, each in enumerate(lines) if (_comment(each) or ("",))[0] == key]
        if found:
            lines[found[-1]] = line + _newline_of(lines[found[-1]])
        elif lines and not _newline_of(lines[-1]):
            lines[-1:] = [lines[-1] + newline, line]
        else:
            lines.append(line + newline)
    return lines


def _edited_yaml(lines: list[str], changes: Fields, newline: str) -> list[str]:
    """Set keys of a block mapping; a value may go on over indented and listed lines."""
    lines = list(lines)
    for key, value in changes.items():
        begins = re.compile(rf"""(["']?){re.escape(key)}\1[ \t]*:(?!\S)""")
        begin = next((i for i, line in enumerate(lines) if begins.match(line)), len(lines))
        end = min(begin + 1, len(lines))
        for index in range(end, len(lines)):
            is_silent = lines[index].lstrip()[:1] in (
                "",
                "#",
            )  # blank or a comment: the value may go on after
            if not is_silent and lines[index][0] not in " \t-":
                break
            end = end if is_silent else index + 1
        ending = _newline_of(lines[begin]) if begin < len(lines) else newline
        lines[begin:end] = [_yaml_line(key, value) + ending]
    return lines


def _newline_of(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else ""


def _yaml_line(key: str, value: object) -> str:
    return f"{_yaml(key)}: {_yaml(value)}"


def _yaml(value: object) -> str:
    """Write a value on one line, in quotes where it could be taken for something else."""
    if isinstance(value, list):
        return f"[{', '.join(_yaml(item) for item in cast('list[object]', value))}]"
    if isinstance(value, str) and _NEEDS_NO_QUOTES.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.encode(value).decode()
