"""The words of all chunks, in tantivy: fields by language, one for what is found as typed, and filters.

A directory holds them; no directory means memory. Writers live as long as one write, under a lock that the
caller holds. What tantivy cannot do or read is one error, `WordsUnavailable`, and a sign of damage.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from carrel.errors import Unavailable
from carrel.index import Filter
from carrel.index.analysis import GRAMS, PLAIN, analyzer, fold
from carrel.index.analysis.languages import ENGLISH, STEMMED
from carrel.index.embedded.soundness import WORDS_FILE, find_odd
from carrel.index.entry import Entry, code_of, stands_at
from carrel.index.query import MOST_WORDS, Plan
from carrel.index.rescore import CONTEXT, PHRASE, Candidates
from carrel.index.within import plain

if TYPE_CHECKING:
    import tantivy

    _Clause = tuple[tantivy.Occur, tantivy.Query]

_HEAP = 48_000_000  # bytes; below, a long build writes many segments that have to be merged
_SMALL_HEAP = 15_000_000  # the least that tantivy takes
_SMALL = 1_000
_MOST_LOADS = 50
"""After so many states the words are opened anew: tantivy keeps 2 kB of each as long as they are open."""

_FACETS = ("tier", "agent", "session")
_MOST_BUCKETS = 1_000
_FREQUENT = 4_096  # of so many words it is remembered how rare they are: most questions have the same ones


class WordsUnavailable(Unavailable):
    """The words cannot be read or written."""

    code = "words_unavailable"

    def __init__(self, problem: object) -> None:
        super().__init__(
            f"The index of words cannot be used: {str(problem)[:300]}",
            hint="`carrel index rebuild` makes it anew; check that its directory is writable and has room.",
        )


class WordsInTheWay(WordsUnavailable):
    """A writer that was killed has left a file where the next one is to be; the words are begun anew."""

    code = "words_in_the_way"


class Words:
    """The index of words in one directory."""

    def __init__(self, path: Path | None) -> None:
        self._schema = _schema()
        self._path = path
        self._loads = 0
        with _guarded():
            self._index = self._open(path)
            self._load()

    @property
    def count(self) -> int:
        """How many chunks are indexed."""
        return self._searcher.num_docs

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that occur."""
        return self._languages

    def write(self, entries: Iterable[Entry], drop: Sequence[int]) -> None:
        """Put entries in place of what their chunks had, and drop others; all of it is there, or nothing."""
        with _guarded():
            heap = _SMALL_HEAP if len(drop) < _SMALL else _HEAP
            writer = self._index.writer(heap, 1)
            try:
                self._drop(writer, drop)
                for entry in entries:
                    writer.add_document(_document(entry))
                writer.commit()
            finally:
                writer.wait_merging_threads()
            self._load()

    def _drop(self, writer: "tantivy.IndexWriter", ids: Sequence[int]) -> None:
        """Delete chunks by a query: as a term, tantivy takes a number for a signed one, which no id is."""
        from tantivy import Query  # noqa: PLC0415 - heavy

        for begin in range(0, len(ids) if self.count else 0, _SMALL):
            some = Query.term_set_query(self._schema, "id", ids[begin : begin + _SMALL])
            writer.delete_documents_by_query(some)

    def reload(self) -> None:
        """See what others have written; it costs a look where nobody has."""
        with _guarded():
            seen = self._look()
            if seen is None or seen != self._seen:
                self._load()

    def search(self, plan: Plan, within: Filter, limit: int) -> Candidates:
        """Return the chunks with most and rarest of the words; the filter comes before the cut.

        What is looked for as it stands is a search of its own, whose scores are added: beside phrases,
        tantivy needs two or three times as long for the words.
        """
        with _guarded():
            clauses = list(self._clauses(within))
            lists = [
                self._found(_filtered(asked, clauses), limit)
                for queries in (self._word_queries(plan), self._phrase_queries(plan))
                if (asked := _any_of(queries)) is not None
            ]
        lists = [each for each in lists if each.ids]
        return _added_up(lists, limit) if len(lists) > 1 else (lists or [Candidates()])[0]

    def _found(self, asked: "tantivy.Query", limit: int) -> Candidates:
        hits = self._searcher.search(asked, limit, count=False).hits
        found = [address for _, address in hits]
        columns = [
            cast("list[int | None]", self._searcher.fast_field_values(field, found))
            for field in ("id", "stands", "speaker")
        ]
        if any(None in column for column in columns):
            raise WordsUnavailable("a chunk has no number")
        ids, stands, speakers = cast("list[list[int]]", columns)
        return Candidates(ids, [score for score, _ in hits], stands, speakers)

    def facets(self, plan: Plan, within: Filter) -> dict[str, dict[str, int]]:
        """Return how many chunks with any of the words there are, by tier, agent and session."""
        with _guarded():
            asked = _any_of([*self._word_queries(plan), *self._phrase_queries(plan)])
            if asked is None:
                return {}
            asked = _filtered(asked, list(self._clauses(within)))
            wanted = {name: {"terms": {"field": name, "size": _MOST_BUCKETS}} for name in _FACETS}
            found = cast("dict[str, Any]", self._searcher.aggregate(asked, wanted))  # type: ignore[reportUnknownMemberType]
        return {
            name: {bucket["key"]: bucket["doc_count"] for bucket in found[name]["buckets"] if bucket["key"]}
            for name in _FACETS
        }

    def weigh(self, plan: Plan) -> Callable[[str], float]:
        """Return what tells how much a word says, as it is typed: the fewer chunks have it, the more."""
        del plan  # any word is looked up in no time
        return self._rarity

    def _open(self, path: Path | None) -> "tantivy.Index":
        import tantivy  # noqa: PLC0415 - heavy

        if path is None:
            index = tantivy.Index(self._schema)
        else:
            _refuse_odd(path)
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            index = tantivy.Index(self._schema, os.fspath(path), reuse=True)
        index.config_reader("manual")  # else it loads each state that others write, asked for or not
        for language in (*STEMMED, GRAMS, PLAIN):
            index.register_tokenizer(language, analyzer(language))
        return index

    def _look(self) -> tuple[int, int] | None:
        """Return what tells one state of the words from another: tantivy puts a new file in place of it."""
        if self._path is None:
            return None
        found = os.stat(self._path / WORDS_FILE)  # noqa: PTH116 - a Path's own takes longer, each time
        return found.st_ino, found.st_mtime_ns

    def _load(self) -> None:
        self._seen = self._look()
        self._loads += 1
        if self._path is not None and self._loads % _MOST_LOADS == 0:
            self._index = self._open(self._path)
        elif self._path is not None:
            _refuse_odd(self._path)
        self._index.reload()
        self._searcher = self._index.searcher()
        self._rarity = _rarities(self._searcher, self._schema)
        present = (each for each in STEMMED if self._searcher.doc_freq("language", each))
        self._languages = tuple(present) or (ENGLISH,)

    def _clauses(self, within: Filter) -> "Iterator[_Clause]":
        """Yield what a chunk must be, or must not; each has one tier and one agent.

        To leave some out takes less time than to ask for most, and to ask for all is to ask for nothing.
        """
        from tantivy import Occur, Query  # noqa: PLC0415 - heavy

        kept = list(self._filter_queries(within))
        if within.without:
            paths = [_safe(each) for each in within.without]
            yield Occur.MustNot, Query.term_set_query(self._schema, "under", paths)
        for field, values in (("tier", within.tiers), ("agent", within.agents)):
            wanted = [_safe(each) for each in values]
            counts = dict(self._searcher.terms_with_prefix(field, "")) if wanted else {}
            others = [each for each in counts if each not in wanted]
            if 2 * sum(counts[each] for each in others) > sum(counts.values()):
                kept.append(Query.term_set_query(self._schema, field, wanted))
            elif others:
                yield Occur.MustNot, Query.term_set_query(self._schema, field, others)
        for each in kept:
            yield Occur.Must, Query.const_score_query(each, 0.0)

    def _word_queries(self, plan: Plan) -> Iterable["tantivy.Query"]:
        from tantivy import Query  # noqa: PLC0415 - heavy

        by_language = {**plan.words, GRAMS: plan.grams}
        for language, words in by_language.items():
            for word in self._rarest(f"text_{language}", words):
                yield Query.term_query(self._schema, f"text_{language}", word, "freq")
                near = Query.term_query(self._schema, f"context_{language}", word, "freq")
                yield Query.boost_query(near, CONTEXT)
        if not any(by_language.values()):
            for word in plan.plain:
                yield Query.term_query(self._schema, "exact", word, "freq")

    def _phrase_queries(self, plan: Plan) -> Iterable["tantivy.Query"]:
        from tantivy import Query  # noqa: PLC0415 - heavy

        for phrase in plan.phrases:
            if len(phrase) == 1:
                asked = Query.term_query(self._schema, "exact", phrase[0], "freq")
            else:  # tantivy panics over a phrase of one word
                asked = Query.phrase_query(self._schema, "exact", list(phrase))
            yield Query.boost_query(asked, PHRASE)

    def _rarest(self, field: str, words: Sequence[str]) -> Sequence[str]:
        if len(words) <= MOST_WORDS:
            return words
        counts = {word: self._searcher.doc_freq(field, word) for word in words}
        return sorted((word for word in words if counts[word]), key=lambda word: counts[word])[:MOST_WORDS]

    def _filter_queries(self, within: Filter) -> Iterable["tantivy.Query"]:
        from tantivy import FieldType, Query  # noqa: PLC0415 - heavy

        wanted: Mapping[str, Sequence[str]] = {
            "shared": ("yes",) if within.shared else (),
            "section": [plain(each) for each in within.sections],
            "tag": within.tags,
            "under": [each.rstrip("/") for each in within.paths],
            "session": within.sessions,
        }
        filters = [
            Query.term_set_query(self._schema, field, [_safe(each) for each in values])
            for field, values in wanted.items()
            if values
        ]
        if within.since or within.until:
            first, last = _number(within.since, 1), _number(within.until, 99991231)
            filters.append(Query.range_query(self._schema, "date", FieldType.Unsigned, first, last))
        return filters


