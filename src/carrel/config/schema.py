"""The JSON Schema of carrel.yaml, derived from the structs of the settings."""

from typing import Literal, get_args, get_origin

from carrel.settings import ALIAS, LARGEST, MEANINGS, Settings, Spec, Table, camel, specs


def json_schema() -> dict[str, object]:
    """Describe carrel.yaml for editors and validators, in both spellings of each key."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "carrel.yaml", **_table_schema(Settings)}


def _table_schema(table: Table) -> dict[str, object]:
    properties = {name: _field_schema(spec) for name, spec in specs(table).items()}
    if table in MEANINGS:
        uses = ", ".join(f"{'.'.join(key)} in {layout}" for layout, key in MEANINGS[table].items())
        properties[ALIAS] = {"type": ["integer", "null"], "minimum": 0, "description": f"Means {uses}."}
    both = [(name, camel(name)) for name in properties if camel(name) != name]
    return {
        "type": ["object", "null"],
        "properties": properties | {other: properties[name] for name, other in both},
        "required": [name for name, spec in specs(table).items() if spec.is_required],
        "allOf": [{"not": {"required": list(pair)}} for pair in both],
        "additionalProperties": False,
    }


def _field_schema(spec: Spec) -> dict[str, object]:
    schema, about = _kind_schema(spec), spec.about
    if spec.kind in (int, float):
        schema |= {"minimum": about.least, "maximum": LARGEST}
    if about.pattern:
        schema["pattern"] = about.pattern
    if not spec.table and not spec.is_required:
        schema["default"] = [] if spec.default == () else spec.default
    marks = {"x-sensitive": about.sensitive, "x-environment": about.environment}
    text = about.text or (spec.table.__doc__ if spec.table else "")
    return schema | {"description": text} | {mark: value for mark, value in marks.items() if value}


def _kind_schema(spec: Spec) -> dict[str, object]:
    kind, table = spec.kind, spec.table
    if table and not spec.is_list:
        return _table_schema(table) | {
            "type": ["object", "null", *(["string"] if spec.about.shorthand else [])]
        }
    if get_origin(kind) is tuple:
        items = _table_schema(table) | {"type": "object"} if table else {"type": "string"}
        return {"type": ["array", "null"], "items": items}
    if get_origin(kind) is Literal:
        return {"enum": [*get_args(kind), None]}
    name = {str: "string", int: "integer", float: "number", bool: "boolean"}[kind]
    return {"type": name if spec.is_required else [name, "null"]}
