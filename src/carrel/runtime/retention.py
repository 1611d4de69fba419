"""What is older than its owner wants to keep goes to the trash: sessions, and days of the journal.

Nothing goes that memory has not been made of yet, nor what a pinned fact rests on; without an age, nothing.
A clock may be years ahead: so nothing goes that was not looked at on an earlier day, too, and not long ago.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo

from msgspec import Struct

from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.findings import Finding
from carrel.memory.consolidate.journals import Day, days_of
from carrel.memory.journal import NoJournal
from carrel.records import Payload, Records
from carrel.records.queue import Job
from carrel.runtime.edit import Discarded
from carrel.runtime.removing import remove
from carrel.sessions.account import SessionRow
from carrel.sessions.store import Sessions
from carrel.settings.remembering import RetentionSettings
from carrel.workspace.layout import Layout

KIND = "retire"
"""The kind of a job that takes away what is too old."""

ACTOR = "retention"
MOST = 500
"""Sessions that one job takes away; the rest is another's."""

STEADY = timedelta(days=31)
"""How long ago the last look may be: after a longer time a clock has leapt, or its owner wants to be told."""

_LOOKED = "retention.looked"
_PAGE = 100


class Retired(Struct, frozen=True, kw_only=True):
    """What is old enough to go; how much waits until memory was made of it, and stays for a pinned fact."""

    sessions: tuple[str, ...] = ()
    journals: tuple[str, ...] = ()
    waiting: int = 0
    pinned: int = 0

    def __bool__(self) -> bool:
        return bool(self.sessions or self.journals)

    def in_words(self) -> str:
        """Say how much it is."""
        counts = ((len(self.sessions), "session"), (len(self.journals), "day of the journal"))
        words = (f"{n:,} {_plural(word) if n != 1 else word}" for n, word in counts if n)
        return " and ".join(words)


