"""How much of each request a provider finds in its cache, over a conversation of a hundred turns.

Two ways of providers to count are modelled, and no provider is asked. *By itself*: the longest beginning that
the request shares with the one before, in steps of 128 tokens, from 1,024 on. *By marks*: the longest
beginning that ended at a mark of the request before and ends within twenty blocks before a mark of this one,
from 1,024 on.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from peer import CARREL
from table import Table

import sessions
from carrel import Workspace
from carrel.context.assemble import Assembly
from carrel.tokens import Vocabulary
from carrel.workspace.layout import LAYOUTS

TURNS = 100
LEAST, STEP, LOOK_BACK = 1_024, 128, 20
BEGIN, BETWEEN = datetime.fromisoformat("2026-04-24T09:00:00+00:00"), timedelta(minutes=15)
REMEMBERED_EVERY = 10
PAGES = ("AGENTS.md", "IDENTITY.md", "SOUL.md", "USER.md", "MEMORY.md")
PROSE_SIZE = 12_500
NOTEBOOKS = {"astra": "workspace/MEMORY.md", "squad": "agents/developer/memory.md"}
AGENTS = {"squad": "developer"}
HOW = (
    "A hundred turns, one every 15 minutes over a midnight, in a workspace of about 3,000 tokens; after "
    "every tenth the agent's memory has a line more, and every turn has its own recall and the date. The "
    "share is of the tokens of all requests, the first among them, that a provider would find in its "
    "cache if it never forgot: by itself (the longest beginning that is that of the request before, in "
    "steps of 128 tokens, from 1,024 on), and by marks (the beginnings that the request before marked, "
    "from 1,024 tokens on, where Carrel's `to_anthropic` or the loader marks). The loaders read the same "
    "files as the layout `carrel`, with the same recall and the same words. No provider was asked."
)


class Block(NamedTuple):
    """A piece of a request, and whether the caller marks its end for the cache."""

    text: str
    marked: bool = False


class Call(NamedTuple):
    """One request, as each of the two kinds of providers is sent it."""

    plain: tuple[str, ...]
    blocks: tuple[Block, ...]


def caching(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    del names, chosen
    table = Table(
        "cache", f"What a provider's cache holds of {TURNS} requests", "% of tokens, found by itself",
        better="more", how=HOW, command="python bench/peers cache",
    )  # fmt: skip
    loaders: dict[str, list[Call]] = {}
    for layout in LAYOUTS:
        calls = list(_conversation(folder / layout, layout, loaders if layout == CARREL else {}))
        _add(table, f"carrel, layout {layout}", calls)
    for told, calls in loaders.items():
        _add(table, told, calls)
    return [table]


def _add(table: Table, name: str, calls: Sequence[Call]) -> None:
    whole = sum(_size(text) for call in calls for text in call.plain)
    marked = sum(_size(block.text) for call in calls for block in call.blocks)
    by_itself = sum(found_by_itself(before.plain, now.plain) for before, now in pairwise(calls))
    by_marks = sum(found_by_marks(before.blocks, now.blocks) for before, now in pairwise(calls))
    table.add(
        name, 100 * by_itself / whole,
        **{"%, by marks": 100 * by_marks / marked, "tokens a request": whole // len(calls)},
    )  # fmt: skip


# What a provider finds


def found_by_itself(before: Sequence[str], now: Sequence[str]) -> int:
    """Tokens of the longest common beginning, in the provider's steps."""
    same = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            pairs = zip(_tokens(old), _tokens(new), strict=False)
            same += next((at for at, (a, b) in enumerate(pairs) if a != b), min(_size(old), _size(new)))
            break
        same += _size(new)
    return same // STEP * STEP if same >= LEAST else 0


def found_by_marks(before: Sequence[Block], now: Sequence[Block]) -> int:
    """Tokens of the longest beginning that was marked before and is looked for now."""
    ends = [at for at, block in enumerate(now) if block.marked]
    found = same = 0
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old.text != new.text:
            break
        same += _size(new.text)
        if old.marked and any(0 <= end - at < LOOK_BACK for end in ends):
            found = same
    return found if found >= LEAST else 0


