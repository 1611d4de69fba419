"""`carrel serve` as a process of its own, spoken to over real sockets."""

import json
import os
import re
import signal
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.stubs.clients import call, talk
from tests.stubs.serving import PATIENCE, Server, reachable, serving, starting, until

from carrel import Workspace


def running(home: Path, *words: str) -> AbstractContextManager[Server]:
    return serving({**os.environ, "CARREL_HOME": str(home)}, *words)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    Workspace.init(tmp_path / "desk", environ={"CARREL_HOME": str(tmp_path / "home")})
    return tmp_path / "desk"


def test_a_whole_turn_is_held_over_http_as_the_guide_shows(tmp_path: Path, desk: Path) -> None:
    with running(tmp_path / "home", str(desk)) as server:
        said = {"role": "user", "content": "My phone is a Fairphone.", "message_id": "m1"}
        server.told("POST", "/sessions/s1/entries", {"messages": [said]})
        context = server.told("POST", "/context:prepare", {"session": "s1", "query": said["content"]})
        assert context["messages"][-1]["role"] == "user"
        assert "Fairphone" in json.dumps(context["messages"][-1])
        answer = {"role": "assistant", "content": "Noted: a Fairphone.", "message_id": "m2"}
        server.told("POST", "/sessions/s1/entries", {"messages": [answer]})
        server.told("POST", "/sessions/s1/entries", {"messages": [answer]})
        entries = server.told("GET", "/sessions/s1/entries")["items"]
        assert [each["message_id"] for each in entries] == ["m1", "m2"]
        until(lambda: bool(server.told("GET", "/search?q=Fairphone&tier=session")["hits"]))
        server.stop()


def test_the_token_is_its_owners_alone_and_stays_the_same(tmp_path: Path, desk: Path) -> None:
    with running(tmp_path / "home", str(desk)) as server:
        assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
        assert server.line["link"].endswith(f"/login?token={server.token}")
        assert server.ask("GET", "/api/v1/workspaces", token="")[0] == 401
        first = server.token
        server.stop()
    with running(tmp_path / "home", str(desk)) as server:
        assert server.token == first
        code, err = server.stop()
        assert (code, first.encode() in err) == (0, False)


def test_a_stop_ends_streams_and_lets_what_was_begun_finish(tmp_path: Path, desk: Path) -> None:
    with running(tmp_path / "home", str(desk)) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as stream:
            head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n"
            stream.sendall(f"GET /api/v1/w/default/events HTTP/1.1\r\n{head}".encode())
            heard = b""
            while b": hello" not in heard:
                heard += stream.recv(4_096)
            server.told("PUT", "/files/a.md", b"hello")
            while b"file.put" not in heard:
                heard += stream.recv(4_096)
            code, err = server.stop()
            while more := stream.recv(4_096):
                heard += more
        assert code == 0, err
        assert b"Traceback" not in err
        assert heard.endswith(b"0\r\n\r\n")  # a stream that ended as it should


