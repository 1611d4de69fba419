"""A workspace in which every text that a page may show tries to run: names, files, memory, conversations, settings."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import yaml
from tests.stubs import studio
from tests.stubs.vectors import VECTORS

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.records.keys import mint
from carrel.records.recalls import RecallEvent

LONGEST_NAME = 180


def marked(kind: str, number: int) -> str:
    """Return a vector with a word before it that says where it was planted."""
    return f"{kind}-{number:03} {VECTORS[number]}"


def every(kind: str) -> list[str]:
    """Return all vectors as planted in one kind of place."""
    return [marked(kind, number) for number in range(len(VECTORS))]


def as_text(kind: str) -> list[str]:
    """Return all vectors as they can stand in a file that is not taken for data."""
    return [text.replace("\x00", "") for text in every(kind)]


def one_line(text: str) -> str:
    """Return a text as it can stand in a line of Markdown."""
    return " ".join(text.split()).replace("\x00", "")


def make(folder: Path) -> Path:
    """Make the workspace with its home beside it, and return where it is."""
    root, home = folder / "studio", folder / "home"
    Workspace.init(root, environ=studio.environ(home))
    studio.put(root, {"carrel.yaml": _settings()})
    studio.put(root, dict(_files()))
    for number in range(len(VECTORS)):
        _named(root / "names", number)
    Workspace.trust(root, environ=studio.environ(home))
    with Workspace.open(root, agent="kate", environ=studio.environ(home)) as kate:
        _remember(kate)
        _converse(kate)
        _keep(kate)
        kate.sweep()
        kate.searching.sync()
    return root


def _settings() -> str:
    agents = [
        {"id": "kate", "displayName": marked("agent", 13), "profile": "kate", "domain": marked("domain", 14)},
        {"id": "milo", "displayName": VECTORS[98], "profile": "milo"},
    ]
    settings = {"layout": "carrel", "workspace": {"name": marked("title", 13)}, "agents": agents}
    return yaml.safe_dump(settings, allow_unicode=True)


def _files() -> Iterator[tuple[str, str]]:
    yield "SOUL.md", "# Soul\n\nKind.\n"
    yield "markdown.md", "# All\n\n" + "\n\n".join(as_text("markdown")) + "\n"
    yield "headings.md", "\n\n".join(f"## {one_line(text)}\n\nUnder it." for text in every("heading")) + "\n"
    yield "values.json", json.dumps({text: [text, {"again": text}] for text in every("json")})
    yield "bad.json", "{" + "".join(as_text("bad"))
    yield "table.csv", "\n".join(as_text("csv"))
    yield "script.js", "\n".join(as_text("js"))
    yield "page.html", "\n".join(as_text("html"))
    yield "picture.svg", f"<svg xmlns='http://www.w3.org/2000/svg'>{VECTORS[45]}</svg>"
    yield "plain.md", "\n".join(as_text("plain"))
    yield (
        "MEMORY.md",
        "# Memory\n\n"
        + "\n\n".join(f"## {one_line(text)}\n\n- {one_line(text)}" for text in every("section"))
        + "\n",
    )
    yield (
        f"memory/{studio.day(0)}.md",
        "".join(f"- 09:10 [note] {one_line(text)}\n" for text in every("journal")),
    )
    yield "DREAMS.md", "# Dreams\n\n" + "\n\n".join(as_text("diary")) + "\n"
    yield "knowledge/KNOWLEDGE.md", "\n\n".join(as_text("knowledge"))
    for number in range(0, len(VECTORS), 8):
        text = marked("skill", number)
        head = yaml.safe_dump({"name": text, "description": text, "tags": [text]}, allow_unicode=True)
        yield f"skills/skill-{number}/SKILL.md", f"---\n{head}---\n{text}\n"
        yield f"subagents/sub-{number}.md", f"---\n{head}---\n{text}\n"
        yield f"tagged/{number}.md", f"---\n{head}---\n# {one_line(text)}\n"
        yield (
            f"commented/{number}.md",
            f"<!-- priority: {one_line(text)} -->\n<!-- tags: {one_line(text)} -->\nx\n",
        )


def _named(folder: Path, number: int) -> None:
    """Make a file whose path is a vector; where it has a slash, folders come of it."""
    name = marked("name", number).replace("\x00", "").encode("utf-8")[:LONGEST_NAME].decode("utf-8", "ignore")
    path = folder / f"{name}.md"
    with suppress(OSError):  # a name that this disk does not take
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")


def _remember(kate: Workspace) -> None:
    for number, text in enumerate(every("fact")):
        with suppress(CarrelError):  # what the screen refuses is in no memory
            kate.memory.add(text, layer="experience" if number % 3 == 0 else "project")
    for text in every("note")[::8]:
        with suppress(CarrelError):
            kate.memory.note(text)
    for namespace in kate.memory.namespaces.list():
        kate.memory.namespaces.rename(namespace.key, one_line(marked("namespace", 13)))


def _converse(kate: Workspace) -> None:
    call = {"id": "c1", "name": VECTORS[13], "arguments": {VECTORS[0]: every("argument")}}
    kate.record(
        "attack",
        [
            *(
                {"role": "user" if n % 2 else "assistant", "content": text}
                for n, text in enumerate(every("turn"))
            ),
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {
                "role": "tool",
                "content": "\n".join(every("result")),
                "tool_call_id": "c1",
                "name": VECTORS[13],
            },
            {"role": "user", "content": marked("sender", 13), "sender_id": VECTORS[13], "name": VECTORS[98]},
        ],
    )
    for number in range(0, len(VECTORS), 8):
        session = f"s{number}"
        kate.record(session, [{"role": "user", "content": marked("first", number)}])
        kate.update_session_index(session, title=marked("titled", number), summary=marked("summary", number))
    for session in (VECTORS[13], VECTORS[98], "{{7*7}}"):
        with suppress(CarrelError):
            kate.record(session, [{"role": "user", "content": "x"}])
    kate.prepare("attack", VECTORS[13])


def _keep(kate: Workspace) -> None:
    """Plant what is not in files: proposals, recalls, what was done, what waits, keys."""
    records = kate.records
    for number in range(0, len(VECTORS), 2):
        text = marked("proposal", number)
        records.proposals.add(
            studio.proposal(
                text, reason=text, section=one_line(text), why=text, session=text, old=text, evidence=(text,)
            )
        )
    records.recalls.add(
        RecallEvent(
            agent="kate", session=text, at=studio.NOW - timedelta(days=back), query=text, path=f"memory/{studio.day(0)}.md",
            line=number + 1, tier="journal", rank=1, score=0.5, text=one_line(text), who="prepare",
        )
        for number, text in enumerate(every("journal"))
        for back in range(3)
    )  # fmt: skip
    for text in every("audit")[::8]:
        records.audit.note(
            at=studio.NOW, actor=text, action=text, target=text, session=text, detail={text: text}
        )
    records.queue.put(marked("job", 13), {"text": marked("payload", 13)}, key="attack")
    if (
        job := records.queue.take((marked("job", 13),), now=studio.NOW, lease=timedelta(hours=1), worker="x")
    ) is not None:
        records.queue.fail(job, marked("problem", 13), retry_at=None)
    key, _ = mint(name=marked("key", 13), right="read", scope="shared", now=studio.NOW, expires=None)
    records.keys.add(key)
