"""What is found: LoCoMo's questions, each peer given the texts that suit it best."""

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from peer import Peer, tolerated
from table import Table

import locomo

HOW = (
    "The share of the turns that hold the evidence of a question among the ten best, over LoCoMo's "
    "questions of the first four categories. Each conversation is a store of its own, and each turn a "
    "text. All have the same texts, the same static embedder, and the settings that they recommend; what "
    "a text says beside the turn is tried in two ways. The milliseconds are those of a question, at the "
    "median. [`bench/locomo.py`](../../bench/locomo.py) has Carrel's own figures, with speakers and dates "
    "told as such."
)


class Run(NamedTuple):
    """How well the questions were answered, how long it took, and by what."""

    marks: list[locomo.Marks]
    milliseconds: list[float]
    version: str


def found(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    table = Table(
        "locomo", "LoCoMo: what is found", "recall@10", better="more", how=HOW,
        command="python bench/peers locomo --data DATA",
    )  # fmt: skip
    if chosen.data is None:
        table.leave_out("all", "no data; name it with `--data`")
        return [table]
    conversations = locomo.read(chosen.data)
    for told, lead in LEADS.items():
        for name in names:
            with tolerated(name, table):
                _add(table, name, told, _run(name, lead, conversations, folder / told))
    return [table]


def _add(table: Table, name: str, told: str, run: Run) -> None:
    usual = [each for each in run.marks if each.category != locomo.ADVERSARIAL]
    other = [each.recall for each in run.marks if each.category == locomo.ADVERSARIAL]
    table.add(
        f"{name} {run.version}",
        statistics.mean(each.recall for each in usual),
        group=told,
        **{
            "nDCG@10": statistics.mean(each.gain for each in usual),
            "evidence in 1,000 tokens": statistics.mean(each.within for each in usual),
            "adversarial recall@10": statistics.mean(other) if other else 0.0,
            "ms a question": statistics.median(run.milliseconds),
        },
    )


def _plain(turn: locomo.Said) -> str:
    return turn.text


def _prefixed(turn: locomo.Said) -> str:
    return f"{turn.date} {date.fromisoformat(turn.date):%-d %B %Y} {turn.speaker}:\n{turn.text}"


LEADS: Mapping[str, Callable[[locomo.Said], str]] = {
    "text alone": _plain,
    "date, speaker and text": _prefixed,
}


def _run(
    name: str,
    lead: Callable[[locomo.Said], str],
    conversations: Sequence[locomo.Conversation],
    folder: Path,
) -> Run:
    run = Run([], [], "")
    for each in conversations:
        with Peer(name, folder / name / each.name) as peer:
            run = run._replace(version=peer.version)
            peer.tell(do="add", numbers=list(range(len(each.said))), texts=[lead(turn) for turn in each.said])
            peer.tell(do="settle")
            asked = [question.text for question in each.questions]
            answers = peer.ask(asked, locomo.ENOUGH)
            for question, (milliseconds, numbers) in zip(each.questions, answers, strict=True):
                turns = (each.said[number] for number in numbers)
                run.marks.append(locomo.mark(question, [locomo.Told(turn.id, turn.text) for turn in turns]))
                run.milliseconds.append(milliseconds)
    return run
