"""Notes that people keep: projects of basic-memory become the graph, vaults of Obsidian knowledge."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from carrel.errors import CarrelError
from carrel.importing.piece import Piece
from carrel.importing.source import FILE_LIMIT, Item, Source, text_of
from carrel.importing.talks import object_in
from carrel.markdown.frontmatter import parse
from carrel.markdown.structure import structure_of
from carrel.memory.pages import ENTITIES, slug_of
from carrel.workspace.ignore import ignore_rules
from carrel.workspace.tiers import day_of

_NOTES = (".md", ".markdown")
_DATES = ("modified", "updated", "updated_at", "created", "created_at", "date")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
# `- works_with [[Ana]] (context)`: words and a link, with no colon that would make it Carrel's own form.
_RELATION = re.compile(
    r"(?m)^(?P<mark>[ \t]*+[-*+][ \t]++)(?P<words>[^\W\d_][\w -]{0,38}?)[ \t]++"
    r"(?P<link>\[\[[^\[\]\n]{1,200}\]\])(?=\s|\Z)"
)
# How Obsidian names a day, in the words of moment.js; what stands in brackets is itself. Nothing that was
# matched is given back, so that no form of a stranger's vault takes long.
_WORDS = re.compile(r"\[(?P<plain>[^\]]*)\]|YYYY|MMMM|MMM|MM|M|Do|DD|D|dddd|ddd|gggg|GGGG|ww|WW|w|W|Q")
_FORMS = {
    "YYYY": ("Y", "[0-9]{4}"),
    "MMMM": ("N", "[A-Za-z]{3,9}+"),
    "MMM": ("N", "[A-Za-z]{3}"),
    "MM": ("M", "[0-9]{2}"),
    "M": ("M", "[0-9]{1,2}+"),
    "DD": ("D", "[0-9]{2}"),
    "D": ("D", "[0-9]{1,2}+"),
    "Do": ("D", "[0-9]{1,2}+(?=st|nd|rd|th)"),
}
_BESIDE = {"d": r"[^\W\d_]++"}
"""What tells no day by itself: the name of a weekday; all else is a number."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST_FORM = 100
_FOLDERS = (".obsidian", ".trash")


def read_basic_memory(source: Source) -> Iterator[Piece]:
    """Yield the notes of a project as pages of the graph, and its other files as knowledge."""
    for item in source.items():
        text = text_of(source, item.path) if _is_note(item) else None
        if why := _problem(item):
            yield Piece(source=item.path, role="left", reason=why)
        elif text is None:
            yield _knowledge(item)
        else:
            yield _page(item, text)


def read_vault(source: Source) -> Iterator[Piece]:
    """Yield a vault: its daily notes as days of the journal, all else as knowledge; links still lead."""
    daily = _daily(source)
    for item in source.items():
        if item.path.startswith(tuple(f"{folder}/" for folder in _FOLDERS)):
            continue
        if why := _problem(item):
            yield Piece(source=item.path, role="left", reason=why)
        elif day := _day_in(item.path, *daily):
            yield Piece(source=item.path, role="journal", name=day, modified_ns=item.modified_ns)
        else:
            yield _knowledge(item)


def graphed(text: str, day: str) -> str:
    """Return a note of basic-memory in which its relations are read by the graph, observed on a day.

    All other lines stay as they are: ids, dates and tags in the front matter, observations, prose and code.
    """
    fences = structure_of(text).fences
    noted = f" ({day})" if day else ""

    def related(found: re.Match[str]) -> str:
        if any(begin <= found.start() < end for begin, end in fences):
            return found[0]
        return f"{found['mark']}{'_'.join(found['words'].split())}: {found['link']}{noted}"

    return _RELATION.sub(related, text)


def _page(item: Item, text: str) -> Piece:
    meta = parse(text.replace("\r\n", "\n")).meta
    title = meta.extra.get("title")
    stem = item.path.rpartition("/")[2].rpartition(".")[0]
    name = title if isinstance(title, str) and title.strip() else stem
    inner = ENTITIES.removeprefix("memory/")
    data = graphed(text, _day_of(meta.extra, item)).encode("utf-8", "surrogateescape")
    return Piece(
        source=item.path,
        role="memory",
        name=f"{inner}/{slug_of(name)}.md",
        data=data,
        modified_ns=item.modified_ns,
    )


def _day_of(extra: Mapping[str, Any], item: Item) -> str:
    """Return the day that a note was last changed: as it says itself, else as its file does."""
    for key in _DATES:
        if found := _DAY.match(str(extra.get(key, ""))):
            with suppress(ValueError):
                return date.fromisoformat(found[0]).isoformat()
    if not item.modified_ns:
        return ""
    return datetime.fromtimestamp(item.modified_ns // 10**9, UTC).date().isoformat()


def _daily(source: Source) -> tuple[str, str]:
    """Return the folder of a vault's daily notes, "" for any, and how their names are made."""
    with suppress(CarrelError):
        told = object_in(source.read(".obsidian/daily-notes.json") or b"")
        folder, form = told.get("folder"), told.get("format")
        name = form if isinstance(form, str) and form else "YYYY-MM-DD"
        return (folder.strip("/") if isinstance(folder, str) else ""), name
    return "", "YYYY-MM-DD"


def _day_in(path: str, folder: str, form: str) -> str:
    """Return the name in a journal of a daily note, "" where it is another one."""
    inner = path.removeprefix(f"{folder}/") if folder else path
    if folder and inner == path:
        return ""
    name = path.rpartition("/")[2]
    if day_of(name):
        return name
    found = _days_named(form).fullmatch(inner)
    told: dict[str, str] = {} if found is None else found.groupdict()
    with suppress(ValueError, KeyError):
        month = int(told["M"]) if "M" in told else 1 + _MONTHS.index(told["N"][:3].lower())
        return f"{date(int(told['Y']), month, int(told['D'])).isoformat()}.md"
    return ""


@lru_cache(maxsize=16)
def _days_named(form: str) -> re.Pattern[str]:
    """Return what matches the names of notes that are made in this form."""
    seen: dict[str, str] = {}
    made, place = "", 0
    form = form[:_LONGEST_FORM]
    for found in _WORDS.finditer(form):
        made += re.escape(form[place : found.start()]) + _matching(found, seen)
        place = found.end()
    return re.compile(f"{made}{re.escape(form[place:])}\\.md")


def _matching(found: re.Match[str], seen: dict[str, str]) -> str:
    """Return what matches one word of a form; of a part that was seen before, the same again."""
    word = found[0]
    if word not in _FORMS:
        return _BESIDE.get(word[0], "[0-9]{1,4}+") if found["plain"] is None else re.escape(found["plain"])
    part, numbers = _FORMS[word]
    ending = "[a-z]{2}" if word == "Do" else ""
    if part in seen:
        return f"(?P={part}){ending}" if seen[part] == numbers else f"{numbers}{ending}"
    seen[part] = numbers
    return f"(?P<{part}>{numbers}){ending}"


def _problem(item: Item) -> str:
    if item.problem:
        return item.problem
    if item.size > FILE_LIMIT:
        return f"it has more than {FILE_LIMIT:,} bytes"
    return "its name is one that is kept out" if ignore_rules(None)(item.path) else ""


def _is_note(item: Item) -> bool:
    return not item.problem and item.path.lower().endswith(_NOTES) and item.size <= FILE_LIMIT


def _knowledge(item: Item) -> Piece:
    return Piece(source=item.path, role="knowledge", name=item.path, modified_ns=item.modified_ns)
