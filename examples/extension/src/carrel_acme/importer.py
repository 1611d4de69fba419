"""An importer for the notes of Acme: `notes.jsonl`, one note on each line."""

import json
from collections.abc import Iterator
from typing import Any

from carrel.importing.piece import Piece
from carrel.importing.source import Source

NOTES = "notes.jsonl"


def read_notes(source: Source) -> Iterator[Piece]:
    """Yield each note: one with a day for the journal, any other for the knowledge."""
    for number, line in enumerate((source.read(NOTES) or b"").splitlines(), 1):
        note = _parsed(line)
        if note is None:
            yield Piece(source=NOTES, line=number, role="left", reason="it is no note")
            continue
        yield Piece(
            source=NOTES,
            line=number,
            role="journal" if note.get("day") else "knowledge",
            name=f"{note.get('day') or note['title']}.md",
            data=f"# {note['title']}\n\n{note['text']}\n".encode(),
        )


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        note = json.loads(line)
        return note if {"title", "text"} <= note.keys() else None
    except (ValueError, RecursionError, AttributeError):
        return None
