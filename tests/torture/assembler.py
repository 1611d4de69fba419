"""Assembles what it is asked for, line by line: one of several processes whose answers are compared."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from carrel.app import Workspace
from carrel.context.budget import Budget
from carrel.errors import CarrelError


def main() -> None:
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            home = Path(asked["root"]).with_name(f"home-{os.environ['PYTHONHASHSEED']}")  # nobody else's
            with Workspace.open(asked["root"], environ=os.environ | {"CARREL_HOME": str(home)}) as workspace:
                answers = [_answered(workspace, each) for each in asked["questions"]]
        except CarrelError as error:
            answers = [{"error": error.code}]
        sys.stdout.buffer.write(json.dumps(answers).encode() + b"\n")
        sys.stdout.buffer.flush()


def _answered(workspace: Workspace, asked: dict[str, Any]) -> dict[str, Any]:
    """Assemble, with a search that is complete: what is late on a busy machine would be another answer."""
    if "said" in asked:
        workspace.record(asked["session"], asked["said"])
        return {}
    if asked["query"]:
        workspace.searching.sync()
    assembly = workspace.assemble(
        asked["session"] or None,
        query=asked["query"] or None,
        scope=asked["scope"],
        budget=None if asked["total"] is None else Budget(total=asked["total"]),
    )
    return {
        "text": assembly.to_text(),
        "report": assembly.report.to_json(),
        "messages": [each.to_text() for each in assembly.messages],
    }


if __name__ == "__main__":
    main()
