"""A workspace on disk in which something was learnt, and is to be forgotten; opened anew as other processes would."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from carrel.app import Workspace
from carrel.forgetting import Forgetting
from carrel.memory.fact import fact_id, key_of
from carrel.memory.forget.choice import Choice
from carrel.memory.forget.report import Forgotten
from carrel.memory.pen import Author
from carrel.records.facts import Fact

NOTEBOOK = "memory/kate.md"
SAMSUNG = "Ana uses a Samsung phone."
TEA = "Ana drinks green tea."
SAID = "By the way, my Samsung phone is what I, Ana, use. Also I drink green tea."
SETTINGS = "layout: carrel\nagents:\n  - id: kate\n"


class Oblivion:
    """Kate's workspace."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.environ = {"CARREL_HOME": str(home), "CARREL_NOW": "2026-04-24T12:00:00Z"}
        root.mkdir(exist_ok=True)
        if not (root / "carrel.yaml").exists():
            self.put({"carrel.yaml": SETTINGS})

    def put(self, files: Mapping[str, str]) -> "Oblivion":
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self

    def read(self, path: str = NOTEBOOK) -> str:
        found = self.root / path
        return found.read_text() if found.exists() else ""

    @contextmanager
    def open(self) -> Generator[Workspace]:
        with Workspace.open(self.root, agent="kate", environ=self.environ) as workspace:
            yield workspace

    def say(self, *messages: Mapping[str, Any], session: str = "s1") -> None:
        with self.open() as workspace:
            workspace.record(session, messages)

    def learn(
        self,
        text: str,
        *,
        session: str = "s1",
        evidence: tuple[str, ...] = ("m1",),
        trust: str = "owner",
        **more: Any,
    ) -> Fact:
        with self.open() as workspace:
            fact = Fact(
                id=fact_id("kate", session, evidence, text), agent="kate", text=text, key=key_of(text),
                session=session, evidence=evidence, trust=trust,
                **{"layer": "project", "kind": "note", "at": workspace.config.clock.now(), **more},
            )  # fmt: skip
            workspace.memory.keeper.keep([fact], Author(actor="extraction", action="add", agent="kate"))
            return workspace.records.facts.get(fact.id)

    def forget(
        self,
        *facts: str,
        purge: bool = False,
        dry_run: bool = False,
        step: Callable[[str], object] = str,
        **given: Any,
    ) -> Forgotten:
        with self.open() as workspace:
            return forgetting_of(workspace, step).forget(
                Choice(facts=facts, **given), purge=purge, dry_run=dry_run
            )

    def everything(self) -> bytes:
        """Every byte below the workspace but the databases."""
        files = (path for path in self.root.rglob("*") if path.is_file() and ".db" not in path.name)
        return b"\n".join(path.read_bytes() for path in sorted(files))


def forgetting_of(workspace: Workspace, step: Callable[[str], object] = str) -> Forgetting:
    return Forgetting(
        workspace,
        pen=lambda: workspace.memory.pen,
        sessions=lambda: workspace.transcripts.everyones,
        namespace=lambda: workspace.memory.namespace.path,
        let_go=workspace._leave_search,
        step=step,
    )
