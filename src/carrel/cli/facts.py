"""`carrel memory add | facts | pin | extract`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import to_builtins

from carrel.app import Workspace
from carrel.cli import complete, output
from carrel.cli.notebooks import TextCommand, given_text
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import writes
from carrel.cli.transcripts import visible
from carrel.memory.fact import KINDS
from carrel.memory.keeping import Kept
from carrel.memory.rows import fact_row, kept_row, learnt_row
from carrel.records.facts import Fact

if TYPE_CHECKING:
    from carrel.conversing.learning import MemoryStatus

Places = Mapping[tuple[str, str], str]
"""What people know files of memory by."""

STATES = ("planned", "written", "waiting", "superseded", "refused", "undone", "forgotten")


@click.command(cls=TextCommand)
@click.argument("text", required=False)
@click.option(
    "--layer", type=click.Choice(("project", "experience")), default="project", show_default=True,
    help="Of this workspace, or travelling with the agent.",
)  # fmt: skip
@click.option("--kind", type=click.Choice(KINDS), default="note", show_default=True, help="What it is.")
@click.option("--subject", default="", metavar="NAME", help="Whom an entity, or what a procedure, is about.")
@click.option("--section", default="", metavar="HEADING", help="Below this heading; else Insights.")
@shared_options
@writes
def add(shared: Shared, text: str | None, **about: Any) -> None:
    r"""Remember TEXT, else standard input: a fact of the project, or one that travels with the agent.

    \b
    Examples:
      carrel memory add "All API calls go through src/lib/api.ts."
      carrel memory add "Prefers short replies." --layer experience
      carrel memory add "Chose JWT for authentication." --kind decision --section "Decisions Made"
      carrel memory add "Ana uses a Samsung." --kind entity --subject Ana
    """
    owner_only(shared)
    given = given_text(text)
    with waiting(shared, "Writing it down"), shared.open() as workspace:
        kept = workspace.memory.add(given, **about)
        places = _places(workspace, kept.written)
    if shared.as_json:
        output.document(to_builtins(kept_row(kept)))
    else:
        _show_kept(kept, places)


@click.command()
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only these; repeatable.")
@click.option("--session", metavar="ID", shell_complete=complete.sessions, help="Only what was learnt there.")
@click.option("--path", metavar="FILE", help="Only what stands in this file.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Most facts.")
@click.option("--after", default="", metavar="FACT", help="Only those after this one.")
@shared_options
def facts(shared: Shared, **within: Any) -> None:
    r"""List what was learnt: each fact with where it stands, what it came from, and how far it is trusted.

    \b
    Examples:
      carrel memory facts
      carrel memory facts --state superseded --state refused
      carrel memory facts --session s1 --json
    """
    owner_only(shared)
    with shared.open() as workspace:
        found = workspace.memory.facts(**within)
        places = _places(workspace, found)
        counts = workspace.records.facts.counts(workspace.agent.id)
    if shared.as_json:
        output.document({"facts": [to_builtins(fact_row(fact)) for fact in found], "counts": counts})
        return
    for fact in found:
        pin = " 📌" if fact.pinned else ""
        output.line(f"{output.styled(fact.id, dim=True)}  {visible(fact.text)}{pin}")
        output.line(output.styled(f"    {output.printable(_about(fact, places))}", dim=True))
    if len(found) == within["limit"]:
        output.line(f"There may be more: --after {found[-1].id}", to_stderr=True)
    elif not found and any(counts.values()):
        output.line("None of what was learnt is such a fact.", to_stderr=True)
    elif not found:
        output.line(
            "No facts yet: they are taken from conversations (at once by `carrel memory extract`), or added "
            "with `carrel memory add`.",
            to_stderr=True,
        )


@click.command()
@click.argument("fact")
@click.option("--off", is_flag=True, help="Let it be changed again.")
@shared_options
@writes
def pin(shared: Shared, fact: str, *, off: bool) -> None:
    r"""Keep a fact as it is: nobody but you replaces or removes it.

    \b
    Examples:
      carrel memory pin f3a91c0d2b7e4f10
      carrel memory pin f3a91c0d2b7e4f10 --off
    """
    owner_only(shared)
    with shared.open() as workspace:
        pinned = workspace.memory.pin(fact, pinned=not off)
    if shared.as_json:
        output.document(to_builtins(fact_row(pinned)))
    else:
        output.line(f"{'Pinned' if pinned.pinned else 'No longer pinned'}: {visible(pinned.text)}")


@click.command()
@click.option(
    "--session",
    metavar="ID",
    shell_complete=complete.sessions,
    help="Of this session; else of all that have something new.",
)
@click.option("--model", "model_name", metavar="PROVIDER:MODEL", help="Who reads; else as the settings say.")
@click.option("--anew", is_flag=True, help="From all that was said, not only from what is new.")
@shared_options
@writes
def extract(shared: Shared, session: str | None, model_name: str | None, *, anew: bool) -> None:
    r"""Take facts from what was said since the last time, now, however few turns there are.

    \b
    Examples:
      carrel memory extract
      carrel memory extract --session 2026-04-24-k3f9 --json
    """
    owner_only(shared)
    with waiting(shared, "Taking facts"), shared.open() as workspace:
        model = workspace.model(model_name) if model_name else None
        learnt = workspace.conversations.learning.extract(session, model, anew=anew)
        places = _places(workspace, learnt.kept.written)
    output.warnings(learnt.findings)
    if shared.as_json:
        output.document(to_builtins(learnt_row(learnt.kept, learnt.turns, learnt.findings)))
    else:
        _show_kept(learnt.kept, places)


@click.command()
@shared_options
def status(shared: Shared) -> None:
    r"""Say how memory is doing: what was learnt, what waits, and when facts are taken next.

    Where there are several agents and none is named, that of each of them.

    \b
    Examples:
      carrel memory status
      carrel memory status --json
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        agents = [agent.id for agent in workspace.config.settings.agents] or [None]
    rows = [_status_of(shared, agent) for agent in (agents if shared.agent is None else [shared.agent])]
    output.warnings(dict.fromkeys(finding for row in rows for finding in row.findings))
    if shared.as_json:
        told = [to_builtins(row) for row in rows]
        output.document(told[0] if len(told) == 1 else {"agents": told})
        return
    for now in rows:
        output.line(f"Memory of {now.agent} is {'on' if now.enabled else 'off'}.")
        facts = ", ".join(f"{n:,} {state}" for state, n in now.facts.items() if n)
        output.line(f"Facts: {facts or 'none yet'}")
        for each in now.sessions:
            if told := each.finding():
                output.line(f"{output.printable(each.session)}: {told.message}")
    queued = rows[0].jobs["waiting"] + rows[0].jobs["running"]
    output.line(f"Waiting for you: {rows[0].waiting:,}. In the queue: {queued:,}.")


