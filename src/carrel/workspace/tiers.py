"""Which tier of memory a file belongs to, whose it is, and of which day: by where it stands."""

import re
from collections.abc import Collection
from datetime import date

from msgspec import Struct

from carrel.workspace.layout import Layout

_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[-_.].*)?\.md", re.DOTALL)
MEMORY = frozenset(("journal", "profile", "graph", "procedure"))
"""The tiers that an agent writes itself; documents and knowledge are its owner's."""

_PROFILES = frozenset(("USER.md", "MEMORY.md"))
_ARCHIVE = "archive"
"""The folder, in that of the days, for old days and for what fell out of MEMORY.md."""

_NOTEBOOKS = "memory"
"""The folder of notebooks, and of days where the layout names no other."""


class Standing(Struct, frozen=True):
    """Where a file stands in an agent's memory; it may be of one agent and of one day."""

    tier: str
    agent: str = ""
    date: str = ""


def standing_of(path: str, layout: Layout, agents: Collection[str]) -> Standing:
    """Return the tier of a file: a day of the journal, a notebook, an entity, a procedure, or a document."""
    inner = path.removeprefix(layout.home)
    folder, _, name = inner.rpartition("/")
    owner = _owner(inner, agents)
    days = layout.journal.removeprefix(layout.home) or _NOTEBOOKS
    if folder in (days, f"{days}/{_ARCHIVE}") and (day := day_of(name)):
        return Standing("journal", date=day)
    if folder == _NOTEBOOKS and name.removesuffix(".md") in agents:
        return Standing("profile", agent=name.removesuffix(".md"))
    if (name in _PROFILES and not folder) or (folder == f"{days}/{_ARCHIVE}" and name.startswith("MEMORY-")):
        return Standing("profile")
    for beginning, tier in _FOLDERS.items():
        if f"/{inner}".startswith(f"/{beginning}/"):
            return Standing(tier, agent=owner)
    if owner and name == "memory.md":
        return Standing("profile", agent=owner)
    return Standing("document", agent=owner)


def day_of(name: str) -> str:
    """Return the day that a file of the journal is named after, "" where it is none of these.

    It is a day that there is, and behind it stands nothing or a slug: 2026-04-24.md, 2026-04-24-topic.md.
    """
    found = _DAY.fullmatch(name)
    try:
        return date.fromisoformat(found[1]).isoformat() if found else ""
    except ValueError:
        return ""


_FOLDERS = {
    "memory/entities": "graph",
    "memory/procedures": "procedure",
    "skills": "procedure",
    "knowledge": "knowledge",
}


def _owner(path: str, agents: Collection[str]) -> str:
    """Return whose folder a file is in, nobody's where it is everybody's."""
    first, _, rest = path.partition("/")
    owner = rest.partition("/")[0] if first == "agents" else ""
    return owner if owner in agents else ""
