"""The copies outside of memory's files: in logs, in the history of changes, in records; told, or purged."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.memory.forget.blotting import FORGOTTEN, Told, blotted_line, said_in, told_of
from carrel.memory.forget.report import Copy
from carrel.records import Records
from carrel.records.changes import PURGED, Change
from carrel.records.facts import Fact, is_buried
from carrel.records.proposals import Proposal
from carrel.sessions.store import Sessions

PURGE = "carrel memory forget --purge with the same facts rewrites it"
_GIT = "Rewrite the repository's history, as with git filter-repo, and have clones made anew."
_EXPORT = "What was exported, shared or backed up is out of reach: remove it where you put it."
_WAITING = "carrel sweep does what waits; carrel memory forget --purge empties what is over."
_ATTACHED = "Look at the files, and remove those that hold it."
_PAGE = 200
_LEAST = 8  # characters of a sentence: what is shorter is said everywhere


class Copies(Struct, frozen=True, kw_only=True):
    """Finds what is left of facts, and takes it away where somebody wants that; twice is as once."""

    records: Callable[[], Records]
    sessions: Callable[[], Sequence[Sessions]]

    def in_logs(self, facts: Sequence[Fact], *, purge: bool) -> tuple[list[Copy], list[Finding]]:
        """Return the sessions that hold something of facts; to purge is to blot it out of them."""
        told, found, findings = told_of(facts), list[Copy](), list[Finding]()
        for own in self.sessions() if told else ():
            for row in own.rows()[0]:
                try:
                    count = own.rewrite(row.id, partial(_blotted, told), dry_run=not purge)
                except CarrelError as error:
                    findings.append(Finding(code=error.code, message=error.message, hint=error.hint))
                    continue
                if count:
                    found.append(Copy(kind="session", place=row.id, count=count, how="" if purge else PURGE))
        return found, findings

    def said(self, facts: Sequence[Fact]) -> tuple[str, ...]:
        """Return the sentences that facts were taken from, as they stand in the logs of their sessions."""
        told, found = told_of(facts), dict[str, None]()
        for own in self.sessions():
            for session in {
                fact.session for fact in facts if fact.session and fact.agent == own.places.agent
            }:
                with suppress(CarrelError):  # a session that is gone says nothing
                    for placed in own.entries(session):
                        entry = placed.entry
                        found |= dict.fromkeys(said_in(entry.to_text(), told, entry.message_id))
        return tuple(text for text in found if len(text) >= _LEAST)

    def in_history(self, facts: Sequence[Fact], *, purge: bool) -> Iterator[Copy]:
        """Yield how many changes hold something of facts, by file; to purge is to forget their bytes."""
        records, needles = self.records(), _needles(facts)
        counts: dict[str, int] = {}
        for change in _changes(records):
            if not change.splice.is_purged and _is_about(change, needles):
                counts[change.path] = counts.get(change.path, 0) + 1
                if purge:
                    records.changes.purge(change.id)
        for path, count in counts.items():
            yield Copy(kind="history", place=path, count=count, how="" if purge else PURGE)

    def in_records(self, facts: Sequence[Fact], *, purge: bool) -> Iterator[Copy]:
        """Yield what proposals, dreams and the facts themselves still say; to purge is to empty them."""
        records, how = self.records(), "" if purge else PURGE
        texts = texts_of(facts)
        ids = {fact.id for fact in facts}
        for proposal in _proposals(records):
            if (proposal.old or proposal.new) and _quotes(proposal, texts, ids):
                yield Copy(kind="proposal", place=str(proposal.id), how=how)
                if purge:
                    records.proposals.purge(proposal.id)
        keys = {fact.key for fact in facts if not is_buried(fact.key)}
        promoted = list(_promoted(records, keys, told_of(facts)))
        for number, own in promoted:
            yield Copy(kind="dream", place=str(number), count=len(own), how=how)
        if purge:
            records.dreams.purge(keys.union(*(own for _, own in promoted)))
        elif keys:
            yield Copy(kind="tombstone", place="records", count=len(keys), how=how)

    def in_queue(self, texts: Sequence[str], *, purge: bool) -> Iterator[Copy]:
        """Yield how many jobs hold one of these; to purge is to empty those that are over."""
        queue = self.records().queue
        if purge and (gone := queue.purge(texts)):
            yield Copy(kind="job", place="queue", count=gone)
        if not purge and (held := queue.holding(texts)):
            yield Copy(kind="job", place="queue", count=held, how=_WAITING)

    def out_of_reach(self, facts: Sequence[Fact]) -> Iterator[Copy]:
        """Yield where copies may be that nobody can take away from here."""
        needles = _needles(facts)
        commits = {
            change.commit
            for change in _changes(self.records())
            if change.commit and change.commit != PURGED and _is_about(change, needles)
        }
        if commits:
            yield Copy(kind="git", place=".git", count=len(commits), how=_GIT)
        for own in self.sessions():
            for session in {
                fact.session for fact in facts if fact.session and fact.agent == own.places.agent
            }:
                if attached := _attached(own, session):
                    yield Copy(
                        kind="attachment",
                        place=own.places.attachments(session),
                        count=attached,
                        how=_ATTACHED,
                    )
        yield Copy(kind="export", place="exports and backups", how=_EXPORT)


def texts_of(facts: Sequence[Fact]) -> tuple[str, ...]:
    """Return what facts say word for word, and the lines that they became."""
    said = (text for fact in facts for text in (fact.text, fact.line) if text.strip() and text != FORGOTTEN)
    return tuple(dict.fromkeys(said))


def _blotted(told: Sequence[Told], value: Mapping[str, Any]) -> dict[str, Any] | None:
    return blotted_line(value, told)


def _needles(facts: Sequence[Fact]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts_of(facts))


def _is_about(change: Change, needles: Sequence[bytes]) -> bool:
    """Tell whether a change holds one of these; of one that was purged nobody knows, and so it does."""
    old, new = change.splice.old, change.splice.new
    return change.splice.is_purged or any(needle in old or needle in new for needle in needles)


def _changes(records: Records) -> Iterator[Change]:
    before: int | None = None
    while page := records.changes.list(before=before, limit=_PAGE):
        yield from page
        before = page[-1].id


def _proposals(records: Records) -> Iterator[Proposal]:
    after = 0
    while page := records.proposals.list((), limit=_PAGE, after=after):
        yield from page
        after = page[-1].id


def _promoted(
    records: Records, keys: Collection[str], told: Sequence[Told]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the runs that have promoted something of this, in whatever words, with the keys of that."""
    before: int | None = None
    while page := records.dreams.list(before=before):
        for dream in page:
            said = [each.key for each in dream.promotions if each.key in keys or said_in(each.text, told)]
            if said:
                yield dream.id, said
        before = page[-1].id


def _quotes(proposal: Proposal, texts: Sequence[str], ids: Collection[str]) -> bool:
    if not set(ids).isdisjoint(proposal.facts):
        return True
    return any(text in proposal.old or text in proposal.new for text in texts)


def _attached(sessions: Sessions, session: str) -> int:
    try:
        folder = sessions.places.attachments(session)
        return sum(entry.kind == "file" for entry in sessions.places.files.list(folder))
    except CarrelError:
        return 0
