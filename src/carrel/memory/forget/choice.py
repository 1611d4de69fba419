"""What somebody wants to forget: facts by their ids, by where they come from, or by what they say.

What stands in a file and is no fact becomes one that is forgotten, so that nobody learns it again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, partial

from msgspec import Struct

from carrel.errors import NotFound, UsageError
from carrel.memory import journal
from carrel.memory.fact import fact_id, key_of, normalise
from carrel.memory.forget.sayings import Place, says_alike, statements
from carrel.memory.forget.sources import Heard, Source, from_file, from_sender, heard
from carrel.memory.sorting import OWNER_TEXT
from carrel.records import Records
from carrel.records.content import PROSE_CHARACTERS
from carrel.records.dreams import Promotion
from carrel.records.facts import Fact, is_buried
from carrel.sessions.store import Sessions

_PAGE = 500
_MARKS = " \t-*+>"


class ForgetWhat(UsageError):
    """Nobody said what is to be forgotten."""

    code = "forget_what"

    def __init__(self) -> None:
        super().__init__(
            "Nothing was named that is to be forgotten.",
            hint="Name facts, or give --session, --sender, --file or --query.",
        )


class NothingToForget(NotFound):
    """Memory holds nothing of what is to be forgotten."""

    code = "nothing_to_forget"

    def __init__(self) -> None:
        super().__init__(
            "Memory holds nothing of that.",
            hint="carrel memory facts lists facts; carrel search looks everywhere.",
        )


class Choice(Struct, frozen=True, kw_only=True):
    """Facts by their ids, and those of which all the rest that is given is true."""

    facts: tuple[str, ...] = ()
    session: str | None = None
    sender: str | None = None
    file: str | None = None
    query: str | None = None

    @property
    def is_by_source(self) -> bool:
        """Whether it is said where they come from."""
        return self.session is not None or self.sender is not None or self.file is not None


class Chooser(Struct, frozen=True, kw_only=True):
    """Looks for what is to be forgotten; `places` are the files of memory, `read` returns what one says."""

    agent: str
    records: Callable[[], Records]
    sessions: Callable[[], Sessions]
    places: Callable[[], Iterable[Place]]
    read: Callable[[Place], str]
    now: datetime

    def choose(self, choice: Choice) -> tuple[Fact, ...]:
        """Return all that is meant, each once, with whatever says the same; else NothingToForget."""
        if not (choice.facts or choice.is_by_source or (choice.query and choice.query.strip())):
            raise ForgetWhat
        facts = self.records().facts
        found = [facts.get(fact) for fact in choice.facts]
        if choice.is_by_source or choice.query:
            found += self._learnt(choice)
            found += self._promoted(choice)
            found += self._lines(choice)
        chosen = {fact.id: fact for fact in found}
        for fact in found:
            chosen |= {same.id: same for same in self._alike(fact)}
        if not chosen:
            raise NothingToForget
        return tuple(chosen.values())

    def _learnt(self, choice: Choice) -> Iterator[Fact]:
        """Yield the facts of which all is true that is said of them."""
        ways = [cache(partial(self._heard, source)) for source in _sources(choice)]
        for fact in self._every():
            if choice.session is not None and fact.session != choice.session:
                continue
            if choice.query and not says_alike(fact.text, choice.query):
                continue
            is_in_file = choice.file is not None and fact.path == choice.file
            if all(way(fact.session).taught(fact) for way in ways) or (is_in_file and choice.sender is None):
                yield fact

    def _every(self) -> Iterator[Fact]:
        facts, after = self.records().facts, ""
        while page := facts.find(agent=self.agent, limit=_PAGE, after=after):
            yield from (fact for fact in page if not is_buried(fact.key))
            after = page[-1].id

    def _heard(self, source: Source, session: str) -> Heard:
        with suppress(NotFound):
            if session:
                return heard((placed.entry for placed in self.sessions().entries(session)), source)
        return Heard(frozenset(), frozenset())

    def _promoted(self, choice: Choice) -> Iterator[Fact]:
        """Yield what was promoted from a session or a file and is no fact of its own."""
        if choice.sender is not None or not choice.is_by_source:
            return
        before: int | None = None
        while page := self.records().dreams.list(agent=self.agent, before=before):
            for dream in page:
                for each in dream.promotions:
                    if (
                        each.text
                        and _is_from(each, choice)
                        and says_alike(each.text, choice.query or each.text)
                    ):
                        yield self._tombstone(("workspace", dream.path), each.text, each.text, each.session)
            before = page[-1].id

    def _lines(self, choice: Choice) -> Iterator[Fact]:
        """Yield the lines of memory that are no facts: entries of a session, or those that a query finds."""
        if choice.sender is not None or not (choice.query or choice.session):
            return
        facts = self.records().facts
        for place in self.places():
            if choice.file not in (None, place[1]):
                continue
            for found in statements(self.read(place)):
                line = " ".join(found.text.split("\n"))
                entry = next(iter(journal.parse(f"- {line.lstrip(_MARKS)}")), journal.Entry(text=line))
                is_said = choice.session in (None, entry.session)
                if not is_said or not says_alike(line, choice.query or line) or len(line) > PROSE_CHARACTERS:
                    continue
                if any(map(str.isalnum, entry.text)) and not facts.find(
                    store=place[0], path=place[1], line=found.text, states=("written",), limit=1
                ):
                    yield self._tombstone(place, entry.text, found.text.split("\n")[0], entry.session)

    def _tombstone(self, place: Place, text: str, line: str, session: str) -> Fact:
        store, path = place
        said = normalise(text)
        return Fact(
            id=fact_id(self.agent, "", (store, path), line),
            agent=self.agent,
            layer="experience" if store == "namespaces" else "project",
            kind="note",
            text=said,
            key=key_of(said),
            at=self.now,
            session=session,
            state="forgotten",
            reason=OWNER_TEXT,
            store=store,
            path=path,
            line=line,
        )

    def _alike(self, fact: Fact) -> Sequence[Fact]:
        """Return the facts of every agent that say the same; an event is one of its day only."""
        if is_buried(fact.key) or not fact.key:
            return ()
        found = self.records().facts.find(key=fact.key, limit=_PAGE)
        return [
            each
            for each in found
            if not is_buried(each.key) and (fact.kind != "event" or each.path == fact.path)
        ]


def _sources(choice: Choice) -> Iterator[Source]:
    if choice.sender is not None:
        yield from_sender(choice.sender)
    if choice.file is not None:
        yield from_file(choice.file)


def _is_from(promotion: Promotion, choice: Choice) -> bool:
    return choice.session in (None, promotion.session) and choice.file in (None, promotion.source)
