"""Whether the tests of a core notice a small fault: each is tried in a process of its own, forked from a warm one.

`python -m tests.torture.judging CORE SEED AFTER COUNT MEASURED` says one verdict a line, in JSON.
"""

import ast
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Literal

import pytest
from msgspec import Struct, json
from tests.torture.cores import CORES, SOURCE, TESTS, Core
from tests.torture.measuring import Measured, Quiet, run_tests
from tests.torture.mutation import changes

SOUND = -1
"""The number of the mutant that has no fault."""

_SOME = 40
"""How many tests are run without a fault first: they all passed before, but not in a warm process."""

_MEMORY = 4 << 30
_SLOWEST = 5.0
"""How many times longer than before the tests may take, in seconds of the processor."""

_NOBODY_WAITS = 4.0
_LONGEST = 60.0
"""How many times longer than that a mutant may take by the clock; then it waits for what never comes."""

_BROKEN_OFF = 70
_TOO_SLOW = -signal.SIGXCPU
"""How who takes too long ends, by the clock as by the processor."""

Ending = Literal["killed", "slow", "survived"]
_ENDINGS: dict[int, Ending] = {
    pytest.ExitCode.OK: "survived",
    pytest.ExitCode.TESTS_FAILED: "killed",
    pytest.ExitCode.INTERRUPTED: "killed",  # a test could not even be imported
    _TOO_SLOW: "slow",
}
"""Whatever ends otherwise says nothing of the mutant."""


class Mutant(Struct, frozen=True):
    """A fault of a module by its number, where it is and how it reads."""

    module: str
    number: int
    line: int
    says: str


class Verdict(Struct, frozen=True):
    """What became of a mutant; a test that takes too long has noticed it too."""

    mutant: Mutant
    ended: Ending | Literal["not run"]


def mutants(core: Core) -> list[Mutant]:
    """Return every mutant of a core, in their order."""
    return [
        Mutant(file.relative_to(SOURCE).as_posix(), number, change.line, change.says)
        for file in core.files()
        for number, change in enumerate(changes(ast.parse(file.read_bytes())))
    ]


def judge(core: Core, chosen: Sequence[Mutant], measured: Measured, folder: Path) -> Iterator[Verdict]:
    """Yield a verdict for each mutant, between two looks at tests that pass without a fault."""
    if not chosen:
        return
    for name in measured.loaded:
        with suppress(Exception):
            import_module(name)
    trial = Trial(core, folder)
    names = list(measured.seconds)[:: len(measured.seconds) // _SOME + 1]
    some = {name: measured.seconds[name] for name in names}
    trial.set_pace(chosen[0].module, some)
    for mutant in chosen:
        if f"{mutant.module}:{mutant.line}" in measured.missing:
            yield Verdict(mutant, "not run")
            continue
        own = measured.runs[mutant.module].get(mutant.line)
        tests = measured.seconds if own is None else {name: measured.seconds[name] for name in own}
        yield Verdict(mutant, trial.ended(mutant, tests))
    trial.see_sound(chosen[0].module, some)


class Trial:
    """Tests run over mutants, one at a time, in a folder of their own."""

    def __init__(self, core: Core, folder: Path) -> None:
        self._core = core
        self._folder = folder / "tests"
        self._patience = _LONGEST

    def set_pace(self, module: str, tests: dict[str, float]) -> None:
        """See that tests pass without a fault here too, and how long this machine takes for them today."""
        began = time.monotonic()
        self.see_sound(module, tests)
        took = time.monotonic() - began
        self._patience = _NOBODY_WAITS * max(1.0, took / (sum(tests.values()) + 1))

    def see_sound(self, module: str, tests: dict[str, float]) -> None:
        """See that tests pass without a fault."""
        if self.ended(Mutant(module, SOUND, 0, ""), tests) != "survived":
            raise RuntimeError("The tests fail without any fault, so that they would notice none.")

    def ended(self, mutant: Mutant, tests: dict[str, float]) -> Ending:
        """Run these tests over a mutant, each with the seconds that it took before."""
        seconds = _SLOWEST * (sum(tests.values()) + 2)
        child = os.fork()
        if not child:
            self._run(mutant, tests, int(seconds))
        code = _waited(child, time.monotonic() + self._patience * seconds)
        shutil.rmtree(self._folder, ignore_errors=True)
        if code not in _ENDINGS:
            raise RuntimeError(f"The tests could not be run: {code}, {mutant}")
        return _ENDINGS[code]

    def _run(self, mutant: Mutant, tests: dict[str, float], seconds: int) -> None:
        """End this process as the tests end; it is a child, and has no way back."""
        code = _BROKEN_OFF
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(null, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            files = sorted({str(TESTS.parent / name.partition("::")[0]) for name in tests})
            only = _Chosen(tests)
            code = run_tests(self._core, self._folder, Quiet(), only, _Mutated(mutant), files=files)
            if code == pytest.ExitCode.USAGE_ERROR and not only.have_begun:
                code = pytest.ExitCode.TESTS_FAILED  # a conftest, which is imported before, noticed it
        finally:
            os._exit(code)


def _waited(child: int, until: float) -> int:
    """Return how a child ended; one that does not is ended, with all that it began: a kill of others is no such."""
    is_ours = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return _TOO_SLOW if is_ours and code == -signal.SIGKILL else code
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            is_ours = True
        time.sleep(0.01)


class _Chosen:
    """Only these tests, in their order, the quick ones first."""

    def __init__(self, tests: dict[str, float]) -> None:
        self._tests = tests
        self.have_begun = False

    def pytest_sessionstart(self) -> None:
        self.have_begun = True

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        found = [item for item in items if item.nodeid in self._tests]
        items[:] = sorted(found, key=lambda item: self._tests[item.nodeid] > 0.3)


class _Mutated(MetaPathFinder):
    """Finds one module of Carrel, and gives it with its fault."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._name = f"carrel.{mutant.module.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Come before whatever finder pytest has brought."""
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return how to load it."""
        if name != self._name:
            return None
        path = str(SOURCE / self._mutant.module)
        return spec_from_file_location(name, path, loader=_Loader(name, path, self._mutant.number))


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self._number = number

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - there is one
        tree = ast.parse(Path(self.path).read_bytes())
        if self._number != SOUND:
            changes(tree)[self._number].make()
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


def main(name: str, seed: int, after: int, count: int, measured: Path) -> None:
    """Judge so many mutants of a core, in an order that the seed decides; who has heard enough hangs up."""
    core = CORES[name]
    chosen = mutants(core)
    random.Random(seed).shuffle(chosen)
    shown = json.decode(measured.read_bytes(), type=Measured)
    with TemporaryDirectory(prefix="mutants-") as folder, suppress(BrokenPipeError):
        for verdict in judge(core, chosen[after : after + count], shown, Path(folder)):
            sys.stdout.write(f"{json.encode(verdict).decode()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]), Path(sys.argv[5]))
