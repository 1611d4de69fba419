"""An object store that fails now and then, and writers that are killed: nothing acknowledged is lost or doubled."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from threading import Lock, Thread
from typing import Any

import pytest
from tests.stubs.objects import S3, Asked

from carrel.errors import Conflict
from carrel.files.objects import ObjectFiles, ObjectsUnavailable
from carrel.files.objects import bucket as bucket_module

WRITER = """
import sys
from carrel.files.objects import ObjectFiles
url, run = sys.argv[1:]
files = ObjectFiles(url, "acme", "studio")
for i in range(100000):
    line = f"{run}.{i}"
    if i % 2:
        files.append("log", f"{line}\\n".encode())
    else:
        content = files.read("set.md")
        old = content.data if content else b""
        files.write("set.md", old + f"{line}\\n".encode(), expect=content and content.digest)
    print(line, flush=True)
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_module, "_PAUSES", (0.0, 0.0, 0.0))


def lines(files: ObjectFiles, path: str) -> list[str]:
    found = files.read(path)
    return found.data.decode().split() if found else []


class Weather:
    """Faults of a store by chance: 503 before a request is done, 500 after it, and answers that break off."""

    def __init__(self, s3: S3, seed: int) -> None:
        self._chance, self._lock = random.Random(seed), Lock()
        self._kinds: list[Callable[[], None]] = [
            lambda: s3.fail(1),
            lambda: s3.fail(1, status="500 Internal Server Error", done=True),
            lambda: s3.truncate(1, method=""),
        ]
        self._s3 = s3

    def blow(self, request: Asked, answer: Callable[..., Any], start: Callable[..., Any]) -> Iterable[bytes]:
        with self._lock:
            if self._chance.random() > 0.25:
                return answer()
            self._chance.choice(self._kinds)()
            fault, self._s3.fault = self._s3.fault, self.blow
        assert fault is not None
        return fault(request, answer, start)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("seed", range(3))
def test_writers_on_a_store_that_fails_again_and_again_lose_and_double_nothing(
    objects: str, s3: S3, seed: int
) -> None:
    """What was acknowledged is there once; what was refused is there once, or not at all."""
    kept: list[str] = []
    refused: list[str] = []

    def write(files: ObjectFiles, number: int, line: str) -> None:
        if number % 2:
            files.append("log", f"{line}\n".encode())
            return
        content = files.read("set.md")
        old = content.data if content else b""
        files.write("set.md", old + f"{line}\n".encode(), expect=content and content.digest)

    def writing(who: int) -> None:
        files = ObjectFiles(objects, "acme", "studio")
        for number in range(20):
            line = f"{who}.{number}"
            try:
                write(files, number, line)
                kept.append(line)
            except (ObjectsUnavailable, Conflict):
                refused.append(line)

    s3.fault = Weather(s3, seed).blow
    threads = [Thread(target=writing, args=(who,)) for who in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    s3.mend()
    files = ObjectFiles(objects, "acme", "studio")
    found = [*lines(files, "log"), *lines(files, "set.md")]
    assert len(kept) + len(refused) == 60
    assert len(found) == len(set(found))
    assert set(kept) <= set(found) <= {*kept, *refused}
    assert len(kept) > 10


def test_kills_of_a_writer_lose_and_double_nothing_that_was_acknowledged(objects: str, s3: S3) -> None:
    chance = random.Random(5)
    kept: list[str] = []
    for run in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, objects, str(run)],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ),
        ) as writer:  # fmt: skip
            assert writer.stdout is not None
            said = [writer.stdout.readline() for _ in range(chance.randint(3, 12))]
            writer.kill()
            kept += [line.strip() for line in (*said, *writer.stdout) if line.endswith("\n")]
    files = ObjectFiles(objects, "acme", "studio")
    found = [*lines(files, "log"), *lines(files, "set.md")]
    assert len(found) == len(set(found))
    assert set(kept) <= set(found)
    assert len(found) <= len(kept) + 5
    assert files.append("log", b"after\n") == len("\n".join([*lines(files, "log"), ""]))


@pytest.mark.usefixtures("impatient")
def test_the_first_call_after_an_outage_succeeds(objects: str, s3: S3) -> None:
    files = ObjectFiles(objects, "acme", "studio")
    digest = files.write("a.md", b"x", expect=None)
    for call in (
        lambda: files.read("a.md"),
        lambda: files.append("log", b"x\n"),
        lambda: files.write("b.md", b"y", expect=None),
        files.list,
        lambda: files.remove("a.md", expect=digest),
    ):
        s3.fail(1000)
        with pytest.raises(ObjectsUnavailable) as caught:
            call()
        assert "again" in caught.value.hint
        s3.mend()
        call()
    assert [entry.path for entry in files.list()] == ["b.md", "log"]
