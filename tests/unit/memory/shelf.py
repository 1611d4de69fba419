"""An agent's memory over real files and records: what the composition root puts together, without the rest."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from carrel.files.local import LocalFiles
from carrel.memory.fact import fact_id, key_of
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author, Pen
from carrel.memory.places import place_of
from carrel.memory.review import Review
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.records.sqlite import SqliteRecords
from carrel.settings import AgentSettings
from carrel.testing import FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.namespace import beginning, namespace_of

NOW = datetime(2026, 4, 24, 14, 5, tzinfo=UTC)
AUTHOR = Author(actor="extraction", action="add", agent="kate", session="s1")
NOTEBOOK = "memory/kate.md"


class Killed(BaseException):
    """The process ends here, as far as anybody can tell."""


class Deadly:
    """Records whose transactions of a kind kill the process: before they do anything, or after."""

    def __init__(self, records, *, verb, after=False):
        self._records, self._verb, self._after = records, verb, after

    def __getattr__(self, name):
        found = getattr(self._records, name)
        if name != "proposals":
            return found
        return _DeadlyProposals(found, self._verb, after=self._after)


class _DeadlyProposals:
    def __init__(self, proposals, verb, *, after):
        self._proposals, self._verb, self._after = proposals, verb, after

    def __getattr__(self, name):
        found = getattr(self._proposals, name)
        if name != self._verb:
            return found

        def call(*given, **named):
            if self._after:
                found(*given, **named)
            raise Killed

        return call


class Shelf:
    """A workspace of the agent kate, opened as often as somebody wants."""

    def __init__(self, root: Path, *, layout: str = "carrel", agent: AgentSettings | None = None):
        self.root = root / "work"
        self.spaces = root / "namespaces"
        self.root.mkdir(exist_ok=True)
        self.spaces.mkdir(exist_ok=True)
        self.agent = agent or AgentSettings(id="kate")
        self.layout = load_layout(layout)
        self.clock = FixedClock(NOW)
        self.records = SqliteRecords(root / "records.db")
        self.namespace = namespace_of(self.agent, "Kate", "/work")
        self.files = LocalFiles(self.root)
        self.pen = Pen(
            stores={"workspace": self.files, "namespaces": LocalFiles(self.spaces)},
            changes=lambda: self.records.changes,
            clock=self.clock,
        )
        self.keeper = Keeper(
            pen=self.pen,
            records=lambda: self.records,
            target=lambda fact: place_of(
                fact, layout=self.layout, agent=self.agent, namespace=self.namespace.path
            ),
            clock=self.clock,
            zone=UTC,
            layout=self.layout,
            opening=lambda store, _: beginning(self.namespace) if store == "namespaces" else "",
        )

    @property
    def review(self) -> Review:
        return self.review_over(self.records)

    def review_over(self, records) -> Review:
        return Review(keeper=self.keeper, pen=self.pen, records=lambda: records, clock=self.clock)

    def put(self, path: str, text: str | bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)

    def text(self, path: str = NOTEBOOK) -> str:
        target = self.root / path
        return target.read_bytes().decode() if target.exists() else ""

    def propose(self, action="append", *, path="MEMORY.md", key=None, **fields) -> Proposal:
        given = {"why": "external_source", "reason": "From outside.", "session": "s1", "evidence": ("m1",)}
        return self.records.proposals.add(
            Proposal(
                key=key or f"{action} {path} {fields}", at=NOW, agent="kate", actor="kate",
                action=action, path=path, **{**given, **fields},
            )
        )  # fmt: skip

    def learn(self, text: str, *, trust="external", author: Author = AUTHOR, **fields):
        """Keep one fact as extraction would, and return what became of it."""
        return self.keeper.keep([fact(text, trust=trust, **fields)], author)

    def later(self, seconds: int) -> datetime:
        return NOW + timedelta(seconds=seconds)


def fact(text: str, *, trust="external", session="s1", evidence=("m1",), **fields) -> Fact:
    given = {"agent": "kate", "layer": "project", "kind": "note", "at": NOW}
    return Fact(
        id=fact_id("kate", session, evidence, text), text=text, key=key_of(text), trust=trust,
        session=session, evidence=evidence, **{**given, **fields},
    )  # fmt: skip