def _refuse_odd(path: Path) -> None:
    """Refuse a folder with a pipe or a link in it: tantivy opens whatever has the name of a file."""
    if odd := find_odd(path):
        raise WordsUnavailable(f"{odd} is not what it should be")


def _rarities(searcher: "tantivy.Searcher", schema: "tantivy.Schema") -> Callable[[str], float]:
    """Return what tells how rare a word is among these chunks, and remembers it.

    They are counted: what tantivy keeps counts chunks that were dropped, which may be more than there are.
    """
    from tantivy import Query  # noqa: PLC0415 - heavy

    count = searcher.num_docs

    @lru_cache(_FREQUENT)
    def rarity(word: str) -> float:
        with _guarded():
            asked = Query.term_query(schema, "exact", fold(word), "freq")
            having = cast("int", searcher.search(asked, 1, count=True).count)  # type: ignore[reportUnknownMemberType]
        return log(1 + (count - having + 0.5) / (having + 0.5))

    return rarity


def _any_of(queries: Iterable["tantivy.Query"]) -> "tantivy.Query | None":
    from tantivy import Occur, Query  # noqa: PLC0415 - heavy

    parts = [(Occur.Should, each) for each in queries]
    return Query.boolean_query(parts) if parts else None


def _filtered(asked: "tantivy.Query", clauses: "Sequence[_Clause]") -> "tantivy.Query":
    from tantivy import Occur, Query  # noqa: PLC0415 - heavy

    return Query.boolean_query([(Occur.Must, asked), *clauses]) if clauses else asked


