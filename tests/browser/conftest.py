"""A real Chromium before a real `carrel serve`: every page that a test opens is watched.

- `studio`: a server that the tests of a worker share, over a workspace that none of them changes.
- `own_studio`: a server over a copy of it, for a test that changes something.
- `look(studio, width=390, dark=True, scripts=False, path="files")`: a page in a context of its own, logged in.
- `page`, `own_page`: such a page of `studio` and of `own_studio`; `page.goto("files?agent=kate")` goes below `/w/studio/`.
- `forgiven`: what a test expects to go wrong; `forgiven.add("412")` before a stale edit, for instance.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    sync_playwright,
)
from tests.stubs import studio as stub

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
PATIENCE = 60.0
WIDE, NARROW = 1280, 390

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
def serving(root: Path) -> Iterator[Studio]:
    """Serve a studio on a free port; whatever went wrong inside the server fails the test."""
    log = root.parent / "server.log"
    with log.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "carrel", "serve", str(root), "--port", "0", "--json"],
            env={**os.environ, **stub.environ(root.parent / "home")}, stdout=subprocess.PIPE, stderr=told,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, log.read_text()
        line = json.loads(first)
        _wait(process, line["url"], log)
        yield Studio(root, line["url"], line["link"], log)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
    assert "Traceback" not in log.read_text(), log.read_text()


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """Wait until a server answers; one that ended says why."""
    end = monotonic() + PATIENCE
    while True:
        assert process.poll() is None, f"{process.communicate()[0].decode()}{log.read_text()}"
        with suppress(OSError), urlopen(f"{url}/healthz") as answer:
            assert answer.status == 200
            return
        assert monotonic() < end, log.read_text()
        sleep(0.05)


class Watch:
    """What must not happen while somebody looks at a page: errors, dialogs, a word to another host."""

    def __init__(self, context: BrowserContext, studio: Studio):
        self._own = urlsplit(studio.url).netloc
        self.troubles: list[str] = []
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
        if dialog.type == "confirm":
            dialog.accept()
            return
        self.troubles.append(f"dialog: {dialog.type} {dialog.message}")
        dialog.dismiss()


@pytest.fixture(scope="session")
def made_studio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studio as it was made; only copies of it are served."""
    return stub.make(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="session")
def studio(made_studio: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    with serving(stub.copy(made_studio, tmp_path_factory.mktemp("served"))) as served:
        yield served


@pytest.fixture
def own_studio(made_studio: Path, tmp_path: Path) -> Iterator[Studio]:
    with serving(stub.copy(made_studio, tmp_path / "own")) as served:
        yield served


@pytest.fixture(scope="module")
def browser(made_studio: Path) -> Iterator[Browser]:
    """One browser for a module; while it runs no other test of this process could start an event loop."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail(
            "Chromium is not on the PATH: `make browser` installs it (Debian: apt-get install chromium)."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def forgiven() -> set[str]:
    return set()


@pytest.fixture
def look(browser: Browser, forgiven: set[str]) -> Iterator[Look]:
    """Open pages as somebody who is logged in; what went wrong in any of them fails the test in the end."""
    opened: list[tuple[BrowserContext, Watch]] = []

    def open_page(
        studio: Studio, *, width: int = WIDE, dark: bool = False, scripts: bool = True, path: str = ""
    ) -> Page:
        context = browser.new_context(
            base_url=studio.base,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        opened.append((context, Watch(context, studio)))
        assert context.request.get(studio.link, max_redirects=0).status == 303
        page = context.new_page()
        if path:
            page.goto(path)
        return page

    yield open_page
    for context, _ in opened:
        context.close()
    troubles = [told for _, watch in opened for told in watch.troubles]
    assert [told for told in troubles if not any(word in told for word in forgiven)] == []


@pytest.fixture
def page(studio: Studio, look: Look) -> Page:
    return look(studio)


@pytest.fixture
def own_page(own_studio: Studio, look: Look) -> Page:
    return look(own_studio)
