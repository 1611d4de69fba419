"""Where a fact belongs: which file, and which section of it."""

from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from carrel.errors import UsageError
from carrel.files import show
from carrel.memory import journal
from carrel.memory.pages import ENTITIES, PROCEDURES, page_path
from carrel.records.facts import Fact, Store
from carrel.settings import AgentSettings
from carrel.workspace.layout import Layout
from carrel.workspace.tiers import standing_of

INSIGHTS = "Insights"
"""The section of an agent's notebook for what was learnt."""

LEARNED = "Learned"
"""The section of USER.md for what was learnt of the user."""

USER = "USER.md"

Form = Literal["bullet", "journal", "page"]


class NotebookTaken(UsageError):
    """An agent whose id makes its notebook another file, such as the journal of a day."""

    code = "notebook_taken"

    def __init__(self, agent: str, path: str) -> None:
        super().__init__(
            f"The notebook of agent {agent!r} would be {show(path)}, which is something else.",
            hint="Give the agent an id that is no date.",
        )


class Target(Struct, frozen=True, kw_only=True):
    """A place for a fact; without a section it stands among the file's own lines, at their end."""

    store: Store = "workspace"
    path: str
    section: str = ""
    form: Form = "bullet"


def place_of(fact: Fact, *, layout: Layout, agent: AgentSettings, namespace: str) -> Target:
    """Return where a fact belongs, at the moment `fact.at` as the workspace's zone has it.

    A section that the fact names itself is kept, where its file has sections.
    """
    if fact.kind == "event":
        return _in_journal(fact, layout, agent)
    if fact.kind == "user" and _reads_user(layout, agent):
        return Target(path=f"{layout.home}{USER}", section=fact.section or LEARNED)
    if folder := _PAGES.get(fact.kind) if fact.subject.strip() else None:
        return Target(path=f"{layout.home}{page_path(folder, fact.subject)}", form="page")
    if fact.layer == "experience" or fact.kind == "user":
        return Target(store="namespaces", path=namespace, section=fact.section)
    return Target(path=notebook_of(layout, agent), section=fact.section or INSIGHTS)


def notebook_of(layout: Layout, agent: AgentSettings) -> str:
    """Return the path of an agent's notebook."""
    path = f"{layout.home}memory/{agent.id}.md"
    if standing_of(path, layout, (agent.id,)).tier != "profile":
        raise NotebookTaken(agent.id, path)
    return path


_PAGES = {"entity": ENTITIES, "relation": ENTITIES, "procedure": PROCEDURES}


def _in_journal(fact: Fact, layout: Layout, agent: AgentSettings) -> Target:
    """Return the journal of the day; the notebook where the layout keeps none."""
    try:
        return Target(path=journal.day_path(layout, fact.at.date()), form="journal")
    except journal.NoJournal:
        return Target(path=notebook_of(layout, agent), section=INSIGHTS)


def _reads_user(layout: Layout, agent: AgentSettings) -> bool:
    """Tell whether an agent's prompt has what is known of the user."""
    path = f"{layout.home}{USER}"
    parts = [part for message in layout.messages for part in message.parts if part.kind == "documents"]
    is_read = any(fnmatchcase(path, pattern) for part in parts for pattern in part.files)
    return is_read and not {path, USER} & set(agent.workspace_files.exclude)
