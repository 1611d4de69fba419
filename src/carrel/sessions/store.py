"""The sessions of one agent: recorded, paged, listed, titled and compacted."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, Conflict, NotFound
from carrel.files import Unreadable, show
from carrel.files.paths import new_name
from carrel.findings import Finding
from carrel.sessions.account import Page, Recorded, SessionRow, catalog_row, faults_of, row_of
from carrel.sessions.attachments import Attachment
from carrel.sessions.catalog import CatalogRow, Rows, update_catalog
from carrel.sessions.intake import Screen, take_in
from carrel.sessions.known import Known
from carrel.sessions.log import Log
from carrel.sessions.mirror import Mirrored, mirror
from carrel.sessions.offsets import Offsets
from carrel.sessions.placed import NewerLog, Placed
from carrel.sessions.places import SessionPlaces
from carrel.sessions.rewriting import Rewrite, rewrite_file
from carrel.sessions.transcript import Compaction, Content, Entry, Header, Line, Summary, Title
from carrel.sessions.turn import Sayable, said, stamp
from carrel.workspace.scope import Scope

_OPEN_LOGS = 64
_KNOWN = 1_024
"""Sessions of which it is kept how far their derived files are: who serves for months has ever new ones."""

_CATALOG_SECONDS = 30

Words = TypeVar("Words", str, Content)
Value = TypeVar("Value")


class UnknownSession(NotFound):
    """No session of this agent has this id."""

    code = "unknown_session"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"There is no session {show(session)!r}.", hint="`carrel sessions list` shows those there are."
        )


class SessionTaken(Conflict):
    """A session of this id is another agent's, in a folder that agents share."""

    code = "session_taken"

    def __init__(self, session: str) -> None:
        super().__init__(f"Session {session} is another agent's.", hint="Choose another id.")


class _Tail(Struct, frozen=True):
    """What was read of a session after its last summary, so that the next turn reads only what is new."""

    begin: tuple[int, tuple[int, int, int] | None]
    last: int
    compaction: Compaction | None
    placed: tuple[Placed, ...]


