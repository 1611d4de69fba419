"""Steps are carried out one by one; each is whole or not done, and a second run does what a kill has left."""

from collections.abc import Iterator
from contextlib import suppress
from secrets import token_hex

from msgspec.structs import replace

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.files import Stale
from carrel.importing.piece import Row
from carrel.importing.step import Ask, Edit, Hear, Learn, Log, Put, Step, is_fatal
from carrel.importing.target import ACTION
from carrel.importing.undoing import Deed, is_taken_back, note_deeds
from carrel.memory.pen import Author
from carrel.memory.proposed import edit_of
from carrel.sessions.store import Sessions
from carrel.shelf import OWNER
from carrel.workspace.scope import Scope

_NOTES = 100
_BATCH = 200
_LARGEST = 1 << 30


class Carrier:
    """Makes the changes of an import, and keeps account of them in the target's records."""

    def __init__(self, desk: Workspace, kind: str, source: str, *, mine: bool) -> None:
        self._desk = desk
        self._kind = kind
        self._source = source
        self._author = Author(actor=OWNER if mine else ACTION, action=ACTION, agent=desk.agent.id)
        self._done: list[Step] = []
        self._run = token_hex(8)
        self._deeds: list[Deed] = []

    def carry(self, step: Step) -> Row:
        """Carry one step out and return what became of it; what cannot be done is told, and stops nothing."""
        try:
            row = self._carry(step)
        except CarrelError as error:
            if is_fatal(error):
                raise
            return replace(step.row, action="skipped", reason=error.message)
        if step.key and row.action != "skipped":
            self._done.append(replace(step, row=row))
        if len(self._done) + len(self._deeds) >= _NOTES:
            self.settle()
        return row

    def settle(self) -> None:
        """Write into the records what was brought in, and from where."""
        done, self._done = self._done, []
        deeds, self._deeds = self._deeds, []
        if (searching := vars(self._desk).get("searching")) is not None:
            searching.expire()
        if not done and not deeds:
            return
        with self._desk.records.transaction():
            for step in done:
                self._note(step)
            if deeds:
                note_deeds(self._desk, self._run, self._source, deeds)

    def _note(self, step: Step) -> None:
        """Keep account of a piece, once; again where it no longer waits, or was taken back meanwhile."""
        audit = self._desk.records.audit
        known = audit.events(action=ACTION, target=step.key, limit=1)
        is_noted = bool(known) and (step.waits or not known[0].detail.get("waits"))
        if is_noted and not is_taken_back(audit, known[0].detail.get("run")):
            return
        audit.note(
            at=self._desk.config.clock.now(),
            actor=self._author.actor,
            action=ACTION,
            target=step.key,
            detail={
                "kind": self._kind,
                "source": self._source,
                "from": step.row.source,
                "path": step.row.target,
                "waits": step.waits,
                "run": self._run,
            },
        )

    def _carry(self, step: Step) -> Row:
        deed = step.deed
        if isinstance(deed, Put):
            self._put(deed, step.row)
        elif isinstance(deed, Edit):
            proposal = deed.proposal
            author = replace(self._author, reason=proposal.reason)
            change = self._desk.memory.pen.edit(proposal.store, proposal.path, edit_of(proposal), author)
            if change is not None:
                self._deeds.append(Deed(path=change.path, change=change.id))
        elif isinstance(deed, Ask):
            return self._ask(deed, step.row)
        elif isinstance(deed, Learn):
            return self._learn(deed, step.row)
        elif isinstance(deed, Log):
            self._log(deed)
        elif isinstance(deed, Hear):
            self._hear(deed)
        return step.row

    def _put(self, deed: Put, row: Row) -> None:
        if not deed.kept and deed.over is None:
            written = self._desk.files.write(deed.path, deed.data, expect=None)
            self._deeds.append(Deed(path=deed.path, digest=written))
            return
        found = self._desk.files.read(deed.path)
        if (found.digest if found else None) != deed.over:
            raise Stale(deed.path, expected=deed.over, found=found.digest if found else None)
        author = replace(self._author, reason=f"Imported from {self._kind}: {row.source}.")
        change = self._desk.memory.pen.put("workspace", deed.path, deed.data, author, expect=found)
        self._deeds.append(Deed(path=deed.path, change=change.id))

    def _ask(self, deed: Ask, row: Row) -> Row:
        found = self._desk.records.proposals.add(deed.proposal)
        if found.state == "waiting":
            self._deeds.append(Deed(path=found.path, proposal=found.id))
            return row
        reason = "you did not want it" if found.state == "rejected" else "you said yes to it before"
        return replace(row, action="same", reason=reason)

    def _learn(self, deed: Learn, row: Row) -> Row:
        kept = self._desk.memory.keeper.keep([deed.fact], self._author)
        self._deeds += [Deed(path=fact.path, fact=fact.id) for fact in kept.written]
        self._deeds += [Deed(path=fact.path, fact=fact.id, asked=True) for fact in kept.waiting]
        if kept.written:
            return replace(row, action="new")
        if kept.waiting:
            return replace(row, action="proposal")
        if kept.refused:
            return replace(row, action="skipped", reason=kept.refused[0].reason)
        return replace(row, action="same", reason="it is known")

    def _log(self, deed: Log) -> None:
        self._leave_unlearnt(deed.agent, deed.session, deed.unlearnt)
        if deed.at:
            self._desk.files.append(deed.path, deed.data, at=deed.at)
        else:
            self._desk.files.write(deed.path, deed.data, expect=None)
        for sessions in self._sessions_of(deed.agent):
            with suppress(CarrelError):  # what is derived is made by the next one to use the session
                sessions.settle(deed.session)
        self._note_session(deed.agent, deed.session, deed.path, is_new=not deed.at)

    def _hear(self, deed: Hear) -> None:
        self._leave_unlearnt(self._desk.agent.id, deed.session, deed.unlearnt)
        sessions = self._desk.sessions
        is_new = not sessions.exists(deed.session)
        for begin in range(0, len(deed.messages), _BATCH):
            batch = deed.messages[begin : begin + _BATCH]
            sessions.record(deed.session, batch, scope=Scope.MAIN, source=self._kind)
        sessions.settle(deed.session)
        path = sessions.places.log(deed.session)
        self._note_session(self._desk.agent.id, deed.session, path, is_new=is_new)

    def _note_session(self, agent: str, session: str, path: str, *, is_new: bool) -> None:
        """Keep account of a session that was brought in, or of one that has more in it now."""
        if not is_new:
            self._deeds.append(Deed(path=path, agent=agent, added_to=session))
            return
        found = self._desk.files.read(path, limit=_LARGEST)
        digest = found.digest if found else None
        self._deeds.append(Deed(path=path, agent=agent, session=session, digest=digest))

    def _leave_unlearnt(self, agent: str, session: str, entries: int) -> None:
        """See that nothing is learnt by itself from what others said: its owner may ask for it."""
        facts = self._desk.records.facts
        cursor = facts.cursor(agent, session)
        if entries > cursor:
            facts.advance(agent, session, expect=cursor, to=entries)

    def _sessions_of(self, agent: str) -> Iterator[Sessions]:
        if (found := self._desk.transcripts.of(agent)) is not None:
            yield found
