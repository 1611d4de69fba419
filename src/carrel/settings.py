"""The settings of a workspace: every key of carrel.yaml as a value, and the parser of that file.

The dataclasses are the only list of keys. A field's type, its default and what `setting` says of it decide
how it is read, checked, trusted and documented; the JSON Schema and the reference page derive from them.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin

from carrel import plainyaml
from carrel.errors import UsageError

Key = tuple[str, ...]
"""A setting's place: `("budgets", "total")`, or `("agents", ID, "model")` since agents merge by their id."""

Given = dict[Key, object]
"""Exactly the settings one source gave, by key. Layers merge by `|`."""

LARGEST = 2**53 - 1  # the largest whole number that every JSON reader keeps exact
LAYOUT = r"^[a-z][a-z0-9_-]*$"
AGENT_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"


_RULES: dict[str, Any] = {
    "least": 0,  # the smallest number allowed
    "pattern": "",  # what the whole text must match
    "check": None,  # a function that accepts or refuses the text
    "hint": "",  # what to write instead of a refused value
    "shorthand": "",  # the key of this table that a bare text stands for
    "environment": "",  # the variable that sets it too
    "sensitive": False,  # in a workspace's own file it needs its owner's trust
    "counts": False,  # used even without trust, since counting tokens calls nobody
}


def about(text: str = "", **rules: Any) -> dict[str, Any]:
    """Say what is special about a setting; a table's text is its docstring."""
    return _RULES | rules | {"text": text}


def setting(default: Any, text: str, **rules: Any) -> Any:
    """Declare a value: its default, a sentence for people, and what is special about it."""
    return field(default=default, metadata=about(text, **rules))


