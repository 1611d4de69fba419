"""Blotting: what is forgotten for good goes out of texts that must otherwise stay as they are; pure.

A sentence goes that says it word for word or with all of its words. Of the messages that a fact was taken
from, the sentence goes that has most of it, and all of the message where no sentence does.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from carrel.memory.words import content_stems
from carrel.records.facts import Fact

FORGOTTEN = "[FORGOTTEN]"
"""What stands in the place of what was forgotten."""

_PARTS = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[ \t]+|\n+")
_LEAST = 2
_MOST_DEPTH = 50
_NAMES = frozenset(
    """
    type version id timestamp role message_id source_plugin sender_id agent_id name tool_call_id scope finish
    redacted path media_type forked_from method through tokens_before tokens_after
    """.split()  # noqa: SIM905 - a list of words is easier to read and to change as words
)


class Told(Struct, frozen=True, kw_only=True):
    """One text to be blotted out: folded, its words, and the messages that it was taken from."""

    text: str
    stems: frozenset[str]
    evidence: frozenset[str] = frozenset()


def told_of(facts: Iterable[Fact]) -> tuple[Told, ...]:
    """Return what facts say, as it is looked for in what was said."""
    return tuple(
        Told(
            text=_fold(fact.text),
            stems=frozenset(content_stems(fact.text)),
            evidence=frozenset(fact.evidence),
        )
        for fact in facts
        if fact.text.strip() and fact.text != FORGOTTEN
    )


def blotted(text: str, told: Sequence[Told], message: str = "") -> str:
    """Return a text without the sentences that say something of this; most texts stay as they are."""
    for each in told:
        is_evidence = bool(message) and message in each.evidence
        text = _without(text, each, is_evidence=is_evidence)
    return text


def blotted_line(value: Mapping[str, Any], told: Sequence[Told]) -> dict[str, Any] | None:
    """Return a line of a log without what is to be forgotten; none where it says nothing of it."""
    message = value.get("message_id")
    own = {
        key: item
        if key in _NAMES
        else _value(item, told, str(message) if key == "content" and message else "", 0)
        for key, item in value.items()
    }
    return own if own != value else None


def _value(value: Any, told: Sequence[Told], message: str, depth: int) -> Any:
    if isinstance(value, str):
        return blotted(value, told, message)
    if depth > _MOST_DEPTH:
        return value
    if isinstance(value, list):
        return [_value(item, told, message, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {key: item if key in _NAMES else _value(item, told, message, depth + 1) for key, item in items}
    return value


def said_in(text: str, told: Sequence[Told], message: str = "") -> list[str]:
    """Return the sentences of a text that say something of this, as they are written."""
    folded = _fold(text)  # once: most files say nothing of most facts
    places = [
        place
        for each in told
        if message in each.evidence or _may_say(folded, each)
        for place in _places(text, each, is_evidence=message in each.evidence)
    ]
    return [text[start:end] for start, end in dict.fromkeys(places)]


def _without(text: str, told: Told, *, is_evidence: bool) -> str:
    for start, end in reversed(_places(text, told, is_evidence=is_evidence)):
        text = text[:start] + FORGOTTEN + text[end:]
    return text


def _places(text: str, told: Told, *, is_evidence: bool) -> list[tuple[int, int]]:
    """Return from where to where something is said; all of a text where that is in no one sentence of it."""
    if not is_evidence and not _may_say(_fold(text), told):
        return []
    found = [place for place in _sentences(text) if _says(text[slice(*place)], told, is_evidence=is_evidence)]
    if not found and (told.text in _fold(text) or (is_evidence and text.strip() and FORGOTTEN not in text)):
        return [(0, len(text))]
    return found


def _may_say(folded: str, told: Told) -> bool:
    return told.text in folded or (
        len(told.stems) >= _LEAST and all(stem[:3] in folded for stem in told.stems)
    )


def _says(sentence: str, told: Told, *, is_evidence: bool) -> bool:
    if sentence.strip() == FORGOTTEN:
        return False
    if told.text in _fold(sentence):
        return True
    shared = len(told.stems & content_stems(sentence))
    if is_evidence:
        return shared > 0 and shared * 2 >= len(told.stems)
    return len(told.stems) >= _LEAST and shared == len(told.stems)


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return from where to where each sentence goes, without what stands between them."""
    places: list[tuple[int, int]] = []
    start = 0
    for gap in _PARTS.finditer(text):
        places.append((start, gap.start()))
        start = gap.end()
    return [(begin, end) for begin, end in (*places, (start, len(text))) if end > begin]


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".!")
