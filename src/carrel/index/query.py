"""What a question asks for, in parts that can be looked up; any string is one, and none is an error.

Nothing in it is syntax but quotes, which ask for words as they stand; what is typed with signs in the middle
(gpt-4o, src/lib/api.ts, ERR_TIMED_OUT) is looked for as it stands as well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from carrel.index.analysis import PLAIN, fold, grams, part_scripts, words
from carrel.index.analysis.languages import ENGLISH, STOP_WORDS
from carrel.screen.secrets import find

LONGEST_QUERY = 20_000
"""Characters that are looked at: a question is not a book."""

MOST_WORDS = 64
"""Different words that are looked up, the rarest of them."""

_MOST_PHRASES = 16
_MOST_PHRASE_WORDS = 32
_SHORTEST_NAME = 3
_ROLES = frozenset(("user", "assistant", "system", "tool"))
_QUOTED = re.compile(r'"([^"\n]{1,400})"|“([^“”\n]{1,400})”|«([^«»\n]{1,400})»|`([^`\n]{1,400})`')
_TYPED = re.compile(r"(?<!\w)\w+(?:[-./\\_:@#+~=&]+\w+)+")


class Plan(Struct, frozen=True, kw_only=True):
    """What is looked up for a question.

    `words` are by language, `phrases` as they stand, `grams` for scripts that part no words. `plain` are all
    words as typed, for where nothing else is left. `speakers` are those that the question names, and
    `meaning` is its text without their names.
    """

    words: Mapping[str, tuple[str, ...]] = {}
    phrases: tuple[tuple[str, ...], ...] = ()
    grams: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    meaning: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look up."""
        return not (self.plain or self.grams)

    @property
    def wanted(self) -> frozenset[str]:
        """Every word that a match may be made of."""
        found = {word for each in self.words.values() for word in each}
        found.update(word for phrase in self.phrases for word in phrase)
        return frozenset(found or self.plain) | frozenset(self.grams)


def plan(text: str, *, languages: Sequence[str] = (ENGLISH,), speakers: Iterable[str] = ()) -> Plan:
    """Return what is looked up for a question, given the languages that occur and all who ever spoke."""
    asked = _asked(text[:LONGEST_QUERY], tuple(languages))
    named = tuple(each for each in speakers if _is_named(each, asked.typed))
    meaning = asked.plan.meaning
    if named and not find(meaning):  # whoever screens this later knows a secret by what stands around it
        meaning = _without(meaning, named)
    return replace(asked.plan, speakers=named, meaning=meaning)


class _Asked(Struct, frozen=True):
    """What is looked up whoever spoke, and every word as it is typed."""

    plan: Plan
    typed: frozenset[str]


@lru_cache(16)  # of one message it is asked whether it asks for something, and then for what
def _asked(text: str, languages: tuple[str, ...]) -> _Asked:
    folded = fold(text)
    parted, runs = part_scripts(folded)
    typed = _distinct(parted, PLAIN)
    by_language = {language: found for language in languages if (found := _distinct(parted, language))}
    # What says nothing in one of the languages that occur is looked for as it is typed as well.
    is_bare = 0 < len(by_language) < len(languages)
    found = Plan(
        words=by_language,
        phrases=_phrases(parted, typed if is_bare else ()),
        grams=tuple(grams(runs)[: 2 * MOST_WORDS]),
        plain=typed[:MOST_WORDS],
        meaning=folded,
    )
    return _Asked(found, frozenset(typed))


def _distinct(text: str, language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words(text, language)))


def _phrases(text: str, others: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return what must stand together: what is quoted, what is typed with signs in the middle, and others."""
    quoted = (next(filter(None, found.groups())) for found in _QUOTED.finditer(text))
    typed = (found[0] for found in _TYPED.finditer(text))
    phrases: dict[tuple[str, ...], None] = {}
    for each in (*quoted, *typed, *others):
        phrase = tuple(words(each, PLAIN)[:_MOST_PHRASE_WORDS])
        if phrase and len(phrases) < _MOST_PHRASES:
            phrases[phrase] = None
    return tuple(phrases)


def _is_named(speaker: str, typed: frozenset[str]) -> bool:
    """Tell whether a question names a speaker, in full or by the first name."""
    names = _names(speaker)
    if not names or names[0] in _ROLES:
        return False
    is_telling = len(names[0]) >= _SHORTEST_NAME and names[0] not in STOP_WORDS[ENGLISH]
    return (is_telling and names[0] in typed) or typed.issuperset(names)


@lru_cache(4_096)  # with each question, everybody is asked for
def _names(speaker: str) -> tuple[str, ...]:
    return tuple(words(fold(speaker), PLAIN))


def _without(text: str, speakers: Iterable[str]) -> str:
    """Return a text without the names of speakers, unless nothing else is in it."""
    names = {name for speaker in speakers for name in _names(speaker)}
    if not names:
        return text
    pattern = "|".join(re.escape(name) for name in sorted(names))
    left = re.sub(rf"\b(?:{pattern})(?:['\u2019]s)?\b", " ", text, flags=re.IGNORECASE)
    return left if words(left, PLAIN) else text
