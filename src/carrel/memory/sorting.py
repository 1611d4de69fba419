"""What becomes of a fact: it is written, waits for its owner, is known already, or is refused.

Nothing is written to a file here. All that is decided about some facts is kept together or not at all.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import NotFound
from carrel.memory.judging import INJECTION
from carrel.memory.trust import OUTSIDE, is_suspect
from carrel.memory.words import content_stems
from carrel.memory.written import sense_of
from carrel.records import Records
from carrel.records.facts import Fact, FactState, Store, is_buried
from carrel.records.proposals import MOST_WAITING, Proposal, ProposalAction

OWNER = "owner"
"""Who needs nobody's approval."""

OWNER_TEXT = "owner_text"
"""The reason of a fact that stands for a line which its owner wrote."""

REJECTED = "rejected"
"""The reason of a fact that its owner did not want."""

CROWDED_OUT = "too_many_waiting"
"""The reason of a fact that would have had to wait where nobody could look through what waits."""

WHYS = {
    "external_source": "It comes from a tool, another agent or somebody else than you.",
    INJECTION: "It reads like an instruction to the agent.",
    "replaces_owner_text": "It replaces a line that you wrote or pinned.",
    "taken_back": "You have taken this back before.",
}
"""Why a fact waits, in words for people."""

_STANDING: frozenset[FactState] = frozenset(("planned", "written"))
_GONE: frozenset[FactState] = frozenset(("undone", "forgotten"))
_MOST_EVIDENCE = 50
_MOST_ALIKE = 100
_MOST_GONE = 1_000

Lines = MutableMapping[tuple[Store, str], MutableMapping[str, str]]
"""The lines of each file, by what they say."""


class Sorted(Struct, frozen=True):
    """A fact and what became of it; of one that is known, the fact that says the same if one does."""

    fact: Fact
    outcome: FactState | None
    same: Fact | None = None


