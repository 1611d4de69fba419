"""That the harness sees what it looks for: leaks however they are written down, and waits whatever they are for."""

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.torture import canaries
from tests.torture.waiting import Hung, at_most, stopwatch


@pytest.mark.parametrize("told", [str, repr, json.dumps, lambda text: json.dumps(json.dumps({"text": text}))])
def test_the_environment_of_the_process_is_recognised_however_it_is_told(told):
    environ = Path("/proc/self/environ").read_text("utf-8", "replace")
    assert canaries.is_told(told(environ))
    assert not canaries.is_told(told("PATH is a variable, and HOME=here another."))


def test_what_is_waited_for_counts_and_work_does_too():
    waiting, working = stopwatch(), stopwatch()
    time.sleep(0.3)
    assert waiting() >= 0.25  # what it waits for a processor when it wakes is taken off
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
    assert working() >= 0.5


def _wait() -> None:
    with suppress(Exception):  # as the code that is tried may do
        time.sleep(30)


def test_who_hangs_is_told_so_through_every_except():
    with pytest.raises(Hung), at_most(1):
        _wait()
