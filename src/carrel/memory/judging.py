"""Claims are held against what was said: those that it does not support are refused, and say why."""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from carrel.memory.claims import Claim
from carrel.memory.extract import Stretch, Told
from carrel.memory.fact import LONGEST, fact_id, key_of
from carrel.memory.pages import relation_line
from carrel.memory.support import brings, repeats, supports
from carrel.memory.trust import OUTSIDE, is_suspect, least, trust_of_fact
from carrel.memory.words import content_stems
from carrel.records.facts import Fact, Trust

INJECTION = "suspected_injection"
"""Why a fact waits that reads like an instruction."""

_SELF = frozenset(("", "user", "owner", "me"))
_BRINGING = frozenset(("tool", "user"))  # what an owner corrects may just have been recalled
_OF_SOMEBODY = frozenset(("entity", "relation"))
_ORDERED = re.compile(
    r"(?:you|i|the (?:assistant|agent|model|ai|bot)|assistants?|agents?)\b[^.]{0,40}?"
    r"\b(?:must|should|shall|will|have to|has to|needs? to|is to|are to|always|never)\b",
    re.IGNORECASE,
)


def facts_of(
    claims: Sequence[Claim],
    stretch: Stretch,
    known: Sequence[Fact] = (),
    *,
    agent: str,
    session: str,
    user: Collection[str] = (),
) -> tuple[Fact, ...]:
    """Return every claim as a fact: those that hold, and as refused, with the reason, those that do not.

    `known` is what the question offered, `user` what the user is called.
    """
    judge = _Judge(
        agent=agent,
        session=session,
        user=_SELF | {name.casefold() for name in user},
        places={told.id: place for place, told in enumerate(stretch.messages)},
        messages=stretch.messages,
        heard=stretch.heard,
        known={f"f{number}": fact for number, fact in enumerate(known, 1)},
    )
    return tuple({fact.id: fact for fact in map(judge.fact, claims)}.values())


class _Judge(Struct, frozen=True, kw_only=True):
    """Holds claims against the messages of a stretch."""

    agent: str
    session: str
    user: Collection[str]
    places: Mapping[str, int]
    messages: Sequence[Told]
    heard: Sequence[Told]
    known: Mapping[str, Fact]

    def fact(self, claim: Claim) -> Fact:
        """Return a claim as a fact, refused where it does not hold."""
        places = sorted({self.places[name] for name in claim.evidence if name in self.places})
        if not places:
            return self._made(claim, places, reason="unknown_evidence")
        if len(claim.text) > LONGEST:
            return self._made(claim, places, reason="too_long")
        if self._holds(claim.text, places):
            return self._made(claim, places)
        wider = sorted({*places, *(place - 1 for place in places if place)})
        if self._holds(claim.text, wider):  # an answer of one word is understood with what was asked
            return self._made(claim, wider)
        return self._made(claim, places, reason="unsupported")

    def _holds(self, text: str, places: Sequence[int]) -> bool:
        told = [self.messages[place] for place in places]
        return supports(text, [each.text for each in told], {each.at.date() for each in told})

    def _made(self, claim: Claim, places: Sequence[int], reason: str = "") -> Fact:
        told = [self.messages[place] for place in places]
        evidence = tuple(each.message_id for each in told)
        text, trust = claim.text[:LONGEST], self._trust(claim.text, places)
        at = max((each.at for each in told), default=self.messages[-1].at)
        kind, replaced = self._kind(claim, trust), self.known.get(claim.replaces)
        day = at.date().isoformat()
        return Fact(
            id=fact_id(self.agent, self.session, evidence, claim.text),
            agent=self.agent,
            layer=claim.layer,
            kind=kind,
            text=text,
            key=key_of(text),
            at=at,
            session=self.session,
            evidence=evidence,
            trust=trust,
            subject=claim.subject,
            valid_from=claim.valid_from,
            valid_until=claim.valid_until,
            state="refused" if reason else "planned",
            reason=reason or (INJECTION if _is_suspect(claim, trust) else ""),
            section=claim.category if kind == "event" else "",
            line=relation_line(claim.relation, claim.target, day) if kind == "relation" else "",
            replaces=replaced.id if replaced else "",
        )

    def _kind(self, claim: Claim, trust: Trust) -> str:
        """Return what a fact is; about the user it is where it is the user's, and nobody else says so."""
        subject = claim.subject.casefold()
        if claim.kind == "user":
            is_self = subject in self.user or "user" in content_stems(claim.text)
        else:
            is_self = claim.kind in _OF_SOMEBODY and bool(subject) and subject in self.user
        if is_self:
            return "note" if trust in OUTSIDE else "user"
        return "entity" if claim.kind == "user" else claim.kind

    def _trust(self, text: str, places: Sequence[int]) -> Trust:
        """Return how far a claim may be trusted; what is repeated from outside is nobody else's word.

        Half of its words are enough to hold: where something from outside has more of them, it is from there.
        """
        if not places:
            return "external"
        told = [self.messages[place] for place in places]
        trust = trust_of_fact(text, [(each.trust, each.text) for each in told])
        if trust in OUTSIDE:
            return trust
        said = [each.text for each in told if each.trust == trust]
        every = (*self.heard, *self.messages)
        outside = [each for each in every if each.trust in OUTSIDE]
        brought = (each for each in outside if each.role in _BRINGING and brings(each.text, text, said))
        before = every[: len(self.heard) + places[-1]] if trust == "agent" else ()
        repeated = (each for each in before if each.trust in OUTSIDE and repeats(text, each.text))
        return least((trust, *(each.trust for each in (*brought, *repeated))))


def _is_suspect(claim: Claim, trust: Trust) -> bool:
    """Tell whether a claim orders the agent about; its owner may, but not to act on its instructions."""
    said = f"{claim.subject}\n{claim.text}\n{claim.relation} {claim.target}"
    return is_suspect(said, trust) or (trust != "owner" and bool(_ORDERED.match(claim.text)))
