"""Carrel beside its peers: `python bench/peers [PART…] [--install] [--peer NAME]… [--data FILE] [--out DIR]`.

The same work in one run, each peer in an environment of its own, with the same embedder and the same texts:
`assembly` the next prompt, beside a loader that reads and counts; `cache` what a provider's cache holds of a
hundred requests; `locomo` what is found; `speed` ingest and search of 50,000 chunks; `kills` what is left of
acknowledged writes after kill -9. What could not run is told with its reason. Tables and plots are written
to DIR.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(1, str(Path(__file__).parents[1]))  # the benchmarks beside this folder

try:
    from assembling import assembly
    from caching import caching
    from drawing import write
    from kills import kills
    from peer import CARREL, PACKAGES, install, versions
    from retrieval import found
    from speed import speed
    from table import Table

    import search
except ModuleNotFoundError as missing:  # after `make demo` alone, for instance
    sys.exit(
        f"{missing.name} is not installed: `make .venv/.benched` installs what benchmarks need, "
        "and `.venv/bin/python bench/peers` has it."
    )

Part = Callable[[Sequence[str], argparse.Namespace, Path], list[Table]]
PARTS: Mapping[str, Part] = {
    "assembly": assembly,
    "cache": caching,
    "locomo": found,
    "speed": speed,
    "kills": kills,
}
ALONE = ("assembly", "cache")
"""Parts in which no peer takes part."""


def main() -> None:
    chosen = _chosen()
    names = chosen.peer or list(PACKAGES)
    if chosen.install:
        _install(names)
        return
    for part in chosen.parts or list(PARTS):
        machine, began = _machine([CARREL] if part in ALONE else names), time.perf_counter()
        with tempfile.TemporaryDirectory(prefix=f"peers-{part}-") as folder:
            tables = PARTS[part](names, chosen, Path(folder))
        for table in tables:
            print(f"\n### {table.title}\n\n{table.to_markdown()}", flush=True)
        if chosen.out:  # after each part, so that an end before the end loses no more than one
            write(chosen.out, tables, machine)
        print(f"  {part}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python bench/peers", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--install", action="store_true", help="only make the peers' environments in .peers/")
    parser.add_argument("--peer", action="append", choices=list(PACKAGES), help="only this one; repeatable")
    parser.add_argument("--data", type=Path, help="LoCoMo as JSON, for the part `locomo`")
    parser.add_argument("--chunks", type=int, default=search.CHUNKS)
    parser.add_argument("--out", type=Path, help="a folder for tables (Markdown, JSON) and plots (SVG)")
    return parser.parse_args()


def _install(names: Sequence[str]) -> None:
    for name in names:
        print(f"installing {name} …", flush=True)
        try:
            install(name)
        except subprocess.CalledProcessError as error:
            print(f"{name} cannot be installed: pip ended with {error.returncode}", flush=True)


def _machine(names: Sequence[str]) -> dict[str, Any]:
    """What the figures depend on beside the code: the machine, what else it did, and what was installed."""
    return {
        "date": f"{date.today()}",  # noqa: DTZ011 - the reader's day
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory": f"{round(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30)} GB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions(names),
    }


def _processor() -> str:
    """What Linux says it is; elsewhere its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


if __name__ == "__main__":
    main()
