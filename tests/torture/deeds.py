"""What is done at a desk again and again, each deed with a token of its own, and where it is to be seen afterwards."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.torture import verifier
from tests.torture.desk import Desk, Say

from carrel.app import Workspace
from carrel.runtime.model import Reply, Request, Spend

KINDS = ("log", "notebook", "journal", "files", "set", "gone", "facts")
"""A turn, a line of a section, a note of the day, a new file, a file replaced, a file removed, a fact to be learnt."""

_TOKEN = re.compile(r"<([^<>]+)>")
_FACT = re.compile(r"The berth (\S+) of the harbour was given away\.")
_LATER = "2099-01-01T00:00:00Z"
"""When no worker that was killed holds a job any more."""


class Deeds:
    """The deeds that were acknowledged at a desk, by where they are to be seen."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.acknowledged: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def work(self, run: str, say: Say, kinds: Sequence[str] = KINDS, most: int = 100_000) -> None:
        """Do one deed after another, each said when it is done; somebody ends it."""
        with self.desk.open() as workspace:
            say("ready")
            for number in range(most):
                kind, token = kinds[number % len(kinds)], f"{run}.{number}"
                _DO[kind](workspace, token)
                say(f"{kind} {token}")
                if kind == "facts":
                    workspace.sweep(model=Picking())

    def heard(self, lines: Sequence[str]) -> None:
        """Take down what was acknowledged."""
        for line in lines:
            kind, _, token = line.partition(" ")
            if token:
                self.acknowledged[kind].append(token)

    def settle(self) -> None:
        """Do what a worker left in the queue, as the next one would, and see that nothing has to be repaired."""
        with self.desk.open(CARREL_NOW=_LATER) as workspace:
            workspace.sweep(model=Picking())
            left = {state: count for state, count in workspace.records.queue.counts().items() if count}
            assert set(left) <= {"done"}, left
            if self.desk.log("facts").exists():
                workspace.conversations.learning.extract("facts", Picking())
            bad = [each.message for each in workspace.health().findings if each.severity == "error"]
            assert not bad, bad

    def wrong(self) -> list[str]:
        """Return everything that is lost, doubled or torn, as the disk has it."""
        root, log = self.desk.root, self.desk.log("log")
        entries, wrong = verifier.entries(log) if log.exists() else ([], [])
        found = {
            "log": [str(entry["message_id"]) for entry in entries],
            "notebook": _tokens(root / "MEMORY.md"),
            "journal": [each for path in (root / "memory").glob("2*.md") for each in _tokens(path)],
            "files": [each for path in (root / "knowledge").rglob("*.md") for each in _tokens(path)],
            "set": _tokens(root / "set.md"),
            "facts": _FACT.findall(_text(root / "memory/kate.md")),
        }
        for kind, tokens in found.items():
            wrong += verifier.told_once(self.acknowledged.get(kind, []), tokens, kind)
        removed = self.acknowledged.get("gone", [])
        return wrong + [f"{token} is back" for token in removed if (root / f"gone/{token}.md").exists()]


class Picking:
    """A model that finds every fact in what it is given to read, and nothing else."""

    name = "picking"

    async def stream(self, request: Request) -> AsyncIterator[Reply]:
        facts = list[dict[str, object]]()
        for line in request.messages[-1].to_text().split("\n"):
            said = json.loads(line) if line.startswith('{"id"') else {}
            facts += [
                {
                    "text": found[0],
                    "kind": "decision",
                    "layer": "project",
                    "evidence": [said["id"]],
                    "subject": found[1],
                }
                for found in _FACT.finditer(said.get("text", ""))
            ]
        yield Reply(text=json.dumps({"facts": facts}), spend=Spend(input=1, output=1))


def _log(workspace: Workspace, token: str) -> None:
    workspace.record("log", [{"role": "user", "content": f"<{token}>", "message_id": token}])


def _notebook(workspace: Workspace, token: str) -> None:
    workspace.memory.notebook("MEMORY.md").append("Notes", f"- <{token}>")


def _journal(workspace: Workspace, token: str) -> None:
    workspace.memory.note(f"<{token}>")


def _files(workspace: Workspace, token: str) -> None:
    """Each run in a folder of its own, which has to be made."""
    workspace.write(f"knowledge/{token.partition('.')[0]}/{token}.md", f"<{token}>\n", expect=None)


def _gone(workspace: Workspace, token: str) -> None:
    digest = workspace.files.write(f"gone/{token}.md", b"to be removed\n", expect=None)
    workspace.files.remove(f"gone/{token}.md", expect=digest)


def _set(workspace: Workspace, token: str) -> None:
    content = workspace.files.read("set.md")
    old = content.data.decode() if content else ""
    workspace.write("set.md", f"{old}<{token}>\n", expect=content and content.digest)


def _facts(workspace: Workspace, token: str) -> None:
    asked = {
        "role": "user",
        "content": f"The berth {token} of the harbour was given away.",
        "message_id": token,
    }
    workspace.record("facts", [asked, {"role": "assistant", "content": "Good.", "message_id": f"a{token}"}])


_DO = {
    "log": _log,
    "notebook": _notebook,
    "journal": _journal,
    "files": _files,
    "set": _set,
    "gone": _gone,
    "facts": _facts,
}


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _tokens(path: Path) -> list[str]:
    return _TOKEN.findall(_text(path))
