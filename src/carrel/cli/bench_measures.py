"""What Carrel does around an agent's turn, measured on a workspace that nobody needs afterwards."""

import asyncio
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import perf_counter

from msgspec import Struct

from carrel.app import Workspace
from carrel.index import Mode

SESSION = "carrel-bench"
ROUNDS = 20
PROCESSES = 3
_WORDS = 5
_WORD = re.compile(r"[^\W\d_]{4,}")


class Figure(Struct, frozen=True):
    """How long one thing took, at the median and at the worst of its rounds, in milliseconds."""

    group: str
    name: str
    median: float
    worst: float
    rounds: int


class Size(Struct, frozen=True):
    """What was measured: how much there is of it."""

    files: int
    chunks: int
    tokens: int
    embedder: str


class Measured(Struct, frozen=True):
    """The figures of one workspace."""

    size: Size
    figures: tuple[Figure, ...]


Step = Callable[[Workspace], Iterator[Figure]]


class Subject(Struct, frozen=True):
    """The workspace to be measured, which is written to: a copy."""

    root: Path
    environ: Mapping[str, str]
    agent: str | None = None
    lower: str | None = None

    def open(self) -> Workspace:
        """Open it, as often as it is wanted."""
        return Workspace.open(self.root, agent=self.agent, lower=self.lower, environ=self.environ)

    def command(self, *words: str) -> list[str]:
        """Return what runs a command on it in a process of its own."""
        named = {"-C": str(self.root), "--agent": self.agent, "--lower": self.lower}
        chosen = [word for option, value in named.items() if value for word in (option, value)]
        return [sys.executable, "-P", "-m", "carrel", *chosen, *words]  # no code of where it is run


def measure(subject: Subject, progress: Callable[[int, int], None] | None) -> Measured:
    """Measure a workspace."""
    steps: tuple[Step, ...] = (_index, _prompt, _searches, _turns)
    with subject.open() as workspace:
        figures = list(_processes(subject))
        for number, step in enumerate(steps, 1):
            figures += step(workspace)
            if progress:
                progress(number, len(steps))
        return Measured(_size(workspace), tuple(figures))


def _size(workspace: Workspace) -> Size:
    held, index = workspace.health(), workspace.searching.status()
    tokens = workspace.assemble().report.tokens.used
    return Size(files=held.files, chunks=index.chunks, tokens=tokens, embedder=index.embedder or "")


def _processes(subject: Subject) -> Iterator[Figure]:
    """As a command line or a hook is started."""
    command = subject.command("context", "report", "--oneline")

    def start() -> None:
        asyncio.run(_started(command, subject.environ))

    yield _timed("A new process", "context report, nothing counted yet", start, rounds=1)
    yield _timed("A new process", "context report", start, rounds=PROCESSES)


async def _started(command: Sequence[str], environ: Mapping[str, str]) -> None:
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, env=dict(environ), stdin=nowhere, stdout=nowhere, stderr=nowhere
    )
    await process.wait()


def _index(workspace: Workspace) -> Iterator[Figure]:
    yield _timed("The index", "made from nothing", workspace.searching.rebuild, rounds=1)
    yield _timed("The index", "nothing has changed", workspace.searching.sync)


def _prompt(workspace: Workspace) -> Iterator[Figure]:
    workspace.assemble()
    yield _timed("The prompt", "assemble, nothing has changed", workspace.assemble)
    asked = iter(_questions(workspace))
    yield _timed("The prompt", "assemble for a question", lambda: workspace.assemble(query=next(asked)))


def _searches(workspace: Workspace) -> Iterator[Figure]:
    """By each mode that can be used; words of the workspace itself are looked for."""
    questions = _questions(workspace)
    modes: tuple[Mode, ...] = ("hybrid", "lexical", "vector", "literal", "regex")
    for mode in modes:
        if mode == "vector" and not workspace.searching.status().embedder:
            continue
        exact = mode in ("literal", "regex")
        texts = iter([text.partition(" ")[0] if exact else text for text in questions])
        yield _timed(
            "A search", mode, lambda texts=texts, mode=mode: workspace.search(next(texts), mode=mode)
        )


def _turns(workspace: Workspace) -> Iterator[Figure]:
    """A question is made durable, its context prepared, its answer made durable; there is no model in it."""
    numbers = count()
    questions = [f"{next(numbers)}: {text}?" for text in _questions(workspace)]
    taken: dict[str, list[float]] = {"record the question": [], "prepare": [], "record the answer": []}
    for question in questions:
        steps: Mapping[str, Callable[[], object]] = {
            "record the question": lambda question=question: _say(workspace, "user", question),
            "prepare": lambda question=question: workspace.prepare(SESSION, question),
            "record the answer": lambda question=question: _say(workspace, "assistant", f"As to {question}"),
        }
        for name, step in steps.items():
            taken[name].append(_seconds(step))
    for name, own in taken.items():
        yield _figure("A turn, beside the model", name, own[1:])  # the first loads what turns need


def _say(workspace: Workspace, role: str, text: str) -> None:
    workspace.record(SESSION, [{"role": role, "content": text}])


def _questions(workspace: Workspace) -> Sequence[str]:
    """Some words from all over the workspace, the same each time; more than are asked."""
    words = _WORD.findall(workspace.assemble().to_text()) or ["nothing"]
    step = max(1, len(words) // (ROUNDS + 1))
    return [
        " ".join(words[at % len(words)] for at in range(start, start + _WORDS))
        for start in range(0, step * (ROUNDS + 1), step)
    ]


def _timed(group: str, name: str, work: Callable[[], object], *, rounds: int = ROUNDS) -> Figure:
    """Measure some work; where it is repeated, a first round warms it up."""
    if rounds > PROCESSES:
        work()
    return _figure(group, name, [_seconds(work) for _ in range(rounds)])


def _figure(group: str, name: str, seconds: Sequence[float]) -> Figure:
    median, worst = (1000 * each for each in (statistics.median(seconds), max(seconds)))
    return Figure(group, name, round(median, 3), round(worst, 3), len(seconds))


def _seconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin
