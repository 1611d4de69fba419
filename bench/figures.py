"""What all benchmarks share: a table of figures beside their bars, and how a time is taken."""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

Figure = dict
Part = Callable[[Path], list[Figure]]


def figure(name: str, value: float, unit: str, bar: float | None = None, *, at_least: bool = False) -> Figure:
    """One line of the table; the bar is what the issue asks for."""
    sign = "" if bar is None else f"{'≥' if at_least else '≤'} {bar:g}"
    met = bar is None or (value >= bar if at_least else value <= bar)
    verdict = "" if bar is None else ("ok" if met else "NOT MET")
    return {"name": name, "value": round(value, 3), "unit": unit, "bar": sign, "verdict": verdict}


def best(work: Callable[[], object], rounds: int = 60) -> float:
    """The median time of some work, in milliseconds; the first rounds warm it up."""
    for _ in range(3):
        work()
    return statistics.median(timed(work) for _ in range(rounds)) * 1000


def timed(work: Callable[..., object], *given: object) -> float:
    """The time that some work takes, in seconds."""
    begin = time.perf_counter()
    work(*given)
    return time.perf_counter() - begin


def show(figures: Iterable[Figure], into: Path | None) -> None:
    """Print the table, and write it as JSON where that is wanted."""
    kept = list(figures)
    for each in kept:
        print("{name:66} {value:>12} {unit:6} {bar:>8}  {verdict}".format(**each))
    if into:
        into.write_text(json.dumps(kept, indent=2))


def options(description: str | None) -> argparse.ArgumentParser:
    """What every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser


def run(parts: Iterable[Part], into: Path | None) -> None:
    """Measure the parts in a folder and a home of their own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CARREL_HOME"] = str(Path(folder) / "home")
        show((each for part in parts for each in part(Path(folder))), into)
