"""The questions: every route that there is, with ids of a neighbour in every place that it has."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct
from tests.surfaces.tenants.households import HOUSEHOLDS, Household, neighbour
from tests.surfaces.tenants.places import BASE, Known, filled, ids, placed, required, types_of
from tests.surfaces.tenants.street import Question, Street

from carrel.http.explorer import asked

T = TypeVar("T")

STREAMS = ("follow_events",)
"""Which never end; a test of their own listens to them."""

UNSTEADY = ("forecast_session",)
"""Which was seen to differ, without a foreign byte; why is not known. It leaves out what records fail to tell."""

FRONT = ("/", "/healthz", "/readyz", "/openapi.json", "/metrics", "/login", "/mcp", "/static")
"""What stands beside the workspaces: asked as it is, and by parts of its own."""

FOLDERS = ("/w/{workspace}/tree/", "/w/{workspace}/totals/")
"""Pages of a folder."""

SAID = {"/w/{workspace}/memory/section": {"file", "section"}}
"""What a page must be told though it says otherwise."""

_ASKED = re.compile(r"""(?:get|getlist|numbered|_number)\((?:viewer, |query, )?["'](\w+)["']""")


class Operation(Struct, frozen=True, kw_only=True):
    """An endpoint of the interface, as its description has it."""

    name: str
    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]
    body: Mapping[str, Any] | None
    parts: Mapping[str, Any]


def app_of(street: Street) -> Any:
    return street.client.app._app._app._app._app  # type: ignore[attr-defined] - guard, measure, gate, then FastAPI


def operations(app: Any) -> Iterator[Operation]:
    """Yield every endpoint that the app describes."""
    described = app.openapi()
    parts = described["components"]["schemas"]
    for path, methods in described["paths"].items():
        for method, each in methods.items():
            content = each.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema")
            if schema and "$ref" in schema:
                schema = parts[schema["$ref"].rpartition("/")[2]]
            yield Operation(
                name=each["operationId"], method=method.upper(), path=path, parts=parts,
                parameters=tuple(each.get("parameters", ())), body=schema,
            )  # fmt: skip


def pages(app: Any) -> Iterator[tuple[str, Any]]:
    """Yield the address and the function of every route that is not described: pages, and what is beside them."""
    described = {*app.openapi()["paths"]}
    for route in _routes(app.routes):
        if route.path.replace(":path}", "}") not in described:
            yield route.path, getattr(route, "endpoint", None)


def _routes(found: Any) -> Iterator[Any]:
    for route in found:
        inner = getattr(route, "effective_route_contexts", None)
        if inner is None:
            yield route
        else:
            yield from inner()


def _page_parameters(page: Any) -> Iterator[tuple[str, str, bool]]:
    """Yield what a page reads from the query of its address: the name, the type, and whether it must be there."""
    for name, each in inspect.signature(page).parameters.items():
        marks = getattr(each.annotation, "__metadata__", ())
        alias = next((mark.alias for mark in marks if getattr(mark, "alias", None)), name)
        kind = getattr(each.annotation, "__origin__", each.annotation)
        if kind in (str, int):
            yield alias, "string" if kind is str else "integer", each.default is inspect.Parameter.empty
    module = sys.modules[page.__module__]
    text = inspect.getsource(module)
    if hasattr(module, "read_asked"):
        text += inspect.getsource(asked)
    for name in sorted({*_ASKED.findall(text), *getattr(module, "_FILTERS", ())}):
        yield name, "integer" if name in ("before", "start", "window") else "string", False


def in_turns(own: Household, questions: Iterable[T]) -> Iterator[tuple[int, T]]:
    """Yield every third question with its number, so that three ask them all."""
    turn = HOUSEHOLDS.index(own)
    return ((number, each) for number, each in enumerate(questions) if number % len(HOUSEHOLDS) == turn)


def of_operation(operation: Operation, own: Household, known: Mapping[str, Known]) -> Iterator[Question]:
    """Yield an endpoint's own question, and it again with each id of a neighbour in each place."""
    other = neighbour(own)
    base: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}}
    for each in operation.parameters:
        if each["name"] == "workspace":
            base["path"]["workspace"] = own.served_as
        elif each.get("required"):
            base[each["in"]][each["name"]] = BASE[each["name"]]
    body = None if operation.body is None else required(operation.body)
    if operation.method == "PUT" and operation.body is None:
        body = b"Written by somebody.\n"
    yield _question(operation, base, body, "as it is")
    for each in operation.parameters:
        values = ids(each["name"], types_of(each["schema"], operation.parts), other, known[other.name])
        if each["name"] == "workspace":
            values = [
                values[HOUSEHOLDS.index(own)]
            ]  # whoever asks, it is refused before anything is looked at
        for value in values:
            there = {**base, each["in"]: {**base[each["in"]], each["name"]: value}}
            yield _question(operation, there, body, f"{each['name']}={value}")
    for name, value in placed(operation.body or {}, operation.parts, other, known[other.name]):
        yield _question(operation, base, {**body, name: value}, f"{name}: {value}")


def _question(operation: Operation, at: Mapping[str, Mapping[str, Any]], body: Any, place: str) -> Question:
    return Question(
        method=operation.method,
        path=filled(operation.path, at["path"]),
        query=at["query"],
        headers={name: str(value) for name, value in at["header"].items()},
        body=body,
        place=place,
    )


def inside(operation: Operation, own: Household, known: Mapping[str, Known]) -> Iterator[Question]:
    """Yield those of an endpoint's questions that are let into the workspace at all."""
    return (
        each
        for each in of_operation(operation, own, known)
        if not each.place.startswith(("workspace=", "agent="))
    )


def of_page(path: str, page: Any, own: Household, known: Mapping[str, Known]) -> Iterator[Question]:
    """Yield a page as it is, and with each id of a neighbour in its address and its query."""
    other = neighbour(own)
    values = {name: BASE[name] for name in re.findall(r"{(\w+)", path) if name != "workspace"}
    values["workspace"] = own.served_as
    if path.startswith(FOLDERS):
        values["path"] = "notes"
    taken = [each for each in _page_parameters(page) if each[0] not in values]
    needed = {name for name, _, is_needed in taken if is_needed} | SAID.get(path, set())
    query = {name: BASE[name] for name in needed}
    yield Question(method="GET", path=filled(path, values), query=query, place="as it is")
    for name in values:
        for value in ids(name, {"string"}, other, known[other.name]):
            there = filled(path, {**values, name: value})
            yield Question(method="GET", path=there, query=query, place=f"{name}={value}")
    for name, kind, _ in taken:
        for value in ids(name, {kind}, other, known[other.name]):
            asking = {**query, name: value}
            yield Question(method="GET", path=filled(path, values), query=asking, place=f"{name}={value}")


def plain(street: Street, own: Household) -> Iterator[Question]:
    """Yield what can be asked without changing anything, as it is."""
    app = app_of(street)
    for operation in operations(app):
        if operation.method == "GET" and operation.name not in (*STREAMS, *UNSTEADY):
            yield next(of_operation(operation, own, {}))
    for path, page in pages(app):
        if path.startswith("/w/"):
            yield next(of_page(path, page, own, {}))
    for mode in ("hybrid", "lexical", "vector", "literal"):
        for words in ("harbour ledger", "axolotl", "what does the plan say"):
            query = {"q": words, "mode": mode, "explain": "true"}
            yield Question(method="GET", path=f"/api/v1/w/{own.served_as}/search", query=query)
