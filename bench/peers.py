"""Figures of search beside its peers: `python bench/peers.py [DATA] [--json FILE] [--chunks N]`.

LanceDB and txtai search the same chunks by the same vectors, each with its own hybrid as it comes; a peer
that is not installed is told as such. DATA is LoCoMo as JSON (or CARREL_LOCOMO names it); without it only
times are taken. All are asked in turns, so that each has its share of what else the machine does.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

from carrel.index import Query
from carrel.index.embedded import EmbeddedIndex
from figures import Figure, figure, options, run, timed
from locomo import ENOUGH, Conversation, Marks, Said, Told, indexed, mark, read, summary
from search import CHUNKS, Talk, questions, static

Search = Callable[[str, int], list[int]]
"""Answers a question with the numbers of so many texts, best first.

Only Carrel also fetches what it found and where it stands: the peers are asked for no more than numbers.
"""

Build = Callable[[Sequence[str], Path], Search]
"""Makes some texts searchable, in a folder where one is needed."""

CARREL = "Carrel"
LIMIT = 10
ROUND, WARM = 50, 5
"""Questions that one is asked before it is another's turn, and those before them that do not count."""


def main() -> None:
    parser = options(__doc__)
    default = os.environ.get("CARREL_LOCOMO")
    parser.add_argument("data", type=Path, nargs="?", default=default, help="locomo as JSON")
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    chosen = parser.parse_args()
    missing, peers = installed()
    parts = [lambda _: missing, partial(speed, peers, chosen.chunks)]
    if chosen.data is not None:
        parts.insert(1, partial(recall, peers, read(Path(chosen.data))))
    run(parts, chosen.json)


# The peers


def lancedb(texts: Sequence[str], folder: Path, *, approximate: bool = False) -> Search:
    """Its own full text index (stems and stop words are its default), vectors, and its RRF."""
    peer, pyarrow = load_lancedb(), import_module("pyarrow")
    kinds = import_module("lancedb.index")
    vectors = embed(texts)
    cells = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), vectors.shape[1])
    rows = pyarrow.table({"number": range(len(texts)), "text": texts, "vector": cells})
    table = peer.connect(str(folder)).create_table("said", rows)
    table.create_index("text", config=kinds.FTS())
    if approximate:
        table.create_index("vector", config=kinds.IvfPq())
    reranker = import_module("lancedb.rerankers").RRFReranker()

    def ask(text: str, limit: int) -> list[int]:
        asked = table.search(query_type="hybrid").vector(embed([text])[0]).text(text)
        found = asked.rerank(reranker).select(["number"]).limit(limit).to_arrow()
        return found["number"].to_pylist()

    return ask


def txtai(texts: Sequence[str], _folder: Path, *, exact: bool = False) -> Search:
    """Its own BM25, vectors from outside, and its default weights."""
    kind = {"faiss": {"components": "IDMap,Flat"}} if exact else {}
    peer = load_txtai().Embeddings(method="external", transform=embed, hybrid=True, **kind)
    peer.index(enumerate(texts))

    def ask(text: str, limit: int) -> list[int]:
        return [number for number, _ in peer.search(text, limit)]

    return ask


def load_lancedb() -> ModuleType:
    os.environ["LANCEDB_LOG"] = "error"  # it warns with each question, which takes time
    return import_module("lancedb")


def load_txtai() -> ModuleType:
    os.environ["HF_HUB_OFFLINE"] = "1"
    return import_module("txtai")


def embed(texts: Sequence[str]):
    embedder = static()
    assert embedder is not None
    return embedder.embed(texts)


PEERS: Mapping[str, tuple[Callable[[], object], Build]] = {
    "LanceDB": (load_lancedb, lancedb),
    "txtai": (load_txtai, txtai),
}
OTHERWISE: Mapping[str, tuple[str, Build]] = {
    "LanceDB": ("LanceDB, vectors approximate", partial(lancedb, approximate=True)),
    "txtai": ("txtai, vectors exact", partial(txtai, exact=True)),
}
"""By default LanceDB looks at every vector, as Carrel does, and txtai at some of more than 5,000."""


