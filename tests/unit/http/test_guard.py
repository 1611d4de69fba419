"""What never reaches an endpoint: other hosts, other sites' pages, bombs, floods and dawdlers."""

import asyncio
import gzip
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.http.served import TOKEN, Place, serving
from tests.unit.http.test_access import DECLARED, address

from carrel.http.guard import HEADERS, Guard, Limits

OWN = "testserver"
WRONG_HOSTS = [
    "", " ", "evil.example", "testserver.evil.example", "eviltestserver", "testserver.", "testserver@evil.example",
    "evil.example:80", "127.0.0.1.evil.example", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "[::]", "[::1",
    "::1", "[::ffff:127.0.0.1]", "localhost.evil", "LOCALHOST.evil", "testserver evil", "testserver,evil.example",
    "evil.example#testserver", "evil.example?testserver", "evil.example/testserver", "http://testserver", "тestserver",
    "testserver\t.evil", "10.0.0.1", "169.254.169.254", "metadata.internal", "carrel", "a" * 4_000, "[testserver]",
    "testserver%00", "%74estserver", "xn--testserver", "*", "null", "-", "_",
]  # fmt: skip
WRONG_ORIGINS = [
    "null", "", "http://evil.example", "https://evil.example", "http://testserver.evil.example", "http://eviltestserver",
    "http://testserver:81", "ftp://testserver", "file://", "http://testserver/", "http://testserver/path",
    "http://user@testserver", "http://testserver@evil.example", "testserver", "//testserver", "http:testserver",
    "http://testserver,http://evil.example", "http://testserver http://evil.example", "javascript:alert(1)",
    "chrome-extension://abc", "moz-extension://abc", "data:text/html,x", "http://[::1", "http://127.0.0.1",
    "http://localhost", "http://0.0.0.0", "https://testserver:443", "http://testserver:80", "http://testserver.",
    "http://тestserver", "http://testserver%2eevil.example", "http://evil.example#testserver",
    "http://evil.example?testserver", "about:blank", "blob:http://testserver/1", "ws://testserver", "x", "*",
    "http://", "http://" + "a" * 4_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with serving(tmp_path_factory.mktemp("guard")) as place:
        yield place


def asked(place: Place, name: str, headers: list[tuple[bytes, bytes]]) -> tuple[int, bytes]:
    """Send a request with exactly these headers, past any client that would mend them."""
    declared = DECLARED[name]
    path, _, query = address(declared).partition("?")
    path = f"/api/v1{path}" if name == "list_workspaces" else f"/api/v1/w/default{path}"
    scope = {
        "type": "http", "http_version": "1.1", "method": declared.method, "path": path, "scheme": "http",
        "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "asgi": {"version": "3.0"},
    }  # fmt: skip
    return asyncio.run(answered(place.client.app, scope))


async def answered(app: Any, scope: dict[str, Any], *parts: bytes) -> tuple[int, bytes]:
    waiting = list(parts) or [b""]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        body = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize("name", DECLARED)
def test_no_endpoint_answers_for_another_host_or_to_another_sites_page(place: Place, name: str) -> None:
    bearer = (b"authorization", f"Bearer {TOKEN}".encode())
    before = len(place.trail())
    for host in WRONG_HOSTS:
        status, body = asked(place, name, [(b"host", host.encode()), bearer])
        assert (status, b"wrong_host" in body) == (403, True), host
    for origin in WRONG_ORIGINS:
        status, body = asked(place, name, [(b"host", OWN.encode()), (b"origin", origin.encode()), bearer])
        assert (status, b"wrong_origin" in body) == (403, True), origin
    assert len(place.trail()) == before


def test_two_hosts_are_as_bad_as_a_wrong_one_and_none_too(place: Place) -> None:
    assert asked(place, "tree", [])[0] == 403
    assert asked(place, "tree", [(b"host", b"testserver"), (b"host", b"evil.example")])[0] == 403


def test_a_page_of_our_own_may_ask(place: Place) -> None:
    answer = place.ask("GET", "/tree", Origin=f"http://{OWN}")
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_even_the_open_addresses_mind_the_host(place: Place) -> None:
    for path in ("/healthz", "/readyz", "/login", "/metrics", "/openapi.json", "/mcp", "/"):
        assert place.client.get(path, headers={"Host": "evil.example"}).json()["code"] == "wrong_host"


def test_every_answer_says_what_a_browser_must_not_do_with_it(place: Place) -> None:
    answers = [
        place.ask("GET", "/files/AGENTS.md"),
        place.ask("GET", "/tree", key=""),
        place.ask("GET", "/nowhere"),
    ]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_a_file_of_script_is_text_to_be_saved(place: Place) -> None:
    place.told("PUT", "/files/x.html", b"<script>alert(1)</script>")
    answer = place.ask("GET", "/files/x.html")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="x.html"'


def test_a_large_body_is_refused_before_it_is_read(place: Place) -> None:
    assert place.refused("POST", "/context:assemble", b" " * 10_000_000) == (413, "body_too_large")
    assert place.refused("PUT", "/files/big.txt", b"x" * 17_000_000) == (413, "body_too_large")
    assert not (place.root / "big.txt").exists()


def test_a_body_that_grows_beyond_what_it_said_is_refused_while_it_comes(place: Place) -> None:
    headers = [(b"host", b"testserver"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/api/v1/w/default/context:assemble",
        "raw_path": b"", "query_string": b"", "root_path": "", "scheme": "http", "headers": headers,
        "client": None, "server": None, "asgi": {"version": "3.0"},
    }  # fmt: skip
    status, body = asyncio.run(answered(place.client.app, scope, *[b" " * 1_000_000] * 50))
    assert (status, b"body_too_large" in body) == (413, True)


def test_a_packed_body_is_not_unpacked(place: Place) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    assert place.refused("POST", "/context:assemble", bomb, Content_Encoding="gzip") == (415, "encoded_body")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000, b'{"a":' * 100_000, b"{", b"\xff\xfe", b'"\\ud800"', b"null", b"[]", b"1e999", b"{}{}",
        b'{"query": 1}', b'{"query": "\\ud800"}', b'{"unknown": 1}', b'{"query": "' + b"x" * 1_000_000 + b'"}',
    ],
)  # fmt: skip
def test_a_body_that_makes_no_sense_gets_a_clear_answer(place: Place, body: bytes) -> None:
    answer = place.ask("POST", "/context:assemble", body)
    assert answer.status_code in (200, 400)


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def never() -> Any:
        await asyncio.sleep(60)

    async def nobody(_: Any) -> None: ...

    guard = Guard(endpoint, hosts=("h",), limits=Limits(body_seconds=0.05))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"h")]}
    began = time.monotonic()
    with pytest.raises(Exception, match="not here within"):
        asyncio.run(guard(scope, never, nobody))
    assert time.monotonic() - began < 30


def test_there_is_no_socket_to_open(place: Place) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    asyncio.run(place.client.app({"type": "websocket", "headers": [], "path": "/"}, receive, send))  # type: ignore[arg-type]
    assert sent == [{"type": "websocket.close", "code": 1008}]
