"""What is known already of something: facts that were learnt, and lines that their owner wrote."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from carrel.markdown.sections import sections
from carrel.memory.fact import fact_id, key_of
from carrel.memory.places import Target
from carrel.memory.sorting import OWNER_TEXT
from carrel.memory.support import NARRATING
from carrel.memory.words import content_stems
from carrel.memory.written import Bullet, bullets, section_among
from carrel.records.facts import Fact, Facts

MOST_LINES = 5_000
"""Lines of one file that are looked at, the last ones."""

_LONGEST_LINE = 4_000
"""Characters; a longer line is no statement, but what a disk or another program left."""

_PAGE = 500
_MOST_FACTS = 20_000
_LEAST_SHARE = 0.3


def facts_about(facts: Facts, agent: str, about: Collection[str], limit: int) -> list[Fact]:
    """Return the written facts of an agent that share most words with something, the newest of them first."""
    every = enumerate(_written(facts, agent))
    found = [
        (_shared(fact.text, about, is_of_user=fact.kind == "user"), number, fact) for number, fact in every
    ]
    found = [each for each in found if each[0]]
    return [fact for _, _, fact in sorted(found, key=lambda each: each[:2], reverse=True)[:limit]]


def lines_about(
    texts: Mapping[Target, str],
    facts: Facts,
    agent: str,
    about: Collection[str],
    *,
    limit: int,
    at: datetime,
) -> list[Fact]:
    """Return the lines that share words with something and that nobody learnt, as facts of the owner."""
    found = [
        (_shared(bullet.text, about), target, bullet)
        for target, text in texts.items()
        for bullet in [each for each in bullets(text) if len(each.line) <= _LONGEST_LINE][-MOST_LINES:]
    ]
    found = sorted((each for each in found if each[0]), key=lambda each: -each[0])
    parts = {target: sections(texts[target]) for target in {target for _, target, _ in found}}
    own = (
        _as_fact(target, bullet, section_among(parts[target], bullet.start), agent, at)
        for _, target, bullet in found[: limit * 2]
        if not facts.find(store=target.store, path=target.path, line=bullet.line, limit=1)
    )
    return [fact for fact, _ in zip(own, range(limit), strict=False)]


def _as_fact(target: Target, bullet: Bullet, section: str, agent: str, at: datetime) -> Fact:
    return Fact(
        id=fact_id(agent, "", (target.store, target.path), bullet.line),
        agent=agent,
        layer="experience" if target.store == "namespaces" else "project",
        kind="note",
        text=bullet.text,
        key=key_of(bullet.text),
        at=at,
        state="written",
        reason=OWNER_TEXT,
        store=target.store,
        path=target.path,
        section=section,
        line=bullet.line,
    )


def _written(facts: Facts, agent: str) -> Iterator[Fact]:
    after = ""
    for _ in range(_MOST_FACTS // _PAGE):
        page = facts.find(agent=agent, states=("written",), limit=_PAGE, after=after)
        yield from page
        if len(page) < _PAGE:
            break
        after = page[-1].id


def _shared(text: str, about: Collection[str], *, is_of_user: bool = False) -> int:
    """Return how many words a text has in common with something, nothing where that is mere chance.

    What tells of the user in person has often no other word in common: where they live, what they are called.
    """
    words = content_stems(text)
    words = words if is_of_user else words - NARRATING
    shared = sum(word in about for word in words)
    return shared if shared and shared >= len(words) * _LEAST_SHARE else 0
