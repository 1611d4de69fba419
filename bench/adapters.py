"""Figures of what plugs into other programs: `python bench/adapters.py [--json FILE]`.

A hook from its start to its answer, against an empty Python process, in CPU time, which other jobs on the
machine do not blur. Each round measures all of them, one after the other.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics

from figures import Figure, figure, options, run

BAR = 4
ROUNDS = 25
# Real prose that every Python has.
PROSE = "\n".join(topics[name] for name in sorted(topics))
SIZE = 1_200
PARTS = {"page-{:03}.md": 100, "memory/{}.md": 300, "knowledge/n{:03}.md": 300, "notes/n{:03}.md": 299}


def main() -> None:
    run((hooks,), options(__doc__).parse_args().json)


def make_workspace(folder: Path) -> Path:
    """A workspace of 1,000 files: documents, days of a journal, knowledge, notes."""
    root = folder / "thousand"
    number = 0
    for pattern, count in PARTS.items():
        for place in range(count):
            day = f"2025-{1 + place // 28:02}-{1 + place % 28:02}"
            path = root / pattern.format(day if "{}" in pattern else place)
            path.parent.mkdir(parents=True, exist_ok=True)
            begin = number * SIZE % (len(PROSE) - SIZE)
            path.write_text(PROSE[begin : begin + SIZE])
            number += 1
    (root / "carrel.yaml").write_text("agents: [{id: main, systemPromptTemplate: You are main.}]\n")
    time.sleep(2.1)  # a file that changed within 2 s is never trusted by its stamp
    return root


def hooks(folder: Path) -> list[Figure]:
    root = make_workspace(folder)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    payload = folder / "payload.json"
    told = {"session_id": "s1", "cwd": str(root), "transcript_path": str(folder / "t.jsonl")}
    payload.write_text(json.dumps(told | {"prompt": "How do class definitions bind the names of arguments?"}))
    (folder / "t.jsonl").write_text("")
    carrel = [str(Path(sys.executable).with_name("carrel"))]
    hook = ["hook", "{}", "--harness", "claude", "--scope", "main"]
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "re": [sys.executable, "-c", "import re"],
        "json": [sys.executable, "-c", "import json, re"],
        "session-start": [*carrel, *(word.format("session-start") for word in hook)],
        "prompt": [*carrel, *(word.format("prompt") for word in hook)],
        "stop": [*carrel, *(word.format("stop") for word in hook)],
        "module": [sys.executable, "-m", "carrel", *(word.format("session-start") for word in hook)],
    }
    cold = spent(commands["session-start"], environment, payload)
    said = subprocess.run(
        commands["prompt"], env=environment, stdin=payload.open(), capture_output=True, check=True
    )
    assert b"additionalContext" in said.stdout, said
    times: dict[str, float] = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name] = min(times[name], spent(command, environment, payload))
    shutil.rmtree(root)
    ratio = {name: took / times["nothing"] for name, took in times.items()}
    return [
        figure("python -c pass", times["nothing"] * 1000, "ms"),
        figure("  and import re, as the installed script does", ratio["re"], "x"),
        figure("  and import json", ratio["json"], "x"),
        figure("hook session-start, 1,000 files, warm", ratio["session-start"], "x", BAR),
        figure("hook prompt with recall, 1,000 files, warm", ratio["prompt"], "x", BAR),
        figure("hook session-start by python -m carrel, warm", ratio["module"], "x", BAR),
        figure("hook stop, nothing new in the transcript", ratio["stop"], "x"),
        figure("hook session-start, first time", cold / times["nothing"], "x"),
    ]


def spent(command: list[str], environment: dict[str, str], payload: Path) -> float:
    """The CPU time of a process, in seconds."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(payload), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    process = os.posix_spawn(command[0], command, environment, file_actions=actions)
    _, status, used = os.wait4(process, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
