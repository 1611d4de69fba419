"""Keeping what a hook found out for the hooks after it: answers with their stamps, small files of ours."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from carrel import plainjson
from carrel.adapters.harness import kept
from carrel.adapters.harness.kept import Kept, Stamp
from carrel.files.disk import typed_failures
from carrel.files.local import LocalFiles
from carrel.home.local import LocalHome

BLOB = "index-hooks-"
"""What the name of a kept answer begins with: whoever purges the index purges this too."""


class Head(Struct, frozen=True, kw_only=True):
    """What a kept answer is found by, until when it holds, and where its head is kept."""

    key: list[str]
    until: int
    cache: Path


def keep(home: LocalHome, answer: Kept, head: Head, *, paths: Sequence[str], began_ns: int) -> None:
    """Keep an answer with the stamps of what it was made from, unless one may change without showing it."""
    seen: dict[str, Stamp | None] = {path: kept.stamp_of(path) for path in dict.fromkeys(paths)}
    if not kept.are_settled(list(seen.values()), began_ns):
        return
    name = kept.name_of(head.key)
    text = answer.text.encode("utf-8", "surrogatepass")
    blob = home.cached(f"{BLOB}{name}")
    put(blob.parent, blob.name, text + answer.lines + answer.words)
    seen[str(blob)] = kept.stamp_of(str(blob))
    told = {
        "key": head.key,
        "until": head.until,
        "blob": str(blob),
        "sizes": [len(text), len(answer.lines), len(answer.words)],
        "seen": seen,
    }
    put(head.cache, f"{name}.json", plainjson.dumps(told))


def put(folder: Path, name: str, data: bytes) -> None:
    """Put a file of ours into a folder for its owner's eyes only, over whatever stands there."""
    with typed_failures(str(folder)):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = LocalFiles(folder)
    before = files.read(name, limit=1 << 30)
    files.write(name, data, expect=before.digest if before else None)
