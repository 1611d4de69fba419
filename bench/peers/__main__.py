"""Carrel beside its peers: `python bench/peers [PART…] [--install] [--peer NAME]… [--data FILE] [--out DIR]`.

The same work in one run, each peer in an environment of its own, with the same embedder and the same texts:
`locomo` what is found, `speed` ingest and search of 50,000 chunks, `kills` what is left of acknowledged
writes after kill -9. What could not run is told with its reason. Tables and plots are written to DIR.
"""

import argparse
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1]))  # the benchmarks beside this folder

from drawing import Table, write
from peer import PACKAGES, Missing, Peer, install

import locomo
import search

BATCH = 1_000
A_ROUND, WARM = 50, 5
"""Questions that one is asked before it is another's turn, and those before them that do not count."""

LONGEST = 300.0
"""Seconds after which an ingest is stopped, and told as such."""

KILLS = 10
Part = Callable[[Sequence[str], argparse.Namespace, Path], list[Table]]


def main() -> None:
    chosen = _chosen()
    names = chosen.peer or list(PACKAGES)
    if chosen.install:
        for name in names:
            print(f"installing {name} …", flush=True)
            install(name)
    tables: list[Table] = []
    for part in chosen.parts or list(PARTS):
        with tempfile.TemporaryDirectory(prefix=f"peers-{part}-") as folder:
            for table in PARTS[part](names, chosen, Path(folder)):
                print(f"\n{table.to_markdown()}", flush=True)
                tables.append(table)
    if chosen.out:
        write(chosen.out, tables, _machine())


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python bench/peers", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--install", action="store_true", help="make the peers' environments in .peers/")
    parser.add_argument("--peer", action="append", choices=list(PACKAGES), help="only this one; repeatable")
    parser.add_argument("--data", type=Path, help="LoCoMo as JSON, for the part `locomo`")
    parser.add_argument("--chunks", type=int, default=search.CHUNKS)
    parser.add_argument("--out", type=Path, help="a folder for tables (Markdown, JSON) and plots (SVG)")
    return parser.parse_args()


def _machine() -> dict[str, str]:
    cores = str(os.cpu_count())
    return {"date": f"{date.today()}", "python": platform.python_version(), "cores": cores}  # noqa: DTZ011


# What is found


