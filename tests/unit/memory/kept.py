"""A keeper over real files and real records, for tests of what becomes of facts."""

from collections.abc import Callable
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carrel.files import FileStore, walk
from carrel.files.local import LocalFiles
from carrel.memory.fact import fact_id, key_of
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author, Pen
from carrel.memory.places import place_of
from carrel.records import Records
from carrel.records.facts import Fact
from carrel.records.sqlite import SqliteRecords
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
EXTRACTION = Author(actor="extraction", action="append", reason="Learnt in session s1.")
OWNER = Author(actor="owner", action="add")
NAMESPACE = "agent.1.kate.md"
NOTEBOOK = "memory/kate.md"
BEGINNING = "---\ntitle: Experience\nenabled: false\n---\n"


class Room:
    """A workspace of one agent with a keeper: on a disk, or without a root in memory alone.

    `again` opens the same files and records as another process would, with a fuse if that one is to be killed.
    """

    def __init__(self, root: Path | None = None, *, layout: str = "carrel") -> None:
        self.root = root or Path()
        self.work: FileStore = _files(root, "work")
        self.namespaces: FileStore = _files(root, "namespaces")
        self.records: Records = SqliteRecords(root / "records.db" if root else None)
        self.layout = load_layout(layout)
        self.agent = AgentSettings(id="kate")
        self._open()

    def _open(self) -> None:
        self.pen = Pen(
            stores={"workspace": self.work, "namespaces": self.namespaces},
            changes=lambda: self.records.changes,
            clock=FixedClock(NOW),
        )
        self.keeper = Keeper(
            pen=self.pen,
            records=lambda: self.records,
            target=lambda fact: place_of(fact, layout=self.layout, agent=self.agent, namespace=NAMESPACE),
            clock=FixedClock(NOW),
            zone=UTC,
            layout=self.layout,
            opening=lambda store, _: BEGINNING if store == "namespaces" else "",
        )

    def again(self, fuse: list[int] | None = None) -> "Room":
        other = copy(self)
        if fuse is not None:
            for name in ("work", "namespaces", "records"):
                setattr(other, name, Deadly(getattr(self, name), fuse))
        other._open()
        return other

    def put(self, path: str, text: str) -> None:
        now = self.work.read(path)
        self.work.write(path, text.encode(), expect=now.digest if now else None)

    def text(self, path: str = NOTEBOOK, store: str = "workspace") -> str:
        found = (self.work if store == "workspace" else self.namespaces).read(path)
        return found.data.decode() if found else ""

    def texts(self) -> dict[str, str]:
        """Every Markdown file of both stores."""
        return {
            entry.path: self.text(entry.path, name)
            for name, store in (("workspace", self.work), ("namespaces", self.namespaces))
            for entry in walk(store, skip=lambda _: False)
            if entry.path.endswith(".md") and entry.kind == "file"
        }

    def states(self) -> dict[str, str]:
        """What became of every fact, by its text."""
        return {fact.text: fact.state for fact in self.records.facts.find(limit=1000)}

    def close(self) -> None:
        self.records.close()


def _files(root: Path | None, name: str) -> FileStore:
    if root is None:
        return EphemeralFiles()
    (root / name).mkdir(parents=True)
    return LocalFiles(root / name)


def fact(text: str, **more: Any) -> Fact:
    """A fact that the owner said in a session."""
    given = {
        "session": "s1",
        "evidence": ("u1",),
        "layer": "project",
        "kind": "note",
        "trust": "owner",
    } | more
    own = fact_id("kate", given["session"], given["evidence"], text)
    return Fact(**{"id": own, "agent": "kate", "text": text, "key": key_of(text), "at": NOW} | given)


class Killed(BaseException):
    """As if the process had been killed here."""


class Deadly:
    """Records or files that end the process before or after a call that changes something, when the fuse is burnt."""

    PARTS = ("queue", "facts", "changes", "proposals", "usage", "audit")
    VERBS = ("add", "update", "advance", "begin", "settle", "put", "finish", "fail", "write", "append")

    def __init__(self, inner: Any, fuse: list[int]) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        if name in self.PARTS:
            return Deadly(value, self._fuse)
        return self._deadly(value) if name in self.VERBS else value

    def _deadly(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            self._burn()
            done = verb(*args, **more)
            self._burn()
            return done

        return call

    def _burn(self) -> None:
        self._fuse[0] -= 1
        if self._fuse[0] == 0:
            raise Killed