@cache
def _tokens(text: str) -> Sequence[int]:
    return _vocabulary().encode(text)


def _size(text: str) -> int:
    return len(_tokens(text))


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary()


# What is sent


def _conversation(root: Path, layout: str, loaders: dict[str, list[Call]]) -> Iterator[Call]:
    """Hold the conversation, and yield what each call sends; what the loaders would send is put beside."""
    environ = {"CARREL_HOME": str(root.parent / "home")}
    _furnish(root, layout, environ)
    said: list[str] = []
    for number in range(TURNS):
        moment = (BEGIN + number * BETWEEN).isoformat()
        question = f"Question {number}: what about the migration of service {number % 7}?"
        now = {**environ, "CARREL_NOW": moment}
        with Workspace.open(root, agent=AGENTS.get(layout), environ=now) as workspace:
            workspace.record("s1", [{"role": "user", "content": question}])
            assembly = workspace.prepare("s1", question)
            answer = f"Answer {number}: {sessions.LINE * 2}"
            workspace.record("s1", [{"role": "assistant", "content": answer}])
            if number % REMEMBERED_EVERY == 0:
                workspace.append(NOTEBOOKS.get(layout, "MEMORY.md"), f"- Service {number} was moved.\n")
        for told, load in LOADERS.items():
            if layout == CARREL:
                loaders.setdefault(told, []).append(load(root, said, _volatile(assembly), question, moment))
        said += [question, answer]
        yield Call(tuple(_plain(assembly.to_openai())), tuple(_blocks(assembly.to_anthropic())))


def _furnish(root: Path, layout: str, environ: Mapping[str, str]) -> None:
    """Make a workspace, with the same pages under the names that its layout reads."""
    Workspace.init(root, layout=layout, environ=environ)
    notebook = root / NOTEBOOKS.get(layout, "MEMORY.md")
    pages = {"squad": [notebook], "astra": [notebook.with_name(name) for name in PAGES]}
    names = pages.get(layout) or [root / name for name in PAGES]
    size = PROSE_SIZE // len(names)
    for number, path in enumerate(names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sessions.PROSE[number * size : (number + 1) * size], "utf-8")


def _plain(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        for text in _texts(message["content"]):
            yield f"{message['role']}: {text}\n"


def _blocks(body: Mapping[str, Any]) -> Iterator[Block]:
    for content in (body["system"], *(message["content"] for message in body["messages"])):
        if isinstance(content, str):
            yield Block(content)
        else:
            yield from (Block(part["text"], "cache_control" in part) for part in content)


def _texts(content: str | Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from [content] if isinstance(content, str) else (part["text"] for part in content)


def _volatile(assembly: Assembly) -> str:
    """Recall and date, as the layout `carrel` puts them behind the question."""
    return "\n".join(list(_texts(assembly.to_openai()["messages"][-1]["content"]))[1:])


Load = Callable[[Path, Sequence[str], str, str, str], Call]


def _date_first(root: Path, said: Sequence[str], volatile: str, question: str, moment: str) -> Call:
    """The time and the recall at the head of the system prompt, then the files."""
    return _call(f"It is {moment}.\n{volatile}\n\n{_files(root)}", said, question)


def _date_last(root: Path, said: Sequence[str], volatile: str, question: str, moment: str) -> Call:
    """The files as they are now, and time and recall behind the question."""
    return _call(_files(root), said, question, f"It is {moment}.\n{volatile}")


LOADERS: Mapping[str, Load] = {
    "loader, date and recall first": _date_first,
    "loader, date and recall last": _date_last,
}


def _files(root: Path) -> str:
    return "\n\n".join(path.read_text("utf-8") for path in sorted(root.glob("*.md")))


def _call(system: str, said: Sequence[str], question: str, behind: str = "") -> Call:
    """A request with the usual marks: at the end of the system prompt, and of what was said before."""
    last = [question, behind] if behind else [question]
    blocks = [Block(text, at in (0, len(said))) for at, text in enumerate((system, *said))]
    return Call((system, *said, *last), (*blocks, *map(Block, last)))
