"""Row 11: the ways in which a text comes in; it is said, attached, called with, brought in, remembered, asked for."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from carrel.app import Workspace
from carrel.importing import bring_in
from carrel.runtime.model import Reply, Request

Say = Callable[[str], str]
"""The text that comes in, by the name of its way, of which something is found afterwards if it is no secret."""

Way = Callable[[], object]
"""Lets a text in, and returns what is answered, but for what only says the question or a file again."""

SESSIONS = 10
MODEL = "parrot"
_CLAUDE = "claude-code"
_SILENT = ""
"""The name of ways that leave nothing: what they repeat, they repeat to nobody."""

_ABOUT = "- Somebody wished a good morning, and said to see there what is attached, or redacted."
"""Without a word of what was said beside the texts, a summary would not be about it."""

_FILLER = "boat " * 5_000
"""More than stays as it is when a session is compacted, and more than any summary."""


class Parrot:
    """A model whose summary repeats all that was said, word for word."""

    name = MODEL

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:  # noqa: ARG002 - it knows already
        """Answer with the texts."""
        told = ("## Requests", _ABOUT, *(f"- {text}" for text in self._texts))
        yield Reply(text="\n".join(told))


def ways(workspace: Workspace, number: int, say: Say) -> Iterator[Way]:
    """Yield the ways in which one text comes in."""
    session = session_of(number)
    yield lambda: workspace.record(session, _turn(number, say("said")))
    yield lambda: workspace.record(session, [*_attached(say), *_named(say)], source=say("from"))
    yield from _remembered(workspace, say)
    yield from _called(workspace, session, number, say)
    yield lambda: workspace.update_session_index(session, summary=say("summary"), title=say("title"))
    yield lambda: _unheard(workspace.search(f"({say('sought')}", mode="regex"))
    if number % SESSIONS == 0:
        yield lambda: _unheard(workspace.prepare(session, say(_SILENT)))
        yield lambda: _unheard(workspace.search(say("asked"), mode="vector"))


def session_of(number: int) -> str:
    return f"s{number % SESSIONS}"


def _turn(number: int, text: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "name": "run", "arguments": {"command": text}}
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "run", "tool_call_id": f"c{number}", "content": text},
        {"role": "assistant", "content": f"I see.\n{text}"},
    ]


def _attached(say: Say) -> Iterator[dict[str, Any]]:
    """Yield messages with files, in the forms of OpenAI and of Anthropic, the text in them and in their names."""
    file = {"filename": say("filename"), "file_data": f"data:text/plain;base64,{_base64(say('file'))}"}
    document = {"type": "base64", "media_type": "text/markdown", "data": _base64(say("document"))}
    plain = {"type": "text", "media_type": "text/plain", "data": say("plain")}
    for part in (
        {"type": "file", "file": file},
        {"type": "document", "source": document, "title": say("documenttitle")},
        {"type": "document", "source": plain},
    ):
        yield {"role": "user", "content": [{"type": "text", "text": "See there."}, part]}


def _base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def _named(say: Say) -> Iterator[dict[str, Any]]:
    """Yield messages that say who they are from, and one that leaves it to the call."""
    hello = {"role": "user", "content": "Good morning."}
    yield hello | {key: say(key) for key in ("name", "sender_id", "source")}
    yield hello


def _remembered(workspace: Workspace, say: Say) -> Iterator[Way]:
    memory = workspace.memory
    notebook = memory.notebook("memory/kate.md")
    yield lambda: memory.add(say("fact"))
    yield lambda: memory.note(say("note"))
    yield lambda: notebook.append("Keys", say("notebook"))
    yield lambda: notebook.append("Keys", f"# {say(_SILENT)}")  # refused, and told why


def _called(workspace: Workspace, session: str, number: int, say: Say) -> Iterator[Way]:
    """Yield calls of tools; the memory tool's six commands are of a file of its own."""
    tools, path = workspace.tools(session=session), f"/memories/m{number}.md"
    moved = {"old_path": path, "new_path": f"/memories/moved{number}.md"}

    def remember(command: str, **more: object) -> Way:
        return lambda: tools.call("memory", {"command": command, **more})

    yield lambda: tools.call("memory_write", {"action": "add", "text": say("learnt")})
    page = f"memory/entities/p{number}.md"
    yield lambda: tools.call("write_file", {"path": page, "content": say("page")})
    yield lambda: tools.call("edit_file", {"path": "AGENTS.md", "old": say(_SILENT), "new": "x"})
    yield remember("create", path=path, file_text=f"zero\n\n{say('create')}\n")
    yield remember("str_replace", path=path, old_str="zero", new_str=say("replace"))
    yield remember("insert", path=path, insert_line=0, insert_text=say("insert"))
    yield remember("str_replace", path=path, old_str=say("missed"), new_str="x")
    yield remember("view", path=path)
    yield remember("rename", **moved)
    yield remember("delete", path=moved["new_path"])


def imported(workspace: Workspace, folder: Path, says: Sequence[Say]) -> Iterator[Way]:
    """Yield imports into memory and sessions: of instructions, which wait or not, and of a talk."""
    for name, is_mine in (("proposed", False), ("instructed", True)):
        blocks = (f"## {name} {number}\n\n{say(name)}\n" for number, say in enumerate(says))
        source = _put(folder / name, "CLAUDE.md", "\n".join(blocks))
        yield lambda source=source, mine=is_mine: bring_in(workspace, source, kind=_CLAUDE, mine=mine)
    lines = (json.dumps(_spoken(number, say("talk"))) for number, say in enumerate(says))
    talks = _put(folder / "talks", "talk.jsonl", "\n".join(lines))
    yield lambda: bring_in(workspace, talks, kind=_CLAUDE)


def imported_files(workspace: Workspace, folder: Path, texts: Sequence[str]) -> Iterator[Way]:
    """Yield imports of files, which are brought in as they are: a vault, and notes of Claude Code."""
    for kind, name in (("obsidian", "keys.md"), (_CLAUDE, "MEMORY.md")):
        source = _put(folder / kind, name, "\n".join(f"- {text}\n" for text in texts))
        yield lambda source=source, kind=kind: bring_in(workspace, source, kind=kind)


def _put(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    return folder


def _spoken(number: int, text: str) -> dict[str, Any]:
    at, message = "2026-01-01T00:00:00Z", {"role": "user", "content": text}
    return {"type": "user", "uuid": f"u{number}", "sessionId": "talk", "timestamp": at, "message": message}


def fill(workspace: Workspace, session: str) -> None:
    """Let a session end with turns so long that all but the last is compacted, whatever the summary repeats."""
    turn = [{"role": "user", "content": _FILLER}, {"role": "assistant", "content": "Indeed."}]
    workspace.record(session, turn * 2)


def _unheard(_answer: object) -> None:
    """Pass over what says the question again, or a file as it is."""
