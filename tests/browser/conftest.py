"""A real Chromium before a real `carrel serve`: every page that a test opens is watched.

- `studio`: a server that the tests of a worker share, over a workspace that none of them changes.
- `own_studio`: a server over a copy of it, for a test that changes something.
- `look(studio, width=390, dark=True, scripts=False, path="files")`: a page in a context of its own, logged in.
- `page`, `bare_page` (without scripts), `own_page`: a page of `studio`, of it again, and of `own_studio`; each is
  handed from test to test. `page.goto("files?agent=kate")` goes below `/w/studio/`.
- `follow(link)`: a click that leads to another page, until that page has loaded its scripts.
- `forgiven`: what a test expects to go wrong; `forgiven.add("412")` before a stale edit, for instance.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from socket import SO_REUSEADDR, SOL_SOCKET, socket
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)
from tests.browser.nursery import Nursery
from tests.stubs import studio as stub

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
BROWSERS = ("chromium-headless-shell", "chromium")
"""The first has no windows to keep, and takes a third less of the processor."""

PATIENCE = 60.0
WIDE, NARROW = 1280, 390
expect.set_options(timeout=1000 * PATIENCE)  # a busy machine is no failure

Look = Callable[..., Page]


class Studio:
    """A running server over one workspace."""

    def __init__(self, root: Path, url: str, link: str, log: Path):
        self.root, self.url, self.link, self.log = root, url, link, log
        self.name = root.name

    @property
    def base(self) -> str:
        return f"{self.url}/w/{self.name}/"

    @property
    def environ(self) -> dict[str, str]:
        return stub.environ(self.root.parent / "home")


@contextmanager
def serving(root: Path, nursery: Nursery | None = None, port: int = 0) -> Iterator[Studio]:
    """Serve a studio, on a free port where none is named; what goes wrong in the server fails the test.

    With a nursery it is up sooner; without one it is started as a person would.
    """
    out, log = root.parent / "server.out", root.parent / "server.log"
    starting = _started(root, out, log) if nursery is None else _forked(nursery, root, port, out, log)
    with starting as is_up:
        line = json.loads(_answer(is_up, lambda: out.read_text().partition("\n")[0], log))
        _answer(is_up, lambda: urlopen(f"{line['url']}/healthz").read(), log)
        yield Studio(root, line["url"], line["link"], log)
    assert "Traceback" not in log.read_text(), log.read_text()


@contextmanager
def _started(root: Path, out: Path, log: Path) -> Iterator[Callable[[], bool]]:
    """Start a server in a process of its own, and end it."""
    with out.open("wb") as said, log.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "carrel", "serve", str(root), "--port", "0", "--json"],
            env={**os.environ, **stub.environ(root.parent / "home")}, stdout=said, stderr=told,
        )  # fmt: skip
    try:
        yield lambda: process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


@contextmanager
def _forked(nursery: Nursery, root: Path, port: int, out: Path, log: Path) -> Iterator[Callable[[], bool]]:
    """Start a server from what is loaded, and end it."""
    out.unlink(missing_ok=True)
    server = nursery.start(root, stub.environ(root.parent / "home"), port=port, out=out, log=log)
    try:
        yield lambda: nursery.is_up(server)
    finally:
        nursery.end(server)


def _answer(is_up: Callable[[], bool], ask: Callable[[], Any], log: Path) -> Any:
    """Ask until there is an answer; a server that ended says why."""
    end = monotonic() + PATIENCE
    while True:
        with suppress(OSError):
            if answer := ask():
                return answer
        assert is_up(), log.read_text()
        assert monotonic() < end, log.read_text()
        sleep(0.02)


class Watch:
    """What must not happen while somebody looks at a page: errors, dialogs, a word to another host."""

    def __init__(self, context: BrowserContext, studio: Studio):
        self._own = urlsplit(studio.url).netloc
        self.troubles: list[str] = []
        self.is_over = False
        context.on("console", self._console)
        context.on("weberror", lambda error: self.troubles.append(f"page error: {error.error}"))
        context.on("request", self._request)
        context.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.netloc != self._own and parts.scheme not in ("data", "blob", "about"):
            self.troubles.append(f"request to {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        """A page asks before it deletes; anything else that asks was made to by somebody."""
        if dialog.type == "confirm" or (dialog.type == "beforeunload" and self.is_over):
            dialog.accept()
            return
        self.troubles.append(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()


def made_once(places: pytest.TempPathFactory, name: str, make: Callable[[Path], Path]) -> Path:
    """Return what was made for all workers of a run, by the first of them that needs it."""
    shared = places.getbasetemp() if "PYTEST_XDIST_WORKER" not in os.environ else places.getbasetemp().parent
    with (shared / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        done = shared / f"{name}.path"
        if not done.exists():
            (shared / name).mkdir()
            done.write_text(str(make(shared / name)))
        return Path(done.read_text())


@pytest.fixture(scope="session")
def made_studio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studio as it was made; only copies of it are served."""
    return made_once(tmp_path_factory, "made", stub.make)


