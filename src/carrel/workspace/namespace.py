"""Namespaces: the named stores of what an agent learnt, outside any workspace (Layer A)."""

from hashlib import sha256

from msgspec import Struct

from carrel.markdown.frontmatter import update
from carrel.settings import AgentSettings
from carrel.workspace.document import Document, Reading

SUFFIX = ".md"
LONGEST_TITLE = 200
"""Characters; a title is one line that people tell namespaces apart by."""

_BEGINNING = "---\ntitle: Experience\nenabled: false\n---\n"


class Namespace(Struct, frozen=True, kw_only=True):
    """One store: its file below the namespaces directory, the title people know it by, and whose it is.

    One of a profile belongs to every agent that names the profile, wherever it works.
    """

    path: str
    title: str
    agent: str = ""
    profile: str = ""
    workspace: str = ""

    @property
    def key(self) -> str:
        """What it is called for good, whatever its title."""
        return key_of(self.path)


def namespace_of(agent: AgentSettings, name: str, workspace: str) -> Namespace:
    """Return an agent's own namespace: of its source profile, else of this agent in this workspace."""
    title = f"Agent Experience: {name}"
    if agent.profile:
        path = f"profile.{_safe(agent.profile)}{SUFFIX}"
        return Namespace(path=path, title=title, profile=agent.profile)
    key = sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    path = f"agent.{key}.{agent.id}{SUFFIX}"
    return Namespace(path=path, title=title, agent=agent.id, workspace=workspace)


def switched_on(reading: Reading) -> list[Document]:
    """Return the namespaces that everyone reads."""
    found = reading.documents([each.path for each in reading.list("") if each.path.endswith(SUFFIX)])
    return [each for each in found if each is not None and each.meta.extra.get("enabled") is True]


def key_of(path: str) -> str:
    """Return the key of the namespace that has this file."""
    return path.removesuffix(SUFFIX)


def beginning(namespace: Namespace) -> str:
    """Return the text of a namespace before anything is learnt: whose it is, and that no other reads it."""
    told = {
        "title": plain_title(namespace.title)[:LONGEST_TITLE],
        "agent": namespace.agent,
        "profile": plain_title(namespace.profile)[:LONGEST_TITLE],
        "workspace": plain_title(namespace.workspace),
    }
    return update(_BEGINNING, {key: value for key, value in told.items() if value})


def plain_title(text: str) -> str:
    """Return a title as one line that every reader takes for the same: no breaks, no halves of characters."""
    whole = text.encode("utf-8", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in whole).split())


def _safe(profile: str) -> str:
    """Return a profile as part of a file name; one that could not be such a part becomes its digest."""
    if all(c.isascii() and (c.isalnum() or c in "._-") for c in profile) and len(profile) < 100:  # noqa: PLR2004 - well within a file name
        return profile
    return sha256(profile.encode("utf-8", "surrogateescape")).hexdigest()[:32]
