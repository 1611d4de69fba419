"""Boost profiles: which tiers count more for a question, told by words in it, without a model."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct, field

_READ = 20_000  # characters of a query that are looked at
_WORD = re.compile(r"\w++(?:['\u2019]\w++)*+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)


def _no_weights() -> Mapping[str, float]:
    return {}


class Profile(Struct, frozen=True, kw_only=True):
    """Weights by tier for questions in which one of the triggers occurs; a tier that is not named has 1.

    A trigger is a word or a few, found whatever its case, as whole words; in scripts without spaces,
    anywhere.
    """

    name: str
    triggers: tuple[str, ...] = ()
    tiers: Mapping[str, float] = field(default_factory=_no_weights)


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split(","))


def _workspace(weight: float) -> dict[str, float]:
    """Return the weight of what the workspace itself holds, whichever tier it is in."""
    return dict.fromkeys(("document", "journal", "profile", "procedure"), weight)


GENERAL = Profile(name="general")
"""All tiers alike: what a question without triggers gets."""

BUILT_IN = (
    Profile(
        name="research",
        triggers=_phrases(
            "research, investigate, study, studies, survey, literature, paper, papers, evidence, findings, "
            "background on, state of the art, what is known, learn about"
        ),
        tiers={"session": 0.8, "graph": 1.8, "knowledge": 1.5},
    ),
    Profile(
        name="debugging",
        triggers=_phrases(
            "debug, debugging, bug, bugs, error, errors, exception, traceback, stack trace, crash, crashes, "
            "crashed, fails, failed, failing, failure, broken, regression, doesn't work, not working"
        ),
        tiers={"session": 2.0, "graph": 0.7, "knowledge": 0.9, **_workspace(1.2)},
    ),
    Profile(
        name="debate",
        triggers=_phrases(
            "debate, argue, counterargument, counterarguments, disagree, pros and cons, for and against, "
            "versus, refute, rebut, rebuttal, devil's advocate, trade-offs, tradeoffs"
        ),
        tiers={"session": 0.9, "graph": 1.5, "knowledge": 2.0},
    ),
)
"""Beside `general`: how much each tier counts for three kinds of question."""


def detect(query: str, custom: Iterable[Profile] = ()) -> Profile:
    """Return the profile with most triggers in the query, `general` where none has any.

    A custom profile goes before a built-in one with as many, and replaces one of the same name.
    """
    own = tuple(custom)
    names = {profile.name for profile in own}
    profiles = (*own, *(profile for profile in BUILT_IN if profile.name not in names))
    folded = query[:_READ].casefold()
    words = _spaced(folded)
    counts = [_count(profile.triggers, folded, words) for profile in profiles]
    most = max(counts)
    if most:
        return profiles[counts.index(most)]
    return next((profile for profile in own if profile.name == GENERAL.name), GENERAL)


def _count(triggers: tuple[str, ...], folded: str, words: str) -> int:
    return sum(_occurs(trigger, folded, words) for trigger in triggers)


def _occurs(trigger: str, folded: str, words: str) -> bool:
    form = _form(trigger)
    return bool(form.strip()) and (form in folded if _UNSPACED.search(form) else form in words)


@lru_cache(1_024)
def _form(trigger: str) -> str:
    """Return what to look for: the trigger as it stands in scripts without spaces, else its words."""
    folded = trigger.casefold().strip()
    return folded if _UNSPACED.search(folded) else _spaced(folded)


def _spaced(text: str) -> str:
    """Return the words of a text with one space around each."""
    words = (word.replace("\u2019", "'") for word in _WORD.findall(text))
    return f" {' '.join(words)} "
