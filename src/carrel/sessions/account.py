"""What is told of sessions: a row of the list, a page of entries, and what is wrong with a log."""

from msgspec import Struct

from carrel.findings import Finding
from carrel.sessions.catalog import CatalogRow
from carrel.sessions.known import Known
from carrel.sessions.log import Log
from carrel.sessions.placed import Placed
from carrel.sessions.transcript import Entry


class Recorded(Struct, frozen=True, kw_only=True):
    """A message that is durable now; `is_new` is false where it was recorded before."""

    entry: Entry
    number: int
    is_new: bool
    differs: bool = False
    """Whether what was recorded before under this id is something else."""

    @property
    def message_id(self) -> str:
        """The id that it was recorded under."""
        return self.entry.message_id

    @property
    def redacted(self) -> tuple[str, ...]:
        """Which kinds of secrets were taken out of it."""
        return self.entry.redacted if self.is_new else ()

    @property
    def ends_turn(self) -> bool:
        """Whether it is a reply after which nothing more is asked for."""
        return self.entry.role == "assistant" and not self.entry.tool_calls


class SessionRow(Struct, frozen=True, kw_only=True):
    """One session as a list shows it."""

    id: str
    title: str
    summary: str
    updated: str
    started: str
    entries: int
    agent_id: str
    source: str
    damaged: int = 0
    duplicates: int = 0
    foreign: int = 0
    problem: str = ""
    """Why its log cannot be read."""


class Page(Struct, frozen=True, kw_only=True):
    """Some entries of a session, in order, and how many there are in all."""

    session: str
    total: int
    entries: tuple[Placed, ...]
    header: dict[str, object] | None
    findings: tuple[Finding, ...] = ()


def row_of(session: str, agent: str, known: Known, problem: str = "") -> SessionRow:
    """Return what a list shows of a session."""
    return SessionRow(
        id=session,
        title=known.title or known.opening,
        summary=known.summary,
        updated=known.last or known.first,
        started=known.first,
        entries=known.entries,
        agent_id=agent,
        source=known.source,
        damaged=known.damaged,
        duplicates=known.duplicates,
        foreign=known.foreign,
        problem=problem,
    )


def catalog_row(row: SessionRow) -> CatalogRow:
    """Return what the catalog tells of a session."""
    return CatalogRow(id=row.id, title=row.title, summary=row.summary, updated_at=row.updated)


def faults_of(log: Log, known: Known) -> tuple[Finding, ...]:
    """Say what is wrong with a log; every whole entry of it is served all the same."""
    path = log.path
    found: list[Finding] = []
    if known.damaged:
        message = f"{path} has {known.damaged} damaged lines; what is whole in them is shown."
        found.append(Finding(code="damaged_lines", path=path, message=message))
    if log.unfinished:
        message = f"{path} ends in the middle of a line, as after a crash; the next entry begins a new one."
        found.append(Finding(code="torn_line", path=path, message=message))
    if known.duplicates:
        message = f"{path} has {known.duplicates} entries twice; they are shown once."
        found.append(Finding(code="duplicate_entries", path=path, message=message, severity="info"))
    if known.foreign:
        message = f"{path} has {known.foreign} lines of a kind that this Carrel does not know."
        found.append(Finding(code="foreign_lines", path=path, message=message, severity="info"))
    return tuple(found)
