"""Scaffolds: a new workspace with files that read well to a person and to a model."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from carrel.files import FileStore, Stale
from carrel.workspace.layout import LAYOUTS, Layout, load_layout
from carrel.workspace.manifest import Manifest

Missing = Iterable[tuple[str, bytes]]
_AGENT_MEMORY = b"# Project Context\n\n# Conventions\n\n# Decisions Made\n"


class Scaffolded(Struct, frozen=True, kw_only=True):
    """What was made, and what was there before and stays untouched."""

    layout: str
    created: tuple[str, ...]
    kept: tuple[str, ...]


def scaffold(files: FileStore, layout: Layout, extra: Missing = ()) -> Scaffolded:
    """Write the files of a new workspace; one that exists is never overwritten.

    A layout from outside has no samples: of what it requires, beginnings are made.
    """
    found = _samples(layout.name) if layout.name in LAYOUTS else _beginnings(layout)
    return _add(files, layout.name, [*extra, *found])


def _samples(name: str) -> Missing:
    source = Path(__file__).with_name("scaffolds") / name
    items = sorted(item for item in source.rglob("*") if item.is_file())
    return [(item.relative_to(source).as_posix(), item.read_bytes()) for item in items]


def _beginnings(layout: Layout) -> Missing:
    wanted = sorted(path for path in layout.requires if "{" not in path)
    return [
        (f"{path}.gitkeep", b"") if path.endswith("/") else (path, f"# {Path(path).stem}\n".encode())
        for path in wanted
    ]


def restore_squad(files: FileStore, manifest: Manifest) -> Scaffolded:
    """Bring back what a squad's manifest says there should be: its folders, and a memory for each agent."""
    folders = [path for path in load_layout("squad").requires if path.endswith("/")]
    wanted = [(f"{folder}.gitkeep", b"") for folder in folders if not folder.startswith("agents/")]
    wanted += [(f"agents/{agent.id}/memory.md", _AGENT_MEMORY) for agent in manifest.agents]
    return _add(files, "squad", wanted)


def _add(files: FileStore, layout: str, wanted: Missing) -> Scaffolded:
    created: list[str] = []
    kept: list[str] = []
    for path, data in wanted:
        try:
            files.write(path, data, expect=None)
            created.append(path)
        except Stale:
            kept.append(path)
    return Scaffolded(layout=layout, created=tuple(created), kept=tuple(kept))
