"""Before a model call: assemble what fits, freeze what the session keeps, and remember what is sent."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.context.assemble import Assembler, Assembly
from carrel.context.budget import Budget
from carrel.context.inputs import Inputs
from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.records import Payload, Records
from carrel.records.content import RecordDamaged
from carrel.runtime.room import Fitted, Steps, fit_call, refuse_over, room_in
from carrel.settings import BudgetSettings
from carrel.workspace.layout import Layout

if TYPE_CHECKING:
    from carrel.records.recalls import RecallEvent


def recalls(layout: Layout, budgets: BudgetSettings) -> bool:
    """Tell whether a call is to hold what is found for its message."""
    has_place = any(part.kind == "recall" for spec in layout.messages for part in spec.parts)
    return has_place and budgets.recall_tokens > 0 and budgets.recall_hits > 0


def preview(
    assembler: Assembler,
    records: Records | None,
    inputs: Inputs,
    *,
    budget: Budget | None = None,
    steps: Steps | None = None,
    room: int | None = None,
) -> Fitted:
    """Return what `prepare` would send, and record nothing; history is compacted only by `steps`."""

    def fit(frozen: Payload | None = None, before: Payload | None = None) -> Fitted:
        def assemble(inputs: Inputs, budget: Budget | None) -> Assembly:
            return assembler.assemble(inputs, budget=budget, frozen=frozen, before=before)

        return fit_call(assemble, inputs, budget, assembler.ground.counts.count, steps=steps, room=room)

    if records is None or inputs.session is None:
        return fit()
    try:
        return fit(*records.kept(assembler.ground.agent.id, inputs.session, inputs.scope))
    except RecordDamaged as error:  # it costs a session what it kept, and not the call
        fitted = fit()
        return replace(fitted, assembly=fitted.assembly.with_warnings([records_unavailable(error)]))


def at_hand(assembler: Assembler, inputs: Inputs, *, budget: Budget | None = None) -> Assembly | None:
    """Return what `preview` would without records, where that is kept and fits as it is; reads no file."""
    kept = assembler.at_hand(inputs, budget=budget)
    if kept is None or kept.report.tokens.used > room_in(kept.report.tokens.window, inputs.beside):
        return None
    return kept


def records_unavailable(error: CarrelError) -> Finding:
    """Say that a call goes on without the records: nothing is frozen, and what is sent is not remembered."""
    return Finding(
        code="records_unavailable",
        message=f"What a session keeps is neither read nor written: {error.message}",
        severity="error",
        hint=error.hint,
    )


def prepare(
    assembler: Assembler,
    records: Records,
    inputs: Inputs,
    *,
    budget: Budget | None = None,
    reload: bool = False,
    steps: Steps | None = None,
    room: int | None = None,
) -> Fitted:
    """Return the context of a call; from now on the session's frozen parts and this call are remembered.

    `reload` ends an earlier freeze, so that the files are read again. What cannot fit is OverWindow.
    """
    if reload and inputs.session is not None:
        records.thaw(assembler.ground.agent.id, inputs.session)
    return keep(
        assembler, records, preview(assembler, records, inputs, budget=budget, steps=steps, room=room)
    )


def keep(assembler: Assembler, records: Records, fitted: Fitted) -> Fitted:
    """Remember a call that will be made as it is, and return it; one that cannot fit is OverWindow."""
    assembly, inputs = fitted.assembly, fitted.inputs
    refuse_over(assembly, inputs.beside)
    if inputs.session is not None:
        agent, session = assembler.ground.agent.id, inputs.session
        frozen = {number: built.to_json() for number, built in assembly.frozen.items()}
        with records.transaction():
            if inputs.recall:
                records.recalls.add(_events(agent, session, inputs))
            records.keep_assembly(agent, session, inputs.scope, assembly=assembly.remember(), frozen=frozen)
    return fitted


def _events(agent: str, session: str, inputs: Inputs) -> Iterator["RecallEvent"]:
    """Yield what the model is reminded of: promotion goes by it."""
    from carrel.records.recalls import RecallEvent  # noqa: PLC0415 - most calls recall nothing

    for rank, hit in enumerate(inputs.recall, 1):
        yield RecallEvent(
            agent=agent,
            session=session,
            at=inputs.now,
            query=inputs.query or "",
            path=hit.path,
            line=hit.line,
            tier=hit.tier,
            rank=rank,
            score=hit.score,
            text=hit.text,
            who="prepare",
        )
