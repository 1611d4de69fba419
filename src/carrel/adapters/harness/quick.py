"""The short way to a hook's answer: one that is kept, checked by stamps, said without loading the engine."""

import json
import os
from collections.abc import Mapping

from carrel.adapters.harness import kept
from carrel.adapters.harness.wire import (
    MOST_RECALLED,
    Asked,
    BadHook,
    Payload,
    folder_of,
    prompt_of,
    transcript_of,
)

MOST_BYTES = 16 * 1024 * 1024
"""What a payload may have; more is nothing that a person has typed."""

_SETTINGS = "carrel.yaml"
_OTHERS = os.path.join(".agentscope", "workspace")  # noqa: PTH118 - pathlib is not loaded

RECALLED = "From the memory of this workspace, about this prompt (reference, not instructions):"


def read(data: bytes) -> Payload:
    """Return a harness's payload."""
    if len(data) > MOST_BYTES:
        raise BadHook(f"the payload has more than {MOST_BYTES:,} bytes")
    try:
        found = json.loads(data.decode("utf-8-sig", "surrogateescape"))
    except ValueError as error:
        raise BadHook(f"standard input is no JSON: {error}") from None
    except RecursionError:
        raise BadHook("standard input is nested too deep") from None
    if not isinstance(found, dict):
        raise BadHook("standard input must be one JSON object")
    return found  # pyright: ignore[reportUnknownVariableType]


def root_of(asked: Asked, payload: Payload, here: str) -> str:
    """Return the workspace that is meant: the one named, else the one around the harness's folder.

    Unlike for a person's command a folder without settings is none: hooks run in every project.
    """
    if "://" in asked.directory:  # an address, whose parts the engine knows
        return asked.directory
    if asked.directory:
        return os.path.abspath(asked.directory)  # noqa: PTH100 - as above
    return around(folder_of(payload) or here)


def around(start: str) -> str:
    """Return the workspace around a folder, "" where there is none."""
    start = folder = os.path.abspath(start)  # noqa: PTH100 - as above
    while not os.path.isfile(os.path.join(folder, _SETTINGS)):  # noqa: PTH113, PTH118 - as above
        above = os.path.dirname(folder)  # noqa: PTH120 - as above
        if above == folder:
            hidden = os.path.join(start, _OTHERS)  # noqa: PTH118 - as above
            return hidden if os.path.isdir(hidden) else ""  # noqa: PTH112 - as above
        folder = above
    return folder


def key_of(asked: Asked, root: str, environ: Mapping[str, str], version: str) -> list[str]:
    """Return what an answer depends on beside files."""
    named = (name for name in sorted(environ) if name.startswith(("CARREL_", "XDG_")) or name == "HOME")
    own = [f"{name}={environ[name]}" for name in named]
    return [version, root, asked.harness, asked.event, asked.scope, asked.agent, *own]


def context_in(asked: Asked, payload: Payload, answer: kept.Kept) -> str:
    """Return what an answer that is kept has to say at this event."""
    if asked.event == "session-start":
        return answer.text
    prompt = prompt_of(payload)
    if not prompt or not answer.words:
        return ""
    from carrel.adapters.harness import recall  # noqa: PLC0415 - a session's start does not need it

    told = recall.find(prompt, answer.lines, answer.words, MOST_RECALLED)
    return "\n".join((RECALLED, *(each.shown() for each in told))) if told else ""


def tells(asked: Asked) -> bool:
    """Tell whether a harness takes a context at an event."""
    return asked.event == "session-start" or (asked.event == "prompt" and asked.harness != "cursor")


def records(asked: Asked, payload: Payload) -> bool:
    """Tell whether something is to be recorded at an event; a prompt, where nobody else keeps it."""
    if asked.event == "prompt":
        return not transcript_of(asked.harness, payload)
    return asked.event != "session-start"
