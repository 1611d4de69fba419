"""Where dreaming writes: the notebook that a prompt has, and a diary that none has."""

from fnmatch import fnmatchcase

from carrel.memory.places import notebook_of
from carrel.settings import AgentSettings
from carrel.workspace.layout import Layout

MEMORY = "MEMORY.md"
DIARY = "DREAMS.md"


def target_of(layout: Layout, agent: AgentSettings) -> str:
    """Return the file that is promoted to: MEMORY.md where the prompt has it, else the agent's notebook."""
    path = f"{layout.home}{MEMORY}"
    return path if _is_read(layout, path) else notebook_of(layout, agent)


def diary_of(layout: Layout) -> str:
    """Return the file of the diary: where a prompt would take it for a document, it stands with the days."""
    path = f"{layout.home}{DIARY}"
    return f"{layout.journal or f'{layout.home}memory'}/{DIARY}" if _is_read(layout, path) else path


def _is_read(layout: Layout, path: str) -> bool:
    """Tell whether a prompt has a file of this path."""
    name = path.rpartition("/")[2]
    parts = (part for message in layout.messages for part in message.parts if name not in part.without)
    read = (pattern for part in parts if part.kind in ("documents", "notebook") for pattern in part.files)
    return any(fnmatchcase(path, pattern) for pattern in read)
