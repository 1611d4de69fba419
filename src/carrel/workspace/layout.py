"""Layouts: what a kind of workspace holds, in which order, within which limits, and how it is rendered.

A layout is data. Each YAML file in `layouts/` describes one system's workspace; one engine reads them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import resources
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from carrel import plainyaml
from carrel.errors import UsageError

LAYOUTS = ("carrel", "astra", "nexo")
"""The layouts that ship with Carrel, the default first."""

PartKind = Literal[
    "documents", "notebook", "project", "experience", "journal", "knowledge", "skills", "prompt",
    "query", "recall", "session",
]  # fmt: skip
Reload = Literal["turn", "session", "process"]
Unit = Literal["tokens", "characters"]
Overflow = Literal["exclude", "truncate"]
Keep = Literal["head", "tail"]


class UnknownLayout(UsageError):
    """No layout has this name."""

    code = "unknown_layout"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no layout {name!r}.", hint=f"Choose one of: {', '.join(LAYOUTS)}.")


class BadLayout(UsageError):
    """A layout description says something that cannot be."""

    code = "bad_layout"

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"Layout: {where}: {problem}", hint="docs/reference/layouts.md lists every key.")
        self.where = where


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Room for one file and for all files that compete, in the layout's unit; none means no limit."""

    file: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityLine:
    """Which file is rendered as one line of fields, and what becomes of it when no field is found."""

    file: str
    fields: tuple[str, ...]
    otherwise: Literal["text", "nothing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One source of sections within a message, and how each of them is wrapped."""

    kind: PartKind
    files: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Matched by `files` but rendered by another part."""
    without: tuple[str, ...] = ()
    """Matched by `files` but never for the prompt."""
    first: tuple[str, ...] = ()
    priorities: Mapping[str, int] = field(default_factory=dict[str, int])
    pinned: tuple[str, ...] = ()
    identity: IdentityLine | None = None
    folder: str = ""
    entry: str = ""
    listing: str = ""
    days: int = 0
    order: Literal["oldest", "newest"] = "oldest"
    keep: Keep = "head"
    unlimited: bool = False
    counted: bool = True
    """Whether it competes for the total."""
    lead: str = ""
    """Stands before the first section of the part."""
    open: str = ""
    close: str = ""
    gap: str | None = None
    """What parts it from what stands before it, where that is not the message's own gap."""
    line: str = ""
    date: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSpec:
    """One message, or with `each` one per section, or the place of the history."""

    role: Literal["system", "user"] = "system"
    history: bool = False
    each: bool = False
    reload: Reload = "turn"
    gap: str = "\n\n"
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A whole layout."""

    name: str
    summary: str = ""
    unit: Unit = "tokens"
    limits: Limits = Limits()
    overflow: Overflow = "exclude"
    marker: str
    before_marker: str = "\n"
    front_matter: bool = True
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    home: str = ""
    """The folder of AGENTS.md, IDENTITY.md and their like, with a slash at its end."""
    journal: str = ""
    private: tuple[str, ...] = ()
    shared_shows: tuple[str, ...] = ()
    messages: tuple[MessageSpec, ...]

    def headings(self) -> tuple[str, ...]:
        """Return the fixed headings that delimit blocks, which no document should forge."""
        parts = [part for message in self.messages for part in message.parts]
        lines = [line for part in parts for line in (part.lead.strip(), part.open) if line.startswith("#")]
        return tuple(dict.fromkeys(line for line in lines if "{" not in line))


@cache
def load_layout(name: str) -> Layout:
    """Return a layout that ships with Carrel."""
    if name not in LAYOUTS:
        raise UnknownLayout(name)
    source = resources.files("carrel.workspace") / "layouts" / f"{name}.yaml"
    return parse_layout(source.read_text("utf-8"))


def parse_layout(text: str) -> Layout:
    """Read a description; an unknown key, a wrong type or a missing one is an error that names its place."""
    layout = cast("Layout", _value(Layout, plainyaml.load(text), "layout"))
    if not layout.marker.strip():
        raise BadLayout("marker", "a cut must be visible: say what marks it")
    return layout


def _value(kind: Any, data: object, where: str) -> object:
    """Turn plain data into a value of `kind`: a dataclass, tuple, mapping, literal, union or plain type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if hasattr(kind, "__dataclass_fields__"):
        return _record(kind, data, where)
    if origin is tuple and isinstance(data, list):
        items = enumerate(cast("list[object]", data), 1)
        return tuple(_value(arguments[0], item, f"{where}[{n}]") for n, item in items)
    if origin is Mapping and isinstance(data, dict):
        pairs = cast("dict[str, object]", data).items()
        return {key: _value(arguments[1], item, f"{where}.{key}") for key, item in pairs}
    if origin is Literal and data in arguments:
        return data
    if origin in (Union, UnionType):
        if data is None and type(None) in arguments:
            return None
        return _value(next(a for a in arguments if a is not type(None)), data, where)
    if isinstance(kind, type) and type(data) is kind:
        return data
    expected = " or ".join(map(str, arguments)) if origin is Literal else getattr(kind, "__name__", str(kind))
    raise BadLayout(where, f"expected {expected}, found {str(data)[:60]!r}")


def _record(kind: Any, data: object, where: str) -> object:
    if not isinstance(data, dict):
        raise BadLayout(where, f"expected keys and values, found {str(data)[:60]!r}")
    given = cast("dict[str, object]", data)
    hints = get_type_hints(kind)
    for key in given:
        if key not in hints:
            raise BadLayout(f"{where}.{key}", f"unknown key; the keys are {', '.join(sorted(hints))}")
    values = {key: _value(hints[key], item, f"{where}.{key}") for key, item in given.items()}
    try:
        return kind(**values)
    except TypeError:
        absent = [f.name for f in fields(kind) if f.name not in given]
        raise BadLayout(where, f"a required key is missing, one of {', '.join(absent)}") from None
