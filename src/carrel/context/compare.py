"""Comparing assemblies: what each section was before and is after."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins

from carrel.context.report import Change, Report, Row, leading
from carrel.errors import NotFound
from carrel.records.content import shaped

HISTORY = "history"
ChangeKind = Literal["same", "changed", "added", "removed"]


class NothingToCompare(NotFound):
    """The session has made no call yet."""

    code = "nothing_to_compare"

    def __init__(self, session: str) -> None:
        super().__init__(
            f"The session {session} has not made a call yet.",
            hint="`carrel context show --prepare --session ID` makes one.",
        )


class Remembered(Struct, frozen=True, kw_only=True):
    """What a session keeps of its last call, to compare the next one with."""

    scope: str
    rows: tuple[Row, ...]


class _Kept(Struct, frozen=True, kw_only=True):
    """The same as plain data, in which a message of history is a few figures."""

    scope: str
    rows: tuple[Row, ...]
    history: tuple[tuple[str | None, int, int, int], ...] = ()
    place: int = 0


class Difference(Struct, frozen=True, kw_only=True):
    """One section on both sides; none where it is not on that side."""

    name: str
    change: ChangeKind
    before: Row | None
    after: Row | None


class Comparison(Struct, frozen=True, kw_only=True):
    """Two assemblies side by side, in the order of the second."""

    before: str
    after: str
    sections: tuple[Difference, ...]
    changed_by: Change | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the comparison of the machine-readable contract."""
        used = {
            "before": sum(d.before.tokens for d in self.sections if d.before),
            "after": sum(d.after.tokens for d in self.sections if d.after),
        }
        return {"schema_version": 1, "tokens": used, **to_builtins(self)}


def remember(rows: Sequence[Row], scope: str) -> dict[str, Any]:
    """Return what the next call needs to know of this one, as plain data.

    A history may have hundreds of messages, and is written again with every call: of each only what tells it
    from another.
    """
    history = [(row.sha256, row.raw_tokens, row.tokens, row.size) for row in rows if row.kind == HISTORY]
    place = next((n for n, row in enumerate(rows) if row.kind == HISTORY), 0)
    others = [to_builtins(row) for row in rows if row.kind != HISTORY]
    return {"scope": scope, "rows": others, "history": history, "place": place}


def recollect(data: Mapping[str, Any]) -> Remembered:
    """Take back what was remembered."""
    kept = shaped(data, _Kept)
    history = (_history_row(n, *each) for n, each in enumerate(kept.history, 1))
    return Remembered(scope=kept.scope, rows=(*kept.rows[: kept.place], *history, *kept.rows[kept.place :]))


def _history_row(number: int, sha256: str | None, raw_tokens: int, tokens: int, size: int) -> Row:
    return Row(
        name=f"history {number}",
        kind=HISTORY,
        raw_tokens=raw_tokens,
        tokens=tokens,
        size=size,
        limit=None,
        state="included",
        reason=None,
        stable=True,
        sha256=sha256,
    )


def compare(before: Sequence[Row], after: Sequence[Row]) -> tuple[Difference, ...]:
    """Return every section of both sides once: those of the second in order, then those that are gone."""
    old = {row.name: row for row in before}
    new = {row.name: row for row in after}
    met = [_difference(name, old.get(name), row) for name, row in new.items()]
    gone = [_difference(name, row, None) for name, row in old.items() if name not in new]
    return (*met, *gone)


def between_scopes(main: Report, shared: Report) -> Comparison:
    """Compare what the owner's call and anyone else's hold."""
    seen = {row.name for row in shared.sections}
    hidden = [row.out("hidden") for row in main.sections if row.sha256 and row.name not in seen]
    sections = compare(main.sections, (*shared.sections, *hidden))
    return Comparison(before="main", after="shared", sections=sections)


def between_budgets(now: Report, then: Report) -> Comparison:
    """Compare a call under the limits in force with one under another budget."""
    sections = compare(now.sections, then.sections)
    return Comparison(before="limits in force", after="given budget", sections=sections)


def since(last: Remembered, now: Report) -> Comparison:
    """Compare a session's last call with one that would be made now."""
    return Comparison(
        before="last call",
        after="now",
        sections=compare(last.rows, now.sections),
        changed_by=now.prefix.changed_by,
    )


def what_broke(before: Remembered, rows: Sequence[Row], scope: str) -> Change | None:
    """Say what broke the prefix since a remembered call; a prefix that only grew is not broken."""
    old = [(row.name, row.sha256) for row in leading(before.rows)]
    new = [(row.name, row.sha256) for row in leading(rows)]
    same = next((n for n, (was, now) in enumerate(zip(old, new, strict=False)) if was != now), len(new))
    if same >= len(old) or old == new:
        return None
    if before.scope != scope:  # what the other scope saw there is not named
        return Change(section=new[min(same, len(new) - 1)][0] if new else "", cause="scope")
    if same == len(new):
        return Change(section=old[same][0], cause="removed")
    return _cause(old[same][0], new[same][0], [name for name, _ in old], [name for name, _ in new])


def _difference(name: str, old: Row | None, new: Row | None) -> Difference:
    was_read, is_read = bool(old and old.sha256), bool(new and new.sha256)
    change: ChangeKind = "same"
    if is_read and not was_read:
        change = "added"
    elif was_read and not is_read:
        change = "removed"
    elif old and new and (old.sha256, old.state, old.reason) != (new.sha256, new.state, new.reason):
        change = "changed"
    return Difference(name=name, change=change, before=old, after=new)


def _cause(was: str, now: str, old: Sequence[str], new: Sequence[str]) -> Change:
    if was == now:
        return Change(section=now, cause="changed")
    if now not in old:
        return Change(section=now, cause="added")
    if was not in new:
        return Change(section=was, cause="removed")
    return Change(section=now, cause="moved")
