"""After turns: facts are taken from what is new in a session, by a model or by rules, in the background.

A job only says that a session has something new. How far it was read stands in the records, and moves in the
same transaction in which facts are planned: a retry adds nothing, a kill loses nothing, and of two workers
one is too late. The log keeps every word, whatever becomes of it here.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from time import monotonic

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.memory.extract import MOST_ENTRIES, Stretch, Told, ends_turn, overheard, stretch_of
from carrel.memory.judging import facts_of
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author
from carrel.memory.trust import owners_of
from carrel.memory.words import content_stems
from carrel.records import Payload, Records
from carrel.records.content import shaped
from carrel.records.queue import Job
from carrel.runtime.model import Model
from carrel.runtime.remember.asking import Asking, room_of
from carrel.runtime.remember.learnt import BadExtraction, Due, Learnt, Overtaken, reasons_of, remarks
from carrel.runtime.sweep import ATTEMPTS
from carrel.sessions.placed import Placed
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry
from carrel.settings import AgentSettings, UserSettings

__all__ = ["ACTOR", "KIND", "Asking", "BadExtraction", "Due", "Errand", "Learnt", "Remember"]

KIND = "extract"
"""The kind of a job that takes facts from a session."""

ACTOR = "extraction"
"""Who changes memory then, as its history says."""

LONGEST = 600.0
"""Seconds after which a job begins no further question; what is left is another job."""

_READ = 8_000  # characters of an entry that count for how many are read at once
_MOST_COUNTED = 256
_MOST_BEFORE = 200  # entries before those that are read, in which something from outside is looked for


def _nothing(_: str) -> Sequence[Entry]:
    return ()


class Errand(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session with something new, up to an entry, as it waits in the queue."""

    agent: str
    session: str
    through: int
    is_open: bool = False
    """Whether the last turn counts although it has no end."""


class _Counted(Struct, frozen=True):
    """How many turns were new when an entry was the last, and for how many a job was put."""

    cursor: int
    number: int
    turns: int
    put: int = 0


