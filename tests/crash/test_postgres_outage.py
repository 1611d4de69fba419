"""An outage of the database, as its users see it: a typed error with advice, and the next call is answered."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.stubs.postgres import Server
from tests.stubs.proxy import Proxy

from carrel import Workspace
from carrel.errors import Unavailable

HERE = "pg://acme/studio"
TOKEN = "a-token-that-every-server-of-this-test-is-given"


@pytest.fixture
def proxy(postgres_server: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    yield proxy
    proxy.close()


@pytest.fixture
def environ(proxy: Proxy, database: str, tmp_path: Path) -> dict[str, str]:
    """What leads to a workspace over a link that may be cut."""
    environ = {"CARREL_DATABASE_URL": proxy.url(database), "CARREL_HOME": str(tmp_path / "home")}
    Workspace.init(HERE, environ=environ)
    return environ


@pytest.mark.parametrize(
    "words",
    [
        ("-C", HERE, "context", "report"),
        ("-C", HERE, "search", "tea"),
        ("-C", HERE, "memory", "add", "I like tea."),
        ("-C", HERE, "sweep"),
        ("init", HERE),
        ("database", "migrate"),
        ("serve", HERE, "--port", "0"),
    ],
)
def test_a_command_that_finds_no_database_says_so_and_leaves_no_trace(
    environ: dict[str, str], proxy: Proxy, cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    cli.set(**environ, CARREL_TOKEN=TOKEN, CARREL_NOW=None)
    proxy.cut(stay_down=True)
    told = cli(*words, "--json")
    assert (told.code, told.error["code"]) == (1, "postgres_unavailable")
    assert "Try again" in told.error["hint"]
    assert not (tmp_path / "home").exists()
    proxy.mend()
    if "serve" not in words:  # which would go on for ever
        assert cli(*words, "--json").code == 0


def test_a_workspace_that_is_open_outlives_an_outage(environ: dict[str, str], proxy: Proxy) -> None:
    numbers = count()
    with Workspace.open(HERE, environ=environ) as workspace:
        workspace.put("a.md", b"The harbour.\n")
        calls: list[Callable[[], object]] = [
            workspace.assemble,
            lambda: workspace.prepare("s1", f"Where is harbour {next(numbers)}?"),
            lambda: workspace.record("s1", [{"role": "user", "content": "Here.", "message_id": "m1"}]),
            lambda: workspace.put("b.md", b"Tea.\n"),
            lambda: workspace.read("a.md"),
        ]
        for call in calls:
            proxy.cut(stay_down=True)
            with pytest.raises(Unavailable) as caught:
                call()
            assert caught.value.code == "postgres_unavailable"
            assert "ry again" in caught.value.hint
            proxy.mend()
            call()  # the first one after the link's return
        assert [placed.entry.message_id for placed in workspace.sessions.entries("s1")] == ["m1"]
        assert workspace.read("b.md") == "Tea."


def test_a_search_is_refused_without_its_database_and_whole_with_it(
    environ: dict[str, str], proxy: Proxy
) -> None:
    with Workspace.open(HERE, environ=environ) as workspace:
        workspace.put("a.md", b"The harbour.\n")
        proxy.cut(stay_down=True)
        with pytest.raises(Unavailable, match="cannot be reached"):
            workspace.search("harbour")
        proxy.mend()
        found = workspace.search("harbour")
        assert (len(found.hits), found.degraded) == (1, False)
