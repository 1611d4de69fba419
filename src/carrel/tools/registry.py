"""Tools: what a model may call, how their arguments are described to it, and how a call is checked.

The arguments of a tool are a struct. Its schema is derived from it, so that what is promised to the model and
what is accepted from it cannot differ.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, cast

from msgspec import DecodeError, Struct, ValidationError, convert, json

from carrel.errors import NotFound, UsageError
from carrel.files import show
from carrel.screen.secrets import redact

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider takes for the name of a tool."""

Schema = dict[str, Any]

_AT = re.compile(r" - at `\$\.([A-Za-z_0-9]+)(?:\[([0-9]+)\]`)?")
_NAMED = re.compile(r"^Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_MISMATCH = ("Expected `", "Invalid enum value")
_WRONG_LENGTH = "Expected `str` "
_EXPECTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_SHOWN, _LOOKED_AT = 60, 4_000
_HUGE_BITS = 64


class UnknownTool(NotFound):
    """There is no tool of this name for this agent."""

    code = "unknown_tool"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        listed = ", ".join(known)
        super().__init__(
            f"There is no tool '{show(redact(name[:200]).text)}'.",
            hint=f"There are: {listed}." if listed else "There are none.",
        )
        self.name = name


class BadArguments(UsageError):
    """A tool was called with arguments that it does not take; nothing was done."""

    code = "bad_arguments"

    def __init__(self, tool: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{tool}: {problem}.", hint=hint or "Correct the arguments and call it again.")
        self.tool = tool


class NoArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool takes that takes nothing."""


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as a model is told of it; `parameters` is one JSON Schema of an object, without references."""

    name: str
    description: str
    parameters: Schema
    writes: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return `{"name", "description", "parameters"}`."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


class Tool(Struct, frozen=True, kw_only=True):
    """One tool: `run` gets an instance of `parameters` and returns what JSON can hold.

    `writes` says whether it can change anything; `aliases` are other names that models give to arguments.
    """

    name: str
    description: str
    parameters: type[Struct] = NoArguments
    run: Callable[[Any], Any]
    writes: bool = False
    aliases: Mapping[str, str] = {}

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        schema = json.decode(_written(self.parameters))  # a provider's client may change what it is given
        return ToolSpec(name=self.name, description=self.description, parameters=schema, writes=self.writes)

    def call(self, arguments: Mapping[str, Any] | str) -> Any:
        """Check the arguments and run; what the tool itself raises passes through."""
        return self.run(self._checked(arguments))

    def _checked(self, arguments: Mapping[str, Any] | str) -> Struct:
        given = self._renamed(self._decoded(arguments))
        try:
            # Models write "50" for 50 and "true" for true: what can only mean one thing is taken so.
            return convert(given, self.parameters, strict=False)
        except ValidationError as error:
            raise BadArguments(self.name, self._problem(str(error), given), hint=self._hint()) from None
        except RecursionError:
            raise BadArguments(self.name, "the arguments are nested too deep", hint=self._hint()) from None

    def _decoded(self, arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
        decoded: object = _decode(arguments) if isinstance(arguments, str) else arguments
        if not isinstance(decoded, Mapping):
            problem = "the arguments must be one JSON object"
            raise BadArguments(self.name, problem, hint=self._hint())
        return cast("Mapping[str, Any]", decoded)

    def _renamed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Resolve aliases, and leave out null where it can only mean that nothing was given."""
        required = schema_of(self.parameters)["required"]
        kept = {key: value for key, value in given.items() if value is not None or key in required}
        renamed = {self.aliases[key]: value for key, value in kept.items() if key in self.aliases}
        return renamed | {key: value for key, value in kept.items() if key not in self.aliases}

    def _problem(self, error: str, given: Mapping[str, Any]) -> str:
        """Say what is wrong with a field, and what it should be."""
        if named := _NAMED.match(error):
            what = "is missing" if named[1].startswith("missing") else "is not an argument of it"
            return f"`{_cut(named[2])}` {what}"
        field = _AT.search(error)
        if field is None or field[1] not in given:
            return "the arguments must be one JSON object whose keys are names"
        if error.startswith(_WRONG_LENGTH):
            return f"`{field[1]}` must be text {error[len(_WRONG_LENGTH) : field.start()]}"
        if not error.startswith(_MISMATCH):
            return f"`{field[1]}`: {error[: field.start()]}"
        name, about, value = field[1], schema_of(self.parameters)["properties"][field[1]], given[field[1]]
        if field[2]:
            name, about, value = f"{name}[{field[2]}]", about.get("items", {}), value[int(field[2])]
        return f"`{name}` must be {_in_words(about)}, not {_shown(value)}"

    def _hint(self) -> str:
        schema = schema_of(self.parameters)
        if not schema["properties"]:
            return "It takes no arguments: call it with {}."
        told = [
            f"{name} ({_in_words(about)}{', required' if name in schema['required'] else ''})"
            for name, about in schema["properties"].items()
        ]
        return f"Its arguments: {'; '.join(told)}."


class Registry:
    """The tools that one agent has, by name; `ready` raises when they can no longer be called."""

    def __init__(self, tools: Iterable[Tool] = (), *, ready: Callable[[], None] = lambda: None) -> None:
        self._ready = ready
        found = sorted(tools, key=lambda tool: tool.name)
        self._tools = {tool.name: tool for tool in found}
        odd = [tool.name for tool in found if not NAME.fullmatch(tool.name)]
        if odd or len(self._tools) < len(found):
            raise ValueError(f"tools need names of their own that providers take: {[t.name for t in found]}")

    def __iter__(self) -> Iterator[Tool]:
        """Every tool, sorted by name."""
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def allowed(self, patterns: Iterable[str]) -> "Registry":
        """Return the tools that a pattern names: `x*` is a prefix, and no pattern at all means all."""
        patterns = tuple(patterns)
        if not patterns:
            return self
        found = [tool for tool in self if any(_matches(tool.name, p) for p in patterns)]
        return Registry(found, ready=self._ready)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return what a model is told, sorted by name, the same at every call."""
        return tuple(tool.spec for tool in self)

    def get(self, name: str) -> Tool:
        """Return the tool of this name; one that the agent may not call does not exist."""
        found = self._tools.get(name)
        if found is None:
            raise UnknownTool(name, self._tools)
        return found

    def call(self, name: str, arguments: Mapping[str, Any] | str = "") -> Any:
        """Call a tool with arguments as an object or as the JSON text that a model wrote."""
        self._ready()
        return self.get(name).call(arguments)


@cache
def schema_of(parameters: type[Struct]) -> Schema:
    """Return the JSON Schema of a struct as one plain object that every provider accepts."""
    (reference,), components = json.schema_components([parameters])
    schema = _plain(reference, components)
    return {
        "type": "object",
        "properties": schema.get("properties", {}),
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


@cache
def _written(parameters: type[Struct]) -> bytes:
    """Return that schema as JSON, of which a copy is made sooner than of the object."""
    return json.encode(schema_of(parameters))


def _plain(schema: Any, components: Mapping[str, Any], above: tuple[str, ...] = ()) -> Any:
    """Put definitions in the place of references, and make of "X or null" an X that may be left out."""
    if isinstance(schema, list):
        return [_plain(each, components, above) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    given = dict(cast("Schema", schema))
    choices = [choice for choice in given.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del given["anyOf"]
        given |= choices[0]
    name = given.pop("$ref", "").rpartition("/")[2]
    if name in above:
        raise ValueError(f"{name} contains itself, which no plain schema can say")
    plain: Schema = _plain(components[name], components, (*above, name)) if name else {}
    plain |= {
        key: _plain(value, components, above)
        for key, value in given.items()
        if key != "title" and (key, value) != ("default", None)
    }
    if "enum" in plain:
        plain.setdefault("type", "string")
    return plain


def _decode(text: str) -> object:
    """Read what a model wrote; none where that is no JSON."""
    try:
        return json.decode(text or "{}")
    except (DecodeError, UnicodeEncodeError):
        # Raw line breaks in texts and halves of characters are no JSON, and yet plain what was meant.
        import json as lenient  # noqa: PLC0415 - few need it

        try:
            return lenient.loads(text, strict=False)
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None


def _matches(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _in_words(about: Schema) -> str:
    if "enum" in about:
        return f"one of {', '.join(str(value) for value in about['enum'])}"
    return _EXPECTED.get(about.get("type", ""), "something else")


def _shown(value: object) -> str:
    """Return a wrong value as far as it helps to see it."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > _HUGE_BITS:
        return "a huge number"
    text = value if isinstance(value, str) else str(value)
    return f"'{_cut(text)}'" if isinstance(value, str) else _cut(text)


def _cut(text: str) -> str:
    """Return the beginning of what a model gave, without the secrets in it."""
    told = redact(text[:_LOOKED_AT]).text
    return show(told if len(told) <= _SHOWN else f"{told[:_SHOWN]}…")
