"""A workspace without a disk, and the engine over it."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from carrel.context.assemble import Assembler, Assembly
from carrel.context.budget import Budget
from carrel.context.build import Ground
from carrel.context.inputs import Inputs
from carrel.files import FileStore
from carrel.files.ephemeral import EphemeralFiles
from carrel.settings import AgentSettings, Settings
from carrel.tokens import Vocabulary
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
_COUNTS = TokenCounts(Vocabulary(), None)


class Desk:
    """Files, an agent, a layout; `assemble` is one call of its engine."""

    def __init__(
        self, files: Mapping[str, str | bytes] | FileStore, layout: str = "carrel", **agent: object
    ) -> None:
        self.files = EphemeralFiles(files) if isinstance(files, Mapping) else files
        self.namespaces = EphemeralFiles()
        options = {"id": "kate", "display_name": "Kate", "system_prompt_template": ""} | agent
        self.ground = Ground(
            layout=load_layout(layout),
            settings=Settings(),
            agent=AgentSettings(**options),
            documents=Documents(self.files),
            namespaces=Documents(self.namespaces),
            counts=_COUNTS,
            location="/home/luis/desk",
        )
        self.assembler = Assembler(self.ground)

    def set(self, **settings: object) -> "Desk":
        self.ground = replace(self.ground, settings=replace(self.ground.settings, **settings))
        self.assembler = Assembler(self.ground)
        return self

    def fresh(self) -> "Desk":
        """The same workspace seen by an engine that remembers nothing."""
        ground = replace(self.ground, documents=Documents(self.files), namespaces=Documents(self.namespaces))
        other = Desk(self.files)
        other.namespaces, other.ground, other.assembler = self.namespaces, ground, Assembler(ground)
        return other

    def put(self, path: str, text: str) -> None:
        old = self.files.read(path)
        self.files.write(path, text.encode(), expect=old.digest if old else None)

    def assemble(self, *, budget=None, frozen=None, before=None, **inputs: object) -> Assembly:
        """Assemble; `budget` may be (file, total)."""
        if isinstance(budget, tuple):
            budget = Budget(file=budget[0], total=budget[1])
        given = {"scope": Scope.MAIN, "now": NOW, "time_zone": "UTC"} | inputs
        return self.assembler.assemble(Inputs(**given), budget=budget, frozen=frozen, before=before)


@pytest.fixture
def desk():
    return Desk
