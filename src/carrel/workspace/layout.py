"""Layouts: what a kind of workspace holds, in which order, within which limits, and how it is rendered.

A layout is data. Each YAML file in `layouts/` describes one system's workspace; one engine reads them all.
Who wrote a description may be a stranger: what it names stays inside the workspace.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Literal

from msgspec import Struct, ValidationError, convert

from carrel import plainyaml
from carrel.errors import UsageError
from carrel.files.paths import BadPath, clean, is_own

LAYOUTS = ("carrel", "astra", "agentscope", "nexo", "squad", "openclaw")
"""The layouts that ship with Carrel, the default first."""

PartKind = Literal[
    "documents", "notebook", "project", "experience", "namespaces", "journal", "knowledge", "skills",
    "additional", "prompt", "text", "query", "recall", "session",
]  # fmt: skip
Reload = Literal["turn", "session", "process"]
Unit = Literal["tokens", "characters", "chars/4"]
Overflow = Literal["exclude", "truncate", "rest"]
Keep = Literal["head", "tail", "both"]

_NEEDS = {"knowledge": ("folder", "entry"), "journal": ("folder",), "skills": ("folder",)}
_SHOWN = 60
_MOST_PARTS = 200
_MOST_PATHS = 1_000
_MOST_DAYS = 3_660
_NONE: frozenset[str] = frozenset()
_IN_MARKER = frozenset(("path", "name", "kept", "left", "whole", "limit"))
_IN_TAGS = frozenset(("path", "name", "stem", "date", "title", "tag"))
_IN_HIT = frozenset(("path", "line", "date", "text"))
_IN_SESSION_FILE = frozenset(("agent", "session"))
_IN_SESSION = frozenset(("date", "weekday", "time_zone", "session"))
_IN_TEXT = _IN_SESSION | {"os", "location", "squad", "workspace", "agent", "agent_name"}


class UnknownLayout(UsageError):
    """No layout has this name."""

    code = "unknown_layout"

    def __init__(self, name: str, known: Sequence[str] = LAYOUTS) -> None:
        super().__init__(f"There is no layout {name!r}.", hint=f"Choose one of: {', '.join(known)}.")


class BadLayout(UsageError):
    """A layout description says something that cannot be."""

    code = "bad_layout"

    def __init__(self, problem: str, *, source: str = "") -> None:
        super().__init__(
            f"The layout{f' {source}' if source else ''} is not valid: {problem}.",
            hint="docs/reference/layouts.md lists every key.",
        )


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Room for one file and for all files that compete, in the layout's unit; none means no limit."""

    file: int | None = None
    total: int | None = None


class IdentityLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file is rendered as one line of fields, and what becomes of it when no field is found."""

    file: str
    fields: tuple[str, ...]
    otherwise: Literal["text", "nothing"]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One source of sections within a message, and how each of them is wrapped."""

    kind: PartKind
    name: str = ""
    """What the report calls a text of the layout's own."""
    files: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    """Matched by `files` but rendered by another part."""
    without: tuple[str, ...] = ()
    """Matched by `files` but never for the prompt."""
    first: tuple[str, ...] = ()
    priorities: dict[str, int] = {}
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
    rest: bool = False
    """Its limit is what the others leave of the total."""
    share: Literal[0, 1, 2] = 0
    """Which of the two shares of the agent's memory tokens is its limit."""
    always: bool = False
    """Its tags are there even when nothing is between them."""
    lead: tuple[str, ...] = ()
    """Each stands once in a message, before the first section of the parts that have it."""
    open: str = ""
    close: str = ""
    gap: str | None = None
    """What parts it from what stands before it, where that is not the message's own gap."""
    line: str = ""
    date: str = ""
    lines: tuple[str, ...] = ()


class MessageSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message, or with `each` one per section, or the place of the history."""

    role: Literal["system", "user"] = "system"
    history: bool = False
    each: bool = False
    reload: Reload = "turn"
    overflow: Overflow | None = None
    """Where it is not the layout's."""
    total: Literal["layout", "memory"] = "layout"
    """Whether its parts compete for the layout's total or for the agent's memory tokens."""
    gap: str = "\n\n"
    parts: tuple[Part, ...] = ()


class SessionFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where sessions are kept; the window and the catalog in a cache of ours where no place is given."""

    log: str = "agents/{agent}/sessions/{session}.log.jsonl"
    window: str = ""
    catalog: str = ""
    events: str = ""
    """Where each turn of any agent leaves a line."""


class Layout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole layout."""

    name: str
    summary: str = ""
    unit: Unit = "tokens"
    limits: Limits = Limits()
    overflow: Overflow = "exclude"
    marker: str
    before_marker: str = "\n"
    bare_cut: bool = False
    """Where the marker does not fit, cut without one rather than leave the text out."""
    front_matter: bool = True
    tags: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    home: str = ""
    """The folder of AGENTS.md, IDENTITY.md and their like, with a slash at its end."""
    journal: str = ""
    sessions: SessionFiles = SessionFiles()
    private: tuple[str, ...] = ()
    shared_shows: tuple[str, ...] = ()
    fallthrough: Literal["absent", "empty"] = "absent"
    """When a read of two layers goes on to the lower one."""
    fusion: Literal["scores", "ranks"] = "scores"
    """How lists of hits become one."""
    messages: tuple[MessageSpec, ...]

    def headings(self) -> tuple[str, ...]:
        """Return the fixed headings that delimit blocks, which no document should forge."""
        parts = [part for message in self.messages for part in message.parts]
        lines = [line for part in parts for line in (*part.lead, *_openings(part), *part.lines)]
        fixed = (line.strip() for line in lines if "{" not in line)
        return tuple(dict.fromkeys(line for line in fixed if line.startswith("#")))


