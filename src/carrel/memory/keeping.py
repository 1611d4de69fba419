"""Facts are kept: screened, told apart from what is known, planned in the records, and written to files.

A fact is planned before it is written, and its line is found again by what it says. So a kill between any two
steps loses nothing and repeats nothing: `finish` writes what was planned.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, NotFound
from carrel.markdown.sections import replace_line
from carrel.memory import pages
from carrel.memory.extract import MOST_KNOWN
from carrel.memory.fact import key_of, normalise
from carrel.memory.knowing import facts_about, lines_about
from carrel.memory.pen import Author, Pen
from carrel.memory.places import Target
from carrel.memory.sorting import Lines, Sorted, Sorting
from carrel.memory.written import (
    anchor_of,
    bullets,
    is_journal,
    is_page,
    line_of,
    sense_of,
    with_fact,
    without,
)
from carrel.records import Records
from carrel.records.changes import Change
from carrel.records.facts import Fact, Store
from carrel.screen import personal, secrets
from carrel.screen.policy import Screen
from carrel.workspace.layout import Layout

_REDACTED = "[REDACTED:"
_OF_PERSONS = tuple(f"{_REDACTED}{kind.upper()}]" for kind in personal.KINDS if kind not in secrets.KINDS)
_PAGE = 100
_MOST_CHANGES = 50
_OWNERS_SHARE = 4  # of what is known, a part for what the owner wrote


def _nothing() -> None:
    """Do nothing."""


def _empty(store: Store, path: str) -> str:  # noqa: ARG001 - most files begin with nothing
    return ""


class Kept(Struct, frozen=True, kw_only=True):
    """What became of facts; `known` counts those that were known already."""

    written: tuple[Fact, ...] = ()
    waiting: tuple[Fact, ...] = ()
    known: int = 0
    refused: tuple[Fact, ...] = ()

    def __add__(self, other: "Kept") -> "Kept":
        """Return both together."""
        return Kept(
            written=self.written + other.written,
            waiting=self.waiting + other.waiting,
            known=self.known + other.known,
            refused=self.refused + other.refused,
        )


class Keeper(Struct, frozen=True, kw_only=True):
    """Puts facts where they belong; `target` says where, `opening` what a new file begins with."""

    pen: Pen
    records: Callable[[], Records]
    target: Callable[[Fact], Target]
    clock: Clock
    zone: tzinfo
    layout: Layout
    opening: Callable[[Store, str], str] = _empty

    def keep(
        self,
        facts: Sequence[Fact],
        author: Author,
        *,
        known: Sequence[Fact] = (),
        within: Callable[[], object] = _nothing,
    ) -> Kept:
        """Keep facts, each once; those that need their owner's word wait for it.

        `known` is what they may replace, as `known` returned it. What `within` does belongs to the same
        transaction: where it raises, nothing was kept. From there on they will be written, by `finish` if
        not by this.
        """
        adopted = {fact.id: fact for fact in known}
        drafts = [self._draft(fact, adopted) for fact in facts]
        records = self.records()
        sorting = Sorting(
            records=records,
            actor=author.actor,
            now=self.clock.now(),
            since=next((change.id for change in records.changes.list(limit=1)), 0),
            lines=self._lines(drafts),
            adopted=adopted,
        )
        with records.transaction():
            within()
            done = [sorting.sort(draft) for draft in drafts]
        self._observe(done, author)
        written = self._write_all([each.fact for each in done if each.outcome == "planned"], author)
        return Kept(
            written=tuple(written),
            waiting=tuple(each.fact for each in done if each.outcome == "waiting"),
            known=sum(each.outcome is None for each in done),
            refused=tuple(each.fact for each in done if each.outcome == "refused"),
        )

    def write(self, fact: Fact, author: Author) -> Fact:
        """Write one fact whatever its trust: its owner has approved it, in these words."""
        records = self.records()
        with records.transaction():
            records.facts.add([fact])
            stored = records.facts.get(fact.id)
        if stored.state == "written":
            return stored
        if normalise(fact.text) != stored.text:
            fact = replace(fact, line="")  # the line was made of other words
        return self._write(
            self._placed(replace(fact, text=normalise(fact.text), key=key_of(fact.text)), {}), author
        )

    def finish(self, author: Author) -> Kept:
        """Write the facts that were planned and that a kill, or a disk that failed, has left."""
        return Kept(written=tuple(self._write_all(list(self._planned()), author, is_late=True)))

    def known(self, agent: str, about: Collection[str], *, limit: int = MOST_KNOWN) -> list[Fact]:
        """Return what is known of something, by its words: facts, and a few lines that their owner wrote."""
        facts = self.records().facts
        found = facts_about(facts, agent, about, limit)
        targets = dict.fromkeys(self._notebooks(agent))
        texts = {target: text for target in targets if (text := self._text(target.store, target.path))}
        most = max(limit // _OWNERS_SHARE, limit - len(found))
        own = lines_about(texts, facts, agent, about, limit=most, at=self.clock.now())
        return [*found[: limit - len(own)], *own]

    def screened(self, fact: Fact) -> Fact:
        """Return a fact as it may be kept; one that may not be is refused, with marks.

        What is left of a statement without its secret says nothing, so that it is refused however secrets
        are to be written. Personal data becomes a mark, where that is the owner's wish.
        """
        screen = self.pen.screen
        told = f"{fact.subject}\n{fact.text}\n{fact.line}"
        without = Screen(secrets=screen.secrets, personal="allow").of(told).text
        is_secret = screen.secrets != "allow" and _has_secret(without)
        marked = Screen(secrets="allow", personal=screen.personal).of(without)
        if not is_secret and not marked.found:
            return fact
        subject, text, line = marked.text.split("\n", 2)
        clean = replace(fact, subject=subject, text=text, key=key_of(text), line=line)
        # A page that is called by a mark would be everybody's.
        if not is_secret and not marked.blocked and subject == fact.subject:
            return clean
        reason = fact.reason if fact.state == "refused" else "secret" if is_secret else "personal"
        return replace(clean, line="", state="refused", reason=reason)

    def _draft(self, fact: Fact, adopted: Mapping[str, Fact]) -> Fact:
        """Return a fact as it would be written, with its place; one that may not be written is refused."""
        fact = self.screened(replace(fact, text=normalise(fact.text), key=key_of(fact.text)))
        if fact.state == "refused":
            return replace(fact, line="")
        if not any(c.isalnum() for c in fact.text):
            return replace(fact, state="refused", reason="empty")
        return self._placed(fact, adopted)

    def _placed(self, fact: Fact, adopted: Mapping[str, Fact]) -> Fact:
        """Return a fact with the file, section and line that it will have; a correction is beside the old."""
        local = replace(fact, at=fact.at.astimezone(self.zone))
        old = self._standing(fact.replaces, adopted)
        if old is None or is_journal(old):
            place = self.target(local)
        else:
            place = Target(store=old.store, path=old.path, section=old.section)
            fact = replace(fact, kind=old.kind)
        line = line_of(local, place.form, self.zone)
        return replace(fact, store=place.store, path=place.path, section=place.section, line=line)

    def _standing(self, fact: str, adopted: Mapping[str, Fact]) -> Fact | None:
        """Return a fact that another replaces, if its line may still stand."""
        if not fact:
            return None
        with suppress(NotFound):
            found = self.records().facts.get(fact)
            return found if found.state == "written" else None
        return adopted.get(fact)

    def _lines(self, drafts: Sequence[Fact]) -> Lines:
        """Return what stands in the files of some facts and may say the same as one of them."""
        files: dict[tuple[Store, str], set[str]] = {}
        for fact in drafts:
            if fact.state != "refused" and not is_journal(fact):
                files.setdefault((fact.store, fact.path), set()).add(anchor_of(fact.line))
        return {
            file: {sense_of(bullet.line): bullet.line for bullet in bullets(self._text(*file), anchors)}
            for file, anchors in files.items()
        }

    def _text(self, store: Store, path: str) -> str:
        """Return the text of a file; of one that cannot be read nothing: who writes to it will be told."""
        found: list[str] = []

        def look(text: str | None) -> None:
            found.append(text or "")

        with suppress(CarrelError):
            self.pen.edit(store, path, look, Author(actor="", action="look"))
        return found[0] if found else ""

    def _notebooks(self, agent: str) -> Iterator[Target]:
        """Yield the files in which an owner writes what facts are about."""
        now = self.clock.now()
        probe = Fact(id="", agent=agent, layer="project", kind="note", text="", key="", at=now)
        for fact in (probe, replace(probe, kind="user"), replace(probe, layer="experience")):
            place = self.target(fact)
            yield Target(store=place.store, path=place.path)
        parts = (
            part for message in self.layout.messages for part in message.parts if part.kind == "notebook"
        )
        yield from (Target(path=path) for part in parts for path in part.files)

    def _planned(self) -> Iterator[Fact]:
        after = ""
        while page := self.records().facts.find(states=("planned",), limit=_PAGE, after=after):
            yield from page
            after = page[-1].id

    def _write_all(self, facts: Sequence[Fact], author: Author, *, is_late: bool = False) -> list[Fact]:
        """Write facts one by one; one that cannot be written keeps none of the others back."""
        written: list[Fact] = []
        failed: list[CarrelError] = []
        for fact in facts:
            own = replace(author, agent=fact.agent, session=fact.session)
            try:
                written.append(self._write(fact, own, is_late=is_late))
            except CarrelError as error:
                failed.append(error)
        if failed:
            raise failed[0]
        return written

    def _write(self, fact: Fact, author: Author, *, is_late: bool = False) -> Fact:
        """Write a fact's line, strike out the one that it replaces, and say so in the records."""
        old = self._standing(fact.replaces, {})
        until = fact.valid_from or fact.at.astimezone(self.zone).date().isoformat()
        change = self._change_of(fact) if is_late else None
        if change is None:  # else it was written before somebody was killed, and its owner may have moved it
            change = self._add(fact, author, old, until) or self._change_of(fact)
        if old is not None and not is_journal(old) and (old.store, old.path) != (fact.store, fact.path):
            self._strike(old, fact, author, until)
        return self._settled(fact, change.id if change else 0, old, until)

    def _add(self, fact: Fact, author: Author, old: Fact | None, until: str) -> Change | None:
        if is_journal(fact):
            return self.pen.append(fact.store, fact.path, fact.line, author)
        beside = old if old and (old.store, old.path) == (fact.store, fact.path) else None

        def edit(text: str | None) -> str:
            added = with_fact(self._opening(fact) if text is None else text, fact)
            return without(added, beside, fact, until) if beside else added

        return self.pen.edit(fact.store, fact.path, edit, _superseding(author) if beside else author)

    def _strike(self, old: Fact, fact: Fact, author: Author, until: str) -> None:
        def edit(text: str | None) -> str | None:
            return None if text is None else without(text, old, fact, until)

        self.pen.edit(old.store, old.path, edit, _superseding(author))

    def _opening(self, fact: Fact) -> str:
        return pages.opening(fact.subject) if is_page(fact) else self.opening(fact.store, fact.path)

    def _settled(self, fact: Fact, change: int, old: Fact | None, until: str) -> Fact:
        """Say that a fact is written, and that the one it replaces no longer stands."""
        records = self.records()
        with records.transaction():
            now = records.facts.get(fact.id)  # it may have been seen again since it was planned
            kept = replace(fact, evidence=now.evidence, seen=now.seen, pinned=now.pinned)
            written = replace(kept, state="written", reason="", change=change)
            records.facts.update(written)
            if old is not None:
                gone = replace(records.facts.get(old.id), state="superseded", superseded_by=fact.id)
                records.facts.update(replace(gone, valid_until=until))
        return written

    def _change_of(self, fact: Fact) -> Change | None:
        """Return the change that wrote a planned fact, since it was planned."""
        line = fact.line.encode()
        for change in self.records().changes.list(store=fact.store, path=fact.path, limit=_MOST_CHANGES):
            if change.id <= fact.change:
                break
            if change.state == "done" and line in change.splice.new:
                return change
        return None

    def _observe(self, done: Sequence[Sorted], author: Author) -> None:
        """Put the day on which a relation was observed again in the place of the last one."""
        for each in done:
            same, line = each.same, each.fact.line
            if each.outcome is None and same is not None and pages.is_newer(line, same.line):
                self._renew(same, line, replace(author, action="observe", agent=same.agent))

    def _renew(self, fact: Fact, line: str, author: Author) -> None:
        def edit(text: str | None) -> str | None:
            return replace_line(text or "", fact.line, line)

        if self.pen.edit(fact.store, fact.path, edit, author) is not None:
            records = self.records()
            with records.transaction():
                records.facts.update(replace(records.facts.get(fact.id), line=line))


def _has_secret(text: str) -> bool:
    """Tell whether a text has the mark of a secret; one of personal data is none."""
    for mark in _OF_PERSONS:
        text = text.replace(mark, "")
    return _REDACTED in text


def _superseding(author: Author) -> Author:
    return replace(author, action="supersede")
