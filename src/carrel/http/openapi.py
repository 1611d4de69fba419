"""The description of the interface, made from what the endpoints declare."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import json

from carrel.http.desk import PARAMETERS
from carrel.http.errors import Problem
from carrel.http.routing import Declared

_REF = "#/components/schemas/{name}"
_JSON = "application/json"
_EVENTS = "text/event-stream"
_OPENAPI = "3.1.0"

Json = dict[str, Any]


def describe(app: FastAPI, declared: Mapping[str, Declared]) -> Json:
    """Return the description; it is made once, since the endpoints do not change."""
    if app.openapi_schema is None:
        app.openapi_schema = _described(app, declared)
    return app.openapi_schema


def _described(app: FastAPI, declared: Mapping[str, Declared]) -> Json:
    described = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version=_OPENAPI,
        description=app.description,
        routes=app.routes,
    )
    kinds: dict[str, Any] = {repr(Problem): Problem}
    for each in declared.values():
        kinds |= {repr(kind): kind for kind in (each.answers, each.takes) if kind not in (None, bytes)}
    schemas, components = json.schema_components(kinds.values(), ref_template=_REF)
    by_kind = dict(zip(kinds, schemas, strict=True))
    for operation in _operations(described):
        _complete(operation, declared[operation["operationId"]], by_kind)
    described["components"] = {
        "schemas": components,
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
    }
    described["security"] = [{"key": []}]
    return described


def _operations(described: Mapping[str, Any]) -> Iterator[Json]:
    for path in described["paths"].values():
        yield from cast("Mapping[str, Json]", path).values()


def _complete(operation: Json, declared: Declared, schemas: Mapping[str, Json]) -> None:
    """Say what one operation takes and answers, and that any error has the one shape."""
    if "{workspace}" in declared.path:
        operation["parameters"] = [*PARAMETERS, *operation.get("parameters", ())]
    success = {
        status: told for status, told in operation["responses"].items() if status.startswith(("2", "3"))
    }
    schema: Json = {} if declared.media == _EVENTS else {"type": "string"}
    if declared.answers is not None:
        schema = schemas[repr(declared.answers)]
    for told in success.values():
        told["content"] = {declared.media: {"schema": schema}}
    error = {"description": "What went wrong", "content": {_JSON: {"schema": schemas[repr(Problem)]}}}
    operation["responses"] = {**success, "default": error}
    if declared.takes is bytes:
        raw = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": raw}
    elif declared.takes is not None:
        taken = {_JSON: {"schema": schemas[repr(declared.takes)]}}
        operation["requestBody"] = {"required": True, "content": taken}
