"""Conversations that are long enough to lose something in, and what is left of them on the disk."""

import json
from pathlib import Path
from typing import Any

from carrel.app import Workspace

STORY = "The harbour is calm and the boats are many. " * 150
DECISION = "We decided to use JWT for authentication."
JOURNAL = "memory/2026-04-24.md"


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def agent(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def long_talk(workspace: Workspace, session: str = "s1", turns: int = 8) -> list[str]:
    """Record a decision and then turns of about 1,300 tokens each, and return what the user said."""
    asked = [DECISION, *(f"Paint boat B-{number} blue." for number in range(1, turns))]
    for said in asked:
        workspace.record(session, [user(said), agent(STORY)])
    return asked


def log_path(root: Path, session: str = "s1") -> Path:
    return root / f"agents/kate/sessions/{session}.log.jsonl"


def log_of(root: Path, session: str = "s1") -> list[dict[str, Any]]:
    return [json.loads(line) for line in log_path(root, session).read_text().splitlines()]


def is_compacted(root: Path, session: str = "s1") -> bool:
    return any(line["type"] == "compaction" for line in log_of(root, session))
