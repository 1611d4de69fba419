"""What the model reads, byte for byte, for small workspaces typed by hand from the rendering spec.

A case is a directory <layout>/<case>/ with
  workspace/      what -C points at (copied, so that nothing here is ever written to)
  home/           what CARREL_HOME holds before the command (optional)
  case.yaml       shows, why, agent, session, query, scope, env (null removes a variable), trust, absent, make,
                  directory, path_length, via
  expected.txt    the exact output of `carrel context show --format text`; @WORKSPACE@ stands for the path
                  of -C, absolute, links unresolved, its control characters as `?`
  expected.json   the part of `carrel context report --json` that the case is about (optional)

`make` lists files that git holds badly, relative to the copy: {path, text | hex | base64 | link | hardlink | fifo}.
`trust: true` says `carrel trust` first: an agent's profile is a sensitive setting, used only in a trusted workspace.
`directory` names the copy ("desk" unless told) and `path_length` pads that name until its absolute path has so many
characters, for where the path itself is counted; `via` is how -C is given: as a `link` to it, or as a `relative` path.
`absent` lists strings that no output may contain, neither the text nor the report nor the warnings.
Expected files are never generated: a change of the rendering is typed here first.
"""

import base64
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from carrel.cli.main import run

Command = Callable[[Sequence[str], dict[str, str], Path], tuple[int, bytes, bytes]]
"""Runs `carrel` with these words, this environment and this directory: exit code, output, warnings."""

HERE = Path(__file__).parent
LAYOUTS = ("carrel", "astra", "nexo", "agentscope", "squad", "openclaw")
CASES = sorted(path.parent for path in HERE.glob("*/*/case.yaml"))
REAL = [HERE / layout / "full-sample" for layout in LAYOUTS]
REPORTED = [case for case in CASES if (case / "expected.json").exists()]
INPUTS = {"CARREL_NOW": "2026-04-24T12:00:00Z", "CARREL_TZ": "UTC", "CARREL_OS": "Linux"}
KEYS = {"shows", "why", "agent", "session", "query", "scope", "env", "trust", "absent", "make"}
KEYS |= {"directory", "path_length", "via"}


def case_name(case: Path) -> str:
    return case.relative_to(HERE).as_posix()


@pytest.fixture
def desk(request, tmp_path, monkeypatch, capsysbinary):
    return Desk(request.param, tmp_path, InProcess(monkeypatch, capsysbinary))


@pytest.fixture
def real_desk(request, tmp_path):
    return Desk(request.param, tmp_path, in_its_own_process)


class Desk:
    """A copy of one case's workspace, and the command line run on it."""

    def __init__(self, case: Path, tmp: Path, carrel: Command):
        self.case, self.tmp, self.carrel = case, tmp, carrel
        self.spec = yaml.safe_load((case / "case.yaml").read_text("utf-8"))
        self.dir, self.home = tmp / self.directory(), tmp / "home"
        shutil.copytree(case / "workspace", self.dir, symlinks=True)
        if (case / "home").is_dir():
            shutil.copytree(case / "home", self.home)
        for item in self.spec.get("make", []):
            make(self.dir, item)
        if self.spec.get("trust"):
            self.call("trust", str(self.dir))
        self.given = self.way_in()

    def directory(self) -> str:
        name = self.spec.get("directory", "desk")
        if "path_length" in self.spec:
            name = name.ljust(self.spec["path_length"] - len(str(self.tmp)) - 1, "k")
            assert len(str(self.tmp / name)) == self.spec["path_length"], (
                "the temporary directory is too deep"
            )
        return name

    def way_in(self) -> Path:
        """What -C is given."""
        match self.spec.get("via"):
            case "link":
                link = self.tmp / "way-in"
                link.symlink_to(self.dir.name)
                return link
            case "relative":
                return Path(self.dir.name)
            case _:
                return self.dir

    def expected(self) -> bytes:
        text = (self.case / "expected.txt").read_bytes()
        path = re.sub(rb"[\x00-\x1f\x7f]", b"?", os.fsencode(self.tmp / self.given))
        return text.replace(b"@WORKSPACE@", path)

    def run(self, *verb: str) -> bytes:
        flags = [f"--{flag}={self.spec[flag]}" for flag in ("agent", "session", "query") if flag in self.spec]
        out, err = self.call("-C", str(self.given), "--scope", self.spec.get("scope", "main"), *verb, *flags)
        for word in self.spec.get("absent", []):
            assert word.encode() not in out, f"{word!r} is in the output"
            assert word.encode() not in err, f"{word!r} is in the warnings"
        return out

    def call(self, *words: str) -> tuple[bytes, bytes]:
        code, out, err = self.carrel(words, self.environment(), self.tmp)
        assert code == 0, f"exit code {code}\n{err.decode('utf-8', 'replace')}"
        return out, err

    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith("CARREL_")}
        chosen = own | INPUTS | {"CARREL_HOME": str(self.home)} | self.spec.get("env", {})
        return {name: value for name, value in chosen.items() if value is not None}


