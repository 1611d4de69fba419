"""No tool of an agent and nothing of the MCP server tells one tenant of another, whatever is asked of it."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from msgspec import Struct
from tests.surfaces.tenants.households import HOUSEHOLDS, Household, neighbour
from tests.surfaces.tenants.places import BASE, Known, filled, ids, placed, required
from tests.surfaces.tenants.questions import in_turns
from tests.surfaces.tenants.street import Question, Street

VERSION = "2026-07-28"
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": VERSION,
}
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "stranger", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Call(Struct, frozen=True):
    """A tool, with arguments of which one may be a neighbour's."""

    name: str
    arguments: Mapping[str, Any]


def calls(specs: list[Any], other: Household, known: Known) -> Iterator[Call]:
    """Yield every tool as it is, and with each id of a neighbour in each of its arguments."""
    for spec in specs:
        schema = spec.get("parameters") or spec["inputSchema"]
        for base in _bases(schema):
            yield Call(spec["name"], base)
            for name, value in placed(schema, schema.get("$defs", {}), other, known):
                yield Call(spec["name"], {**base, name: value})


def _bases(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments that must be there, for each thing that the tool can do."""
    places = schema.get("properties", {})
    needed = [name for name in schema.get("required", ()) if name != "action"]
    least = required({"required": needed}) | ({"agent": "mate"} if "task" in places else {})
    for action in places.get("action", {}).get("enum", [None]):
        yield least if action is None else {**least, "action": action}


def test_no_tool_tells_of_a_neighbour_or_touches_one(tenants: Street, known: Mapping[str, Known]) -> None:
    asked: dict[str, list[int]] = {}
    for own in HOUSEHOLDS:
        here = f"/api/v1/w/{own.served_as}"
        specs = tenants.ask(own, Question(method="GET", path=f"{here}/tools")).json()["tools"]
        other = neighbour(own)
        with tenants.watching(own, "tools"):
            for number, call in in_turns(own, calls(specs, other, known[other.name])):
                body = {"arguments": call.arguments, "session": (None, f"{other.name}-talk")[number % 2]}
                question = Question(method="POST", path=f"{here}/tools/{call.name}:call", body=body)
                asked.setdefault(call.name, []).append(tenants.ask(own, question).status_code)
    assert tenants.found() == []
    assert len(asked) > 10
    for name, statuses in asked.items():
        assert min(statuses) == 200, name
        assert 500 not in statuses, name


def mcp(method: str, name: str = "", /, **params: Any) -> Question:
    """Return a question to the MCP server."""
    named = {"mcp-name": name} if name else {}
    return Question(
        method="POST",
        path="/mcp",
        headers={**HEADERS, "mcp-method": method, **named},
        body={"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}},
        place=str(params),
    )


def protocol(street: Street, own: Household, known: Known) -> Iterator[Question]:
    """Yield all that the protocol can be asked: what it lists, and each of it with ids of a neighbour."""
    other = neighbour(own)
    listed = {}
    for method in (
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "server/discover",
    ):
        listed[method] = street.ask(own, mcp(method)).json()["result"]
    for call in calls(listed["tools/list"]["tools"], other, known):
        yield mcp("tools/call", call.name, name=call.name, arguments=call.arguments)
    addresses = [each["uri"] for each in listed["resources/list"]["resources"]]
    for each in listed["resources/templates/list"]["resourceTemplates"]:
        names = [part.partition("}")[0].lstrip("+") for part in each["uriTemplate"].split("{")[1:]]
        base = {name: BASE[name] for name in names}
        addresses += [
            filled(each["uriTemplate"], {**base, name: value})
            for name in names
            for value in (base[name], *ids(name, {"string"}, other, known))
        ]
    for uri in (*addresses, f"workspace://../{other.name}", f"{other.address}/files/MEMORY.md"):
        yield mcp("resources/read", uri, uri=uri)
    for each in listed["prompts/list"]["prompts"]:
        base = {one["name"]: BASE[one["name"]] for one in each["arguments"] if one["required"]}
        yield mcp("prompts/get", each["name"], name=each["name"], arguments=base)
        for one in each["arguments"]:
            for value in ids(one["name"], {"string"}, other, known):
                yield mcp(
                    "prompts/get", each["name"], name=each["name"], arguments={**base, one["name"]: value}
                )


def test_the_protocol_tells_of_no_neighbour_and_touches_none(
    tenants: Street, known: Mapping[str, Known]
) -> None:
    answers: list[bytes] = []
    for own in HOUSEHOLDS:
        other = neighbour(own)
        with tenants.watching(own, "mcp"):
            for _, question in in_turns(own, protocol(tenants, own, known[other.name])):
                answer = tenants.ask(own, question)
                assert answer.status_code < 500, question
                answers.append(answer.content)
            for workspace in (other.served_as, other.address, "default"):
                seated = mcp("resources/read", "workspace://tree", uri="workspace://tree")
                tenants.ask(own, seated.at(f"/mcp?workspace={workspace}&scope=main"))
    assert tenants.found() == []
    assert len(answers) > 150
    assert sum(own.word.encode() in answer for answer in answers for own in HOUSEHOLDS) > 30


def test_a_new_tool_cannot_take_an_id_that_nobody_placed(known: Mapping[str, Known]) -> None:
    other = HOUSEHOLDS[0]
    schema = {"properties": {"vessel": {"type": "string"}}}
    with pytest.raises(AssertionError, match="vessel"):
        list(calls([{"name": "sail", "parameters": schema}], other, known[other.name]))