class Remember(Struct, frozen=True, kw_only=True):
    """Takes facts from one agent's sessions."""

    agent: AgentSettings
    sessions: Sessions
    records: Callable[[], Records]
    keeper: Callable[[], Keeper]
    asking: Asking
    clock: Clock
    user: UserSettings = UserSettings()
    recalled: Callable[[str], Sequence[Entry]] = _nothing
    """Returns what the agent was reminded of in a session, as far as it is not its owner's or its own."""
    counted: dict[str, _Counted] = {}

    def due(self, session: str, number: int, *, model: str | None, least: int | None = None) -> Due:
        """Put a job once enough turns are new, `number` being the last entry; else say why not.

        Called when a turn has been recorded: it costs one read of the records, and the log is looked at only
        when a session is first seen here.
        """
        if not self.agent.memory_enabled:
            return Due(reason="memory_off")
        if model is None:
            return Due(reason="no_model")
        needed = max(1, self.agent.trigger_interval if least is None else least)
        cursor = self._cursor(session, number)
        counted = self._count(session, cursor, number, needed)
        if counted.turns < needed:
            return Due(reason="too_few_turns", turns=counted.turns, needed=needed)
        if counted.put == counted.turns // needed:
            return Due(reason="put_before", turns=counted.turns, needed=needed)
        self._remember(session, replace(counted, put=counted.turns // needed))
        job = self._put(session, cursor, number, counted.turns // needed)
        return Due(job=job, turns=counted.turns, needed=needed)

    def outlook(self, session: str, *, model: str | None) -> Due:
        """Say whether facts would be taken from a session now, else why not; nothing is put."""
        needed = self.agent.trigger_interval
        if not self.agent.memory_enabled:
            return Due(reason="memory_off")
        if model is None:
            return Due(reason="no_model")
        turns = self._new_turns(session, self.records().facts.cursor(self.agent.id, session), needed)
        return Due(reason="too_few_turns" if turns < needed else "put_before", turns=turns, needed=needed)

    def unread(self, session: str) -> int:
        """Return how many entries of a session memory was not made of yet; 0 where none is ever made."""
        if not self.agent.memory_enabled:
            return 0
        total = self.sessions.measure(session)[0]
        cursor = self.records().facts.cursor(self.agent.id, session)
        return total - cursor if cursor <= total else total  # a log that is shorter is another one

    def put_rest(self, session: str) -> Job:
        """Put a job for all that is new in a session, a last turn without an end too."""
        total = self.sessions.measure(session)[0]
        return self._put(session, self._cursor(session, total), total, "rest", is_open=True)

    def work(self, job: Job, model: Model) -> Payload:
        """Do a job: read what is new in its session; an answer that stays bad is passed over in the end."""
        errand = shaped(job.payload, Errand)
        if not self.agent.memory_enabled:
            return {"skipped": "memory_off"}
        if not self.sessions.exists(errand.session):
            return {"skipped": "session_gone"}
        total = self.sessions.measure(errand.session)[0]
        if self._cursor(errand.session, total) >= min(errand.through, total):
            self.keeper().finish(self._author(errand.session))
            return {"skipped": "done_before"}
        learnt = self._learn(
            errand.session,
            model,
            ids=f"{job.id}-{job.claim}",
            is_open=errand.is_open,
            gives_up=job.attempts >= ATTEMPTS,
        )
        if learnt.is_left:
            self._put(errand.session, learnt.through, total, 0, is_open=errand.is_open)
        return learnt.to_json()

    def extract(self, session: str, model: Model, *, anew: bool = False) -> Learnt:
        """Take facts from all that is new in a session, now; with `anew`, from all of it.

        The last turn counts although it may have no end.
        """
        if not self.agent.memory_enabled:
            return Learnt(findings=tuple(filter(None, (Due(reason="memory_off").finding(),))))
        if anew and (cursor := self.records().facts.cursor(self.agent.id, session)):
            self._move(session, cursor, 0)
        ids = f"now-{self.clock.now().isoformat()}"
        learnt = self._learn(session, model, ids=ids, is_open=True)
        return replace(learnt, findings=(*learnt.findings, *remarks(learnt)))

    def _learn(
        self, session: str, model: Model, *, ids: str, is_open: bool = False, gives_up: bool = False
    ) -> Learnt:
        """Read on from the cursor, question by question; a file that cannot be written stops nothing else."""
        keeper, begun = self.keeper(), monotonic()
        learnt, failed = Learnt(), list[CarrelError]()
        owners = self.owners(session)
        room = room_of(model)
        try:
            keeper.finish(self._author(session))
        except CarrelError as error:
            failed.append(error)
        while (stretch := self._stretch(session, room, owners, is_open=is_open)) is not None:
            if monotonic() - begun > LONGEST:
                learnt = replace(learnt, is_left=True)
                break
            try:
                learnt += self._take(stretch, session, model, f"{ids}-{stretch.after}", gives_up=gives_up)
            except Overtaken:
                continue
            except CarrelError as error:
                if self.records().facts.cursor(self.agent.id, session) == stretch.after:
                    raise
                failed.append(error)  # the facts are planned, and wait for their file
        if failed:
            raise failed[0]
        return learnt

    def _take(self, stretch: Stretch, session: str, model: Model, ids: str, *, gives_up: bool) -> Learnt:
        """Take the facts of one stretch."""
        keeper = self.keeper()
        stretch = replace(stretch, heard=(*self._before(session, stretch.after), *stretch.heard))
        about = {stem for told in stretch.messages for stem in content_stems(told.text[:_READ])}
        known = keeper.known(self.agent.id, about) if about else []
        try:
            answer = self.asking.answer(stretch, known, session, model, f"extract-{ids}")
        except BadExtraction as error:
            if not gives_up:
                raise
            return self._pass_over(stretch, session, error)
        names = [name for name in (self.user.name, self.user.id) if name]
        facts = facts_of(answer.claims, stretch, known, agent=self.agent.id, session=session, user=names)
        kept = keeper.keep(
            facts,
            self._author(session),
            known=known,
            within=lambda: self._move(session, stretch.after, stretch.through),
        )
        learnt = Learnt(
            kept=kept, turns=stretch.turns, through=stretch.through, cut=answer.cut, odd=answer.odd
        )
        self._note_refused(session, learnt)
        return learnt

    def _stretch(self, session: str, room: int, owners: Collection[str], *, is_open: bool) -> Stretch | None:
        """Return the next turns that are new, as many as one question holds."""
        after = self._cursor(session, self.sessions.measure(session)[0])
        placed: list[Placed] = []
        size, is_cut = 0, False
        for each in self.sessions.entries(session, after + 1):
            is_cut = len(placed) >= MOST_ENTRIES or size > room * 8
            if is_cut:
                break
            placed.append(each)
            size += min(len(each.entry.to_text()), _READ)
        return stretch_of(
            placed,
            after=after,
            at=self.clock.now(),
            count=self.asking.count,
            room=room,
            owners=owners,
            is_open=is_open and not is_cut,
            goes_on=is_cut,
        )

    def _before(self, session: str, number: int) -> tuple[Told, ...]:
        """Return what came from outside up to an entry: the agent may say it again much later."""
        first = max(1, number - _MOST_BEFORE + 1)
        placed = takewhile(lambda each: each.number <= number, self.sessions.entries(session, first))
        entries = [*(each.entry for each in placed), *self.recalled(session)]
        return overheard(entries, self.owners(session), self.clock.now())

    def owners(self, session: str) -> Collection[str]:
        """Return the ids of the owner as a sender in a session."""
        return owners_of(self.sessions, session, self.user.id)

    def _cursor(self, session: str, total: int) -> int:
        """Return up to which entry a session was read; a log that is shorter is another one."""
        cursor = self.records().facts.cursor(self.agent.id, session)
        if cursor > total:
            self._move(session, cursor, 0)
            return 0
        return cursor

    def _move(self, session: str, expect: int, to: int) -> None:
        if not self.records().facts.advance(self.agent.id, session, expect=expect, to=to):
            raise Overtaken(session)

    def _count(self, session: str, cursor: int, number: int, needed: int) -> _Counted:
        """Return how many turns are new; the log is read only where this process has not counted along."""
        known = self.counted.get(session)
        if known is not None and known.cursor == cursor and known.number <= number:
            more = 1 if number > known.number else 0
            counted = replace(known, number=number, turns=known.turns + more)
        else:
            counted = _Counted(cursor, number, self._new_turns(session, cursor, needed))
        self._remember(session, counted)
        return counted

    def _new_turns(self, session: str, cursor: int, enough: int) -> int:
        turns = 0
        for placed in self.sessions.entries(session, cursor + 1):
            turns += ends_turn(placed.entry)
            if turns >= enough:
                break
        return turns

    def _remember(self, session: str, counted: _Counted) -> None:
        self.counted.pop(session, None)
        if len(self.counted) >= _MOST_COUNTED:
            self.counted.pop(next(iter(self.counted)))
        self.counted[session] = counted

    def _put(self, session: str, cursor: int, number: int, times: int | str, *, is_open: bool = False) -> Job:
        """Put a job for what is new, once; where one was done and left it, another one."""
        errand = to_builtins(Errand(agent=self.agent.id, session=session, through=number, is_open=is_open))
        key = f"{self.agent.id}/{session}/{cursor}/{times}"
        job = self.records().queue.put(KIND, errand, key=key)
        return job if job.state != "done" else self.records().queue.put(KIND, errand, key=f"{key}/{number}")

    def _pass_over(self, stretch: Stretch, session: str, error: BadExtraction) -> Learnt:
        """Read on behind turns that no answer could be had for; memory must not stand still for ever."""
        records, detail = (
            self.records(),
            {"after": stretch.after, "through": stretch.through, "why": error.message},
        )
        with records.transaction():
            self._move(session, stretch.after, stretch.through)
            self._note("extraction_given_up", session, detail)
        found = Finding(
            code="extraction_given_up",
            message=f"Nothing was learnt from {stretch.turns} turns of session {session}: {error.message}",
            hint="`carrel memory extract` with another model reads them again.",
        )
        return Learnt(turns=stretch.turns, through=stretch.through, findings=(found,))

    def _note_refused(self, session: str, learnt: Learnt) -> None:
        refused = reasons_of(learnt.kept.refused)
        detail = refused | {name: n for name, n in (("cut", learnt.cut), ("odd", learnt.odd)) if n}
        if detail:
            self._note("facts_refused", session, detail)

    def _note(self, action: str, session: str, detail: Payload) -> None:
        self.records().audit.note(
            at=self.clock.now(),
            actor=ACTOR,
            action=action,
            target=f"{self.agent.id}/{session}",
            session=session,
            detail=detail,
        )

    def _author(self, session: str) -> Author:
        return Author(
            actor=ACTOR,
            action="append",
            reason=f"Learnt in session {session}.",
            agent=self.agent.id,
            session=session,
        )
