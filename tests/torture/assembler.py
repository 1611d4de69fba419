"""Assembles what it is asked for, line by line: one of several processes whose answers are compared."""

import json
import os
import sys

from carrel.app import Workspace
from carrel.context.budget import Budget
from carrel.errors import CarrelError


def main() -> None:
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            with Workspace.open(asked["root"], environ=dict(os.environ)) as workspace:
                budget = None if asked["total"] is None else Budget(total=asked["total"])
                assembly = workspace.assemble(
                    query=asked["query"] or None, scope=asked["scope"], budget=budget
                )
                answer = {"text": assembly.to_text(), "report": assembly.report.to_json()}
        except CarrelError as error:
            answer = {"error": error.code}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
