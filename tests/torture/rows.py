"""What a row of the table is: a promise, tried again and again until it was tried often enough or time is up."""

import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

MOST_TOLD = 20
_MEMORY = Path("/dev/shm")


class Meter:
    """How often a promise was tried, and each time that it was not kept."""

    def __init__(
        self, wanted: int, seconds: float, folder: Path, seed: int = 1, watch: "Watch | None" = None
    ) -> None:
        self.wanted, self.folder, self.seed = wanted, folder, seed
        self.trials = 0
        self.broken: list[str] = []
        self.figures: dict[str, str] = {}
        self.left_out: list[str] = []
        self.fault = ""
        """Why the row itself broke off, if it did: what it would have told after that nobody knows."""

        self._end = time.monotonic() + seconds
        self._watch = watch

    @property
    def goes_on(self) -> bool:
        """Whether there is more to try, and time for it."""
        return self.trials < self.wanted and self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        return self._end - time.monotonic()

    def tried(self, count: int = 1) -> None:
        self.trials += count
        if self._watch is not None:
            self._watch(self)

    def check(self, is_kept: object, told: str) -> None:
        """Write down what was not kept; the first few are told, all are counted."""
        if not is_kept:
            self.broken.append(told if len(self.broken) < MOST_TOLD else "")


Watch = Callable[[Meter], None]
"""Who looks on while a row is tried, to show how far it is."""


class Defect(NamedTuple):
    """A fault to put into a copy of the source, to see that a row tells of it."""

    file: str
    """Below `src/carrel`."""

    old: str
    """There exactly once; a test holds that."""

    new: str
    says: str
    """What is wrong then, in a few words."""


class Row(NamedTuple):
    """A promise, how often it is tried in the quick tier and in the long one, and its share of the time.

    Shares are the minutes, about, that the long tier takes on two processors with nothing else to do.
    """

    number: int
    promise: str
    quick: int
    long: int
    share: float
    run: Callable[[Meter], None]
    passes: str
    defects: tuple[Defect, ...] = ()
    parts: int = 1
    """Into how many tests the quick tier is divided: each tries its part, with a seed of its own from 1 on."""

    in_memory: bool = False
    """Whether it asks nothing of a disk, so that memory will do for one, where there is such a folder."""

    paced: bool = False
    """Whether it is to last rather than to be often: it runs beside the others, for all of the time."""


def held(row: Row, wanted: int, seconds: float, *, seed: int = 1, watch: Watch | None = None) -> Meter:
    """Try a row in a folder of its own, and return what came of it."""
    memory = _MEMORY if row.in_memory and os.access(_MEMORY, os.W_OK) else None
    with TemporaryDirectory(prefix=f"torture-{row.number}-", dir=memory) as folder:
        meter = Meter(wanted, seconds, Path(folder), seed, watch)
        try:
            row.run(meter)
        except Exception as error:  # noqa: BLE001 - what it had found by then is told all the same
            traceback.print_exc()
            meter.fault = f"{type(error).__name__}: {error}"
    return meter
