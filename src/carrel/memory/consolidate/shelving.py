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
from carrel.records import Records

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

    def is_done(day: Day) -> bool:
        entries = entries_of(files, day)
        return entries is not None and (day.date < before or entries.keys() <= set(taken.get(day.name, ())))

    return [day for day in days if day.date < limit and is_done(day)]


def shelve(files: FileStore, records: Records, days: Sequence[Day]) -> Iterator[Finding | Day]:
    """Move days to the archive, and yield each; one that cannot be moved stays, and why is yielded."""
    for day in days:
        try:
            if _move(files, records, day):
                yield day
        except CarrelError as error:
            yield Finding(
                code="journal_not_archived",
                message=f"The journal of {day.date} stays where it is: {error.message}",
                path=day.path,
                hint=error.hint,
                severity="info",
            )


def _move(files: FileStore, records: Records, day: Day) -> bool:
    content = files.read(day.path)
    if content is None:
        return False
    path = f"{day.path.rpartition('/')[0]}/{ARCHIVE}/{day.name}"
    there = files.read(path)
    if there is None:
        files.write(path, content.data, expect=None)
    elif not there.data.endswith(content.data):
        gap = b"" if there.data.endswith(b"\n") else b"\n"
        files.write(path, there.data + gap + content.data, expect=there.digest)
    _follow(records, day.path, path)
    files.remove(day.path, expect=content.digest)
    return True


def _follow(records: Records, old: str, new: str) -> None:
    """Let the facts of a file be those of its copy, so that they are found there."""
    while True:
        with records.transaction():
            page = records.facts.find(store="workspace", path=old, limit=_PAGE)
            for fact in page:
                records.facts.update(replace(fact, path=new))
        if len(page) < _PAGE:
            return
