"""Every place where an id can stand: by the name it has in an address, a body, a header, a tool or a command.

A parameter that is not named here is an error: whoever adds one says what kind of id it takes, or that it
takes none.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from tests.surfaces.tenants.households import AGENT, WORKSPACE, Household

_KINDS = {
    "agent": ("agent", "in_agent"),
    "digest": ("expect", "if-match", "if-none-match", "if_match"),
    "fact": ("after", "cursor", "fact", "facts"),
    "key": ("key", "look", "namespace"),
    "message": ("at", "full", "idempotency-key", "last-event-id", "m", "message_id"),
    "name": ("name", "skill"),
    "path": ("beside", "file", "path", "source", "target", "under"),
    "section": ("heading", "part", "section"),
    "session": ("id", "in_session", "session", "session_id", "to"),
    "words": (
        "about", "action", "actor", "args", "change", "code", "content", "filter", "given", "kind", "model", "new", "old", "q", "query", "sender",
        "severity", "subject", "summary", "tab", "tag", "task", "text", "tier", "title", "token", "topic", "words",
    ),
    "workspace": ("workspace",),
}  # fmt: skip
KINDS = {name: kind for kind, names in _KINDS.items() for name in names}
NUMBERS = ("after", "before", "change", "cursor", "number", "numbers", "run", "start", "first")
PLAIN = (
    "across", "against", "all", "case", "category", "characters", "column", "count", "day", "days", "depth", "dry", "explain", "facets",
    "form", "format", "from", "hears", "layer", "limit", "line", "lines", "max_chars", "max_tokens", "message", "messages",
    "mode", "n", "offset", "output", "purge", "right", "role", "scope", "scopes", "since", "state", "stop", "total", "until",
    "verdict", "view", "whole", "window", "arguments",
)  # fmt: skip
"""What names nothing, or is asked by a part of its own."""

BASE: Mapping[str, Any] = {
    "agent": AGENT, "arguments": {}, "content": "Words.", "fact": "f1", "file": "MEMORY.md", "from": 1, "heading": "Folk",
    "id": "s1", "key": "spare", "message": "Hello.", "messages": [{"role": "user", "content": "Hello."}],
    "name": "deploy", "namespace": "nothing", "new": "port", "old": "harbour", "number": 1, "numbers": [1], "path": "notes/plan.md", "q": "harbour",
    "query": "harbour", "run": 1, "section": "People", "session": "s1", "source": "notes/plan.md",
    "target": "notes/new.md", "task": "Words.", "text": "Words.", "title": "Words", "topic": "harbour", "verdict": "rejected",
    "words": "harbour",
}  # fmt: skip
"""What stands in a place that must be filled: names that all have, or that nobody has."""


class Known:
    """What a household has by names that were not chosen."""

    def __init__(self, *, key: str, namespace: str, digest: str, facts: tuple[str, ...]) -> None:
        self.key, self.namespace, self.digest, self.facts = key, namespace, digest, facts


def ids(name: str, types: set[str], other: Household, known: Known) -> list[Any]:
    """Return what may stand in a place to ask for what is another's: a name of theirs, and ways to them."""
    if types & {"integer", "array:integer"} and not types & {"string", "array:string"}:
        if name not in NUMBERS:
            assert name in PLAIN or name in ("file", "limit"), f"what does the number {name!r} name?"
            return []
        return _listed([other.more + 1, 13 + other.more], types)
    if not types & {"string", "array:string", "?"} or name in PLAIN:
        assert name in KINDS or name in PLAIN or not types & {"string", "?"}, f"what does {name!r} name?"
        return []
    assert name in KINDS, f"what does {name!r} name?"
    return _listed(_of(KINDS[name], other, known), types)


def _listed(found: list[Any], types: set[str]) -> list[Any]:
    return [[each] for each in found] if any(kind.startswith("array") for kind in types) else found


def _of(kind: str, other: Household, known: Known) -> list[str]:
    up = f"../../{other.name}/{WORKSPACE}"
    return {
        "agent": lambda: [up],
        "digest": lambda: [f'"{known.digest}"', known.digest],
        "fact": lambda: [f"{other.name}-fact", "f1", *known.facts[:1]],
        "key": lambda: [known.key, known.namespace, "spare"],
        "message": lambda: [f"{other.name}-m2", "m1"],
        "name": lambda: [f"{other.name}-skill", f"{up}/skills/deploy"],
        "path": lambda: [
            f"notes/{other.name}.md",
            "MEMORY.md",
            f"{up}/MEMORY.md",
            f"{other.address}/MEMORY.md",
        ],
        "section": lambda: [f"{other.name} things", "People"],
        "session": lambda: [f"{other.name}-talk", "s1", f"{up}/s1"],
        "words": lambda: [other.rare, other.address],
        "workspace": lambda: [other.served_as, other.address, f"..%2F{other.served_as}"],
    }[kind]()


def types_of(schema: Mapping[str, Any], parts: Mapping[str, Any]) -> set[str]:
    """Return the kinds of values that a schema takes: `array:` before what a list holds."""
    if "$ref" in schema:
        return types_of(parts[schema["$ref"].rpartition("/")[2]], parts)
    if "anyOf" in schema:
        return set[str]().union(*(types_of(each, parts) for each in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return {"enum"}
    kind = schema.get("type", "?")
    if isinstance(kind, list):
        return set(kind)
    if kind == "array":
        return {f"array:{inner}" for inner in types_of(schema.get("items", {}), parts)}
    return {kind}


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return an address with its places filled; what would be taken for a way up is kept as it is."""
    for name, value in values.items():
        for place in (f"{{{name}}}", f"{{{name}:path}}", f"{{+{name}}}"):
            safe = "/" if ":path" in place or "+" in place or name == "path" else ""
            text = str(value) if "%2F" in str(value) else quote(str(value), safe=safe).replace("..", "%2E%2E")
            template = template.replace(place, text)
    return template


def required(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body, or arguments, with all that must be there."""
    return {name: BASE[name] for name in schema.get("required", ())}


def placed(
    schema: Mapping[str, Any], parts: Mapping[str, Any], other: Household, known: Known
) -> Iterator[tuple[str, Any]]:
    """Yield every property of an object with each id that may stand there."""
    for name, each in schema.get("properties", {}).items():
        for value in ids(name, types_of(each, parts), other, known):
            yield name, value
