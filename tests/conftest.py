"""What tests of the whole product share: a workspace on disk, and the command line in this process or in a real one."""

import gc
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

pytest_plugins = ["tests.stubs.objects", "tests.stubs.postgres"]

NOW = "2026-04-24T12:00:00Z"

settings.register_profile("explore", deadline=None)  # a busy machine is no failure
settings.register_profile(
    "house", settings.get_profile("explore"), derandomize=True
)  # nor is a commit to blame for luck
settings.load_profile("house")
PATIENCE = 240.0
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # as in the background of a shell, where no Ctrl-C would reach a child
    signal.signal(signal.SIGINT, signal.default_int_handler)
gc.disable()  # until all tests are collected: a third of the time that takes went into searches that found nothing


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: many tests wait for others, or for time to pass."""
    return max(2, 3 * len(os.sched_getaffinity(0)) // 2)


def pytest_collection_finish() -> None:
    """Leave what is loaded out of every search for garbage: nearly a million objects, and all of them stay."""
    gc.freeze()
    gc.enable()


class Outcome(NamedTuple):
    """What a command left behind: its exit code, and the bytes of both streams."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def warnings(self) -> str:
        return self.err.decode()

    @property
    def document(self) -> Any:
        """The one JSON document on standard output; a second one, or a stray line, is an error here."""
        return json.loads(self.text)

    @property
    def error(self) -> dict[str, str]:
        """The error of a command with --json, after the checks that hold for every error."""
        error = self.document["error"]
        assert self.code != 0
        assert set(error) == {"code", "message", "hint"}
        assert error["code"] != "internal", error
        assert all(error.values()), error
        assert "Traceback" not in self.warnings
        return error


class Cli:
    """`carrel` run in this process, with a home of its own and a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes], home: Path):
        self.home = home
        self._monkeypatch = monkeypatch
        self._capture = capture
        for name in clean_environment():
            monkeypatch.delenv(name)
        self.set(CARREL_HOME=str(home), CARREL_NOW=NOW)

    def set(self, **variables: str | None) -> None:
        for name, value in variables.items():
            if value is None:
                self._monkeypatch.delenv(name, raising=False)
            else:
                self._monkeypatch.setenv(name, value)

    def __call__(self, *words: str | Path, cwd: Path | None = None) -> Outcome:
        from carrel.cli.main import run  # noqa: PLC0415 - tests of lower layers need no command line

        if cwd is not None:
            self._monkeypatch.chdir(cwd)
        self._capture.readouterr()
        code = run([os.fspath(word) for word in words])
        captured = self._capture.readouterr()
        return Outcome(code, captured.out, captured.err)


class Process:
    """`carrel` as a process of its own: what only a real one shows, such as pipes, locales and other users."""

    script = Path(sys.executable).with_name("carrel")

    def __init__(self, home: Path, cwd: Path):
        self.home, self.cwd = home, cwd

    def __call__(
        self,
        *words: str | bytes | Path,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        privileged: bool = True,
        python: tuple[str, ...] | None = None,
        seconds: float = PATIENCE,
    ) -> Outcome:
        """Run it; `python` is what to give the interpreter instead of the installed command.

        Without privilege, permissions hold for root too.
        """
        command = [str(self.script)] if python is None else [sys.executable, *python]
        if not privileged:
            command = [sys.executable, "-c", WITHOUT_PRIVILEGE, *command]
        done = subprocess.run(
            [*command, *words],
            env=self.environment(env or {}),
            cwd=cwd or self.cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        gone = clean_environment()
        own = {name: value for name, value in os.environ.items() if name not in gone}
        chosen = own | {"CARREL_HOME": str(self.home), "CARREL_NOW": NOW} | dict(changes)
        return {name: value for name, value in chosen.items() if value is not None}


def clean_environment() -> list[str]:
    """The variables of whoever runs the tests that must not reach the command."""
    colours = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS")
    return [name for name in os.environ if name.startswith(("CARREL_", "PYTHON")) or name in colours]


# Root reads and writes whatever the permissions say, until it gives up the two capabilities that let it.
WITHOUT_PRIVILEGE = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP: gone after the next exec
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)  # a command without -C must not find the checkout
    return Cli(monkeypatch, capsysbinary, tmp_path / "home")


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path / "home", tmp_path)


class Desk:
    """A workspace on disk, made of a mapping from paths to texts."""

    def __init__(self, path: Path):
        self.path = path
        path.mkdir()

    def __fspath__(self) -> str:
        return str(self.path)

    __str__ = __fspath__

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def put(self, files: Mapping[str, str | bytes]) -> "Desk":
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self

    def snapshot(self) -> list[tuple[Any, ...]]:
        return snapshot(self.path)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "desk")


def snapshot(root: Path) -> list[tuple[Any, ...]]:
    """Everything below a directory, with what any write would change; access times are left out."""
    found: list[tuple[Any, ...]] = []
    pending = [os.fsencode(root)]
    while pending:
        path = pending.pop()
        here = os.lstat(path)
        content = None
        if stat.S_ISREG(here.st_mode) and here.st_size < 1_000_000:
            content = Path(os.fsdecode(path)).read_bytes()
        found.append(
            (path, here.st_mode, here.st_ino, here.st_size, here.st_mtime_ns, here.st_ctime_ns, content)
        )
        if stat.S_ISDIR(here.st_mode):
            pending += sorted(os.path.join(path, name) for name in os.listdir(path))  # noqa: PTH118, PTH208 - bytes
    return sorted(found, key=lambda item: item[0])


SAMPLE = {
    "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n    displayName: Kate\n"
    "    systemPromptTemplate: You are {{agent.displayName}}.\n",
    "SOUL.md": "Kind, and exact.\n",
    "AGENTS.md": "Be brief.\n",
    "IDENTITY.md": "- **Name:** Kate\n- **Creature:** octopus\n- **Vibe:** warm but sharp\n- **Emoji:** 🐙\n",
    "USER.md": "Luis, in Bogota.\n",
    "MEMORY.md": "## People\n\n- Ana uses a Samsung.\n",
    "memory/2026-04-23.md": "- met Ana\n",
    "memory/2026-04-24.md": "- wrote tests\n",
    "stack.md": "<!-- priority: 10 -->\n<!-- tags: code -->\nWe use Python.\n",
    "team.md": "Two people.\n",
    "knowledge/KNOWLEDGE.md": "Start here.\n",
    "knowledge/api.md": "All calls go through one door.\n",
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Ship it safely\n---\nRun the checklist.\n",
}


@pytest.fixture
def sample(desk: Desk) -> Desk:
    """A small workspace that has one of everything."""
    return desk.put(SAMPLE)
