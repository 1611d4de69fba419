"""Opening a bundle, of whichever form, and looking all of it over."""

import os
import stat
from collections.abc import Callable, Iterable
from errno import EACCES
from itertools import islice
from typing import IO

from msgspec import Struct

from carrel.bundle import Bundle, BundleDamaged, Table, rows
from carrel.bundle.documents import JsonBundle
from carrel.bundle.errors import NoSuchBundle, NotABundle
from carrel.bundle.zips import BEGINNING, ZippedBundle
from carrel.errors import CarrelError
from carrel.files import Unreadable
from carrel.files.durable import TO_READ
from carrel.records.moving import Row, Rows, digest
from carrel.records.moving.sqlite import SqliteRows

_PAGE = 500
_SPACE = b" \t\r\n\xef\xbb\xbf"

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""


class Verified(Struct, frozen=True, kw_only=True):
    """What a bundle holds, and what of it is damaged."""

    file: str
    files: int
    size: int
    rows: dict[str, int]
    damaged: tuple[str, ...] = ()


def open_bundle(file: str | os.PathLike[str]) -> Bundle:
    """Open a bundle by what its first bytes are; the caller closes it. Its manifest makes sense, then."""
    name = os.fspath(file)
    stream = _opened(name)
    try:
        return _of_kind(stream, name)
    except BaseException:
        stream.close()
        raise


def _of_kind(stream: IO[bytes], name: str) -> Bundle:
    first = stream.read(64)
    stream.seek(0)
    if first.startswith(BEGINNING):
        return ZippedBundle(stream, name)
    if first.lstrip(_SPACE).startswith(b"{"):
        return JsonBundle(stream, name)
    raise NotABundle(name, "it is neither a ZIP nor JSON" if first else "it is empty")


def verify(bundle: Bundle, file: str, *, progress: Progress | None = None) -> Verified:
    """Read all of a bundle, keep its rows as records would, and return what is damaged, and why."""
    manifest = bundle.manifest
    damaged: list[str] = []
    items = manifest.items
    for done, item in enumerate(items, 1):
        try:
            if isinstance(item, Table):
                _try_rows(bundle, item)
            else:
                for _ in bundle.chunks(item):
                    pass
        except CarrelError as error:
            damaged.append(error.message)
        if progress is not None:
            progress(done, len(items))
    return Verified(
        file=file,
        files=len(manifest.files),
        size=manifest.size,
        rows=manifest.count_rows(),
        damaged=tuple(damaged),
    )


def put_rows(there: Rows, table: Table, read: Callable[[], Iterable[Row]]) -> None:
    """Keep the rows of a table, and make sure that what is kept are the very same."""
    wanted = digest(read())
    try:
        there.replace(table.table, read())
    except (LookupError, TypeError, ValueError) as error:
        raise BundleDamaged(table.entry, "has a row that is none of its table's") from error
    if digest(there.read(table.table)) != wanted:
        raise BundleDamaged(table.entry, "has rows that cannot be kept beside each other")


def _try_rows(bundle: Bundle, table: Table) -> None:
    """Keep the rows of a table for a moment, some at a time."""
    count = 0
    every = iter(rows(bundle, table))
    while page := list(islice(every, _PAGE)):
        count += len(page)
        there = SqliteRows(None)
        try:
            put_rows(there, table, lambda page=page: page)
        finally:
            there.close()
    if count != table.rows:
        raise BundleDamaged(table.entry, f"has {count:,} rows, not {table.rows:,}")


def _opened(name: str) -> IO[bytes]:
    """Open a regular file; nothing else is waited for."""
    try:
        fd = os.open(name, TO_READ & ~os.O_NOFOLLOW)  # what the user names may be a link
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NoSuchBundle(name) from None
    except OSError as error:
        raise Unreadable(name, "permission" if error.errno == EACCES else "io_error") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise NotABundle(name, "it is no regular file")
    return os.fdopen(fd, "rb")
