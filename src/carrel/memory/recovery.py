"""What a kill left half done: found out from the file, and said in the records."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from carrel.errors import Unavailable
from carrel.files import FileStore, show
from carrel.findings import Finding
from carrel.records.changes import Change, Changes, ChangeState, UnknownChange
from carrel.records.facts import Store

PATIENCE = timedelta(seconds=10)
"""How long somebody may be between beginning a change and saying what became of it."""


def settle_unfinished(
    changes: Changes,
    stores: Mapping[Store, FileStore],
    settle: Callable[[Change], object],
    now: datetime,
) -> Iterator[Finding]:
    """Settle every change that was begun and whose writer did not live to say what became of it.

    What nobody can tell of yet, because its file cannot be read or its writer may still be at it, is left for
    the next time.
    """
    begun: defaultdict[tuple[Store, str], list[Change]] = defaultdict(list)
    for change in _all(changes, state="begun"):
        begun[change.store, change.path].append(change)
    for (store, path), mine in begun.items():
        with suppress(Unavailable):
            content = stores[store].read(path)
            others = [*_all(changes, store=store, path=path, since=mine[-1].id)]
            for change in mine:
                is_made = was_made(change, others, content.digest if content else None)
                if is_made is None and now - change.at < PATIENCE:
                    continue
                # Another process may be at it too, and be faster.
                with suppress(UnknownChange):
                    settle(change) if is_made is not False else changes.settle(change.id, None)
                if is_made is None:
                    yield _unclear(change)


def was_made(change: Change, others: Sequence[Change], found: str | None) -> bool | None:
    """Tell whether a change was made, from the file's digest and the changes since; none: nobody can tell.

    What stood there before was replaced once: of several changes that began with it, one at most was made.
    """
    rivals = [other for other in others if other.before == change.before and other.id != change.id]
    twins = [rival.id for rival in rivals if rival.after == change.after]
    if any(rival.state != "begun" for rival in rivals):
        return False
    if _is_proven(change, others, found):
        return all(change.id < twin for twin in twins)
    if change.before == found or any(_is_proven(rival, others, found) for rival in rivals):
        return False
    return None


def _is_proven(change: Change, others: Sequence[Change], found: str | None) -> bool:
    """Tell whether what a change was to write is there, or was there for another to begin with."""
    return change.after == found or any(o.before == change.after and o.id != change.id for o in others)


def _all(
    changes: Changes,
    *,
    store: Store | None = None,
    path: str | None = None,
    state: ChangeState | None = None,
    since: int = 0,
) -> Iterator[Change]:
    """Yield changes, the newest first, down to one of them."""
    before: int | None = None
    while page := changes.list(store=store, path=path, state=state, before=before):
        for change in page:
            if change.id < since:
                return
            yield change
        before = page[-1].id


def _unclear(change: Change) -> Finding:
    return Finding(
        code="unfinished_change",
        message=f"Change {change.id} of {show(change.path)} was cut short and the file has changed since; "
        "it counts as done.",
        path=change.path,
        hint=f"carrel memory diff {change.id} shows what it was to do.",
    )