def installed() -> tuple[list[Figure], dict[str, Build]]:
    """Lines that tell of the peers that are not here, and those that are."""
    missing: list[Figure] = []
    peers: dict[str, Build] = {}
    for name, (load, build) in PEERS.items():
        try:
            load()
        except ImportError as error:
            told = {"name": f"{name}: {error}", "value": "not installed"}
            missing.append({**told, "unit": "", "bar": "", "verdict": ""})
        else:
            peers[name] = build
    return missing, peers


# What is found


def recall(peers: Mapping[str, Build], conversations: Sequence[Conversation], folder: Path) -> list[Figure]:
    """The peers with the text of a turn, and with its date and speaker before it, as Carrel searches it."""
    figures: list[Figure] = []
    found: list[float] = []
    for name, build in peers.items():
        for told, lead in (("text", plain), ("date, speaker and text", prefixed)):
            marks = answered(build, lead, conversations, folder / f"{name}-{lead.__name__}")
            lines = summary(list(marks), f"{name}, {told}", (None,) * 4)[:4]
            found.append(lines[0]["value"])
            figures += lines
    bars = (max(found, default=None), None, None, None)
    return figures + summary(list(own(conversations, folder / CARREL)), CARREL, bars)[:4]


def plain(turn: Said) -> str:
    return turn.text


def prefixed(turn: Said) -> str:
    return f"{turn.date} {date.fromisoformat(turn.date):%-d %B %Y} {turn.speaker}:\n{turn.text}"


def answered(
    build: Build, lead: Callable[[Said], str], conversations: Sequence[Conversation], place: Path
) -> Iterator[Marks]:
    for each in conversations:
        ask = build([lead(turn) for turn in each.said], place / each.name)
        for question in each.questions:
            found = (each.said[number] for number in ask(question.text, ENOUGH))
            yield mark(question, [Told(turn.id, turn.text) for turn in found])


def own(conversations: Sequence[Conversation], place: Path) -> Iterator[Marks]:
    for each in conversations:
        workspace, ask = indexed([each], "hybrid", place / each.name)
        texts = {turn.id: turn.text for turn in each.said}
        for question in each.questions:
            hits = ask(question.text)
            assert all(texts[hit.id] == hit.text for hit in hits), "the peers were given other chunks"
            yield mark(question, hits)
        workspace.close()


# How long it takes


def speed(peers: Mapping[str, Build], chunks: int, folder: Path) -> list[Figure]:
    """Times of all, those of Carrel beside the best of the others', exact or not."""
    texts = list(Talk(chunks).texts())
    all_ways = [way for own in peers.items() for way in (own, OTHERWISE[own[0]])]
    builds = {name: partial(build, texts) for name, build in all_ways} | {CARREL: partial(carrel, chunks)}
    searches: dict[str, Search] = {}
    figures = []
    for number, (name, build) in enumerate(builds.items()):
        seconds = timed(lambda: searches.update({name: build(folder / f"speed-{number}")}))  # noqa: B023
        figures.append(figure(f"index {chunks:,} chunks, {name}", seconds, "s"))
    for size in (5, 50):
        figures += compared(times(searches, questions(size)), f"{size}-word query")
    return figures


def carrel(chunks: int, folder: Path) -> Search:
    index = EmbeddedIndex(folder, embedder=static())
    index.sync(Talk(chunks))
    assert index.status().chunks == chunks, "the peers were given other chunks"

    def ask(text: str, limit: int) -> list[int]:
        found = index.search(Query(text=text, limit=limit))
        assert not found.degraded, found.findings
        return [hit.id for hit in found.hits]

    return ask


def times(searches: Mapping[str, Search], asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds of each question by who was asked, sorted; the first few of a turn warm it up."""
    taken = defaultdict(list)
    for start in range(0, len(asked), ROUND):
        for name, ask in searches.items():
            for text in asked[start - WARM : start] or asked[:WARM]:
                ask(text, LIMIT)
            taken[name] += [timed(ask, text, LIMIT) * 1000 for text in asked[start : start + ROUND]]
    return {name: sorted(own) for name, own in taken.items()}


def compared(taken: Mapping[str, Sequence[float]], told: str) -> Iterator[Figure]:
    for share in (50, 99):
        at = {name: own[len(own) * share // 100] for name, own in taken.items()}
        best = min((value for name, value in at.items() if name != CARREL), default=None)
        for name, value in at.items():
            bar = round(best, 3) if best and name == CARREL else None
            yield figure(f"{told}, {name}, p{share}", value, "ms", bar)


if __name__ == "__main__":
    main()
