"""Scaffolds: a new workspace with files that read well to a person and to a model."""

from pathlib import Path

from msgspec import Struct

from carrel.files import FileStore, Stale
from carrel.workspace.layout import load_layout


class Scaffolded(Struct, frozen=True, kw_only=True):
    """What `init` made, and what was there before and stays untouched."""

    layout: str
    created: tuple[str, ...]
    kept: tuple[str, ...]


def scaffold(files: FileStore, layout: str) -> Scaffolded:
    """Write the files of a new workspace; one that exists is never overwritten."""
    load_layout(layout)
    created: list[str] = []
    kept: list[str] = []
    source = Path(__file__).with_name("scaffolds") / layout
    for item in sorted(item for item in source.rglob("*") if item.is_file()):
        path = item.relative_to(source).as_posix()
        try:
            files.write(path, item.read_bytes(), expect=None)
            created.append(path)
        except Stale:
            kept.append(path)
    return Scaffolded(layout=layout, created=tuple(created), kept=tuple(kept))
