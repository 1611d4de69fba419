"""Scaffolds: a new workspace with files that read well to a person and to a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from carrel.files import FileStore, Stale
from carrel.workspace.layout import load_layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffolded:
    """What `init` made, and what was there before and stays untouched."""

    layout: str
    created: tuple[str, ...]
    kept: tuple[str, ...]


def scaffold(files: FileStore, layout: str) -> Scaffolded:
    """Write the files of a new workspace; one that exists is never overwritten."""
    load_layout(layout)
    created: list[str] = []
    kept: list[str] = []
    source = resources.files("carrel.workspace") / "scaffolds" / layout
    for path, data in sorted(_files(source, "")):
        try:
            files.write(path, data, expect=None)
            created.append(path)
        except Stale:
            kept.append(path)
    return Scaffolded(layout=layout, created=tuple(created), kept=tuple(kept))


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        path = f"{prefix}{item.name}"
        if item.is_dir():
            yield from _files(item, f"{path}/")
        else:
            yield path, item.read_bytes()
