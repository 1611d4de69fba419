"""Sections of a notebook in a small answer: whole where they fit, and never more than the limit.

The limit is on the answer as compact JSON in UTF-8. What does not fit is left out visibly: bullets first, so
that the headings still tell what could be asked for.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import json

from carrel.markdown.outline import Section
from carrel.tools.excerpt import ELLIPSIS, boundary, clip

LIMIT = 6_144
"""Bytes of a whole answer."""
MOST_BULLETS = 10
LONGEST_HEADING = 200

_RESERVED = LIMIT // 3  # for the headings of sections whose bullets do not fit
_SHORTEST_BULLET = 40  # bytes; less of a bullet than that tells nothing
_COMMA = 1
_EMPTY = len(b'{"sections":[],"truncated":false}')
_BARE = len(b'{"heading":"","bullets":[]}')
_MOST_SECTIONS = LIMIT // _BARE


def tell(sections: Sequence[Section], wanted: str | None = None) -> dict[str, Any]:
    """Return `{"sections": [{"heading", "bullets"}], "truncated"}`; truncated when anything is left out."""
    chosen = _chosen(sections, wanted)
    headings = [clip(section.heading, LONGEST_HEADING) for section in chosen[:_MOST_SECTIONS]]
    costs = [size(heading) + _BARE - 2 + _COMMA for heading, _ in headings]
    truncated = len(chosen) > len(headings) or any(is_cut for _, is_cut in headings)
    told: list[dict[str, Any]] = []
    used, ahead = _EMPTY, sum(costs)
    for section, (heading, _), cost in zip(chosen, headings, costs, strict=False):
        if used + cost > LIMIT:
            truncated = True
            break
        used, ahead = used + cost, ahead - cost
        bullets, taken, is_whole = _fitting(section.bullets, LIMIT - used - min(ahead, _RESERVED))
        used += taken
        truncated = truncated or not is_whole
        told.append({"heading": heading, "bullets": bullets})
    return {"sections": told, "truncated": truncated}


def size(text: str) -> int:
    """Return the bytes of a text as JSON."""
    return len(json.encode(text))


def _chosen(sections: Sequence[Section], wanted: str | None) -> list[Section]:
    """Return the sections under a heading that contains what is wanted."""
    key = (wanted or "").strip().casefold()
    return [each for each in sections if not key or any(key in name.casefold() for name in each.path)]


def _fitting(bullets: Sequence[str], room: int) -> tuple[list[str], int, bool]:
    """Return the bullets that fit, the bytes that they take, and whether they are all, and whole."""
    fitting: list[str] = []
    taken = 0
    for bullet in bullets[:MOST_BULLETS]:
        cost = size(bullet[:room]) + _COMMA if room > 0 else LIMIT
        if len(bullet) > room or taken + cost > room:
            shortened = _shortened(bullet, room - taken - _COMMA)
            fitting += shortened
            return fitting, taken + sum(size(text) + _COMMA for text in shortened), False
        fitting.append(bullet)
        taken += cost
    return fitting, taken, len(bullets) <= MOST_BULLETS


def _shortened(bullet: str, room: int) -> list[str]:
    """Return the beginning of a bullet in a list, if enough of it fits to tell something."""
    if room < _SHORTEST_BULLET:
        return []
    fits, too_long = 0, min(len(bullet), room)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if size(bullet[:middle] + ELLIPSIS) <= room:
            fits = middle
        else:
            too_long = middle
    return [bullet[: boundary(bullet, fits)] + ELLIPSIS]
