"""Search over a workspace, put together: loaded by the first that looks for something."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from time import monotonic

from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.findings import Finding
from carrel.index import Found, Hit, Index, Pointers, Progress, Query, Status, SyncReport
from carrel.index.embed import Embedder, EmbedderChoice, open_embedder
from carrel.index.embedded import EmbeddedIndex
from carrel.index.fuse.profiles import detect
from carrel.opening import Places, time_zone
from carrel.runtime.leads import Leads
from carrel.runtime.library import Library, Noted
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf
from carrel.workspace.ignore import find_rules
from carrel.workspace.scope import Scope

FRESH = 5.0
"""Seconds for which the files of a large workspace are taken to be as they were."""

LARGE = 1_000
"""Files and sessions from which on a workspace is not looked over before every search."""

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
        self._noted = Noted({}, {})
        self._graph = Leads()
        self._fresh_until = 0.0

    @cached_property
    def index(self) -> Index:
        """The index, in the cache of the workspace."""
        self._places.claim()
        folder = self._places.cache / "index"
        return EmbeddedIndex(folder, embedder=self._embedder(), inside=self._places.inside)

    @property
    def _library(self) -> Library:
        """All that can be searched, by what is private and what is ignored now."""
        shelf = self._shelf
        sessions = self._sessions()
        return Library(
            files=shelf.files,
            layout=shelf.layout,
            view=shelf.eyes(Scope.SHARED),
            ignored=find_rules(shelf.assembler.ground.documents.reading()),
            sessions=sessions,
            names={each.places.agent: each.places.agent for each in sessions},
            noted=self._noted,
        )

    def sync(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index match the files and the sessions."""
        return self._looked_over(self.index.sync(self._library, progress=progress))

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index anew."""
        return self._looked_over(self.index.rebuild(self._library, progress=progress))

    def status(self) -> Status:
        """Return how the index is."""
        return self.index.status()

    def find(self, query: Query, *, scope: Scope, session: str | None = None) -> Found:
        """Return what answers a query, as far as this listener may know of it.

        Others than the owner are shown files that everybody may see, and what was said before them in the
        session that they take part in.
        """
        is_sure = self._refresh(session)
        query = replace(query, by_ranks=self._is_by_ranks, boosts=self._boosts(query))
        found = self._ask(query, scope, session)
        if not is_sure and self._is_outdated(found, scope):
            self.sync()
            found = self._ask(query, scope, session)
        return self._told(found)

    def _ask(self, query: Query, scope: Scope, session: str | None) -> Found:
        if scope is Scope.MAIN:
            return self.index.search(query, self._leads(query))
        asked = _open(query, session, self._shelf.agent.id)
        found = _joined([self.index.search(each) for each in asked], query.limit)
        # What each list said depends on all that was indexed, and would tell of what is private.
        return replace(found, hits=tuple(replace(hit, fused=None) for hit in found.hits))

    def expire(self) -> None:
        """Have everything looked over before the next search: something was written."""
        self._fresh_until = 0.0

    def _leads(self, query: Query) -> tuple[Pointers, ...]:
        """Return what the entities in a query lead to; their pages are the owner's."""
        if query.mode not in ("hybrid", "lexical"):
            return ()
        shelf, library = self._shelf, self._library
        today = shelf.config.clock.now().astimezone(time_zone(shelf.config.settings.time_zone)).date()
        return self._graph.find(
            shelf.files, shelf.layout.home, query.text, today, lambda entry: not library.ignored(entry.path)
        )

    @property
    def _is_by_ranks(self) -> bool:
        given = self._shelf.config.settings.search.fusion
        return (given or self._shelf.layout.fusion) == "ranks"

    def _boosts(self, query: Query) -> Mapping[str, float]:
        """Return what tiers count by what kind of question it is, where lists are fused by ranks."""
        return detect(query.text).tiers if self._is_by_ranks else {}

    def close(self) -> None:
        """Let go of the index."""
        if (index := vars(self).pop("index", None)) is not None:
            index.close()

    def _refresh(self, session: str | None) -> bool:
        """Bring the index up to date, of a large one the session that goes on; tell whether all of it is."""
        if monotonic() >= self._fresh_until:
            self.sync()
            return True
        if paths := [
            each.places.log(session) for each in self._sessions() if session and each.exists(session)
        ]:
            self.index.sync(self._library, only=paths)
        return False

    def _looked_over(self, report: SyncReport) -> SyncReport:
        is_large = self.index.status().places > LARGE
        self._fresh_until = monotonic() + FRESH if is_large else 0.0
        return report

    def _is_outdated(self, found: Found, scope: Scope) -> bool:
        """Tell whether a hit is of a file that is gone by now, or that this listener may no longer see."""
        paths = {hit.chunk.path for hit in found.hits}
        places = self._library.places(paths)
        seen = {place.path for place in places if scope is Scope.MAIN or not place.private}
        return paths != seen

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
        except CarrelError as error:
            self._noticed = (Finding(code=error.code, message=error.message, hint=error.hint),)
            return None


def _open(query: Query, session: str | None, agent: str) -> Iterator[Query]:
    """Yield what others than the owner may ask: of files, and of the session with this agent."""
    within = query.within
    if tiers := tuple(tier for tier in within.tiers or TIERS if tier in TIERS):
        yield _within(query, tiers=tiers)
    if not session or "session" not in (within.tiers or ("session",)):
        return
    if session in (within.sessions or (session,)) and agent in (within.agents or (agent,)):
        yield _within(query, tiers=("session",), sessions=(session,), agents=(agent,))


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
