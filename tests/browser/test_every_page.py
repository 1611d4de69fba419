"""Every page of the explorer: it is there, it can be read by everybody, it is light, and it tells others nothing."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import axe_playwright_python
import pytest
from playwright.sync_api import Page
from tests.browser.conftest import NARROW, WIDE, Studio

from carrel.http.explorer.pages import NAVIGATION

NAMES = {address: name for address, name, _ in NAVIGATION}
DETAILS = {
    "files/stack.md": "stack.md",
    "files/data/config.json": "config.json",
    "files/notes/qu%C3%A9%20%26%20%3Ctal%3E.md": "qué & <tal>.md",
    "search?q=Ana": "Search",
    "search?q=nothing+of+the+kind": "Search",
    "context/explain/handbook.md?agent=kate": "handbook.md",
    "sessions/launch?agent=kate": "launch",
    "sessions/tools?agent=kate": "tools",
}
PAGES = NAMES | {f"{address}?agent=kate": name for address, name in NAMES.items()} | DETAILS
OWN = (*PAGES, "files/salaries.md", "files/USER.md", "sessions/garden?agent=kate")
SHARED = [f"{path}{'&' if '?' in path else '?'}scope=shared" for path in OWN]
PRIVATE = (
    "For Luis alone",
    "Samsung",
    "in Bogota",
    "bruno",
    "coffee black",
    "Eva lives",
    "kiln",
    "Ask for the goal",
)
"""Words that only the owner may read: of a private file, memory, the journal, sessions and what travels."""

MOST_BYTES = 100_000
AXE_SCRIPT = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
AXE = {"resultTypes": ["violations"], "iframes": False}
HEADINGS = "[...document.querySelectorAll('main h1, main h2')].map(heading => heading.textContent.trim())"


def at(page: Page, look: str) -> str:
    return f"{urlsplit(page.url).path}?{urlsplit(page.url).query} {look}"


def assert_accessible(page: Page, look: str) -> None:
    """No finding of axe that would keep somebody out."""
    found = page.evaluate("options => axe.run(document, options)", AXE)["violations"]
    grave = [each for each in found if each["impact"] in ("serious", "critical")]
    told = [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary']}"
        for each in grave
        for node in each["nodes"][:3]
    ]
    assert told == [], at(page, look)


def assert_fits(page: Page, look: str) -> None:
    """The page is no wider than the window; what is wider scrolls by itself."""
    wide, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert wide <= room, at(page, look)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_light_and_can_be_read_in_both_themes_at_any_width_and_without_scripts(
    page: Page, path: str
) -> None:
    loaded = Loaded(page)
    answer = page.goto(path)
    assert answer is not None
    assert answer.status == 200, answer.text()[:500]
    page.wait_for_timeout(50)  # for what scripts fetch by themselves
    assert 0 < sum(loaded.sizes.values()) < MOST_BYTES, loaded.sizes
    assert page.locator("h1").count() == 1
    assert page.locator("h1").is_visible()
    assert PAGES[path].lower() in page.title().lower()
    assert page.title().endswith(" · studio")
    page.evaluate(AXE_SCRIPT)
    for width, theme in ((WIDE, "light"), (NARROW, "dark"), (NARROW, "light"), (WIDE, "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        assert_fits(page, f"{theme}, {width} px")
        if (width == WIDE) == (theme == "light"):
            assert_accessible(page, f"{theme}, {width} px")
    loaded.end()
    sent = page.evaluate(
        f"html => {{ const document = new DOMParser().parseFromString(html, 'text/html'); return {HEADINGS}; }}",
        answer.text(),
    )
    assert sent == page.evaluate(HEADINGS) != []  # no script adds one


class Loaded:
    """What a page loads, by address, in bytes as they come over the wire."""

    def __init__(self, page: Page):
        self.sizes: dict[str, float] = {}
        self._names: dict[str, str] = {}
        self._network = page.context.new_cdp_session(page)
        self._network.send("Network.enable")
        self._network.send("Network.setCacheDisabled", {"cacheDisabled": True})
        self._network.on("Network.responseReceived", self._received)
        self._network.on("Network.loadingFinished", self._finished)

    def end(self) -> None:
        self._network.detach()

    def _received(self, told: dict[str, Any]) -> None:
        self._names[told["requestId"]] = told["response"]["url"]

    def _finished(self, told: dict[str, Any]) -> None:
        name = self._names.get(told["requestId"], told["requestId"])
        self.sizes[name] = self.sizes.get(name, 0) + told["encodedDataLength"]


def links(page: Page) -> Iterator[str]:
    """The addresses on a page, without what they say to the page itself."""
    for href in page.evaluate(
        "[...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href'))"
    ):
        yield urljoin(page.url, href).partition("#")[0]


def test_every_link_on_every_page_leads_somewhere(studio: Studio, bare_page: Page) -> None:
    page = bare_page
    found: dict[str, str] = {}
    for path in PAGES:
        page.goto(path)
        assert page.locator("main").inner_text().strip() != "", path  # without scripts, too
        found |= {link: path for link in links(page) if link.startswith(studio.url)}
    by_kind = {(urlsplit(link).path, re.sub(r"=[^&]*", "", urlsplit(link).query)): link for link in found}
    assert len(by_kind) > len(NAVIGATION)
    answers = {link: page.request.get(link).status for link in by_kind.values()}
    assert {link: (status, found[link]) for link, status in answers.items() if status != 200} == {}


def test_a_page_as_others_see_it_tells_nothing_of_the_owners(studio: Studio, page: Page) -> None:
    for path in SHARED:
        answer = page.request.get(f"{studio.base}{path}")
        assert answer.status in (200, 403, 404), path
        assert [word for word in PRIVATE if word in answer.text()] == [], path
    told = "".join(page.request.get(f"{studio.base}{path}").text() for path in OWN)
    assert [word for word in PRIVATE if word not in told] == []  # the owner reads all of them


def test_an_address_that_does_not_exist_is_told_to_a_person_on_a_page(page: Page, forgiven: set[str]) -> None:
    forgiven.add("404")
    for path in (
        "nothing-of-the-kind",
        "files/nothing.md",
        "sessions/nothing?agent=kate",
        "../nowhere/overview",
    ):
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 404, path
        assert page.locator("h1").count() == 1, path
        assert page.locator("main a[href]").count() >= 1, path
