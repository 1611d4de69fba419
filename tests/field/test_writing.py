"""What was lost or spoilt by writers: lines grown together, holes, torn ends, locks of the dead, files deleted."""

import json
import os
import signal
import subprocess
import sys
import threading

import apsw
import pytest
from tests.field.talk import agent, log_path, long_talk, user

from carrel import Workspace

MOMENT = "2026-04-24T12:00:00Z"


def python(script, desk, home, *words, **more):
    """Start a process of its own that uses the library."""
    environ = {**os.environ, "CARREL_HOME": str(home), "CARREL_NOW": MOMENT}
    return subprocess.Popen(
        [sys.executable, "-c", script, str(desk), *map(str, words)],
        env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more,
    )  # fmt: skip


def test_long_lines_of_many_writers_never_grow_together(cli, sample):
    """Buffered writes of 20 KB are several to the kernel, and others come between."""
    script = (
        "import sys; from carrel import Workspace\n"
        "with Workspace.open(sys.argv[1]) as workspace:\n"
        "    sys.stdout.write('ready\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
        "    for n in range(25):\n"
        "        own = f'{sys.argv[2]}-{n}'\n"
        "        said = {'role': 'user', 'content': own + 'x' * 20_000, 'message_id': own}\n"
        "        workspace.record('s1', [said])\n"
    )
    writers = [python(script, sample, cli.home, number) for number in range(4)]
    for writer in writers:
        writer.stdout.readline()
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    lines = [json.loads(line) for line in log_path(sample.path).read_text().splitlines()]
    found = [line["message_id"] for line in lines if line["type"] == "entry"]
    assert sorted(found) == sorted(f"{number}-{n}" for number in range(4) for n in range(25))
    assert all(len(line["content"]) > 20_000 for line in lines if line["type"] == "entry")


@pytest.mark.parametrize("place", ["begin", "middle", "end"])
def test_a_hole_of_nuls_costs_what_it_fell_on_and_the_session_goes_on(cli, sample, place):
    with Workspace.open(sample) as workspace:
        for number in range(6):
            workspace.record("s1", [user(f"Question {number}.", message_id=f"u{number}"), agent("Yes.")])
    log = log_path(sample.path)
    data = log.read_bytes()
    at = {"begin": data.index(b"\n") + 1, "middle": data.index(b"Question 3"), "end": len(data)}[place]
    log.write_bytes(data[:at] + b"\0" * 4096 + data[at + (20 if place == "middle" else 0) :])
    lost = {"u3"} if place == "middle" else set[str]()
    (row,) = cli("-C", sample, "sessions", "list", "--json").document["sessions"]
    assert row["id"] == "s1"
    shown = cli("-C", sample, "sessions", "show", "s1", "--json").document
    ids = [entry["message_id"] for entry in shown["entries"] if entry["role"] == "user"]
    assert ids == [f"u{number}" for number in range(6) if f"u{number}" not in lost]
    assert shown["findings"]
    resumed = cli("-C", sample, "context", "show", "--session", "s1").text
    assert [number for number in range(6) if f"Question {number}." not in resumed] == [
        int(own[1]) for own in lost
    ]
    with Workspace.open(sample) as workspace:
        workspace.record("s1", [user("And now?", message_id="u6")])
    again = cli("-C", sample, "sessions", "show", "s1", "--json").document["entries"]
    assert again[-1]["message_id"] == "u6"


def test_a_tail_torn_at_any_byte_never_swallows_the_next_message(cli, sample):
    with Workspace.open(sample) as workspace:
        workspace.record("s1", [user("First.", message_id="m1")])
        whole = log_path(sample.path).stat().st_size
        workspace.record("s1", [user("Für Ана 🐙.", message_id="m2")])
    log = log_path(sample.path)
    data = log.read_bytes()
    for cut in range(whole, len(data) + 1):
        log.write_bytes(data[:cut])
        with Workspace.open(sample) as workspace:
            workspace.record("s1", [user("Next.", message_id="m3")])
            ids = [placed.entry.message_id for placed in workspace.sessions.page("s1").entries]
        is_whole = cut >= len(data) - 1  # without its newline it is whole, too
        assert ids == (["m1", "m2", "m3"] if is_whole else ["m1", "m3"]), cut


