"""Listing files for a model: sorted, some at a time, and each page as cheap as the folders it shows."""

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Annotated, Any

from msgspec import Meta, Struct

from carrel.files import Entry, Unreadable, show
from carrel.files.paths import clean
from carrel.tools.access import Access, NoSuchFile

DEFAULT_ENTRIES = 200
MOST_ENTRIES = 1_000
DEFAULT_DEPTH = 2
DEEPEST = 16

Names = tuple[str, ...]
"""A path as its names: sorted so, a folder stands before what it holds, and that before its neighbours."""


class ListFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to list."""

    under: Annotated[str, Meta(description="The folder to list; empty for the whole workspace.")] = ""
    depth: Annotated[
        int,
        Meta(
            description="How many levels to show; deeper folders are named but not opened.",
            extra_json_schema={"minimum": 1, "maximum": DEEPEST},
        ),
    ] = DEFAULT_DEPTH
    limit: Annotated[
        int,
        Meta(
            description=f"Most entries to return, at most {MOST_ENTRIES}.",
            extra_json_schema={"minimum": 1, "maximum": MOST_ENTRIES},
        ),
    ] = DEFAULT_ENTRIES
    after: Annotated[str, Meta(description="`more` of the page before, to go on behind it.")] = ""


class _Found(Struct, frozen=True):
    """An entry, and why it cannot be opened."""

    entry: Entry
    reason: str | None = None


def list_files(access: Access, asked: ListFiles) -> dict[str, Any]:
    """Return the entries below a folder in order; `more` is where the next page goes on."""
    under = "" if asked.under in ("", ".", "./", "/") else clean(asked.under)
    limit = min(max(1, asked.limit), MOST_ENTRIES)
    depth = min(max(1, asked.depth), DEEPEST)
    after = tuple(asked.after.split("/")) if asked.after else ()
    found = list(islice(_below(access, under, depth, after), limit + 1))
    more = told(found[limit - 1].entry.path) if len(found) > limit else None
    shown = [_to_json(access, each) for each in found[:limit]]
    return {"under": under, "count": len(shown), "entries": shown, "more": more}


def below(access: Access, under: str, depth: int) -> Iterator[Entry]:
    """Return what a folder holds, and the folders in it, down to this depth."""
    return (found.entry for found in _below(access, under, depth, ()))


def told(path: str) -> str:
    """Return a path as a model can be told it: the bytes of a name that is no text are escaped."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return show(path)
    return path


def _to_json(access: Access, found: _Found) -> dict[str, Any]:
    entry = found.entry
    row = {"path": told(entry.path), "kind": entry.kind, "size": entry.size if entry.kind == "file" else None}
    if found.reason:
        row["unreadable"] = found.reason
    elif entry.kind == "directory" and access.kept(entry.target):
        row["closed"] = True
    return row


def _below(access: Access, under: str, depth: int, after: Names) -> Iterator[_Found]:
    entries = _opened(access, under)
    return _walk(access, entries, _home(access, under, entries), depth, after)


def _opened(access: Access, under: str) -> Sequence[Entry]:
    """Return what a folder holds; an absent one is an error, and so is one that is not for tools."""
    if under:
        access.refuse(under, under, "list")
    entries = access.reach.list(under)
    if under and not entries and not any(e.path == under for e in _beside(access, under)):
        raise NoSuchFile(under)
    return entries


def _home(access: Access, under: str, entries: Sequence[Entry]) -> str:
    """Return where a folder really is, which only links in it could tell; it must be open there too."""
    if not under or all(entry.target == entry.path for entry in entries):
        return under
    home = next((entry.target for entry in _beside(access, under) if entry.path == under), under)
    access.refuse(under, home, "list")
    return home


def _beside(access: Access, path: str) -> Sequence[Entry]:
    return access.reach.list(path.rpartition("/")[0])


def _walk(access: Access, entries: Sequence[Entry], home: str, depth: int, after: Names) -> Iterator[_Found]:
    """Yield entries in order, only those behind `after`; what lies before it is not even opened.

    A folder is entered under its own path only, so loops of links end and nothing is listed twice.
    """
    for names, entry in sorted(((_names(entry), entry) for entry in entries), key=itemgetter(0)):
        is_before = names <= after
        if is_before and names != after[: len(names)]:
            continue
        inner, reason = (), None
        if depth > 1 and _is_entered(access, entry, home):
            inner, reason = _inside(access, entry)
        if not is_before:
            yield _Found(entry, reason)
        yield from _walk(access, inner, entry.target, depth - 1, after)


def _is_entered(access: Access, entry: Entry, home: str) -> bool:
    own = (f"{home}/" if home else "") + entry.path.rpartition("/")[2]
    return entry.kind == "directory" and entry.target == own and not access.kept(own)


def _inside(access: Access, entry: Entry) -> tuple[Sequence[Entry], str | None]:
    try:
        return access.reach.list(entry.path), None
    except Unreadable as error:
        return (), error.reason


def _names(entry: Entry) -> Names:
    return tuple(told(entry.path).split("/"))