class InProcess:
    """The command line called as a function, which saves a fifth of a second a case."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]):
        self.monkeypatch, self.capture = monkeypatch, capture

    def __call__(self, words: Sequence[str], env: dict[str, str], cwd: Path) -> tuple[int, bytes, bytes]:
        with self.monkeypatch.context() as patch:
            for name in os.environ.keys() - env.keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
            patch.chdir(cwd)
            self.capture.readouterr()
            code = run(words)
            return code, *self.capture.readouterr()


def in_its_own_process(words: Sequence[str], env: dict[str, str], cwd: Path) -> tuple[int, bytes, bytes]:
    command = [sys.executable, "-m", "carrel", *words]
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def make(root: Path, item: dict[str, Any]) -> None:
    path = root / item["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    match item:
        case {"text": text}:
            path.write_bytes(text.encode())
        case {"hex": digits}:
            path.write_bytes(bytes.fromhex(digits))
        case {"base64": letters}:
            path.write_bytes(base64.b64decode(letters))
        case {"link": target}:
            path.symlink_to(target)
        case {"hardlink": target}:
            path.hardlink_to(root / target)
        case {"fifo": True}:
            os.mkfifo(path)
        case _:
            raise AssertionError(f"make does not know {item}")


def difference(expected: bytes, actual: bytes) -> str:
    """A line per line, each as Python would write it, so that white space and control characters show."""
    before, after = (
        [repr(line) for line in text.decode("utf-8", "backslashreplace").split("\n")]
        for text in (expected, actual)
    )
    return "\n".join(
        difflib.unified_diff(before, after, "expected.txt", "carrel context show", n=4, lineterm="")
    )


def paths_under(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


def mismatches(expected: Any, actual: Any, where: str = "report") -> list[str]:
    """Where the report lacks what expected asks for; keys that expected does not name are free."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = (
            mismatches(value, actual.get(key, "nothing"), f"{where}.{key}") for key, value in expected.items()
        )
        return [line for lines in found for line in lines]
    return [] if expected == actual else [f"{where}: expected {expected!r}, got {actual!r}"]


def section_mismatches(expected: dict[str, Any], sections: list[dict[str, Any]]) -> list[str]:
    """Rows by name; null says that there must be no such row."""
    rows = {row["name"]: row for row in sections}
    lines = [f"{name}: has a row" for name, wanted in expected.items() if wanted is None and name in rows]
    for name, wanted in expected.items():
        if wanted is not None:
            lines += mismatches(wanted, rows.get(name, "no row"), name)
    return lines


def warning_mismatches(expected: list[dict[str, str]], warnings: list[dict[str, str]]) -> list[str]:
    """Each expected warning is answered by one with its code, where given, that mentions its word, where given."""

    def answers(warning: dict[str, str], wanted: dict[str, str]) -> bool:
        return (
            wanted.get("code", warning["code"]) == warning["code"]
            and wanted.get("mentions", "") in warning["message"]
        )

    return [f"no warning {w} in {warnings}" for w in expected if not any(answers(one, w) for one in warnings)]


@pytest.mark.parametrize("real_desk", REAL, ids=case_name, indirect=True)
def test_a_process_of_its_own_prints_the_same_bytes(real_desk):
    expected = real_desk.expected()
    actual = real_desk.run("context", "show", "--format", "text")
    assert actual == expected, f"{real_desk.spec['shows']}\n{difference(expected, actual)}"


@pytest.mark.parametrize("desk", CASES, ids=case_name, indirect=True)
def test_the_model_reads_exactly_the_expected_bytes(desk):
    expected = desk.expected()
    before = paths_under(desk.dir)
    actual = desk.run("context", "show", "--format", "text")
    assert actual == expected, f"{desk.spec['shows']}\n{difference(expected, actual)}"
    trusted = desk.spec.get("trust", False)  # there, .carrel/ may hold a cache
    assert trusted or paths_under(desk.dir) == before, "reading left a trace in the workspace"


@pytest.mark.parametrize("desk", REPORTED, ids=case_name, indirect=True)
def test_the_report_says_what_happened(desk):
    expected = json.loads((desk.case / "expected.json").read_text("utf-8"))
    report = json.loads(desk.run("context", "report", "--json"))
    wrong = section_mismatches(expected.pop("sections", {}), report["sections"])
    wrong += warning_mismatches(expected.pop("warnings", []), report["warnings"])
    wrong += mismatches(expected, report)
    assert not wrong, "\n".join([desk.spec["shows"], *wrong])


@pytest.mark.parametrize("desk", REPORTED, ids=case_name, indirect=True)
def test_people_can_read_the_report_too(desk):
    assert desk.run("context", "report")


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_a_case_is_complete(case):
    spec = yaml.safe_load((case / "case.yaml").read_text("utf-8"))
    settings = case / "workspace" / "carrel.yaml"
    assert spec.keys() <= KEYS
    assert spec["shows"].endswith(".")
    assert not settings.exists() or yaml.safe_load(settings.read_text("utf-8"))["layout"] == case.parent.name
    assert (case / "expected.txt").is_file()
    assert "absent" not in spec or case in REPORTED, "what must not be shown must not be reported either"


def test_the_layouts_have_cases():
    assert {case.parent.name for case in CASES} == set(LAYOUTS)
