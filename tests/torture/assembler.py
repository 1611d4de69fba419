"""Assembles what it is asked for, line by line: one of several processes whose answers are compared."""

import json
import locale
import os
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from carrel.app import Workspace
from carrel.context.budget import Budget
from carrel.errors import CarrelError


def main() -> None:
    """Say which rules of a place are in force here, as a program would take them on; then answer."""
    try:
        _say(locale.setlocale(locale.LC_ALL, ""))
    except locale.Error:
        _say("")
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            _say(_answers(Path(asked["root"]), asked["questions"], is_new=asked["is_new"]))
        except CarrelError as error:
            _say([{"error": error.code}])


def _answers(root: Path, questions: list[dict[str, Any]], *, is_new: bool) -> list[dict[str, Any]]:
    home = root.with_name(f"home-{os.environ['PYTHONHASHSEED']}")  # nobody else's
    environ = os.environ | {"CARREL_HOME": str(home)}
    if is_new:
        Workspace.trust(root, environ=environ)
    with Workspace.open(root, environ=environ) as workspace:
        return [_answered(workspace, each) for each in questions]


def _answered(workspace: Workspace, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Assemble, with a search that is complete: what is late on a busy machine would be another answer."""
    if "said" in asked:
        workspace.record(asked["session"], asked["said"], scope=asked["scope"])
        return {}
    if asked["query"]:
        workspace.searching.sync()
    assembly = workspace.assemble(
        asked["session"] or None,
        query=asked["query"] or None,
        scope=asked["scope"],
        budget=Budget(**asked["budget"]),
    )
    return {
        "text": sha256(assembly.to_text().encode()).hexdigest(),
        "report": assembly.report.to_json(),
        "messages": [(each.role, each.to_text()) for each in assembly.messages],
    }


def _say(told: object) -> None:
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
