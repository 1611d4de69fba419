"""Facts for memory by rules: what the owner states in plain sentences, as claims like a model's.

It costs nothing and guesses nothing, so that memory works where no provider is at hand.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from carrel.memory.claims import Claim
from carrel.memory.extract import Stretch
from carrel.memory.sameness import corrected_by
from carrel.records.facts import Fact
from carrel.runtime.offline.facts import Kind, facts_in

MOST = 100
"""How many claims are made of one stretch; more are no conversation."""

_LONGEST = (
    4_000  # characters of a message; a longer one holds a document, which somebody else may have written
)
_OF_USER = "The user"
_KINDS: dict[Kind, str] = {"preference": "preference", "decision": "decision", "tool": "convention"}
_TRAVELLING = frozenset(("preference", "user"))


def claims_of(stretch: Stretch, known: Sequence[Fact] = ()) -> tuple[Claim, ...]:
    """Return what the owner's messages state, each statement once with all messages that make it.

    What is corrected in the same breath was never true.
    """
    found: dict[str, Claim] = {}
    for kind, text, message in _stated(stretch):
        earlier = list(found)
        if kind == "correction" and (place := corrected_by(text, earlier)) is not None:
            del found[earlier[place]]
        claim = found.get(text) or _claim(kind, text, known)
        found[text] = replace(claim, evidence=tuple(dict.fromkeys((*claim.evidence, message))))
    return tuple(found.values())


def _stated(stretch: Stretch) -> Iterator[tuple[Kind, str, str]]:
    for told in stretch.messages:
        if told.role == "user" and told.trust == "owner" and len(told.text) <= _LONGEST:
            for kind, text in facts_in(told.text):
                yield kind, text, told.id


def _claim(kind: Kind, text: str, known: Sequence[Fact]) -> Claim:
    own = _KINDS.get(kind) or ("user" if text.startswith(_OF_USER) else "note")
    corrected = corrected_by(text, [fact.text for fact in known]) if kind == "correction" else None
    return Claim(
        text=text,
        layer="experience" if own in _TRAVELLING else "project",
        kind=own,
        subject="user" if own in _TRAVELLING else "",
        replaces="" if corrected is None else f"f{corrected + 1}",
    )
