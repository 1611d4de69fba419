"""A consolidation from its plan to its end; what a kill leaves of it is finished, once.

The plan is in the state file before anything else is written. Memory is written through the pen, with the
plan's number as the reason; then what fell out goes to the archive, the records learn what each bullet was
made of, and the state says which entries were taken. Each step is recognised when it was done before.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import tzinfo
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.files import Content, FileStore, Stale, Unreadable
from carrel.findings import Finding
from carrel.memory.consolidate.draft import Draft, Ground, draft_of
from carrel.memory.consolidate.journals import Batch, Day, Reading, days_of, folder_of
from carrel.memory.consolidate.noticing import crowded, damaged, noticed, overtaken
from carrel.memory.consolidate.pieces import Writer
from carrel.memory.consolidate.question import ROOM
from carrel.memory.consolidate.region import HEADING, digest_of, region_of, with_region
from carrel.memory.consolidate.shelving import is_shelved, is_taken, old_days, shelve
from carrel.memory.consolidate.state import NAME, Plan, State, read_state, write_state
from carrel.memory.keeping import Keeper
from carrel.memory.pen import Author
from carrel.records import Records
from carrel.records.changes import Change
from carrel.records.facts import Fact, UnknownFact
from carrel.settings import ConsolidationSettings
from carrel.workspace.layout import Layout

STEPS = ("plan", "memory", "archive", "facts", "state", "journals")
"""What a run does, in this order; `Consolidator.step` hears `before:` and `after:` each."""

ACTOR = "consolidation"
"""Who changes memory then, as its history says."""

Reason = Literal["nothing_new", "done"]

_PLANNED = "consolidation_planned"
_PAGE = 100
_MOST_OURS = 10_000
_MOST_CHANGES = 20  # pages
_TRIES = 20


class Consolidated(Struct, frozen=True, kw_only=True):
    """What a run came to; a dry one has written nothing. `finished` is whether a kill had left another."""

    reason: Reason
    draft: Draft | None = None
    archived: tuple[str, ...] = ()
    rebuilt: bool = False
    finished: bool = False
    dry_run: bool = False
    findings: tuple[Finding, ...] = ()


class Consolidator(Struct, frozen=True, kw_only=True):
    """Makes one agent's memory of its journal; `target` is the file that its prompt has."""

    agent: str
    target: str
    layout: Layout
    files: FileStore
    records: Callable[[], Records]
    keeper: Callable[[], Keeper]
    settings: ConsolidationSettings
    count: Callable[[str], int]
    clock: Clock
    zone: tzinfo
    step: Callable[[str], object] = str  # which changes nothing

    @property
    def folder(self) -> str:
        """The folder of the journal, of its archive and of the state."""
        return folder_of(self.layout)

    def run(self, write: Writer, *, room: int = ROOM, dry_run: bool = False) -> Consolidated:
        """Take what is new into memory; `write` makes the bullets, and where it raises nothing is changed."""
        finished = False if dry_run else self.finish()
        state, content, findings = self._state()
        ground = self._ground(state)
        days, batch = self._batch(state, ground, room)
        findings += noticed(ground, batch)
        if not batch.taken:
            return self._nothing_new(ground, days, findings, finished=finished, dry_run=dry_run)
        draft = draft_of(ground, batch, write)
        findings += crowded(draft)
        if not dry_run and not self._carry_out(draft.plan, state, content):
            findings.append(overtaken(self.target))
        moved, more = ((), ()) if dry_run else self._shelve()
        return Consolidated(
            reason="done",
            draft=draft,
            archived=moved,
            rebuilt=ground.rebuilding,
            finished=finished,
            dry_run=dry_run,
            findings=(*findings, *more),
        )

    def finish(self) -> bool:
        """Do what a kill has left of a run; tell whether there was one."""
        state, content, _ = self._state()
        if state.plan is None:
            return False
        if not self._is_planned(state.plan) or self._is_outdated(state.plan):
            self._keep(replace(state, plan=None), content)
            return False
        self._apply(state.plan)
        return True

    def has_new(self) -> bool:
        """Tell whether anything is new in the journal, or a run was cut short."""
        state, _, _ = self._state()
        ground = self._ground(state)
        days = days_of(self.files, self.layout, archived=ground.rebuilding)
        return state.plan is not None or self._reading(state, ground).has_new(days)

    def state(self) -> State:
        """Return what was done so far."""
        return self._state()[0]

    def taken(self, days: Sequence[Day]) -> list[Day]:
        """Return those of some days that are a part of memory; none while memory is made of them anew."""
        state = self.state()
        try:
            if self._ground(state).rebuilding:
                return []
        except Unreadable:  # nobody knows what memory says
            return []
        return [
            day for day in days if is_shelved(day) or is_taken(self.files, day, state.files, state.before)
        ]

    def note_failure(self) -> int:
        """Count that no good answer could be had, and return how often that was so one after the other."""
        state, content, _ = self._state()
        self._keep(replace(state, failures=state.failures + 1), content)
        return state.failures + 1

    def _state(self) -> tuple[State, Content | None, list[Finding]]:
        path = f"{self.folder}/{NAME}"
        content = self.files.read(path)
        state, is_sound = read_state(content.data if content else None, self.zone)
        return state, content, [] if is_sound else [damaged(path)]

    def _ground(self, state: State) -> Ground:
        content = self.files.read(self.target)
        try:
            text = content.data.decode() if content else None
        except UnicodeDecodeError:
            raise Unreadable(self.target, "not_utf8") from None
        is_lost = text is None and state.last_run is not None and not self._is_taken_back()
        facts = self.records().facts.find(
            store="workspace", path=self.target, states=("written",), limit=_MOST_OURS
        )
        latest = self.records().changes.list(limit=1)
        return Ground(
            agent=self.agent,
            target=self.target,
            folder=self.folder,
            text=text,
            ours=_by_line(fact for fact in facts if fact.section == HEADING),
            state=state,
            now=self.clock.now(),
            mark=latest[0].id if latest else 0,
            rebuilding=is_lost or state.rebuilding,
            tokens=self.settings.tokens,
            count=self.count,
        )

    def _is_taken_back(self) -> bool:
        """Tell whether memory is gone since its owner has taken back that it was made."""
        last = self.records().changes.list(store="workspace", path=self.target, limit=1)
        return bool(last) and last[0].undoes != 0 and last[0].after is None

    def _reading(self, state: State, ground: Ground) -> Reading:
        is_anew = ground.rebuilding and not state.rebuilding
        return Reading(
            files=self.files,
            facts=self.records().facts,
            agent=self.agent,
            before="" if ground.rebuilding else state.before,
            taken={} if is_anew else state.files,
            screen=self.keeper().pen.screen,
        )

    def _batch(self, state: State, ground: Ground, room: int) -> tuple[list[Day], Batch]:
        days = days_of(self.files, self.layout, archived=ground.rebuilding)
        return days, self._reading(state, ground).batch(days, count=self.count, room=room)

    def _nothing_new(
        self,
        ground: Ground,
        days: Sequence[Day],
        findings: Sequence[Finding],
        *,
        finished: bool,
        dry_run: bool,
    ) -> Consolidated:
        """Say that there is nothing to do; once all was taken anew, the archive is left alone."""
        if ground.rebuilding and not dry_run and ground.state.rebuilding:
            state, content, _ = self._state()
            self._keep(replace(state, rebuilding=False), content)
        moved, more = ((), ()) if dry_run or not days else self._shelve()
        return Consolidated(
            reason="nothing_new",
            archived=moved,
            finished=finished,
            dry_run=dry_run,
            findings=(*findings, *more),
        )

    def _carry_out(self, plan: Plan, state: State, content: Content | None) -> bool:
        """Write a plan down, and do it; Stale where somebody else has begun one meanwhile."""
        self.step("before:plan")
        self.records().audit.note(
            at=plan.at, actor=ACTOR, action=_PLANNED, target=f"{self.agent}/{plan.id}", detail={}
        )
        self._keep(replace(state, plan=plan), content)
        self.step("after:plan")
        return self._apply(plan)

    def _is_planned(self, plan: Plan) -> bool:
        """Tell whether a plan is one of ours: the state is a file, and anybody may have put it there."""
        is_target = plan.target == self.target and plan.archive.startswith(f"{self.folder}/")
        target = f"{self.agent}/{plan.id}"
        return is_target and bool(self.records().audit.events(action=_PLANNED, target=target, limit=1))

    def _is_outdated(self, plan: Plan) -> bool:
        """Tell whether something of a plan was forgotten before it was written: then its entries are new."""
        return any(map(self._is_forgotten, plan.facts)) and not self._made(plan, plan.target)

    def _is_forgotten(self, fact: Fact) -> bool:
        return bool(self.records().facts.find(key=fact.key, states=("forgotten",), limit=1))

    def _apply(self, plan: Plan) -> bool:
        """Do what is planned, as far as it was not done before; tell whether it was still to be done."""
        self.step("before:memory")
        is_current = self._write_memory(plan)
        self.step("after:memory")
        if is_current:
            self.step("before:archive")
            self._write_archive(plan)
            self.step("after:archive")
            self.step("before:facts")
            self._write_facts(plan)
            self.step("after:facts")
        self.step("before:state")
        self._settle(plan, is_current=is_current)
        self.step("after:state")
        return is_current

    def _write_memory(self, plan: Plan) -> bool:
        """Write the region; not where its owner has changed it since, and then the plan is dropped."""
        if self._made(plan, plan.target):
            return True
        is_current = True

        def edit(text: str | None) -> str | None:
            nonlocal is_current
            now = region_of(text or "")
            is_current = now == plan.region or digest_of(now) == plan.before
            return with_region(text, plan.region) if is_current and now != plan.region else None

        self.keeper().pen.edit("workspace", plan.target, edit, self._author(plan))
        return is_current

    def _write_archive(self, plan: Plan) -> None:
        if not plan.fallen or self._made(plan, plan.archive):
            return

        def edit(text: str | None) -> str | None:
            own = text if text is not None else f"# What fell out of {self.target}\n\n"
            there = set(own.splitlines())
            more = [line for line in plan.fallen if line not in there]
            gap = "" if own.endswith("\n") or not own else "\n"
            return own + gap + "".join(f"{line}\n" for line in more) if more else None

        self.keeper().pen.edit("workspace", plan.archive, edit, self._author(plan))

    def _write_facts(self, plan: Plan) -> None:
        """Say what each bullet was made of, and what became of those that no longer stand."""
        records, made = self.records(), self._made(plan, plan.target)
        change = made[0].id if made else 0
        with records.transaction():
            records.facts.add(
                [replace(fact, change=change) for fact in plan.facts if not self._is_forgotten(fact)]
            )
            for number, said_by in plan.gone.items():
                if (old := _stored(records, number)) is not None and old.state == "written":
                    records.facts.update(_moved(old, said_by, plan))
        if plan.waiting:
            self.keeper().keep(plan.waiting, self._author(plan))

    def _settle(self, plan: Plan, *, is_current: bool) -> None:
        """Say that a plan is done, or dropped: then its entries are new again."""
        for _ in range(_TRIES):
            state, content, _ = self._state()
            if state.plan is None or state.plan.id != plan.id:
                return  # somebody else has settled it
            done = replace(state, plan=None)
            if is_current:
                done = State(
                    last_run=plan.at,
                    before="" if plan.rebuilding else state.before,
                    files=plan.files,
                    topics=plan.topics,
                    rebuilding=plan.rebuilding,
                )
            try:
                self._keep(done, content)
            except Stale:
                continue
            return

    def _shelve(self) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
        """Move what is old to the archive, and let the state forget it."""
        self.step("before:journals")
        state, _, _ = self._state()
        if state.rebuilding or state.last_run is None:
            return (), ()
        days = days_of(self.files, self.layout)
        today = self.clock.now().astimezone(self.zone).date()
        old = old_days(
            self.files, days, state.files, today=today, keep=self.settings.archive_days, before=state.before
        )
        author = Author(actor=ACTOR, action="", agent=self.agent)
        told = list(shelve(self.files, self.records(), self.keeper().pen, old, author))
        moved = [each for each in told if isinstance(each, Day)]
        self._forget_but({day.name for day in days if day not in moved})
        self.step("after:journals")
        return tuple(day.path for day in moved), tuple(each for each in told if isinstance(each, Finding))

    def _forget_but(self, names: Collection[str]) -> None:
        """Let the state say nothing of files that are gone."""
        state, content, _ = self._state()
        kept = {name: taken for name, taken in state.files.items() if name in names}
        if len(kept) < len(state.files):
            self._keep(replace(state, files=kept), content)

    def _keep(self, state: State, content: Content | None) -> None:
        """Write the state in place of the one that was read."""
        self.files.write(
            f"{self.folder}/{NAME}", write_state(state), expect=content.digest if content else None
        )

    def _made(self, plan: Plan, path: str) -> list[Change]:
        """Return the changes that a plan has made to a file; one that was taken back since counts too."""
        reason, before = self._author(plan).reason, None
        for _ in range(_MOST_CHANGES):
            page = self.records().changes.list(store="workspace", path=path, before=before, limit=_PAGE)
            own = [
                each for each in page if each.reason == reason and each.state != "begun" and not each.undoes
            ]
            if own or not page or page[-1].id <= plan.mark:
                return [each for each in own if each.id > plan.mark]
            before = page[-1].id
        return []

    def _author(self, plan: Plan) -> Author:
        return Author(actor=ACTOR, action="consolidate", reason=f"Consolidation {plan.id}.", agent=self.agent)


def _by_line(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.line, []).append(fact)
    return found


def _stored(records: Records, number: str) -> Fact | None:
    try:
        return records.facts.get(number)
    except UnknownFact:
        return None


def _moved(old: Fact, said_by: str, plan: Plan) -> Fact:
    """Return a fact that no longer stands in memory: something else says it, or the archive has it."""
    if said_by:
        return replace(old, state="superseded", superseded_by=said_by)
    return replace(old, path=plan.archive, section="")
