"""The manifest: what a bundle holds, and where. Whatever it says is looked at before it counts."""

from collections.abc import Iterable
from typing import Any, Literal, cast

from msgspec import Struct, ValidationError, convert, to_builtins

from carrel import plainjson
from carrel.bundle.errors import BundleDamaged, NewerBundle, NotABundle, UnsafeBundle
from carrel.bundle.names import crowded, refuse_path
from carrel.records.moving import TABLES

SCHEMA_VERSION = 1
KIND = "carrel.bundle"
MANIFEST = "manifest.json"

Part = Literal["files", "trash", "namespaces"]


class Held(Struct, frozen=True, kw_only=True):
    """A file: what it belongs to, its path there, and the entry of the ZIP that has its bytes."""

    part: Part
    path: str
    size: int
    sha256: str
    entry: str


class Table(Struct, frozen=True, kw_only=True):
    """The rows of one table as lines of JSON, of the workspace itself or of a folder with its own records."""

    folder: str
    table: str
    rows: int
    size: int
    sha256: str
    entry: str


Item = Held | Table


class LeftOut(Struct, frozen=True, kw_only=True):
    """A file that is in the workspace and not in the bundle, and why."""

    path: str
    reason: str


class Manifest(Struct, frozen=True, kw_only=True):
    """What a bundle holds: for whose eyes, how much these must not see, and what was left out.

    `folders` are the workspace itself, "", and those inside it whose agents have records of their own. A
    namespace of an agent is called `agent.N.ID.md` by the place of its folder among them.
    """

    schema_version: int = SCHEMA_VERSION
    kind: str = KIND
    layout: str
    scope: Literal["main", "shared"]
    hidden: int
    folders: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    files: tuple[Held, ...]
    tables: tuple[Table, ...]

    @property
    def items(self) -> tuple[Item, ...]:
        """All that has bytes, in the order of the manifest."""
        return (*self.files, *self.tables)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return sum(item.size for item in self.items)

    def count_rows(self) -> dict[str, int]:
        """Return how many rows each table has, of all folders together."""
        counts = dict.fromkeys(TABLES, 0)
        for table in self.tables:
            counts[table.table] += table.rows
        return counts


def encode(manifest: Manifest) -> bytes:
    """Return the manifest as JSON."""
    return plainjson.dumps(to_builtins(manifest)) + b"\n"


def decode(data: bytes, file: str) -> Manifest:
    """Return the manifest that some JSON is."""
    try:
        return understand(plainjson.loads(data), file)
    except ValueError:
        raise BundleDamaged(MANIFEST, "is not JSON") from None


def understand(told: Any, file: str) -> Manifest:
    """Return the manifest, if all of it makes sense; a newer one is not looked into."""
    if not isinstance(told, dict):
        raise NotABundle(file, "its manifest is another's")
    head = cast("dict[str, object]", told)
    if head.get("kind") != KIND:
        raise NotABundle(file, "its manifest is another's")
    version = head.get("schema_version")
    if type(version) is not int or version > SCHEMA_VERSION:
        raise NewerBundle(version)
    try:
        manifest = convert(told, Manifest)
    except (ValidationError, RecursionError) as error:
        raise BundleDamaged(MANIFEST, f"makes no sense ({error})") from None
    _refuse_odd(manifest)
    return manifest


def _refuse_odd(manifest: Manifest) -> None:
    """Refuse paths that lead elsewhere or take each other's place, and numbers that cannot be."""
    for part in ("files", "trash", "namespaces"):
        paths = [held.path for held in manifest.files if held.part == part]
        _refuse_paths(paths)
        if part == "namespaces" and (deep := next((path for path in paths if "/" in path), None)):
            raise UnsafeBundle(deep, "is no name of a namespace")
    if manifest.folders[:1] != ("",) or len(set(manifest.folders)) < len(manifest.folders):
        raise UnsafeBundle(MANIFEST, "names its folders twice, or not its root first")
    for folder in manifest.folders[1:]:
        refuse_path(folder)
    known = {(folder, table) for folder in manifest.folders for table in TABLES}
    for table in manifest.tables:
        if (table.folder, table.table) not in known:
            raise UnsafeBundle(table.table, "is no table of records, or comes twice")
        known.discard((table.folder, table.table))
    if any(item.size < 0 for item in manifest.items) or any(table.rows < 0 for table in manifest.tables):
        raise UnsafeBundle(MANIFEST, "has a size below zero")
    entries = [item.entry for item in manifest.items]
    if len(set(entries)) < len(entries) or MANIFEST in entries:
        raise UnsafeBundle(MANIFEST, "names an entry twice")


def _refuse_paths(paths: Iterable[str]) -> None:
    seen = list(paths)
    for path in seen:
        refuse_path(path)
    if twice := crowded(seen):
        raise UnsafeBundle(twice, "comes twice, or is a file and a folder")
