"""The index inside a workspace: a catalog in SQLite, words in tantivy, vectors in a mapped file.

    catalog.db          every chunk, and what the other two have yet to take in
    words-<name>        the words; who begins them anew gives them another name
    vectors-<name>.bin  the vectors of one embedder, the same

Whoever writes holds a lock on the folder; readers hold none, and see by the catalog that others wrote. Where
the folder cannot be used, all of it is kept in memory, and every answer says so.
"""

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock

from msgspec import DecodeError
from msgspec.structs import replace

from carrel.errors import CarrelError, Unavailable
from carrel.findings import Finding
from carrel.index import Found, Pointers, Progress, Query, Source, Status, Stop, SyncReport
from carrel.index.answer import Answer, limited
from carrel.index.embed import Embedder
from carrel.index.embedded.parts import CATALOG_FILE, OpenIndex
from carrel.index.embedded.words import WordsInTheWay
from carrel.index.trouble import Trouble, told


class CatalogDamaged(Unavailable):
    """The catalog of the index holds what nobody wrote."""

    code = "catalog_damaged"

    def __init__(self) -> None:
        super().__init__(
            f"{CATALOG_FILE} was damaged; it was set aside, and the index is made anew by the next search.",
            hint="Search again, or `carrel index sync`.",
        )


