"""`carrel jobs`: what waits, what is being done and what went wrong is seen, and put back."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server, socket
from threading import Thread

import pytest

from carrel import Workspace
from carrel.runtime.sweep import LEASE

KEYS = ("a", "b", "c", "d")


@pytest.fixture
def queued(cli, sample):
    """A workspace with a job of each state: waiting, running, failed and done; the first of them was put last."""
    assert cli("-C", sample, "jobs", "list").code == 0
    with Workspace.open(sample.path) as workspace:
        queue, now = workspace.records.queue, workspace.config.clock.now()
        for key in reversed(KEYS):
            queue.put("note" if key == "d" else "extract", {"agent": "kate", "session": key}, key=key)
        kinds = ("extract", "note")
        done = queue.take(kinds, now=now, lease=LEASE, worker="w")
        assert done
        queue.finish(done, {"written": 2})
        failed = queue.take(kinds, now=now, lease=LEASE, worker="w")
        assert failed
        queue.fail(failed, "bad_extraction: The model \x1b[31mgave nothing.", retry_at=None)
        assert queue.take(kinds, now=now, lease=LEASE, worker="elsewhere:1")
    return sample


def test_all_that_is_not_done_is_listed_with_what_went_wrong(cli, queued):
    told = cli("-C", queued, "jobs", "list").text
    lines = [line.split() for line in told.splitlines() if not line.startswith("      ")]
    assert [line[1:4] for line in lines] == [
        ["failed", "extract", "c"],
        ["running", "extract", "b"],
        ["waiting", "extract", "a"],
    ]
    assert "bad_extraction: The model" in told
    assert "\x1b" not in told
    assert "by elsewhere:1 until" in told


def test_jobs_are_listed_by_state_and_kind_page_by_page(cli, queued):
    done = cli("-C", queued, "jobs", "list", "--state", "done", "--json").document
    assert [(job["key"], job["result"]) for job in done["jobs"]] == [("d", {"written": 2})]
    assert done["counts"] == {"waiting": 1, "running": 1, "done": 1, "failed": 1}
    assert cli("-C", queued, "jobs", "list", "--kind", "note", "--json").document["jobs"] == []
    first = cli("-C", queued, "jobs", "list", "--limit", "2", "--json").document
    assert [job["key"] for job in first["jobs"]] == ["c", "b"]
    last = cli("-C", queued, "jobs", "list", "--limit", "2", "--after", str(first["next"]), "--json").document
    assert ([job["key"] for job in last["jobs"]], last["next"]) == (["a"], None)
    assert b"--after" in cli("-C", queued, "jobs", "list", "--limit", "1").err


def test_one_job_is_shown_whole(cli, queued):
    told = cli("-C", queued, "jobs", "show", "2").text
    assert "session: c" in told
    assert "bad_extraction" in told
    assert cli("-C", queued, "jobs", "show", "2", "--json").document["state"] == "failed"
    missing = cli("-C", queued, "jobs", "show", "99")
    assert missing.code == 3
    assert b"carrel jobs list" in missing.err


def test_what_was_given_up_is_put_back_and_nothing_else(cli, queued):
    back = cli("-C", queued, "jobs", "retry", "2", "--json").document
    assert (back["state"], back["attempts"], back["error"]) == ("waiting", 0, "")
    assert cli("-C", queued, "jobs", "retry", "1", "--json").document["state"] == "done"
    assert cli("-C", queued, "jobs", "retry", "99").code == 3


def test_the_queue_is_its_owners(cli, queued):
    assert cli("-C", queued, "jobs", "list", "--scope", "shared").code == 6


def test_an_empty_queue_says_so(cli, sample):
    assert b"Nothing of that" in cli("-C", sample, "jobs", "list").err
    assert cli("-C", sample, "jobs", "list", "--json").document["jobs"] == []


# ------------------------------------------------------------------------------------ a sweep that is stopped


@contextmanager
def silent() -> Iterator[tuple[str, list[socket]]]:
    """A provider that takes a question and never answers."""
    asked: list[socket] = []
    with create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                asked.append(connection)

        thread = Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1", asked
        for each in asked:
            each.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_sweep_that_is_stopped_lets_go_of_its_job_at_once(cli, process, sample, number, code):
    with silent() as (url, asked):
        sample.put(
            {
                "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n    trigger_interval: 1\n"
                f"model:\n  name: openai:gpt-4o\n  base_url: {url}\n"
            }
        )
        assert cli("trust", sample).code == 0
        with Workspace.open(sample.path) as workspace:
            workspace.record(
                "s1",
                [{"role": "user", "content": "I prefer tea."}, {"role": "assistant", "content": "Noted."}],
            )
            assert workspace.records.queue.counts()["waiting"] == 1
        running = subprocess.Popen(
            [process.script, "-C", sample.path, "sweep"],
            env=process.environment({"OPENAI_API_KEY": "none"}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not asked:
            assert running.poll() is None, running.communicate()
            time.sleep(0.01)
        running.send_signal(number)
        _, err = running.communicate()
        assert running.returncode == code, err
        assert b"Traceback" not in err
    with Workspace.open(sample.path) as workspace:
        (job,) = workspace.records.queue.jobs()
        assert (job.state, job.attempts, job.leased_until) == ("waiting", 0, None)
