"""Figures of many tenants on one PostgreSQL: `python bench/scale.py [--only PART] [--full] [--json FILE]`.

A real PostgreSQL 18 with pgvector is started from a wheel. It shares the processors of this machine with what
is measured, so that what counts are ratios.
"""

import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import engine
import scale_assembly
import scale_queue
import scale_search
import scale_servers
from figures import Figure, figure, options, run

Part = Callable[[engine.postgres.Server, int], list[Figure]]
"""Measures on a server; the number says how many times as much as the least there is to be."""

PARTS: dict[str, Part] = {
    "search": scale_search.measure,
    "assembly": scale_assembly.measure,
    "servers": scale_servers.measure,
    "queue": scale_queue.measure,
}
LIMITS = {
    "search": "the rows come from this machine's memory; from a disk, a tenant's first question reads them.",
    "assembly": "a round trip costs nothing here; between machines each costs the way there and back.",
    "servers": "its {cores} processors are shared by the servers, the database and the clients, so that a "
    "second server wins only what those leave.",
    "queue": "its {cores} processors are shared by the workers, the database and the starts of new workers.",
}
TIMES, FULL = 10, 100
MINUTES = 20


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", choices=list(PARTS), action="append", help="measure this part, no other")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--full", action="store_true", help=f"10,000 tenants: {MINUTES} minutes at most")
    sizes.add_argument("--times", type=int, default=TIMES, help="so many times 100 tenants; 10 unless told")
    chosen = parser.parse_args()
    names = chosen.only or list(PARTS)
    run([partial(measure, names, FULL if chosen.full else chosen.times)], chosen.json)
    print("\nWhat this machine limits")
    for name in names:
        print(f"  {name}: {LIMITS[name].format(cores=engine.cores())}")


def measure(names: Iterable[str], times: int, folder: Path) -> list[Figure]:
    del folder  # the server has one of its own
    begin = time.perf_counter()
    figures: list[Figure] = []
    with engine.started() as server:
        print(engine.told(server), flush=True)
        for name in names:
            print(f"… {name}", flush=True)
            figures += PARTS[name](server, times)
    print()
    return [*figures, figure("all of this", (time.perf_counter() - begin) / 60, "min", MINUTES)]


if __name__ == "__main__":
    main()
