"""History becomes a summary: what is about to go is offered for saving first, and the log stays whole.

On every path: callbacks, summary, one durable line of the log, then what is derived from it. A process may
die between any two: before the line history is as it was, after it the summary counts.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.context.calls import to_plain
from carrel.errors import CarrelError, NotFound, Unavailable
from carrel.findings import Finding
from carrel.records.audit import Audit
from carrel.runtime.callbacks import Callbacks, CompactionBegins
from carrel.runtime.model import OFFLINE, Model, Reply, Request, Spend
from carrel.sessions.message import Message
from carrel.sessions.placed import Placed
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.workspace.scope import Scope

KEPT_TOKENS = 4_000
"""What stays word for word, at most, beside the last turn, where somebody asks for a compaction."""

LEAST_SENSE = 20
"""Characters without which a summary means nothing."""

STEPS = ("read", "flush", "summary", "log", "derived")
"""What a compaction does, in this order; `Compactor.step` hears `before:` and `after:` each."""

SUMMARY_SECONDS = 120.0
COOL_DOWN = timedelta(minutes=10)
_MOST_REMEMBERED = 256
_LONGEST_NAME = 120
_LONGEST_ANSWER = 32_000
_FAILED, _DONE = "compaction_failed", "compacted"

Summarise = Callable[[Sequence[Message], str], str]
"""Takes messages and the summary of what went before them, and returns one summary of both."""


def extract(messages: Sequence[Message], earlier: str) -> str:
    """Return a summary by rules, which needs no model."""
    from carrel.runtime.summary import extract as by_rules  # noqa: PLC0415 - few sessions are compacted

    return by_rules(messages, earlier)


def is_all_of(sessions: Sessions, session: str, scope: Scope) -> bool:
    """Tell whether a listener was there for all that a compaction would be of; the owner always was."""
    if scope is Scope.MAIN:
        return True
    earlier, placed = sessions.seen(session, scope=Scope.MAIN)
    heard = [*(each.entry.scope for each in placed), *([earlier.scope] if earlier else ())]
    return all(scope == Scope.SHARED for scope in heard)


class NothingToCompact(NotFound):
    """A session whose history is as short as it can be."""

    code = "nothing_to_compact"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"Session {session} has nothing to compact: its last turns stay as they are.",
            hint="Go on talking; `carrel context report --session` shows how full the window is.",
        )


class BadSummary(Unavailable):
    """A summary that would lose more than it saves; history stays as it was."""

    code = "bad_summary"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The summary {problem}; nothing was compacted.", hint="Try again, or with another model."
        )


class Compacted(Struct, frozen=True, kw_only=True):
    """A history that is shorter now: how many entries the summary stands for, and what was saved."""

    entries: int
    through: int
    tokens_before: int
    tokens_after: int
    summary: str
    method: str
    findings: tuple[Finding, ...] = ()


class Attempt(Struct, frozen=True, kw_only=True):
    """What became of a compaction that nobody asked for; none where history stays as it was.

    `spend` is what the model says that it cost, of use or not. Until `waits_until` it is not tried again.
    """

    compacted: Compacted | None = None
    findings: tuple[Finding, ...] = ()
    spend: Spend | None = None
    waits_until: datetime | None = None


class CoolDown(Struct, kw_only=True):
    """Which sessions could not be compacted lately, here and, by the audit, in any other process."""

    agent: str
    clock: Clock
    audit: Callable[[], Audit]
    here: dict[str, datetime] = {}

    def waits_until(self, session: str) -> datetime | None:
        """Return until when a session is left alone, none where it is not."""
        here, anywhere, now = self.here.get(session), self._noted(session), self.clock.now()
        return next((at + COOL_DOWN for at in (here, anywhere) if at and at <= now < at + COOL_DOWN), None)

    def failed(self, session: str, code: str) -> datetime:
        """Leave a session alone for a while, and return until when."""
        if len(self.here) >= _MOST_REMEMBERED:
            self.here.pop(next(iter(self.here)))
        self.here[session] = now = self.clock.now()
        self._note(_FAILED, session, code)
        return now + COOL_DOWN

    def over(self, session: str) -> None:
        """Forget what failed: it has worked since."""
        if self.here.pop(session, None) or self._noted(session):
            self._note(_DONE, session)

    def _noted(self, session: str) -> datetime | None:
        """Return when it failed as the audit says, if nothing has worked after that."""
        target = f"{self.agent}/{session}"
        try:
            failed = self.audit().events(action=_FAILED, target=target, limit=1)
            done = self.audit().events(action=_DONE, target=target, limit=1) if failed else []
        except CarrelError:  # what cannot be remembered is tried again
            return None
        return failed[0].at if failed and not (done and done[0].id > failed[0].id) else None

    def _note(self, action: str, session: str, code: str = "") -> None:
        target, now, detail = f"{self.agent}/{session}", self.clock.now(), {"code": code}
        with suppress(CarrelError):  # this process remembers
            self.audit().note(
                at=now, actor=self.agent, action=action, target=target, session=session, detail=detail
            )


class _Draft(Struct, frozen=True, kw_only=True):
    """A compaction that has begun: what goes, what went before it, and which entry is the first to stay."""

    session: str
    messages: tuple[Message, ...]
    earlier: str
    scope: Scope
    last: Placed
    stays: int
    tokens: int


class Compactor(Struct, frozen=True, kw_only=True):
    """Compacts one agent's sessions; `count` tells the tokens of a text."""

    agent: str
    sessions: Sessions
    callbacks: Callbacks
    count: Callable[[str], int]
    cool_down: CoolDown | None = None
    step: Callable[[str], object] = str  # which changes nothing

    def compact(
        self, session: str, summarise: Summarise = extract, *, method: str = OFFLINE, kept: int = KEPT_TOKENS
    ) -> Compacted:
        """Let a summary stand for all but the last turns; a failure at any step leaves history as it was."""
        draft = self._begin(session, kept)
        self.step("before:summary")
        summary = summarise(draft.messages, draft.earlier)
        self.step("after:summary")
        return self._finish(draft, summary, method)

    def preview(self, session: str, summarise: Summarise = extract, *, kept: int = KEPT_TOKENS) -> Compacted:
        """Return what `compact` would do; nobody is told, and nothing is written."""
        draft = self._draft(session, kept)
        return self._checked(draft, summarise(draft.messages, draft.earlier), OFFLINE)

    def attempt(self, session: str, *, kept: int) -> Attempt:
        """Compact by rules where nobody asked for it; what fails is a finding, and then waits for a while."""
        waits = self.cool_down.waits_until(session) if self.cool_down else None
        if waits is not None:
            return Attempt(waits_until=waits)
        try:
            done = self.compact(session, kept=kept)
        except NothingToCompact:
            return Attempt()
        except CarrelError as error:
            return self._failed(session, error)
        return Attempt(compacted=done, findings=done.findings)

    async def compact_with(
        self,
        model: Model | None,
        session: str,
        *,
        window: int,
        kept: int | None = None,
        room: int | None = None,
        seconds: float = SUMMARY_SECONDS,
    ) -> Attempt:
        """Compact by a model's summary, else by rules; what fails is a finding, and then waits for a while.

        A quarter of the window stays where nothing else is said; `room` is how much the model may read.
        """
        from carrel.runtime.loop.threads import in_thread, surely  # noqa: PLC0415 - asyncio is slow to load

        waits = await in_thread(self.cool_down.waits_until, session) if self.cool_down else None
        if waits is not None:
            return Attempt(waits_until=waits)
        kept = window // 4 if kept is None else kept
        room = max(1_000, window * 3 // 4 - _LONGEST_ANSWER // 8) if room is None else room
        told = Attempt()
        try:
            draft = await in_thread(self._begin, session, kept)
            self.step("before:summary")
            summary, method = "", OFFLINE
            if model is not None and model.name != OFFLINE:
                summary, told = await self._hear(model, draft, room, seconds)
                method = _name(model) if summary else OFFLINE
            summary = summary or await in_thread(extract, draft.messages, draft.earlier)
            self.step("after:summary")
            done = await surely(in_thread(self._finish, draft, summary, method))
        except NothingToCompact:
            return told
        except CarrelError as error:
            failed = await in_thread(self._failed, session, error)
            return replace(failed, findings=(*told.findings, *failed.findings), spend=told.spend)
        return replace(told, compacted=done, findings=(*told.findings, *done.findings))

    async def _hear(self, model: Model, draft: _Draft, room: int, seconds: float) -> tuple[str, Attempt]:
        """Return a model's summary, none where it is of no use, and what came of asking."""
        from carrel.runtime.loop.threads import in_thread  # noqa: PLC0415 - as above
        from carrel.runtime.summary import ask, judge  # noqa: PLC0415 - as above

        request = await in_thread(ask, draft.messages, draft.earlier, count=self.count, room=room)
        try:
            reply = await _answer(model, request, seconds)
        except CarrelError as error:
            return "", Attempt(findings=(_fallen_back(model, f"failed with {error.code}"),))
        judged = await in_thread(judge, reply, draft.messages, draft.earlier)
        problem = judged.problem
        if not problem and await in_thread(self.count, judged.text) >= draft.tokens:
            problem = "is no shorter than what it stands for"
        if problem:
            found = _fallen_back(model, f"gave a summary that {problem}")
            return "", Attempt(findings=(found,), spend=reply.spend)
        return judged.text, Attempt(spend=reply.spend)

    def _failed(self, session: str, error: CarrelError) -> Attempt:
        until = self.cool_down.failed(session, error.code) if self.cool_down else None
        return Attempt(findings=(_failure(error),), waits_until=until)

    def _begin(self, session: str, kept: int) -> _Draft:
        """See what is to go, and let it be saved first."""
        self.step("before:read")
        draft = self._draft(session, kept)
        self.step("after:read")
        self.step("before:flush")
        event = CompactionBegins(
            agent=self.agent, session=session, scope=draft.scope, messages=draft.messages
        )
        self.callbacks.before_compaction(event)
        self.step("after:flush")
        return draft

    def _draft(self, session: str, kept: int) -> _Draft:
        from carrel.runtime.summary import first_kept  # noqa: PLC0415 - as above

        earlier, placed = self.sessions.seen(session, scope=Scope.MAIN)
        messages = tuple(each.entry.to_message() for each in placed)
        cut = first_kept(messages, kept, self.count)
        if not cut:
            raise NothingToCompact(session)
        is_shared = all(each.entry.scope == Scope.SHARED for each in placed[:cut])
        is_shared = is_shared and (earlier is None or earlier.scope == Scope.SHARED)
        summary = earlier.summary if earlier else ""
        return _Draft(
            session=session,
            messages=messages[:cut],
            earlier=summary,
            scope=Scope.SHARED if is_shared else Scope.MAIN,
            last=placed[cut - 1],
            stays=placed[cut].number,
            tokens=sum(self.count(to_plain(message)) for message in messages[:cut]) + self.count(summary),
        )

    def _checked(self, draft: _Draft, summary: str, method: str) -> Compacted:
        """Return what will be true of a summary, secrets taken out; one that saves nothing is refused."""
        text = self.sessions.screened(summary.strip())
        after = self.count(text)
        if len(text) < LEAST_SENSE:
            raise BadSummary("is empty or too short to mean anything")
        if after >= draft.tokens:
            raise BadSummary(f"has {after:,} tokens and stands for {draft.tokens:,}")
        return Compacted(
            entries=len(draft.messages),
            through=draft.last.number,
            tokens_before=draft.tokens,
            tokens_after=after,
            summary=text,
            method=method,
        )

    def _finish(self, draft: _Draft, summary: str, method: str) -> Compacted:
        """Write the line, and bring what is derived up to it; from the line on, nothing is an error."""
        done = self._checked(draft, summary, method)
        if overtaken := self._overtaken(draft):
            return replace(done, findings=overtaken)
        self.step("before:log")
        self.sessions.compact(
            draft.session,
            Compaction(
                summary=done.summary,
                through=done.through,
                message_id=draft.last.entry.message_id,
                scope=draft.scope if draft.scope is Scope.SHARED else "",
                tokens_before=done.tokens_before,
                tokens_after=done.tokens_after,
                method=method,
            ),
        )
        self.step("after:log")
        self.step("before:derived")
        try:
            findings = self.sessions.settle(draft.session)
        except CarrelError as error:  # the next one to use the session makes them
            findings = (Finding(code=error.code, message=error.message, hint=error.hint),)
        self.step("after:derived")
        if self.cool_down is not None:
            self.cool_down.over(draft.session)
        return replace(done, findings=findings)

    def _overtaken(self, draft: _Draft) -> tuple[Finding, ...]:
        """Say where somebody has compacted more meanwhile: a line that says less would undo theirs."""
        _, placed = self.sessions.seen(draft.session, scope=Scope.MAIN)
        if placed and placed[0].number <= draft.stays:
            return ()
        message = f"Session {draft.session} was compacted by somebody else, whose summary reaches further."
        return (Finding(code="compaction_overtaken", message=message, severity="info"),)


async def _answer(model: Model, request: Request, seconds: float) -> Reply:
    """Return what a model answers, heard out for so long and no longer."""
    import asyncio  # noqa: PLC0415 - as above

    from carrel.runtime.loop.hearing import Hearing  # noqa: PLC0415 - as above

    deadline = asyncio.get_running_loop().time() + seconds
    hearing = Hearing(
        model, request, deadline=deadline, timeout=seconds, patience=seconds, length=_LONGEST_ANSWER
    )
    try:
        while await hearing.next():
            pass
    finally:
        await hearing.close()
    assert hearing.reply is not None
    return hearing.reply


def _name(model: Model) -> str:
    return "".join(c if c.isprintable() else "?" for c in model.name[:_LONGEST_NAME])


def _fallen_back(model: Model, problem: str) -> Finding:
    return Finding(
        code="summary_fallback",
        message=f"The model {_name(model)} {problem}; the summary was picked out by rules instead.",
        hint="Nothing is lost: the log has every word. Another model may do better.",
    )


def _failure(error: CarrelError) -> Finding:
    message = f"The session could not be compacted: {error.message}"
    hint = f"{error.hint} It is whole, and is tried again later.".strip()
    return Finding(code="compaction_failed", message=message, hint=hint)
