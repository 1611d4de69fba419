"""How a session goes to the trash."""

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

import click

from carrel.app import Workspace
from carrel.cli import output
from carrel.runtime.edit import Discarded
from carrel.sessions.account import SessionRow
from carrel.sessions.places import Spot

_WINDOW_LIMIT = 1 << 30


def described(row: SessionRow) -> str:
    """Return what a person should know of a session before it goes."""
    return f"{row.id} ({output.printable(row.title)}, {row.entries:,} entries)"


def is_sure(what: str) -> bool:
    """Ask whoever sits at a terminal; a program knows what it does."""
    stream: TextIO | None = sys.stdin
    if stream is None or not stream.isatty():
        return True
    return click.confirm(f"Move {what} to the trash?", err=True)


def attachments(workspace: Workspace, session: str) -> list[str]:
    """Return the paths of what the messages of a session hold beside text."""
    places = workspace.sessions.places
    found = places.files.list(places.attachments(session))
    return [entry.path for entry in found if entry.kind == "file"]


def discard(workspace: Workspace, session: str, attached: Iterable[str]) -> Iterator[Discarded]:
    """Move the files of a session to the trash; broken off at any point, it can be repeated."""
    store, places = workspace.sessions, workspace.sessions.places
    window = places.window(session)
    if store.exists(session):
        if window.files is not places.files:
            _remove(window)
        elif window.files.stamps([window.path]) != [None]:
            yield workspace.discard(window.path)
        yield workspace.discard(places.log(session))
    yield from (workspace.discard(path) for path in attached)
    store.forget(session)
    workspace.records.thaw(workspace.agent.id, session)


def _remove(window: Spot) -> None:
    """Remove a window from our own cache: the log that goes to the trash has all of it."""
    content = window.files.read(window.path, limit=_WINDOW_LIMIT)
    if content is not None:
        window.files.remove(window.path, expect=content.digest)
