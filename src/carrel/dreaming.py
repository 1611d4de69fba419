"""Dreaming of one agent, put together: what its recalls come to, and what is promoted and taken back."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

from msgspec import Struct

from carrel.errors import CarrelError, NotFound, Refused
from carrel.findings import Finding
from carrel.memory.dream.candidates import TIERS, Candidate, Messages, Recalled, Said, candidates
from carrel.memory.dream.dreamer import Done, Dreamer
from carrel.memory.dream.files import diary_of, target_of
from carrel.memory.dream.plan import Plan, plan, promotion_of
from carrel.memory.dream.rows import CandidatesRow, DreamStatusRow, DreamtRow, dream_row, judged_row
from carrel.memory.dream.schedule import due_at
from carrel.memory.dream.verdict import Ground, Judge
from carrel.memory.dream.writing import heading_of
from carrel.memory.owned import is_owners
from carrel.memory.pen import Pen
from carrel.memory.trust import owners_of, trust_of
from carrel.opening import time_zone
from carrel.records.dreams import Dream, DreamOvertaken, PromotionState, UnknownDream
from carrel.records.recalls import MOST_REMEMBERED, Remembered
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf

_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)
_MOST_FACTS = 100
_MOST_FORGOTTEN = 10_000
_PAGE = 100
_STRETCH = 50  # messages that are read at once


class DreamingOff(Refused):
    """Dreaming, or all memory of the agent, is switched off; nothing is written."""

    code = "dreaming_off"

    def __init__(self, setting: str) -> None:
        super().__init__(
            "Dreaming is switched off; nothing is promoted.", hint=f"Set {setting} to true in carrel.yaml."
        )


class NothingToRevert(NotFound):
    """No run has promoted anything that still stands."""

    code = "nothing_to_revert"

    def __init__(self) -> None:
        super().__init__("No dream has promoted anything.", hint="carrel dream candidates shows what may be.")


class Outlook(Struct, frozen=True, kw_only=True):
    """What a run would do now; `promoted` counts what was recalled and is promoted already."""

    plan: Plan
    target: str
    promoted: int = 0
    after: int = 0
    findings: tuple[Finding, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates are in each state, and how many were promoted before."""
        return {**self.plan.counts, "promoted": self.promoted}

    def to_row(self, limit: int) -> CandidatesRow:
        """Return the best candidates as every surface shows them."""
        return CandidatesRow(
            candidates=tuple(map(judged_row, self.plan.judged[:limit])),
            path=self.target,
            counts=self.counts,
            reason=self.plan.reason or None,
            findings=self.findings,
        )


class Dreamt(Struct, frozen=True, kw_only=True):
    """What a run came to; a dry one has no `dream`. `finished` are those that a kill had left."""

    outlook: Outlook
    dream: Dream | None = None
    finished: tuple[Dream, ...] = ()
    findings: tuple[Finding, ...] = ()

    def to_row(self) -> DreamtRow:
        """Return it as every surface shows it."""
        return DreamtRow(
            dry_run=self.dream is None,
            run=dream_row(self.dream) if self.dream else None,
            ready=tuple(map(judged_row, self.outlook.plan.ready)),
            finished=tuple(map(dream_row, self.finished)),
            path=self.outlook.target,
            counts=self.outlook.counts,
            reason=self.outlook.plan.reason or None,
            findings=(*self.outlook.findings, *self.findings),
        )


class DreamStatus(Struct, frozen=True, kw_only=True):
    """How dreaming is doing: the last run, from when on the next is due, and what was promoted so far."""

    enabled: bool
    schedule: str | None
    last: Dream | None
    due: datetime | None
    is_due: bool
    counts: dict[PromotionState, int]
    recalls: int
    unfinished: tuple[Dream, ...] = ()

    def to_row(self) -> DreamStatusRow:
        """Return it as every surface shows it."""
        return DreamStatusRow(
            enabled=self.enabled,
            schedule=self.schedule,
            due=self.due.isoformat() if self.due else None,
            is_due=self.is_due,
            last=dream_row(self.last) if self.last else None,
            unfinished=tuple(map(dream_row, self.unfinished)),
            promotions=self.counts,
            recalls=self.recalls,
        )


