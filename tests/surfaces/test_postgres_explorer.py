"""The explorer over a workspace at an address: every page that there is, and every page that one leads to."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from starlette.testclient import TestClient
from tests.conftest import snapshot
from tests.unit.http.served import NOW, TOKEN

from carrel import Workspace
from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.explorer.pages import NAVIGATION
from carrel.http.served import Served

HERE, BASE = "pg://acme/studio", "/w/acme.studio"
LINK = re.compile(r'(?:href|hx-get|data-get|src)="([^"#]+)')


@pytest.fixture
def environ(database: str, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {
        "CARREL_DATABASE_URL": database,
        "CARREL_HOME": str(tmp_path / "home"),
        "CARREL_NOW": NOW.isoformat(),
    }


@pytest.fixture
def browser(environ: dict[str, str]) -> Iterator[TestClient]:
    Workspace.init(HERE, environ=environ)
    with Workspace.open(HERE, environ=environ) as workspace:
        workspace.put("notes/plan.md", b"# Plan\n\nThe quokka lives on Rottnest.\n")
        said = [{"role": "user", "content": "My parrot is Otto."}, {"role": "assistant", "content": "Noted."}]
        workspace.record("s1", said)
        workspace.prepare("s1", "Where does the quokka live?")
        workspace.memory.add("Ana prefers tea.")
        workspace.memory.add("Retry with jitter.", layer="experience")
    served = Served(
        [HERE], open=lambda at, agent: Workspace.open(at, agent=agent, team=agent is None, environ=environ)
    )
    app = build(served, token=TOKEN, clock=FixedClock(NOW), hosts=("testserver",))
    with served, TestClient(app) as client:
        assert client.get(f"/login?token={TOKEN}").status_code == 200
        yield client


def within(page: str, text: str) -> set[str]:
    """The addresses on a page that are pages of this workspace."""
    found = {urljoin(page, unescape(link)) for link in LINK.findall(text)}
    return {link for link in found if urlsplit(link).path.startswith(f"{BASE}/")}


def test_every_page_and_every_page_that_one_leads_to_is_there(browser: TestClient, tmp_path: Path) -> None:
    before = snapshot(tmp_path / "home")
    waiting = [f"{BASE}/{address}" for address, _, _ in NAVIGATION]
    waiting += [f"{page}?scope=shared" for page in waiting] + [f"{BASE}/search?q=quokka"]
    seen: dict[str, int] = {}
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        answer = browser.get(page)
        seen[page] = answer.status_code
        if urlsplit(page).query in ("", "q=quokka"):  # a page that was asked something leads nowhere new
            waiting += sorted(within(page, answer.text))
    assert {page: status for page, status in seen.items() if status != 200} == {}
    assert {f"{BASE}/files/notes/plan.md", f"{BASE}/sessions/s1"} <= {urlsplit(page).path for page in seen}
    assert snapshot(tmp_path / "home") == before


def test_pages_show_what_is_in_the_database(browser: TestClient) -> None:
    words = {
        "files/notes/plan.md": "quokka",
        "search?q=quokka": "notes/plan.md",
        "context": "memory/main.md",
        "memory": "Ana prefers tea.",
        "namespaces": "main",
        "sessions/s1": "Otto",
        "activity": "plan.md",
    }
    pages = {page: unescape(browser.get(f"{BASE}/{page}").text) for page in words}
    assert [page for page, word in words.items() if word not in pages[page]] == []
