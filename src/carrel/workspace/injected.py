"""Which files every prompt holds, whatever is asked: those that tell an agent what it is and what it knows.

Told by names alone, and rather one too many: a file that is taken for one of them waits for its owner's
word where another would be written at once.
"""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase

from carrel.files.paths import BadPath, clean, fold
from carrel.settings import AgentSettings
from carrel.workspace.layout import Layout, Part
from carrel.workspace.skills import SKILL_FILE, skills_folder
from carrel.workspace.subagents import subagents_folder

NAMES = (
    "agents.md", "bootstrap.md", "claude.md", "heartbeat.md", "identity.md", "memory.md", "soul.md",
    "tools.md", "user.md", fold(SKILL_FILE),
)  # fmt: skip
"""Files that say who somebody is, in any folder: agents may have workspaces of their own inside this one."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}.*\.md", re.ASCII | re.DOTALL)
_NOTEBOOKS = "memory"

Injected = Callable[[str], bool]
"""Tells whether a path is that of a file which every prompt holds."""


def injected_by(layout: Layout, agents: Collection[AgentSettings]) -> Injected:
    """Return what tells the files that the prompts of these agents hold."""
    patterns = frozenset(_folded(pattern) for pattern in _patterns(layout, agents))
    without = frozenset(
        fold(name) for message in layout.messages for part in message.parts for name in part.without
    )
    days = {_folded(folder) for folder in _day_folders(layout)}

    def is_injected(path: str) -> bool:
        folded = _folded(path)
        folder, _, name = folded.rpartition("/")
        if name in NAMES or (folder in days and _DAY.fullmatch(name)):
            return True
        return name not in without and any(_matches(folded, pattern) for pattern in patterns)

    return is_injected


def _patterns(layout: Layout, agents: Collection[AgentSettings]) -> Iterator[str]:
    """Yield paths, in which `*` stands for some of a name and a slash at the end for all below."""
    yield f"{skills_folder(layout)[0]}/"
    yield f"{subagents_folder(layout)}/"
    for agent in agents:
        yield f"{layout.home}{_NOTEBOOKS}/{agent.id}.md"
        for path in agent.additional_context_files:
            with suppress(BadPath):  # it is not in the prompt either
                yield clean(path)
    for part in (part for message in layout.messages for part in message.parts):
        yield from _of_part(part, agents)


def _of_part(part: Part, agents: Collection[AgentSettings]) -> Iterator[str]:
    for pattern in part.files:
        yield from (pattern.replace("{agent}", agent.id) for agent in agents)
    if part.kind == "knowledge":
        yield f"{part.folder}/{part.entry}"
    elif part.kind == "skills":
        yield f"{part.folder}/"


def _day_folders(layout: Layout) -> Iterator[str]:
    yield layout.journal or f"{layout.home}{_NOTEBOOKS}"
    yield from (
        part.folder for message in layout.messages for part in message.parts if part.kind == "journal"
    )


def _matches(path: str, pattern: str) -> bool:
    if pattern.endswith("/"):
        return path.startswith(pattern)
    if "*" not in pattern:
        return path == pattern
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def _folded(path: str) -> str:
    return "/".join(fold(name) for name in path.split("/"))
