"""A workspace with a journal and a memory made of it, opened anew as other processes would."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.unit.memory.kept import Room

from carrel.clock import FixedClock
from carrel.memory.consolidate.consolidator import Consolidated, Consolidator
from carrel.runtime.consolidation import Consolidation
from carrel.runtime.model import Model, Reply
from carrel.runtime.offline import OfflineModel
from carrel.runtime.remember.asking import Asking
from carrel.settings import ConsolidationSettings
from carrel.testing import ScriptedModel

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
MEMORY = "MEMORY.md"
STATE = "memory/.consolidation_state"


def words(text: str) -> int:
    """As many tokens as words: enough to keep a budget by."""
    return len(text.split())


class Ledger(Room):
    """Kate's journal and her MEMORY.md."""

    now = NOW
    settings = ConsolidationSettings()
    step: Callable[[str], object] = str
    enabled = True

    def journal(self, day: str, *entries: str) -> "Ledger":
        self.put(f"memory/{day}.md", "".join(f"- {entry}\n" for entry in entries))
        return self

    @property
    def consolidator(self) -> Consolidator:
        return Consolidator(
            agent="kate",
            target=MEMORY,
            layout=self.layout,
            files=self.work,
            records=lambda: self.records,
            keeper=lambda: self.keeper,
            settings=self.settings,
            count=words,
            clock=FixedClock(self.now),
            zone=UTC,
            step=self.step,
        )

    @property
    def consolidation(self) -> Consolidation:
        asking = Asking(
            agent="kate", clock=FixedClock(self.now), count=words, usage=lambda: self.records.usage
        )
        return Consolidation(
            consolidator=self.consolidator,
            asking=asking,
            queue=lambda: self.records.queue,
            memory_enabled=self.enabled,
        )

    def run(self, *answers: str, **more: Any) -> Consolidated:
        """Consolidate by what a model answers, else by rules."""
        model: Model = ScriptedModel(*([Reply(text=text)] for text in answers)) if answers else OfflineModel()
        return self.consolidation.run(model, **more)

    def region(self) -> list[str]:
        """The lines of the region that say something."""
        _, _, after = self.text(MEMORY).partition("## Consolidated\n")
        return [line for line in after.partition("\n## ")[0].splitlines() if line.strip()]


def ledger(root: Path | None = None, **more: Any) -> Ledger:
    """A ledger with settings as they are given."""
    made = Ledger(root)
    made.settings = ConsolidationSettings(**more)
    return made
