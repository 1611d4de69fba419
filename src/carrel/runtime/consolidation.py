"""The journal becomes memory in the background: a job, a model that writes, and rules where there is none.

An answer that may not stand changes nothing, and its entries stay new. After a few of them in a row what is
new is taken over as it is written.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from carrel.errors import CarrelError, Refused, Unavailable
from carrel.findings import Finding
from carrel.memory.consolidate.answer import judge
from carrel.memory.consolidate.consolidator import Consolidated, Consolidator
from carrel.memory.consolidate.journals import Day
from carrel.memory.consolidate.pieces import Bullet, Material
from carrel.memory.consolidate.question import ROOM, question
from carrel.memory.consolidate.rules import pick
from carrel.memory.dream.schedule import due_at
from carrel.memory.journal import NoJournal
from carrel.records import Payload
from carrel.records.queue import Job, Queue
from carrel.records.usage import Spent
from carrel.runtime.model import OFFLINE, ContextTooLong, Model, Reply, Request
from carrel.runtime.prices import cost_of
from carrel.runtime.remember.asking import Asking, hear_out
from carrel.tokens import describe_model

KIND = "consolidate"
"""The kind of a job that makes memory of the journal."""

GAP = timedelta(minutes=30)
"""How long after a run the next may come by itself."""

MOST_FAILURES = 3
"""After so many bad answers in a row, rules take over."""

_LEAST_ROOM = 500
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")

Why = Literal["", "switched_off", "memory_off", "no_journal", "too_soon", "nothing_new"]


class ConsolidationOff(Refused):
    """Consolidation, or all memory of the agent, is switched off; nothing is written."""

    code = "consolidation_off"

    def __init__(self, setting: str) -> None:
        super().__init__(
            "Consolidation is switched off; memory stays as it is.",
            hint=f"Set {setting} to true in carrel.yaml.",
        )


class BadConsolidation(Unavailable):
    """A model's answer that would lose, invent or order something; memory stays as it was."""

    code = "bad_consolidation"

    def __init__(self, model: str, problem: str) -> None:
        name = "".join(c if c.isprintable() else "?" for c in model[:120])
        super().__init__(
            f"The answer of {name} {problem}; memory stays as it was, and the entries stay new.",
            hint=f"Try again, or with another model. After {MOST_FAILURES} times rules take over.",
        )
        self.problem = problem


class DueConsolidation(Struct, frozen=True, kw_only=True):
    """Whether a run is due, or why it is not."""

    is_due: bool
    reason: Why = ""


class Errand(Struct, frozen=True, kw_only=True):
    """A consolidation as it waits in the queue."""

    agent: str


