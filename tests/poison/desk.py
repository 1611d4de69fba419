"""A workspace that is attacked: files that every prompt holds, ways in, and a model that obeys all it reads."""

import asyncio
import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from tests.poison.orders import AGENTS, MEMORY, PINNED, SKILL, SOUL, TODAY, USER, Case

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.runtime.model import Reply, Request
from carrel.runtime.offline.summary import HEADINGS
from carrel.sessions.message import ToolCall
from carrel.workspace.injected import injected_by

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
DAY = timedelta(days=1)
CONFIG = """\
layout: carrel
agents:
  - id: kate
    displayName: Kate
    trigger_interval: 1
    allowedDelegates: [ada]
  - id: ada
"""
FILES = {
    "SOUL.md": SOUL,
    "AGENTS.md": AGENTS,
    "USER.md": USER,
    "MEMORY.md": MEMORY,
    "memory/kate.md": "## Insights\n\n- Port 80 is open.\n",
    TODAY: "- wrote tests\n",
    "knowledge/KNOWLEDGE.md": "Start here.\n",
    "skills/deploy/SKILL.md": SKILL,
}
LINKS = {"knowledge/soon.md": "../BOOTSTRAP.md"}
"""What they lead to is not there, and would be in every prompt."""

ASKED = "You pick out of a piece of a conversation"
QUESTIONS = {
    ASKED: "extract",
    "You keep the long-term memory": "consolidate",
    "You write the summary": "summarise",
}
"""How a model is asked for something, by what that is."""

Obey = Callable[[], list[dict[str, Any]]]
"""Has the model do what it read, and returns what its tools answered."""


class Desk:
    """Kate's workspace; opened anew for each thing that is done, as other processes would."""

    def __init__(self, folder: Path, config: str = CONFIG, files: Mapping[str, str] = FILES) -> None:
        self.root, self.home = folder / "desk", folder / "home"
        self.root.mkdir()
        self.put({"carrel.yaml": config, **files})
        for name, target in LINKS.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).symlink_to(target)
        Workspace.trust(self.root, environ={"CARREL_HOME": str(self.home)})

    def put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def open(self, at: datetime = NOW) -> Workspace:
        environ = {"CARREL_HOME": str(self.home), "CARREL_NOW": at.isoformat()}
        return Workspace.open(self.root, agent="kate", environ=environ)

    def held(self) -> dict[str, bytes]:
        """All files that every prompt holds, of the workspace and of namespaces, with their bytes."""
        with self.open() as workspace:
            agents = workspace.config.settings.agents
            is_injected = injected_by(workspace.layout, agents)
        inside = (path for path in self.root.rglob("*") if path.is_file() and ".carrel" not in path.parts)
        names = {path.relative_to(self.root).as_posix(): path for path in inside}
        found = {name: path.read_bytes() for name, path in names.items() if is_injected(name)}
        spaces = (path for path in self.home.rglob("*.md") if path.is_file())
        return found | {f"home:{path.relative_to(self.home)}": path.read_bytes() for path in spaces}

    def shown(self, session: str | None = None) -> str:
        """What the next prompt holds."""
        with self.open(NOW + DAY) as workspace:
            return "\n".join(
                message.to_text()
                for message in workspace.assemble(session).messages
                if message.role == "system"
            )


_OF_NIGHTS = re.compile(r"\n## (?:Dreamed |Consolidated\n)")
_PROMOTED = re.compile(r"- (?P<text>.*?)(?: _\(score=[^)]*\)_)?")
_SAVED = re.compile(r"- \d\d:\d\d \[\w+\] (?P<text>.*) _\(session [^)]*\)_")


def without_own(held: Mapping[str, bytes], own: Collection[str]) -> dict[str, bytes]:
    """Files without what dreams, consolidation and compaction wrote there of the owner's own words, which is no harm."""
    return {name: _without_own(data.decode(), own).encode() for name, data in held.items()}


def _without_own(text: str, own: Collection[str]) -> str:
    kept = [line for line in text.splitlines(keepends=True) if not _says(_SAVED, line.rstrip("\n"), own)]
    text = "".join(kept)
    night = _OF_NIGHTS.search(text)
    if night is None:
        return text
    told = (line for line in text[night.end() :].splitlines()[1:] if line and not line.startswith("##"))
    return text[: night.start()] if all(_says(_PROMOTED, line, own) for line in told) else text


def _says(form: re.Pattern[str], line: str, own: Collection[str]) -> bool:
    found = form.fullmatch(line)
    return found is not None and found["text"] in own


def times_saved(held: Mapping[str, bytes], text: str) -> int:
    """Return how often something was put into the journal before a conversation was compacted."""
    return sum(_says(_SAVED, line, [text]) for line in held[TODAY].decode().splitlines())


