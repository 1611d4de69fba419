"""What forgetting came to, as every surface shows it."""

from msgspec import Struct

from carrel.findings import Finding
from carrel.memory.forget.report import Copy, Forgotten, Removed
from carrel.memory.rows import FactRow, fact_row


class ForgottenRow(Struct, frozen=True, kw_only=True):
    """What was forgotten; of a dry run, what would be. `remaining` tells where copies are."""

    dry_run: bool
    facts: tuple[FactRow, ...]
    removed: tuple[Removed, ...]
    proposals: int
    recalls: int
    calls: int
    purged: tuple[Copy, ...]
    remaining: tuple[Copy, ...]
    finished: int
    findings: tuple[Finding, ...]


def forgotten_row(done: Forgotten) -> ForgottenRow:
    """Return what forgetting came to as every surface shows it."""
    return ForgottenRow(
        dry_run=done.dry_run,
        facts=tuple(map(fact_row, done.facts)),
        removed=done.removed,
        proposals=done.proposals,
        recalls=done.recalls,
        calls=done.calls,
        purged=done.purged,
        remaining=done.remaining,
        finished=done.finished,
        findings=done.findings,
    )
