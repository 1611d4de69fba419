"""The calls of one agent in one session: prepared so that each fits its window, whatever was said before."""

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.assemble import Assembler
from carrel.context.budget import Budget
from carrel.context.inputs import Inputs
from carrel.findings import Finding
from carrel.records import Records
from carrel.records.database import DatabaseUnavailable, NewerFormat
from carrel.runtime.callbacks import CompactionBegins
from carrel.runtime.compact import Attempt, Compactor, is_all_of
from carrel.runtime.history import history_of
from carrel.runtime.prepare import keep, prepare, preview, records_unavailable
from carrel.runtime.room import Fitted, Shortened, Steps, fit_call, refuse_over
from carrel.sessions.message import Message


class Caller(Struct, frozen=True, kw_only=True):
    """Prepares calls; `inputs` gives those for a message, history included."""

    assembler: Assembler
    records: Callable[[], Records]
    compactor: Compactor
    session: str
    inputs: Callable[[str | None], Inputs]
    model: str | None = None
    """Who will answer, where that is not the model of the settings."""

    def prepare(
        self,
        message: str | None,
        *,
        beside: int | None = None,
        room: int | None = None,
        budget: Budget | None = None,
        reload: bool = False,
    ) -> Fitted:
        """Return the context of a call that will be made; history that is too long is compacted by rules."""
        inputs = self._inputs(message, beside)
        steps = self._steps(inputs, message)
        return prepare(
            self.assembler, self.records(), inputs, budget=budget, reload=reload, steps=steps, room=room
        )

    def go_on(self, message: str, *, beside: int | None = None, room: int | None = None) -> Fitted:
        """Prepare a call, without what the records would say where they cannot be used.

        What was said is in the log by then: a conversation must not end for want of the rest.
        """
        try:
            return self.prepare(message, beside=beside, room=room)
        except (DatabaseUnavailable, NewerFormat) as error:
            inputs = self._inputs(message, beside)
            fitted = preview(self.assembler, None, inputs, steps=self._steps(inputs, message), room=room)
            refuse_over(fitted.assembly, inputs.beside)
            return replace(fitted, assembly=fitted.assembly.with_warnings([records_unavailable(error)]))

    def look(self, message: str, *, beside: int | None = None) -> Fitted | None:
        """Return what a call would be with all of its history, none where that cannot be told."""
        inputs = self._inputs(message, beside)
        with suppress(DatabaseUnavailable, NewerFormat):
            return preview(self.assembler, self.records(), inputs, steps=Steps(drop=False))
        return None

    def keep(self, looked: Fitted) -> Fitted:
        """Remember a call as it was looked at, since it will be made like that, if it can be remembered."""
        try:
            return keep(self.assembler, self.records(), looked)
        except (DatabaseUnavailable, NewerFormat) as error:
            return replace(looked, assembly=looked.assembly.with_warnings([records_unavailable(error)]))

    def refit(self, fitted: Fitted, room: int) -> Fitted:
        """Return the same call in less room, for a further round of its turn: nothing is compacted now."""
        before = fitted.assembly
        steps = Steps(lose=lambda dropped: self._lose(fitted.inputs, dropped))
        again = fit_call(
            lambda inputs, budget: self.assembler.assemble(
                inputs, budget=budget, frozen={name: built.to_json() for name, built in before.frozen.items()}
            ),
            fitted.inputs,
            None,
            self.assembler.ground.counts.count,
            steps=steps,
            room=room,
        )
        return replace(again, assembly=again.assembly.with_warnings(before.report.warnings))

    def _inputs(self, message: str | None, beside: int | None) -> Inputs:
        inputs = replace(self.inputs(message), model=self.model)
        return inputs if beside is None else replace(inputs, beside=beside)

    def _steps(self, inputs: Inputs, message: str | None) -> Steps:
        return Steps(
            shorten=lambda kept: self._shorten(inputs, message, kept),
            lose=lambda dropped: self._lose(inputs, dropped),
        )

    def _shorten(self, inputs: Inputs, message: str | None, kept: int) -> Shortened:
        sessions = self.compactor.sessions
        if not is_all_of(sessions, self.session, inputs.scope):
            return Shortened()  # who heard only a part must not make a summary of the whole
        attempt = self.compactor.attempt(self.session, kept=kept)
        if attempt.compacted is None:
            return Shortened(findings=attempt.findings)
        history, summarised = history_of(sessions, self.session, scope=inputs.scope, message=message)
        return Shortened(history=history, summarised=summarised, findings=told_of(attempt))

    def _lose(self, inputs: Inputs, dropped: tuple[Message, ...]) -> None:
        """Let what will not be sent be saved first; a failure keeps the call from being made."""
        agent = self.assembler.ground.agent.id
        self.compactor.callbacks.before_compaction(
            CompactionBegins(agent=agent, session=self.session, scope=inputs.scope, messages=dropped)
        )


def told_of(attempt: Attempt) -> tuple[Finding, ...]:
    """Say what became of a history; where somebody else was quicker, that alone."""
    done = attempt.compacted
    if done is None or any(finding.code == "compaction_overtaken" for finding in attempt.findings):
        return attempt.findings
    message = (
        f"{done.entries:,} older messages became a summary: {done.tokens_before:,} tokens are "
        f"{done.tokens_after:,} now ({done.method}). The log has every word."
    )
    return (Finding(code="history_compacted", message=message, severity="info"), *attempt.findings)
