"""`carrel search`: find what was written and said, and say why it was found."""

from datetime import datetime
from typing import Any

import click

from carrel.cli import complete, output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.transcripts import visible
from carrel.index import MODES, TIERS, Filter, Found, Hit
from carrel.runtime.hits import found_to_json, reasons_of

_LONGEST = 600
_DAY = click.DateTime(formats=["%Y-%m-%d"])


def _day(_: click.Context, __: click.Parameter, given: datetime | None) -> str:
    return given.date().isoformat() if given else ""


@click.command()
@click.argument("query")
@click.option("--mode", type=click.Choice(MODES), default="hybrid", show_default=True, help="How to look.")
@click.option("--tier", "tiers", multiple=True, type=click.Choice(TIERS), help="Only this tier; repeatable.")
@click.option(
    "--in-agent",
    "agents",
    multiple=True,
    metavar="ID",
    shell_complete=complete.agents,
    help="Only of this agent; repeatable.",
)
@click.option("--section", "sections", multiple=True, metavar="HEADING", help="Only below this heading.")
@click.option("--tag", "tags", multiple=True, help="Only what has this tag.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    shell_complete=complete.files,
    help="Only this file, or below this folder.",
)
@click.option(
    "--session",
    "sessions",
    multiple=True,
    metavar="ID",
    shell_complete=complete.sessions,
    help="Only what was said there.",
)
@click.option("--since", type=_DAY, metavar="DAY", callback=_day, help="Only from this day on, YYYY-MM-DD.")
@click.option("--until", type=_DAY, metavar="DAY", callback=_day, help="Only up to this day.")
@click.option("--case", is_flag=True, help="literal, regex: capitals matter.")
@click.option("--lines", type=click.IntRange(0, 50), default=0, help="literal, regex: lines around a match.")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Most hits.")
@click.option("--explain", "explains", is_flag=True, help="Say of each hit why it is where it is.")
@shared_options
def search(
    shared: Shared,
    query: str,
    mode: Any,
    limit: int,
    lines: int,
    *,
    case: bool,
    explains: bool,
    **within: Any,
) -> None:
    r"""Search everything that the agent has: files, memory, journal, and what was said.

    Any text is a query, a whole message too: words and, where an embedder is set, meaning. With
    --mode literal it is looked for as typed, with --mode regex as a pattern (RE2).

    \b
    Examples:
      carrel search "Which phone does Ana use?"
      carrel search "deploy" --tier procedure --explain
      carrel search "TODO" --mode literal --case --lines 2
      carrel search "error [0-9]{4}" --mode regex --path notes
    """
    with waiting(shared, "Searching"), shared.open(team=True) as workspace:
        found = workspace.search(
            query,
            mode=mode,
            limit=limit,
            within=Filter(**within),
            scope=shared.scope,
            case=case,
            lines=lines,
            facets=shared.as_json,
        )
    if shared.as_json:
        output.document(found_to_json(found) | ({"why": reasons_of(found)} if explains else {}))
    else:
        _show(found, explains=explains)
    output.warnings(found.findings)


def _show(found: Found, *, explains: bool) -> None:
    """Print hits for people: where each is, and the words that were found."""
    reasons = reasons_of(found) if explains else [list[str]() for _ in found.hits]
    for rank, (hit, why) in enumerate(zip(found.hits, reasons, strict=True), 1):
        output.line(_place(rank, hit))
        for line in _marked(hit).split("\n"):
            output.line(f"   {line}")
        for reason in why:
            output.line(output.styled(f"   · {reason}", dim=True))
    if not found.hits:
        output.line("Nothing was found.", to_stderr=True)


def _place(rank: int, hit: Hit) -> str:
    chunk = hit.chunk
    where = output.styled(output.printable(f"{chunk.path}:{chunk.line}"), bold=True)
    about = (chunk.tier, " > ".join(chunk.headings), chunk.date, chunk.speaker)
    return "  ".join((f"{rank}.", where, *(output.styled(visible(each), dim=True) for each in about if each)))


def _marked(hit: Hit) -> str:
    """Return the text with its matches marked, and no more of it than a person reads."""
    text, done = hit.chunk.text, 0
    pieces: list[str] = []
    for start, end in hit.ranges:
        if end > _LONGEST:
            break
        pieces += [visible(text[done:start]), output.styled(visible(text[start:end]), bold=True, fg="yellow")]
        done = end
    rest = visible(text[done:_LONGEST]) + ("…" if len(text) > _LONGEST else "")
    return "".join((*pieces, rest))
