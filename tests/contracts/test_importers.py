"""Every importer that is built in, held to its contract."""

from collections.abc import Callable
from pathlib import Path

import pytest

from carrel.files.local import LocalFiles
from carrel.importing.claude import read_claude
from carrel.importing.notes import read_basic_memory, read_vault
from carrel.importing.workspaces import read_workspace
from carrel.testing.contracts import ImporterContract
from carrel.testing.contracts.importers import Reader
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.scaffold import scaffold


def of_layout(name: str) -> Reader:
    return lambda source: read_workspace(source, load_layout(name))


READERS: dict[str, Reader] = {
    "claude-code": read_claude,
    "basic-memory": read_basic_memory,
    "obsidian": read_vault,
    **{name: of_layout(name) for name in LAYOUTS},
}
NOTES: dict[str, Callable[[Path], object]] = {
    "claude-code": lambda root: (root / "CLAUDE.md").write_text("- Use tabs.\n"),
    "basic-memory": lambda root: (root / "a.md").write_text("---\npermalink: a\n---\n# A\n- [tip] Rest.\n"),
    "obsidian": lambda root: (root / "a.md").write_text("# A\nSee [[b]].\n"),
}


class TestImporters(ImporterContract):
    @pytest.fixture(params=sorted(READERS))
    def kind(self, request: pytest.FixtureRequest) -> str:
        return request.param

    @pytest.fixture
    def reader(self, kind: str) -> Reader:
        return READERS[kind]

    @pytest.fixture
    def sample(self, kind: str, tmp_path: Path) -> Path:
        root = tmp_path / "sample"
        root.mkdir()
        if kind in NOTES:
            NOTES[kind](root)
        else:
            scaffold(LocalFiles(root), load_layout(kind))
        return root
