"""The matrix finds a leak where one condition is missing and no policy is behind it; either wall alone holds."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from tests.surfaces.tenants.households import AGENT, HOUSEHOLDS, Household, neighbour
from tests.surfaces.tenants.places import Known
from tests.surfaces.tenants.questions import STREAMS, app_of, in_turns, inside, operations
from tests.surfaces.tenants.street import Question, Street
from tests.surfaces.tenants.walls import (
    conditions_down,
    functions,
    instead_of,
    listening,
    made_anew,
    policy_down,
    touches,
    without_one,
)

from carrel.home.postgres import list_remote
from carrel.index.postgres import vectors

Probe = Callable[[Street, Household], bytes]
"""Asks as somebody for what is a neighbour's, and returns what it was told."""

FILES = ("workspace_files", "workspace_segments")


def asks(method: str, path: str, body: Any = None, **query: str) -> Probe:
    """Return what asks the interface; `OTHER` and `RARE` stand for names of the neighbour."""

    def probe(street: Street, own: Household) -> bytes:
        def named(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: named(each) for key, each in value.items()}
            other = neighbour(own)
            return (
                value.replace("OTHER", other.name).replace("RARE", other.rare)
                if isinstance(value, str)
                else value
            )

        question = Question(
            method=method,
            path=f"/api/v1/w/{own.served_as}{named(path)}",
            body=named(body),
            query=named(query),
        )
        answer = street.ask(own, question)
        return b"" if answer.status_code >= 500 else answer.content

    return probe


def in_turn(*probes: Probe) -> Probe:
    return lambda street, own: b"\n".join(probe(street, own) for probe in probes)


def cursor(street: Street, own: Household) -> bytes:
    facts = street.served.workspace(own.served_as).records.facts
    return told(street, own, facts.cursor(AGENT, f"{neighbour(own).name}-talk"))


def layout(street: Street, own: Household) -> bytes:
    return told(street, own, street.served.workspace(own.served_as).records.layout())


def workspaces(street: Street, own: Household) -> bytes:
    return told(street, own, list_remote(own.name, street.remote))


def told(street: Street, own: Household, value: object) -> bytes:
    answer = repr(value).encode()
    street.look(own, answer, b"", "asked in Python")
    return answer


