"""What harnesses say to a hook, and what they hear from it: events, shapes and caps.

A hook starts before every prompt of a person, so that nothing is imported here.
"""

EVENTS = ("session-start", "prompt", "pre-compact", "stop")
HARNESSES = ("claude", "codex", "cursor")
VALUED = ("-C", "--agent", "--scope", "--lower", "--log", "--harness")
"""Options that have a value behind them."""

_MANNERS = ("--json", "-q", "--quiet", "-v", "--verbose")
"""Options of every command that change nothing here: a hook says JSON, and why it has nothing to say."""

MOST_CHARACTERS = {"claude": 9_900, "codex": 9_900, "cursor": 9_900}
"""What a harness takes of an answer, the whole JSON counted; one more, and it shows a few lines of it."""

MOST_TOKENS = {"codex": 2_400}
"""Where a harness counts tokens too."""

MOST_RECALLED = 2_200
"""Bytes of what is recalled with a prompt: whatever a tokenizer makes of them, no cap is reached."""

_THEIR_EVENTS = {"session-start": "SessionStart", "prompt": "UserPromptSubmit"}

Payload = dict[str, object]


class BadHook(Exception):
    """A hook was called in a way, or with something, that it cannot answer."""


class Asked:
    """What a hook was called with."""

    __slots__ = ("agent", "directory", "event", "harness", "scope")

    def __init__(
        self, event: str, harness: str, *, directory: str = "", agent: str = "", scope: str = ""
    ) -> None:
        self.event = event
        self.harness = harness
        self.directory = directory
        self.agent = agent
        self.scope = scope or "shared"


def is_hook(words: list[str]) -> bool:
    """Tell whether a command line is that of a hook, wherever its options stand."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in VALUED else 1
    return words[place : place + 1] == ["hook"]


def parse(words: list[str]) -> Asked:
    """Return what a hook's command line asks for."""
    given: dict[str, str] = {}
    named: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word in VALUED:
            given[word] = next(rest, "")
        elif equals and name in VALUED:
            given[name] = value
        elif word.startswith("-") and word not in _MANNERS:
            raise BadHook(f"{word[:60]} is no option of a hook")
        else:
            named += [word] * (word not in _MANNERS)
    for name in ("--lower", "--log"):
        if name in given:
            raise BadHook(f"a hook has no {name}")
    return _checked(named[1:], given)


def _checked(events: list[str], given: dict[str, str]) -> Asked:
    harness, scope = given.get("--harness", ""), given.get("--scope", "")
    if len(events) != 1 or events[0] not in EVENTS:
        told = f"{events[0][:60]!r} is no event" if events else "an event is missing"
        raise BadHook(f"{told}; there are: {', '.join(EVENTS)}")
    if harness not in HARNESSES:
        raise BadHook(f"--harness must be one of {', '.join(HARNESSES)}, not {harness[:60]!r}")
    if scope not in ("", "main", "shared"):
        raise BadHook(f"--scope must be main or shared, not {scope[:60]!r}")
    return Asked(
        events[0], harness, directory=given.get("-C", ""), agent=given.get("--agent", ""), scope=scope
    )


def answer(harness: str, event: str, context: str = "") -> Payload:
    """Return what a harness is told; without a context that is nothing, in its own way."""
    if harness == "cursor":
        if event not in ("session-start", "prompt"):
            return {}
        # It takes no context with a prompt.
        told: Payload = {"additional_context": context} if context and event == "session-start" else {}
        return {"continue": True, **told}
    if not context or event not in _THEIR_EVENTS:
        return {}
    return {"hookSpecificOutput": {"hookEventName": _THEIR_EVENTS[event], "additionalContext": context}}


def session_of(payload: Payload) -> str:
    """Return the harness's own name of the conversation."""
    return _text(payload, "session_id") or _text(payload, "conversation_id")


def folder_of(payload: Payload) -> str:
    """Return the folder that the harness works in."""
    roots = payload.get("workspace_roots")
    first: object = roots[0] if isinstance(roots, list) and roots else ""  # pyright: ignore[reportUnknownVariableType]
    return _text(payload, "cwd") or (first if isinstance(first, str) else "")


def prompt_of(payload: Payload) -> str:
    """Return what the person has typed."""
    return _text(payload, "prompt")


def reply_of(payload: Payload) -> str:
    """Return what the model has answered, where the harness tells."""
    return _text(payload, "last_assistant_message") or _text(payload, "text")


def transcript_of(harness: str, payload: Payload) -> str:
    """Return the file that the harness keeps of the conversation, "" where it keeps none that can be read."""
    # Cursor's comes and goes with its versions: there, prompts and replies are taken as they are told.
    return "" if harness == "cursor" else _text(payload, "transcript_path")


def _text(payload: Payload, name: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) else ""
