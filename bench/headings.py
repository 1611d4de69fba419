"""Figures of search in documents: `python bench/headings.py [FOLDER …] [--json FILE]`; by default the docs.

Each heading is asked for, and taken out of the document that is searched: what is to be found is the text
below it. Plain BM25 over the same chunks stands beside; constants that fit conversations must not lose to it.
"""

import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from carrel.index import Chunk, Place, Query, Turn
from carrel.index.chunking import chunk_document
from carrel.index.embed import EmbedderChoice, open_embedder
from carrel.index.embedded import EmbeddedIndex
from carrel.index.source import TEXT_LIMIT
from carrel.markdown.outline import outline
from figures import Figure, figure, options, run

DOCS = Path(__file__).parents[1] / "docs"
TOP = 10
MOST = 600
SHORTEST = 80


class Wanted(NamedTuple):
    """A heading, and the lines of the document that stand below it."""

    heading: str
    path: str
    first: int
    last: int


class Documents:
    """Texts in memory, as an index is told of them."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def places(
        self, only: Collection[str] | None = None, stamps: Mapping[str, str] | None = None
    ) -> Iterator[Place]:
        del stamps  # nothing here costs much to tell
        return (Place(path=path, tier="document") for path in self.texts if only is None or path in only)

    def text(self, place: Place) -> str | None:
        return self.texts[place.path]

    def turns(self, place: Place, first: int) -> Iterator[Turn]:
        raise LookupError(place.path, first)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=[DOCS])
    chosen = parser.parse_args()
    run([partial(measure, chosen.folders)], chosen.json)


def measure(folders: Sequence[Path], folder: Path) -> list[Figure]:
    documents, wanted = questions(folders)
    plain = share(wanted, bm25(documents))
    figures = [figure(f"plain BM25: heading finds its text, hit@10, {len(wanted)} headings", plain, "")]
    embedder = open_embedder(EmbedderChoice(kind="static"), environ={})
    index = EmbeddedIndex(folder / "headings", embedder=embedder)
    report = index.sync(documents)
    assert not report.findings, report.findings
    for mode in ("lexical", "hybrid"):
        found = share(
            wanted, lambda text, own=mode: [h.chunk for h in index.search(Query(text=text, mode=own)).hits]
        )
        figures.append(figure(f"{mode}: the same", found, "", round(plain, 3), at_least=True))
    index.close()
    return figures


def questions(folders: Sequence[Path]) -> tuple[Documents, list[Wanted]]:
    """The documents without the headings that are asked for, and these."""
    lines: dict[str, list[str]] = {}
    wanted: list[Wanted] = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.md")):
        text = path.read_text("utf-8", "replace")
        if len(text) < TEXT_LIMIT:
            lines[str(path)] = text.split("\n")
            wanted += headings(str(path), text, lines[str(path)])
    if len(wanted) > MOST:
        wanted = random.Random(0).sample(wanted, MOST)
    for each in wanted:
        own = lines[each.path]
        own[each.first - 2] = re.sub(r"^(\s*#+).*", r"\1 .", own[each.first - 2])
    return Documents({path: "\n".join(own) for path, own in lines.items()}), wanted


def headings(path: str, text: str, lines: Sequence[str]) -> Iterator[Wanted]:
    sections = [section for section in outline(text) if section.level]
    ends = [section.line - 1 for section in sections[1:]] + [len(lines)]
    for section, last in zip(sections, ends, strict=True):
        is_telling = len(section.heading.split()) > 1
        if is_telling and len("\n".join(lines[section.line : last]).strip()) > SHORTEST:
            yield Wanted(section.heading, path, section.line + 1, last)


def share(wanted: Sequence[Wanted], ask: Callable[[str], Sequence[Chunk]]) -> float:
    """How many headings find text from below them among the first ten."""
    return sum(any(is_below(chunk, each) for chunk in ask(each.heading)[:TOP]) for each in wanted) / len(
        wanted
    )


def is_below(chunk: Chunk, wanted: Wanted) -> bool:
    return chunk.path == wanted.path and chunk.line <= wanted.last and chunk.end_line >= wanted.first


def bm25(documents: Documents) -> Callable[[str], list[Chunk]]:
    chunks = [
        each for place in documents.places() for each in chunk_document(place, documents.texts[place.path])
    ]
    database = apsw.Connection(":memory:")
    database.execute("CREATE VIRTUAL TABLE told USING fts5(text, tokenize = 'porter unicode61')")
    for number, chunk in enumerate(chunks):
        database.execute("INSERT INTO told (rowid, text) VALUES (?, ?)", (number, chunk.text))

    def ask(text: str) -> list[Chunk]:
        asked = " OR ".join(f'"{word}"' for word in set(re.findall(r"\w+", text.lower())))
        rows = database.execute("SELECT rowid FROM told WHERE told MATCH ? ORDER BY rank LIMIT 10", (asked,))
        return [chunks[number] for (number,) in rows]

    return ask


if __name__ == "__main__":
    main()
