"""Figures of recall on LoCoMo: `python bench/locomo.py [DATA] [--json FILE]`, or CARREL_LOCOMO for the path.

The data is CC BY-NC and no part of this repository. Each conversation is recorded as the sessions of a
workspace of its own, and each of its questions asked; what counts is whether the turns that hold the
evidence are found.
"""

import json
import math
import os
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from carrel import Workspace
from carrel.index import Filter
from figures import Figure, figure, options, run

TOP = 10
TOKENS = 1_000
ENOUGH = 60
"""Hits that are asked for: more than fit into the tokens."""

ADVERSARIAL = 5
BARS = {"lexical": (0.76, 0.60, 0.83, 0.80), "hybrid": (0.79, 0.62, 0.85, 0.80)}
NAMES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single"}
DAY = re.compile(r"(\d{1,2}) (\w+),? (\d{4})")
EVIDENCE = re.compile(r"D\d+:\d+")


class Said(NamedTuple):
    """One turn of a conversation; `id` is what evidence names."""

    id: str
    session: int
    speaker: str
    date: str
    text: str


class Question(NamedTuple):
    """A question, its category, and the turns that hold the answer."""

    text: str
    category: int
    evidence: frozenset[str]


class Conversation(NamedTuple):
    """What was said, and what is asked of it."""

    name: str
    said: tuple[Said, ...]
    questions: tuple[Question, ...]


class Told(NamedTuple):
    """A hit, as far as it counts here: the turn, and the text that a model would read."""

    id: str
    text: str


Ask = Callable[[str], Sequence[Told]]
"""Answers a question about one conversation."""


def main() -> None:
    parser = options(__doc__)
    default = os.environ.get("CARREL_LOCOMO")
    parser.add_argument("data", type=Path, nargs="?", default=default, help="locomo as JSON")
    parser.add_argument("--together", action="store_true", help="also ask one index of all conversations")
    chosen = parser.parse_args()
    if chosen.data is None:
        parser.error("name the data, or set CARREL_LOCOMO")
    conversations = read(chosen.data)
    parts = [partial(separately, conversations, mode) for mode in BARS]
    if chosen.together:
        parts += [partial(together, conversations, mode) for mode in BARS]
    run(parts, chosen.json)


# The data


def read(path: Path) -> list[Conversation]:
    return [conversation(each) for each in json.loads(path.read_text("utf-8"))]


def conversation(given: dict) -> Conversation:
    said = tuple(turns(given["conversation"]))
    known = {each.id for each in said}
    asked = (
        Question(each["question"], each["category"], frozenset(named(each["evidence"])) & known)
        for each in given["qa"]
    )
    return Conversation(given["sample_id"], said, tuple(each for each in asked if each.evidence))


