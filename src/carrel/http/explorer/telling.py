"""A context in words: how full a window is, what became of a section, and what two contexts differ in."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from carrel.context.compare import Comparison, Difference
from carrel.context.forecast import COMPACT_PERCENT, FLUSH_PERCENT
from carrel.context.report import Change, Report, Row
from carrel.http.explorer.words import percent

_WHY: Mapping[str, str] = {
    "empty": "It has no text.",
    "tag": "None of its tags is among the agent's includeTags.",
    "exclude": "The agent's exclude list names it.",
    "ignored": "An ignore rule keeps it out.",
    "not_for_prompt": "The layout keeps this name out of the prompt.",
    "duplicate": "The same file stands here under an earlier name.",
    "no_room": "Not even a character of it fits beside the marker.",
    "total": "The total was used up before it.",
    "memory_off": "The agent's memory is switched off.",
}
_CAUSES: Mapping[str, str] = {
    "changed": "{} has another text now",
    "added": "{} is new",
    "removed": "{} is gone",
    "moved": "{} stands elsewhere",
    "scope": "somebody else is listening, from {} on",
}


class Headline(Struct, frozen=True):
    """How full a window is, in words, and how grave that is."""

    title: str
    text: str
    state: str


class Differences(Struct, frozen=True, kw_only=True):
    """What two contexts differ in: what only the first has, what only the second has, and what changed."""

    gone: tuple[Difference, ...]
    come: tuple[Difference, ...]
    changed: tuple[Difference, ...]
    same: int
    before: int
    after: int

    @property
    def any(self) -> bool:
        """Whether they differ at all."""
        return bool(self.gone or self.come or self.changed)


def headline(report: Report) -> Headline:
    """Say how full the window is, how exactly that is known, and how long it will last."""
    tokens = report.tokens
    about, how = (
        ("", "counted") if tokens.exact else ("about ", "estimated: the model's vocabulary is not public")
    )
    share = percent(tokens.used, tokens.window)
    named = f"nothing is known of {report.model}" if report.model else "nobody named a model"
    assumed = "" if tokens.known else f" That window is assumed, {named}."
    text = f"{about}{tokens.used:,} of {tokens.window:,} tokens, {how}; {tokens.free:,} are free.{assumed}"
    taken = max(tokens.used, report.forecast.tokens if report.forecast else 0)
    full = 100 * taken / max(tokens.window, 1)
    state = "bad" if full >= COMPACT_PERCENT else "warn" if full >= FLUSH_PERCENT else "good"
    return Headline(f"{share} of the window is taken", f"{text[0].upper()}{text[1:]} {_ahead(report)}", state)


def _ahead(report: Report) -> str:
    """Say how many turns are left until history is compacted."""
    if report.forecast is None:
        return "Without a session there is no history yet, and nothing to compact."
    told, turns = "", report.forecast.turns_to_compact
    if report.forecast.tokens > report.tokens.used:
        told = f"With tools the call takes {report.forecast.tokens:,}. "
    if turns is None:
        return f"{told}Nobody has said anything yet by which to tell how many turns are left."
    if not turns:
        return f"{told}History is compacted at the next turn."
    left = "One turn is" if turns == 1 else f"{turns:,} turns like the last are"
    return f"{told}{left} left until history is compacted."


def why(row: Row, unit: str) -> str:
    """Say in a sentence why a section is as it is; one that is simply there needs none."""
    if row.state == "truncated":
        what = "its own limit" if row.reason == "limit" else "what the total left"
        return f"Cut at {what}: {row.size:,} of {row.limit or 0:,} {unit} allowed."
    if row.state == "missing":
        return "There is no such file."
    if row.state == "unreadable":
        return f"It cannot be read: {row.reason}." if row.reason else "It cannot be read."
    return _WHY.get(row.reason or "", row.reason or "")


def broke(change: Change) -> str:
    """Say what broke the prefix."""
    return _CAUSES[change.cause].format(change.section or "the beginning")


def differences(compared: Comparison) -> Differences:
    """Sort what two contexts differ in by how."""
    by = {
        kind: tuple(d for d in compared.sections if d.change == kind)
        for kind in ("removed", "added", "changed")
    }
    return Differences(
        gone=by["removed"],
        come=by["added"],
        changed=by["changed"],
        same=sum(d.change == "same" for d in compared.sections),
        before=sum(d.before.tokens for d in compared.sections if d.before),
        after=sum(d.after.tokens for d in compared.sections if d.after),
    )


def fallout(found: Differences) -> str:
    """Say in a sentence what other limits would do."""
    told = [*_counted(len(found.gone), "falls out", "fall out")]
    told += _counted(sum(_is_cut(each) for each in found.changed), "is cut", "are cut")
    told += _counted(sum(not _is_cut(each) for each in found.changed), "is sent in full", "are sent in full")
    told += _counted(len(found.come), "comes in", "come in")
    change = found.after - found.before
    sized = f"{abs(change):,} tokens {'more' if change > 0 else 'less'}" if change else "as many tokens"
    return f"{', '.join(told)}: {sized} than with the limits in force." if told else "Nothing would change."


def _is_cut(each: Difference) -> bool:
    return each.after is not None and each.after.state == "truncated"


def _counted(count: int, one: str, many: str) -> Iterator[str]:
    if count:
        yield f"{count:,} {one if count == 1 else many}"
