"""What a tool may not do by itself: it waits as a proposal, and the model is told so."""

from collections.abc import Callable
from hashlib import sha256
from itertools import count
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from carrel import plainjson
from carrel.clock import Clock
from carrel.errors import Refused
from carrel.files import Content
from carrel.files.paths import clean_new
from carrel.memory.proposed import hunk
from carrel.memory.trust import OUTSIDE
from carrel.records import Records
from carrel.records.proposals import MOST_WAITING, Proposal, ProposalAction
from carrel.screen.hidden import hiding
from carrel.screen.policy import BlockedByPrivacy, Screen
from carrel.tools.access import Access, text_of
from carrel.tools.taint import Turn
from carrel.workspace.injected import Injected

EXTERNAL = "external_source"
INJECTION = "suspected_injection"
OWNERS = "replaces_owner_text"
UNASKED = "unasked_removal"

_REASONS = {
    EXTERNAL: "It was written after text from outside was read, and you did not say it yourself.",
    INJECTION: "It reads like an instruction in disguise.",
    OWNERS: "It would take the place of words that are yours, or that are pinned.",
    UNASKED: "You did not ask to forget it.",
}


class TooManyWaiting(Refused):
    """So much waits for the owner already that nothing more is taken."""

    code = "too_many_waiting"

    def __init__(self, waiting: int) -> None:
        super().__init__(
            f"{waiting:,} changes wait for the owner already.",
            hint="Ask the owner to look through `carrel memory review`.",
        )


class Hold(Protocol):
    """Keeps a write from happening where it has to wait."""

    def __call__(self, path: str, content: Content | None, text: str) -> Proposal | None:
        """Return the proposal that was made of it, none where it may be written at once."""
        ...


def hold_nothing(path: str, content: Content | None, text: str) -> Proposal | None:  # noqa: ARG001 - a Hold
    """Let everything be written."""
    return None


class Proposer(Struct, frozen=True, kw_only=True):
    """Who lets changes wait that one agent asks for in one session; `turn` tells what it has read."""

    agent: str
    session: str
    records: Callable[[], Records]
    clock: Clock
    turn: Callable[[], Turn]

    def proposal(self, why: str, *, action: ProposalAction, path: str, **fields: Any) -> Proposal:
        """Return a change that this agent wants, in this session, now, and why it has to wait, if it has."""
        return Proposal(
            key="",
            at=self.clock.now(),
            agent=self.agent,
            actor=self.agent,
            action=action,
            why=why,
            reason=_REASONS.get(why, ""),
            path=path,
            session=self.session,
            evidence=self.turn().evidence,
            **fields,
        )

    def wait(self, wanted: Proposal) -> Proposal:
        """Keep a proposal, and return it as it is now; the same one waits once, and is not asked for again.

        One that was approved, and whose effect is gone since, is a new one.
        """
        self.refuse_flood()
        told = (
            wanted.agent,
            wanted.action,
            wanted.store,
            wanted.path,
            wanted.section,
            wanted.old,
            wanted.new,
        )
        key = sha256(plainjson.dumps(told)).hexdigest()
        numbered = (key if number == 1 else f"{key}.{number}" for number in count(1))
        kept = (self.records().proposals.add(replace(wanted, key=each)) for each in numbered)
        return next(each for each in kept if each.state != "approved")

    def waiting(self) -> list[Proposal]:
        """Return what waits of this agent's."""
        return self.records().proposals.list(agent=self.agent, limit=MOST_WAITING)

    def refuse_flood(self) -> None:
        """Refuse to let anything more wait where nobody could look through it."""
        waiting = self.records().proposals.counts()["waiting"]
        if waiting >= MOST_WAITING:
            raise TooManyWaiting(waiting)


def because(wanted: Proposal, why: str) -> Proposal:
    """Return a change that has to wait for this reason."""
    return replace(wanted, why=why, reason=_REASONS[why])


def holding(access: Access, proposer: Proposer, is_injected: Injected, screen: Screen | None = None) -> Hold:
    """Return what keeps a tainted turn from changing the files that every prompt holds.

    A file is one of those by its name, by where a link leads, and perhaps where it has several names. What
    waits is screened like what is written.
    """
    screen = screen or Screen()

    def hold(path: str, content: Content | None, text: str) -> Proposal | None:
        written, *others = access.targets(path, content)
        is_known = any(map(is_injected, (path, written, *others)))
        if not is_known and (content is None or content.links <= 1):
            return None
        if content is None:
            clean_new(written)  # what nobody can make is not to be approved either
        before = text_of(path, content) if content else ""
        trust = proposer.turn().trust_in(_differing(before, text), before)
        hides = bool({*hiding(text)} - {*hiding(before)})  # beside the owner's words, say
        if trust not in OUTSIDE and not hides:
            return None
        screened = screen.between(before, text)
        if screened.blocked:
            raise BlockedByPrivacy(screened.found)
        old, new = hunk(before, screened.text)
        why = INJECTION if hides else EXTERNAL
        wanted = proposer.proposal(why, action="write", path=written, old=old, new=new, trust=trust)
        return proposer.wait(wanted)

    return hold


def told(proposal: Proposal) -> dict[str, Any]:
    """Return what a model is told of a change that did not happen at once."""
    if proposal.state == "rejected":
        return {"state": "refused", "why": "rejected", "proposal": proposal.id}
    return {"state": "waiting", "why": proposal.why, "proposal": proposal.id}


def _differing(before: str, after: str) -> str:
    """Return the lines that only one of two texts has: to take a line out says something too."""
    old, new = before.split("\n"), after.split("\n")
    kept_old, kept_new = set(old), set(new)
    return "\n".join(
        [*(line for line in old if line not in kept_new), *(line for line in new if line not in kept_old)]
    )