def turns(given: dict) -> Iterator[Said]:
    numbers = sorted(int(key.split("_")[1]) for key in given if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        date = day(given[f"session_{number}_date_time"])
        for turn in given[f"session_{number}"]:
            text = turn["text"]
            if turn.get("blip_caption"):
                text += f" [photo: {turn['blip_caption']}]"
            yield Said(turn["dia_id"], number, turn["speaker"], date, text)


def day(told: str) -> str:
    found = DAY.search(told)
    assert found, told
    return f"{datetime.strptime(' '.join(found.groups()), '%d %B %Y'):%Y-%m-%d}"  # noqa: DTZ007 - a day has no zone


def named(evidence: Iterable[str]) -> Iterator[str]:
    for each in evidence:
        yield from EVIDENCE.findall(each)


# What is measured of the answers, whoever gives them


class Marks(NamedTuple):
    """How well one question was answered."""

    category: int
    recall: float
    gain: float
    within: float


def mark(question: Question, hits: Sequence[Told]) -> Marks:
    order = list(dict.fromkeys(hit.id for hit in hits))[:TOP]
    gains = [1 / math.log2(rank + 1) for rank in range(1, TOP + 1)]
    gain = sum(worth for worth, own in zip(gains, order, strict=False) if own in question.evidence)
    best = sum(gains[: len(question.evidence)])
    return Marks(
        question.category,
        len(question.evidence.intersection(order)) / len(question.evidence),
        gain / best,
        len(question.evidence & set(fitting(hits))) / len(question.evidence),
    )


def fitting(hits: Sequence[Told]) -> Iterator[str]:
    """The turns that fit into the tokens, a quarter of a character each, in their order."""
    room = TOKENS * 4.0
    for hit in hits:
        room -= len(hit.text)
        if room < 0:
            return
        yield hit.id


def summary(marks: Sequence[Marks], name: str, bars: Sequence[float | None]) -> list[Figure]:
    usual = [each for each in marks if each.category != ADVERSARIAL]
    other = [each.recall for each in marks if each.category == ADVERSARIAL]
    mean = statistics.mean
    lines = [
        figure(
            f"{name}: recall@10, {len(usual)} questions",
            mean(m.recall for m in usual),
            "",
            bars[0],
            at_least=True,
        ),
        figure(f"{name}: nDCG@10", mean(m.gain for m in usual), "", bars[1], at_least=True),
        figure(
            f"{name}: evidence in 1,000 tokens", mean(m.within for m in usual), "", bars[2], at_least=True
        ),
    ]
    if other:
        lines.append(figure(f"{name}: recall@10, adversarial", mean(other), "", bars[3], at_least=True))
    for category, kind in NAMES.items():
        own = [each.recall for each in usual if each.category == category]
        if own:
            lines.append(figure(f"{name}:   recall@10, {kind}", mean(own), ""))
    return lines


# How the answers are had


def separately(conversations: Sequence[Conversation], mode: str, folder: Path) -> list[Figure]:
    marks = []
    for each in conversations:
        workspace, ask = indexed([each], mode, folder / f"{mode}-{each.name}")
        marks += [mark(question, ask(question.text)) for question in each.questions]
        workspace.close()
    return summary(marks, mode, BARS[mode])


def together(conversations: Sequence[Conversation], mode: str, folder: Path) -> list[Figure]:
    """One index of all; the ids of turns are made one conversation's by its name."""
    renamed = [
        Conversation(
            each.name,
            tuple(turn._replace(id=f"{each.name} {turn.id}") for turn in each.said),
            tuple(
                q._replace(evidence=frozenset(f"{each.name} {own}" for own in q.evidence))
                for q in each.questions
            ),
        )
        for each in conversations
    ]
    workspace, ask = indexed(renamed, mode, folder / f"{mode}-all")
    marks = [mark(question, ask(question.text)) for each in renamed for question in each.questions]
    workspace.close()
    return summary(marks, f"{mode}, all in one index", (None,) * 4)


def indexed(conversations: Sequence[Conversation], mode: str, folder: Path) -> tuple[Workspace, Ask]:
    """A workspace in which the conversations are recorded as sessions, and how it is asked."""
    environ = {"CARREL_HOME": str(folder / "home")}
    Workspace.init(folder / "desk", environ=environ)
    settings = "static" if mode == "hybrid" else "none"
    with (folder / "desk/carrel.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\nsearch: {{embedder: {settings}}}\n")
    Workspace.trust(folder / "desk", environ=environ)
    workspace = Workspace.open(folder / "desk", environ=environ)
    for each in conversations:
        for session, said in groupby(each.said, key=lambda turn: turn.session):
            workspace.record(f"{each.name}-{session}", [message(turn) for turn in said])
    sessions = Filter(tiers=("session",))

    def ask(text: str) -> list[Told]:
        found = workspace.search(text, mode=mode, limit=ENOUGH, within=sessions)
        assert not found.degraded, found.findings
        return [Told(hit.chunk.message_id, hit.chunk.text) for hit in found.hits]

    return workspace, ask


def message(turn: Said) -> dict[str, str]:
    return {
        "role": "user",
        "content": turn.text,
        "name": turn.speaker,
        "message_id": turn.id,
        "timestamp": f"{turn.date}T12:00:00.000Z",
    }


if __name__ == "__main__":
    main()
