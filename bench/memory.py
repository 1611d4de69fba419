"""Figures of memory: `python bench/memory.py [--json FILE]`.

A change of memory is held against a bare durable replace of the same file, a turn with memory against the
same turn without.
"""

import asyncio
import os
import statistics
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from carrel import Workspace
from carrel.index import Filter
from carrel.runtime.model import Reply, Request, Spend
from figures import Figure, figure, options, run, timed

MEGABYTE = 1024 * 1024
ROUNDS = 40
TURNS = 60
FACTS = 10_000
"""Facts over which memory is searched."""

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper")


def main() -> None:
    given = options(__doc__).parse_args()
    run((appending, turns, searching, reading), given.json)


def make(folder: Path, *, settings: str = "") -> Path:
    """Make a trusted workspace with these settings."""
    Workspace.init(folder)
    (folder / "carrel.yaml").write_text(f"layout: carrel\nagents:\n  - id: kate\n{settings}")
    Workspace.trust(folder)
    return folder


def appending(folder: Path) -> list[Figure]:
    """An append to a section of a large notebook, with and without git, beside a bare replace of the file."""
    plain = make(folder / "plain")
    with_git = make(folder / "git", settings="    workspace_git: {enabled: true}\n")
    line = "- A line of an old notebook that nobody has looked at for a while.\n"
    text = (
        "# Notes\n\n"
        + line * (MEGABYTE // len(line) // 2)
        + "\n## People\n\n"
        + line * (MEGABYTE // len(line) // 2)
    )
    for root in (plain, with_git):
        (root / "MEMORY.md").write_text(text)
    rows: list[tuple[float, float, float]] = []
    with Workspace.open(plain) as one, Workspace.open(with_git) as other:
        notebooks = [each.memory.notebook("MEMORY.md") for each in (one, other)]
        for number in range(ROUNDS):
            bare = timed(bare_replace, one, text + f"- {number}\n")
            took = [timed(book.append, "People", f"- Fact number {number}.") for book in notebooks]
            rows.append((bare, took[0], took[1]))
    bare, append, commit = (statistics.median(row[n] for row in rows[5:]) for n in range(3))
    return [
        figure("bare durable replace of a 1 MB file", bare * 1000, "ms"),
        figure("section append to a 1 MB notebook / bare replace", append / bare, "x", 6),
        figure("the same with git", commit / bare, "x", 12),
    ]


def bare_replace(workspace: Workspace, text: str) -> None:
    """Write a file anew: temporary file, fsync, rename, fsync of the directory."""
    path = workspace.root / "bare.md"
    with open(f"{path}.tmp", "wb") as file:  # noqa: PTH123 - as bare as can be
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.tmp", path)  # noqa: PTH105 - as above
    fd = os.open(workspace.root, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def turns(folder: Path) -> list[Figure]:
    """The same turns with memory on and off, in turns; what the one left to be indexed is waited for.

    Otherwise the first of a pair would be timed alone, and the second beside the indexing of the first.
    """
    roots = [
        make(folder / name, settings=f"    memory_enabled: {value}\n")
        for name, value in (("on", "true"), ("off", "false"))
    ]
    took: tuple[list[float], list[float]] = ([], [])

    async def hold(workspace: Workspace, text: str) -> None:
        async with aclosing(workspace.turn("s1", text, model=Answering())) as events:
            async for _ in events:
                pass

    with Workspace.open(roots[0]) as on, Workspace.open(roots[1]) as off, asyncio.Runner() as runner:
        for number in range(TURNS):
            text = (
                f"I prefer {WORDS[number % 10]} in week {number}, and the {WORDS[number % 7]} report is due."
            )
            pair = list(zip(took, (on, off), strict=True))
            for times, workspace in pair if number % 2 else reversed(pair):
                times.append(timed(lambda: runner.run(hold(workspace, text))) * 1000)  # noqa: B023 - run at once
                workspace.searching.wait()
        waiting = on.records.queue.counts()["waiting"]
    with_memory, without = (statistics.median(times[5:]) for times in took)
    slowest = max(took[0][5:]) - max(took[1][5:])
    return [
        figure("a turn without memory", without, "ms"),
        figure("a turn with memory, beyond 5 % more", with_memory - without * 1.05, "ms", 2),
        figure("the slowest with memory, beyond the slowest without", slowest, "ms"),
        figure("extractions that wait in the queue", waiting, "jobs", 1, at_least=True),
    ]


class Answering:
    """A model that answers at once."""

    name = "scripted"

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        del request
        yield "Noted."
        yield Reply(text="Noted.", spend=Spend(input=10, output=2))


def searching(folder: Path) -> list[Figure]:
    """`memory search` over many facts."""
    root = make(folder / "facts")
    lines = (
        f"- {' '.join(WORDS[(number // 10**place) % 10] for place in range(5))} {number}."
        for number in range(FACTS)
    )
    (root / "memory").mkdir(exist_ok=True)
    (root / "memory" / "kate.md").write_text("# Kate\n\n## Insights\n\n" + "\n".join(lines) + "\n")
    with Workspace.open(root) as workspace:
        workspace.search("amber")
        literal, words = [], []
        for number in range(0, FACTS, FACTS // 100):
            query = " ".join(WORDS[(number // 10**place) % 10] for place in range(3))
            words.append(timed(lambda: workspace.search(query, within=Filter(tiers=("profile",)))) * 1000)  # noqa: B023 - run at once
            literal.append(timed(lambda: workspace.search(f"{number}.", mode="literal")) * 1000)  # noqa: B023 - as above
    return [
        figure(f"memory search over {FACTS:,} facts, p50", statistics.median(words), "ms", 5),
        figure("the same as typed (--mode literal), p50", statistics.median(literal), "ms", 5),
    ]


def reading(folder: Path) -> list[Figure]:
    """What extraction gives a model to read, late in a long session against early."""
    root = make(folder / "long")
    sizes: list[int] = []

    class Measuring(Answering):
        async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
            sizes.append(sum(len(message.to_text()) for message in request.messages))
            yield Reply(text='{"facts": []}', spend=Spend(input=10, output=2))

    with Workspace.open(root) as workspace:
        for number in range(200):
            text = f"In week {number} the {WORDS[number % 10]} team met, and {WORDS[number % 7]} was moved."
            workspace.record(
                "s1", [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
            )
            if number % 5 == 4:
                workspace.sweep(model=Measuring())
    early, late = statistics.median(sizes[1:5]), statistics.median(sizes[-5:])
    return [
        figure("extractions in 200 turns", len(sizes), "calls"),
        figure("what the last of them read, against the first", late / early, "x", 1.2),
    ]


if __name__ == "__main__":
    main()
