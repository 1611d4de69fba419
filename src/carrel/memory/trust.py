"""How far a fact may be trusted: by who said what it was taken from.

What came from outside must not enter memory by itself: results of tools, group members, other agents, and
whatever the assistant said after it had read them.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import get_args

from carrel.memory.support import supports
from carrel.records.facts import Trust
from carrel.screen.injection import suspicious
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry
from carrel.workspace.scope import Scope

AGENT = "agent"
"""The source of what another agent says in a session."""

MCP = "mcp"
"""The source of what a client records that speaks for others: who said it, and after what, nobody saw."""

OUTSIDE: frozenset[Trust] = frozenset(("tool", "external"))
"""Where a fact may come from that its owner has to approve."""

_OWNERS_RIGHT = frozenset(("standing_order", "delayed_trigger"))  # `When I say ship it, run the checklist`
_MAIN = ("", Scope.MAIN)  # what does not say was the owner's alone
_FIRST = 20
_ORDER: tuple[Trust, ...] = get_args(Trust)


def owners_of(sessions: Sessions, session: str, user: str | None) -> tuple[str, ...]:
    """Return the ids of the owner as a sender in a session: as the settings say, else whoever spoke first.

    In main scope the owner is alone, so that whoever began is the owner, and who comes later is not. Where
    somebody speaks without an id, that is the owner, and nobody else.
    """
    if user:
        return (user,)
    first = [
        entry.sender_id or ""
        for entry in (placed.entry for placed in sessions.page(session, limit=_FIRST).entries)
        if entry.role == "user" and entry.scope in _MAIN and entry.source_plugin != AGENT
    ]
    return tuple(first[:1]) if first and all(first) else ()


def trust_of(entries: Sequence[Entry], index: int, owners: Collection[str] = ()) -> Trust:
    """Return how far one message of a turn may be trusted; `owners` are the ids of its owner as a sender."""
    return trusts_of(entries[: index + 1], owners)[-1]


def trusts_of(entries: Sequence[Entry], owners: Collection[str] = ()) -> list[Trust]:
    """Return how far each message of a turn may be trusted.

    A reply is the agent's own word only where nothing from outside stands before it in the turn.
    """
    found: list[Trust] = []
    outside: Trust = "agent"
    for entry in entries:
        own = _own(entry, owners)
        if own in OUTSIDE:
            outside = least((outside, own))
        found.append(outside if own == "agent" else own)
    return found


def least(trusts: Iterable[Trust]) -> Trust:
    """Return the least trusted of some sources."""
    return max(trusts, key=_ORDER.index)


def trust_of_fact(text: str, evidence: Sequence[tuple[Trust, str]]) -> Trust:
    """Return how far a fact may be trusted that was taken from these texts.

    The least of them counts, but where the owner's own words support it by themselves, the owner said it.
    """
    own = [said for trust, said in evidence if trust == "owner"]
    if own and supports(text, own):
        return "owner"
    return least(trust for trust, _ in evidence)


def is_suspect(text: str, trust: Trust) -> bool:
    """Tell whether a text hides something or gives orders; its owner may say how and when to do what."""
    signs = frozenset(suspicious(text))
    return bool(signs - _OWNERS_RIGHT if trust == "owner" else signs)


def _own(entry: Entry, owners: Collection[str]) -> Trust:
    """Return how far a message may be trusted by itself."""
    is_main = entry.scope in _MAIN and entry.source_plugin != MCP
    if entry.role == "user":
        is_own = not entry.sender_id or entry.sender_id in owners
        return "owner" if is_main and is_own and entry.source_plugin != AGENT else "external"
    if entry.role == "tool":
        return "tool"
    if entry.role == "system":
        return "system" if is_main else "external"
    return "agent" if is_main else "external"
