"""Takes the pictures of the docs from the product itself: `python docs/images/take.py`.

It serves the studio of `carrel demo --serve` on this machine and looks at it with the system's Chromium.
"""  # noqa: INP001 - a script beside its pictures

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
FLAGS = ("--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


def main() -> None:
    """Take each picture anew."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CARREL_HOME": home}
        command = [sys.executable, "-m", "carrel", "demo", "--serve"]
        server = subprocess.Popen(  # noqa: S603 - our own command
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            take(link_of(server))
        finally:
            server.terminate()
            server.wait()


def link_of(server: "subprocess.Popen[str]") -> str:
    """Wait for the link that lets a browser in."""
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", line):
            return found[0]
    raise SystemExit("the demo ended without a link")


def take(link: str) -> None:
    """Open the context of the studio and keep what a window of common size shows."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 820}, color_scheme="light")
        page.goto(link)
        page.get_by_role("link", name="Context", exact=True).first.click()
        page.wait_for_load_state("networkidle")
        page.screenshot(path=HERE / "context.png")
        browser.close()


if __name__ == "__main__":
    main()