def test_a_writer_that_was_killed_holds_no_lock_and_leaves_nothing_to_remove(cli, sample):
    """The kernel's lock dies with its process; files that look like locks are nobody's."""
    with Workspace.open(sample) as workspace:
        workspace.record("s1", [user("First.", message_id="m1")])
    folder = log_path(sample.path).parent
    for name in ("s1.lock", "s1.log.jsonl.lock", ".lock", "sessions.json.lock"):
        (folder / name).write_text(json.dumps({"pid": 999_999, "created": "2020-01-01T00:00:00Z"}))
    script = (
        "import fcntl, os, sys\n"
        "fcntl.flock(os.open(sys.argv[2], os.O_RDONLY), fcntl.LOCK_EX)\n"
        "sys.stdout.write('held\\n'); sys.stdout.flush(); sys.stdin.readline()\n"
    )
    holders = [python(script, sample, cli.home, path) for path in (folder, log_path(sample.path))]
    for holder in holders:
        assert holder.stdout.readline() == b"held\n"

    def write():
        with Workspace.open(sample) as workspace:
            workspace.record("s1", [user("Second.", message_id="m2")])

    waiting = threading.Thread(target=write)
    waiting.start()
    for holder in holders:
        holder.kill()
        holder.communicate()
    waiting.join()
    shown = cli("-C", sample, "sessions", "show", "s1", "--json").document["entries"]
    assert [entry["message_id"] for entry in shown] == ["m1", "m2"]


WRITER = (
    "import sys; from carrel import Workspace\n"
    "with Workspace.open(sys.argv[1]) as workspace:\n"
    "    for n in range(30):\n"
    "        workspace.record('s1', [{'role': 'user', 'content': f'Boat {n}.', 'message_id': f'm{n}'}])\n"
    "        workspace.memory.add(f'Boat {n} has the number {n * 7}.')\n"
    "        sys.stdout.write('.\\n'); sys.stdout.flush()\n"
)


def test_health_looked_at_again_and_again_beside_a_writer_spoils_nothing(cli, sample):
    cli("trust", sample)
    looks = 0
    with python(WRITER, sample, cli.home) as writer:
        while writer.stdout.readline():
            health = cli("-C", sample, "health", "--json")
            assert health.code == 0
            assert [f["code"] for f in health.document["findings"] if f["severity"] == "error"] == []
            looks += 1
    assert (writer.returncode, looks) == (0, 30)
    records = apsw.Connection(str(sample / ".carrel/state/records.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert records.execute("pragma integrity_check").fetchall() == [("ok",)]
    records.close()
    assert len(cli("-C", sample, "memory", "facts", "--limit", "100", "--json").document["facts"]) == 30
    assert len(cli("-C", sample, "sessions", "show", "s1", "--json").document["entries"]) == 30


STALE = (
    "import os, signal, sys; from carrel import Workspace\n"
    "with Workspace.open(sys.argv[1]) as workspace:\n"
    "    workspace.memory.add(f'Server {sys.argv[2]} was here.')\n"
    "    workspace.search('server'); workspace.prepare('s1', 'server?'); workspace.health()\n"
    "    sys.stdout.write('idle\\n'); sys.stdout.flush()\n"
    "    os.kill(os.getpid(), signal.SIGSTOP)\n"
)


def test_programs_that_hang_with_a_workspace_open_keep_nobody_from_remembering(cli, sample):
    cli("trust", sample)
    stale = [python(STALE, sample, cli.home, number) for number in range(3)]
    try:
        for each in stale:
            assert each.stdout.readline() == b"idle\n"
        for number in range(5):
            told = cli("-C", sample, "memory", "add", f"Boat {number} is blue.", "--json")
            assert [fact["state"] for fact in told.document["written"]] == ["written"]
        facts = cli("-C", sample, "memory", "facts", "--json").document["facts"]
        assert len(facts) == len(stale) + 5
    finally:
        for each in stale:
            each.send_signal(signal.SIGKILL)
            each.communicate()


def test_no_care_of_ours_deletes_a_session_and_a_list_tells_of_none_that_is_gone(cli, sample):
    cli("trust", sample)
    with Workspace.open(sample) as workspace:
        for number in range(12):
            workspace.record(f"old-{number}", [user(f"About lighthouse {number}."), agent("I see.")])
        long_talk(workspace, "long")
    names = sorted([f"old-{number}" for number in range(12)] + ["long"])
    before = {name: log_path(sample.path, name).read_bytes() for name in names}
    cli.set(CARREL_NOW="2027-06-01T12:00:00Z")
    for words in (
        ["sessions", "compact", "long"], ["sweep"], ["dream", "run"], ["memory", "consolidate"],
        ["memory", "extract"], ["index", "rebuild"], ["health"], ["context", "show", "--prepare", "--session", "long"],
    ):  # fmt: skip
        assert cli("-C", sample, *words).code == 0, words
    for name in names:
        assert log_path(sample.path, name).read_bytes().startswith(before[name])
    listed = cli("-C", sample, "sessions", "list", "--limit", "50", "--json").document["sessions"]
    assert sorted(row["id"] for row in listed) == names
    for name in names[1:]:
        log_path(sample.path, name).unlink()
    listed = cli("-C", sample, "sessions", "list", "--json").document["sessions"]
    assert [row["id"] for row in listed] == ["long"]
    found = cli("-C", sample, "search", "lighthouse", "--tier", "session", "--json").document["hits"]
    assert found == []
