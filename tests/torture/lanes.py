"""Rows side by side: each in a process of its own, as many at a time as there are processors for.

A row that is paced leaves its processor alone most of the time: it gets all the time there is, beside the others.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from tests.torture.rows import Row

Try = Callable[[Row, float], int]
"""Tries a row for so many seconds, and returns how that ended."""


def count_lanes(*, is_paced: bool) -> int:
    """One for each processor; where something is paced, one of them is for that."""
    return max(1, len(os.sched_getaffinity(0)) - is_paced)


def try_all(rows: Sequence[Row], seconds: float, try_one: Try) -> list[int]:
    """Try all rows within a time: each has its share of what is left when its turn comes."""
    paced = [row for row in rows if row.paced]
    waiting = sorted((row for row in rows if not row.paced), key=lambda row: row.number)
    end, lock, lanes = time.monotonic() + seconds, Lock(), count_lanes(is_paced=bool(paced))

    def take() -> tuple[Row, float] | None:
        with lock:
            if not waiting:
                return None
            shares = sum(row.share for row in waiting)
            row, left = waiting.pop(0), max(0.0, end - time.monotonic())
            return row, min(left, left * lanes * row.share / shares)

    def go() -> list[int]:
        ended = list[int]()
        while turn := take():
            ended.append(try_one(*turn))
        return ended

    with ThreadPoolExecutor(lanes + len(paced)) as pool:
        beside = [pool.submit(try_one, row, seconds) for row in paced]
        along = [pool.submit(go) for _ in range(lanes)]
        return [each.result() for each in beside] + [code for each in along for code in each.result()]


def in_process(words: Sequence[str], tell: Callable[[str], None]) -> Try:
    """Return how to try a row in a process of its own, and to tell of it when it is done."""

    def try_one(row: Row, seconds: float) -> int:
        own = ("--only", str(row.number), "--minutes", f"{seconds / 60:.3f}")
        done = subprocess.run(
            [sys.executable, "-m", "tests.torture", *own, *words], capture_output=True, text=True, check=False
        )
        tell(done.stdout + done.stderr)
        return done.returncode

    return try_one
