"""Review: the owner looks at what waits, and lets it happen, in other words too, or not.

A proposal is carried out first and decided after. A kill between the two leaves one that still waits, in
plain sight, although its text stands: whoever decides on it next finishes. Approved again, nothing is
written twice; rejected, what was written is taken back. The other order would leave one that is decided and
not carried out, which nobody sees, and a conflict could no longer leave it waiting. Which changes belong to
a proposal is told by their reason, which is durable before the file is written.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, Conflict, NotFound, Refused, UsageError
from carrel.memory.fact import key_of
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author, Pen
from carrel.memory.places import Target
from carrel.memory.proposed import OutdatedProposal, diff_of, edit_of, refuse_outdated
from carrel.memory.sorting import REJECTED
from carrel.memory.written import is_journal
from carrel.records import Records
from carrel.records.changes import Change
from carrel.records.facts import Fact, Facts, FactState
from carrel.records.proposals import AlreadyDecided, Proposal
from carrel.sessions.store import Sessions

MOST_EVIDENCE = 20
LONGEST_EVIDENCE = 2_000

_PAGE = 100
_MOST_CHANGES = 1_000
_MOST_TOLD = 5
_MOST_LINES = 1_000
_OF_FACTS = ("add", "supersede")
_OVER_LINES = ("replace", "write")

Said = Callable[[Proposal | Fact], Mapping[str, str]]
"""Returns the messages that a proposal or a fact names as its evidence; one that is gone is left out."""


class TextForMany(UsageError):
    """Another text was given for several proposals, or for one that is about several facts."""

    code = "text_for_many"

    def __init__(self) -> None:
        super().__init__(
            "One text cannot stand for several proposals.", hint="Approve them one by one, each with its own."
        )


class SecretInText(Refused):
    """The words that were to be written instead hold what is kept out of memory; nothing was written."""

    code = "secret_in_text"

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__(
            f"The text holds what is kept out of memory: {', '.join(kinds)}.",
            hint="Leave it out; memory is read by models and kept in history.",
        )


class NotAllDecided(Conflict):
    """Of several proposals some could not be decided, and still wait; the others were."""

    code = "not_all_decided"

    def __init__(self, problems: Sequence[CarrelError], decided: Sequence[Proposal]) -> None:
        told = " ".join(problem.message for problem in problems[:_MOST_TOLD])
        more = f" And {len(problems) - _MOST_TOLD} more." if len(problems) > _MOST_TOLD else ""
        super().__init__(
            f"{len(decided)} of {len(decided) + len(problems)} were decided. {told}{more}",
            hint="carrel memory review lists what still waits.",
        )
        self.problems = tuple(problems)
        self.decided = tuple(decided)


class Shown(Struct, frozen=True, kw_only=True):
    """A proposal as the owner looks at it: what would change, and what was said."""

    proposal: Proposal
    diff: str
    evidence: Mapping[str, str] = {}


def nothing_said(_: Proposal | Fact) -> Mapping[str, str]:
    """Return no messages: for those who show none."""
    return {}


class Review(Struct, frozen=True, kw_only=True):
    """What waits for the owner's word; each proposal is decided once, and its effect is there once."""

    keeper: Keeper
    pen: Pen
    records: Callable[[], Records]
    clock: Clock
    said: Said = nothing_said

    def waiting(self, limit: int = _PAGE, after: int = 0) -> list[Proposal]:
        """Return what waits in the order it was proposed, beginning after one of them."""
        return self.records().proposals.list(limit=limit, after=after)

    def all_waiting(self) -> list[int]:
        """Return the numbers of all that wait, however many there are."""
        found: list[int] = []
        while page := self.waiting(after=found[-1] if found else 0):
            found += [proposal.id for proposal in page]
        return found

    def show(self, number: int) -> Shown:
        """Return a proposal with what it would change and what it came from."""
        proposal = self.records().proposals.get(number)
        return Shown(proposal=proposal, diff=diff_of(proposal), evidence=self.said(proposal))

    def approve(self, numbers: Sequence[int], *, by: str, text: str | None = None) -> list[Proposal]:
        """Carry proposals out, one of them in other words if a text is given.

        One that no longer fits its file keeps none of the others back: it is told when all are done.
        """
        return self._each(numbers, partial(self._approve, by=by, text=text), text)

    def reject(self, numbers: Sequence[int], *, by: str) -> list[Proposal]:
        """Let proposals not happen; what they would have taught is refused."""
        return self._each(numbers, partial(self._reject, by=by))

    def _each(
        self, numbers: Sequence[int], decide: Callable[[Proposal], Proposal], text: str | None = None
    ) -> list[Proposal]:
        given = [self.records().proposals.get(number) for number in dict.fromkeys(numbers)]
        if text is not None and len(given) != 1:
            raise TextForMany
        if text is not None and (kinds := self.pen.screen.of(text).found):
            raise SecretInText(kinds)
        decided: list[Proposal] = []
        problems: list[CarrelError] = []
        for proposal in given:
            try:
                decided.append(decide(proposal))
            except CarrelError as problem:
                if len(given) == 1:
                    raise
                problems.append(problem)
        if problems:
            raise NotAllDecided(problems, decided)
        return decided

    def _approve(self, proposal: Proposal, *, by: str, text: str | None) -> Proposal:
        wanted = proposal if text is None else replace(proposal, new=text)
        if proposal.state == "approved" and wanted.new == proposal.new:
            return proposal
        if proposal.state != "waiting":
            raise AlreadyDecided(proposal)
        if text is not None:
            self._take_back(proposal)  # a kill may have left what was approved in other words
        self._carry_out(wanted, text)
        records = self.records()
        try:
            with records.transaction():
                if proposal.action == "remove":
                    _turn(records.facts, proposal, "forgotten", proposal.reason)
                return records.proposals.decide(proposal.id, "approved", at=self.clock.now(), by=by, new=text)
        except AlreadyDecided:
            return self._decided_elsewhere(wanted)

    def _reject(self, proposal: Proposal, *, by: str) -> Proposal:
        if proposal.state == "rejected":
            return proposal
        if proposal.state != "waiting":
            raise AlreadyDecided(proposal)
        self._take_back(proposal)
        records = self.records()
        with records.transaction():
            if proposal.action != "remove":
                _turn(records.facts, proposal, "refused", REJECTED)
            return records.proposals.decide(proposal.id, "rejected", at=self.clock.now(), by=by)

    def _decided_elsewhere(self, wanted: Proposal) -> Proposal:
        """Bow to whoever was quicker: the same word needs nothing more, a rejection takes ours back."""
        records = self.records()
        now = records.proposals.get(wanted.id)
        if now.state == "approved" and now.new == wanted.new:
            return now
        if now.state == "rejected":
            self._take_back(now)
            with records.transaction():
                _turn(records.facts, now, "refused", REJECTED)
        raise AlreadyDecided(now)

    def _carry_out(self, proposal: Proposal, text: str | None) -> None:
        """Write what a proposal says, unless a change of its own has done so."""
        author, changes = _author(proposal), self._changes_of(proposal)
        if proposal.action not in _OF_FACTS or not proposal.facts:
            if not changes:
                carry_out(self.keeper, proposal, author)
            return
        facts = _worded(self.records().facts, proposal, text)
        if not changes:
            for fact in facts:
                self._refuse_outdated(proposal, fact)
        for fact in facts:
            if fact.state != "written":
                replace(self.keeper, target=partial(_place_in, proposal)).write(fact, author)

    def _refuse_outdated(self, proposal: Proposal, fact: Fact) -> None:
        """Refuse to replace a fact that no longer stands where it stood; looks, and writes nothing."""
        if not fact.replaces:
            return
        old = self.records().facts.get(fact.replaces)
        if old.state != "written":
            raise OutdatedProposal(proposal, "what it replaces is gone")
        if not is_journal(old):  # which is only ever added to
            look = partial(refuse_outdated, proposal, old.line)
            self.pen.edit(old.store, old.path, look, _author(proposal))

    def _take_back(self, proposal: Proposal) -> None:
        """Undo what an approval that did not come to its end has written."""
        if changes := self._changes_of(proposal):
            reason = f"Proposal {proposal.id} was not approved."
            self.pen.undo(changes, replace(_author(proposal), action="undo", reason=reason))
            records = self.records()
            with records.transaction():
                if proposal.action in _OF_FACTS:
                    _restore(records.facts, proposal)

    def _changes_of(self, proposal: Proposal) -> list[Change]:
        """Return what was written for a proposal and still stands, the newest first."""
        own = self._marked(proposal)
        if any(change.state == "begun" for change in own):  # whoever began it may be dead
            self.pen.recover()
            own = self._marked(proposal)
        return [change for change in own if change.state == "done"]

    def _marked(self, proposal: Proposal) -> list[Change]:
        changes = self.records().changes.list(store=proposal.store, path=proposal.path, limit=_MOST_CHANGES)
        return [change for change in changes if change.reason == _author(proposal).reason]


def carry_out(keeper: Keeper, proposal: Proposal, author: Author) -> Change | None:
    """Edit a file as a proposal says; none where nothing is left to be done."""
    edit, path = edit_of(proposal), proposal.path

    def opened(text: str | None) -> str | None:
        return edit(keeper.opening(proposal.store, path) or None if text is None else text)

    change = keeper.pen.edit(proposal.store, path, opened, author)
    if change is not None and proposal.action in _OVER_LINES:
        _supersede_gone(keeper.records(), proposal)
    return change


def _supersede_gone(records: Records, proposal: Proposal) -> None:
    """Say of the facts whose lines have given way to other text that they do no longer stand."""
    gone = dict.fromkeys(proposal.old.splitlines())
    for line in proposal.new.splitlines():
        gone.pop(line, None)
    with records.transaction():
        for line in islice(filter(str.strip, gone), _MOST_LINES):
            found = records.facts.find(
                store=proposal.store, path=proposal.path, line=line, states=("written",)
            )
            for fact in found:
                records.facts.update(replace(fact, state="superseded"))


def said_in(sessions: Callable[[str], Sessions | None]) -> Said:
    """Return who looks evidence up in the sessions of the agent that a proposal or a fact is of."""

    def said(of: Proposal | Fact) -> Mapping[str, str]:
        own = sessions(of.agent)
        ids = of.evidence[:MOST_EVIDENCE] if own else ()
        texts = ((message, _text_of(own, of.session, message)) for message in ids if own)
        return {message: text for message, text in texts if text is not None}

    return said


