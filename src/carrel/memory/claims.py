"""What a model claims to have learnt: its answer, read as far as it can be, and believed in nothing.

Prose and fences around the JSON do not matter; fields of the wrong kind are as if they were not there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, cast

from msgspec import Struct

from carrel.memory.fact import KINDS, normalise
from carrel.records.facts import Layer

MOST_FACTS = 20
"""How many facts are taken from one answer."""

_MOST_TRIES = 50
_MOST_EVIDENCE = 20
_LONGEST_FIELD = 200
_LONGEST_TEXT = 20_000
_LAYERS: dict[str, Layer] = {
    "project": "project",
    "b": "project",
    "experience": "experience",
    "a": "experience",
}
_TRAVELS = frozenset(("preference", "user", "skill"))
_ALSO = {
    "outcome": "event",
    "strategy": "event",
    "interaction": "event",
    "profile": "user",
    "person": "entity",
    "place": "entity",
    "organisation": "entity",
    "organization": "entity",
    "rule": "convention",
    "workflow": "procedure",
}


class Claim(Struct, frozen=True, kw_only=True):
    """One fact as a model tells it; `evidence` and `replaces` are the short ids of the question."""

    text: str
    layer: Layer = "project"
    kind: str = "note"
    subject: str = ""
    evidence: tuple[str, ...] = ()
    valid_from: str = ""
    valid_until: str = ""
    replaces: str = ""
    relation: str = ""
    target: str = ""
    category: str = ""


class Answer(Struct, frozen=True, kw_only=True):
    """The claims of an answer: `cut` were too many, `odd` are no claims; with a `problem` it is no answer."""

    claims: tuple[Claim, ...] = ()
    cut: int = 0
    odd: int = 0
    problem: str = ""


def read_answer(text: str, *, most: int = MOST_FACTS, is_cut: bool = False) -> Answer:
    """Return what an answer claims; it never fails, whatever the answer is.

    Of one that the model could not finish, the facts that are whole count.
    """
    if not text.strip():
        return Answer(problem="is empty")
    items = _items(text)
    if items is None and is_cut:
        items = _whole_items(text)
    if items is None:
        return Answer(problem="holds no JSON object with a list of facts")
    claims = [claim for claim in map(_claim, items) if claim is not None]
    kept = claims[:most]
    return Answer(claims=tuple(kept), cut=len(claims) - len(kept), odd=len(items) - len(claims))


def _items(text: str) -> Sequence[Any] | None:
    """Return the last list of facts that stands in a text."""
    found: Sequence[Any] | None = None
    position = 0
    for _ in range(_MOST_TRIES):
        position = min(
            (at for at in (text.find("{", position), text.find("[", position)) if at >= 0), default=-1
        )
        if position < 0:
            break
        value, end = _decoded(text, position)
        facts = _listed(value)
        found = found if facts is None else facts
        position = max(end, position + 1)
    return found


def _decoded(text: str, position: int) -> tuple[Any, int]:
    """Return the value that begins somewhere, and where it ends; none where it is broken."""
    try:
        return json.JSONDecoder().raw_decode(text, position)
    except (ValueError, RecursionError):
        return None, position


def _listed(value: Any) -> Sequence[Any] | None:
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("facts")
        return cast("list[Any]", value) if isinstance(value, list) else None
    if isinstance(value, list) and any(isinstance(item, dict) for item in cast("list[Any]", value)):
        return cast("list[Any]", value)
    return None


def _whole_items(text: str) -> Sequence[Any] | None:
    """Return the objects at the beginning of a list that was never closed."""
    found = list(_objects(text, text.find("[", text.find('"facts"') + 1) + 1))
    return found or None


def _objects(text: str, position: int) -> Iterator[Any]:
    while position > 0 and (position := text.find("{", position)) >= 0:
        value, end = _decoded(text, position)
        if value is None:
            break
        yield value
        position = end


def _claim(item: Any) -> Claim | None:
    if not isinstance(item, dict):
        return None
    given = cast("dict[str, Any]", item)
    text = given.get("text")
    if not isinstance(text, str) or not normalise(text[:_LONGEST_TEXT]):
        return None
    said = _word(given, "kind")
    kind = said if said in KINDS else _ALSO.get(said, "note")
    layer = _LAYERS.get(_word(given, "layer"), "experience" if kind in _TRAVELS else "project")
    return Claim(
        text=normalise(text[:_LONGEST_TEXT]),
        layer=layer,
        kind=kind,
        subject=_line(given, "subject"),
        evidence=_evidence(given.get("evidence")),
        valid_from=_day(given, "valid_from"),
        valid_until=_day(given, "valid_until"),
        replaces=_line(given, "replaces"),
        relation=_line(given, "relation"),
        target=_line(given, "object"),
        category=_word(given, "category") or (said if kind == "event" != said else ""),
    )


def _line(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return normalise(value[:_LONGEST_FIELD]) if isinstance(value, str) else ""


def _word(given: Mapping[str, Any], name: str) -> str:
    return _line(given, name).casefold()


def _day(given: Mapping[str, Any], name: str) -> str:
    """Return a day, nothing where it is none."""
    value = _line(given, name)
    try:
        return date.fromisoformat(value[:10]).isoformat()
    except ValueError:
        return ""


def _evidence(value: Any) -> tuple[str, ...]:
    """Return the ids that are named, in a list or in one text; a bare number is that message."""
    if isinstance(value, str):
        value = value.replace(",", " ").split()
    if not isinstance(value, list):
        return ()
    found = cast("list[Any]", value)[:_MOST_EVIDENCE]
    named = (f"m{each}" if isinstance(each, int) else each for each in found if isinstance(each, str | int))
    return tuple(dict.fromkeys(str(name).strip()[:_LONGEST_FIELD] for name in named))
