"""The journal of the last days, as a page shows it."""

from msgspec import Struct

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.memory import journal
from carrel.workspace.tiers import day_of

ENTRIES = 60
"""Entries of one file that are shown, the newest; the file has all of them."""


class Day(Struct, frozen=True, kw_only=True):
    """One file of a day: its entries, the newest last; `left_out` counts those before them."""

    day: str
    path: str
    entries: tuple[journal.Entry, ...] = ()
    left_out: int = 0
    problem: str = ""


def days_of(workspace: Workspace, *, before: str, most: int) -> tuple[list[Day], str]:
    """Return the newest days before one, the newest first, and the day from which on there are more."""
    folder = workspace.layout.journal or f"{workspace.layout.home}memory"
    named = ((day_of(entry.path.rpartition("/")[2]), entry.path) for entry in workspace.list(folder))
    found = sorted(((day, path) for day, path in named if day and (not before or day < before)), reverse=True)
    wanted = sorted({day for day, _ in found}, reverse=True)
    shown = set(wanted[:most])
    days = [_day(workspace, day, path) for day, path in found if day in shown]
    return days, min(shown) if len(wanted) > most else ""


def _day(workspace: Workspace, day: str, path: str) -> Day:
    try:
        entries = journal.parse(workspace.read(path) or "")
    except CarrelError as error:
        return Day(day=day, path=path, problem=error.message)
    return Day(day=day, path=path, entries=entries[-ENTRIES:], left_out=max(0, len(entries) - ENTRIES))
