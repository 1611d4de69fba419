"""What a consolidation has to tell its owner: what is odd about memory, and what becomes of the entries."""

from carrel.files import show
from carrel.findings import Finding
from carrel.memory.consolidate.draft import Draft, Ground
from carrel.memory.consolidate.journals import Batch


def noticed(ground: Ground, batch: Batch) -> list[Finding]:
    """Return what is odd about memory as it is, and what of the journal does not enter it."""
    return [*_of_memory(ground, batch), *_of_entries(batch)]


def crowded(draft: Draft) -> list[Finding]:
    """Return what the budget has left no room for."""
    plan = draft.plan
    if plan.fallen:
        message = f"{len(plan.fallen):,} statements fall out of {show(plan.target)} and into the archive."
        return [Finding(code="memory_overflow", message=message, path=plan.archive, severity="info")]
    if draft.batch.pieces and not plan.region:
        message = f"{show(plan.target)} has no room for what is new; it stays in the journal."
        hint = "Shorten it, or raise consolidation.tokens."
        return [Finding(code="memory_full", message=message, path=plan.target, hint=hint)]
    return []


def damaged(path: str) -> Finding:
    """Say that the state could not be read."""
    message = f"{show(path)} cannot be read; every entry counts as new, and what is known is recognised."
    return Finding(code="consolidation_state_damaged", message=message, path=path, severity="info")


def overtaken(target: str) -> Finding:
    """Say that memory was changed while a run was on its way."""
    message = f"{show(target)} was changed at the same time; nothing was written, and the entries stay new."
    return Finding(code="consolidation_overtaken", message=message, path=target, hint="Run it again.")


def _of_memory(ground: Ground, batch: Batch) -> list[Finding]:
    text, target = ground.text, ground.target
    if text is None and ground.rebuilding and batch.taken:
        message = f"{show(target)} was lost; it is made anew from all journals."
        return [Finding(code="memory_rebuilt", message=message, path=target)]
    if text is not None and not text.strip() and ground.state.last_run is not None:
        message = f"{show(target)} is empty; only what is new is added."
        hint = "Delete it to have it made anew from all journals."
        return [Finding(code="memory_emptied", message=message, path=target, hint=hint)]
    return []


def _of_entries(batch: Batch) -> list[Finding]:
    found: list[Finding] = []
    if batch.days:
        message = f"{batch.taken:,} entries are taken at once; {batch.days:,} files may have more."
        hint = "Run it again for the next ones."
        found.append(Finding(code="entries_left", message=message, hint=hint, severity="info"))
    for path in batch.unread:
        message = f"{show(path)} cannot be read; its entries wait until it can."
        found.append(Finding(code="journal_unreadable", message=message, path=path))
    if batch.waiting:
        message = f"{len(batch.waiting):,} entries read like orders to the agent and wait for your word."
        hint = "carrel memory review shows them; the journal keeps them."
        found.append(Finding(code="entries_waiting", message=message, hint=hint))
    if batch.left:
        why = ", ".join(f"{count:,} {reason}" for reason, count in sorted(batch.left.items()))
        message, hint = f"Entries that do not enter memory: {why}.", "The journal keeps them."
        found.append(Finding(code="entries_left_out", message=message, hint=hint, severity="info"))
    return found
