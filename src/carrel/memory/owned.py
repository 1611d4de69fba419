"""Whose words stand in a file: those that Carrel wrote may be replaced by it, its owner's may not."""

from collections.abc import Iterator

from carrel.memory.pen import Author, Pen
from carrel.memory.sorting import OWNER
from carrel.memory.splice import hunks_of
from carrel.records import Records
from carrel.records.changes import Changes
from carrel.records.facts import Store

_PAGE = 100
_MOST_CHANGES = 1_000
_MOST_FACTS = 10_000


def text_at(pen: Pen, store: Store, path: str) -> str:
    """Return what stands in a file as the pen reads it; nothing where there is no file."""
    found: list[str] = []

    def look(text: str | None) -> None:
        found.append(text or "")

    pen.edit(store, path, look, Author(actor="", action="look"))
    return found[-1]


def is_owners(records: Records, store: Store, path: str, text: str) -> bool:
    """Tell whether some of a file's lines are its owner's: pinned, or written by nobody that is known here.

    In doubt they are. What the owner wrote by hand is in no change, and what they wrote through Carrel is in
    one of their own.
    """
    lines = _lines(text)
    if not lines:
        return False
    for fact in records.facts.find(store=store, path=path, states=("written",), limit=_MOST_FACTS):
        if fact.line.strip() in lines and fact.pinned:
            return True
    for added in _added(records.changes, store, path):
        lines -= added
        if not lines:
            return False
    return True


def _added(changes: Changes, store: Store, path: str) -> Iterator[set[str]]:
    """Yield the lines that each change by somebody else than the owner has added, the newest first."""
    before: int | None = None
    for _ in range(_MOST_CHANGES // _PAGE):
        page = changes.list(store=store, path=path, state="done", before=before, limit=_PAGE)
        for change in page:
            if change.actor != OWNER:
                hunks = hunks_of(change.splice)
                yield _lines(b"".join(line for hunk in hunks for line in hunk.new).decode(errors="replace"))
        if not page:
            return
        before = page[-1].id


def _lines(text: str) -> set[str]:
    return {stripped for line in text.splitlines() if (stripped := line.strip())}