def _status_of(shared: Shared, agent: str | None) -> "MemoryStatus":
    with Workspace.open(shared.root, agent=agent, lower=shared.lower) as workspace:
        return workspace.conversations.learning.status()


def _show_kept(kept: Kept, places: Places) -> None:
    """Say for people what became of facts."""
    for fact in kept.written:
        output.line(f"{output.printable(_place(fact, places))}: {visible(fact.text)}")
    for fact in kept.waiting:
        output.line(f"waits for you (`carrel memory review`): {visible(fact.text)}")
    for fact in kept.refused:
        output.line(f"refused ({fact.reason}): {visible(fact.text)}")
    if kept.known:
        output.line(f"{kept.known:,} known already.")
    if not (kept.written or kept.waiting or kept.refused or kept.known):
        output.line("Nothing new to remember.")


def _places(workspace: Workspace, facts: Sequence[Fact]) -> Places:
    """Return what people know the files of these facts by."""
    files = {(fact.store, fact.path): fact for fact in facts}
    return {file: workspace.memory.called(fact.store, fact.path) for file, fact in files.items()}


def _place(fact: Fact, places: Places) -> str:
    file = places[fact.store, fact.path]
    return f"{file} > {fact.section}" if fact.section else file


def _about(fact: Fact, places: Places) -> str:
    messages = f"message{'s' if len(fact.evidence) > 1 else ''} {', '.join(fact.evidence)}"
    source = f"session {fact.session}, {messages}" if fact.session else "told by you"
    return "  ".join((fact.state, fact.kind, _place(fact, places), f"{fact.trust}, {source}"))
