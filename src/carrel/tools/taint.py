"""What stands behind a write that a model asks for: its owner's words, its own, or somebody else's.

A model that has read a web page, a file or a stranger's message may write what that told it to. So a turn is
tainted from the first result of a tool on, but for results that only say what became of a write, and what it
writes then waits for the owner, unless the owner's own words in this turn say the same. What was read in
earlier turns taints what repeats a sentence or an address of it.
"""

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from carrel.memory.support import addresses, asks, denies, exact, names, sentences_on, spelt_out
from carrel.memory.trust import OUTSIDE, least, trust_of
from carrel.memory.words import content_stems, stems
from carrel.records.facts import Trust
from carrel.sessions.transcript import Entry

Heard = Callable[[], Sequence[Entry]]
"""Returns what the model has read of its session when it calls a tool, the last said last."""

HARMLESS = frozenset(("edit_file", "memory_write", "write_file"))
"""Tools whose results hold nothing but what the model itself has given them, and what became of it."""

MOST_EVIDENCE = 20
_COMPARED = 200_000  # characters of a message
_ECHO = 0.8
_HALF = 0.5
# How something is told, whoever said it: these words need not be the owner's.
_TELLING = content_stems("user owner prefers likes wants needs uses said asked decided always currently")


def nothing_heard() -> Sequence[Entry]:
    """Return that nothing was said: whoever calls the tool is the owner themselves."""
    return ()


class Turn(Struct, frozen=True, kw_only=True):
    """The turn in which a tool is called: what the owner said, and what came from outside in it or before."""

    own: tuple[Entry, ...] = ()
    outside: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    said: str = ""
    """All that the owner has said, in this turn and before."""
    trust: Trust = "agent"
    """How far what the model says by now may be trusted, where its owner does not say the same."""

    def trust_in(self, text: str, within: str | None = None) -> Trust:
        """Return how far a text that the model wants to write may be trusted.

        Where it stands `within` a file of every prompt, no new word may be one that only others have said.
        """
        if self.says(text):
            return "owner"
        if self.outside:
            return self.trust
        unsaid = content_stems(text) - stems(self.said) - stems(within or "")
        share = _HALF if within is None else 0.0
        is_echo = any(
            _repeats(text, entry) or self._brings(entry, text, unsaid, share) for entry in self.earlier
        )
        return "tool" if is_echo else "agent"

    def says(self, text: str) -> bool:
        """Tell whether the owner's own words in this turn say what a text says.

        Where something from outside says it too, it does not count that the owner has asked.
        """
        is_echo = any(_repeats(text, entry) for entry in (*self.outside, *self.earlier))
        return any(says(entry.to_text(), text, stated=is_echo) for entry in self.own)

    def _brings(self, entry: Entry, text: str, unsaid: Collection[str], share: float) -> bool:
        """Tell whether a message has what the owner never said: an address, a name, so many of the words."""
        told = spelt_out(_text(entry))
        both = (addresses(text) & (exact(told) | addresses(told))) | (exact(text) & addresses(told))
        if both - exact(self.said) - addresses(self.said):
            return True
        common = stems(told).intersection(unsaid)
        is_much = len(common) > 1 and len(common) >= share * len(unsaid)
        return is_much or not common.isdisjoint(names(text) if share else unsaid)

    @property
    def evidence(self) -> tuple[str, ...]:
        """The ids of what was said in the turn: by the owner, and last from outside."""
        entries = (*self.own, *self.outside[::-1])
        return tuple(entry.message_id for entry in entries if entry.message_id)[:MOST_EVIDENCE]


def turn_in(entries: Sequence[Entry], owners: Collection[str] = ()) -> Turn:
    """Return the turn that goes on: it began with the last thing that the owner said before anybody answered.

    Where the owner said nothing, all of it is one turn.
    """
    trusts: list[Trust] = [trust_of([entry], 0, owners) for entry in entries]
    begin = _begin(entries, trusts)
    told: list[tuple[Entry, Trust]] = list(zip(entries, trusts, strict=True))
    outside = [each for each in told[begin:] if _is_outside(*each)]
    return Turn(
        own=tuple(entry for entry, trust in told[begin:] if trust == "owner"),
        outside=tuple(entry for entry, _ in outside),
        earlier=tuple(entry for entry, trust in told[:begin] if _is_outside(entry, trust)),
        said="\n".join(_text(entry) for entry, trust in told if trust == "owner"),
        trust=least(trust for _, trust in outside) if outside else "agent",
    )


def says(message: str, text: str, *, stated: bool = False) -> bool:
    """Tell whether a message says what a text says: it has every word of it, and denies as much or as little.

    Half of the words would do to tell what was made up. Here somebody may want to add one that is theirs, or
    to change a sign of an address. With `stated`, questions do not count.
    """
    wanted, message = content_stems(text) - _TELLING, message[:_COMPARED]
    spoken = [part for part in sentences_on(message, wanted) if not (stated and asks(part))]
    heard = {stem for part in spoken for stem in stems(part)}
    is_whole = bool(wanted) and wanted <= heard and exact(text) <= exact(message)
    return is_whole and denies(text) == any(map(denies, spoken))


def _begin(entries: Sequence[Entry], trusts: Sequence[Trust]) -> int:
    """Return where the last messages of the owner's begin that nobody has answered in between."""
    begin = next((place for place in reversed(range(len(entries))) if trusts[place] == "owner"), 0)
    while begin and entries[begin - 1].role == "user":
        begin -= 1
    return begin


def _is_outside(entry: Entry, trust: Trust) -> bool:
    return trust in OUTSIDE and not (entry.role == "tool" and entry.name in HARMLESS)


def _repeats(text: str, entry: Entry) -> bool:
    """Tell whether most of what a text says stands in a message, or of what a sentence of several words says.

    Who hides an order among other sentences, or in the place of another line, says it none the less.
    """
    heard = stems(spelt_out(_text(entry)))
    words = content_stems(text)
    parts = [content_stems(part) for part in sentences_on(text, words)]
    told = [words, *(part for part in parts if len(part) > 1)]
    return any(part and len(part & heard) >= _ECHO * len(part) for part in told)


def _text(entry: Entry) -> str:
    return entry.to_text()[:_COMPARED]
