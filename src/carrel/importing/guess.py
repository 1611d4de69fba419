"""Which kind of thing a source is, by what is in it."""

from itertools import islice
from pathlib import Path

from carrel.config import WORKSPACE_FILE
from carrel.errors import UsageError
from carrel.files import show
from carrel.files.disk import typed_failures
from carrel.importing.piece import BASIC_MEMORY, CLAUDE_CODE, EXPORT, KINDS, OBSIDIAN
from carrel.importing.source import Folder, text_of
from carrel.importing.talks import is_transcript
from carrel.importing.workspaces import layout_named
from carrel.markdown.frontmatter import parse
from carrel.workspace.detect import DEFAULT_LAYOUT, detect_layout

_INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", ".claude")
_PERSONA = ("AGENTS.md", "SOUL.md", "IDENTITY.md")
_LOOKED_AT = 50
_BEGINNING = 65_536


class UnknownSource(UsageError):
    """Nothing gives away what a source is, or it is nothing that can be imported."""

    code = "unknown_source"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"{show(location)} is nothing that Carrel knows how to import.",
            hint=f"Say what it is with --from: {', '.join(KINDS)}.",
        )


def guess_kind(source: Folder, path: Path) -> str:
    """Return what a source is; the first sign counts, and without any nothing is guessed."""
    with typed_failures(str(path)):
        is_file = path.is_file()
    kind = _of_file(source, path) if is_file else _of_folder(source)
    if kind is None:
        raise UnknownSource(str(path))
    return kind


def _of_file(source: Folder, path: Path) -> str | None:
    if path.name in _INSTRUCTIONS:
        return CLAUDE_CODE
    part = source.files.part(path.name, 0, _BEGINNING)
    if part is None:
        return None
    if part.data.startswith(b"PK\x03\x04") or b'"carrel.bundle"' in part.data:
        return EXPORT
    is_log = path.suffix == ".jsonl" and is_transcript(part.data)
    return CLAUDE_CODE if is_log or path.name == "MEMORY.md" else None


def _of_folder(source: Folder) -> str | None:
    detected = detect_layout(source.files, source.location)
    if source.has(WORKSPACE_FILE):
        return layout_named(source) or detected or DEFAULT_LAYOUT
    if source.has(".obsidian"):
        return OBSIDIAN
    is_claudes = any(source.has(name) for name in _INSTRUCTIONS) or _is_claudes(source)
    if detected or is_claudes:
        return detected or CLAUDE_CODE
    if any(source.has(name) for name in _PERSONA):
        return DEFAULT_LAYOUT
    return BASIC_MEMORY if _has_permalinks(source) else None


def _is_claudes(source: Folder) -> bool:
    """Tell whether a folder is one that Claude Code made: its notes, or its transcripts."""
    if source.location.endswith(f"/{_INSTRUCTIONS[-1]}"):
        return True
    if source.has("memory/MEMORY.md") or source.has("MEMORY.md"):
        return not any(source.has(name) for name in _PERSONA)
    logs = (item.path for item in source.files.list() if item.kind == "file" and item.path.endswith(".jsonl"))
    parts = (source.files.part(path, 0, _BEGINNING) for path in islice(logs, 3))
    return any(part is not None and is_transcript(part.data) for part in parts)


def _has_permalinks(source: Folder) -> bool:
    """Tell whether some of the first notes have the id that basic-memory gives to each."""
    notes = (item.path for item in source.items() if item.path.endswith(".md") and not item.problem)
    texts = (text_of(source, path) for path in islice(notes, _LOOKED_AT))
    return any("permalink" in parse(text.replace("\r\n", "\n")).meta.extra for text in texts if text)
