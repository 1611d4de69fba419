"""The memory of Claude Code: its instructions, its rules, what it noted by itself, and its transcripts."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace

from carrel.importing.blocks import Block, blocks_of, facts_in
from carrel.importing.piece import Piece, Role
from carrel.importing.source import FILE_LIMIT, Item, Source, text_of
from carrel.markdown.frontmatter import parse
from carrel.markdown.structure import structure_of
from carrel.workspace.ignore import ignore_rules

INDEX = "MEMORY.md"
_INSTRUCTIONS = {"CLAUDE.md": False, ".claude/CLAUDE.md": False, "CLAUDE.local.md": True}
"""The files of instructions, and which of them are for their owner's eyes alone."""

_RULES = ".claude/rules"
_FOLDERS: dict[str, Role] = {".claude/skills": "skill", ".claude/agents": "subagent"}
_SHELF = "claude-code"
_MOST_IMPORTS = 50
_MOST_LOOKED_AT = 50_000
# An import stands alone or among words, and not within code.
_IMPORT = re.compile(r"(?<![\w`@])@((?:~/|\.{1,2}/|/)?[\w.-]+(?:/[\w.-]+)*)")
_SPAN = re.compile(r"`[^`\n]*`")


def read_claude(source: Source) -> Iterator[Piece]:
    """Yield what Claude Code keeps of a project, of its user, or in a folder of its own."""
    is_users = source.location.rstrip("/").rpartition("/")[2] == ".claude"
    for path, private in _INSTRUCTIONS.items():
        if source.has(path):
            yield from _instructions(source, path, {path}, private=private or is_users)
    if not is_users and any(map(source.has, _INSTRUCTIONS)):
        yield from _nested(source)
    yield from _rules(source, "rules" if is_users else _RULES)
    for folder, role in _FOLDERS.items():
        inner = folder.removeprefix(".claude/") if is_users else folder
        for item in source.items(inner) if source.has(inner) else ():
            yield _file(item, role, item.path.removeprefix(f"{inner}/"))
    yield from _folders(source, is_users=is_users)


def _folders(source: Source, *, is_users: bool) -> Iterator[Piece]:
    """Yield what stands in folders that Claude Code makes: notes by project, and transcripts beside them."""
    is_project = any(source.has(path) for path in (*_INSTRUCTIONS, ".claude", ".git")) and not is_users
    if is_project:
        return
    if source.has(INDEX):
        yield from _noted(source, "", list(source.items()))
        return
    for item in source.items("projects" if is_users else ""):
        folder, _, name = item.path.rpartition("/")
        if name.endswith(".jsonl"):
            yield _talk(item)
        elif name == INDEX:
            yield from _noted(source, folder, list(source.items(folder)))


def _instructions(source: Source, path: str, seen: set[str], *, private: bool) -> Iterator[Piece]:
    """Yield a file of instructions section by section, and what it imports from inside of the source."""
    text = text_of(source, path)
    if text is None:
        yield Piece(source=path, role="left", reason="it is not UTF-8 text, or cannot be read")
        return
    for block in blocks_of(text):
        yield _block(path, block, private=private)
    for line, name in _imports(text):
        inner = _inside(path, name)
        if inner is None or not source.has(inner) or ignore_rules(None)(inner) or len(seen) > _MOST_IMPORTS:
            why = f"it imports {name}, which is not inside of what is imported, or is kept out"
            yield Piece(source=path, line=line, role="left", reason=why)
        elif inner not in seen:
            seen.add(inner)
            yield from _instructions(source, inner, seen, private=private)


def _rules(source: Source, folder: str) -> Iterator[Piece]:
    """Yield rules; one for some paths only is knowledge, since not every prompt holds it."""
    for item in source.items(folder) if source.has(folder) else ():
        name = item.path.removeprefix(f"{folder}/")
        text = text_of(source, item.path) if item.path.endswith(".md") and not item.problem else None
        if text is None or parse(text.replace("\r\n", "\n")).meta.extra.get("paths"):
            yield _file(item, "knowledge", f"{_SHELF}/rules/{name}")
            continue
        title = PurePosixPath(name).stem.replace("-", " ").replace("_", " ").strip().capitalize()
        for block in blocks_of(text, title or "Rules"):
            yield _block(item.path, block)


