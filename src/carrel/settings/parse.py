"""The parser of carrel.yaml: plain data becomes what was given, and what was given becomes settings."""

import re
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args, get_origin

from carrel import plainyaml
from carrel.settings import (
    ALIAS,
    LARGEST,
    MEANINGS,
    Given,
    Key,
    Settings,
    Spec,
    Table,
    camel,
    leaves,
    specs,
)
from carrel.settings.about import About, BadSetting

_EXPECTED: dict[object, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_NAMES: dict[type, str] = {int: "a number", list: "a list", dict: "a table"}
_LONGEST_SHOWN = 60


def parse_text(text: str, *, layout: str | None, source: str) -> Given:
    """Read the text of a settings file; an error names the line."""
    data, lines = plainyaml.load_with_lines(text, source=source)
    return parse(data, layout=layout, source=source, lines=lines)


def parse(
    data: object, *, layout: str | None, source: str, lines: Mapping[plainyaml.Place, int] | None = None
) -> Given:
    """Check plain data against the settings; a key without a value (null) counts as not given.

    `layout` decides what `maxContextTokens` means, else the data's own `layout`. Raises only BadSetting.
    """
    if layout is None and isinstance(data, dict):
        layout = cast("dict[str, Any]", data).get("layout")
    reading = _Reading(layout, source, lines or {})
    if data is not None:
        reading.table(Settings, cast("object", data), (), ())
    return reading.given


class _Reading:
    """One pass over one source; `key` is a setting's name for people, `place` its way in the data."""

    def __init__(self, layout: str | None, source: str, lines: Mapping[plainyaml.Place, int]) -> None:
        self.layout, self.source, self.lines = layout, source, lines
        self.given: Given = {}

    def table(self, table: Table, data: object, key: Key, place: plainyaml.Place) -> None:
        """Read a mapping whose keys are the fields of a struct."""
        if not isinstance(data, dict):
            raise self._error(key, f"must be a table of keys, not {_shown(data)}", place)
        seen = set[str]()
        for written, value in cast("dict[object, object]", data).items():
            word = written if isinstance(written, str) else "?"
            name = re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), word)
            at = (*place, word)
            if name in seen:
                raise self._error((*key, name), f"is given twice: also as {camel(name)}", at)
            seen.add(name)
            is_alias = name == ALIAS and table in MEANINGS
            if not is_alias and name not in specs(table):
                raise self._error((*key, word), "is not a setting", at, _nearest(table, name, key))
            if is_alias and value is not None:
                self._alias(table, value, key, at)
            elif value is not None:
                self._field(specs(table)[name], value, (*key, name), at)

    def _field(self, spec: Spec, value: object, key: Key, place: plainyaml.Place) -> None:
        if spec.table and spec.is_list:
            self._entries(spec.table, value, key, place)
        elif spec.table:
            bare = spec.about.shorthand and isinstance(value, str)
            self.table(spec.table, {spec.about.shorthand: value} if bare else value, key, place)
        elif key in self.given:
            raise self._error(key, f"is given twice: also as {camel(ALIAS)}", place)
        else:
            self.given[key] = self._checked(spec, value, key, place)

    def _entries(self, table: Table, data: object, key: Key, place: plainyaml.Place) -> None:
        if not isinstance(data, list):
            raise self._error(key, f"must be a list, not {_shown(data)}", place)
        seen = set[str]()
        for number, entry in enumerate(cast("list[object]", data)):
            at, nameless = (*place, number), (*key[:-1], f"{key[-1]}[{number}]")
            given = cast("dict[str, object]", entry).get("id") if isinstance(entry, dict) else None
            if given is None:
                raise self._error(nameless, "has no id", at, "Every entry is a table with an `id`.")
            name = str(self._checked(specs(table)["id"], given, (*nameless, "id"), (*at, "id")))
            # Ids become names of directories, and some disks do not tell `Kate` from `kate`.
            if name.casefold() in seen:
                raise self._error((*key, name), "is given twice", at, "Give each entry its own id.")
            seen.add(name.casefold())
            self.table(table, cast("object", entry), (*key, name), at)

    def _alias(self, table: Table, value: object, key: Key, place: plainyaml.Place) -> None:
        meanings = MEANINGS[table]
        meaning = meanings.get(self.layout) if isinstance(self.layout, str) else None
        if meaning is None:
            both = " or ".join(".".join((*key, *names)) for names in meanings.values())
            problem = "means different things in different layouts"
            raise self._error((*key, ALIAS), problem, place, f"Say which you mean: {both}.")
        self._field(leaves(table)[meaning], value, (*key, *meaning), place)

    def _checked(self, spec: Spec, value: object, key: Key, place: plainyaml.Place) -> object:
        problem = _problem(spec, value)
        if problem:
            raise self._error(key, problem, place, spec.about.hint)
        if spec.kind is float:
            return float(cast("int | float", value))
        return tuple(cast("list[str]", value)) if isinstance(value, list) else value

    def _error(self, key: Key, problem: str, place: plainyaml.Place, hint: str = "") -> BadSetting:
        name = ".".join(key) or "the whole file"
        if not name.isprintable() or len(name) > _LONGEST_SHOWN:
            name = repr(name[:_LONGEST_SHOWN])
        return BadSetting(name, problem, source=self.source, line=self.lines.get(place, 0), hint=hint)


