"""`carrel hook`: a coding agent's hook, answered from the workspace."""

import os
import sys

import click

from carrel import __version__
from carrel.adapters.harness import kept, quick, wire
from carrel.adapters.harness.gathering import gather
from carrel.adapters.harness.kept import Kept
from carrel.cli.options import Shared, shared_options
from carrel.cli.quick import complain, run_hook

_NAMED = 20


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


def perform(asked: wire.Asked, payload: wire.Payload, root: str, found: Kept | None) -> Kept | None:
    """Do what takes the engine: record what is to be recorded, and assemble what was not kept."""
    if quick.records(asked, payload):
        _record(asked, payload, root)
    if found is not None or not quick.tells(asked):
        return found
    key = quick.key_of(asked, root, os.environ, __version__)
    gathered = gather(root, asked, environ=os.environ, key=key)
    for note in (*gathered.notes, *_cuts(asked.harness, gathered.cut)):
        complain(note)
    return gathered.answer


def _cuts(harness: str, cut: tuple[str, ...]) -> list[str]:
    named = ", ".join(cut[:_NAMED])
    return [f"left out to fit {harness}: {named}{', …' if len(cut) > _NAMED else ''}"] if cut else []


def _record(asked: wire.Asked, payload: wire.Payload, root: str) -> None:
    from carrel.adapters.harness.recording import note_recalls, record  # noqa: PLC0415 - a context needs no sessions
    from carrel.app import Workspace  # noqa: PLC0415 - as above

    with Workspace.open(root, agent=asked.agent or None) as workspace:
        recorded = record(workspace, asked, payload)
        if recorded.asked is not None and asked.harness != "cursor":
            note_recalls(workspace, recorded, _reminding(asked, root))
    for note in recorded.notes:
        complain(note)


def _reminding(asked: wire.Asked, root: str) -> Kept:
    """Return what prompts are reminded from, as it is kept or, for the next one, made."""
    prompt = wire.Asked(
        "prompt", asked.harness, directory=asked.directory, agent=asked.agent, scope=asked.scope
    )
    key = quick.key_of(prompt, root, os.environ, __version__)
    cache = kept.cache_of(os.environ, sys.platform)
    found = kept.find(cache, key) if cache else None
    return found or gather(root, prompt, environ=os.environ, key=key).answer
