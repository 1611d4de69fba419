"""No route tells one tenant a byte of another, or changes one, whatever id stands wherever one can."""

from collections.abc import Mapping

import pytest
from starlette.websockets import WebSocketDisconnect
from tests.surfaces.tenants.households import HOUSEHOLDS
from tests.surfaces.tenants.places import Known
from tests.surfaces.tenants.questions import (
    FRONT,
    STREAMS,
    app_of,
    in_turns,
    inside,
    of_operation,
    of_page,
    operations,
    pages,
)
from tests.surfaces.tenants.street import Question, Street
from tests.unit.http.served import TOKEN
from tests.unit.http.test_access import DECLARED

NAMES = [name for name in DECLARED if name not in STREAMS]
UNHEARD = ("call_tool", "compact_session", "consolidate_memory", "extract_facts")
"""Of which nothing succeeds: tools are asked elsewhere, sessions are short, and the model says little."""


def test_every_endpoint_is_asked(tenants: Street) -> None:
    assert {each.name for each in operations(app_of(tenants))} == {*NAMES, *STREAMS}


@pytest.mark.parametrize("name", NAMES)
def test_no_endpoint_tells_of_a_neighbour_or_touches_one(
    tenants: Street, known: Mapping[str, Known], name: str
) -> None:
    (operation,) = (each for each in operations(app_of(tenants)) if each.name == name)
    statuses: list[int] = []
    for own in HOUSEHOLDS:
        with tenants.watching(own, name):
            questions = of_operation(operation, own, known)
            statuses += [tenants.ask(own, question).status_code for question in questions]
    assert tenants.found() == []
    assert 500 not in statuses
    assert min(statuses) < 300 or name in UNHEARD, statuses


def test_no_page_tells_of_a_neighbour_or_touches_one(tenants: Street, known: Mapping[str, Known]) -> None:
    found = {path: page for path, page in pages(app_of(tenants)) if path.startswith("/w/")}
    assert len(found) > 20
    statuses: dict[str, list[int]] = {path: [] for path in found}
    for own in HOUSEHOLDS:
        with tenants.watching(own, "pages"):
            for path, page in found.items():
                questions = in_turns(own, of_page(path, page, own, known))
                statuses[path] += [tenants.ask(own, question).status_code for _, question in questions]
    assert tenants.found() == []
    for path, seen in statuses.items():
        assert min(seen) < 400, path
        assert 500 not in seen, path


def test_what_is_beside_the_workspaces_tells_a_key_of_no_other(tenants: Street) -> None:
    beside = {path for path, _ in pages(app_of(tenants)) if not path.startswith("/w/")}
    assert beside == {*FRONT}, "what is new is asked here, too"
    for own in HOUSEHOLDS:
        for path in ("/nothing", "/api/v1/w/", "/static/carrel.css", *sorted(beside)):
            for scope in ("main", "shared"):
                tenants.ask(own, Question(method="GET", path=path, scope=scope))
    assert tenants.found() == []
    for path in ("/metrics", "/"):
        owner = tenants.client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}, follow_redirects=False)
        told = owner.text + owner.headers.get("location", "")
        assert HOUSEHOLDS[0].served_as in told, "so that the test above can fail"


def test_a_key_for_shared_ears_tells_of_no_neighbour_either(
    tenants: Street, known: Mapping[str, Known]
) -> None:
    own = HOUSEHOLDS[1]
    with tenants.watching(own, "a key for shared ears"):
        for operation in operations(app_of(tenants)):
            if operation.name not in STREAMS:
                for question in inside(operation, own, known):
                    tenants.ask(own, question.with_scope("shared"))
    assert tenants.found() == []


def test_no_key_of_a_neighbour_opens_anything_beside_its_own(tenants: Street) -> None:
    for own in HOUSEHOLDS:
        for other in HOUSEHOLDS:
            question = Question(method="GET", path=f"/api/v1/w/{other.served_as}/files/notes/plan.md")
            assert (tenants.ask(own, question).status_code == 200) is (own is other)
            mixed = f"carrel_{tenants.keys[other.name]['main'].split('_')[1]}_{tenants.keys[own.name]['main'].split('_', 2)[2]}"
            answer = tenants.client.get(question.path, headers={"Authorization": f"Bearer {mixed}"})
            assert (answer.status_code == 200) is (own is other)
    assert tenants.found() == []


def test_no_socket_is_opened(tenants: Street) -> None:
    with (
        pytest.raises(WebSocketDisconnect),
        tenants.client.websocket_connect("/api/v1/w/birch.studio/events"),
    ):
        pass
