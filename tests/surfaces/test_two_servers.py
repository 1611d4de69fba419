"""Two `carrel serve` on one database: either answers for both, and one of them sweeps."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from threading import Event, Thread

import pytest
from tests.conftest import snapshot
from tests.stubs.proxy import Proxy
from tests.stubs.serving import PATIENCE, Server, serving, until

from carrel import Workspace
from carrel.errors import Unavailable
from carrel.postgres import Postgres
from carrel.postgres.bell import ANY, Bell, mark
from carrel.postgres.leases import Leases

HERE = "pg://acme/studio"
TOKEN = "a-token-that-every-server-of-this-test-is-given"


@pytest.fixture
def environ(database, tmp_path) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("CARREL_")}
    environ = {
        **own,
        "CARREL_HOME": str(tmp_path / "home"),
        "CARREL_DATABASE_URL": database,
        "CARREL_TOKEN": TOKEN,
    }
    Workspace.init(HERE, environ=environ)
    return environ


@pytest.fixture
def servers(environ) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        yield stack.enter_context(serving(environ, HERE)), stack.enter_context(serving(environ, HERE))


def holders(postgres_server, database: str) -> list[int]:
    """The connections that have a lease; its keys begin with two letters of ours."""
    name = database.partition("?")[0].rpartition("/")[2]
    sql = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = 25441 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    return [pid for (pid,) in postgres_server.execute(sql, database=name)]


def test_one_agent_is_used_through_both(servers, tmp_path) -> None:
    one, other = servers
    before = snapshot(tmp_path)
    said = {"role": "user", "content": "My phone is a Fairphone.", "message_id": "m1"}
    one.told("POST", "/sessions/s1/entries", {"messages": [said]})
    context = other.told("POST", "/context:prepare", {"session": "s1", "query": said["content"]})
    assert "Fairphone" in json.dumps(context["messages"])
    answer = {"role": "assistant", "content": "Noted.", "message_id": "m2"}
    other.told("POST", "/sessions/s1/entries", {"messages": [answer]})
    one.told("POST", "/sessions/s1/entries", {"messages": [said, answer]})
    for server in servers:
        entries = server.told("GET", "/sessions/s1/entries")["items"]
        assert [each["message_id"] for each in entries] == ["m1", "m2"]
        until(lambda server=server: server.told("GET", "/search?q=Fairphone&tier=session")["hits"])
    other.told("PUT", "/files/notes.md", b"The quokka lives on Rottnest.\n")
    assert one.ask("GET", "/api/v1/w/acme.studio/files/notes.md")[1] == b"The quokka lives on Rottnest.\n"
    assert [hit["path"] for hit in one.told("GET", "/search?q=quokka")["hits"]] == ["notes.md"]
    stale = one.ask("PUT", "/api/v1/w/acme.studio/files/notes.md", b"No.\n", **{"If-Match": '"0000"'})
    assert stale[0] == 412
    assert snapshot(tmp_path) == before


def test_who_listens_to_one_hears_what_is_done_through_the_other(servers) -> None:
    one, other = servers
    connection = HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
    connection.request("GET", "/api/v1/w/acme.studio/events", headers={"Authorization": f"Bearer {TOKEN}"})
    stream = connection.getresponse()
    assert stream.readline() == b": hello\n"
    other.told("PUT", "/files/notes.md", b"The quokka lives on Rottnest.\n")
    line = b""
    while not line.startswith(b"data: "):
        line = stream.readline()
    assert json.loads(line[6:])["target"] == "notes.md"
    connection.close()


def test_one_sweeps_and_when_it_dies_the_other_does(environ, postgres_server, database) -> None:
    with Workspace.open(HERE, environ=environ) as workspace:
        workspace.put("carrel.yaml", b"agents:\n  - id: main\n    trigger_interval: 1\n")
    with serving(environ, HERE) as one:
        until(lambda: holders(postgres_server, database))
        (first,) = holders(postgres_server, database)
        with serving(environ, HERE) as other:
            hear(other, "s1")
            until(lambda: len(other.told("GET", "/jobs?state=done")["items"]) == 1)
            assert holders(postgres_server, database) == [first]
            one.process.send_signal(signal.SIGKILL)
            one.process.wait()
            until(lambda: holders(postgres_server, database) not in ([], [first]))
            hear(other, "s2")
            until(lambda: len(other.told("GET", "/jobs?state=done")["items"]) == 2)
            assert len(holders(postgres_server, database)) == 1


def hear(server: Server, session: str) -> None:
    said = [
        {"role": "user", "content": "Remember: I moved to Lisbon in May.", "message_id": "m1"},
        {"role": "assistant", "content": "Noted.", "message_id": "m2"},
    ]
    server.told("POST", f"/sessions/{session}/entries", {"messages": said})


def test_a_server_outlives_its_database_and_loses_nothing_that_it_acknowledged(
    environ, postgres_server, database
) -> None:
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    kept: list[str] = []

    def say(server: Server, number: int) -> int:
        said = {"role": "user", "content": f"Message {number}.", "message_id": f"m{number}"}
        status, told = server.ask("POST", "/api/v1/w/acme.studio/sessions/s1/entries", {"messages": [said]})
        if status in (200, 201):
            kept.append(f"m{number}")
        else:
            assert (status, told["code"]) == (503, "postgres_unavailable"), told
            assert told["hint"]
        return status

    with serving({**environ, "CARREL_DATABASE_URL": proxy.url(database)}, HERE) as server:
        say(server, 0)
        for number in range(1, 40):
            if number % 10 == 5:
                proxy.cut_after(up=700 * number)
            say(server, number)
        proxy.cut(stay_down=True)
        assert say(server, 40) == 503
        assert server.ask("GET", "/healthz")[0] == 200
        proxy.mend()
        until(lambda: say(server, 41) in (200, 201))
        entries = server.told("GET", "/sessions/s1/entries?limit=100")["items"]
        found = [each["message_id"] for each in entries]
        assert set(kept) <= set(found)
        assert len(found) == len(set(found))
    proxy.close()


def test_a_lease_has_one_holder_and_goes_to_the_next(database) -> None:
    one, other = Leases(Postgres(database)), Leases(Postgres(database))
    assert one.holds("sweep a")
    assert one.holds("sweep a")
    assert not other.holds("sweep a")
    assert other.holds("sweep b")
    one.close()
    until(lambda: other.holds("sweep a"))
    assert not one.holds("sweep a")
    one.close()
    other.close()


def test_a_lease_is_lost_with_its_link_and_is_not_believed_in(database, postgres_server) -> None:
    one, other = Leases(Postgres(database)), Leases(Postgres(database))
    assert one.holds("sweep a")
    for pid in holders(postgres_server, database):
        postgres_server.execute(f"SELECT pg_terminate_backend({pid})")
    until(lambda: other.holds("sweep a"))
    until(lambda: lapsed(one))
    one.close()
    other.close()


def lapsed(leases: Leases) -> bool:
    try:
        return not leases.holds("sweep a")
    except Unavailable:
        return False


def test_a_bell_is_heard_by_all_and_tells_no_names(database, postgres_server) -> None:
    bell, heard, stopping = Bell(Postgres(database)), [], Event()
    listener = Thread(target=bell.listen, args=(heard.append, stopping))
    listener.start()
    until(lambda: ANY in heard)
    bell.ring(HERE)
    until(lambda: mark(HERE) in heard)
    assert "acme" not in "".join(heard)
    heard.clear()
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
    )
    until(lambda: ANY in heard)
    bell.ring(HERE)
    until(lambda: mark(HERE) in heard)
    stopping.set()
    listener.join()
    bell.close()


def test_a_token_that_could_be_guessed_is_refused(cli, database) -> None:
    cli.set(CARREL_DATABASE_URL=database, CARREL_TOKEN="short")
    cli("init", HERE)
    assert cli("serve", HERE, "--port", "0", "--json").error["code"] == "weak_token"