class Consolidation(Struct, frozen=True, kw_only=True):
    """Makes memory of one agent's journal; `asking` is how a model is asked on its behalf."""

    consolidator: Consolidator
    asking: Asking
    queue: Callable[[], Queue]
    memory_enabled: bool = True

    def due(self, now: datetime) -> DueConsolidation:
        """Tell whether a run may come by itself: something is new, and the last one is a while ago.

        A last run in the future was told by a clock that was wrong.
        """
        if why := self._why_off():
            return DueConsolidation(is_due=False, reason=why)
        last = self.consolidator.state().last_run
        if last is not None and last <= now < last + GAP:
            return DueConsolidation(is_due=False, reason="too_soon")
        if not self.consolidator.has_new():
            return DueConsolidation(is_due=False, reason="nothing_new")
        return DueConsolidation(is_due=True)

    def consolidated(self, days: Sequence[Day]) -> list[Day]:
        """Return those of some days that memory was made of; where none ever will be, all of them."""
        return list(days) if self._why_off() else self.consolidator.taken(days)

    def put_on_time(self, now: datetime) -> Job | None:
        """Put a job where a run is due and its time has come: by the schedule, else whenever it may be."""
        settings = self.consolidator.settings
        if settings.schedule is None:
            return self.put(now) if settings.automatic else None
        last = self.consolidator.state().last_run if not self._why_off() else None
        due = due_at(settings.schedule, last, now, self.consolidator.zone)
        return self.put(now) if due is not None and due <= now else None

    def put(self, now: datetime) -> Job | None:
        """Put a job where a run is due; one for each half hour at most."""
        if not self.due(now).is_due:
            return None
        agent = self.consolidator.agent
        errand = asdict(Errand(agent=agent))
        return self.queue().put(KIND, errand, key=f"{agent}/{int((now - _EPOCH) / GAP)}")

    def work(self, job: Job, model: Model) -> Payload:
        """Do a job; what is no longer due is not done."""
        now = self.asking.clock.now()
        due = self.due(now)
        if not due.is_due:
            return {"skipped": due.reason}
        done = self.run(model, turn=f"consolidate-{job.id}-{job.claim}")
        draft = done.draft
        return {
            "reason": done.reason,
            "added": len(draft.added) if draft else 0,
            "removed": len(draft.removed) if draft else 0,
            "archived": len(done.archived),
            "findings": [finding.code for finding in done.findings],
        }

    def run(self, model: Model, *, dry_run: bool = False, turn: str = "") -> Consolidated:
        """Make memory of what is new in the journal, now; a dry run only says what would be done."""
        why = self._why_off()
        if why == "no_journal":
            raise NoJournal(self.consolidator.layout.name)
        if why and not dry_run:
            raise ConsolidationOff(
                "consolidation.enabled" if why == "switched_off" else "memory_enabled of the agent"
            )
        if model.name == OFFLINE:
            return self.consolidator.run(self._by_rules, dry_run=dry_run)
        if self.consolidator.state().failures >= MOST_FAILURES:
            done = self.consolidator.run(self._by_rules, dry_run=dry_run)
            return replace(done, findings=(_fallen_back(), *done.findings))
        turn = turn or f"consolidate-now-{self.asking.clock.now().isoformat()}"
        try:
            return self.consolidator.run(
                lambda material: self._by_model(material, model, turn), room=_room(model), dry_run=dry_run
            )
        except BadConsolidation:
            if not dry_run:
                with suppress(CarrelError):  # the answer is what is to be told
                    self.consolidator.note_failure()
            raise

    def _why_off(self) -> Why:
        if not self.memory_enabled:
            return "memory_off"
        if not self.consolidator.settings.enabled:
            return "switched_off"
        try:
            _ = self.consolidator.folder
        except NoJournal:
            return "no_journal"
        return ""

    def _by_rules(self, material: Material) -> Sequence[Bullet]:
        return pick(material, count=self.asking.count)

    def _by_model(self, material: Material, model: Model, turn: str) -> Sequence[Bullet]:
        """Ask a model for the bullets; BadConsolidation where its answer may not stand."""
        asking = self.asking
        asking.allow(model)
        request = Request(messages=question(material, count=asking.count))
        try:
            reply = hear_out(model, request, asking.seconds)
        except ContextTooLong:
            raise BadConsolidation(model.name, "cannot be had: the question is too long for it") from None
        self._account(model, reply, turn)
        is_whole = reply.finish == "stop" and not reply.tool_calls
        screen = self.consolidator.keeper().pen.screen
        judged = judge(reply.text, material, count=asking.count, is_whole=is_whole, screen=screen)
        if judged.problem:
            raise BadConsolidation(model.name, judged.problem)
        return judged.bullets

    def _account(self, model: Model, reply: Reply, turn: str) -> None:
        if reply.spend is None:
            return
        spent = Spent(
            agent=self.asking.agent,
            session="",
            model=model.name,
            at=self.asking.clock.now(),
            input=reply.spend.input,
            cached=reply.spend.cached,
            output=reply.spend.output,
            cost=cost_of(model.name, reply.spend),
            purpose="background",
        )
        self.asking.usage().add(spent, turn=turn)


def _room(model: Model) -> int:
    """Return how many tokens of new entries a model is asked about at once."""
    return max(_LEAST_ROOM, min(ROOM, describe_model(model.name).window // 4))


def _fallen_back() -> Finding:
    return Finding(
        code="consolidation_fallback",
        message=f"{MOST_FAILURES} answers in a row could not stand; what is new was taken over by rules.",
        hint="Nothing is lost: the journal has every entry. Another model may do better.",
    )