class Dreaming:
    """What an agent dreams, for its owner."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        pen: Callable[[], Pen],
        sessions: Callable[[], Sessions],
        step: Callable[[str], object] = str,
    ) -> None:
        self._shelf = shelf
        self._pen = pen
        self._sessions = sessions
        self._step = step
        self._settings = shelf.config.settings.dreaming

    @property
    def target(self) -> str:
        """The file that is promoted to."""
        return target_of(self._shelf.layout, self._shelf.agent)

    def run(self, *, dry_run: bool = False) -> Dreamt:
        """Promote what passes the gates; a dry run writes nothing. What a kill had left is finished first."""
        if dry_run:
            return Dreamt(outlook=self.look())
        self._refuse_off()
        dreamer = self._dreamer()
        left = dreamer.finish(self._shelf.agent.id)
        outlook = self.look()
        done = dreamer.run(self._dream(outlook), after=outlook.after)
        return Dreamt(
            outlook=outlook,
            dream=done.dream,
            finished=tuple(each.dream for each in left),
            findings=(*_findings(left), *done.findings),
        )

    def look(self) -> Outlook:
        """Return what a run would do now, and record nothing."""
        shelf, agent, now = self._shelf, self._shelf.agent.id, self._now()
        dreams = shelf.records.dreams
        last = next(iter(dreams.list(agent=agent, limit=1)), None)
        texts = self._remembered(now)
        known = dreams.promoted(agent)
        recalled = Recalled(
            texts=texts,
            messages=self._messages(),
            home=shelf.layout.home,
            target=self.target,
            again=self._again(known, now),
        )
        zone = time_zone(shelf.config.settings.time_zone)
        found = candidates(recalled, self._settings, now=now, zone=zone)
        new = [each for each in found if known.get(each.key, now) is not None]
        judge = Judge(self._ground())
        return Outlook(
            plan=plan(new, judge, most=self._settings.most, nothing=self._nothing(found, texts, now)),
            target=self.target,
            promoted=len(found) - len(new),
            after=last.id if last else 0,
            findings=tuple(self._noticed(texts, last, now)),
        )

    def revert(self, number: int | None = None) -> Dreamt:
        """Take a run back, else the last that promoted something; what a kill had left is finished first."""
        dreamer, agent = self._dreamer(), self._shelf.agent.id
        left = dreamer.finish(agent)
        dream = self._last_promoting() if number is None else self._shelf.records.dreams.get(number)
        if dream.agent != agent:
            raise UnknownDream(dream.id)
        done = dreamer.revert(dream.id)
        return Dreamt(
            outlook=Outlook(plan=Plan(judged=()), target=dream.path),
            dream=done.dream,
            finished=tuple(each.dream for each in left),
            findings=(*_findings(left), *done.findings),
        )

    def run_if_due(self) -> Dreamt | None:
        """Dream if the time has come; where somebody else was faster, it is done."""
        if not self.status().is_due:
            return None
        try:
            return self.run()
        except DreamOvertaken:
            return None

    def status(self) -> DreamStatus:
        """Return how dreaming is doing; nothing is looked through."""
        records, agent, now = self._shelf.records, self._shelf.agent.id, self._now()
        last = next(iter(records.dreams.list(agent=agent, limit=1)), None)
        unfinished = tuple(records.dreams.list(agent=agent, states=("planned", "reverting")))
        due = self._due(last, now)
        return DreamStatus(
            enabled=self._settings.enabled and self._shelf.agent.memory_enabled,
            schedule=self._settings.schedule,
            last=last,
            due=due,
            is_due=due is not None and due <= now,
            counts=records.dreams.counts(agent),
            recalls=records.recalls.count(agent, _BEGINNING),
            unfinished=unfinished,
        )

    def _due(self, last: Dream | None, now: datetime) -> datetime | None:
        """Return from when on the next run is due; one that a kill has left is due at once."""
        if not (self._settings.enabled and self._shelf.agent.memory_enabled):
            return None
        zone = time_zone(self._shelf.config.settings.time_zone)
        due = due_at(self._settings.schedule, last.at if last else None, now, zone)
        return now if due is not None and last is not None and last.state == "planned" else due

    def _refuse_off(self) -> None:
        if not self._settings.enabled:
            raise DreamingOff("dreaming.enabled")
        if not self._shelf.agent.memory_enabled:
            raise DreamingOff("memory_enabled of the agent")

    def _now(self) -> datetime:
        return self._shelf.config.clock.now()

    def _dreamer(self) -> Dreamer:
        shelf = self._shelf
        return Dreamer(
            pen=self._pen(), records=lambda: shelf.records, clock=shelf.config.clock, step=self._step
        )

    def _dream(self, outlook: Outlook) -> Dream:
        shelf, now = self._shelf, self._now()
        return Dream(
            agent=shelf.agent.id,
            at=now,
            path=outlook.target,
            diary=diary_of(shelf.layout),
            heading=heading_of(now),
            counts=outlook.plan.counts,
            reason=outlook.plan.reason,
            promotions=tuple(map(promotion_of, outlook.plan.ready)),
            existed=bool((self._read(outlook.target) or "").strip()),
        )

    def _last_promoting(self) -> Dream:
        before: int | None = None
        dreams = self._shelf.records.dreams
        while page := dreams.list(agent=self._shelf.agent.id, states=("done",), before=before, limit=_PAGE):
            for dream in page:
                if any(each.state == "promoted" for each in dream.promotions):
                    return dream
            before = page[-1].id
        raise NothingToRevert

    def _remembered(self, until: datetime, after: datetime | None = None) -> list[Remembered]:
        recalls = self._shelf.records.recalls
        return recalls.remembered(self._shelf.agent.id, tiers=TIERS, until=until, after=after)

    def _again(
        self, known: dict[str, datetime | None], now: datetime
    ) -> list[tuple[frozenset[str], Sequence[Remembered]]]:
        """Return what was taken back, with what was recalled since."""
        ends: defaultdict[datetime, set[str]] = defaultdict(set)
        for key, ended in known.items():
            if ended is not None:
                ends[ended].add(key)
        return [(frozenset(keys), self._remembered(now, after=ended)) for ended, keys in ends.items()]

    def _messages(self) -> Messages:
        """Return who knows what was said in the agent's own sessions; each stretch of a log is read once."""
        stretch = cache(self._stretch)

        def messages(path: str, first: int, count: int) -> Iterator[Said]:
            at = max(first, 1)
            while count > 0 and (found := stretch(path, (at - 1) // _STRETCH)[(at - 1) % _STRETCH :][:count]):
                yield from found
                at, count = at + len(found), count - len(found)

        return messages

    def _stretch(self, path: str, number: int) -> Sequence[Said]:
        sessions = self._sessions()
        session = sessions.places.session_of(path)
        if session is None:
            return ()
        try:
            page = sessions.page(session, first=number * _STRETCH + 1, limit=_STRETCH)
            owners = owners_of(sessions, session, self._shelf.config.settings.user.id)
        except CarrelError:  # it was deleted, or cannot be read: nothing of it can be promoted
            return ()
        return [
            Said(
                text=placed.entry.to_text(),
                trust=trust_of([placed.entry], 0, owners),
                session=session,
                message_id=placed.entry.message_id,
                line=placed.number,
            )
            for placed in page.entries
        ]

    def _ground(self) -> Ground:
        records = self._shelf.records
        return Ground(
            target=self.target,
            read=self._read,
            facts=lambda key: records.facts.find(key=key, limit=_MOST_FACTS),
            is_owners=lambda path, lines: is_owners(records, "workspace", path, lines),
            forgotten=lambda: records.facts.find(states=("forgotten",), limit=_MOST_FORGOTTEN),
            screen=self._shelf.screen,
        )

    def _read(self, path: str) -> str | None:
        """Return a file's text, none where it cannot be had: what is not there cannot be promoted."""
        try:
            content = self._shelf.files.read(path)
        except CarrelError:
            return None
        return content.data.decode("utf-8-sig", "replace") if content else None

    def _nothing(self, found: Sequence[Candidate], texts: Sequence[Remembered], now: datetime) -> str:
        """Say why there are no candidates."""
        if found:
            return f"All {len(found):,} memories that were recalled were promoted before."
        if texts:
            return "What was recalled is no statement of a journal, of a notebook or of yours in a session."
        recalls = self._shelf.records.recalls
        every = recalls.count(self._shelf.agent.id, _BEGINNING)
        later = recalls.count(self._shelf.agent.id, now + timedelta(microseconds=1))
        if every > later:
            return f"{every - later:,} recalls, and none of a journal, a notebook or a session."
        return "Nothing was recalled yet: a recall is what a model was reminded of, or found in its memory."

    def _noticed(self, texts: Sequence[Remembered], last: Dream | None, now: datetime) -> Iterator[Finding]:
        """Yield what is odd about the recalls and the clock; none of it stops a run."""
        later = self._shelf.records.recalls.count(self._shelf.agent.id, now + timedelta(microseconds=1))
        if later:
            yield Finding(
                code="recalls_in_future",
                message=f"{later:,} recalls are from the future and do not count yet.",
                hint="Check the machine's clock.",
            )
        if odd := sum(each.odd for each in texts):
            yield Finding(
                code="odd_scores",
                message=f"{odd:,} recalls have a score below 0 or above 1; it counts as 0 or 1.",
                severity="info",
            )
        if last is not None and last.at > now:
            yield Finding(
                code="clock_went_back",
                message=f"Dream {last.id} was at {last.at.isoformat()}, which is in the future now.",
                hint="Check the machine's clock.",
            )
        if len(texts) >= MOST_REMEMBERED:
            yield Finding(
                code="recalls_capped",
                message=f"Only the {MOST_REMEMBERED:,} texts that were recalled most often are looked at.",
                severity="info",
            )


def _findings(done: Sequence[Done]) -> Iterator[Finding]:
    for each in done:
        yield from each.findings
