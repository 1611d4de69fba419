"""A run from its plan to its end, and back; what a kill leaves of it is finished, once.

It is planned in the records, written to the notebook, told in the diary, and settled in the records. Which
changes are a run's own is told by their reason, which is durable before the file is written; and what stands
in the file already is not written again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.errors import CarrelError, Conflict
from carrel.files import show
from carrel.findings import Finding
from carrel.memory.dream.writing import bullet_of, with_entry, with_promotions
from carrel.memory.fact import fact_id
from carrel.memory.pen import Author, Pen
from carrel.records import Records
from carrel.records.changes import Change
from carrel.records.dreams import Dream
from carrel.records.facts import Fact

STEPS = ("plan", "memory", "diary", "settle", "reverting", "undo", "reverted")
"""What a run does in this order, and then its revert; `Dreamer.step` hears `before:` and `after:` each."""

ACTION = "dream"
_PAGE = 50


class AlreadyReverted(Conflict):
    """A run was taken back before."""

    code = "already_reverted"

    def __init__(self, dream: Dream) -> None:
        super().__init__(
            f"Dream {dream.id} was taken back already.", hint="carrel memory history shows what was done."
        )


class Done(Struct, frozen=True, kw_only=True):
    """A run as it is now, and what was noticed on the way."""

    dream: Dream
    findings: tuple[Finding, ...] = ()


class Dreamer(Struct, frozen=True, kw_only=True):
    """Carries runs out and takes them back; each effect is there once, whoever is killed when."""

    pen: Pen
    records: Callable[[], Records]
    clock: Clock
    step: Callable[[str], object] = str  # which changes nothing

    def run(self, dream: Dream, *, after: int) -> Done:
        """Plan a run and carry it out; DreamOvertaken where the agent's last one is not `after`."""
        records = self.records()
        self.step("before:plan")
        latest = records.changes.list(limit=1)
        planned = records.dreams.plan(replace(dream, mark=latest[0].id if latest else 0), after=after)
        self.step("after:plan")
        return self._write(planned)

    def finish(self, agent: str) -> list[Done]:
        """Carry on what a kill has left, the oldest first; a revert that cannot be made is given up."""
        dreams = self.records().dreams
        done = [self._write(each) for each in reversed(dreams.list(agent=agent, states=("planned",)))]
        for dream in reversed(dreams.list(agent=agent, states=("reverting",))):
            try:
                done.append(self.revert(dream.id))
            except CarrelError as error:
                done.append(Done(dream=dreams.get(dream.id), findings=(_not_reverted(dream, error),)))
        return done

    def revert(self, number: int) -> Done:
        """Take back exactly what a run has written, byte for byte where nobody has touched it since.

        What stands in the notebook decides: where it cannot be taken back, nothing is. The entry in the diary
        may stay.
        """
        records = self.records()
        self.step("before:reverting")
        with records.transaction():
            dream = records.dreams.get(number)
            if dream.state == "reverted":
                raise AlreadyReverted(dream)
            dream = replace(dream, state="reverting")
            records.dreams.update(dream)
        self.step("after:reverting")
        try:
            self._undo(dream, is_diary=False)
        except CarrelError:
            records.dreams.update(replace(dream, state="done"))
            raise
        findings: list[Finding] = []
        try:
            self._undo(dream, is_diary=True)
        except CarrelError as error:
            findings.append(_stays(dream, error))
        return Done(dream=self._reverted(dream), findings=tuple(findings))

    def _write(self, dream: Dream) -> Done:
        dream = self._current(dream)
        findings: list[Finding] = []
        try:
            findings += self._promote(dream)
        except CarrelError as error:
            with suppress(CarrelError):  # the error itself says more than that it could not be kept
                self.records().dreams.update(replace(dream, problem=f"{error.message} [{error.code}]"))
            raise
        self.step("before:diary")
        try:
            self._edit(dream, dream.diary, lambda text: with_entry(text, dream))
        except CarrelError as error:
            findings.append(_untold(dream, error))
        self.step("after:diary")
        return Done(dream=self._settled(dream), findings=tuple(findings))

    def _current(self, dream: Dream) -> Dream:
        """Return a run without what was forgotten since it was planned."""
        facts = self.records().facts
        gone = {
            each.key for each in dream.promotions if facts.find(key=each.key, states=("forgotten",), limit=1)
        }
        kept = (replace(each, state="dropped") if each.key in gone else each for each in dream.promotions)
        return replace(dream, promotions=tuple(kept))

    def _promote(self, dream: Dream) -> Iterator[Finding]:
        """Write what a run promotes; what became of the file meanwhile is told."""
        if not any(each.state == "planned" for each in dream.promotions):
            return
        was_empty = False

        def edit(text: str | None) -> str | None:
            nonlocal was_empty
            was_empty = not (text or "").strip()
            return with_promotions(text, dream)

        self.step("before:memory")
        self._edit(dream, dream.path, edit)
        self.step("after:memory")
        if was_empty and dream.existed:
            yield _vanished(dream)

    def _edit(self, dream: Dream, path: str, edit: Callable[[str | None], str | None]) -> None:
        """Make an edit, unless it was made before: then its owner may have changed it since."""
        if not self._made(dream, path):
            self.pen.edit("workspace", path, edit, _author(dream))

    def _made(self, dream: Dream, *paths: str) -> list[Change]:
        """Return the changes that a run has made to some files, the oldest first."""
        found: list[Change] = []
        for path in paths:
            before: int | None = None
            while page := self.records().changes.list(path=path, before=before, limit=_PAGE):
                found += [change for change in page if _is_own(change, dream)]
                before = page[-1].id
                if before <= dream.mark:
                    break
        return sorted(found, key=lambda change: change.id)

    def _settled(self, dream: Dream) -> Dream:
        """Say that a run is done, and what it promoted is known from now on."""
        self.step("before:settle")
        records = self.records()
        made = self._made(dream, dream.path, dream.diary)
        if not any(change.path == dream.path for change in made):
            self.pen.recover()  # somebody else has written it, and has not said so yet
            made = self._made(dream, dream.path, dream.diary)
        with records.transaction():
            now = records.dreams.get(dream.id)
            if now.state == "planned":  # else somebody else has finished it
                promoted = (
                    replace(each, state="promoted") if each.state == "planned" else each
                    for each in dream.promotions
                )
                now = replace(
                    dream,
                    state="done",
                    problem="",
                    changes=tuple(change.id for change in made),
                    promotions=tuple(promoted),
                )
                records.dreams.update(now)
                records.facts.add(_facts(now, made))
        self.step("after:settle")
        return now

    def _undo(self, dream: Dream, *, is_diary: bool) -> None:
        changes = map(self.records().changes.get, dream.changes)
        own = [each for each in changes if (each.path == dream.diary) == is_diary and each.state == "done"]
        if not is_diary:
            self.step("before:undo")
        if own:
            self.pen.undo(own, replace(_author(dream), action="revert"))
        if not is_diary:
            self.step("after:undo")

    def _reverted(self, dream: Dream) -> Dream:
        self.step("before:reverted")
        records = self.records()
        with records.transaction():
            back = (
                replace(each, state="reverted") if each.state == "promoted" else each
                for each in dream.promotions
            )
            now = replace(dream, state="reverted", ended=self.clock.now(), promotions=tuple(back))
            records.dreams.update(now)
            for number in dream.changes:
                for fact in records.facts.find(change=number, states=("written",), limit=len(now.promotions)):
                    records.facts.update(replace(fact, state="undone", reason=_author(dream).reason))
        self.step("after:reverted")
        return now