def test_several_workers_share_a_workspace_and_the_queue_is_swept_once(tmp_path: Path, desk: Path) -> None:
    with running(tmp_path / "home", str(desk), "--workers", "2") as server:
        for number in range(12):
            said = [
                {"role": "user", "content": f"We decided on plan {number}.", "message_id": f"u{number}"},
                {"role": "assistant", "content": "Noted.", "message_id": f"a{number}"},
            ]
            server.told("POST", "/sessions/s1/entries", {"messages": said})
        entries = server.told("GET", "/sessions/s1/entries?limit=100")["items"]
        assert len(entries) == len({each["message_id"] for each in entries}) == 24

        def learnt() -> bool:
            return bool(server.told("GET", "/jobs?state=done")["items"])

        until(learnt)
        done = server.told("GET", "/jobs?state=done")["items"]
        assert len(done) == len({each["key"] for each in done})
        workers = set[bytes]()

        def both_answered() -> bool:
            told = re.search(rb'worker="(\d+)"', server.ask("GET", "/metrics")[1])
            workers.update(told.groups() if told else ())
            return len(workers) == 2

        until(both_answered)
        assert server.stop()[0] == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_a_person_interrupts_says_so(tmp_path: Path, desk: Path, workers: str) -> None:
    with running(tmp_path / "home", str(desk), "--workers", workers) as server:
        assert server.stop(signal.SIGINT)[0] == 130


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_person_who_has_no_patience_with_a_server_is_shown_no_traceback(
    tmp_path: Path, desk: Path, first: signal.Signals
) -> None:
    """The second time, a server waits for nobody: not for clients of MCP, nor for what is being answered."""
    with running(tmp_path / "home", str(desk)) as server:
        assert server.ask("POST", "/mcp", {})[0] < 500  # what speaks MCP is there from now on
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as slow:
            head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
            slow.sendall(
                f"PUT /api/v1/w/default/files/a.md HTTP/1.1\r\n{head}Content-Length: 9\r\n\r\n".encode()
            )
            until(lambda: server.ask("GET", "/healthz")[0] == 200)
            server.process.send_signal(first)
            time.sleep(0.1)
            code, err = server.stop(signal.SIGINT)
        assert code == 130
        assert b"Traceback" not in err
        assert b"CancelledError" not in err


@pytest.mark.parametrize("later", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_server_that_is_told_to_stop_while_it_still_starts_stops(
    tmp_path: Path, desk: Path, later: float, interrupted: bool
) -> None:
    with starting({**os.environ, "CARREL_HOME": str(tmp_path / "home")}, str(desk)) as server:
        time.sleep(later)
        if interrupted:
            server.process.send_signal(signal.SIGINT)
        code, err = server.stop()
        # As any program, before it has begun.
        assert code in (0, -signal.SIGTERM, *((130, -signal.SIGINT) if interrupted else ()))
        assert b"Traceback" not in err


def test_a_file_edited_by_hand_is_indexed_without_anybody_searching_for_it(
    tmp_path: Path, desk: Path
) -> None:
    with running(tmp_path / "home", str(desk)) as server:

        def indexed() -> int:  # which looks at no file, as a search would
            return server.told("GET", "/index")["places"]

        until(lambda: indexed() > 0)
        begun = indexed()
        for number in range(1, 4):
            (desk / f"notes-{number}.md").write_text("The marmalade is in the cellar.\n")
            until(lambda number=number: indexed() == begun + number)
        (desk / "notes-1.md").unlink()
        until(lambda: indexed() == begun + 2)
        assert server.stop()[0] == 0


class Holding:
    """The transport of an MCP client that holds a key."""

    def __init__(self, url: str, key: str):
        self.url, self.key = url, key

    async def __aenter__(self) -> Any:
        self.http = httpx2.AsyncClient(headers={"authorization": f"Bearer {self.key}"}, timeout=PATIENCE)
        self.streams = streamable_http_client(self.url, http_client=self.http)
        return await self.streams.__aenter__()

    async def __aexit__(self, *exception: object) -> None:
        await self.streams.__aexit__(*exception)
        await self.http.aclose()


def test_an_mcp_client_is_served_as_its_key_says(tmp_path: Path, desk: Path) -> None:
    async def look(client: Any) -> tuple[set[str], Any]:
        said = [{"role": "user", "content": "The kiln is hot."}, {"role": "assistant", "content": "I see."}]
        await call(client, "context_get", query="Is it hot?", session="s1")
        recorded = await call(client, "turn_record", session="s1", messages=said)
        return {tool.name for tool in (await client.list_tools()).tools}, recorded.value["session"]

    with running(tmp_path / "home", str(desk)) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        guest = server.told("POST", "/keys", {"name": "guest", "right": "write"})
        tools, session = talk(Holding(url, guest["key"]), look)
        assert "file_write" not in tools
        assert session == f"{guest['id']}.s1"
        tools, session = talk(Holding(f"{url}?scope=main", server.token), look)
        assert "file_write" in tools
        assert session == "s1"
        assert talk(Holding(url, server.token), look)[1] == "owner.s1"
        server.told("DELETE", f"/keys/{guest['id']}")
        assert server.ask("POST", "/mcp", {}, token=guest["key"])[0] == 401
        server.stop()


def test_clients_that_come_first_all_at_once_are_served_though_some_hang_up(
    tmp_path: Path, desk: Path
) -> None:
    """What speaks MCP is loaded for the first of them, which takes a while."""
    with running(tmp_path / "home", str(desk)) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire:
                head = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
                wire.sendall(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: 2\r\n\r\n{{}}".encode())

        async def tools(client: Any) -> int:
            return len((await client.list_tools()).tools)

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: talk(Holding(url, server.token), tools), range(4)))
        assert len(set(found)) == 1
        assert found[0] > 3
        server.stop()


