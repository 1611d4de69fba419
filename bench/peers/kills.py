"""What is left of acknowledged writes when the process is killed."""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from peer import Absent, Peer, tolerated
from table import Table

KILLS = 10
HOW = (
    "One text after another is written, and counted when the peer says that it was. After 0.2 to 1 s the "
    "process is killed (kill -9) and started again over the same files; after the last kill all that is "
    "there is listed. A kill of the process is not a power cut: what the operating system was given "
    "survives it."
)


def kills(names: Sequence[str], chosen: argparse.Namespace, folder: Path) -> list[Table]:
    del chosen
    table = Table(
        "kills", f"Acknowledged writes lost to {KILLS} kills", "writes lost", how=HOW,
        command="python bench/peers kills",
    )  # fmt: skip
    for name in names:
        if name == "txtai":
            table.leave_out(name, "it writes when it is told to save, all at once")
            continue
        with tolerated(name, table):
            _add(table, name, folder / name)
    return [table]


def _add(table: Table, name: str, folder: Path) -> None:
    chance = random.Random(1)
    acknowledged, opened = set[int](), 0
    for number in range(KILLS):
        opened += _killed(name, folder, acknowledged, number * 100_000, chance)
    with Peer(name, folder) as peer:
        kept = set(peer.tell(do="kept")["kept"])
        more = {"acknowledged": len(acknowledged), "could not be opened": KILLS - opened}
        table.add(f"{name} {peer.version}", len(acknowledged - kept), **more)


def _killed(name: str, folder: Path, acknowledged: set[int], first: int, chance: random.Random) -> bool:
    """Write until the process is killed; tell whether the store could be opened.

    The first write may take long, as much is loaded for it, and is not killed.
    """
    try:
        peer = Peer(name, folder)
    except Absent:
        if not acknowledged:
            raise
        return False
    with peer:
        peer.tell(do="add", numbers=[first], texts=[f"Text {first}."])
        acknowledged.add(first)
        peer.kill_in(chance.uniform(0.2, 1.0))
        try:
            for number in range(first + 1, first + 100_000):
                peer.tell(do="add", numbers=[number], texts=[f"Text {number}."])
                acknowledged.add(number)
        except Absent:
            return True
    raise AssertionError("nothing was killed")