@pytest.fixture(scope="session")
def studio(made_studio: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with serving(stub.copy(made_studio, tmp_path_factory.mktemp("served"))) as served:
        yield served


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def own_port() -> Iterator[int]:
    """The port of every `own_studio`, one after the other: so that one page can look at all of them.

    Between two of them nobody else is given it: a socket that never listens holds the place.
    """
    with socket() as taken:
        taken.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@pytest.fixture
def own_studio(made_studio: Path, nursery: Nursery, own_port: int, tmp_path: Path) -> Iterator[Studio]:
    with serving(stub.copy(made_studio, tmp_path / "own"), nursery, own_port) as served:
        yield served


@pytest.fixture(scope="session")
def chromium(made_studio: Path) -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One browser for all tests of a worker, with the event loop by which it is spoken to."""
    del made_studio  # it is made in a loop of its own, and therefore before
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail(
            "Chromium is not on the PATH: `make browser` installs it (Debian: apt-get install chromium)."
        )
    with sync_playwright() as playwright:
        browser, loop = (
            playwright.chromium.launch(executable_path=path, args=FLAGS),
            asyncio.get_running_loop(),
        )
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def browser(chromium: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser; between modules its loop is put aside, so that other tests can start theirs."""
    browser, loop = chromium
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture
def forgiven() -> set[str]:
    return set()


def enter(browser: Browser, studio: Studio, **more: Any) -> tuple[Page, Watch]:
    """Open a page in a context of its own as somebody who is logged in."""
    context = browser.new_context(base_url=studio.base, reduced_motion="reduce", **more)
    context.set_default_timeout(1000 * PATIENCE)
    watch = Watch(context, studio)
    assert context.request.get(studio.link, max_redirects=0).status == 303
    return context.new_page(), watch


def follow(link: Locator) -> None:
    """Click what leads to another page, and wait until that is loaded: before, nobody listens to keys and forms."""
    with link.page.expect_navigation():
        link.click()


def assert_untroubled(watches: Iterable[Watch], forgiven: set[str]) -> None:
    troubles = [told for watch in watches for told in watch.troubles]
    assert [told for told in troubles if not any(word in told for word in forgiven)] == []


@pytest.fixture
def look(browser: Browser, forgiven: set[str]) -> Iterator[Look]:
    """Open pages as somebody who is logged in; what went wrong in any of them fails the test in the end."""
    opened: list[tuple[Page, Watch]] = []

    def open_page(
        studio: Studio, *, width: int = WIDE, dark: bool = False, scripts: bool = True, path: str = ""
    ) -> Page:
        page, watch = enter(
            browser,
            studio,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
        )
        opened.append((page, watch))
        if path:
            page.goto(path)
        return page

    yield open_page
    for page, _ in opened:
        page.context.close()
    assert_untroubled((watch for _, watch in opened), forgiven)


class Handed:
    """A page that tests hand on to each other: between two of them it shows nothing, and forgets all.

    A new one would cost more than most tests; one that leaves its origin costs as much.
    """

    def __init__(self, browser: Browser, studio: Studio, **more: Any):
        self.page, self.watch = enter(browser, studio, **more)

    @contextmanager
    def for_one(self, studio: Studio, forgiven: set[str]) -> Iterator[Page]:
        page, watch = self.page, self.watch
        page.set_viewport_size({"width": WIDE, "height": 900})
        page.emulate_media(color_scheme="light")
        watch.troubles.clear()
        watch.is_over = False
        yield page
        watch.is_over = True
        page.unroute_all()
        page.goto(f"{studio.url}/healthz")
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        assert_untroubled([watch], forgiven)

    def enter_again(self, studio: Studio) -> None:
        """Log in at another server that has taken the place of the last."""
        self.page.context.clear_cookies()
        assert self.page.request.get(studio.link, max_redirects=0).status == 303


@pytest.fixture(scope="session")
def handed() -> dict[str, Handed]:
    return {}


@pytest.fixture
def page(studio: Studio, browser: Browser, handed: dict[str, Handed], forgiven: set[str]) -> Iterator[Page]:
    if "scripts" not in handed:
        handed["scripts"] = Handed(browser, studio)
    with handed["scripts"].for_one(studio, forgiven) as page:
        yield page


@pytest.fixture
def bare_page(
    studio: Studio, browser: Browser, handed: dict[str, Handed], forgiven: set[str]
) -> Iterator[Page]:
    if "bare" not in handed:
        handed["bare"] = Handed(browser, studio, java_script_enabled=False)
    with handed["bare"].for_one(studio, forgiven) as page:
        yield page


@pytest.fixture
def own_page(
    own_studio: Studio, browser: Browser, handed: dict[str, Handed], forgiven: set[str]
) -> Iterator[Page]:
    if "own" in handed:
        handed["own"].enter_again(own_studio)
    else:
        handed["own"] = Handed(browser, own_studio)
    with handed["own"].for_one(own_studio, forgiven) as page:
        yield page
