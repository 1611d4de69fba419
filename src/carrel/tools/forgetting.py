"""To forget: a line of memory goes, at once only where it is the agent's own and its owner asked for that."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import NotFound
from carrel.memory.fact import key_of
from carrel.memory.keeping import Keeper
from carrel.memory.owned import text_at
from carrel.memory.pen import Author
from carrel.memory.places import Target
from carrel.memory.review import carry_out
from carrel.memory.sorting import OWNER_TEXT
from carrel.memory.words import WORD, content_stems, fold, stems
from carrel.memory.written import bullets, holds, is_journal, section_at
from carrel.records.facts import Fact
from carrel.tools.proposing import OWNERS, UNASKED, Proposer, told
from carrel.tools.registry import BadArguments

_ALIKE = 20
_HALF = 0.5
_BESIDE = 2
_READ = 20_000
# As words begin in which somebody asks to forget, in the languages of the stop words.
_ASKING = (
    "forget", "forgot", "delet", "remov", "eras", "discard", "olvid", "borr", "elimin", "vergiss", "vergess",
    "losch", "entfern", "oubli", "supprim", "effac", "esque", "apag",
)  # fmt: skip
_DENYING = frozenset("not don t never no nunca nicht nie ne n pas jamais nao".split())  # noqa: SIM905


class Forgetting(Struct, frozen=True, kw_only=True):
    """Finds what an agent wants to forget, and forgets it or lets that wait."""

    agent: str
    keeper: Keeper
    proposer: Proposer

    def forget(self, text: str, named: Target | None, author: Author) -> dict[str, Any]:
        """Forget the fact with these words or this id; in a file that is named, any line that says so."""
        facts = self._facts(text, named)
        if len(facts) > 1:
            paths = ", ".join(dict.fromkeys(fact.path for fact in facts))
            known = ", ".join(fact.id for fact in facts)
            raise BadArguments(author.reason, f"it stands in {paths}", hint=f"Name one of them: {known}.")
        if facts:
            return self._forget_fact(facts[0], author)
        line = _line_like(text_at(self.keeper.pen, named.store, named.path), text) if named else None
        if named is None or line is None:
            return {"state": "refused", "why": "not_found"}
        wanted = self.proposer.proposal(
            OWNERS, action="remove", store=named.store, path=named.path, section=line[1], old=line[0]
        )
        return {"path": named.path, "section": line[1], **told(self.proposer.wait(wanted))}

    def _facts(self, text: str, named: Target | None) -> list[Fact]:
        """Return the agent's own facts that are meant: the one with this id, else those that say the same."""
        facts = self.proposer.records().facts
        found = facts.find(agent=self.agent, states=("written",), key=key_of(text), limit=_ALIKE)
        with suppress(NotFound):
            found = [facts.get(text.strip())]
        place = (named.store, named.path) if named else None
        return [
            fact
            for fact in found
            if (fact.agent, fact.state) == (self.agent, "written")
            and place in (None, (fact.store, fact.path))
        ]

    def _forget_fact(self, fact: Fact, author: Author) -> dict[str, Any]:
        where = {"path": fact.path, "section": fact.section, "id": fact.id}
        if not holds(text_at(self.keeper.pen, fact.store, fact.path), fact.line):
            self._note(fact)  # somebody has taken it out, or put it in other words
            return {"state": "known", "why": "not_there", **where}
        wanted = self.proposer.proposal(
            self._why(fact), action="remove", store=fact.store, path=fact.path, section=fact.section,
            old=fact.line, facts=(fact.id,),
        )  # fmt: skip
        if wanted.why:
            return {**where, **told(self.proposer.wait(wanted))}
        carry_out(self.keeper, wanted, author)
        self._note(fact)
        return {"state": "written", **where}

    def _why(self, fact: Fact) -> str:
        """Return why a fact is not forgotten at once, nothing where it is."""
        is_own = fact.session and not fact.pinned and fact.reason != OWNER_TEXT and not is_journal(fact)
        if not is_own:
            return OWNERS
        is_asked = any(asks_to_forget(entry.to_text(), fact.text) for entry in self.proposer.turn().own)
        return "" if is_asked else UNASKED

    def _note(self, fact: Fact) -> None:
        records = self.proposer.records()
        with records.transaction():
            records.facts.update(replace(records.facts.get(fact.id), state="forgotten"))


def asks_to_forget(message: str, text: str) -> bool:
    """Tell whether a message asks to forget something, and shares half of its words with what a text says."""
    wanted = content_stems(text)
    common = wanted & stems(message)
    return bool(wanted) and len(common) >= _HALF * len(wanted) and _asks([*_words(message)])


def _asks(words: Sequence[str]) -> bool:
    """Tell whether a word asks to forget and none beside it denies that: `don't forget` asks to remember."""
    return any(
        word.startswith(_ASKING) and _DENYING.isdisjoint(words[max(0, at - _BESIDE) : at + _BESIDE + 1])
        for at, word in enumerate(words)
    )


def _words(text: str) -> Iterator[str]:
    return (fold(word) for word in WORD.findall(text[:_READ]))


def _line_like(text: str, wanted: str) -> tuple[str, str] | None:
    """Return the line that says the same, and the section it stands in."""
    key = key_of(wanted)
    found = next((bullet for bullet in bullets(text) if key_of(bullet.text) == key), None)
    return (found.line, section_at(text, found.start)) if found else None
