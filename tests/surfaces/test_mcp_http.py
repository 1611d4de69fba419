"""The same server behind a port: the SDK's client over streamable HTTP, and who sits where by their key."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.stubs.clients import MODES, call, refused, served, talk

from carrel import Workspace
from carrel.mcp.asgi import Endpoint
from carrel.mcp.seat import Seat
from carrel.workspace.scope import HiddenByScope, Scope

SAID = [
    {"role": "user", "content": "The kiln is fired on Thursdays."},
    {"role": "assistant", "content": "I will keep that in mind."},
]
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MODERN = {**JSON, "mcp-protocol-version": "2026-07-28"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Doors:
    """Keys, and the seats that they open; a key may be taken back at any time."""

    def __init__(self, workspace):
        self.keys = {
            "owner": Seat(workspace=workspace, scope=Scope.MAIN, may_write=True, door="owner"),
            "reader": Seat(workspace=workspace, scope=Scope.MAIN, door="reader"),
            "guest": Seat(workspace=workspace, may_write=True, door="guest"),
            "other": Seat(workspace=workspace, may_write=True, door="other"),
        }

    def __call__(self, request):
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if key not in self.keys:
            raise HiddenByScope("this workspace")
        return self.keys[key]


@pytest.fixture
def doors(cli, sample):
    with Workspace.open(sample.path) as workspace:
        yield Doors(workspace)


@pytest.fixture
def address(doors):
    with served(Endpoint(doors)) as url:
        yield url


class As:
    """The transport of a client that holds a key."""

    def __init__(self, url, key):
        self.url, self.key = url, key

    async def __aenter__(self):
        self.http = httpx2.AsyncClient(headers={"authorization": f"Bearer {self.key}"}, timeout=30)
        self.streams = streamable_http_client(self.url, http_client=self.http)
        return await self.streams.__aenter__()

    async def __aexit__(self, *exception):
        await self.streams.__aexit__(*exception)
        await self.http.aclose()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", ["owner", "guest"])
def test_a_whole_turn_is_held_over_a_port(address, key, mode):
    async def work(client):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await call(client, "context_get", query="When is the kiln fired?", session="s1")
        recorded = await call(client, "turn_record", session="s1", messages=SAID)
        again = await call(client, "turn_record", session="s1", messages=SAID)
        found = await call(client, "memory_search", query="kiln Thursdays", session="s1")
        tree = json.loads((await client.read_resource("workspace://tree")).contents[0].text)
        prompt = await client.get_prompt("recall", {"topic": "people"})
        return client.protocol_version, tools, recorded, again, found, tree, prompt

    version, tools, recorded, again, found, tree, prompt = talk(As(address, key), work, mode)
    assert version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert ("file_write" in tools) is (key == "owner")
    assert [each["is_new"] for each in recorded.value["messages"]] == [True, True]
    assert [each["is_new"] for each in again.value["messages"]] == [False, False]
    assert found.value["hits"][0]["text"] == SAID[0]["content"]
    assert ("MEMORY.md" in {entry["path"] for entry in tree["entries"]}) is (key == "owner")
    assert len(prompt.messages) == 2


def test_each_request_is_seated_by_its_own_key(address):
    async def look(client):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        return tools, (await call(client, "what_do_i_know")).value["sections"]

    seen = {key: talk(As(address, key), look) for key in ("owner", "reader", "guest")}
    assert seen["owner"][1] == seen["reader"][1] != []
    assert seen["guest"][1] == []
    assert seen["owner"][0] - seen["reader"][0] == {"file_write", "memory_write", "turn_record"}
    assert seen["owner"][0] - seen["guest"][0] == {"file_write"}


def test_one_guest_does_not_hear_of_another(address):
    async def say(client):
        return (await call(client, "turn_record", session="s1", messages=SAID)).value["session"]

    async def look(client):
        found = await call(client, "memory_search", query="kiln Thursdays", session="guest.s1")
        logs = await call(client, "session_logs", action="read_session", session_id="guest.s1")
        session = await refused(client.read_resource("workspace://sessions/guest.s1"))
        return found.value["hits"], logs.value["ok"], session.data["code"]

    assert talk(As(address, "guest"), say) == "guest.s1"
    assert talk(As(address, "other"), look) == ([], False, "no_such_resource")


def test_a_key_that_is_taken_back_opens_nothing_at_the_next_request(address, doors):
    async def work(client):
        before = await call(client, "who_am_i")
        del doors.keys["guest"]
        return before, await call(client, "who_am_i"), await refused(client.read_resource("workspace://tree"))

    before, after, reading = talk(As(address, "guest"), work)
    assert before.value["agent_id"] == "kate"
    assert after.error["code"] == reading.data["code"] == "hidden_by_scope"


def post(address, content, headers=MODERN):
    return httpx2.post(
        address, content=content, headers={**headers, "authorization": "Bearer owner"}, timeout=30
    )


def asked(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}})


def test_bodies_that_are_no_message_get_a_status_and_the_server_lives_on(address):
    for body in (b"hello", b"\xff\xfe", b"{", b"[" * 200_000, b"[]", b"7", b"{}", b'{"jsonrpc":"2.0"}'):
        for headers in (MODERN, JSON):
            answer = post(address, body, headers)
            assert 400 <= answer.status_code < 500, body[:20]
            assert "Traceback" not in answer.text
    assert post(address, asked("tools/list"), {**MODERN, "mcp-method": "tools/list"}).status_code == 200


def test_a_body_of_ten_megabytes_is_refused(address):
    body = asked("tools/call", name="file_read", arguments={"path": "x" * 10_000_000})
    assert post(address, body).status_code == 413
    in_pieces = (b" " * 100_000 for _ in range(100))
    assert post(address, in_pieces).status_code == 413


def test_only_messages_are_posted_and_no_stream_is_kept(address):
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        answer = httpx2.request(method, address, headers={**JSON, "authorization": "Bearer owner"})
        assert answer.status_code == 405
        assert answer.headers["allow"] == "POST"
        assert "access-control-allow-origin" not in answer.headers


def test_where_hosts_are_named_the_sdk_checks_them_too(doors):
    endpoint = Endpoint(doors, hosts=["127.0.0.1:*"], origins=["http://127.0.0.1:*"])
    with served(endpoint) as url:
        body, good = asked("tools/list"), {**MODERN, "mcp-method": "tools/list"}
        assert post(url, body, good).status_code == 200
        assert post(url, body, {**good, "host": "evil.example"}).status_code == 421
        assert post(url, body, {**good, "origin": "http://evil.example"}).status_code == 403


def test_many_clients_at_once_are_each_answered(address):
    def work(number):
        async def speak(client):
            messages = [
                {"role": "user", "content": f"Word {number}."},
                {"role": "assistant", "content": "Yes."},
            ]
            await call(client, "turn_record", session=f"s{number}", messages=messages)
            found = await call(client, "memory_search", query=f"Word {number}", session=f"s{number}")
            return found.value["hits"][0]["session"]

        return talk(As(address, "guest"), speak)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [f"guest.s{number}" for number in range(8)]
