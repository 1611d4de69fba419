"""What a hook costs, for bench/adapters.py.

In CPU time, which other jobs on the machine do not blur, against an empty Python process. Each round measures
all of them, one after the other.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics

from figures import Figure, figure

BAR = 4
ROUNDS = 25
HARNESS = "claude"
# Real prose that every Python has.
PROSE = "\n".join(topics[name] for name in sorted(topics))
SIZE = 1_200
PARTS = {"page-{:03}.md": 100, "memory/{}.md": 300, "knowledge/n{:03}.md": 300, "notes/n{:03}.md": 299}
QUESTION = "How do class definitions bind the names of arguments?"


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
    """Each event as a harness calls it: with nothing new, and where a turn is to be recorded."""
    root = make_workspace(folder)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    payload, transcript = folder / "payload.json", folder / "t.jsonl"
    told = {"session_id": "s1", "cwd": str(root), "transcript_path": str(transcript), "prompt": QUESTION}
    payload.write_text(json.dumps(told))
    transcript.write_text("")
    commands = {
        "nothing": [sys.executable, "-c", "pass"],
        "re": [sys.executable, "-c", "import re"],
        "json": [sys.executable, "-c", "import json, re"],
        "module": [sys.executable, "-m", "carrel", *words("session-start")],
        **{event: [script(), *words(event)] for event in ("session-start", "prompt", "stop", "pre-compact")},
    }
    cold = spent(commands["session-start"], environment, payload)
    said = subprocess.run(
        commands["prompt"], env=environment, stdin=payload.open(), capture_output=True, check=True
    )
    assert b"additionalContext" in said.stdout, said
    times: dict[str, float] = {}

    def measure(name: str, event: str = "") -> None:
        took = spent(commands[event or name], environment, payload)
        times[name] = min(times.get(name, took), took)

    for event in ("stop", "pre-compact"):
        spent(commands[event], environment, payload)
    for number in range(ROUNDS):
        for name in commands:
            measure(name)
        for event in ("stop", "pre-compact"):
            hold_turn(transcript, f"{number}-{event}")
            measure(f"{event} turn", event)
        spent(commands["pre-compact"], environment, payload)
    shutil.rmtree(root)
    return listed(times, cold)


def listed(times: dict[str, float], cold: float) -> list[Figure]:
    ratio = {name: took / times["nothing"] for name, took in times.items()}
    return [
        figure("python -c pass", times["nothing"] * 1000, "ms"),
        figure("  and import re, as the installed script does", ratio["re"], "x"),
        figure("  and import json", ratio["json"], "x"),
        figure("hook session-start, 1,000 files, warm", ratio["session-start"], "x", BAR),
        figure("hook prompt with recall, 1,000 files, warm", ratio["prompt"], "x", BAR),
        figure("hook stop, nothing new in the transcript", ratio["stop"], "x", BAR),
        figure("hook pre-compact, nothing new in the transcript", ratio["pre-compact"], "x", BAR),
        figure("hook session-start by python -m carrel, warm", ratio["module"], "x", BAR),
        figure("hook stop that records a turn", ratio["stop turn"], "x"),
        figure("hook pre-compact that records a turn and flushes", ratio["pre-compact turn"], "x"),
        figure("hook session-start, first time", cold / times["nothing"], "x"),
    ]


def script() -> str:
    return str(Path(sys.executable).with_name("carrel"))


def words(event: str) -> list[str]:
    return ["hook", event, "--harness", HARNESS, "--scope", "main"]


def hold_turn(transcript: Path, name: str) -> None:
    """Let a turn stand at the end of a transcript, as the harness writes it."""
    asked = {"role": "user", "content": f"{QUESTION} ({name})"}
    answered = {"role": "assistant", "id": name, "content": [{"type": "text", "text": "By position."}]}
    with transcript.open("a") as lines:
        for message in (asked, answered):
            line = {"type": message["role"], "uuid": f"{name}-{message['role']}", "message": message}
            lines.write(json.dumps(line) + "\n")


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
