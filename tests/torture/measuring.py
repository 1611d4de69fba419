"""The tests of a core, run once in a process of their own: what they cover, which one runs which line, how long it takes.

`python -m tests.torture.measuring CORE FILE` writes that as JSON; with `branches` behind it only what they cover, in less time.
"""

import json
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from msgspec import Struct
from msgspec import json as packed
from tests.torture.cores import CORES, SOURCE, TESTS, Core

OPTIONS = (
    *("-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of what a warm process has imported before
)


class Measured(Struct, frozen=True, kw_only=True):
    """What a run showed; `runs` is by module and line: the tests, or none where all depend on it."""

    passed: bool
    branches: int
    taken: int
    missing: list[str]
    seconds: dict[str, float]
    runs: dict[str, dict[int, list[str] | None]]
    loaded: list[str]
    """Modules of others that the tests brought in, in the order in which they came."""

    @property
    def share(self) -> float:
        """How much of the branches is taken, in percent."""
        return 100 * self.taken / self.branches if self.branches else 100.0


def measured(name: str, folder: Path, *words: str) -> Measured:
    """Run the tests of a core, and return what they showed: all, or only what such words ask for."""
    found = folder / f"{name}.json"
    subprocess.run(
        [sys.executable, "-m", "tests.torture.measuring", name, str(found), *words],
        cwd=TESTS.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    return packed.decode(found.read_bytes(), type=Measured)


def run_tests(core: Core, folder: Path, *plugins: object, files: Sequence[str] = ()) -> int:
    """Run the tests of a core in this process: those in some files of it, or all."""
    leave_out = " and ".join(f"not {word}" for word in core.without)
    paths = files or [str(TESTS / name) for name in core.tests]
    return pytest.main([*OPTIONS, f"--basetemp={folder}", "-k", leave_out, *paths], plugins)


class Quiet:
    """Hypothesis looks for a fault as always, but neither makes it smaller nor keeps it for next time."""

    def pytest_configure(self) -> None:
        from hypothesis import Phase, settings  # noqa: PLC0415 - what pytest imports first, it can rewrite

        settings.register_profile(
            "quiet",
            parent=settings(),
            phases=(Phase.explicit, Phase.generate),
            report_multiple_bugs=False,
            database=None,
        )
        settings.load_profile("quiet")


class _Stopwatch:
    """Tells coverage which test runs; what a test shares with others belongs to none of them."""

    def __init__(self, coverage: Any) -> None:
        self._coverage = coverage
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        began = time.process_time()
        self._coverage.switch_context(item.nodeid)
        done = yield
        self._coverage.switch_context("")
        self.seconds[item.nodeid] = time.process_time() - began
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
        is_shared = fixturedef.scope != "function"
        if is_shared:
            self._coverage.switch_context("")
        done = yield
        if is_shared:
            self._coverage.switch_context(request._pyfuncitem.nodeid)
        return done


def main(name: str, target: Path, asked: str = "") -> None:
    """Measure a core."""
    from coverage import Coverage  # noqa: PLC0415 - only this process is traced

    core = CORES[name]
    files = [str(file) for file in core.files()]
    coverage = Coverage(branch=True, include=files, data_file=None, config_file=False)
    before = set(sys.modules)
    stopwatch = _Stopwatch(coverage)
    with TemporaryDirectory() as folder:
        coverage.start()
        code = run_tests(core, Path(folder) / "tests", Quiet(), *(() if asked else (stopwatch,)))
        coverage.stop()
        report = Path(folder) / "report.json"
        coverage.json_report(morfs=files, outfile=str(report), show_contexts=not asked)
        told = json.loads(report.read_bytes())
    result = Measured(
        passed=code == 0,
        branches=told["totals"]["num_branches"],
        taken=told["totals"]["covered_branches"],
        missing=[each for file, of in told["files"].items() for each in _missing(file, of)],
        seconds=stopwatch.seconds,
        runs={_module(file): _runs(of.get("contexts", {})) for file, of in told["files"].items()},
        loaded=[name for name in sys.modules if name not in before and not _is_ours(name)],
    )
    target.write_bytes(packed.encode(result))


def _missing(file: str, of: dict[str, Any]) -> list[str]:
    lines = [f"{_module(file)}:{line}" for line in of["missing_lines"]]
    return lines + [f"{_module(file)}:{a}->{b}" for a, b in of["missing_branches"]]


def _runs(contexts: dict[str, Sequence[str]]) -> dict[int, list[str] | None]:
    return {int(line): None if "" in tests else sorted(tests) for line, tests in contexts.items()}


def _module(file: str) -> str:
    return Path(file).absolute().relative_to(SOURCE).as_posix()


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in ("carrel", "tests", "conftest", "__main__")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
