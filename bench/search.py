"""Figures of search: `python bench/search.py [--json FILE] [--chunks N]`.

Turns of synthetic sessions are indexed and searched; FTS5 with the same texts and words stands beside, since
absolute times are this machine's.
"""

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from pydoc_data.topics import topics

import apsw

from carrel.index import Filter, Place, Query, Turn
from carrel.index.embed import Embedder, EmbedderChoice, open_embedder
from carrel.index.embedded import EmbeddedIndex
from figures import Figure, figure, options, run, timed

CHUNKS = 50_000
SMALL, LARGE = 10_000, 100_000
TURNS = 50
QUERIES = 300
CHANGES = 40
WORDS = " ".join(topics[name] for name in sorted(topics)).split()
COMMON = 40_000
SPEAKERS = ("Ana", "Ben", "Chen", "Dora", "Emil")
BARS = {
    ("words", 5): (1, 3), ("words", 50): (4, 8),
    ("hybrid", 5): (8, 15), ("hybrid", 50): (10, 20),
}  # fmt: skip
MODES = {"words": "lexical", "hybrid": "hybrid"}
RECALL = Filter(agents=("", "main"))
FRESH = """
import sys, time
begin = time.perf_counter()
from pathlib import Path
from carrel.index import Query
from carrel.index.embed import EmbedderChoice, open_embedder
from carrel.index.embedded import EmbeddedIndex
embedder = open_embedder(EmbedderChoice(kind="static"), environ={}) if sys.argv[2] == "hybrid" else None
index = EmbeddedIndex(Path(sys.argv[1]), embedder=embedder)
found = index.search(Query(text=sys.argv[3]))
assert found.hits and not found.degraded, found
first = time.perf_counter() - begin
for line in sys.stdin:
    index.search(Query(text=line))
told = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(first * 1000, int(told["VmHWM"].split()[0]) / 1024, int(told["RssAnon"].split()[0]) / 1024)
"""