class Sorting(Struct, frozen=True, kw_only=True):
    """Sorts facts by one author into the records, in the transaction that it is used in.

    `lines` are those that stood in the files of these facts, `adopted` the owner's that they may replace,
    and `since` is the last change before: what is planned is written by a later one.
    """

    records: Records
    actor: str
    now: datetime
    since: int
    lines: Lines
    adopted: Mapping[str, Fact]

    @property
    def _is_owner(self) -> bool:
        return self.actor == OWNER

    def sort(self, fact: Fact) -> Sorted:
        """Decide about one fact, and keep what was decided; a retry changes nothing."""
        before = self._get(fact.id)
        before = before and self._as_it_stands(before, fact)
        if before is not None and not (self._is_owner and _is_gone(before)) and not _is_crowded_out(before):
            return Sorted(before, None, before)
        if fact.state == "refused":
            self._keep(fact, before)
            return Sorted(fact, "refused")
        alike = [self._as_it_stands(each, fact) for each in self._alike(fact)]
        known = self._known(fact, alike)
        return known or self._new(fact, alike, before)

    def _known(self, fact: Fact, alike: Sequence[Fact]) -> Sorted | None:
        """Return what says the same and stands, or was taken back, which nobody but its owner may undo."""
        if same := next((each for each in alike if each.state in _STANDING), None):
            return Sorted(fact, None, self._seen_again(same, fact))
        if (line := self._line_like(fact)) is not None:
            return Sorted(fact, None, self._seen_in(fact, line))
        if (reworded := self._reworded(fact)) is not None:
            return Sorted(fact, None, reworded)
        gone = next(filter(_is_gone, alike), None)
        is_owners = fact.trust == "owner" or self._is_owner
        return Sorted(fact, None, gone) if gone is not None and not is_owners else None

    def _new(self, fact: Fact, alike: Sequence[Fact], before: Fact | None) -> Sorted:
        """Plan a fact, or let it wait; one that waits already does so once."""
        replaced = self._replaced(fact)
        why = self._why(fact, replaced, is_gone=any(map(_is_gone, alike)))
        if not why:
            return self._planned(fact, replaced, before)
        if same := next((each for each in alike if each.state == "waiting"), None):
            return Sorted(fact, None, same)
        return self._proposed(fact, replaced, why, before)

    def _planned(self, fact: Fact, replaced: Fact | None, before: Fact | None) -> Sorted:
        planned = replace(fact, state="planned", reason="", change=self.since)
        self._adopt(replaced)
        self._keep(planned, before)
        self._own_lines(fact)[sense_of(fact.line)] = fact.line
        return Sorted(planned, "planned")

    def _proposed(self, fact: Fact, replaced: Fact | None, why: str, before: Fact | None) -> Sorted:
        if self.records.proposals.counts()["waiting"] >= MOST_WAITING:
            refused = replace(fact, state="refused", reason=CROWDED_OUT)
            self._keep(refused, before)
            return Sorted(refused, "refused")
        waiting = replace(fact, state="waiting", reason=why)
        self._adopt(replaced)
        self._keep(waiting, before)
        is_beside = replaced is not None and (replaced.store, replaced.path) == (fact.store, fact.path)
        action: ProposalAction = "supersede" if is_beside else "add"
        self.records.proposals.add(
            Proposal(
                key=f"fact:{fact.id}",
                at=self.now,
                agent=fact.agent,
                actor=self.actor,
                action=action,
                why=why,
                reason=WHYS[why],
                store=fact.store,
                path=fact.path,
                section=fact.section,
                old=replaced.line if replaced and is_beside else "",
                new=fact.line,
                trust=fact.trust,
                session=fact.session,
                evidence=fact.evidence,
                facts=(fact.id,),
            )
        )
        return Sorted(waiting, "waiting")

    def _why(self, fact: Fact, replaced: Fact | None, *, is_gone: bool) -> str:
        """Return why a fact must wait, nothing where it need not."""
        if self._is_owner:
            return ""
        if fact.reason in WHYS:
            return fact.reason
        checks = (
            (is_suspect(f"{fact.subject}\n{fact.text}", fact.trust), INJECTION),
            (fact.trust in OUTSIDE, "external_source"),
            (
                replaced is not None and (replaced.pinned or replaced.reason == OWNER_TEXT),
                "replaces_owner_text",
            ),
            (is_gone, "taken_back"),
        )
        return next((why for is_so, why in checks if is_so), "")

    def _alike(self, fact: Fact) -> list[Fact]:
        """Return the agent's facts that say the same in the same words; an event is one of its day only."""
        found = self.records.facts.find(agent=fact.agent, key=fact.key, limit=_MOST_ALIKE)
        return [each for each in found if fact.kind != "event" or each.path == fact.path]

    def _as_it_stands(self, same: Fact, fact: Fact) -> Fact:
        """Return a fact that says the same; where its line is gone, the owner may say it again."""
        is_here = (same.store, same.path) == (fact.store, fact.path) and fact.kind != "event"
        if not (self._is_owner and same.state == "written" and is_here):
            return same
        if sense_of(same.line) in self._own_lines(fact):
            return same
        gone = replace(same, state="undone", reason="removed_by_hand")
        self.records.facts.update(gone)
        return gone

    def _reworded(self, fact: Fact) -> Fact | None:
        """Return a forgotten fact that was taken from the same messages and says nearly the same.

        Whoever said it has not said it again: it was only read again, and put in other words.
        """
        if self._is_owner or not fact.session or not fact.evidence:
            return None
        found = self.records.facts.find(
            agent=fact.agent, session=fact.session, states=("forgotten",), limit=_MOST_GONE
        )
        words = content_stems(fact.text)
        return next((each for each in found if _is_reworded(each, fact, words)), None)

    def _line_like(self, fact: Fact) -> str | None:
        """Return the line of the file that says the same."""
        return self._own_lines(fact).get(sense_of(fact.line)) if fact.kind != "event" else None

    def _own_lines(self, fact: Fact) -> MutableMapping[str, str]:
        return self.lines.setdefault((fact.store, fact.path), {})

    def _seen_in(self, fact: Fact, line: str) -> Fact | None:
        """Return the fact of a line that says the same, seen again; none where nobody learnt it."""
        found = self.records.facts.find(
            store=fact.store, path=fact.path, line=line, states=_STANDING, limit=1
        )
        return self._seen_again(found[0], fact) if found else None

    def _seen_again(self, same: Fact, fact: Fact) -> Fact:
        """Count that a fact was learnt once more; the same messages teach it once."""
        if fact.session != same.session or not fact.evidence:
            seen = replace(same, seen=same.seen + 1)
        elif set(fact.evidence) <= set(same.evidence):
            return same
        else:
            evidence = dict.fromkeys((*same.evidence, *fact.evidence))
            seen = replace(same, seen=same.seen + 1, evidence=tuple(evidence)[:_MOST_EVIDENCE])
        self.records.facts.update(seen)
        return seen

    def _replaced(self, fact: Fact) -> Fact | None:
        """Return the fact that another one takes the place of, if it still stands."""
        found = self._get(fact.replaces) or self.adopted.get(fact.replaces) if fact.replaces else None
        return found if found is not None and found.state in _STANDING else None

    def _adopt(self, replaced: Fact | None) -> None:
        if replaced is not None and replaced.id in self.adopted:
            self.records.facts.add([replaced])

    def _get(self, fact: str) -> Fact | None:
        with suppress(NotFound):
            return self.records.facts.get(fact)
        return None

    def _keep(self, fact: Fact, before: Fact | None) -> None:
        if before is None:
            self.records.facts.add([fact])
        else:
            self.records.facts.update(fact)


def _is_reworded(gone: Fact, fact: Fact, words: AbstractSet[str]) -> bool:
    """Tell whether a fact has half of the words of a forgotten one; of one that was purged none are left."""
    if set(gone.evidence).isdisjoint(fact.evidence):
        return False
    own = content_stems(gone.text)
    return not is_buried(gone.key) and bool(own) and len(own & words) * 2 >= len(own)


def _is_crowded_out(fact: Fact) -> bool:
    """Tell whether a fact may be proposed when it is learnt once more."""
    return fact.state == "refused" and fact.reason == CROWDED_OUT


def _is_gone(fact: Fact) -> bool:
    """Tell whether the owner has taken a fact back, or never wanted it."""
    return fact.state in _GONE or (fact.state == "refused" and fact.reason == REJECTED)
