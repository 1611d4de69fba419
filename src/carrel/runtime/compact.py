"""History becomes a summary: what is about to go is offered for saving first, and the log stays whole."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from carrel.errors import NotFound, Unavailable
from carrel.findings import Finding
from carrel.runtime.callbacks import Callbacks, CompactionBegins
from carrel.sessions.log import Placed
from carrel.sessions.message import Message
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.sessions.window import whole_turns
from carrel.workspace.scope import Scope

KEPT_TOKENS = 4_000
"""What stays word for word, at most, beside the last turn, which stays whatever its size."""

_LEAST_SENSE = 20

Summarise = Callable[[Sequence[Message], str], str]
"""Takes messages and the summary of what went before them, and returns one summary of both."""


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
    findings: tuple[Finding, ...] = ()


class Compactor(Struct, frozen=True, kw_only=True):
    """Compacts one agent's sessions; `count` tells the tokens of a text."""

    agent: str
    sessions: Sessions
    callbacks: Callbacks
    count: Callable[[str], int]

    def compact(
        self, session: str, summarise: Summarise, *, method: str, kept: int = KEPT_TOKENS
    ) -> Compacted:
        """Let a summary stand for all but the last turns; a failure at any step leaves history as it was."""
        earlier, placed = self.sessions.seen(session, scope=Scope.MAIN)
        old = self._old(placed, kept)
        if not old:
            raise NothingToCompact(session)
        messages = tuple(each.entry.to_message() for each in old)
        is_shared = all(each.entry.scope == Scope.SHARED for each in old)
        scope = (
            Scope.SHARED if is_shared and (earlier is None or earlier.scope == Scope.SHARED) else Scope.MAIN
        )
        event = CompactionBegins(agent=self.agent, session=session, scope=scope, messages=messages)
        self.callbacks.before_compaction(event)
        before = sum(self.count(message.to_text()) for message in messages)
        before += self.count(earlier.summary) if earlier else 0
        summary = summarise(messages, earlier.summary if earlier else "").strip()
        after = self.count(summary)
        _refuse_bad(summary, before, after)
        last = old[-1]
        self.sessions.compact(
            session,
            Compaction(
                summary=summary,
                through=last.number,
                message_id=last.entry.message_id,
                scope=scope if scope is Scope.SHARED else "",
                tokens_before=before,
                tokens_after=after,
                method=method,
            ),
        )
        findings = self.sessions.settle(session)
        return Compacted(
            entries=len(old),
            through=last.number,
            tokens_before=before,
            tokens_after=after,
            summary=summary,
            findings=findings,
        )

    def _old(self, placed: Sequence[Placed], kept: int) -> Sequence[Placed]:
        """Return the entries of the turns that are to go, oldest first."""
        messages = [each.entry.to_message() for each in placed]
        turns = whole_turns(messages)
        cut, room = len(placed), kept
        for number, turn in enumerate(reversed(turns)):
            size = sum(self.count(message.to_text()) for message in messages[turn])
            if number and size > room:
                break
            room -= size
            cut = turn.start
        return placed[:cut]


def _refuse_bad(summary: str, before: int, after: int) -> None:
    if len(summary) < _LEAST_SENSE:
        raise BadSummary("is empty or too short to mean anything")
    if after >= before:
        raise BadSummary(f"has {after:,} tokens and stands for {before:,}")
