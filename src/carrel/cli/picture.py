"""Pictures of a context: one line, a bar in the order of the prompt, and a table."""

from collections.abc import Iterator

from carrel.cli.output import printable, styled
from carrel.context.compare import Comparison
from carrel.context.report import Report, Row, leading

_COLOURS = {
    "document": "blue", "knowledge": "cyan", "skills": "magenta", "prompt": "yellow", "notebook": "green",
    "layer": "green", "journal": "bright_green", "history": "white", "query": "bright_white",
    "recall": "bright_yellow", "session": "bright_black",
}  # fmt: skip
_STATES = {
    "truncated": "yellow",
    "excluded": "yellow",
    "unreadable": "red",
    "blocked": "red",
    "missing": "bright_black",
}


def headline(report: Report) -> str:
    """Return the use of the window in one line."""
    tokens = report.tokens
    share = f"{percent(tokens.used, tokens.window)} of {tokens.window:,} tokens used"
    sign = "" if tokens.exact else " (estimated)"
    place = f"{report.layout} · agent {report.agent} · {report.scope} scope"
    turns = report.forecast.turns_to_compact if report.forecast else None
    ahead = "" if turns is None else f" · {turns_left(turns)}"
    return f"{share}{sign} · {tokens.free:,} left{ahead} · {place}"


def oneline(report: Report) -> str:
    """Return what fits a status bar."""
    tokens = report.tokens
    cut = sum(row.state == "truncated" for row in report.sections)
    out = sum(row.state == "excluded" and row.reason in ("total", "no_room") for row in report.sections)
    told = ((cut, "cut"), (out, "left out"), (report.hidden, "hidden"))
    notes = [f"{count} {what}" for count, what in told if count]
    return " · ".join([f"{percent(tokens.used, tokens.window)} used", f"{tokens.free:,} left", *notes])


def turn_line(window: int, used: int, cached: int, recalled: int) -> str:
    """Return what one turn cost: how full the window is, and how much of that the call before had too."""
    share = f"context {percent(used, window)} of {window:,}"
    return f"{share} · cached {percent(cached, used)} · recalled {recalled:,}"


def turns_left(turns: int) -> str:
    """Say how many turns are left before history is compacted."""
    if not turns:
        return "compacted at the next turn"
    return "1 turn until compaction" if turns == 1 else f"{turns:,} turns until compaction"


def bar(report: Report, width: int) -> list[str]:
    """Return the bar of what is sent, to scale and in order, and below it the extent of the cached prefix."""
    sent = [row for row in report.sections if row.tokens]
    used = report.tokens.used
    if not used:
        return []
    prefix = len(leading(report.sections))
    cells: list[str] = []
    drawn = position = prefix_cells = 0
    for number, row in enumerate(sent):
        position += row.tokens
        end = max(round(position * width / used), drawn)
        cells.append(styled(("█", "▓")[number % 2] * (end - drawn), fg=_COLOURS.get(row.kind)))
        drawn = end
        if number < prefix:
            prefix_cells = drawn
    label = f" cached prefix, {report.prefix.tokens:,} tokens "
    line = f"╰{label.center(prefix_cells - 2, '─')}╯" if prefix_cells > len(label) + 2 else f"╰{label}"
    return ["".join(cells), styled(line, dim=True)]


def table(report: Report) -> Iterator[str]:
    """Yield a line per section: what it costs, what became of it, and why."""
    there = [row for row in report.sections if row.state != "missing"]
    width = min(max([len(row.name) for row in there] + [7]), 48)
    yield styled(f"{'tokens':>9}  {'share':>5}  {'section':{width}}  state", bold=True)
    for row in there:
        yield _table_line(row, report, width)
    absent = [printable(row.name) for row in report.sections if row.state == "missing"]
    if absent:
        yield styled(f"{'-':>9}  {'':5}  not there: {', '.join(absent)}", dim=True)
    if report.hidden:
        yield f"{'':9}  {'':5}  {report.hidden} more for the owner only (main scope)"


def _table_line(row: Row, report: Report, width: int) -> str:
    name = printable(row.name)
    name = name if len(name) <= width else f"{name[: width - 1]}…"
    tokens = f"{row.tokens:,}" if row.tokens else "-"
    share = percent(row.tokens, report.tokens.used) if row.tokens else ""
    state = styled(row.state, fg=_STATES.get(row.state))
    return f"{tokens:>9}  {share:>5}  {name:{width}}  {state}{_why(row, report.unit)}"


def _why(row: Row, unit: str = "tokens") -> str:
    if row.state == "truncated":
        shown = f"{row.size:,} of {row.limit or 0:,} {unit} allowed"
        return f": {row.reason}, {shown}; the whole has {row.raw_tokens:,} tokens"
    return f": {row.reason}" if row.reason else ""


def percent(part: int, whole: int) -> str:
    """Return a share, with a decimal where it is small."""
    share = 100 * part / whole if whole else 0.0
    return f"{share:.1f} %" if 0 < share < 10 else f"{share:.0f} %"  # noqa: PLR2004 - two digits are enough


_SIGNS = {"same": " ", "changed": "~", "added": "+", "removed": "-"}
_SIGN_COLOURS = {"changed": "yellow", "added": "green", "removed": "red"}


def comparison(compared: Comparison) -> Iterator[str]:
    """Yield a line per section that differs, with its tokens on both sides."""
    used = compared.to_json()["tokens"]
    yield f"{compared.before} → {compared.after}: {used['before']:,} → {used['after']:,} tokens"
    differing = [d for d in compared.sections if d.change != "same"]
    for difference in differing:
        sign = styled(_SIGNS[difference.change], fg=_SIGN_COLOURS.get(difference.change))
        sides = [_side(difference.before), _side(difference.after)]
        yield f"  {sign} {printable(difference.name)}: {sides[0]} → {sides[1]}"
    if not differing:
        yield "  Nothing differs."
    if compared.changed_by:
        where, cause = compared.changed_by.section, compared.changed_by.cause
        yield f"The cached prefix broke at {printable(where)}: {cause}."


def _side(row: Row | None) -> str:
    if row is None:
        return "not there"
    return f"{row.tokens:,} tokens" if row.sha256 else f"{row.state}{_why(row)}"
