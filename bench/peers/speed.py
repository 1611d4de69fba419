"""How long it takes: many chunks taken in, then questions asked of all in turns."""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from peer import Absent, Peer, tolerated
from table import Table

import search

BATCH = 1_000
A_ROUND, WARM = 25, 5
"""Questions that one is asked before it is another's turn, and those before them that do not count."""

LONGEST = 90.0
"""Seconds after which an ingest goes no further; how far it came is told."""

LONGEST_ASKED = 25.0
"""Seconds of answers after which one is asked no more."""

INGEST = (
    "Texts of 13 to 48 words, in batches of 1,000, embedded and written by the peer's own means, until it "
    "says that all is searchable. One peer at a time; after 90 s it is stopped, and the number of "
    "chunks says how far it came. Carrel records them as messages of sessions, each durable before the "
    "next batch."
)
SEARCH = (
    "The ten best of all chunks that were taken in, the embedding of the question included. 300 "
    "questions, 25 to one peer and then 25 to the next, so that each has its share of the machine's "
    "moods; who needs more than 25 s for them is asked fewer."
)


class Taken(NamedTuple):
    """A peer with what it took in."""

    peer: Peer
    note: str
    chunks: int


def speed(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    texts = list(search.Talk(chosen.chunks).texts())
    command = f"python bench/peers speed --chunks {chosen.chunks}"
    ingest = Table(
        "ingest",
        f"Ingest of {chosen.chunks:,} chunks",
        "chunks a second",
        better="more",
        command=command,
        how=INGEST,
    )
    asked = Table(
        "search", f"Search in {chosen.chunks:,} chunks", "milliseconds, median", command=command, how=SEARCH
    )
    peers: dict[str, Taken] = {}
    for name in names:
        with tolerated(name, ingest, asked):
            peer = Peer(name, folder / name)
            seconds, added = _ingested(peer, texts)
            short = "" if added == len(texts) else f", of {added:,} chunks"
            told, note = f"{name} {peer.version}", f"{peer.about}{short}"
            peers[told] = Taken(peer, note, added)
            ingest.add(told, round(added / seconds), note, seconds=seconds, chunks=added)
    for size in (5, 50):
        _ask(asked, peers, size)
    for each in peers.values():
        each.peer.close()
    return [ingest, asked]


def _ingested(peer: Peer, texts: Sequence[str]) -> tuple[float, int]:
    began, added = time.perf_counter(), 0
    while added < len(texts) and time.perf_counter() - began < LONGEST:
        part = texts[added : added + BATCH]
        peer.tell(do="add", numbers=list(range(added, added + len(part))), texts=part)
        added += len(part)
    peer.tell(do="settle")
    return time.perf_counter() - began, added


def _ask(table: Table, peers: Mapping[str, Taken], size: int) -> None:
    for name, own in _times(table, peers, search.questions(size)).items():
        own.sort()
        more = {"p99": own[len(own) * 99 // 100], "questions": len(own), "chunks": peers[name].chunks}
        table.add(name, own[len(own) // 2], peers[name].note, f"Questions of {size} words", **more)


def _times(table: Table, peers: Mapping[str, Taken], asked: Sequence[str]) -> dict[str, list[float]]:
    """The milliseconds of each answer; a peer that fails on the way is left out of them."""
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for start in range(0, len(asked), A_ROUND):
        for name in [name for name, own in taken.items() if sum(own) < LONGEST_ASKED * 1000]:
            texts = [*asked[:WARM], *asked[start : start + A_ROUND]]
            try:
                answers = peers[name].peer.ask(texts, 10)
            except Absent as error:
                table.leave_out(name, str(error))
                del taken[name]
                continue
            taken[name] += [milliseconds for milliseconds, _ in answers[WARM:]]
    return taken
