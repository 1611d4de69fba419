"""Forgetting from its plan to its end; what a kill leaves of it is finished, once.

The facts are tombstones before the first file is touched, and the plan is in the audit, which says what is
to be forgotten by ids alone. Every step takes away what is there and nothing where it is gone already, so
that it can be repeated. The words of a fact are needed to find it, and go last.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, NotFound, Unavailable
from carrel.files import Unreadable
from carrel.findings import Finding
from carrel.memory.forget.blotting import FORGOTTEN, told_of
from carrel.memory.forget.copies import PURGE, Copies, texts_of
from carrel.memory.forget.leftovers import Leftovers, Sought
from carrel.memory.forget.report import Copy, Forgotten, Removed
from carrel.memory.forget.sayings import Cleared, Place, Sayings, sayings_of, without
from carrel.memory.pen import Author, Pen
from carrel.records import Records
from carrel.records.audit import Event
from carrel.records.facts import Fact, UnknownFact, buried, is_buried
from carrel.records.proposals import Proposal

STEPS = ("plan", "files", "calls", "logs", "records", "leftovers", "scrub", "settle")
"""What is done in this order; `Forgetter.step` hears `before:` and `after:` each."""

PLANNED, DONE = "forget", "forgot"
"""What the audit calls a plan, and its end."""

OWNER = "owner"
_AUTHOR = Author(actor=OWNER, action="forget")
_EACH = 5_000
_PAGE = 200


class Derived(Protocol):
    """What is made from files and can be made again: indexes, vectors."""

    def copies(self, how: str) -> Sequence[Copy]:
        """Return what there is of it; it may hold anything."""
        ...

    def drop(self) -> Sequence[Copy]:
        """Remove it, and tell what that was."""
        ...


class Forgetter(Struct, frozen=True, kw_only=True):
    """Forgets facts; `places` are all files of memory, `is_day` tells the days of the journal."""

    pen: Pen
    records: Callable[[], Records]
    copies: Copies
    leftovers: Leftovers
    derived: Derived
    places: Callable[[], Iterable[Place]]
    is_day: Callable[[str], bool]
    clock: Clock
    step: Callable[[str], object] = str  # which changes nothing

    def forget(self, facts: Sequence[Fact], *, purge: bool = False) -> Forgotten:
        """Forget facts for good, in the order of `STEPS`; what was left by others is finished first."""
        finished = self.finish()
        done = Forgotten(facts=tuple(facts), finished=finished)
        for begin in range(0, len(facts), _EACH):
            self.step("before:plan")
            event, rejected = self._plan(facts[begin : begin + _EACH], purge=purge)
            self.step("after:plan")
            done = _joined(done, replace(self._carry_out(event), proposals=rejected))
        return done

    def look(self, facts: Sequence[Fact], *, purge: bool = False) -> Forgotten:
        """Return what would be forgotten, and change nothing."""
        removed, findings = self._files(facts, dry_run=True)
        reachable, noticed = self._reachable(facts, self._sought(facts))
        rest = self.copies.out_of_reach(facts)
        return Forgotten(
            facts=tuple(facts),
            removed=tuple(removed),
            proposals=sum(1 for _ in self._waiting(self.records(), facts)),
            purged=tuple(copy for copy in reachable if purge and copy.kind != "file"),
            remaining=(*(copy for copy in reachable if not purge or copy.kind == "file"), *rest),
            dry_run=True,
            findings=(*findings, *noticed),
        )

    def finish(self) -> int:
        """Finish what a kill, or a disk that failed, has left; return how many plans that were."""
        left = list(self._unfinished())
        for event in left:
            self._carry_out(event)
        return len(left)

    def _plan(self, facts: Sequence[Fact], *, purge: bool) -> tuple[Event, int]:
        """Say of facts that they are forgotten, and of what waits that it is not wanted; all at once."""
        records, now = self.records(), self.clock.now()
        with records.transaction():
            for fact in facts:
                _bury(records, fact)
            waiting = list(self._waiting(records, facts))
            for proposal in waiting:
                records.proposals.decide(proposal.id, "rejected", at=now, by=OWNER)
            detail = {"facts": [fact.id for fact in facts], "purge": purge}
            event = records.audit.note(at=now, actor=OWNER, action=PLANNED, detail=detail)
        return event, len(waiting)

    def _carry_out(self, event: Event) -> Forgotten:
        """Do what a plan says, as far as it is not done yet; one that fails is left for the next."""
        facts, purge = list(self._facts(event)), bool(event.detail.get("purge"))
        sought = self._sought(facts)
        self.step("before:files")
        removed, findings = self._files(facts)
        self.step("after:files")
        self.step("before:calls")
        records = self.records()
        recalls, calls = records.recalls.forget(sought.texts), records.forget(sought.texts)
        self.step("after:calls")
        unreachable = list(self.copies.out_of_reach(facts))
        purged, noticed = self._purge(facts, sought) if purge else ([], ())
        found, more = self._reachable(facts, sought)
        left = [each for each in found if not (purge and each.kind == "tombstone")]
        is_whole = not any(finding.severity == "error" for finding in findings)
        if is_whole and purge:
            left += self._scrub(facts)
        if is_whole:
            self._settle(event)
        return Forgotten(
            facts=tuple(facts),
            removed=tuple(removed),
            recalls=recalls,
            calls=calls,
            purged=tuple(purged),
            remaining=(*dict.fromkeys(left), *unreachable),
            findings=(*findings, *noticed, *more),
        )

    def _files(self, facts: Sequence[Fact], *, dry_run: bool = False) -> tuple[list[Removed], list[Finding]]:
        """Take what facts say out of every file of memory; one that cannot be changed keeps none back."""
        sayings, removed, findings = sayings_of(facts), list[Removed](), list[Finding]()
        own: list[Place] = [(fact.store, fact.path) for fact in facts if fact.path]
        for place in dict.fromkeys([*own, *self.places()]):
            try:
                removed += self._clear(place, sayings, dry_run=dry_run)
            except CarrelError as error:
                # What is no text cannot be looked through, ever; what the disk refused is tried again.
                is_final = isinstance(error, Unreadable) and error.reason != "io_error"
                severity = "warning" if is_final else "error"
                findings.append(
                    Finding(
                        code=error.code,
                        message=error.message,
                        path=place[1],
                        hint=error.hint,
                        severity=severity,
                    )
                )
        return removed, findings

    def _clear(self, place: Place, sayings: Sayings, *, dry_run: bool) -> Iterator[Removed]:
        store, path = place
        forms = sayings.at(place, is_day=self.is_day(path))
        last: list[Cleared] = []

        def edit(text: str | None) -> str | None:
            cleared = without(text or "", forms, sayings.anchors)
            last[:] = [cleared]
            return None if dry_run or text is None else cleared.text

        self.pen.edit(store, path, edit, _AUTHOR)
        for cleared in last:
            for taken in cleared.taken:
                yield Removed(store=store, path=path, line=taken.line, text=taken.text)

    def _sought(self, facts: Sequence[Fact]) -> Sought:
        """Return what is looked for word for word; a fact that was emptied already says nothing."""
        texts = (*texts_of(facts), *self.copies.said(facts))
        return Sought(facts=tuple(facts), told=told_of(facts), texts=texts)

    def _purge(self, facts: Sequence[Fact], sought: Sought) -> tuple[list[Copy], Sequence[Finding]]:
        self.step("before:logs")
        purged, findings = self.copies.in_logs(facts, purge=True)
        self.step("after:logs")
        self.step("before:records")
        self.pen.catch_up()  # what is purged can no longer be committed
        purged += self.copies.in_records(facts, purge=True)
        purged += self.copies.in_history(facts, purge=True)
        purged += self.copies.in_queue(sought.texts, purge=True)
        self.step("after:records")
        self.step("before:leftovers")
        found, more = self.leftovers.find(sought, how="", purge=True)
        purged += [copy for copy in found if not copy.how]
        purged += self.derived.drop()
        self.step("after:leftovers")
        return purged, (*findings, *more)

    def _reachable(self, facts: Sequence[Fact], sought: Sought) -> tuple[list[Copy], Sequence[Finding]]:
        """Return where copies are now that could be purged, and those that only their owner may touch."""
        found, findings = self.copies.in_logs(facts, purge=False)
        found += self.copies.in_history(facts, purge=False)
        found += self.copies.in_records(facts, purge=False)
        found += self.copies.in_queue(sought.texts, purge=False)
        left, more = self.leftovers.find(sought, how=PURGE)
        return [*found, *left, *self.derived.copies(PURGE)], (*findings, *more)

    def _scrub(self, facts: Sequence[Fact]) -> list[Copy]:
        """Empty the facts themselves, of which only so much stays that they are known, and the disk of them.

        Nothing can be found by them from now on: all else was done before.
        """
        records = self.records()
        self.step("before:scrub")
        with records.transaction():
            for fact in facts:
                now = records.facts.get(fact.id)
                key = now.key if is_buried(now.key) else buried(now.key)
                gone = replace(now, text=FORGOTTEN, key=key, line="", subject="", state="forgotten")
                records.facts.update(gone)
        try:
            how = records.scrub()
        except Unavailable as error:
            how = f"{error.message} Purge again later."
        self.step("after:scrub")
        return [Copy(kind="records", place="records", how=how)] if how else []

    def _settle(self, event: Event) -> None:
        """Say that a plan is carried out."""
        self.step("before:settle")
        self.records().audit.note(at=self.clock.now(), actor=OWNER, action=DONE, target=str(event.id))
        self.step("after:settle")

    def _unfinished(self) -> Iterator[Event]:
        """Yield the plans that nobody has carried out, the oldest first."""
        audit = self.records().audit
        done = {event.target for event in _events(audit.events, DONE)}
        yield from reversed([event for event in _events(audit.events, PLANNED) if str(event.id) not in done])

    def _facts(self, event: Event) -> Iterator[Fact]:
        facts = self.records().facts
        for fact in event.detail.get("facts", ()):
            with suppress(NotFound):
                yield facts.get(str(fact))

    def _waiting(self, records: Records, facts: Sequence[Fact]) -> Iterator[Proposal]:
        """Yield what waits to bring one of these facts into a file."""
        ids, texts = {fact.id for fact in facts}, texts_of(facts)
        after = 0
        while page := records.proposals.list(limit=_PAGE, after=after):
            for proposal in page:
                is_meant = not ids.isdisjoint(proposal.facts) or any(text in proposal.new for text in texts)
                if is_meant and proposal.action != "remove":
                    yield proposal
            after = page[-1].id


def _bury(records: Records, fact: Fact) -> None:
    """Keep a fact as one that is forgotten; a line that was none becomes one."""
    try:
        now = records.facts.get(fact.id)
    except UnknownFact:
        records.facts.add([replace(fact, state="forgotten")])
        return
    own = fact if is_buried(now.key) else now  # it was purged, and written again since
    records.facts.update(replace(own, state="forgotten", pinned=False))


def _events(events: Callable[..., list[Event]], action: str) -> Iterator[Event]:
    before: int | None = None
    while page := events(action=action, before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def _joined(one: Forgotten, other: Forgotten) -> Forgotten:
    return replace(
        one,
        removed=one.removed + other.removed,
        proposals=one.proposals + other.proposals,
        recalls=one.recalls + other.recalls,
        calls=one.calls + other.calls,
        purged=one.purged + other.purged,
        remaining=tuple(dict.fromkeys(one.remaining + other.remaining)),
        findings=tuple(dict.fromkeys(one.findings + other.findings)),
    )
