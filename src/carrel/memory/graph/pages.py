"""The pages of entities: `memory/entities/*.md`, in Markdown that people write by hand.

    # Ana Martínez
    aliases: Ana, AM

    - works_with: [[Luis]] (0.8, 2026-04-01)
    - part_of: [[Team Blue]], [[Harbour]] (2026-03-15)
    - Moved to Lisbon with [[Luis|her brother]] in May.

The first heading names the entity, else `title` in the front matter, else the file; all of these find it, and
so do its aliases, which may stand in the front matter too. A word and a colon before a link make a typed
relation, any other link is a mention. What stands in brackets after a link, or after the last one for all
that have none, may be a weight from 0 to 1 and the day of the last observation, in any order. A link's
text behind `|` and its section behind `#` do not matter. Reading cannot fail: what is not understood is text.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import cast
from unicodedata import normalize

from msgspec import Struct

from carrel.markdown.frontmatter import parse
from carrel.sessions.search import fold

MENTION = "mentions"
MENTION_WEIGHT = 0.5

# Scripts that are written without spaces, or with endings glued to names: each character is a token.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
    "\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])\w)++|[+#]")
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,200})(?:[|#][^\[\]\n]{0,200})?\]\](?:[ \t]?\(([^()\n]{1,60})\))?")
_RELATION = re.compile(r"[ \t]*+(?:[-*+][ \t]++)?(?:\*\*)?(\w[\w -]{0,39}?)(?:\*\*)?::?(?:\*\*)?[ \t]*+\[\[")
_ALIASES = re.compile(
    r"[ \t]*+(?:[-*+][ \t]++|<!--[ \t]*+)?(?:\*\*)?(?:aliases|alias|aka)(?:\*\*)?:(?:\*\*)?(.{1,2000})",
    re.IGNORECASE,
)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]++(.{1,200})")
_WEIGHT = re.compile(r"[01]?\.[0-9]{1,9}|[01]")


class Link(Struct, frozen=True, kw_only=True, gc=False):
    """One link of a page, as written; `day` is that of the last observation, "" when none is told."""

    target: str
    line: int
    relation: str = MENTION
    weight: float = MENTION_WEIGHT
    day: str = ""


class Page(Struct, frozen=True, kw_only=True):
    """What a document says for the graph; one that is no entity's has no names."""

    path: str
    end_line: int
    line: int = 1
    names: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


def read_page(path: str, text: str, *, is_entity: bool = True) -> Page:
    """Return the names and links of a document; the same text gives the same page."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    linking = ((number, line) for number, line in enumerate(lines, 1) if "[[" in line)
    links = tuple(link for number, line in linking for link in _links(line, number))
    if not is_entity:
        return Page(path=path, end_line=len(lines), links=links)
    line, names = _names(path, text, lines)
    return Page(path=path, end_line=len(lines), line=line, names=names, links=links)


def tokens_of(text: str) -> list[str]:
    """Return what a text is compared by: its words, and each character of a script without spaces."""
    return _TOKEN.findall(normalize("NFC", fold(text)))  # which puts together what folding took apart


def _links(line: str, number: int) -> Iterator[Link]:
    relation = _RELATION.match(line)
    kind = "_".join(relation[1].lower().split()) if relation else MENTION
    found = list(_LINK.finditer(line))
    after = found[-1][2] if found else None
    for match in found:
        weight, day = _noted(match[2] or after or "")
        yield Link(
            target=match[1].strip(),
            line=number,
            relation=kind,
            weight=weight if weight is not None else (1.0 if relation else MENTION_WEIGHT),
            day=day,
        )


def _noted(note: str) -> tuple[float | None, str]:
    """Return the weight and the day that stand in brackets; other words there are somebody's remark."""
    weight, day = None, ""
    for piece in map(str.strip, note.split(",")):
        if _WEIGHT.fullmatch(piece):
            weight = min(float(piece), 1.0)
        elif days_between(piece, date.min) is not None:
            day = piece
    return weight, day


def _names(path: str, text: str, lines: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the line that names an entity, and all its names, the one to show first."""
    extra = parse(text).meta.extra
    title = extra.get("title")
    stem = path.rpartition("/")[2].rpartition(".")[0] or path
    headings = ((number, match[1]) for number, line in enumerate(lines, 1) if (match := _HEADING.match(line)))
    line, heading = next(headings, (1, ""))
    aliases = (match[1].split(",") for line in lines if (match := _ALIASES.match(line)))
    names = (
        heading.rstrip("# \t"),
        title if isinstance(title, str) else "",
        stem.replace("-", " ").replace("_", " "),
        *_listed(extra.get("aliases")),
        *(alias for row in aliases for alias in row),
    )
    bare = (name.removesuffix("-->").strip(" \t[]\"'*`") for name in names)
    return line, tuple(dict.fromkeys(name for name in bare if name))


def _listed(value: object) -> list[str]:
    """Return the names in a field of front matter, which anybody may have written in any form."""
    if isinstance(value, str):
        return value.strip("[]").split(",")
    if isinstance(value, list | tuple):
        return [each for each in cast("Sequence[object]", value) if isinstance(each, str)]
    return []


def days_between(day: str, today: date) -> int | None:
    """Return how many days ago a day was, None for what is none."""
    try:
        return (today - date.fromisoformat(day)).days
    except ValueError:
        return None
