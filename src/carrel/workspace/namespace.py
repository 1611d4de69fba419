"""Namespaces: the named stores of what an agent learnt, outside any workspace (Layer A)."""

from hashlib import sha256

from msgspec import Struct

from carrel.settings import AgentSettings


class Namespace(Struct, frozen=True, kw_only=True):
    """One store: its file below the namespaces directory, and the title people know it by."""

    path: str
    title: str


def namespace_of(agent: AgentSettings, name: str, workspace: str) -> Namespace:
    """Return an agent's own namespace: of its source profile, else of this agent in this workspace."""
    title = f"Agent Experience: {name}"
    if agent.profile:
        return Namespace(path=f"profile.{_safe(agent.profile)}.md", title=title)
    key = sha256(workspace.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return Namespace(path=f"agent.{key}.{agent.id}.md", title=title)


def _safe(profile: str) -> str:
    """Return a profile as part of a file name; one that could not be such a part becomes its digest."""
    if all(c.isascii() and (c.isalnum() or c in "._-") for c in profile) and len(profile) < 100:  # noqa: PLR2004 - well within a file name
        return profile
    return sha256(profile.encode("utf-8", "surrogateescape")).hexdigest()[:32]
