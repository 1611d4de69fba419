"""Search over a workspace, put together: loaded by the first that looks for something."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec

from msgspec.structs import replace

from carrel.context.select import find_identity
from carrel.errors import CarrelError, UsageError
from carrel.files import show
from carrel.files.glimpse import glimpse
from carrel.findings import Finding
from carrel.index import MODES, Found, Hit, Index, Pointers, Progress, Query, Status, Stop, SyncReport
from carrel.index.embed import Embedder, EmbedderChoice
from carrel.index.embed.screened import ScreenedEmbedder
from carrel.index.fuse.profiles import detect
from carrel.memory.procedures import TIER as PROCEDURE
from carrel.memory.procedures import weights_of
from carrel.opening import time_zone
from carrel.runtime import freshness
from carrel.runtime.beside import Beside
from carrel.runtime.freshness import Freshness, Look
from carrel.runtime.leads import Leads
from carrel.runtime.library import Lengths, Library, place_of, spelled
from carrel.runtime.logs import Logs
from carrel.runtime.unseen import EVERYTHING
from carrel.runtime.view import look
from carrel.runtime.walked import Walked
from carrel.sessions.store import Sessions
from carrel.settings import AgentSettings
from carrel.shelf import Shelf
from carrel.workspace.document import Reading
from carrel.workspace.ignore import IGNORE_FILE, find_rules
from carrel.workspace.namespace import Namespace, namespace_of, switched_on
from carrel.workspace.scope import Privacy, Scope, privacy_of

PATIENCE = 1.0
"""Seconds for which a search waits for vectors that are being made; words answer alone after that."""

FEW = 256
"""Chunks whose vectors are waited for also where others were begun before."""

ANSWERED = 0.05
"""Seconds after which what was said is taken in: the answer is on its way by then, and nothing slows it."""

CLOSING = 2.0
"""Seconds for which closing waits for what is done beside; what is left over is done another time."""

TIERS = ("journal", "profile", "graph", "procedure", "document", "knowledge")
"""The tiers of files; what was said in sessions is the other."""


class UnknownMode(UsageError):
    """There is no such way to look for something."""

    code = "unknown_mode"

    def __init__(self, mode: object) -> None:
        super().__init__(
            f"There is no mode of search called '{show(str(mode)[:80])}'.",
            hint=f"The modes are {', '.join(MODES)}.",
        )


class Searching:
    """The index of one workspace and what it is made from; owns the index."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        environ: Mapping[str, str],
        sessions: Callable[[], Sequence[Sessions]],
    ) -> None:
        self._shelf = shelf
        self._environ = environ
        self._sessions = sessions
        self._noticed: tuple[Finding, ...] = ()
        self._screened: ScreenedEmbedder | None = None
        self._lengths: Lengths = {}
        self._walked = Walked()
        self._logs = Logs()
        self._asked: tuple[str, ...] = ()
        self._graph = Leads()
        self._freshness = Freshness(lambda: self.index.status().places)
        self._said: set[str] = set()
        self._beside = Beside(self._catch_up, "carrel-index", patience=CLOSING)

    @cached_property
    def index(self) -> Index:
        """The index, where the workspace lives."""
        return self._shelf.home.index(self._embedder())

    def _library(self, enough: Mapping[str, int] | None = None) -> Library:
        """Return all that can be searched, by what is private and what is ignored now."""
        shelf, sessions = self._shelf, self._sessions()
        reading = shelf.assembler.ground.documents.reading()
        reading.documents(self._asked)  # all at once, since it is known by now what will be asked for
        privacy = privacy_of(shelf.layout, reading)
        names, ignored, ignoring = self._names(reading, privacy), find_rules(reading), _ignoring(reading)
        self._asked = tuple(reading.read)
        return Library(
            files=glimpse(shelf.files),
            layout=shelf.layout,
            view=look(privacy, scope=Scope.SHARED),
            ignored=ignored,
            sessions=sessions,
            names=names,
            lengths=self._lengths,
            rules=_digest(self._described, *sorted(names), *ignoring),
            enough=enough or {},
            namespaces=shelf.find_namespaces() if (learnt := self._learnt()) else None,
            learnt=learnt,
            walked=self._walked if shelf.assembler.ground.documents.is_near else None,
            logs=self._logs,
        )

    @cached_property
    def _described(self) -> str:
        """What the layout says of files, in a word; it is long, and stays while the workspace is open."""
        return _digest(repr(self._shelf.layout))

    def _learnt(self) -> dict[str, str]:
        """Return the namespaces that are read here, and whose each is.

        One of a profile is nobody's own, nor is one that everyone reads.
        """
        agents = {agent.id: agent for agent in (*self._shelf.config.settings.agents, self._shelf.agent)}
        found = (self._namespace(agent) for agent in agents.values() if agent.memory_enabled)
        return {each.path: each.agent for each in found} | dict.fromkeys(self._read_by_all(), "")

    def _read_by_all(self) -> list[str]:
        return [each.path for each in switched_on(self._shelf.assembler.ground.namespaces.reading())]

    def _namespace(self, agent: AgentSettings) -> Namespace:
        return namespace_of(agent, agent.id, self._shelf.assembler.ground.location)

    @property
    def namespaces(self) -> set[str]:
        """The paths by which what the agent reads of other places is found."""
        own = self._namespace(self._shelf.agent).path
        return {place_of(path) for path in (own, *self._read_by_all())}

    def _names(self, reading: Reading, hidden_by: Privacy) -> dict[str, str]:
        """Return what each agent is called where it speaks: as configured, else as its identity says.

        A name that is not for everybody's eyes is not used: who spoke is told to everybody who hears of it.
        """
        shelf = self._shelf
        found = find_identity(reading, shelf.layout, hidden_by).name
        agents = {agent.id: agent for agent in (*shelf.config.settings.agents, shelf.agent)}
        own = [each.places.agent for each in self._sessions()]
        return {agent: agents[agent].display_name or found or agent for agent in own}

    def sync(
        self, changed: Collection[str] = (EVERYTHING,), *, progress: Progress | None = None
    ) -> SyncReport:
        """Make the index match the files and the sessions, vectors included.

        Who watches a large workspace and says what changed has only that looked at, for a while.
        """
        self.expire(changed)
        library = self._library()
        look = self._freshness.look(library, freshness.WATCHED)
        return self._seen(look, self.index.sync(library, only=look.only, progress=progress))

    def rebuild(self, *, progress: Progress | None = None) -> SyncReport:
        """Make the index anew."""
        self.expire()
        library = self._library()
        look = self._freshness.look(library, freshness.WATCHED)
        return self._seen(look, self.index.rebuild(library, progress=progress))

    def status(self) -> Status:
        """Return how the index is."""
        return self.index.status()

    def find(
        self, query: Query, *, scope: Scope, session: str | None = None, reads_from: int | None = None
    ) -> Found:
        """Return what answers a query, as far as this listener may know of it.

        Others than the owner are shown files that everybody may see, and what was said before them in the
        session that they take part in. Who `reads_from` a number of the agent's session on anyway need not
        wait until that is searched, too.
        """
        library = self._library(self._enough(session, reads_from))
        query = self._settled(query, library.learnt)
        is_sure = self._refresh(library, query, session)
        found = self._ask(library, query, scope, session)
        if not is_sure and self._is_outdated(library, found, scope):
            self.expire()
            library = self._library(self._enough(session, reads_from))
            self._refresh(library, query, session)
            found = self._ask(library, query, scope, session)
        return self._told(found)

    def follow(self, session: str) -> None:
        """Take in what was said in a session of the agent, beside all else, if the index is in use."""
        if "index" in vars(self):
            self._said.add(self._sessions()[0].places.log(session))
            self._beside.begin(after=ANSWERED)

    def wait(self) -> None:
        """Wait until what is done beside is done."""
        self._beside.wait()

    def _ask(self, library: Library, query: Query, scope: Scope, session: str | None) -> Found:
        if scope is Scope.MAIN:
            found = self.index.search(query, self._leads(library, query))
            return found if query.diverse or query.mode in ("literal", "regex") else self._reinforced(found)
        asked = _open(query, session, self._shelf.agent.id)
        found = _joined([self.index.search(each) for each in asked], query.limit)
        # What each list said depends on all that was indexed, and would tell of what is private.
        return replace(found, hits=tuple(replace(hit, fused=None) for hit in found.hits))

    def _reinforced(self, found: Found) -> Found:
        """Let procedures that were used count more; who has none among the hits pays nothing for it."""
        if not any(hit.chunk.tier == PROCEDURE for hit in found.hits):
            return found
        now = self._shelf.config.clock.now()
        try:
            recalls = self._shelf.records.recalls
            weights = weights_of(recalls.remembered(self._shelf.agent.id, tiers=(PROCEDURE,), until=now), now)
        except CarrelError:  # how often something was used is not what makes it an answer
            return found
        worth = [(hit.score * weights.get(hit.chunk.path, 1.0), hit) for hit in found.hits]
        worth.sort(key=lambda each: -each[0])
        return replace(found, hits=tuple(replace(hit, score=min(score, 1.0)) for score, hit in worth))

    def expire(self, changed: Iterable[str] = (EVERYTHING,)) -> None:
        """Have some paths looked at before the next search, or everything: something was written."""
        self._freshness.expire(changed)

    def _leads(self, library: Library, query: Query) -> tuple[Pointers, ...]:
        """Return what the entities in a query lead to; their pages are the owner's."""
        if query.mode not in ("hybrid", "lexical"):
            return ()
        shelf = self._shelf
        today = shelf.config.clock.now().astimezone(time_zone(shelf.config.settings.time_zone)).date()
        return self._graph.find(
            library.files, shelf.layout.home, query.text, today, lambda entry: not library.ignored(entry.path)
        )

    def _settled(self, query: Query, learnt: Collection[str]) -> Query:
        """Return a query with paths as places have them, and how its lists and tiers count."""
        if query.mode not in MODES:
            raise UnknownMode(query.mode)
        paths = {path: spelled(path) for path in query.within.paths}
        has_root = any(given and not path for given, path in paths.items())
        others = {place_of(path) for path in learnt} - self.namespaces
        within = replace(
            query.within,
            paths=() if has_root else tuple(paths.values()),
            without=(*query.within.without, *sorted(others)),
        )
        given = self._shelf.config.settings.search.fusion or self._shelf.layout.fusion
        by_ranks = given == "ranks"
        boosts: Mapping[str, float] = detect(query.text).tiers if by_ranks else {}
        return replace(query, within=within, by_ranks=by_ranks, boosts=boosts)

    def close(self) -> None:
        """Let go of the index."""
        self._beside.close()
        if (index := vars(self).pop("index", None)) is not None:
            index.close()

    def _enough(self, session: str | None, reads_from: int | None) -> dict[str, int]:
        """Return how many entries of a session's log are enough for one who reads from a number on."""
        if session is None or reads_from is None:
            return {}
        return {self._sessions()[0].places.log(session): reads_from - 1}

    def _refresh(self, library: Library, query: Query, session: str | None) -> bool:
        """Bring the index up to date, of a large one where something changed; tell whether all of it is."""
        look = self._freshness.look(library, freshness.FRESH)
        only = None if look.only is None else look.only.union(_logs(library.sessions, session))
        if only is None or only:
            report = self.index.sync(library, only=only, stop=lambda: True)
            self._wait_for_vectors(self._seen(look, report), query)
        return only is None

    def _wait_for_vectors(self, report: SyncReport, query: Query) -> None:
        """Have vectors made beside; those that are soon there are waited for."""
        if not report.waiting:
            return
        is_idle = self._beside.begin()
        if query.mode in ("hybrid", "vector") and (is_idle or report.waiting <= FEW):
            self._beside.wait(PATIENCE)

    def _catch_up(self, stop: Stop) -> None:
        """Take in what was said, and make the vectors that are due; what is left a search does, or says."""
        said = [self._said.pop() for _ in range(len(self._said))]
        index: Index | None = vars(self).get("index")
        if index is not None:
            with suppress(CarrelError):
                index.sync(self._library(), only=said, stop=stop)

    def _seen(self, look: Look, report: SyncReport) -> SyncReport:
        """Take note of a look, and return what is to be said of it."""
        self._freshness.saw(look, report)
        blocked = self._screened.blocked if self._screened and look.only is None else 0
        return replace(report, findings=(*report.findings, _kept_back(blocked))) if blocked else report

    def _is_outdated(self, library: Library, found: Found, scope: Scope) -> bool:
        """Tell whether a hit is of a file that is gone by now, or that this listener may no longer see."""
        paths = {hit.chunk.path for hit in found.hits}
        return paths != library.seen(paths, scope)

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
        try:
            opened = self._shelf.home.embedder(choice, self._environ)
        except CarrelError as error:
            self._noticed = (Finding(code=error.code, message=error.message, hint=error.hint),)
            return None
        self._screened = ScreenedEmbedder(opened, self._shelf.screen) if opened is not None else None
        return self._screened


def _kept_back(number: int) -> Finding:
    return Finding(
        code="not_embedded",
        message=f"{number:,} passages hold what is kept out of vectors; only their words are searched.",
        severity="info",
        hint="privacy.secrets and privacy.personal say what is done with it.",
    )


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


def _logs(everyones: Sequence[Sessions], session: str | None) -> list[str]:
    """Return the logs of a session, of whichever agents have one of this name."""
    return [each.places.log(session) for each in everyones if session and each.exists(session)]


def _all_hits(lists: Sequence[Found]) -> Iterator[Hit]:
    for found in lists:
        yield from found.hits


def _ignoring(reading: Reading) -> tuple[str, str]:
    document = reading.document(IGNORE_FILE)
    return (document.verbatim, document.problem or "") if document else ("", "")


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
