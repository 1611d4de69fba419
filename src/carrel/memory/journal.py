"""The journal: one file a day, one line an entry, only ever added to.

    - 14:05 [decision] Chose JWT for authentication. _(session s1, m12)_

What Carrel writes is read back exactly. What people write by hand is read too: every bullet is an entry, with
or without its hour, its category and its source.
"""

import re
from datetime import date, datetime
from typing import Literal, cast, get_args
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel.errors import UsageError
from carrel.markdown.outline import outline
from carrel.workspace.layout import Layout

Category = Literal["decision", "outcome", "strategy", "note", "interaction"]

_CATEGORIES = frozenset(get_args(Category))
_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?=\s|\Z)\s*+")
_CATEGORY = re.compile(r"\[([A-Za-z]{1,20})\](?=\s|\Z)\s*+")
_ID = r"([\w.:@+%~-]++)"
_SOURCE = re.compile(rf"_\((?:session {_ID}(?:, {_ID})?|message {_ID})\)_")
_NOT_IN_IDS = re.compile(r"[^\w.:@+~-]")


class NoJournal(UsageError):
    """The workspace's layout keeps no journal."""

    code = "no_journal"

    def __init__(self, layout: str) -> None:
        super().__init__(
            f"A workspace with the layout {layout} keeps no journal.",
            hint="Put it into a section of a notebook: carrel memory append.",
        )


class Entry(Struct, frozen=True, kw_only=True):
    """What was noted, at which time of the day (HH:MM), as what, and from where; "" is not known."""

    text: str
    time: str = ""
    category: Category | Literal[""] = ""
    session: str = ""
    message: str = ""


def entry(text: str, *, category: Category, at: datetime, session: str = "", message: str = "") -> str:
    """Return an entry as one line, without its newline; `at` is of the workspace's own time zone.

    Nothing in a text can forge the source of an entry: one that ends like a source gets a backslash.
    """
    said = " ".join(line.strip() for line in text.splitlines() if line.strip())
    source = _source(session, message)
    if not source and (mark := _source_in(said)) is not None:
        said = f"{said[:mark]}\\{said[mark:]}"
    return " ".join(part for part in (f"- {at:%H:%M} [{category}]", said, source) if part)


def parse(text: str) -> tuple[Entry, ...]:
    """Return the entries of a journal, in their order; what is no bullet is none."""
    return tuple(_read(bullet) for section in outline(text) for bullet in section.bullets)


def day_path(layout: Layout, day: date) -> str:
    """Return the file of a day, where the layout keeps its days."""
    if not layout.journal and not layout.home:
        raise NoJournal(layout.name)
    return f"{layout.journal or f'{layout.home}memory'}/{day.isoformat()}.md"


def _read(bullet: str) -> Entry:
    hour = _HOUR.match(bullet)
    rest = bullet[hour.end() :] if hour else bullet
    category = _CATEGORY.match(rest)
    named = category[1].lower() if category else ""
    if category and named in _CATEGORIES:
        rest = rest[category.end() :]
    else:
        named = ""
    said, session, message = _parted(rest)
    return Entry(
        text=said,
        time=f"{int(hour[1]):02}:{hour[2]}" if hour else "",
        category=cast("Category", named),
        session=session,
        message=message,
    )


def _parted(said: str) -> tuple[str, str, str]:
    """Return what an entry says, its session and its message."""
    mark = _source_in(said)
    if mark is None:
        return said, "", ""
    if said[mark] == "\\":
        return said[:mark] + said[mark + 1 :], "", ""
    source = _SOURCE.fullmatch(said, mark)
    assert source is not None
    return said[:mark].rstrip(), _unquoted(source[1] or ""), _unquoted(source[2] or source[3] or "")


def _source_in(said: str) -> int | None:
    """Return where a text ends like a source, with the backslashes before it; none where it does not."""
    mark = said.rfind("_(")
    if mark == -1 or not _SOURCE.fullmatch(said, mark):
        return None
    mark = len(said[:mark].rstrip("\\"))
    return mark if not mark or said[mark - 1].isspace() else None


def _source(session: str, message: str) -> str:
    session, message = (_NOT_IN_IDS.sub(_quoted, each) for each in (session, message))
    if session:
        return f"_(session {session}, {message})_" if message else f"_(session {session})_"
    return f"_(message {message})_" if message else ""


def _quoted(odd: re.Match[str]) -> str:
    return quote(odd[0], safe="", errors="surrogatepass")


def _unquoted(name: str) -> str:
    try:
        return unquote(name, errors="surrogatepass")
    except UnicodeDecodeError:  # somebody's own percent signs
        return name