class EmbeddedIndex:
    """The index in a folder; no folder means memory. Threads may share it: one at a time uses it.

    `inside` is a directory that others may have filled: no link below it is followed.
    """

    def __init__(
        self, folder: Path | None, *, embedder: Embedder | None = None, inside: Path | None = None
    ) -> None:
        self._folder = folder
        self._inside = inside
        self._embedder = embedder
        self._lock = RLock()
        self._embedding = Lock()
        self._opened: OpenIndex | None = None
        self._trouble = Trouble()

    def sync(
        self,
        source: Source,
        *,
        only: Collection[str] | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> SyncReport:
        """Make the index match its source, of which only what changed is read; `only` looks at some paths.

        Words are found when this returns. Vectors take longer, and `stop` may leave some of them for later.
        """
        with self._lock:
            report = self._matched(source, only, progress, anew=False)
        return self._embedded(report, progress, stop)

    def rebuild(self, source: Source, *, progress: Progress | None = None) -> SyncReport:
        """Forget everything and index it anew."""
        with self._lock:
            report = self._matched(source, None, progress, anew=True)
        return self._embedded(report, progress, None)

    def search(self, query: Query, also: Sequence[Pointers] = ()) -> Found:
        """Answer a question from what is indexed, and from lists of what others found.

        Only a pattern that cannot be used is an error; whatever else is wrong makes the answer poorer.
        """
        limit = limited(query)
        with self._lock:
            try:
                with self._damage_set_aside():
                    found = self._search(query, also, limit) if limit else Found()
            except Unavailable as error:
                self._close()
                found = Found(findings=(told(error),))
            return self._trouble.over(found)

    def status(self) -> Status:
        """Return how the index is."""
        with self._lock:
            try:
                with self._damage_set_aside():
                    opened = self._open()
                    counts = opened.catalog.count()
                    waiting = opened.catalog.waiting("words")
                    state = opened.catalog.state()
                    held = opened.count_vectors()
            except Unavailable as error:
                return Status(degraded=True, findings=(*self._trouble, told(error)))
            return Status(
                places=counts[0],
                chunks=counts[1],
                vectors=held,
                waiting=waiting + (opened.catalog.waiting("vectors") if self._embedder else 0),
                embedder=state.embedder,
                location=str(opened.folder or ""),
                unsearched=opened.catalog.lacking(),
                degraded=any(self._trouble),
                findings=tuple(self._trouble),
            )

    def close(self) -> None:
        """Let go of its files."""
        with self._lock:
            self._close()

    def _search(self, query: Query, also: Sequence[Pointers], limit: int) -> Found:
        opened = self._open()
        opened.refresh()
        if query.mode in ("literal", "regex"):
            from carrel.index.verbatim import find_verbatim  # noqa: PLC0415 - few ask for it

            return find_verbatim(opened.texts, query, limit)
        with_vectors = query.mode in ("hybrid", "vector")
        parts = opened.parts(with_vectors=with_vectors, shared=query.within.shared)
        found = Answer(parts, query, also, limit).found()
        if found.findings:
            opened.doubt()
        return replace(found, findings=(*opened.trouble, *found.findings))

    def _matched(
        self, source: Source, only: Collection[str] | None, progress: Progress | None, *, anew: bool
    ) -> SyncReport:
        """Sync; once more, from nothing, where the catalog turned out to be damaged and was set aside."""
        report = self._sync(source, only, progress, anew=anew)
        return self._sync(source, None, progress, anew=anew) if self._set_aside else report

    def _sync(
        self, source: Source, only: Collection[str] | None, progress: Progress | None, *, anew: bool
    ) -> SyncReport:
        """Bring the catalog and the words up to the source, each as far as that can be done."""
        from carrel.index.sync import take_in  # noqa: PLC0415 - who only searches has no use for it
        from carrel.index.writing import write_words  # noqa: PLC0415 - the same

        report = SyncReport()
        with self._trouble.tried("lock"), self._damage_set_aside():
            opened = self._open()
            with opened.writing():
                if anew:
                    opened.catalog.forget()
                with self._trouble.tried("catalog"):
                    if finding := opened.heal():
                        self._trouble.note("damage", finding)
                    if opened.catalog.is_empty:  # perhaps somebody dropped it
                        only = None
                    report = take_in(opened.catalog, source, only=only, progress=progress)
                    if anew:  # every part takes all of them in again
                        report = replace(report, chunks=opened.catalog.count()[1])
                with self._trouble.tried("words"):
                    try:
                        write_words(opened.catalog, opened.need_words(), progress)
                    except WordsInTheWay:
                        opened.renew_words()
                        write_words(opened.catalog, opened.need_words(), progress)
                if "words" in self._trouble:
                    opened.doubt()
                opened.refresh()
                report = replace(report, unsearched=opened.catalog.lacking())
        return report

    def _embedded(self, report: SyncReport, progress: Progress | None, stop: Stop | None) -> SyncReport:
        """Make the vectors that are due, and return the report with what is to be said."""
        embedder, opened = self._embedder, self._opened
        if embedder is not None and opened is not None and "lock" not in self._trouble:
            if not (stop and stop()):
                self._embed(embedder, opened, progress, stop)
            with suppress(Unavailable):  # what is wrong with the catalog was said
                report = replace(report, waiting=opened.catalog.waiting("vectors"))
        with self._lock:
            if not report.waiting:
                self._trouble.drop("vectors")
            return self._with_findings(report)

    def _embed(
        self, embedder: Embedder, opened: OpenIndex, progress: Progress | None, stop: Stop | None
    ) -> None:
        """Make vectors; where others are at it, only who wants all of them waits until they are done."""
        from carrel.index.embedded.embedding import Embedding  # noqa: PLC0415 - numpy, when it is put to use

        @contextmanager
        def using() -> Generator[bool]:
            with self._lock, self._damage_set_aside():
                yield self._opened is opened and opened.is_current()

        try:
            Embedding(opened, embedder, using, self._embedding).run(progress, stop)
        except Unavailable as error:
            with self._lock:
                self._trouble.note("vectors", told(error))

    def _open(self) -> OpenIndex:
        """Return the open index, opened anew where its files are no longer those that were opened."""
        if self._opened is not None and not self._opened.is_current():
            self._close()
        if self._opened is None:
            try:
                self._opened = OpenIndex(self._folder, self._embedder, self._inside)
            except Unavailable as error:
                self._trouble.note("folder", told(error))
                self._folder = None
                self._opened = OpenIndex(None, self._embedder)
            if finding := self._opened.finding:
                self._trouble.note("damage", finding)
        return self._opened

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @contextmanager
    def _damage_set_aside(self) -> Generator[None]:
        """Set a catalog aside that holds what nobody wrote; it is made anew by the next sync.

        It has no checksum: whether an error that nobody thought of comes of damage is looked into then.
        """
        try:
            yield
        except CarrelError:
            raise
        except Exception as error:
            catalog = self._opened.catalog if self._opened else None
            if catalog is None or not (isinstance(error, DecodeError) or catalog.is_spoilt()):
                raise
            catalog.condemn()
            raise CatalogDamaged from error
        finally:
            if finding := self._set_aside:
                self._trouble.note("damage", finding)

    @property
    def _set_aside(self) -> Finding | None:
        """What to say where the catalog that is open was set aside, and the next one is not opened yet."""
        opened = self._opened
        return opened.finding if opened is not None and not opened.is_current() else None

    def _with_findings(self, report: SyncReport) -> SyncReport:
        findings = tuple(self._trouble)
        self._trouble.mend("damage")
        return replace(report, findings=findings)