def _nested(source: Source) -> Iterator[Piece]:
    """Yield instructions that stand deeper in a project: they are for some paths only, as such rules are."""
    for number, item in enumerate(source.items(but=ignore_rules(None))):
        if number >= _MOST_LOOKED_AT:
            why = f"it has more than {_MOST_LOOKED_AT:,} files: import the folders whose CLAUDE.md is missing"
            yield Piece(source=source.location, role="left", reason=why)
            return
        folder, _, name = item.path.rpartition("/")
        if item.path in _INSTRUCTIONS and item.problem:
            yield Piece(source=item.path, role="left", reason=item.problem)
        elif name in _INSTRUCTIONS and folder and item.path not in _INSTRUCTIONS:
            # By the name that it has there it would be instructions here, for every agent that comes by.
            called = f"{folder.removesuffix('/.claude')}{name.removeprefix('CLAUDE')}"
            piece = _file(item, "knowledge", f"{_SHELF}/rules/{called}")
            yield replace(piece, private=_INSTRUCTIONS[name])


def _noted(source: Source, folder: str, items: list[Item]) -> Iterator[Piece]:
    """Yield what Claude Code noted by itself: the lines of its index as facts, each file as knowledge.

    The index is kept as knowledge too, so that no word of it is lost which is no fact.
    """
    above = f"{folder}/" if folder else ""
    shelf = _shelf_of(source, folder)
    for item in items:
        name = item.path.removeprefix(above)
        if name.endswith(".jsonl"):
            yield _talk(item)
            continue
        if name == INDEX:
            yield from _facts(item, text_of(source, item.path) or "", shelf)
            name = "INDEX.md"  # nothing in the folder of knowledge is memory by its name
        yield replace(_file(item, "knowledge", f"{shelf}/{name}"), private=True)


def _facts(item: Item, text: str, shelf: str) -> Iterator[Piece]:
    for block in facts_in(text):
        yield Piece(
            source=item.path,
            role="fact",
            line=block.line,
            section=block.section,
            data=_linked(block.text, shelf).encode("utf-8", "surrogateescape"),
            modified_ns=item.modified_ns,
        )


def _shelf_of(source: Source, folder: str) -> str:
    """Return the folder of knowledge for the notes of one project, by the name that it is known by."""
    parts = PurePosixPath(source.location, folder).parts
    project = parts[-2] if len(parts) > 1 and parts[-1] == "memory" else ""
    name = project.strip("-").rpartition("-")[2] if project.startswith("-") else ""
    return f"{_SHELF}/{name}" if name and "projects" in parts else _SHELF


def _linked(text: str, shelf: str) -> str:
    """Return a line of an index whose links lead to where its files will be."""
    return re.sub(r"\]\((?!\w+:|/|#)([^()\s]{1,200}\.md)\)", rf"](knowledge/{shelf}/\1)", text)


def _imports(text: str) -> Iterator[tuple[int, str]]:
    """Yield the imports of a text, each with its line."""
    fences, place = structure_of(text).fences, 0
    for number, line in enumerate(text.split("\n"), 1):
        if "@" in line and not any(begin <= place < end for begin, end in fences):
            for found in _IMPORT.finditer(_SPAN.sub(lambda span: " " * len(span[0]), line)):
                if "." in found[1] or "/" in found[1]:
                    yield number, f"@{found[1].rstrip('.')}"
        place += len(line) + 1


def _inside(path: str, name: str) -> str | None:
    """Return where an import leads inside of the source, none where it leads out of it."""
    if name.startswith(("@/", "@~")):
        return None
    parts: list[str] = list(PurePosixPath(path).parent.parts)
    for part in name[1:].split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)


def _block(path: str, block: Block, *, private: bool = False) -> Piece:
    return Piece(
        source=path,
        role="block",
        line=block.line,
        section=block.section,
        data=block.text.encode("utf-8", "surrogateescape"),
        private=private,
    )


def _talk(item: Item) -> Piece:
    return _file(item, "talk", item.path.rpartition("/")[2].removesuffix(".jsonl"))


def _file(item: Item, role: Role, name: str) -> Piece:
    if item.problem or item.size > FILE_LIMIT:
        return Piece(source=item.path, role="left", reason=item.problem or "it is too large")
    return Piece(source=item.path, role=role, name=name, modified_ns=item.modified_ns)