def _text_of(sessions: Sessions, session: str, message: str) -> str | None:
    with suppress(NotFound):
        if number := sessions.number_of(session, message):
            page = sessions.page(session, first=number, limit=1)
            return "".join(placed.entry.to_text()[:LONGEST_EVIDENCE] for placed in page.entries)
    return None


def _place_in(proposal: Proposal, fact: Fact) -> Target:
    """Return the place that was proposed, whatever place a fact of its kind has now."""
    form = "journal" if is_journal(replace(fact, section=proposal.section)) else "bullet"
    return Target(store=proposal.store, path=proposal.path, section=proposal.section, form=form)


def _author(proposal: Proposal) -> Author:
    return Author(
        actor=proposal.actor,
        action=proposal.action,
        reason=f"Proposal {proposal.id} was approved.",
        agent=proposal.agent,
        session=proposal.session,
    )


def _worded(facts: Facts, proposal: Proposal, text: str | None) -> list[Fact]:
    """Return the facts of a proposal, an only one in the words that were approved."""
    own = [facts.get(fact) for fact in proposal.facts]
    if text is None:
        return own
    if len(own) != 1:
        raise TextForMany
    return [replace(own[0], text=text, key=key_of(text))]


def _turn(facts: Facts, proposal: Proposal, state: FactState, reason: str) -> None:
    """Say of the facts of a proposal what became of them."""
    for number in proposal.facts:
        with suppress(NotFound):  # of one that nobody knows there is nothing to say
            facts.update(replace(facts.get(number), state=state, reason=reason))


def _restore(facts: Facts, proposal: Proposal) -> None:
    """Let the facts of a proposal wait again, and those that they had replaced stand again."""
    for number in proposal.facts:
        fact = facts.get(number)
        facts.update(replace(fact, state="waiting"))
        replaced = facts.get(fact.replaces) if fact.replaces else None
        if replaced is not None and replaced.superseded_by == fact.id:
            facts.update(replace(replaced, state="written", superseded_by="", valid_until=""))