class Sessions:
    """An agent's sessions; the logs are the truth, and everything else here is derived from them."""

    def __init__(self, places: SessionPlaces, offsets: Offsets, clock: Clock, screen: Screen) -> None:
        self.places = places
        self._offsets = offsets
        self._clock = clock
        self._screen = screen
        self._logs: OrderedDict[str, Log] = OrderedDict()
        self._lock = Lock()
        self._mirrors: dict[str, Mirrored] = {}
        self._tails: dict[str, _Tail] = {}
        self._listed: dict[str, tuple[CatalogRow, float]] = {}
        self._unsettled: dict[str, None] = {}

    def record(
        self, session: str, messages: Sequence[Sayable], *, scope: Scope, source: str = ""
    ) -> list[Recorded]:
        """Add messages to a session's log, each once by its id; they are durable when this returns.

        All in one write, so that a crash leaves all of them or none.
        """
        log = self._writable(session)
        spoken = [said(message) for message in messages]
        folder, now = self.places.attachments(session), stamp(self._clock.now())
        taken = [
            take_in(message, folder=folder, screen=self._screen, now=now, scope=scope, source=source)
            for message in spoken
        ]
        entries = [entry for entry, _ in taken]
        self._store([each for _, attachments in taken for each in attachments], log, entries)
        minted = {entry.message_id for entry in entries} - {message.message_id for message in spoken}
        added = log.add(entries, self._header(session, now, entries), minted=minted)
        self._unsettled[session] = None
        return [
            Recorded(
                entry=entry,
                number=at.number,
                is_new=at.is_new,
                differs=not at.is_new and _differs(log, at.number, entry),
            )
            for entry, at in zip(entries, added, strict=True)
        ]

    def screened(self, content: Words) -> Words:
        """Return a text, or parts, as a transcript keeps them: without secrets."""
        return self._screen(content)[0]

    def describe(self, session: str, *, title: str | None = None, summary: str | None = None) -> None:
        """Give a session a title or a summary; both are lines of its log."""
        now = stamp(self._clock.now())
        lines: list[Line] = []
        if title is not None:
            lines.append(Title(timestamp=now, title=self.screened(title)))
        if summary is not None:
            lines.append(Summary(timestamp=now, summary=self.screened(summary)))
        self._writable(session).add(lines, self._header(session, now))
        self._unsettled[session] = None

    def compact(self, session: str, compaction: Compaction) -> None:
        """Let a summary stand for the entries up to one of them from now on; the log stays whole."""
        log = self._existing(session)
        now = stamp(self._clock.now())
        log.add([replace(compaction, timestamp=now)], self._header(session, now))
        self._unsettled[session] = None

    def settle(self, session: str, *, in_passing: bool = False) -> tuple[Finding, ...]:
        """Bring the window file and the catalog up to the log.

        In passing, after a turn, a row of the catalog that is new only by its time may wait for a while: the
        catalog is one file for all sessions, and `close` settles what waits.
        """
        log, now = self._log(session), self._clock.now()
        known = log.look()
        if not known.size or self._is_others(known):
            return ()
        mirrored, spoilt = mirror(log, self.places.window(session), self._mirrors.get(session), now)
        self._keep(self._mirrors, session, mirrored, most=_KNOWN)
        row = catalog_row(row_of(session, self.places.agent, log.known))
        if in_passing and self._may_wait(session, row):
            return (spoilt,) if spoilt else ()
        lost = update_catalog(self.places.catalog(), row, session, rebuild=self._rows, now=now)
        self._keep(self._listed, session, (row, monotonic()), most=_KNOWN)
        self._unsettled.pop(session, None)
        return tuple(finding for finding in (spoilt, lost) if finding is not None)

    def exists(self, session: str) -> bool:
        """Tell whether a session has a log."""
        return self.places.files.stamps([self.places.log(session)]) != [None]

    def row(self, session: str) -> SessionRow:
        """Return one session as a list shows it."""
        self._existing(session)
        return self._row(session)

    def rows(self, *, limit: int | None = None, offset: int = 0) -> tuple[list[SessionRow], int]:
        """Return sessions, the last used first, and how many there are; only the former are looked at."""
        names = self._by_age()
        end = None if limit is None else offset + limit
        return [self._row(name) for name in names[offset:end]], len(names)

    def page(self, session: str, *, first: int = 1, limit: int = 50) -> Page:
        """Return the entries from a number on; a negative number counts from the end."""
        log, known = self._looked_at(session)
        begin = first if first > 0 else max(1, known.entries + 1 + first)
        entries = tuple(log.entries(begin, begin + limit - 1)) if limit > 0 else ()
        return Page(
            session=session,
            total=known.entries,
            entries=entries,
            header=known.header,
            findings=faults_of(log, known),
        )

    def entries(self, session: str, first: int = 1) -> Iterator[Placed]:
        """Yield a session's entries from a number on."""
        log, known = self._looked_at(session)
        return log.entries(first, known.entries)

    def measure(self, session: str) -> tuple[int, str]:
        """Return how many entries a session has, and a mark that stays while those seen are the same."""
        log, known = self._looked_at(session)
        if not log.version:  # which it gets when it is kept
            _flush(log)
        return known.entries, f"{known.identity}:{log.version}"

    def number_of(self, session: str, message_id: str) -> int | None:
        """Return the number of the entry with this id."""
        return self._existing(session).number_of(message_id)

    def seen(self, session: str, *, scope: Scope) -> tuple[Compaction | None, tuple[Placed, ...]]:
        """Return what a model sees of a session: the last summary, and the entries after it.

        What was said to the owner alone is not shown to others, nor is a summary of it.
        """
        log = self._log(session)
        known = log.look()
        if not known.entries or self._is_others(known):
            return None, ()
        compaction, placed = self._tail(session, log, known)
        if scope is Scope.SHARED:
            if compaction is not None and compaction.scope != Scope.SHARED:
                # The summary is the owner's: what others said before it is shown word for word.
                compaction, placed = None, tuple(log.entries(1, known.entries))
            placed = tuple(each for each in placed if each.entry.scope == Scope.SHARED)
        return compaction, placed

    def findings(self, session: str) -> tuple[Finding, ...]:
        """Return what is wrong with a session's log."""
        log = self._log(session)
        try:
            return faults_of(log, log.look())
        except Unreadable as error:
            return (Finding(code="unreadable", path=log.path, message=error.message, hint=error.hint),)

    def log_path(self, session: str) -> str:
        """Return the path of a session's log; one that does not exist is an error."""
        return self._existing(session).path

    def forget(self, session: str) -> None:
        """Let go of what is derived from a session whose files are gone."""
        self._let_go(session)
        now = self._clock.now()
        update_catalog(self.places.catalog(), None, session, rebuild=self._rows, now=now)

    def rewrite(self, session: str, rewrite: Rewrite, *, dry_run: bool = False) -> int:
        """Put other lines in the place of some of a session's log, for good; return how many they are.

        The window goes first: lines that it has and the log has not would be kept aside as damaged.
        """
        log, window = self._existing(session), self.places.window(session)
        if newer := log.look().newer:
            raise NewerLog(log.path, newer)
        if dry_run:
            return rewrite_file(self.places.files, log.path, rewrite, dry_run=True)
        rewrite_file(window.files, window.path, rewrite)
        count = rewrite_file(self.places.files, log.path, rewrite)
        self._let_go(session)
        self.settle(session)
        return count

    def close(self) -> None:
        """Bring derived files up to their logs, as far as that can be done, and let go."""
        for session in list(self._unsettled):
            with suppress(CarrelError):  # they are derived: the next one to use the session makes them
                self.settle(session)
        for log in self._logs.values():
            _flush(log)
        self._offsets.close()

    def _let_go(self, session: str) -> None:
        """Forget what is known of a log that is no longer what was read."""
        path = self.places.log(session)
        self._logs.pop(path, None)
        for kept in (self._mirrors, self._tails, self._listed, self._unsettled):
            kept.pop(session, None)
        self._offsets.forget(path)

    def _store(self, attachments: Sequence[Attachment], log: Log, entries: Sequence[Entry]) -> None:
        """Make attachments durable, once it is clear that their messages can be recorded."""
        if not attachments:
            return
        log.refuse(entries)
        folder, _, name = log.path.rpartition("/")
        if not log.look().size:
            beside = [entry.path.rpartition("/")[2] for entry in self.places.files.list(folder)]
            new_name(log.path, name, beside=beside)
        for attachment in attachments:
            attachment.store(self.places.files)

    def _tail(self, session: str, log: Log, known: Known) -> tuple[Compaction | None, tuple[Placed, ...]]:
        """Return the last summary and what follows it, of which only what is new is read."""
        kept = self._tails.get(session)
        begin = (log.began, known.compacted)
        if kept is None or kept.begin != begin:
            through, compaction = log.compaction() or (0, None)
            kept = _Tail(begin, through, compaction, ())
        if kept.last < known.entries:
            new = tuple(log.entries(kept.last + 1, known.entries, known))
            kept = replace(kept, last=known.entries, placed=(*kept.placed, *new))
        self._keep(self._tails, session, kept, most=_OPEN_LOGS)
        return kept.compaction, kept.placed

    def _keep(self, kept: dict[str, Value], session: str, value: Value, *, most: int) -> None:
        """Keep what is known of a session, and let go of the one used longest ago when they are many."""
        with self._lock:
            kept.pop(session, None)
            kept[session] = value
            if len(kept) > most:
                del kept[next(iter(kept))]

    def _may_wait(self, session: str, row: CatalogRow) -> bool:
        listed = self._listed.get(session)
        if listed is None or monotonic() - listed[1] > _CATALOG_SECONDS:
            return False
        return replace(listed[0], updated_at=row.updated_at) == row

    def _header(self, session: str, now: str, entries: Sequence[Entry] = ()) -> Header:
        source = entries[0].source_plugin if entries else ""
        return Header(
            id=session,
            timestamp=now,
            agent_id=self.places.agent,
            source_plugin=source,
        )

    def _log(self, session: str) -> Log:
        path = self.places.log(session)
        with self._lock:  # a thread of search may ask for the same one
            log = self._logs.pop(path, None) or Log(self.places.files, path, self._offsets)
            self._logs[path] = log
            oldest = self._logs.popitem(last=False)[1] if len(self._logs) > _OPEN_LOGS else None
        if oldest is not None:
            _flush(oldest)
        return log

    def _existing(self, session: str) -> Log:
        return self._looked_at(session)[0]

    def _looked_at(self, session: str) -> tuple[Log, Known]:
        """Return the log of a session that exists, and what is known of it now."""
        log = self._log(session)
        known = log.look()
        if (not known.size and not self.exists(session)) or self._is_others(known):
            raise UnknownSession(session)
        return log, known

    def _writable(self, session: str) -> Log:
        log = self._log(session)
        if not self.places.is_own_folder and self._is_others(log.look()):
            raise SessionTaken(session)
        return log

    def _is_others(self, known: Known) -> bool:
        """Tell whether a log is another agent's; in a folder that agents share, the header says so."""
        if self.places.is_own_folder or known.header is None:
            return False
        return (known.header.get("agent_id") or self.places.agent) != self.places.agent

    def _by_age(self) -> list[str]:
        """Return the ids of all sessions, the last written first."""
        found: list[tuple[int, str]] = []
        for entry in self.places.files.list(self.places.folder):
            session = self.places.session_of(entry.path)
            if session is not None and not self._is_others(self._glance(session)):
                found.append((entry.modified_ns, session))
        return [session for _, session in sorted(found, key=lambda each: (-each[0], each[1]))]

    def _glance(self, session: str) -> Known:
        """Return what is known of a log where that decides whose it is; an unreadable one says nothing."""
        if self.places.is_own_folder:
            return Known()
        with suppress(Unreadable):
            return self._log(session).look()
        return Known()

    def _row(self, session: str) -> SessionRow:
        try:
            known, problem = self._log(session).look(), ""
        except Unreadable as error:
            known, problem = Known(), error.reason
        return row_of(session, self.places.agent, known, problem)

    def _rows(self) -> Rows:
        return {name: catalog_row(self._row(name)) for name in self._by_age()}


def _flush(log: Log) -> None:
    with suppress(CarrelError):  # what cannot be read cannot be kept, and is read anew
        log.flush()


def _differs(log: Log, number: int, entry: Entry) -> bool:
    """Tell whether what is recorded at a number is something else than an entry of the same id."""
    known = next((placed.entry for placed in log.entries(number, number)), None)
    return known is not None and (known.role, known.content) != (entry.role, entry.content)