def _author(dream: Dream) -> Author:
    return Author(actor=ACTION, action=ACTION, reason=f"Dream {dream.id}.", agent=dream.agent)


def _is_own(change: Change, dream: Dream) -> bool:
    is_made = change.id > dream.mark and change.state != "begun" and not change.undoes
    return is_made and (change.action, change.reason) == (ACTION, _author(dream).reason)


def _facts(dream: Dream, made: Sequence[Change]) -> Iterator[Fact]:
    """Yield what was promoted as facts, each with where it came from and how far it may be trusted."""
    for change, each in product(made, dream.promotions):
        line = bullet_of(each)
        is_here = change.path == dream.path and line.encode() in change.splice.new
        if each.state == "promoted" and is_here:
            yield Fact(
                id=fact_id(dream.agent, f"dream {dream.id}", (each.key,), each.text),
                agent=dream.agent,
                layer="project",
                kind=each.kind,
                text=each.text,
                key=each.key,
                at=dream.at,
                session=each.session,
                evidence=each.evidence,
                trust=each.trust,
                subject=each.subject,
                state="written",
                reason=f"Dream {dream.id}, from {each.source}",
                path=dream.path,
                section=dream.heading,
                line=line,
                change=change.id,
            )


def _vanished(dream: Dream) -> Finding:
    return Finding(
        code="notebook_vanished",
        message=f"{show(dream.path)} was deleted or emptied while dream {dream.id} was on its way; "
        "it holds only what that dream promoted.",
        path=dream.path,
        hint="carrel memory consolidate makes it anew from the journals.",
    )


def _untold(dream: Dream, error: CarrelError) -> Finding:
    return Finding(
        code="diary_not_written",
        message=f"The diary does not tell of dream {dream.id}: {error.message}",
        path=dream.diary,
        hint=error.hint,
    )


def _stays(dream: Dream, error: CarrelError) -> Finding:
    return Finding(
        code="diary_not_reverted",
        message=f"Dream {dream.id} was taken back, but its entry in the diary stays: {error.message}",
        path=dream.diary,
        hint=error.hint,
    )


def _not_reverted(dream: Dream, error: CarrelError) -> Finding:
    return Finding(
        code="dream_not_reverted",
        message=f"Dream {dream.id} could not be taken back: {error.message}",
        path=dream.path,
        hint=error.hint,
    )
