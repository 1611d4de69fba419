"""Several processes that try a row at once, each in a folder of its own and with a seed of its own."""

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import TypeVar

from tests.torture.rows import Meter

Found = TypeVar("Found")
_SEEDS = 1_000_003
"""Between the seeds of two who try at once: no other run has theirs."""


def together(meter: Meter, try_it: Callable[[Meter], Found], *, each: int, most: int) -> list[Found]:
    """Let as many try a row at once as have so many trials `each` to do, and return what every one of them found."""
    count = max(1, min(most, meter.wanted // each))
    if count == 1:
        return [try_it(meter)]
    found, fork, open_ = list[Found](), get_context("fork"), list[Connection]()
    for number in range(count):
        reading, writing = fork.Pipe(duplex=False)
        fork.Process(target=_try, args=(meter, try_it, number, count, writing)).start()
        writing.close()
        open_.append(reading)
    while open_:
        for pipe in wait(open_):
            assert isinstance(pipe, Connection)
            try:
                _hear(meter, pipe.recv(), found)
            except EOFError:
                open_.remove(pipe)
    meter.check(len(found) == count, "one of those who tried it fell over")
    return found


def _hear(meter: Meter, said: object, found: list[Found]) -> None:
    """Enter how often one of them tried so far; the last word is what it found."""
    if isinstance(said, int):
        meter.tried(said)
        return
    broken, left_out, own = said  # type: ignore[misc]
    for told in broken:
        meter.check(is_kept=False, told=told)
    meter.left_out += [told for told in left_out if told not in meter.left_out]
    found.append(own)


def _try(meter: Meter, try_it: Callable[[Meter], Found], number: int, count: int, pipe: "Connection") -> None:
    folder = meter.folder / f"at-once-{number}"
    folder.mkdir()
    share, seed = -(-(meter.wanted - meter.trials) // count), meter.seed + number * _SEEDS
    told = 0

    def tell(own: Meter) -> None:
        nonlocal told
        pipe.send(own.trials - told)
        told = own.trials

    own = Meter(share, meter.seconds_left, folder, seed, tell)
    found = try_it(own)
    pipe.send((own.broken, own.left_out, found))
