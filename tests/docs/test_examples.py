"""Every example of the README and the docs is run as it stands: offline, in an empty directory, page by page."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, Step, matches, only_looked_at, steps
from tests.stubs import extensions

WITH_STEPS = [page for page in PAGES if any(steps(page))]
TARGETS = re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
PLAIN = re.compile(
    r"""(?:echo\ (?P<said>"[^"]*"|'[^']*')\ \|\ )?
        carrel\ (?P<words>(?:"[^"$`]*"|'[^']*'|[^"'|<>&;$`*~\n])*?)
        (?:\ <\ (?P<source>[\w./-]+))?(?:\ >\ (?P<target>[\w./-]+))?""",
    re.VERBOSE,
)
"""A command that needs no shell: it is run in this process, which is many times faster."""


def of_a_clone(command: str) -> bool:
    """Whether it is about the repository, and may be what runs this; then at least what it names is there."""
    target = re.match(r"make (\S+)", command)
    script = re.match(r"python (?:-m (tests[\w.]*)|((?:bench|docs)/\S+))", command)
    assert target is None or target[1] in TARGETS, command
    assert script is None or (ROOT / (script[2] or script[1].replace(".", "/"))).exists(), command
    return bool(target or script)


class Reader:
    """Somebody who types what a page says, in a directory of their own."""

    def __init__(self, cli, monkeypatch):
        self.cli, self.monkeypatch = cli, monkeypatch
        self.names = {"__name__": "__main__"}

    def follow(self, step: Step) -> str:
        if step.kind == "installed":
            site = extensions.build(self.cli.home.parent, ROOT / step.text)
            extensions.install(self.monkeypatch, site)
            return ""
        if step.kind == "python":
            return self._tests(step.text) if "\ndef test_" in step.text else self._python(step.text)
        command = re.sub(r"\s+#.*", "", step.text).strip()  # what a page says beside a command
        if of_a_clone(command):
            return ""
        plain = PLAIN.fullmatch(command)
        return self._carrel(plain) if plain else self._shell(step.text)

    def _carrel(self, plain: re.Match[str]) -> str:
        source = Path(plain["source"] or os.devnull)
        if plain["said"]:
            source = self.cli.home.with_name("typed")
            source.write_text(plain["said"][1:-1] + "\n", "utf-8")
        with source.open(encoding="utf-8") as typed:
            self.monkeypatch.setattr("sys.stdin", typed)
            outcome = self.cli(*shlex.split(plain["words"]))
        assert outcome.code == 0, outcome.warnings
        if plain["target"]:
            Path(plain["target"]).write_bytes(outcome.out)
        return "" if plain["target"] else outcome.text

    def _tests(self, text: str) -> str:
        Path("test_example.py").write_text(text, "utf-8")
        return self._shell(
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q -p no:cacheprovider -p carrel.fixtures test_example.py"
        )

    def _python(self, text: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(text, "example", "exec"), self.names)
        return printed.getvalue()

    def _shell(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-eu", "-o", "pipefail", "-c", text],
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.mark.parametrize("page", WITH_STEPS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_shows_is_what_happens(cli, tmp_path, monkeypatch, page):
    place = tmp_path / "empty"
    place.mkdir()
    monkeypatch.chdir(place)
    reader = Reader(cli, monkeypatch)
    for step in steps(page):
        printed = reader.follow(step)
        where = f"{page.relative_to(ROOT)}:{step.line}: {step.text}"
        assert step.printed is None or matches(step.printed, printed), f"{where}\n{printed}"


def test_a_block_that_is_not_run_says_why():
    told = {page.name: only_looked_at(page) for page in PAGES}
    assert all(reason for reasons in told.values() for reason in reasons)
    assert sum(map(len, told.values())) <= 20


@pytest.mark.parametrize(
    ("shown", "real", "fits"),
    [
        ("one\ntwo\n", "one  \ntwo\n", True),
        ("one … three", "one two three", True),
        ("one\n…\n", "one\n", True),
        ("…\ntwo\n…", "one\ntwo\nthree\nfour", True),
        ("one", "one\ntwo", False),
        ("one\n…\nthree", "one\ntwo", False),
        ("1.5", "1x5", False),
    ],
)
def test_an_ellipsis_stands_for_what_differs_and_nothing_else_does(shown, real, fits):
    assert matches(shown, real) is fits


def test_a_page_is_read_as_commands_with_what_they_print(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- run: carrel init . -->\n```console\n$ carrel one\nprinted\n$ carrel two\n```\n\n"
        "<!-- not run: no key -->\n```python\nleft_alone()\n```\n\n```python\nrun()\n```\n\n```text\nsaid\n```\n"
    )
    assert [(step.line, step.text, step.printed) for step in steps(page)] == [
        (1, "carrel init .", None),
        (3, "carrel one", "printed\n"),
        (5, "carrel two", None),
        (13, "run()\n", "said\n"),
    ]
