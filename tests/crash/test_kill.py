"""kill -9 at any instant: what was acknowledged is there, once, and nothing is half."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

WORKER = """
import sys
from carrel.files.local import LocalFiles
root, run = sys.argv[1:]
files = LocalFiles(root, lock_seconds=1)
print("ready", flush=True)
for i in range(100000):
    token = f"{run}.{i}"
    if i % 3 == 0:
        files.append("day.jsonl", f"<{token}>\\n".encode())
    elif i % 3 == 1:
        content = files.read("set.md")
        old = content.data if content else b""
        files.write("set.md", old + f"<{token}>\\n".encode(), expect=content and content.digest)
    else:
        files.write(f"new/{run}/{i}.md", f"<{token}>\\n".encode(), expect=None)
    print(token, flush=True)
"""


def test_twenty_five_kills_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(7)
    acknowledged = list[str]()
    for run in range(25):
        acknowledged += killed_run(tmp_path, run, chance.uniform(0, 0.06))
    assert len(acknowledged) > 50
    verify(tmp_path, acknowledged)


def killed_run(root: Path, run: int, seconds: float) -> list[str]:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root), str(run)], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        time.sleep(seconds)
        os.kill(worker.pid, signal.SIGKILL)
        # The last line may be torn by the kill, and then it was not said.
        return [line.rstrip("\n") for line in worker.stdout if line.endswith("\n")]


def verify(root: Path, acknowledged: list[str]) -> None:
    """Look at the files with nothing but the standard library."""
    seen = list[str]()
    for path in root.rglob("*"):
        if path.is_file() and not path.name.startswith(".carrel-tmp-"):
            text = path.read_text()
            assert text.endswith("\n"), path
            seen += text.splitlines()
    assert all(line.startswith("<") and line.endswith(">") for line in seen)
    assert len(seen) == len(set(seen))
    assert {f"<{token}>" for token in acknowledged} <= set(seen)