def _problem(spec: Spec, value: object) -> str:
    """Say what is wrong with a value, or nothing."""
    kind, about = spec.kind, spec.about
    if get_origin(kind) is Literal:
        choices = " or ".join(get_args(kind))
        return "" if value in get_args(kind) else f"must be {choices}, not {_shown(value)}"
    if get_origin(kind) is tuple:
        texts = cast("list[object]", value) if isinstance(value, list) else [None]
        odd = any(type(text) is not str or not _is_clean(text) for text in texts)
        return f"must be a list of texts, not {_shown(cast('object', value))}" if odd else ""
    kinds = (int, float) if kind is float else (kind,)
    if type(value) not in kinds:  # not isinstance: True is no number
        return f"must be {_EXPECTED[kind]}, not {_shown(value)}"
    if isinstance(value, str):
        return _text_problem(about, value)
    if isinstance(value, int | float) and kind is not bool and not about.least <= value <= LARGEST:
        return f"must be {about.least} to {LARGEST}"
    return ""


def _text_problem(about: About, text: str) -> str:
    if not _is_clean(text):
        return "has a character that no file name or prompt can hold"
    if about.pattern and not re.fullmatch(about.pattern, text):
        return f"must match {about.pattern}, not {_shown(text)}"
    if about.check and not about.check(text):
        return f"is unknown: {_shown(text)}"
    return ""


def _is_clean(text: str) -> bool:
    # Half a surrogate pair cannot be encoded, and NUL ends a path: both would only fail later, far from here.
    return "\0" not in text and not re.search("[\ud800-\udfff]", text)


def _shown(value: object) -> str:
    """Name a value in a message: short, and harmless on a terminal."""
    if isinstance(value, str):
        return repr(value if len(value) <= _LONGEST_SHOWN else value[:_LONGEST_SHOWN] + "...")
    if isinstance(value, bool | float):
        return str(value).lower()
    return _NAMES.get(type(value), "nothing")


def _nearest(table: Table, name: str, key: Key) -> str:
    """Point from an unknown key to a similar one here, the same one elsewhere, or all there are here."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

    here = list(specs(table))
    similar = get_close_matches(name[:_LONGEST_SHOWN], here, n=1)
    if similar:
        return f"Did you mean {'.'.join((*key, *similar))}?"
    elsewhere = next((names for names in leaves() if name in names), None)
    return f"Did you mean {_in_words(elsewhere)}?" if elsewhere else f"Keys here: {', '.join(here)}."


def _in_words(names: Key, table: Table = Settings) -> str:
    """Write the names that lead to a value, with `[]` after that of a list."""
    spec = specs(table)[names[0]]
    word = f"{names[0]}[]" if spec.is_list else names[0]
    return f"{word}.{_in_words(names[1:], spec.table)}" if spec.table else word


def build(given: Given) -> Settings:
    """Complete what was given with the defaults."""
    tree: dict[str, Any] = {}
    for (*way, name), value in given.items():
        branch = tree
        for step in way:
            branch = branch.setdefault(step, {})
        branch[name] = value
    return cast("Settings", _build(Settings, tree))


def _build(table: Table, tree: dict[str, Any]) -> Any:
    values: dict[str, object] = {}
    for name, below in tree.items():
        spec = specs(table)[name]
        if spec.table and spec.is_list:
            values[name] = tuple(_build(spec.table, entry) for entry in below.values())
        else:
            values[name] = _build(spec.table, below) if spec.table else below
    return table(**values)
