"""What of a hook takes the engine; loaded only where the short way does not answer."""

import os
import sys
from typing import TYPE_CHECKING

from carrel import __version__
from carrel.adapters.harness import kept, quick, wire
from carrel.adapters.harness.kept import Kept
from carrel.app import Workspace
from carrel.cli.quick import complain, complain_of

if TYPE_CHECKING:
    from carrel.adapters.harness.gathering import Gathered

_NAMED = 20


def perform(asked: wire.Asked, payload: wire.Payload, root: str, found: Kept | None) -> Kept | None:
    """Do what takes the engine: record what is to be recorded, and assemble what was not kept."""
    if quick.records(asked, payload):
        try:
            _record(asked, payload, root)
        except Exception as error:
            if not quick.tells(asked):
                raise
            complain_of(error)  # who cannot be recorded is reminded all the same
    if found is not None or not quick.tells(asked):
        return found
    key = quick.key_of(asked, root, os.environ, __version__)
    gathered = _gather(root, asked, key)
    for note in (*gathered.notes, *_cuts(asked.harness, gathered.cut)):
        complain(note)
    return gathered.answer


def _cuts(harness: str, cut: tuple[str, ...]) -> list[str]:
    named = ", ".join(cut[:_NAMED])
    return [f"left out to fit {harness}: {named}{', …' if len(cut) > _NAMED else ''}"] if cut else []


def _record(asked: wire.Asked, payload: wire.Payload, root: str) -> None:
    from carrel.adapters.harness.recording import note_recalls, record  # noqa: PLC0415 - a context needs no sessions

    with Workspace.open(root, agent=asked.agent or None) as workspace:
        recorded = record(workspace, asked, payload, root)
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
    return found or _gather(root, prompt, key).answer


def _gather(root: str, asked: wire.Asked, key: list[str]) -> "Gathered":
    from carrel.adapters.harness.gathering import gather  # noqa: PLC0415 - a record assembles nothing

    return gather(root, asked, environ=os.environ, key=key)
