"""The index in PostgreSQL: the same chunks, words and order as in a directory, for any number of servers.

    index_state     how often it changed; whoever writes holds this row
    index_places, index_chunks, index_due    the catalog, and what is due
    index_segments, index_words              the words, scored here
    index_vectors                            the vectors, in pgvector

Nothing is kept in a process but what a look at the state shows to be still true.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import DecodeError
from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.index import Found, Pointers, Progress, Query, Source, Status, Stop, SyncReport
from carrel.index.answer import Answer, Parts, limited
from carrel.index.embed import Embedder
from carrel.index.lag import Lag
from carrel.index.postgres.desk import OWN, Desk
from carrel.index.postgres.looking import Seen, look
from carrel.index.postgres.reading import PostgresTexts, Reader
from carrel.index.postgres.vectors import Vectors
from carrel.index.postgres.words import Words
from carrel.index.trouble import Trouble, told
from carrel.postgres import Tenant

if TYPE_CHECKING:
    from carrel.index.postgres.syncing import Syncing

_ATTEMPTS = 3
"""How often a question is asked again that others changed the index under."""


class IndexDamaged(Unavailable):
    """The words of the index are not what was written."""

    code = "index_words_damaged"

    def __init__(self) -> None:
        super().__init__(
            "The words of the index cannot be read; the next sync makes it anew.",
            hint="Search again, or `carrel index sync`.",
        )


class PostgresIndex:
    """The index of one workspace of a tenant, over the tenant's connections. Threads may share it."""

    def __init__(self, tenant: Tenant, workspace: str, *, embedder: Embedder | None = None) -> None:
        self._desk = Desk(tenant, workspace)
        self._embedder = embedder
        self._speakers: dict[tuple[int, bool], list[str]] = {}
        self._trouble = Trouble()
        self._is_damaged = False

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
        from carrel.index.postgres.syncing import Syncing  # noqa: PLC0415 - who only searches needs none

        syncing = Syncing(self._desk, progress)
        report = SyncReport()
        with self._trouble.tried("catalog"):
            report = self._take(syncing, source, only)
        return self._embedded(syncing, report, stop)

    def rebuild(self, source: Source, *, progress: Progress | None = None) -> SyncReport:
        """Forget everything and index it anew."""
        from carrel.index.postgres.syncing import Syncing  # noqa: PLC0415 - the same

        syncing = Syncing(self._desk, progress)
        report = SyncReport()
        with self._trouble.tried("catalog"):
            report = self._take_anew(syncing, source)
        return self._embedded(syncing, report, None)

    def search(self, query: Query, also: Sequence[Pointers] = ()) -> Found:
        """Answer a question from what is indexed, and from lists of what others found.

        Only a pattern that cannot be used is an error; whatever else is wrong makes the answer poorer.
        """
        limit = limited(query)
        try:
            found = self._search(query, also, limit) if limit else Found()
        except DecodeError:
            self._is_damaged = True
            found = Found(findings=(told(IndexDamaged()),))
        except Unavailable as error:
            found = Found(findings=(told(error),))
        return self._trouble.over(found)

    def status(self) -> Status:
        """Return how the index is."""
        from carrel.index.postgres.catalog import Catalog  # noqa: PLC0415 - who only searches has no use for it

        try:
            seen = look(self._desk)
            places, held = self._count("places", "AND lack = ''"), self._count("vectors")
            unsearched = Catalog(self._desk).lacking() if seen.is_lacking else {}
        except DecodeError:
            return Status(degraded=True, findings=(told(IndexDamaged()),))
        except Unavailable as error:
            return Status(degraded=True, findings=(*self._trouble, told(error)))
        return Status(
            places=places,
            chunks=seen.state.chunks,
            vectors=held if self._embedder and self._embedder.name == seen.state.embedder else 0,
            waiting=seen.words_due + (self._lag(seen).waiting if self._embedder else 0),
            embedder=seen.state.embedder,
            location=f"pg://{'/'.join(self._desk.own)}",
            unsearched=unsearched,
            degraded=any(self._trouble),
            findings=tuple(self._trouble),
        )

    def drop(self) -> None:
        """Delete all that is kept of this workspace's index; a sync makes it anew."""
        from carrel.index.postgres.catalog import Catalog  # noqa: PLC0415 - the same

        catalog = Catalog(self._desk)
        with catalog.held() as state:
            catalog.clear(state)

    def close(self) -> None:
        """Let go of what was kept; the connections are the tenant's."""
        self._speakers.clear()

    # Searching

    def _search(self, query: Query, also: Sequence[Pointers], limit: int) -> Found:
        if query.mode in ("literal", "regex"):
            from carrel.index.verbatim import find_verbatim  # noqa: PLC0415 - few ask for it

            return find_verbatim(PostgresTexts(self._desk), query, limit)
        attempts = 0
        while True:
            attempts += 1
            seen, reader = look(self._desk), Reader(self._desk)
            found = self._answer(seen, reader, query, also, limit)
            if attempts == _ATTEMPTS or reader.generation() == seen.state.generation:
                return found

    def _answer(
        self, seen: Seen, reader: Reader, query: Query, also: Sequence[Pointers], limit: int
    ) -> Found:
        findings: list[Finding] = []
        lag = self._lag(seen)
        with_vectors = query.mode in ("hybrid", "vector") and self._embedder is not None
        if with_vectors and (finding := lag.finding):
            findings.append(finding)
        parts = Parts(
            catalog=reader,
            words=Words(self._desk, seen.segments),
            near=Vectors(self._desk, seen.state).near if with_vectors and lag.is_small else None,
            embedder=self._embedder,
            speakers=self._who(seen.state.generation, shared=query.within.shared),
        )
        found = Answer(parts, query, also, limit).found()
        return replace(found, findings=(*findings, *found.findings))

    def _who(self, generation: int, *, shared: bool) -> list[str]:
        """Return who speaks; for others than the owner, as everybody may know."""
        known = self._speakers.get((generation, shared))
        if known is None:
            known = Reader(self._desk).speakers(shared=shared)
            self._speakers = {key: told for key, told in self._speakers.items() if key[0] == generation}
            self._speakers[generation, shared] = known
        return known

    def _lag(self, seen: Seen) -> Lag:
        """Return how many chunks have no vector of the embedder yet."""
        is_own = self._embedder is None or seen.state.embedder == self._embedder.name
        return Lag(seen.state.chunks, seen.vectors_due if is_own else seen.state.chunks)

    def _count(self, table: str, condition: str = "") -> int:
        sql = f"SELECT count(*) FROM carrel.index_{table} WHERE {OWN} {condition}"  # noqa: S608 - constants
        return self._desk.rows(sql)[0][0]

    # Writing

    def _take(self, syncing: "Syncing", source: Source, only: Collection[str] | None) -> SyncReport:
        """Bring the index up to its source, and make it anew where it is not what was written."""
        with suppress(DecodeError):
            if not self._is_damaged:
                return syncing.take(source, only)
        self.drop()
        self._is_damaged = False
        return syncing.take(source, None)

    def _take_anew(self, syncing: "Syncing", source: Source) -> SyncReport:
        with suppress(DecodeError):
            report = syncing.take_anew(source)
            self._is_damaged = False
            return report
        self._is_damaged = True
        return self._take(syncing, source, None)

    def _embedded(self, syncing: "Syncing", report: SyncReport, stop: Stop | None) -> SyncReport:
        """Make the vectors that are due, and return the report with what is to be said."""
        embedder, waiting = self._embedder, 0
        if embedder is not None and "catalog" not in self._trouble:
            again = "vectors" in self._trouble
            with self._trouble.tried("vectors"):
                waiting = syncing.embed(embedder, stop, again=again)
        return replace(report, waiting=waiting, findings=tuple(self._trouble))
