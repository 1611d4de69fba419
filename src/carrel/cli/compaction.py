"""`carrel sessions compact | forecast`: how full a session's window is, and how it is made shorter."""

import asyncio

import click
from msgspec import to_builtins

from carrel.app import Workspace
from carrel.cli import complete, output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import foretells
from carrel.context.forecast import COMPACT_PERCENT, FLUSH_PERCENT, Forecast
from carrel.context.forecast import forecast as foretell
from carrel.files import show as shown
from carrel.sessions.places import valid_session
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope


@click.command()
@click.argument("session", shell_complete=complete.sessions)
@click.option("--dry-run", is_flag=True, help="Say what would be done by rules, and do nothing.")
@click.option("--model", "model_name", metavar="PROVIDER:MODEL", help="Who summarises; else rules do.")
@shared_options
@foretells
def compact(shared: Shared, session: str, model_name: str | None, *, dry_run: bool) -> None:
    r"""Let a summary stand for all but the last turns of a session; its log keeps every word.

    The summary of a model that fails, or loses names and requests, is not taken: rules pick one out then.

    \b
    Examples:
      carrel sessions compact s1 --dry-run
      carrel sessions compact s1 --model openai:gpt-5-mini
      carrel sessions compact s1
      carrel sessions compact s1 --json
    """
    with waiting(shared, "Summarising"), _owners(shared, session) as workspace:
        workspace.sessions.row(session)
        if dry_run:
            done = workspace.conversations.preview(session)
        elif model_name is not None:
            done = asyncio.run(workspace.summarise(session, workspace.model(model_name)))
        else:
            done = workspace.compact(session)
    if shared.as_json:
        output.document({"session": session, "dry_run": dry_run, **to_builtins(done)})
        return
    verb = "would be" if dry_run else ("is" if done.entries == 1 else "are")
    count = "1 message" if done.entries == 1 else f"{done.entries:,} messages"
    tokens = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
    output.line(f"{count} {verb} a summary from now on: {tokens}. The log keeps them all.")
    if dry_run:
        output.write("\n" + "".join(f"  {output.printable(line)}\n" for line in done.summary.split("\n")))
    output.warnings(done.findings)


@click.command()
@click.argument("session", shell_complete=complete.sessions)
@shared_options
def forecast(shared: Shared, session: str) -> None:
    r"""Say how full the window is, and in how many turns history will be saved and compacted.

    It goes by the size of the last few turns; null, with --json, where there is none.

    \b
    Examples:
      carrel sessions forecast s1
      carrel sessions forecast s1 --json
    """
    with _owners(shared, session) as workspace:
        workspace.sessions.row(session)
        report = workspace.assemble(session).report
    tokens = report.tokens
    told = report.forecast or foretell(tokens.used, tokens.window, ())
    if shared.as_json:
        output.document({"session": session, **to_builtins(told)})
        return
    about = "" if tokens.exact else "about "
    output.line(f"{told.percent:g} % used: {about}{told.tokens:,} of {tokens.window:,} tokens")
    for line in _lines(told):
        output.line(line)


def _lines(told: Forecast) -> tuple[str, str]:
    return (
        f"saved at {FLUSH_PERCENT} %: {_turns(told.turns_to_flush)}",
        f"compacted at {COMPACT_PERCENT} %: {_turns(told.turns_to_compact)}",
    )


def _turns(count: int | None) -> str:
    if count is None:
        return "not known before the first turn"
    if not count:
        return "now"
    return "in 1 turn" if count == 1 else f"in {count:,} turns"


def _owners(shared: Shared, session: str) -> Workspace:
    """Open the workspace for its owner; what was said in sessions is nobody else's."""
    valid_session(session)
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope(f"session {shown(session)}")
    return shared.open()
