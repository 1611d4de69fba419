"""Before a model call: assemble, freeze what the session keeps, and remember what is sent."""

from carrel.context.assemble import Assembler, Assembly
from carrel.context.budget import Budget
from carrel.context.inputs import Inputs
from carrel.records import Records


def preview(
    assembler: Assembler, records: Records | None, inputs: Inputs, *, budget: Budget | None = None
) -> Assembly:
    """Return what `prepare` would send, and record nothing."""
    if records is None or inputs.session is None:
        return assembler.assemble(inputs, budget=budget)
    agent = assembler.ground.agent.id
    return assembler.assemble(
        inputs,
        budget=budget,
        frozen=records.frozen(agent, inputs.session, inputs.scope),
        before=records.last_assembly(agent, inputs.session),
    )


def prepare(
    assembler: Assembler,
    records: Records,
    inputs: Inputs,
    *,
    budget: Budget | None = None,
    reload: bool = False,
) -> Assembly:
    """Return the context of a call; from now on the session's frozen parts and this call are remembered.

    `reload` ends an earlier freeze, so that the files are read again.
    """
    if reload and inputs.session is not None:
        records.thaw(assembler.ground.agent.id, inputs.session)
    assembly = preview(assembler, records, inputs, budget=budget)
    if inputs.session is not None:
        records.keep_assembly(
            assembler.ground.agent.id,
            inputs.session,
            inputs.scope,
            assembly=assembly.remember(),
            frozen={number: built.to_json() for number, built in assembly.frozen.items()},
        )
    return assembly