def found(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    """Recall of the turns that hold the evidence, of each peer with the text that suits it best."""
    if chosen.data is None:
        return [Table.without("locomo", "LoCoMo: what is found", "no data: name it with --data")]
    conversations = locomo.read(chosen.data)
    table = Table("locomo", "LoCoMo: what is found", "recall@10", better="more")
    for name in names:
        with _tolerated(table, name):
            ways = {told: _marks(name, lead, conversations, folder / told) for told, lead in LEADS.items()}
            for told, (marks, version) in ways.items():
                usual = [each for each in marks if each.category != locomo.ADVERSARIAL]
                other = [each.recall for each in marks if each.category == locomo.ADVERSARIAL]
                table.add(
                    f"{name} {version}, {told}",
                    statistics.mean(each.recall for each in usual),
                    {
                        "nDCG@10": statistics.mean(each.gain for each in usual),
                        "evidence in 1,000 tokens": statistics.mean(each.within for each in usual),
                        "adversarial recall@10": statistics.mean(other),
                    },
                )
    return [table]


def _plain(turn: locomo.Said) -> str:
    return turn.text


def _prefixed(turn: locomo.Said) -> str:
    return f"{turn.date} {date.fromisoformat(turn.date):%-d %B %Y} {turn.speaker}:\n{turn.text}"


LEADS: Mapping[str, Callable[[locomo.Said], str]] = {
    "text alone": _plain,
    "date, speaker and text": _prefixed,
}


def _marks(
    name: str,
    lead: Callable[[locomo.Said], str],
    conversations: Sequence[locomo.Conversation],
    folder: Path,
) -> tuple[list[locomo.Marks], str]:
    marks = list[locomo.Marks]()
    version = ""
    for each in conversations:
        with Peer(name, folder / name / each.name) as peer:
            version = peer.version
            peer.tell(do="add", numbers=list(range(len(each.said))), texts=[lead(turn) for turn in each.said])
            peer.tell(do="settle")
            asked = [question.text for question in each.questions]
            answers = peer.tell(do="ask", texts=asked, limit=locomo.ENOUGH)["answers"]
            for question, (_, numbers) in zip(each.questions, answers, strict=True):
                turns = (each.said[number] for number in numbers)
                marks.append(locomo.mark(question, [locomo.Told(turn.id, turn.text) for turn in turns]))
    return marks, version


# How long it takes


def speed(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    """Ingest one after the other, then questions in turns, so that each has its share of the machine."""
    texts = list(search.Talk(chosen.chunks).texts())
    ingest = Table("ingest", f"Ingest of {chosen.chunks:,} chunks", "s")
    peers: dict[str, Peer] = {}
    for name in names:
        with _tolerated(ingest, name):
            peer = Peer(name, folder / name)
            peers[f"{name} {peer.version} ({peer.about})"] = peer
            seconds, added = _ingested(peer, texts)
            ingest.add(f"{name} {peer.version}", seconds, {"chunks": added})
    tables = [ingest]
    for size in (5, 50):
        taken = _times(peers, search.questions(size))
        table = Table(f"search-{size}", f"Search, questions of {size} words", "ms, p50")
        for told, own in taken.items():
            table.add(told, own[len(own) // 2], {"p99": own[len(own) * 99 // 100]})
        tables.append(table)
    for peer in peers.values():
        peer.close()
    return tables


def _ingested(peer: Peer, texts: Sequence[str]) -> tuple[float, int]:
    began, added = time.perf_counter(), 0
    while added < len(texts) and time.perf_counter() - began < LONGEST:
        part = texts[added : added + BATCH]
        peer.tell(do="add", numbers=list(range(added, added + len(part))), texts=part)
        added += len(part)
    peer.tell(do="settle")
    return time.perf_counter() - began, added


def _times(peers: Mapping[str, Peer], asked: Sequence[str]) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for start in range(0, len(asked), A_ROUND):
        for name, peer in peers.items():
            texts = [*asked[:WARM], *asked[start : start + A_ROUND]]
            answers = peer.tell(do="ask", texts=texts, limit=10)["answers"]
            taken[name] += [milliseconds for milliseconds, _ in answers[WARM:]]
    return {name: sorted(own) for name, own in taken.items()}


# What is left after a kill


def kills(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    """Write one text after another, each acknowledged, kill the process, and look what is there."""
    del chosen
    table = Table("kills", f"Acknowledged writes lost to {KILLS} kills of the process", "lost")
    for name in names:
        if name == "txtai":
            table.leave_out("txtai", "it writes when it is told to save, all at once")
            continue
        with _tolerated(table, name):
            chance = random.Random(1)
            acknowledged, broken = set[int](), 0
            for number in range(KILLS):
                broken += not _killed(name, folder / name, acknowledged, number * 100_000, chance)
            with Peer(name, folder / name) as peer:
                kept = set(peer.tell(do="kept")["kept"])
                more = {"acknowledged": len(acknowledged), "could not be opened": broken}
                table.add(f"{name} {peer.version}", len(acknowledged - kept), more)
    return [table]


def _killed(name: str, folder: Path, acknowledged: set[int], first: int, chance: random.Random) -> bool:
    """Write until the process is killed; tell whether the store could be opened."""
    try:
        peer = Peer(name, folder)
    except EOFError:
        return False
    with peer, suppress(EOFError):
        peer.tell(do="add", numbers=[first], texts=[f"Text {first}."])
        acknowledged.add(first)
        peer.kill_in(chance.uniform(0.2, 1.0))
        for number in range(first + 1, first + 100_000):
            peer.tell(do="add", numbers=[number], texts=[f"Text {number}."])
            acknowledged.add(number)
    return True


@contextmanager
def _tolerated(table: Table, name: str) -> Iterator[None]:
    """A peer that is missing or fails is told in the table, and the others go on."""
    print(f"  {table.title}: {name} …", file=sys.stderr, flush=True)
    try:
        yield
    except Missing as error:
        table.leave_out(name, str(error))
    except EOFError:
        table.leave_out(name, "it ended with an error")


PARTS: Mapping[str, Part] = {"locomo": found, "speed": speed, "kills": kills}

if __name__ == "__main__":
    main()
