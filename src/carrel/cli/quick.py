"""`carrel hook` as harnesses call it: the short way first, and whatever goes wrong, the harness goes on.

A harness takes an exit code of 2 for a veto, and what it does not understand for an answer. So a failure says
nothing on standard output, its reason on standard error, and ends with 0.
"""

import os
import sys

from carrel import __version__
from carrel.adapters.harness import kept, quick, wire


def run_hook(words: list[str]) -> int | None:
    """Answer a hook and return 0; none where the words are another command's, or ask for help."""
    if not wire.is_hook(words) or "--help" in words or "-h" in words:
        return None
    event, harness = _guessed(words)
    try:
        said = answer(words, _payload())
    except BaseException as error:  # noqa: BLE001 - a harness must never stop for us
        complain_of(error)
        said = wire.answer(harness, event)
    _say(said)
    return 0


def answer(words: list[str], data: bytes) -> wire.Payload:
    """Return what a harness is told."""
    asked = wire.parse(words)
    payload = quick.read(data)
    root = quick.root_of(asked, payload, os.getcwd())  # noqa: PTH109 - pathlib is not loaded
    if not root:
        raise wire.BadHook("there is no workspace here; -C names one")
    cache = kept.cache_of(os.environ, sys.platform)
    found = None
    if cache and quick.tells(asked):
        found = kept.find(cache, quick.key_of(asked, root, os.environ, __version__))
    if (found is None and quick.tells(asked)) or _is_to_record(asked, payload, root, cache):
        from carrel.cli.performing import perform  # noqa: PLC0415 - the engine, where there is more to do

        found = perform(asked, payload, root, found)
    context = quick.context_in(asked, payload, found) if found is not None else ""
    return wire.answer(asked.harness, asked.event, context)


def _is_to_record(asked: wire.Asked, payload: wire.Payload, root: str, cache: str) -> bool:
    if not quick.records(asked, payload):
        return False
    from carrel.adapters.harness import cursors  # noqa: PLC0415 - who is told something does not need it

    return not (cache and cursors.is_all_known(asked, payload, root, f"{cache}/hooks"))


def complain(text: str) -> None:
    """Tell a person who looks for it why a hook had nothing to say."""
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    try:
        sys.stderr.buffer.write(f"carrel hook: {line}\n".encode("utf-8", "replace"))
        sys.stderr.buffer.flush()
    except (OSError, ValueError, AttributeError):
        return


def complain_of(error: BaseException) -> None:
    """Tell the reason of a failure, with what helps against it."""
    told = [getattr(error, "message", None) or f"{error}" or type(error).__name__, getattr(error, "hint", "")]
    if not isinstance(error, wire.BadHook) and not hasattr(error, "hint"):
        told[0] = f"{type(error).__name__}: {told[0]}"
    complain(" ".join(each for each in told if each))


def _payload() -> bytes:
    """Return standard input; of one that never ends, enough to see that it is too much."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - the shell may have closed it
        return b""
    data = sys.stdin.buffer.read(quick.MOST_BYTES + 1)
    if len(data) > quick.MOST_BYTES:
        for _ in range(64):  # whoever still writes should not fail for it
            if not sys.stdin.buffer.read(1024 * 1024):
                break
    return data


def _say(said: wire.Payload) -> None:
    import json  # noqa: PLC0415 - loaded by now, unless everything went wrong

    data = json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")
    try:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()
    except (OSError, ValueError, AttributeError):
        os._exit(0)  # there is nobody left to tell


def _guessed(words: list[str]) -> tuple[str, str]:
    """Return the event and the harness as far as they can be made out, for an answer that says nothing."""
    event = next((word for word in words if word in wire.EVENTS), "")
    return event, next((word for word in words if word in wire.HARNESSES), "")
