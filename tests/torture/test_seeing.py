"""That the harness sees what it looks for: leaks however they are written down, and waits whatever they are for."""

import ctypes
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.torture import canaries
from tests.torture.desk import Child
from tests.torture.sealing import seal
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


def _sealed(work: Callable[[], object]) -> list[str]:
    """Return what is heard of a process that does some work."""

    def sealed(say: Callable[[str], None]) -> None:
        if not seal(lambda: say("told")):
            say("told, and not sealed")
        with suppress(OSError):
            work()
        say("done")

    return Child(sealed).listen()


@pytest.mark.parametrize(
    "work",
    [
        lambda: ctypes.CDLL(None).fork(),
        lambda: ctypes.CDLL(None).socket(2, 1, 0),
        lambda: ctypes.CDLL(None).getaddrinfo(b"a.invalid", b"80", None, ctypes.byref(ctypes.c_void_p())),
        lambda: ctypes.CDLL(None).execv(b"/bin/true", None),
        lambda: socket.socket(socket.AF_UNIX).connect("nothing"),
    ],
    ids=["fork", "socket", "resolve", "exec", "connect"],
)
def test_native_code_that_starts_a_process_or_asks_a_network_is_heard_of(work):
    assert _sealed(work) == ["told", "done"]


@pytest.mark.parametrize(
    "work",
    [
        lambda: ctypes.CDLL(None).system(b"touch here"),
        lambda: subprocess.run(["touch", "here"], check=False),
    ],
    ids=["system", "popen"],
)
def test_who_has_blocked_all_signals_to_start_a_process_is_ended_and_nothing_runs(
    work, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert _sealed(work) == []
    assert list(tmp_path.iterdir()) == []


def _work_with_threads() -> None:
    threads = [threading.Thread(target=os.getpid) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for end in socket.socketpair():
        end.close()


def test_of_threads_and_pairs_of_sockets_nothing_is_heard():
    assert _sealed(_work_with_threads) == ["done"]