class Retention(Struct, frozen=True, kw_only=True):
    """Takes away what is too old of one agent; `unread` counts the entries of a session that memory lacks.

    `learn` lets memory be made of a session, in the background; `consolidated` returns those of some days of
    the journal that memory lacks no longer.
    """

    agent: str
    settings: RetentionSettings
    sessions: Sessions
    files: FileStore
    layout: Layout
    records: Callable[[], Records]
    unread: Callable[[str], int]
    learn: Callable[[str], object]
    consolidated: Callable[[Sequence[Day]], list[Day]]
    discard: Callable[[str], Discarded]
    clock: Clock
    zone: tzinfo

    def put(self) -> Job | None:
        """Put today's job, where an age is set."""
        if self.settings == RetentionSettings():
            return None
        return self.records().queue.put(KIND, {"agent": self.agent}, key=f"{self.agent}/{self._today()}")

    def work(self, job: Job) -> tuple[Payload, tuple[Finding, ...]]:
        """Do a job: what is old goes to the trash, and a session that memory lacks is learnt from first."""
        old = self.look(learn=self.learn)
        result: Payload = {"sessions": 0, "journals": 0, "waiting": old.waiting, "pinned": old.pinned}
        if not self._looked_before():
            return result, (_announced(old),) if old else ()
        failed: list[Finding] = []
        gone = [each for each in old.sessions[:MOST] if _tried(self._retire_session, each, failed)]
        journals = [path for path in old.journals if _tried(self._retire, path, failed)]
        if gone and len(old.sessions) > MOST:
            self.records().queue.put(KIND, job.payload, key=f"{job.key}+")
        done = Retired(sessions=tuple(gone), journals=tuple(journals))
        told = (*((_told(done),) if done else ()), *dict.fromkeys(failed))
        return {**result, "sessions": len(gone), "journals": len(journals)}, told

    def look(self, *, learn: Callable[[str], object] = lambda _: None) -> Retired:
        """Return what is old; of a session that memory lacks, `learn` is told."""
        waiting = pinned = 0
        sessions: list[str] = []
        for row in self._old_sessions():
            if self._holds_pinned(session=row.id):
                pinned += 1
            elif self.unread(row.id):
                waiting += 1
                learn(row.id)
            else:
                sessions.append(row.id)
        old = self._old_journals()
        done = self.consolidated(old) if old else []
        kept = [day.path for day in done if self._holds_pinned(path=day.path)]
        return Retired(
            sessions=tuple(sessions),
            journals=tuple(day.path for day in done if day.path not in kept),
            waiting=waiting + len(old) - len(done),
            pinned=pinned + len(kept),
        )

    def findings(self) -> tuple[Finding, ...]:
        """Say what the next sweep will take away."""
        if self.settings == RetentionSettings() or not (old := self.look()):
            return ()
        return (
            Finding(
                code="past_retention",
                message=f"{old.in_words()} older than your settings keep.",
                hint="`carrel sweep` moves them to the trash; with --dry-run it only tells.",
                severity="info",
            ),
        )

    def _looked_before(self) -> bool:
        """Tell whether an earlier day had its look, and not long ago; today's is noted."""
        audit, today = self.records().audit, self._today()
        seen = audit.events(action=_LOOKED, target=self.agent, limit=2)
        days = [event.at.astimezone(self.zone).date() for event in seen]
        if today not in days:
            self._note(_LOOKED, self.agent)
        return any(timedelta() < today - day <= STEADY for day in days)

    def _old_sessions(self) -> Iterator[SessionRow]:
        """Yield the sessions that nobody went on with for so long."""
        if self.settings.session_days is not None:
            yield from filter(self._is_old, self.sessions.rows()[0])

    def _is_old(self, row: SessionRow) -> bool:
        """Tell whether a session may go; what is damaged is for a person to see."""
        limit = self._before(self.settings.session_days or 0)
        day = _day(row.updated, self.zone)
        return not (row.problem or row.damaged) and day is not None and day < limit

    def _old_journals(self) -> list[Day]:
        """Return the days of the journal that are old, those in the archive too."""
        if self.settings.journal_days is None:
            return []
        try:
            days = days_of(self.files, self.layout, archived=True)
        except NoJournal:
            return []
        limit = self._before(self.settings.journal_days).isoformat()
        return [day for day in days if day.date < limit]

    def _holds_pinned(self, *, session: str | None = None, path: str | None = None) -> bool:
        """Tell whether a fact rests on it that its owner pinned."""
        after, facts = "", self.records().facts
        while page := facts.find(session=session, path=path, limit=_PAGE, after=after):
            if any(fact.pinned for fact in page):
                return True
            after = page[-1].id
        return False

    def _retire_session(self, session: str) -> bool:
        if not self.sessions.exists(session):  # somebody was faster
            return False
        if not self._is_old(self.sessions.row(session)) or self.unread(session):  # or went on with it
            return False
        remove(self.sessions, session, discard=self.discard, thaw=self.records().thaw)
        self._note("session.retired", session)
        return True

    def _retire(self, path: str) -> bool:
        if self.files.stamps([path]) == [None]:
            return False
        self.discard(path)
        self._note("journal.retired", path)
        return True

    def _note(self, action: str, target: str) -> None:
        self.records().audit.note(at=self.clock.now(), actor=ACTOR, action=action, target=target)

    def _today(self) -> date:
        return self.clock.now().astimezone(self.zone).date()

    def _before(self, days: int) -> date:
        today = self._today()
        return today - timedelta(days=min(days, today.toordinal() - 1))


def _day(moment: str, zone: tzinfo) -> date | None:
    """Return the day of a moment, none where it says none."""
    try:
        return datetime.fromisoformat(moment).astimezone(zone).date()
    except (ValueError, OverflowError):
        return None


def _tried(retire: Callable[[str], bool], each: str, failed: list[Finding]) -> bool:
    """Tell whether something went; what cannot go keeps nothing else from going, and it is told why."""
    try:
        return retire(each)
    except CarrelError as error:
        failed.append(Finding(code=error.code, message=error.message, hint=error.hint))
        return False


def _told(done: Retired) -> Finding:
    return Finding(
        code="retired",
        message=f"{done.in_words()} older than your settings keep went to the trash.",
        hint="`carrel files tree .carrel/state/trash --all` shows it.",
        severity="info",
    )


def _announced(old: Retired) -> Finding:
    return Finding(
        code="retention_announced",
        message=f"{old.in_words()} older than your settings keep will go to the trash, but not today.",
        hint="A sweep on another day moves them there. Is the clock right? Else change `retention`.",
    )


def _plural(word: str) -> str:
    return word.replace("day", "days") if word.startswith("day") else f"{word}s"
