"""A workspace whose files are objects in a bucket: used by real processes, one of which is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import obstore
import pytest
from obstore.store import from_url
from tests.conftest import NOW, Outcome, snapshot
from tests.stubs.objects import BUCKET

HERE = "pg://acme/studio"
OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR")


class Machine:
    """A machine on which nothing may be left: every process of it has the same empty folders."""

    def __init__(self, root: Path, **variables: str):
        self.root = root
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CARREL_")}
        self.environ = kept | {name: str(root / name) for name in OWN} | variables
        for name in OWN:
            (root / name).mkdir(parents=True)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-m", "carrel", "-C", HERE, *words],
            env=self.environ, cwd=self.root / "HOME", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, *words: str, given: str = "") -> Outcome:
        process = self.start(*words)
        out, err = process.communicate(given.encode())
        outcome = Outcome(process.returncode, out, err)
        assert outcome.code == 0, outcome.warnings
        return outcome


@pytest.fixture
def machine(tmp_path: Path, database: str, objects: str) -> Machine:
    return Machine(tmp_path / "machine", CARREL_DATABASE_URL=database, CARREL_OBJECTS=objects, CARREL_NOW=NOW)


def said(number: int) -> str:
    return (
        json.dumps(
            {"role": "user", "content": f"Parrot {number} is called Otto.", "message_id": f"m{number}"}
        )
        + "\n"
    )


def held(objects: str) -> dict[str, bytes]:
    """All that is in this test's part of the bucket, by key below it."""
    store, prefix = (
        from_url(f"s3://{BUCKET}", client_options={"allow_http": True}),
        objects.rpartition("/")[2],
    )
    keys = [meta["path"] for chunk in obstore.list(store, prefix) for meta in chunk]
    return {key.removeprefix(f"{prefix}/"): bytes(obstore.get(store, key).bytes()) for key in keys}


def entries(machine: Machine) -> list[Any]:
    return machine("sessions", "show", "s1", "--json").document["entries"]


def test_files_are_objects_all_else_is_rows_and_the_disk_stays_empty(
    machine: Machine, objects: str, postgres_server, database: str
) -> None:
    before = snapshot(machine.root)
    machine("init", HERE)
    machine("files", "put", "notes.md", given="The quokka lives on Rottnest.\n")
    machine("sessions", "record", "--session", "s1", given=said(1))
    hits = machine("search", "quokka", "--json").document["hits"]
    assert [hit["path"] for hit in hits] == ["notes.md"]
    assert "quokka" in machine("context", "show").text
    call = machine("context", "show", "--session", "s1", "--prepare", "--json").document
    assert "Otto" in json.dumps(call["messages"])
    assert snapshot(machine.root) == before
    assert held(objects)["acme/studio/notes.md"] == b"The quokka lives on Rottnest.\n"
    assert any(b"Otto" in data for data in held(objects).values())
    name = database.partition("?")[0].rpartition("/")[2]
    rows = postgres_server.execute("SELECT DISTINCT workspace FROM carrel.workspace_files", database=name)
    assert [row for row in rows if not row[0].startswith(".")] == []


def test_a_recorder_that_is_killed_loses_nothing_it_acknowledged_and_the_next_goes_on(
    machine: Machine,
) -> None:
    before = snapshot(machine.root)
    machine("init", HERE)
    recorder = machine.start("sessions", "record", "--session", "s1", "--json")
    for number in (1, 2, 3):
        recorder.stdin.write(said(number).encode())
        recorder.stdin.flush()
        assert json.loads(recorder.stdout.readline())
    recorder.send_signal(signal.SIGKILL)
    recorder.communicate()
    assert [each["content"] for each in entries(machine)] == [
        f"Parrot {number} is called Otto." for number in (1, 2, 3)
    ]
    machine("sessions", "record", "--session", "s1", given="".join(map(said, range(1, 6))))
    assert [each["content"] for each in entries(machine)] == [
        f"Parrot {number} is called Otto." for number in range(1, 6)
    ]
    assert "Parrot 5" in machine("context", "show", "--session", "s1", "--prepare").text
    assert snapshot(machine.root) == before
