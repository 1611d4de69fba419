"""The JSON Schema of carrel.yaml, derived from the dataclasses of the settings."""

from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_args, get_origin

from carrel.settings import ALIAS, LARGEST, MEANINGS, Settings, camel, kind_of, table_of


def json_schema() -> dict[str, object]:
    """Describe carrel.yaml for editors and validators, in both spellings of each key."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "carrel.yaml", **_table_schema(Settings)}


def _table_schema(table: type) -> dict[str, object]:
    properties = {spec.name: _field_schema(spec) for spec in fields(table)}
    if table in MEANINGS:
        uses = ", ".join(f"{'.'.join(key)} in {layout}" for layout, key in MEANINGS[table].items())
        properties[ALIAS] = {"type": ["integer", "null"], "minimum": 0, "description": f"Means {uses}."}
    both = [(name, camel(name)) for name in properties if camel(name) != name]
    return {
        "type": ["object", "null"],
        "properties": properties | {other: properties[name] for name, other in both},
        "required": [spec.name for spec in fields(table) if spec.default is spec.default_factory is MISSING],
        "allOf": [{"not": {"required": list(pair)}} for pair in both],
        "additionalProperties": False,
    }


def _field_schema(spec: Field[Any]) -> dict[str, object]:
    kind, inner, rules = kind_of(spec), table_of(spec), spec.metadata
    schema: dict[str, object] = {}
    if inner and inner is kind:
        schema = _table_schema(inner)
        schema["type"] = ["object", "null", *(["string"] if rules["shorthand"] else [])]
    elif get_origin(kind) is tuple:
        items = _table_schema(inner) | {"type": "object"} if inner else {"type": "string"}
        schema = {"type": ["array", "null"], "items": items}
    elif get_origin(kind) is Literal:
        schema = {"enum": [*get_args(kind), None]}
    else:
        name = {str: "string", int: "integer", bool: "boolean"}[kind]
        schema = {"type": name if spec.default is MISSING else [name, "null"]}
    if kind is int:
        schema |= {"minimum": rules["least"], "maximum": LARGEST}
    if rules["pattern"]:
        schema["pattern"] = rules["pattern"]
    if not inner and spec.default is not MISSING:
        schema["default"] = [] if spec.default == () else spec.default
    marks = {"x-sensitive": rules["sensitive"], "x-environment": rules["environment"]}
    text = rules["text"] or (inner.__doc__ if inner else "")
    return schema | {"description": text} | {mark: value for mark, value in marks.items() if value}
