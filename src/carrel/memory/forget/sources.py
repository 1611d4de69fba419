"""Which messages come from somebody or from a file, and which came after them in the same turn; pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from carrel import plainjson
from carrel.records.facts import Fact
from carrel.sessions.transcript import Entry

Source = Callable[[Entry], bool]
"""Tells whether a message comes from where somebody wants to forget."""


class Heard(Struct, frozen=True):
    """The ids of messages from a source, and of those that came after one in the same turn."""

    own: frozenset[str]
    after: frozenset[str]

    def taught(self, fact: Fact) -> bool:
        """Tell whether a fact was taken from them; what the owner said behind them is the owner's."""
        evidence = set(fact.evidence)
        return bool(evidence & self.own) or (fact.trust != "owner" and bool(evidence & self.after))


def heard(entries: Iterable[Entry], source: Source) -> Heard:
    """Return the messages of a session that come from a source; a turn ends where a user speaks again."""
    own, after = set[str](), set[str]()
    is_after = False
    for entry in entries:
        is_own = source(entry)
        if is_own:
            own.add(entry.message_id)
        is_after = is_own or (is_after and entry.role != "user")
        if is_after:
            after.add(entry.message_id)
    return Heard(frozenset(own - {""}), frozenset(after - {""}))


def from_sender(sender: str) -> Source:
    """Return what tells the messages of one sender."""
    return lambda entry: entry.role == "user" and entry.sender_id == sender


def from_file(path: str) -> Source:
    """Return what tells the results and calls of tools that name a file."""

    def names(entry: Entry) -> bool:
        if entry.role == "tool":
            return path in entry.to_text()
        return any(path in _arguments(call.arguments) for call in entry.tool_calls)

    return names


def _arguments(given: object) -> str:
    return given if isinstance(given, str) else plainjson.dumps(given).decode("utf-8", "replace")
