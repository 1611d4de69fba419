"""What a dry run would have changed: the copies on its stage compared with the places they are of."""

import difflib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from msgspec import Struct

from carrel.config.directories import mirrored
from carrel.files.paths import TEMPORARY
from carrel.home.stage import all_below, copy_file, is_beside_database, places

_RECORDS = "records.db"
_STATE = ".carrel/state/"
_DERIVED = "/.carrel/cache/"
_OURS = ("/.carrel/.gitignore", "/logs/carrel.jsonl")
_LONGEST = 256 * 1024
"""Of a longer file it is told that it would change, and not where."""


class Difference(Struct, frozen=True, kw_only=True):
    """One file that would be new, changed or removed, and its lines as `diff -u` shows them."""

    path: str
    change: Literal["new", "changed", "removed"]
    diff: str = ""


class Rows(Struct, frozen=True, kw_only=True):
    """How many rows of one table of the records would be new, and how many would be there no more."""

    table: str
    added: int
    removed: int


class Differences(Struct, frozen=True, kw_only=True):
    """All that a dry run would have changed; what is derived from the files does not count."""

    files: tuple[Difference, ...] = ()
    records: tuple[Rows, ...] = ()


def differences(stage: Path, root: Path | None) -> Differences:
    """Return what differs on a stage; paths are told from the root of the workspace where they are in it."""
    files: list[Difference] = []
    records: dict[str, list[int]] = {}
    for place in places(stage):
        for path in _differing(place, stage):
            copy = mirrored(path, stage)
            if path.name == _RECORDS:
                _count(path, copy, records)
            elif _is_told(path) and not any(map(is_beside_database, (path, copy))):
                files.append(_difference(path, copy, root))
    rows = (Rows(table=table, added=n[0], removed=n[1]) for table, n in sorted(records.items()) if any(n))
    return Differences(files=tuple(_folded(files)), records=tuple(rows))


def _is_told(path: Path) -> bool:
    text = str(path)
    own = text.endswith(_OURS) or path.name.startswith(TEMPORARY)
    return not own and _DERIVED not in text


def _folded(files: list[Difference]) -> Iterator[Difference]:
    """Yield one row for all that git keeps to itself."""
    inner = [each for each in files if "/.git/" in f"/{each.path}"]
    yield from (each for each in files if each not in inner)
    if inner:
        yield Difference(path=f"{inner[0].path.partition('.git/')[0]}.git", change="changed")


def _differing(place: Path, stage: Path) -> Iterator[Path]:
    """Yield the files of a place that its copy has otherwise, or only one of them has."""
    before, after = _files(place, stage), _files(mirrored(place, stage), stage)
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is None or new is None or not _is_same(place / name, mirrored(place / name, stage), old, new):
            yield place / name


def _files(root: Path, stage: Path) -> dict[str, os.stat_result]:
    """Return what is below a directory and has bytes or leads somewhere; nothing of the stage itself."""
    return {
        os.path.relpath(path, root): about
        for path, about in all_below(root, stage)
        if stat.S_ISREG(about.st_mode) or stat.S_ISLNK(about.st_mode)
    }


def _is_same(path: Path, copy: Path, old: os.stat_result, new: os.stat_result) -> bool:
    if stat.S_ISLNK(old.st_mode) or stat.S_ISLNK(new.st_mode):
        return stat.S_ISLNK(old.st_mode) and stat.S_ISLNK(new.st_mode)
    is_open = path.with_name(f"{path.name}-wal").exists()  # then its copy holds the log, too
    if old.st_mtime_ns == new.st_mtime_ns and (is_open or old.st_size == new.st_size):
        return True
    return _bytes(path) == _bytes(copy)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # absent, or not for this user: the copy is empty then
        return b""


def _difference(path: Path, copy: Path, root: Path | None) -> Difference:
    is_inside = root is not None and path.is_relative_to(root)
    shown = path.relative_to(root).as_posix() if is_inside and root else str(path)
    is_old, is_new = os.path.lexists(path), os.path.lexists(copy)
    change = "changed" if is_old and is_new else "new" if is_new else "removed"
    is_kept = shown.startswith(_STATE)  # a copy of what is shown above, or of what people do not read
    return Difference(path=shown, change=change, diff="" if is_kept else _diff(_lines(path), _lines(copy)))


def _lines(path: Path) -> list[str] | None:
    data = b"" if path.is_symlink() else _bytes(path)
    if len(data) > _LONGEST or b"\0" in data:
        return None
    return data.decode("utf-8", "replace").splitlines(keepends=True)


def _diff(old: list[str] | None, new: list[str] | None) -> str:
    if old is None or new is None:
        return ""
    lines = list(difflib.unified_diff(old, new, n=2))[2:]
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _count(path: Path, copy: Path, counts: dict[str, list[int]]) -> None:
    """Add how many rows of each table only the copy has, and how many only the original."""
    with TemporaryDirectory(dir=copy.parent) as folder:
        before, after = Path(folder, "before.db"), Path(folder, "after.db")
        for source, into in ((path, before), (copy, after)):
            if source.exists():
                copy_file(source, into)
        for table, (added, removed) in _rows(before, after).items():
            found = counts.setdefault(table, [0, 0])
            found[0] += added
            found[1] += removed


def _rows(before: Path, after: Path) -> Mapping[str, tuple[int, int]]:
    import apsw  # noqa: PLC0415 - most dry runs that differ meet no records

    database: Any = apsw.Connection(str(after))
    try:
        database.execute("ATTACH ? AS past", (str(before),))
        found = {side: _tables(database, side) for side in ("main", "past")}
        return {
            table: (
                _only(database, table, "main", "past", found),
                _only(database, table, "past", "main", found),
            )
            for table in sorted({*found["main"], *found["past"]})
        }
    finally:
        database.close()


def _tables(database: Any, side: str) -> dict[str, int]:
    """Return the tables of one file, each with the number of its columns."""
    listed = "SELECT name FROM {}.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [name for (name,) in database.execute(listed.format(side))]
    return {name: len(list(database.execute(f"PRAGMA {side}.table_info({_quoted(name)})"))) for name in names}


def _only(database: Any, table: str, here: str, there: str, found: Mapping[str, dict[str, int]]) -> int:
    """Return how many rows of a table stand in one file and not in the other."""
    if table not in found[here]:
        return 0
    is_alike = found[here][table] == found[there].get(table)  # else one is of another version
    parts = [f"SELECT * FROM {side}.{_quoted(table)}" for side in ((here, there) if is_alike else (here,))]  # noqa: S608 - quoted
    ((count,),) = database.execute(f"SELECT count(*) FROM ({' EXCEPT '.join(parts)})")  # noqa: S608 - as above
    return count


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
