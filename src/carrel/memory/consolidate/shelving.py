"""Old journals go to the archive once they are consolidated: they are searched there, and not taken again.

The copy is made before the original goes, so that a kill leaves both; then the copy is recognised.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.findings import Finding
from carrel.memory.consolidate.journals import ARCHIVE, Day, entries_of
from carrel.memory.pen import Author, Pen
from carrel.records import Records

ARCHIVING = "archive"
"""What the history of memory calls it."""

_PAGE = 100


def old_days(
    files: FileStore,
    days: Sequence[Day],
    taken: Mapping[str, Sequence[str]],
    *,
    today: date,
    keep: int,
    before: str,
) -> list[Day]:
    """Return the days that are old enough and of which nothing is new."""
    limit = (today - timedelta(days=min(keep, today.toordinal() - 1))).isoformat()
    return [day for day in days if day.date < limit and is_taken(files, day, taken, before)]


def is_taken(files: FileStore, day: Day, taken: Mapping[str, Sequence[str]], before: str) -> bool:
    """Tell whether a day can be read and nothing in it is new."""
    entries = entries_of(files, day)
    return entries is not None and (day.date < before or entries.keys() <= set(taken.get(day.name, ())))


def is_shelved(day: Day) -> bool:
    """Tell whether a day is in the archive, where only what was taken goes."""
    return day.name.startswith(f"{ARCHIVE}/")


def shelve(
    files: FileStore, records: Records, pen: Pen, days: Sequence[Day], author: Author
) -> Iterator[Finding | Day]:
    """Move days to the archive, and yield each; one that cannot be moved stays, and why is yielded.

    Both steps are changes of memory like any other: they are in its history, and can be taken back.
    """
    for day in days:
        try:
            own = replace(author, action=ARCHIVING, reason=f"The journal of {day.date} is consolidated.")
            if _move(files, records, pen, day, own):
                yield day
        except CarrelError as error:
            yield Finding(
                code="journal_not_archived",
                message=f"The journal of {day.date} stays where it is: {error.message}",
                path=day.path,
                hint=error.hint,
                severity="info",
            )


def shelved(path: str) -> str:
    """Return where the file of a day is once it is in the archive."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{ARCHIVE}/{name}"


def _move(files: FileStore, records: Records, pen: Pen, day: Day, author: Author) -> bool:
    content = files.read(day.path)
    if content is None:
        return False
    path = shelved(day.path)
    there = files.read(path)
    if there is None:
        pen.put("workspace", path, content.data, author, expect=None)
    elif not there.data.endswith(content.data):
        gap = b"" if there.data.endswith(b"\n") else b"\n"
        pen.put("workspace", path, there.data + gap + content.data, author, expect=there)
    move_facts(records, day.path, path)
    pen.put("workspace", day.path, None, author, expect=content)
    return True


def move_facts(records: Records, old: str, new: str) -> None:
    """Let the facts of a file be those of its copy, so that they are found there."""
    while True:
        with records.transaction():
            page = records.facts.find(store="workspace", path=old, limit=_PAGE)
            for fact in page:
                records.facts.update(replace(fact, path=new))
        if len(page) < _PAGE:
            return