def _openings(part: Part) -> list[str]:
    """Return the opening lines of a part, one per file where they hold its name."""
    return [part.open.replace("{name}", name) for name in part.files or ("",)]


@cache
def load_layout(name: str) -> Layout:
    """Return a layout that ships with Carrel."""
    if name not in LAYOUTS:
        raise UnknownLayout(name)
    source = Path(__file__).with_name("layouts") / f"{name}.yaml"
    return parse_layout(source.read_text("utf-8"))


def parse_layout(text: str, *, source: str = "") -> Layout:
    """Read a description; an unknown key, a wrong type or a missing one is an error that names its place."""
    try:
        layout = convert(plainyaml.load(text, source=source), Layout)
    except ValidationError as error:
        raise BadLayout(str(error), source=source) from None
    if not layout.marker.strip():
        raise BadLayout("a cut must be visible: `marker` is empty", source=source)
    for problem in (*_problems(layout), *_strays(layout), *_excesses(layout)):
        raise BadLayout(problem, source=source)
    return layout


def _problems(layout: Layout) -> Iterator[str]:
    """Yield what would fail only when a prompt is made, each with its place."""
    yield from _unfilled("$.marker", layout.marker, _IN_MARKER)
    for name in ("log", "window"):
        path: str = getattr(layout.sessions, name)
        yield from _unfilled(f"$.sessions.{name}", path, _IN_SESSION_FILE)
        folder, slash, last = path.rpartition("/")
        if path and (not slash or "{session}" in folder or last.count("{session}") != 1):
            yield f"a session's file is in a folder, and has {{session}} in its name - at `$.sessions.{name}`"
    yield from _unfilled("$.sessions.catalog", layout.sessions.catalog, frozenset(("agent",)))
    for i, message in enumerate(layout.messages):
        if not message.parts and not message.history:
            yield f"a message has either parts or the history - at `$.messages[{i}]`"
        for j, part in enumerate(message.parts):
            for name in _NEEDS.get(part.kind, ()):
                if not getattr(part, name):
                    yield f"a part of this kind has a `{name}` - at `$.messages[{i}].parts[{j}]`"
            for name, text, known in _texts(part):
                yield from _unfilled(f"$.messages[{i}].parts[{j}].{name}", text, known)


def _strays(layout: Layout) -> Iterator[str]:
    """Yield which paths lead out of the workspace, or to what Carrel and git keep for themselves.

    A path has one spelling: by another one, what is private would not be recognised.
    """
    for path in (*layout.private, *layout.shared_shows):
        if "*" in path.removesuffix("/**") or "?" in path or path.endswith("/"):
            yield f"{path[:_SHOWN]!r} is neither a file nor a folder, as `folder/**`"
    if layout.home and not layout.home.endswith("/"):
        yield f"a slash is at the end of `home`: {layout.home[:_SHOWN]!r}"
    folders = (*filter(None, (layout.home,)), *layout.requires)
    for path in (*folders, *_paths(layout)):
        try:
            cleaned = clean(path)
        except BadPath as error:
            yield error.message.rstrip(".")
            continue
        if is_own(cleaned):
            yield f"{path[:_SHOWN]!r} is in a folder of Carrel's or git's own"
        if (path.removesuffix("/") if path in folders else path) != cleaned:
            yield f"{path[:_SHOWN]!r} is written {cleaned[:_SHOWN]!r}"


def _paths(layout: Layout) -> Iterator[str]:
    """Yield the paths that a layout names, those apart that may have a slash at their end."""
    kept = layout.sessions
    yield from filter(None, (layout.journal, kept.log, kept.window, kept.catalog, kept.events))
    yield from (*layout.private, *layout.shared_shows)
    for part in (part for message in layout.messages for part in message.parts):
        yield from filter(None, (part.folder, part.entry, part.identity.file if part.identity else ""))
        yield from (*part.files, *part.elsewhere, *part.without, *part.first, *part.priorities, *part.pinned)


def _excesses(layout: Layout) -> Iterator[str]:
    """Yield what would cost more than any prompt is worth."""
    parts = [part for message in layout.messages for part in message.parts]
    if len(layout.messages) + len(parts) > _MOST_PARTS:
        yield f"there are more than {_MOST_PARTS} messages and parts"
    if len(layout.requires) + sum(1 for _ in _paths(layout)) > _MOST_PATHS:
        yield f"there are more than {_MOST_PATHS:,} paths and patterns"
    if any(not 0 <= part.days <= _MOST_DAYS for part in parts):
        yield f"`days` are not between 0 and {_MOST_DAYS:,}"
    if min(layout.limits.file or 0, layout.limits.total or 0) < 0:
        yield "a limit is below zero"


def _texts(part: Part) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield the texts of a part with their keys and the names that are filled in there."""
    around = _NONE if part.kind in ("query", "recall", "session") else _IN_TAGS
    yield "open", part.open, around
    yield "close", part.close, around
    yield "line", part.line, _IN_HIT
    yield "date", part.date, frozenset(("date",))
    for text in part.lead:
        yield "lead", text, _NONE
    for text in part.lines:
        yield "lines", text, _IN_TEXT if part.kind == "text" else _IN_SESSION


def _unfilled(place: str, text: str, known: frozenset[str]) -> Iterator[str]:
    """Yield what in a text cannot be filled in: only plain `{name}`, without a form or a conversion."""
    try:
        for _, name, form, conversion in Formatter().parse(text):
            if name is not None and (name not in known or form or conversion):
                written = ", ".join(f"{{{each}}}" for each in sorted(known)) or "none"
                yield f"{{{name[:40]}}} cannot be filled in; there is {written} - at `{place}`"
    except ValueError:
        yield f"a brace is not closed or not opened - at `{place}`"
