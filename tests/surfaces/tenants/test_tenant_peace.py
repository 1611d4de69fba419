"""What a tenant sees is the same whether it has neighbours or not, and what they do is not heard of."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import psycopg
import pytest
import uvicorn
from tests.surfaces.tenants.households import HOUSEHOLDS, Household, neighbour
from tests.surfaces.tenants.street import Question, Street
from tests.unit.http.served import NOW, TOKEN

from carrel import Workspace
from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.wire import Turns
from carrel.postgres import bell, leases

PATIENCE = 120.0


def test_every_answer_is_the_same_as_it_was_without_neighbours(tenants: Street) -> None:
    assert len(tenants.alone) > 60
    assert sum(status == 200 for status, _ in tenants.alone.values()) > 50
    assert tenants.told_otherwise() == []
    assert tenants.found() == []


def test_a_neighbour_that_cannot_be_opened_is_not_told_of(tenants: Street) -> None:
    amber, birch, cedar = HOUSEHOLDS
    with Workspace.open(birch.address, environ=tenants.environ) as workspace:
        workspace.put("carrel.yaml", f"layout: {birch.word}\n".encode())
    tenants.served.close()
    for own in (amber, cedar):
        for path in (
            f"/api/v1/w/{own.served_as}/files/notes/plan.md",
            "/metrics",
            "/api/v1/workspaces",
            "/readyz",
        ):
            answer = tenants.ask(own, Question(method="GET", path=path))
            assert answer.status_code == (503 if path == "/readyz" else 200), answer.text
    stranger = tenants.client.get("/metrics", headers={"Authorization": "Bearer carrel_nobody_nothing"})
    tenants.look(amber, stranger.content, b"", "a key that nobody has")
    assert tenants.found() == []
    tenants.served.close()


@contextmanager
def listening_at_a_port(street: Street) -> Iterator[int]:
    """Serve the street once more, as `carrel serve` does."""
    app = build(street.served, token=TOKEN, clock=FixedClock(NOW))
    server = uvicorn.Server(uvicorn.Config(app, port=0, ws="none", lifespan="on", log_config=None))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        threading.Event().wait(0.02)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        app.stop()
        server.should_exit = True
        thread.join(PATIENCE)


class Caller:
    """One of them at that port, who hangs up in the end."""

    def __init__(self, street: Street, port: int, own: Household, stack: ExitStack) -> None:
        self._key = street.keys[own.name]["main"]
        self._port = port
        self._stack = stack

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        self._stack.callback(connection.close)
        connection.request(
            method, f"/api/v1/w{path}", body, {"Authorization": f"Bearer {self._key}", **headers}
        )
        answer = connection.getresponse()
        self._stack.callback(answer.close)
        return answer


def lines_until(stream: HTTPResponse, word: str) -> bytes:
    heard = b""
    while word.encode() not in heard:
        line = stream.readline()
        assert line, heard
        heard += line
    return heard


def test_nobody_hears_what_happens_at_a_neighbour_s(tenants: Street) -> None:
    with ExitStack() as stack:
        port = stack.enter_context(listening_at_a_port(tenants))
        outside = stack.enter_context(psycopg.connect(tenants.database, autocommit=True))
        outside.execute(f"LISTEN {bell.CHANNEL}")
        callers = {own: Caller(tenants, port, own, stack) for own in HOUSEHOLDS}
        streams = {}
        for own, caller in callers.items():
            refused = caller.ask("GET", f"/{neighbour(own).served_as}/events")
            tenants.look(own, refused.read(), neighbour(own).name.encode(), "a neighbour's events")
            assert refused.status == 404
            streams[own] = caller.ask("GET", f"/{own.served_as}/events", **{"Last-Event-ID": "0"})
        for own, caller in callers.items():
            for name in (own.word, "last"):
                path = f"/{own.served_as}/files/notes/{name}.md"
                assert caller.ask("PUT", path, own.word.encode()).status == 200
        for own, stream in streams.items():
            heard = lines_until(stream, "notes/last.md")
            assert own.word.encode() in heard
            tenants.look(own, heard, b"", "events")
        rung = " ".join(notice.payload for notice in outside.notifies(timeout=5, stop_after=3))
    assert tenants.found() == []
    assert names_in(rung) == []
    assert rung


def names_in(text: str) -> list[str]:
    return [each for own in HOUSEHOLDS for each in (own.name, own.word, own.address) if each in text]


def test_a_bell_that_told_an_address_would_be_heard(tenants: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other way round: shows that the test above can fail."""
    monkeypatch.setattr(bell, "mark", lambda name: name)
    with psycopg.connect(tenants.database, autocommit=True) as outside:
        outside.execute(f"LISTEN {bell.CHANNEL}")
        ringer = tenants.served.workspace(HOUSEHOLDS[0].served_as).home.bell()
        assert ringer is not None
        ringer.ring(HOUSEHOLDS[0].address)
        ringer.close()
        (notice,) = outside.notifies(timeout=20, stop_after=1)
    assert names_in(notice.payload) != []


def turns_of(street: Street) -> list[bool]:
    """Let two servers sweep, one tenant each, and tell what each was allowed."""
    one, other = Turns(), Turns()
    amber, birch = (street.served.workspace(own.served_as) for own in HOUSEHOLDS[:2])
    try:
        return [one.is_ours("sweep", amber), other.is_ours("sweep", birch), other.is_ours("sweep", amber)]
    finally:
        one.close()
        other.close()


def test_a_tenant_s_turn_keeps_no_other_waiting(tenants: Street) -> None:
    assert turns_of(tenants) == [True, True, False]


def test_a_turn_that_forgot_the_tenant_would_be_noticed(
    tenants: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other way round."""
    key = leases._key
    monkeypatch.setattr(leases, "_key", lambda name: key(name.rpartition("/")[2]))
    assert turns_of(tenants) == [True, False, False]


def test_threads_of_three_tenants_at_once_see_their_own(tenants: Street) -> None:
    async def ask(own: Household) -> list[Any]:
        def read() -> bytes:
            path = f"/api/v1/w/{own.served_as}/search?q=harbour"
            return tenants.client.get(
                path, headers={"Authorization": f"Bearer {tenants.keys[own.name]['main']}"}
            ).content

        return [(own, await asyncio.to_thread(read)) for _ in range(5)]

    async def together() -> list[Any]:
        return await asyncio.gather(*(ask(own) for own in HOUSEHOLDS * 2))

    for own, told in (each for some in asyncio.run(together()) for each in some):
        assert own.word.encode() in told
        tenants.look(own, told, b"", "search beside others")
    assert tenants.found() == []