def exactly(street: Street, own: Household) -> bytes:
    """Search with a look at every vector."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "EXACT", 5_000)
        return asks("GET", "/search", q="harbour", mode="vector")(street, own)


def recalls(street: Street, own: Household) -> bytes:
    """Forget what was recalled of something that all have heard of."""
    records = street.served.workspace(own.served_as).records
    return told(street, own, records.recalls.forget(["harbour"]))


SEARCH = asks("GET", "/search", q="harbour", mode="lexical")
WRITES = in_turn(asks("PUT", "/files/notes/new.md", b"The harbour.\n"), asks("POST", "/index:sync"))
PROBES: Mapping[str, Probe] = {
    "assemblies": asks("POST", "/context:prepare", {"session": "OTHER-talk"}),
    "audit": asks("GET", "/audit"),
    "changes": asks("GET", "/changes"),
    "cursors": cursor,
    "dreams": asks("GET", "/dreams"),
    "facts": asks("GET", "/facts"),
    "facts_of_workspace": layout,
    "frozen": asks("POST", "/context:prepare", {"session": "OTHER-talk"}),
    "index_chunks": WRITES,
    "index_due": asks("GET", "/index"),
    "index_graph_32": WRITES,
    "index_places": SEARCH,
    "index_segments": SEARCH,
    "index_state": asks("GET", "/index"),
    "index_vectors": exactly,
    "index_words": asks("GET", "/search", q="RARE", mode="lexical"),
    "jobs": asks("GET", "/jobs"),
    "keys": asks("GET", "/keys"),
    "promotions": asks("GET", "/dreams"),
    "proposals": asks("GET", "/proposals"),
    "queries": recalls,
    "recalled": recalls,
    "recalls": recalls,
    "usage": asks("GET", "/usage", session="OTHER-talk"),
    "workspace_files": asks("GET", "/files/notes/OTHER.md"),
    "workspace_segments": asks("GET", "/sessions/s1/entries"),
    "workspaces": workspaces,
}
UNCONDITIONAL = ("counters",)
"""No statement asks for rows of these: they are found by their key as they are written, and the tenant is in it."""


def found(street: Street, own: Household, probe: Probe, before: bytes) -> list[str]:
    """Return what the matrix finds of a probe: foreign bytes, foreign rows changed, or another answer than before."""
    street.found()
    with street.watching(own, "a probe"):
        answer = probe(street, own)
    leaks = street.found()
    street.restore()
    return leaks or ([f"{own.name} was told otherwise"] if answer and before and answer != before else [])


def breaches(street: Street, table: str) -> Iterator[tuple[Household, bytes, str, str]]:
    """Yield every condition of what the probe of a table asks: who asks, the answer, the statement, and it without."""
    street.served.close()
    for own in HOUSEHOLDS:
        heard: list[str] = []
        with listening(heard):
            before = PROBES[table](street, own)
        street.restore()
        for statement in heard:
            if touches(statement, table):
                for altered in without_one(statement):
                    yield own, before, statement, altered


def test_every_table_has_a_probe(tenants: Street) -> None:
    assert {*tenants.tables()} == {*PROBES, *UNCONDITIONAL}


@pytest.mark.parametrize("table", PROBES)
def test_one_condition_less_is_found_where_no_policy_stands_behind_it(tenants: Street, table: str) -> None:
    probe = PROBES[table]
    for own, before, statement, altered in breaches(tenants, table):
        with policy_down(tenants, table), instead_of(statement, altered):
            leaks = found(tenants, own, probe, before)
        if leaks:
            break
    else:
        pytest.fail(f"no condition on {table} was missed")
    with policy_down(tenants, table):
        assert found(tenants, own, probe, before) == [], "the conditions alone"
    with instead_of(statement, altered):
        assert found(tenants, own, probe, before) == [], "the policy alone"


def test_the_policies_alone_keep_every_answer_as_it_is(tenants: Street) -> None:
    with conditions_down():
        assert tenants.told_otherwise() == []
    assert tenants.found() == []


def test_the_conditions_alone_keep_every_answer_as_it_is(tenants: Street) -> None:
    with policy_down(tenants, *tenants.tables()):
        assert tenants.told_otherwise() == []
    assert tenants.found() == []


def test_with_neither_wall_most_answers_leak(tenants: Street) -> None:
    """The other way round."""
    with policy_down(tenants, *tenants.tables()), conditions_down():
        assert len(tenants.told_otherwise()) > len(tenants.alone) / 2
    assert len(tenants.found()) > len(tenants.alone) / 2


def test_the_conditions_alone_let_no_endpoint_touch_a_neighbour(
    tenants: Street, known: Mapping[str, Known]
) -> None:
    with policy_down(tenants, *tenants.tables()):
        for own in HOUSEHOLDS:
            with tenants.watching(own, "without policies"):
                for operation in operations(app_of(tenants)):
                    if operation.name not in STREAMS:
                        for _, question in in_turns(own, inside(operation, own, known)):
                            tenants.ask(own, question)
            leaks = tenants.found()
            tenants.restore()
            assert leaks == []


FUNCTIONS: Mapping[str, Probe] = {
    "append_file": asks(
        "POST",
        "/sessions/s1/entries",
        {"messages": [{"role": "user", "content": "Hello.", "message_id": "m9"}]},
    ),
    "file_digest": asks("DELETE", "/sessions/s1"),
    "make_folders": asks("PUT", "/files/notes/new.md", b"The harbour.\n"),
    "remove_file": asks("DELETE", "/files/notes/plan.md"),
    "replace_file": asks("PUT", "/files/notes/plan.md", b"The harbour.\n"),
}


def test_every_function_that_asks_for_a_tenant_has_a_probe(tenants: Street) -> None:
    assert {*functions(tenants)} == {*FUNCTIONS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_condition_less_in_a_function_is_found_where_no_policy_stands(tenants: Street, name: str) -> None:
    text, own, probe = functions(tenants)[name], HOUSEHOLDS[0], FUNCTIONS[name]
    tenants.served.close()
    before = probe(tenants, own)
    tenants.restore()
    for altered in without_one(text):
        with policy_down(tenants, *FILES), made_anew(tenants, text, altered):
            leaks = found(tenants, own, probe, before)
        if leaks:
            break
    else:
        pytest.fail(f"no condition in {name} was missed")
    with made_anew(tenants, text, altered):
        assert found(tenants, own, probe, before) == [], "the policy alone"
    with policy_down(tenants, *FILES):
        assert found(tenants, own, probe, before) == [], "the conditions alone"
