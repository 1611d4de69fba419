"""Whether row 14 takes for noticed only what a test has noticed, or what took too long."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.torture import judging
from tests.torture.cores import CORES
from tests.torture.judging import SOUND, Mutant, Trial

MUTANT = Mutant("workspace/scope.py", SOUND, 0, "")
TESTS = {"tests/torture/test_judging.py::test_nothing": 0.0}


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(CORES["scope"], tmp_path)


def end_by(number: int) -> Callable[..., int]:
    def end(*_: object, **__: object) -> int:
        os.kill(os.getpid(), number)
        return 0

    return end


def code(number: int) -> Callable[..., int]:
    return lambda *_, **__: number


def hang(*_: object, **__: object) -> int:
    time.sleep(60)
    return 0


@pytest.mark.parametrize(
    ("run_tests", "ended"),
    [
        (code(pytest.ExitCode.OK), "survived"),
        (code(pytest.ExitCode.TESTS_FAILED), "killed"),
        (code(pytest.ExitCode.INTERRUPTED), "killed"),
        (code(pytest.ExitCode.USAGE_ERROR), "killed"),  # before a session began: a conftest fell over it
        (end_by(signal.SIGXCPU), "slow"),
    ],
)
def test_a_mutant_is_noticed_where_tests_fail_or_take_too_long(monkeypatch, trial, run_tests, ended):
    monkeypatch.setattr(judging, "run_tests", run_tests)
    assert trial.ended(MUTANT, TESTS) == ended


def test_who_waits_for_ever_is_ended_and_slow(monkeypatch, trial):
    monkeypatch.setattr(judging, "run_tests", hang)
    trial._patience = 0.02
    assert trial.ended(MUTANT, TESTS) == "slow"


@pytest.mark.parametrize(
    "run_tests",
    [
        code(pytest.ExitCode.NO_TESTS_COLLECTED),
        code(pytest.ExitCode.INTERNAL_ERROR),
        end_by(signal.SIGKILL),  # as the kernel does for want of memory
        end_by(signal.SIGTERM),
    ],
)
def test_how_else_the_tests_end_says_nothing_of_a_mutant(monkeypatch, trial, run_tests):
    monkeypatch.setattr(judging, "run_tests", run_tests)
    with pytest.raises(RuntimeError, match="could not be run"):
        trial.ended(MUTANT, TESTS)


def test_a_test_file_that_is_missing_notices_nothing(trial):
    with pytest.raises(RuntimeError, match="could not be run: 4"):
        trial.ended(MUTANT, {"tests/unit/no_such_file.py::test_nothing": 0.0})
