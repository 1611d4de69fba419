"""The only reader of YAML: plain data in, plain data out, whatever the text tries.

Text becomes dicts with text keys, lists, and scalars. What is not needed for that is refused: anchors and
aliases, tags, several documents, keys given twice, keys that are not scalars, nesting deeper than 16. All of
it is decided event by event, before anything is composed, so a hostile text costs no more than its first bad
line.

Scalars follow the core schema of YAML 1.2, which guesses less than 1.1: only `true` and `false` (and `True`,
`TRUE`, ...) are booleans, `010` is ten, and a date, `yes`, `1:30` or `1_000` is text. A number too large for
64 bits or for a finite float is text too. Keys are always the text that was written.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from math import isfinite
from typing import Any, cast

from msgspec import MsgspecError, json

from carrel.errors import UsageError

LIMIT = 65_536
DEEPEST = 16

Place = tuple[str | int, ...]
"""The way to a value: keys of mappings and positions in lists."""

# Compiled when first used, as this module is imported at every start.
_INTEGER = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
_FLOAT = r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_LONGEST_NUMBER = 64  # characters: no number that fits is longer, and int() is slow on very long ones


def at_line(source: str, line: int) -> str:
    """Say where a message belongs, as its beginning: `carrel.yaml, line 3: `."""
    where = ", ".join(filter(None, [source, f"line {line}" if line else ""]))
    return f"{where}: " if where else ""


_MEND = "Look at that line and the one above it: quotes, brackets and indentation have to match."


class BadYaml(UsageError):
    """The text is not the plain YAML that is read here; `line` counts from 1, 0 when no line is to blame."""

    code = "bad_yaml"

    def __init__(self, problem: str, *, line: int = 0, source: str = "", hint: str = "") -> None:
        super().__init__(at_line(source, line) + problem, hint=hint or _MEND)
        self.problem = problem
        self.line = line
        self.source = source


_memory: list[str] = []
_MOST_REMEMBERED = 1_000


def remember_in(folder: str | os.PathLike[str] | None) -> None:
    """Keep what texts say in a folder, or nowhere, from now on in this process, as Python keeps its bytecode.

    Importing a YAML parser costs more than everything else a short command does; equal text is equal data.
    """
    _memory[:] = [] if folder is None else [os.fspath(folder)]


def load(text: str, *, limit: int = LIMIT, source: str = "") -> object:
    """Read one YAML document as plain data; an empty one is None.

    Raises only BadYaml, in time and memory bounded by `limit` characters.
    """
    if not _memory or len(text) > limit:
        return load_with_lines(text, limit=limit, source=source)[0]
    folder, name = _memory[0], sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    try:
        with open(f"{folder}/{name}.json", "rb") as file:  # noqa: PTH123 - pathlib is not worth its import
            return json.decode(file.read())
    except (OSError, MsgspecError, UnicodeDecodeError):
        data = load_with_lines(text, limit=limit, source=source)[0]
    with suppress(OSError, MsgspecError, UnicodeEncodeError):  # what cannot be kept is read again next time
        _keep(folder, name, json.encode(data))
    return data


def _keep(folder: str, name: str, data: bytes) -> None:
    """Write a file that appears whole or not at all; when there are very many, begin anew."""
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
    known = os.listdir(folder)  # noqa: PTH208 - as above
    for old in known if len(known) >= _MOST_REMEMBERED else ():
        with suppress(FileNotFoundError):
            os.unlink(f"{folder}/{old}")  # noqa: PTH108 - as above
    unfinished = f"{folder}/{name}.{os.getpid()}"
    with open(unfinished, "wb") as file:  # noqa: PTH123 - as above
        file.write(data)
    os.replace(unfinished, f"{folder}/{name}.json")  # noqa: PTH105 - as above


def load_with_lines(text: str, *, limit: int = LIMIT, source: str = "") -> tuple[object, dict[Place, int]]:
    """Read as `load` does, and tell the line of every value by its place."""
    if len(text) > limit:
        raise BadYaml(f"longer than {limit:,} characters", source=source)
    build = _Build()
    try:
        for event in _events(text):
            build.take(event)
    except _RefusedError as refusal:
        raise BadYaml(refusal.problem, line=refusal.line, source=source, hint=refusal.hint) from None
    return build.result, build.lines


class _RefusedError(Exception):
    """Why reading stopped, before the name of the source is known."""

    def __init__(self, problem: str, line: int, hint: str = "") -> None:
        super().__init__(problem)
        self.problem, self.line, self.hint = problem, line, hint


def _events(text: str) -> Iterator[Any]:
    import yaml  # noqa: PLC0415 - 15 ms that a command without YAML must not pay

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        yield from cast("Any", yaml).parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        raise _RefusedError(error.problem or "not valid YAML", mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, ValueError) as error:  # a character YAML forbids, or one that is half a pair
        raise _RefusedError("a character that YAML does not allow", _line_of_odd_character(text)) from error


def _line_of_odd_character(text: str) -> int:
    odd = re.search("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    return text.count("\n", 0, odd.start()) + 1 if odd else 0


class _Frame:
    """A mapping or list that is still open, and the key that waits for its value."""

    __slots__ = ("container", "key", "line", "place")

    def __init__(self, container: dict[str, object] | list[object], place: Place) -> None:
        self.container, self.place = container, place
        self.key: str | None = None
        self.line = 0  # of that key: what a person looks for


class _Build:
    """Plain data growing from events; open containers are a list, so depth costs no recursion."""

    def __init__(self) -> None:
        self.result: object = None
        self.lines: dict[Place, int] = {}
        self._open: list[_Frame] = []
        self._documents = 0

    def take(self, event: Any) -> None:
        """Grow by one event, or refuse it."""
        line: int = event.start_mark.line + 1
        kind = type(event).__name__
        if kind == "AliasEvent" or getattr(event, "anchor", None):
            raise _RefusedError("anchors and aliases are not read", line, "Write the value where it is used.")
        if getattr(event, "tag", None):
            raise _RefusedError("tags are not read", line, "Remove the word that begins with `!`.")
        match kind:
            case "DocumentStartEvent":
                self._start_document(line)
            case "MappingStartEvent":
                self._start({}, line)
            case "SequenceStartEvent":
                self._start([], line)
            case "MappingEndEvent" | "SequenceEndEvent":
                self._open.pop()
            case "ScalarEvent":
                self._scalar(event.value, plain=event.implicit[0], line=line)
            case _:  # the ends of a document and of the stream
                pass

    def _start_document(self, line: int) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _RefusedError("a second document begins", line, "Keep one document: remove the line `---`.")

    def _start(self, container: dict[str, object] | list[object], line: int) -> None:
        if len(self._open) == DEEPEST:
            raise _RefusedError(f"nested more than {DEEPEST} deep", line)
        self._open.append(_Frame(container, self._add(container, line)))

    def _scalar(self, text: str, *, plain: bool, line: int) -> None:
        frame = self._open[-1] if self._open else None
        if frame is None or frame.key is not None or isinstance(frame.container, list):
            self._add(_resolve(text) if plain else text, line)
        elif text in frame.container:
            raise _RefusedError(f"the key {text[:60]!r} is given twice", line)
        else:
            frame.key, frame.line = text, line

    def _add(self, value: object, line: int) -> Place:
        if not self._open:
            self.result = value
            place: Place = ()
        elif isinstance(container := (frame := self._open[-1]).container, list):
            place = (*frame.place, len(container))
            container.append(value)
        elif frame.key is None:
            raise _RefusedError("a key that is not plain text", line)
        else:
            place, line = (*frame.place, frame.key), frame.line
            container[frame.key] = value
            frame.key = None
        self.lines[place] = line
        return place


def _resolve(text: str) -> object:
    """Give a scalar without quotes its value: null, a boolean, a number, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    if re.fullmatch(_INTEGER, text):
        number = int(text, 0 if text[:2] in {"0o", "0x"} else 10)
        return number if -(2**63) <= number < 2**63 else text
    if re.fullmatch(_FLOAT, text):
        value = float(text)
        return value if isfinite(value) else text
    return text