class Talk:
    """Sessions of turns with words as often as they are in prose, and made-up ones that are rare."""

    def __init__(self, chunks: int, seed: int = 1) -> None:
        self._chunks = chunks
        self._seed = seed
        self._added: dict[str, list[str]] = {}

    def places(
        self, only: Collection[str] | None = None, stamps: Mapping[str, str] | None = None
    ) -> Iterable[Place]:
        del stamps  # nothing here costs much to tell
        for number in range(self._chunks // TURNS):
            path = f"agents/main/sessions/s{number:05}.log.jsonl"
            if only is None or path in only:
                turns = TURNS + len(self._added.get(path, ()))
                yield Place(
                    path=path, tier="session", agent="main", session=path[-16:-10], turns=turns, begin="1"
                )

    def text(self, place: Place) -> str | None:
        raise LookupError(place.path)

    def turns(self, place: Place, first: int) -> Iterable[Turn]:
        number = int(place.path[-15:-10])
        said = (
            [*self.said(number), *self._added.get(place.path, ())]
            if first <= TURNS
            else self._added[place.path]
        )
        begin = 1 if first <= TURNS else TURNS + 1
        for at, text in enumerate(said, begin):
            if at >= first:
                day = f"20{20 + number % 6:02}-{1 + number % 12:02}-{1 + number % 28:02}"
                yield Turn(
                    number=at, text=text, line=at + 1, speaker=SPEAKERS[at % 2 + number % 4], date=day,
                    message_id=f"{number}-{at}",
                )  # fmt: skip

    def said(self, number: int) -> Iterator[str]:
        chance = random.Random(self._seed * 1_000_003 + number)
        for _ in range(TURNS):
            start = chance.randrange(len(WORDS) - 60)
            words = WORDS[start : start + chance.randrange(10, 45)]
            rare = (f"w{int(chance.paretovariate(0.6))}" for _ in range(3))
            yield " ".join((*words, *rare))

    def add(self, path: str, text: str) -> None:
        self._added.setdefault(path, []).append(text)

    def texts(self) -> Iterator[str]:
        for number in range(self._chunks // TURNS):
            yield from self.said(number)


@cache
def questions(size: int) -> tuple[str, ...]:
    """Questions of so many words: content words for a short one, prose for a long one."""
    chance = random.Random(size)
    telling = [word for word in WORDS if word.isalpha() and len(word) > 3]
    found = []
    for _ in range(QUERIES):
        if size <= 10:
            found.append(" ".join(chance.choice(telling) for _ in range(size)))
        else:
            start = chance.randrange(len(WORDS) - size)
            found.append(" ".join(WORDS[start : start + size]))
    return tuple(found)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--without-growth", action="store_true", help="leave out 10,000 to 100,000 chunks")
    chosen = parser.parse_args()
    parts = [partial(measure, chosen.chunks)]
    run(parts if chosen.without_growth else [*parts, growth], chosen.json)


@cache
def static() -> Embedder | None:
    return open_embedder(EmbedderChoice(kind="static"), environ={})


def measure(chunks: int, folder: Path) -> list[Figure]:
    figures: list[Figure] = []
    for kind in ("words", "hybrid"):
        place = folder / kind
        index = EmbeddedIndex(place, embedder=static() if kind == "hybrid" else None)
        talk = Talk(chunks)
        seconds = timed(index.sync, talk)
        assert index.status().chunks == chunks
        figures.append(
            figure(f"index {chunks:,} chunks, {kind}", seconds, "s", 10 if kind == "words" else 20)
        )
        figures += latencies(index, kind)
        figures += changes(index, talk, kind)
        index.close()
        figures += fresh(place, kind)
        size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
        figures.append(figure(f"size on disk, {kind}", size / 1e6, "MB"))
    return figures + beside(chunks)


def latencies(index: EmbeddedIndex, kind: str) -> list[Figure]:
    figures = []
    for size in (5, 50):
        ask = lambda text: index.search(Query(text=text, mode=MODES[kind]))  # noqa: E731
        middle, worst = BARS[kind, size]
        for told, times in (("", spread(ask, questions(size))), ("  quickest of three", quiet(ask, size))):
            name = f"{told or f'{size}-word query'}, {kind}"
            figures.append(figure(f"{name}, p50", times[0], "ms", middle))
            figures.append(figure(f"{name}, p99", times[1], "ms", worst))
        times = spread(
            lambda text: index.search(Query(text=text, mode=MODES[kind], within=RECALL)), questions(size)
        )
        figures.append(figure(f"  as recall asks, {kind}, p50", times[0], "ms", middle))
    return figures


def spread(ask: Callable[[str], object], texts: Sequence[str]) -> tuple[float, float]:
    """The median and the 99th percentile of some questions, in milliseconds; the first warm it up."""
    for text in texts[:20]:
        ask(text)
    return middle_and_worst(timed(ask, text) * 1000 for text in texts)


def quiet(ask: Callable[[str], object], size: int) -> tuple[float, float]:
    """The same with each question asked three times, of which the quickest counts: what else the machine
    does is not in it."""
    rounds = [[timed(ask, text) * 1000 for text in questions(size)] for _ in range(3)]
    return middle_and_worst(map(min, zip(*rounds, strict=True)))


def middle_and_worst(given: Iterable[float]) -> tuple[float, float]:
    times = sorted(given)
    return statistics.median(times), times[int(len(times) * 0.99)]


def changes(index: EmbeddedIndex, talk: Talk, kind: str) -> list[Figure]:
    """One turn more in a session, until it is found, its neighbours written with it."""
    times = []
    for number in range(CHANGES):
        path = f"agents/main/sessions/s{number * 7:05}.log.jsonl"
        talk.add(
            path, f"The word of the day is zyx{number}, said once. {' '.join(WORDS[number : number + 20])}"
        )
        begin = time.perf_counter()
        index.sync(talk, only=(path,))
        found = index.search(Query(text=f"zyx{number}", mode=MODES[kind], within=RECALL))
        times.append((time.perf_counter() - begin) * 1000)
        assert f"zyx{number}" in found.hits[0].chunk.text
    times.sort()
    return [
        figure(f"one changed turn searchable, {kind}, p50", statistics.median(times), "ms", 50),
        figure(f"one changed turn searchable, {kind}, p95", times[int(len(times) * 0.95)], "ms", 120),
    ]


def fresh(place: Path, kind: str) -> list[Figure]:
    """A process that opens the index and asks its first question, and what it holds after 300 more."""
    firsts, sizes, walls = [], [], []
    asked = "\n".join((*questions(5)[:150], *questions(50)[:150]))
    # As where it is installed: compiled, by the first of these processes at the latest.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for number in range(6):
        begin = time.perf_counter()
        words = [sys.executable, "-c", FRESH, str(place), kind, questions(5)[number]]
        done = subprocess.run(  # noqa: PLW1510
            words,
            input="" if number else asked,
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        first, size, own = map(float, done.stdout.split())
        firsts.append(first)
        sizes.append((size, own))
        walls.append((time.perf_counter() - begin) * 1000)
    return [
        figure(
            f"fresh process, open and first query, {kind}",
            statistics.median(firsts),
            "ms",
            100 if kind == "words" else 400,
        ),
        figure(f"  the process from start to end, {kind}", statistics.median(walls[1:]), "ms"),
        figure(f"memory after 300 queries, {kind}", sizes[0][0], "MB", 80 if kind == "words" else 200),
        figure(f"  of it not mapped from files, {kind}", sizes[0][1], "MB"),
    ]


def beside(chunks: int) -> list[Figure]:
    """The same texts and words in FTS5, any word of a question, best ten."""
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE said USING fts5(text, tokenize = 'porter unicode61')")
    with database:
        for text in Talk(chunks).texts():
            database.execute("INSERT INTO said VALUES (?)", (text,))

    def ask(text: str) -> None:
        words = {word.lower() for word in text.split() if word.isalnum()}
        asked = " OR ".join(f'"{word}"' for word in words)
        list(database.execute("SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT 10", (asked,)))

    figures = []
    for size in (5, 50):
        times = spread(ask, questions(size)[: 60 if size == 5 else 25])
        figures.append(figure(f"beside: FTS5, {size}-word query, p50", times[0], "ms"))
    return figures


def growth(folder: Path) -> list[Figure]:
    """How much longer a question takes with ten times as many chunks."""
    medians: dict[int, list[float]] = {}
    for chunks in (SMALL, LARGE):
        index = EmbeddedIndex(folder / f"grown-{chunks}")
        index.sync(Talk(chunks))
        ask = lambda text, own=index: own.search(Query(text=text, mode="lexical"))  # noqa: E731
        medians[chunks] = [spread(ask, questions(size))[0] for size in (5, 50)]
        index.close()
    bars = {5: 6, 50: 9}
    return [
        figure(f"10,000 to 100,000 chunks, {size}-word query, p50", large / small, "x", bars[size])
        for size, small, large in zip((5, 50), medians[SMALL], medians[LARGE], strict=True)
    ]


if __name__ == "__main__":
    main()
