"""The list of an agent's sessions: a file derived from the logs, rebuilt from them when it is lost."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins

from carrel import plainjson
from carrel.files import Content, FileStore, Stale
from carrel.findings import Finding
from carrel.sessions.places import Spot

VERSION = 1
_ATTEMPTS = 20
_LIMIT = 64 * 1024 * 1024


class _Newer(Exception):
    """A later Carrel wrote the file, and an earlier one leaves it alone."""


class CatalogRow(Struct, frozen=True, kw_only=True, rename={"updated_at": "updatedAt"}):
    """One session, as the file has it."""

    id: str
    title: str = ""
    summary: str = ""
    updated_at: str = ""


Rows = dict[str, CatalogRow]


def update_catalog(
    spot: Spot, row: CatalogRow | None, session: str, *, rebuild: Callable[[], Rows], now: datetime
) -> Finding | None:
    """Put one session's row into the file, or take it out; a file that is lost is made from the logs.

    Others may change other rows at the same time: a change is repeated on what the file says then.
    """
    for _ in range(_ATTEMPTS):
        try:
            rows, digest, finding = _read(spot, now)
        except Stale:
            continue  # somebody else has just set it aside
        except _Newer:
            return None
        if rows is None:
            rows = rebuild()
        if rows.get(session) == row and digest is not None:
            return finding
        kept = {key: each for key, each in rows.items() if key != session}
        if row is not None:
            kept[session] = row
        try:
            spot.files.write(spot.path, _encode(kept), expect=digest)
        except Stale:
            continue
        return finding
    raise Stale(spot.path, expected=None, found=None)


def _read(spot: Spot, now: datetime) -> tuple[Rows | None, str | None, Finding | None]:
    """Return the rows of the file and its digest; a file that is no catalog is set aside."""
    content = spot.files.read(spot.path, limit=_LIMIT)
    if content is None:
        return None, None, None
    rows = _decode(content)
    if rows is not None:
        return rows, content.digest, None
    aside = set_aside(spot.files, spot.path, content, now)
    return None, None, damaged(spot.path, aside)


def set_aside(files: FileStore, path: str, content: Content, now: datetime) -> str:
    """Keep a damaged file under another name, and take it away from its own."""
    name = f"{path}.damaged-{now:%Y%m%dT%H%M%S}-{content.digest[:8]}"
    with suppress(Stale):  # it was kept already, before a crash perhaps
        files.write(name, content.data, expect=None)
    files.remove(path, expect=content.digest)
    return name


def damaged(path: str, aside: str) -> Finding:
    """Say that a derived file was damaged, and where it is now."""
    return Finding(
        code="rebuilt",
        path=path,
        message=f"{path} was damaged. It was made anew from the logs.",
        hint=f"The damaged file is {aside}; remove it when you have no use for it.",
    )


def _decode(content: Content) -> Rows | None:
    try:
        value: Mapping[str, Any] = convert(plainjson.loads(content.data), dict[str, Any])
        if isinstance(version := value.get("version"), int) and version > VERSION:
            raise _Newer
        rows = convert(value["sessions"], dict[str, dict[str, Any]])
        return {key: convert({"id": key} | _known(row), CatalogRow) for key, row in rows.items()}
    except (KeyError, ValueError, ValidationError):
        return None


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("title", "summary", "updatedAt") if row.get(key) is not None}


def _encode(rows: Rows) -> bytes:
    newest = sorted(rows.values(), key=lambda row: (row.updated_at, row.id), reverse=True)
    value = {"version": VERSION, "sessions": {row.id: to_builtins(row) for row in newest}}
    return plainjson.dumps(value) + b"\n"
