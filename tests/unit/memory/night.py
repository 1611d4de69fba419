"""A workspace on disk in which things are recalled and dreamt, opened anew for each as other processes would."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from carrel.app import Workspace
from carrel.dreaming import Dreaming, Dreamt, Outlook
from carrel.memory.fact import fact_id, key_of
from carrel.memory.pen import Author
from carrel.records.facts import Fact
from carrel.records.recalls import RecallEvent
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 23, 3, tzinfo=UTC)
DAY = timedelta(days=1)
JOURNAL = "memory/2026-04-20.md"
NOTEBOOK = "memory/kate.md"
LOG = "agents/kate/sessions/s1.log.jsonl"
DREAMED = "## Dreamed 2026-04-23 03:00 UTC"


class Killed(BaseException):
    """The process ends here: nobody may catch it on the way."""


class Night:
    """Kate's workspace; `layout` and other settings as they are given."""

    def __init__(self, root: Path, home: Path, *, layout: str = "carrel", settings: str = "") -> None:
        self.root = root
        self.environ = {"CARREL_HOME": str(home)}
        root.mkdir()
        self.put({"carrel.yaml": f"layout: {layout}\nagents:\n  - id: kate\n{settings}"})

    def put(self, files: Mapping[str, str | bytes]) -> "Night":
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def read(self, path: str = "MEMORY.md") -> str | None:
        found = self.root / path
        return found.read_bytes().decode() if found.exists() else None

    @contextmanager
    def open(self, *, at: datetime = NOW) -> Generator[Workspace]:
        environ = {**self.environ, "CARREL_NOW": at.isoformat()}
        with Workspace.open(self.root, agent="kate", environ=environ) as workspace:
            yield workspace

    def recall(
        self, text: str, path: str = JOURNAL, *, tier: str = "journal", times: int = 3, **changes: Any
    ) -> None:
        """Have something recalled on several days by several queries, the last time a day ago."""
        with self.open() as workspace:
            workspace.records.recalls.add(recalls(text, path, tier=tier, times=times, **changes))

    def say(self, *messages: Mapping[str, Any], session: str = "s1", scope: str = "main") -> None:
        """Have messages recorded."""
        with self.open() as workspace:
            workspace.sessions.record(session, list(messages), scope=Scope(scope))

    def learn(self, text: str, path: str = NOTEBOOK, **changes: Any) -> Fact:
        """Have a fact on record as one that was written to a file, and write its line there."""
        first: dict[str, Any] = {"kind": "note", "state": "written", "line": f"- {text}", "path": path}
        fact = Fact(
            id=fact_id("kate", "s1", (path,), text + str(changes)),
            agent="kate",
            layer="project",
            text=text,
            key=key_of(text),
            at=NOW,
            **(first | changes),
        )
        with self.open() as workspace:
            workspace.records.facts.add([fact])
            if fact.state == "written":
                author = Author(actor="extraction", action="append")
                workspace.memory.pen.append("workspace", path, fact.line, author)
        return fact

    @contextmanager
    def dreaming(self, *, at: datetime = NOW, step: Callable[[str], object] = str) -> Generator[Dreaming]:
        with self.open(at=at) as workspace:
            yield Dreaming(
                workspace, pen=lambda: workspace.memory.pen, sessions=lambda: workspace.sessions, step=step
            )

    def dream(
        self, *, at: datetime = NOW, dry_run: bool = False, step: Callable[[str], object] = str
    ) -> Dreamt:
        with self.dreaming(at=at, step=step) as dreaming:
            return dreaming.run(dry_run=dry_run)

    def look(self, *, at: datetime = NOW) -> Outlook:
        with self.dreaming(at=at) as dreaming:
            return dreaming.look()

    def revert(
        self, number: int | None = None, *, at: datetime = NOW, step: Callable[[str], object] = str
    ) -> Dreamt:
        with self.dreaming(at=at, step=step) as dreaming:
            return dreaming.revert(number)


def recalls(
    text: str,
    path: str = JOURNAL,
    *,
    tier: str = "journal",
    times: int = 3,
    since: datetime = NOW,
    **changes: Any,
) -> Sequence[RecallEvent]:
    """Return so many recalls of one text, each by another query on another day before a moment."""
    first: dict[str, Any] = {
        "agent": "kate", "session": "s1", "path": path, "line": 1, "tier": tier, "rank": 1, "score": 0.5,
        "text": text, "who": "tool",
    }  # fmt: skip
    return [
        RecallEvent(at=since - number * DAY, query=f"query {number}", **(first | changes))
        for number in range(1, times + 1)
    ]


def states(outlook: Outlook) -> dict[str, str]:
    """What becomes of each candidate: its state, or the reason that it is blocked."""
    return {each.candidate.text: each.reason or each.state for each in outlook.plan.judged}


def at(point: str) -> Callable[[str], object]:
    """Return a step that ends the process at a named point."""

    def step(name: str) -> None:
        if name == point:
            raise Killed(point)

    return step
