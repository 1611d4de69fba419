"""Search over a workspace, put together: loaded by the first that looks for something."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from time import monotonic

from msgspec.structs import replace

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.index import Found, Hit, Index, Progress, Query, Status, SyncReport
from carrel.index.embed import Embedder, EmbedderChoice, open_embedder
from carrel.index.embedded import EmbeddedIndex
from carrel.opening import Places
from carrel.runtime.library import Library
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf
from carrel.workspace.ignore import find_rules
from carrel.workspace.scope import Scope

FRESH = 5.0
"""Seconds for which the files are taken to be as they were: who writes here says so at once."""

TIERS = ("journal", "profile", "graph", "procedure", "document", "knowledge")
"""The tiers of files; what was said in sessions is the other."""


class Searching:
    """The index of one workspace and what it is made from; owns the index."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        places: Places,
        environ: Mapping[str, str],
        sessions: Callable[[], Sequence[Sessions]],
    ) -> None:
        self._shelf = shelf
        self._places = places
        self._environ = environ
        self._sessions = sessions
        self._noticed: tuple[Finding, ...] = ()
        self._synced: float | None = None

    @cached_property
    def index(self) -> Index:
        """The index, in the cache of the workspace."""
        self._places.claim()
        folder = self._places.cache / "index"
        return EmbeddedIndex(folder, embedder=self._embedder(), inside=self._places.inside)

    @cached_property
    def _library(self) -> Library:
        shelf = self._shelf
        sessions = self._sessions()
        return Library(
            files=shelf.files,
            layout=shelf.layout,
            view=shelf.eyes(Scope.SHARED),
            ignored=find_rules(shelf.assembler.ground.documents.reading()),
            sessions=sessions,
            names={each.places.agent: each.places.agent for each in sessions},
        )

    def sync(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index match the files and the sessions."""
        self._synced = monotonic()
        return self.index.sync(self._library, progress=progress)

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index anew."""
        self._synced = monotonic()
        return self.index.rebuild(self._library, progress=progress)

    def status(self) -> Status:
        """Return how the index is."""
        return self.index.status()

    def find(self, query: Query, *, scope: Scope, session: str | None = None) -> Found:
        """Return what answers a query, as far as this listener may know of it.

        Others than the owner are shown files that everybody may see, and what was said before them in the
        session that they take part in.
        """
        self._refresh(session)
        if scope is Scope.MAIN:
            return self._told(self.index.search(query))
        return self._told(_joined([self.index.search(each) for each in _open(query, session)], query.limit))

    def close(self) -> None:
        """Let go of the index."""
        if (index := vars(self).pop("index", None)) is not None:
            index.close()

    def _refresh(self, session: str | None) -> None:
        """Bring the index up to date: all of it now and then, the session that goes on each time."""
        if self._synced is None or monotonic() - self._synced > FRESH:
            self.sync()
        elif session is not None:
            paths = [each.places.log(session) for each in self._sessions() if each.exists(session)]
            self.index.sync(self._library, only=paths)

    def _told(self, found: Found) -> Found:
        if not self._noticed:
            return found
        return replace(found, findings=(*self._noticed, *found.findings), degraded=True)

    def _embedder(self) -> Embedder | None:
        """Return what makes vectors; one that cannot be had leaves words alone, and says so."""
        given = self._shelf.config.settings.search
        kind = given.embedder
        if kind == "auto":
            kind = "static" if find_spec("wordllama") else "none"
        choice = EmbedderChoice(
            kind=kind,
            model=given.embedder_model or "",
            base_url=given.embedder_url or "",
            key_variable=given.embedder_key_variable or "",
        )
        cache = self._places.cache / "embeddings.db"
        try:
            return open_embedder(choice, environ=self._environ, cache=cache, inside=self._places.inside)
        except Unavailable as error:
            self._noticed = (Finding(code=error.code, message=error.message, hint=error.hint),)
            return None


def _open(query: Query, session: str | None) -> Iterator[Query]:
    """Yield what others than the owner may ask: of files, and of the session that they take part in."""
    within = query.within
    if tiers := tuple(tier for tier in within.tiers or TIERS if tier in TIERS):
        yield _within(query, tiers=tiers)
    is_wanted = not within.tiers or "session" in within.tiers
    if session and is_wanted and session in (within.sessions or (session,)):
        yield _within(query, tiers=("session",), sessions=(session,))


def _within(query: Query, **changes: tuple[str, ...]) -> Query:
    return replace(query, within=replace(query.within, shared=True, **changes))


def _joined(lists: Sequence[Found], limit: int) -> Found:
    """Return the hits of several searches as one, best first."""
    hits = sorted(_all_hits(lists), key=lambda hit: (-hit.score, hit.chunk.path, hit.chunk.line))
    facets: dict[str, dict[str, int]] = {}
    for found in lists:
        for name, counts in found.facets.items():
            own = facets.setdefault(name, {})
            for value, number in counts.items():
                own[value] = own.get(value, 0) + number
    return Found(
        hits=tuple(hits[:limit]),
        facets=facets,
        degraded=any(found.degraded for found in lists),
        findings=tuple(dict.fromkeys(finding for found in lists for finding in found.findings)),
    )


def _all_hits(lists: Sequence[Found]) -> Iterator[Hit]:
    for found in lists:
        yield from found.hits