def _added_up(lists: Iterable[Candidates], limit: int) -> Candidates:
    """Return the best of several lists, a chunk in more than one with the sum of its scores."""
    scores: dict[int, float] = {}
    places: dict[int, tuple[int, int]] = {}
    for each in lists:
        more = dict(zip(each.ids, each.scores, strict=True))
        scores |= {own: scores[own] + score if own in scores else score for own, score in more.items()}
        places |= zip(each.ids, zip(each.stands, each.speakers, strict=True), strict=True)
    ids = sorted(scores, key=lambda own: (-scores[own], own))[:limit]
    return Candidates(
        ids,
        [scores[own] for own in ids],
        [places[own][0] for own in ids],
        [places[own][1] for own in ids],
    )


def _schema() -> "tantivy.Schema":
    from tantivy import SchemaBuilder  # noqa: PLC0415 - heavy

    builder = SchemaBuilder()
    builder.add_unsigned_field("id", indexed=True, fast=True)
    builder.add_unsigned_field("stands", fast=True)
    builder.add_unsigned_field("speaker", fast=True)
    builder.add_unsigned_field("date", indexed=True, fast=True)
    for language in (*STEMMED, GRAMS):
        builder.add_text_field(f"text_{language}", tokenizer_name=language, index_option="freq")
        builder.add_text_field(f"context_{language}", tokenizer_name=language, index_option="freq")
    builder.add_text_field("exact", tokenizer_name=PLAIN, index_option="position")
    for name in _FACETS:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("section", "tag", "under", "shared", "language"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    return builder.build()


def _document(entry: Entry) -> "tantivy.Document":
    from tantivy import Document  # noqa: PLC0415 - heavy

    stored, chunk = entry.stored, entry.stored.chunk
    document = Document()
    document.add_unsigned("id", stored.id)
    document.add_unsigned("stands", stands_at(stored.place, stored.seq, chunk.tier))
    document.add_unsigned("speaker", code_of(chunk.speaker) if chunk.speaker else 0)
    document.add_unsigned("date", _number(chunk.date, 0))
    document.add_text("language", entry.language)
    document.add_text(f"text_{entry.language}", entry.text)
    document.add_text(f"context_{entry.language}", entry.context)
    document.add_text("exact", entry.text)
    if entry.context_runs:
        document.add_text(f"text_{GRAMS}", entry.runs)
        document.add_text(f"context_{GRAMS}", entry.context_runs)
    for name, value in (("tier", chunk.tier), ("agent", chunk.agent), ("session", chunk.session)):
        document.add_text(name, _safe(value))
    for name, values in (
        ("shared", () if chunk.private else ("yes",)),
        ("section", {plain(each) for each in chunk.headings}),
        ("tag", chunk.tags),
        ("under", _folders(chunk.path)),
    ):
        for value in values:
            document.add_text(name, _safe(value))
    return document


def _folders(path: str) -> list[str]:
    """Return a path and the folders that it is in."""
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names) + 1)]


def _number(day: str, otherwise: int) -> int:
    """Return a day as a number that compares as days do."""
    digits = day.replace("-", "")
    return (
        int(digits) if len(digits) == len("20260424") and digits.isascii() and digits.isdigit() else otherwise
    )


def _safe(value: str) -> str:
    """Return a value that tantivy takes; the like of it is done to what is looked for."""
    return value.encode("utf-8", "replace").decode()[:1_000]


@contextmanager
def _guarded() -> Generator[None]:
    """Make one error of all that tantivy and its directory may raise, panics included."""
    try:
        yield
    except (ValueError, OSError) as error:
        is_in_the_way = "FileAlreadyExists" in str(error)
        raise (WordsInTheWay if is_in_the_way else WordsUnavailable)(error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # it is no Exception, and has no other name
            raise
        raise WordsUnavailable(error) from error
