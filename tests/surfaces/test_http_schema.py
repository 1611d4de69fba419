"""The interface held to its own description, by requests that nobody would think of."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.unit.http.served import TOKEN, Place, serving

from carrel.http.routes import all_routes

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
STREAMS = ("follow_events", "chat")
"""Which do not end, or end when a model has spoken; tests of their own read them."""

OPERATIONS = [name for routes in all_routes() for name in routes.declared if name not in STREAMS]
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Host": "testserver"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serving(tmp_path_factory.mktemp("schema")) as place:
        yield place


def begun(app: Any) -> Any:
    """The app, which has begun already: schemathesis would begin and end it with each request."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for moment in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{moment}.complete"})

    return answer


@pytest.fixture(scope="module")
def operations(place: Place) -> dict[str, Any]:
    described = schemathesis.openapi.from_dict(place.client.get("/openapi.json", headers=HEADERS).json())
    described.app = begun(place.client.app)
    found = (each.ok() for each in described.get_all_operations())
    return {each.definition.raw["operationId"]: each for each in found}


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_request_breaks_the_server_or_the_description(
    place: Place, operations: dict[str, Any], name: str
) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operations[name].as_strategy())
    def ask(case: Any) -> None:
        if "workspace" in case.path_parameters:
            case.path_parameters["workspace"] = "default"
        response = case.call(headers=HEADERS)
        case.validate_response(response, checks=CHECKS)
        assert response.status_code < 500

    ask()