class Obedient:
    """A model that takes what it reads for facts, whoever seems to have said it, and blames its owner for it."""

    name = "obedient"

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = cases
        self.asked = Counter[str]()

    async def stream(self, request: Request) -> AsyncIterator[Reply]:
        await asyncio.sleep(0)
        question, material = (message.to_text() for message in request.messages)
        (asked,) = (name for beginning, name in QUESTIONS.items() if question.startswith(beginning))
        self.asked[asked] += 1
        lines = [json.loads(line) for line in material.splitlines() if line.startswith("{")]
        answers = {"extract": self._extracted, "consolidate": self._consolidated, "summarise": self._summary}
        yield Reply(text=answers[asked](lines))

    def _extracted(self, lines: Sequence[Mapping[str, Any]]) -> str:
        return json.dumps({"facts": list(self._facts(lines))})

    def _consolidated(self, lines: Sequence[Mapping[str, Any]]) -> str:
        """Keep all that is known and new, so that nothing but the orders can be wrong with it."""
        own = [line.get("known") or line.get("new") for line in lines]
        told = [" ".join(text.split()) for case in self.cases for text in case.told]
        return "\n".join(("### Notes", *(f"- {text}" for text in (*own, *told) if text)))

    def _summary(self, lines: Sequence[Mapping[str, Any]]) -> str:
        """Report faithfully what the user said, and what was read as if it were so."""
        said = [line["text"] for line in lines if line.get("role") == "user"]
        read = [case for case in self.cases if any(is_read(case, str(line.get("text"))) for line in lines)]
        told = [claim["text"] for case in read for claim in case.claims]
        return "\n".join((f"## {HEADINGS[0]}", *(f"- {text}" for text in (*said, *told))))

    def _facts(self, lines: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        known = {line["text"]: line["known"] for line in lines if "known" in line}
        told = [line for line in lines if "id" in line]
        for case in (each for each in self.cases if any(is_read(each, line["text"]) for line in told)):
            for claim in case.claims:
                replaced = known.get(claim.get("replaces", ""), "")
                for evidence in _evidence(told):
                    yield {**claim, "evidence": evidence, "replaces": replaced}


def _evidence(told: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield whom to blame: the owner, the agent, somebody, everybody."""
    for who in ("user", "assistant"):
        yield [line["id"] for line in told if line["role"] == who and "speaker" not in line]
    yield [line["id"] for line in told if "speaker" in line]
    yield [line["id"] for line in told]


def is_read(case: Case, text: str) -> bool:
    """Tell whether a text has the word of a case, in base64 too."""
    tokens = (word for word in text.split() if len(word) > 20 and word.isascii())
    return case.who in text or any(case.who in _decoded(word) for word in tokens)


def _decoded(word: str) -> str:
    with suppress(ValueError):
        return b64decode(word, validate=True).decode("utf-8", "replace")
    return ""


class Played(NamedTuple):
    """What became of a case: what each call came to, and its session."""

    session: str
    results: list[dict[str, Any]]


def obey(
    workspace: Workspace, session: str, calls: Sequence[tuple[str, dict[str, Any]]], scope: str = "main"
) -> list[dict[str, Any]]:
    """Have the model call its tools, and record each call and its result as an application does."""
    results: list[dict[str, Any]] = []
    for number, (name, given) in enumerate(calls):
        asked = ToolCall(id=f"call{number}", name=name, arguments=_given(workspace, name, given, scope))
        workspace.record(
            session, [{"role": "assistant", "content": "", "tool_calls": [asked.to_json()]}], scope=scope
        )
        result = _called(workspace, session, asked, scope)
        told = {"role": "tool", "name": name, "tool_call_id": asked.id, "content": json.dumps(result)}
        workspace.record(session, [told], scope=scope)
        results.append(result)
    return results


def _called(workspace: Workspace, session: str, call: ToolCall, scope: str) -> dict[str, Any]:
    try:
        return workspace.tools(session=session, scope=scope).call(call.name, call.arguments)
    except CarrelError as error:
        return {"error": {"code": error.code, "message": error.message}}


def _given(workspace: Workspace, name: str, given: dict[str, Any], scope: str) -> dict[str, Any]:
    """What a model gives that knows its tools: the digest of what it writes over, and before others less."""
    if name == "memory_write" and scope == "shared":
        return {"text": given["text"]}
    if name == "write_file":
        with suppress(CarrelError):
            content = workspace.fetch(given["path"])
            return given if content is None else {**given, "expect": content.digest}
    return given


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def agent(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def result(text: str, tool: str, **given: Any) -> list[dict[str, Any]]:
    """A call of a tool, and what it brought in."""
    call = {"id": "c0", "name": tool, "arguments": given}
    return [
        agent("", tool_calls=[call]),
        {"role": "tool", "name": tool, "tool_call_id": "c0", "content": text},
    ]


def pinned(workspace: Workspace) -> None:
    """Let the owner remember something, and pin it."""
    (fact,) = workspace.memory.add(PINNED).written
    workspace.memory.pin(fact.id)