def is_time_zone(name: str) -> bool:
    """Tell whether this is an IANA time zone that this machine knows."""
    if name == "UTC":  # the default must not cost an import
        return True
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a folder of zones, or one too long
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSettings:
    """What the workspace is called."""

    name: str | None = setting(None, "`workspace.name` in templates; else the directory's name.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """Whom the agents work for."""

    id: str | None = setting(None, "`user.id` in templates.")
    name: str | None = setting(None, "`user.name` in templates.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The model that tokens are counted for and, in a trusted workspace, that is called."""

    name: str | None = setting(
        None, "The model to count for and to call.", environment="CARREL_MODEL", sensitive=True, counts=True
    )
    context_window: int | None = setting(None, "Tokens it takes; else what is known of the model.", least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """How much room each part of the context gets; 0 leaves the part out."""

    file: int | None = setting(None, "Limit of one file, in the layout's unit; else the layout's limit.")
    total: int | None = setting(None, "Limit of all files, in the layout's unit; else the layout's limit.")
    memory_tokens: int = setting(8000, "Tokens for MEMORY.md where the layout caps it.")
    recall_tokens: int = setting(8000, "Tokens for what recall finds.")
    recall_hits: int = setting(20, "Most hits that recall puts into the context.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySettings:
    """How a file is looked up in two layers."""

    fallthrough: Literal["absent", "empty"] | None = setting(
        None, "Read the lower file when the upper is absent, or also when it is empty; else the layout's."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceFiles:
    """Which documents an agent sees."""

    include_tags: tuple[str, ...] = setting((), "Only files with one of these tags, and priority files.")
    exclude: tuple[str, ...] = setting((), "Files this agent never sees.")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemory:
    """How much of an agent's own memory it reads back."""

    max_tokens: int = setting(2000, "Tokens for both layers of its memory together.")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceGit:
    """Whether writes to an agent's workspace are committed."""

    enabled: bool = setting(default=False, text="Commit every write to a git repository.", sensitive=True)
    author_name: str | None = setting(None, "Author of these commits.", sensitive=True)
    author_email: str | None = setting(None, "E-mail address of that author.", sensitive=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """One agent of the workspace."""

    id: str = setting(MISSING, "Letters, digits, `.`, `_` and `-`; at most 128.", pattern=AGENT_ID)
    display_name: str | None = setting(None, "`agent.displayName` in templates; else its identity's name.")
    domain: str | None = setting(None, "`domain` in templates.")
    model: str | None = setting(None, "Its model; else `model.name`.", sensitive=True, counts=True)
    context_window: int | None = setting(None, "Tokens it takes; else `model.context_window`.", least=1)
    memory_tokens: int | None = setting(None, "Tokens for MEMORY.md; else `budgets.memory_tokens`.")
    # Workspaces that name the same profile share its memory: a stranger's must not pick one freely.
    profile: str | None = setting(None, "Profile whose experience it shares.", sensitive=True)
    workspace: str | None = setting(None, "Its own directory, relative to the workspace.", sensitive=True)
    workspace_files: WorkspaceFiles = field(default_factory=WorkspaceFiles, metadata=about())
    system_prompt_template: str = setting("", "Its prompt; `{{variables}}` are filled in.")
    additional_context_files: tuple[str, ...] = setting((), "More files of the workspace, in full.")
    allowed_delegates: tuple[str, ...] = setting((), "Agents it may ask; `x*` is a prefix; empty: all.")
    allowed_tools: tuple[str, ...] = setting((), "Tools it may call; `x*` is a prefix; empty: all.")
    memory_enabled: bool = setting(default=True, text="Whether it has a memory of its own.")
    trigger_interval: int = setting(10, "Turns between two extractions of facts.", least=1)
    memory: AgentMemory = field(default_factory=AgentMemory, metadata=about())
    transcripts_dir: str | None = setting(None, "For its transcripts; else the layout's.", sensitive=True)
    workspace_git: WorkspaceGit = field(default_factory=WorkspaceGit, metadata=about())


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings, complete: what no source gave has its default."""

    layout: str | None = setting(
        None, "Its name; else detected.", environment="CARREL_LAYOUT", pattern=LAYOUT
    )
    time_zone: str = setting(
        "UTC",
        "IANA name of the zone in which days begin.",
        environment="CARREL_TZ",
        check=is_time_zone,
        hint="Use an IANA name such as America/Bogota.",
    )
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings, metadata=about())
    user: UserSettings = field(default_factory=UserSettings, metadata=about())
    model: ModelSettings = field(default_factory=ModelSettings, metadata=about(shorthand="name"))
    budgets: BudgetSettings = field(default_factory=BudgetSettings, metadata=about())
    overlay: OverlaySettings = field(default_factory=OverlaySettings, metadata=about())
    agents: tuple[AgentSettings, ...] = setting((), "The agents.")


# `maxContextTokens` has two meanings in the field: which one is the layout's to say.
ALIAS = "max_context_tokens"
MEANINGS: dict[type, dict[str, Key]] = {
    Settings: {"astra": ("model", "context_window"), "agentscope": ("budgets", "memory_tokens")},
    AgentSettings: {"astra": ("context_window",), "agentscope": ("memory_tokens",)},
}
_EXPECTED: dict[object, str] = {str: "text", int: "a whole number", bool: "true or false"}
_NAMES: dict[type, str] = {int: "a number", list: "a list", dict: "a table"}
_LONGEST_SHOWN = 60


class BadSetting(UsageError):
    """A setting that cannot be used: `key` names it, `line` is 0 where no line is known."""

    code = "bad_setting"

    def __init__(self, key: str, problem: str, *, source: str = "", line: int = 0, hint: str = "") -> None:
        super().__init__(f"{plainyaml.at_line(source, line)}{key} {problem}", hint=hint)
        self.key, self.problem, self.source, self.line = key, problem, source, line


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

    def table(self, table: type, data: object, key: Key, place: plainyaml.Place) -> None:
        """Read a mapping whose keys are the fields of a dataclass."""
        if not isinstance(data, dict):
            raise self._error(key, f"must be a table of keys, not {_shown(data)}", place)
        specs = {spec.name: spec for spec in fields(table)}
        seen = set[str]()
        for written, value in cast("dict[object, object]", data).items():
            word = written if isinstance(written, str) else "?"
            name = re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), word)
            at = (*place, word)
            if name in seen:
                raise self._error((*key, name), f"is given twice: also as {camel(name)}", at)
            seen.add(name)
            is_alias = name == ALIAS and table in MEANINGS
            if not is_alias and name not in specs:
                raise self._error((*key, word), "is not a setting", at, _nearest(table, name, key))
            if is_alias and value is not None:
                self._alias(table, value, key, at)
            elif value is not None:
                self._field(specs[name], value, (*key, name), at)

    def _field(self, spec: Field[Any], value: object, key: Key, place: plainyaml.Place) -> None:
        kind, inner, shorthand = kind_of(spec), table_of(spec), spec.metadata["shorthand"]
        if shorthand and isinstance(value, str):
            self.table(kind, {shorthand: value}, key, place)
        elif inner and inner is kind:
            self.table(inner, value, key, place)
        elif inner:
            self._agents(value, key, place)
        elif key in self.given:
            raise self._error(key, f"is given twice: also as {camel(ALIAS)}", place)
        else:
            self.given[key] = self._checked(spec, value, key, place)

    def _agents(self, data: object, key: Key, place: plainyaml.Place) -> None:
        if not isinstance(data, list):
            raise self._error(key, f"must be a list, not {_shown(data)}", place)
        seen = set[str]()
        for number, entry in enumerate(cast("list[object]", data)):
            at, nameless = (*place, number), (f"agents[{number}]",)
            given = cast("dict[str, object]", entry).get("id") if isinstance(entry, dict) else None
            if given is None:
                raise self._error(nameless, "has no id", at, "Every agent is a table with an `id`.")
            name = str(self._checked(fields(AgentSettings)[0], given, (*nameless, "id"), (*at, "id")))
            # Ids become names of directories, and some disks do not tell `Kate` from `kate`.
            if name.casefold() in seen:
                raise self._error((*key, name), "is given twice", at, "Give each agent its own id.")
            seen.add(name.casefold())
            self.table(AgentSettings, cast("object", entry), (*key, name), at)

    def _alias(self, table: type, value: object, key: Key, place: plainyaml.Place) -> None:
        meanings = MEANINGS[table]
        meaning = meanings.get(self.layout) if isinstance(self.layout, str) else None
        if meaning is None:
            both = " or ".join(".".join((*key, *names)) for names in meanings.values())
            problem = "means different things in different layouts"
            raise self._error((*key, ALIAS), problem, place, f"Say which you mean: {both}.")
        self._field(leaves(table)[meaning], value, (*key, *meaning), place)

    def _checked(self, spec: Field[Any], value: object, key: Key, place: plainyaml.Place) -> object:
        problem = _problem(spec, value)
        if problem:
            raise self._error(key, problem, place, spec.metadata["hint"])
        return tuple(cast("list[str]", value)) if isinstance(value, list) else value

    def _error(self, key: Key, problem: str, place: plainyaml.Place, hint: str = "") -> BadSetting:
        name = ".".join(key) or "the whole file"
        if not name.isprintable() or len(name) > _LONGEST_SHOWN:
            name = repr(name[:_LONGEST_SHOWN])
        return BadSetting(name, problem, source=self.source, line=self.lines.get(place, 0), hint=hint)


def _problem(spec: Field[Any], value: object) -> str:
    """Say what is wrong with a value, or nothing."""
    kind = kind_of(spec)
    if get_origin(kind) is Literal:
        choices = " or ".join(get_args(kind))
        return "" if value in get_args(kind) else f"must be {choices}, not {_shown(value)}"
    if get_origin(kind) is tuple:
        texts = cast("list[object]", value) if isinstance(value, list) else [None]
        odd = any(type(text) is not str or not _is_clean(text) for text in texts)
        return f"must be a list of texts, not {_shown(cast('object', value))}" if odd else ""
    if type(value) is not kind:  # not isinstance: True is no number
        return f"must be {_EXPECTED[kind]}, not {_shown(value)}"
    if isinstance(value, str):
        return _text_problem(spec.metadata, value)
    if isinstance(value, int) and kind is int and not spec.metadata["least"] <= value <= LARGEST:
        return f"must be {spec.metadata['least']} to {LARGEST}"
    return ""


def _text_problem(rules: Mapping[str, Any], text: str) -> str:
    if not _is_clean(text):
        return "has a character that no file name or prompt can hold"
    if rules["pattern"] and not re.fullmatch(rules["pattern"], text):
        return f"must match {rules['pattern']}, not {_shown(text)}"
    if rules["check"] and not rules["check"](text):
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


def _nearest(table: type, name: str, key: Key) -> str:
    """Point from an unknown key to a similar one here, the same one elsewhere, or all there are here."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake pays for it

    here = [spec.name for spec in fields(table)]
    similar = get_close_matches(name[:_LONGEST_SHOWN], here, n=1)
    if similar:
        return f"Did you mean {'.'.join((*key, *similar))}?"
    elsewhere = [".".join(names).replace("agents.", "agents[].") for names in leaves() if name in names]
    return f"Did you mean {elsewhere[0]}?" if elsewhere else f"Keys here: {', '.join(here)}."


def kind_of(spec: Field[Any]) -> Any:
    """Return a field's type without its `| None`."""
    options = get_args(spec.type)
    return next(kind for kind in options if kind is not NoneType) if NoneType in options else spec.type


def table_of(spec: Field[Any]) -> type | None:
    """Return the table below a field: its own type, or the type of its list's items; None for a value."""
    candidates = (spec.type, *get_args(spec.type))
    return next((kind for kind in candidates if isinstance(kind, type) and is_dataclass(kind)), None)


def camel(name: str) -> str:
    """Spell a key the way the files of other systems do: `display_name` is `displayName`."""
    return re.sub("_(.)", lambda letter: letter[1].upper(), name)


@cache
def leaves(table: type = Settings) -> dict[Key, Field[Any]]:
    """List every value there is, by the names that lead to it; an agent's id is no name."""
    below = {spec: table_of(spec) for spec in fields(table)}
    return {
        (spec.name, *names): leaf
        for spec, inner in below.items()
        for names, leaf in (leaves(inner) if inner else {(): spec}).items()
    }


def build(given: Given) -> Settings:
    """Complete what was given with the defaults."""
    return _build(Settings, given, ())


def _build(table: Any, given: Given, key: Key) -> Any:
    values: dict[str, object] = {}
    for spec in fields(table):
        at, inner = (*key, spec.name), table_of(spec)
        if inner and inner is not spec.type:
            ids = dict.fromkeys(other[1] for other in given if other[0] == spec.name)
            values[spec.name] = tuple(_build(inner, given, (*at, name)) for name in ids)
        elif inner:
            values[spec.name] = _build(inner, given, at)
        elif at in given:
            values[spec.name] = given[at]
    return table(**values)
