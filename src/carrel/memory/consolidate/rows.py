"""What a consolidation came to, as every surface shows it."""

from collections.abc import Mapping

from msgspec import Struct

from carrel.findings import Finding
from carrel.memory.consolidate.consolidator import Consolidated, Reason
from carrel.memory.consolidate.journals import Left


class ConsolidatedRow(Struct, frozen=True, kw_only=True):
    """What a run took from the journal, and what that changed; a dry one has written nothing."""

    dry_run: bool
    reason: Reason
    target: str | None = None
    entries: int = 0
    left_out: Mapping[Left, int] = {}
    waiting: int = 0
    files_left: int = 0
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    diff: str = ""
    archived: tuple[str, ...] = ()
    rebuilt: bool = False
    finished: bool = False
    findings: tuple[Finding, ...] = ()


def consolidated_row(done: Consolidated) -> ConsolidatedRow:
    """Return what a consolidation came to as every surface shows it."""
    draft = done.draft
    return ConsolidatedRow(
        dry_run=done.dry_run,
        reason=done.reason,
        target=draft.plan.target if draft else None,
        entries=draft.batch.taken if draft else 0,
        left_out=dict(draft.left) if draft else {},
        waiting=len(draft.batch.waiting) if draft else 0,
        files_left=draft.batch.days if draft else 0,
        added=tuple(draft.added) if draft else (),
        removed=tuple(draft.removed) if draft else (),
        diff=draft.diff() if draft else "",
        archived=done.archived,
        rebuilt=done.rebuilt,
        finished=done.finished,
        findings=done.findings,
    )
