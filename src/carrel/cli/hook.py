"""`carrel hook`: a coding agent's hook, answered from the workspace."""

import click

from carrel.adapters.harness import wire
from carrel.cli.options import Shared, shared_options
from carrel.cli.quick import run_hook


@click.command()
@click.argument("event", metavar="|".join(wire.EVENTS))
@click.option("--harness", metavar="|".join(wire.HARNESSES), required=True, help="Who calls.")
@shared_options
def hook(shared: Shared, event: str, harness: str) -> int:
    r"""Answer a hook of Claude Code, Codex or Cursor: JSON on standard input, JSON on standard output.

    The context at the start of a session, what a prompt reminds of, a record at a stop, a flush before
    history is compacted. It calls no model and no network, and whatever goes wrong, it ends with 0: the
    reason is on standard error. Unlike elsewhere the scope is shared unless you say main. `carrel integrate`
    sets it up.

    \b
    Examples:
      echo '{"session_id": "s1"}' | carrel -C my-agent hook session-start --harness claude
      carrel hook prompt --harness codex < payload.json
      carrel hook stop --harness claude --scope main < payload.json
    """
    context: click.Context | None = click.get_current_context()
    scope = ""
    while context is not None and not scope:
        scope, context = context.params.get("scope") or "", context.parent
    words = ["hook", event, "--harness", harness, "--scope", scope or "shared"]
    words += ["-C", shared.directory] if shared.directory else []
    words += ["--agent", shared.agent] if shared.agent else []
    return run_hook(words) or 0