DRIPS = (
    (b"GET /healthz HTTP/1.1\r\nHost: 127", b""),
    (b"GET /healthz HTTP/1.1\r\nHost: 127", b"0"),
    (b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n", b"x"),
)
"""How a request begins that never becomes whole, and what is sent of it every now and then."""
GARBAGE = (b"\0" * 100_000, b"GET / HTTP/9.9\r\n\r\n", b"X" * 200_000, b"\r\n" * 50_000)


def is_hung_up_on(server: Server, first: bytes, more: bytes) -> bool:
    """Tell whether the server closes a connection on which this is sent."""
    end = time.monotonic() + PATIENCE
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as wire:
        try:
            wire.sendall(first)
            wire.settimeout(0.2)
            while time.monotonic() < end:
                with suppress(TimeoutError):
                    wire.sendall(more)
                    if wire.recv(4_096) == b"":
                        return True
        except OSError:
            return True
    return False


def test_requests_that_never_become_whole_and_garbage_are_hung_up_on_and_hurt_nobody_else(
    tmp_path: Path, desk: Path
) -> None:
    sent = [*DRIPS, *((garbage, b"") for garbage in GARBAGE)]
    with running(tmp_path / "home", str(desk)) as server, ThreadPoolExecutor(len(sent)) as clients:
        closed = [clients.submit(is_hung_up_on, server, *each) for each in sent]
        while not all(each.done() for each in closed):
            assert reachable(server)
            time.sleep(0.2)
        assert [each.result() for each in closed] == [True] * len(sent)
        server.stop()


def test_a_public_address_without_encryption_refuses_to_start(tmp_path: Path, desk: Path, cli: Any) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        refused = cli("serve", str(desk), "--host", host, "--port", "0", "--json")
        assert (refused.code, refused.error["code"]) == (6, "public_bind")


def test_an_address_that_is_taken_is_told_at_once(tmp_path: Path, desk: Path, cli: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = cli("serve", str(desk), "--port", port, "--json")
        assert (refused.code, refused.error["code"]) == (1, "cannot_listen")


def test_a_token_that_others_could_read_is_not_used(tmp_path: Path, desk: Path, cli: Any) -> None:
    token = cli.home / "data" / "server.token"
    token.parent.mkdir(parents=True, exist_ok=True)
    token.write_text("x" * 43)
    token.chmod(0o644)
    refused = cli("serve", str(desk), "--port", "0", "--json")
    assert (refused.code, refused.error["code"]) == (6, "token_exposed")


def test_keys_are_made_listed_and_revoked_from_the_shell(desk: Path, cli: Any) -> None:
    made = cli("-C", desk, "keys", "create", "ci", "--right", "write", "--days", "3", "--json").document
    assert (made["right"], made["scope"], made["key"].split("_")[:2]) == (
        "write",
        "shared",
        ["carrel", made["id"]],
    )
    (listed,) = cli("-C", desk, "keys", "list", "--json").document["keys"]
    assert listed["expires"] > listed["created"]
    assert "digest" not in listed
    assert "good" in cli("-C", desk, "keys", "list").text
    assert cli("-C", desk, "keys", "revoke", made["id"], "--json").document["revoked"]
    assert "revoked" in cli("-C", desk, "keys", "list").text
    assert cli("-C", desk, "keys", "revoke", "nothing", "--json").error["code"] == "unknown_key"
    assert cli("-C", desk, "--scope", "shared", "keys", "list").code == 6
