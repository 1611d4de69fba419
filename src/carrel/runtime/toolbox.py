"""The tools of one agent for one listener, put together from the workspace's parts."""

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.context.build import Ground
from carrel.files import Content, Entry, FileStore, Unreadable
from carrel.memory.keeping import Keeper
from carrel.memory.trust import owners_of
from carrel.records import Records
from carrel.runtime import edit, roster
from carrel.runtime.library import file_of, learnt_in
from carrel.runtime.view import NoSuchPath, View, discreet, fetch, is_hidden, is_unseen
from carrel.screen.policy import BlockedByPrivacy, Screen
from carrel.sessions import account
from carrel.sessions.placed import Placed
from carrel.sessions.search import search
from carrel.sessions.store import Sessions, UnknownSession
from carrel.settings import AgentSettings
from carrel.tools.access import Access, access_for, is_result
from carrel.tools.files import file_tools
from carrel.tools.memory import Look, memory_tools
from carrel.tools.memory_tool import NAME as MEMORY_TOOL
from carrel.tools.memory_tool import MemoryFolder, memory_tool
from carrel.tools.memory_write import Writer, memory_write_tools
from carrel.tools.page import FEWEST_CHARACTERS, MOST_CHARACTERS
from carrel.tools.proposing import Proposer, holding
from carrel.tools.registry import Registry, Tool
from carrel.tools.self_report import Sources, looking, self_report_tools
from carrel.tools.session_logs import LoggedEntry, LogHit, LogPage, SessionRow, session_log_tools
from carrel.tools.skills import skill_tools
from carrel.tools.taint import Heard, nothing_heard, turn_in
from carrel.workspace.ignore import find_rules
from carrel.workspace.injected import injected_by
from carrel.workspace.namespace import namespace_of, switched_on
from carrel.workspace.scope import HiddenByScope, Scope
from carrel.workspace.tiers import MEMORY, standing_of

_RECALLS = 1_000
_EVERY = 1_000_000


class Toolbox(Struct, frozen=True, kw_only=True):
    """What tools are made from; the scope is the application's choice and no tool's argument."""

    ground: Ground
    files: FileStore
    view: View
    scope: Scope
    clock: Clock
    model: str | None
    records: Callable[[], Records]
    sessions: Sessions
    session: str | None = None
    others: tuple[Tool, ...] = ()
    """What the application adds."""
    page: int = MOST_CHARACTERS
    """How many characters a page of a file has, at most."""
    look: Look | None = None
    """Searches as this listener may."""
    heard: Heard = nothing_heard
    """What the model has read of the session by now, as the log has it."""
    keeper: Callable[[], Keeper] | None = None
    """Who keeps what the agent learns; nobody where it has no memory."""
    written: Callable[[str], object]
    """Takes note of a file that was written."""

    def registry(self, *, ready: Callable[[], None] = lambda: None) -> Registry:
        """Return the tools that the agent may call, each as long as `ready` raises nothing."""
        access = access_for(self._reach(), self.ground.layout, self._agents, self._results)
        access = replace(access, page=min(MOST_CHARACTERS, max(FEWEST_CHARACTERS, self.page)))
        proposer = self._proposer()
        hold = holding(access, proposer, self._is_injected, self._screen)
        tools: list[Tool] = [
            *file_tools(access, hold),
            *skill_tools(self._skills, access),
            *self_report_tools(self._sources()),
        ]
        if self.files.stamps([self.sessions.places.folder]) != [None]:
            tools += session_log_tools(_OwnLogs(self.sessions, self.scope, self.session))
        if self.look is not None:
            tools += memory_tools(self.look, access, self._is_memory, self._learnt)
        tools += self.others
        if self.scope is Scope.SHARED:
            # What a stranger says to an agent must not become what the agent is told from then on.
            tools = [tool for tool in tools if not tool.writes]
        if self.keeper is not None and self.ground.agent.memory_enabled:
            writer = self._writer(self.keeper, proposer, access)
            tools += memory_write_tools(writer, self.scope)
            # Offered where it is asked for by its name: it says the same as others, to models trained on it.
            if MEMORY_TOOL in self.ground.agent.allowed_tools and self.scope is Scope.MAIN:
                tools.append(memory_tool(MemoryFolder(writer=writer, hold=hold)))
        return Registry(tools, ready=ready).allowed(self.ground.agent.allowed_tools)

    def _reach(self) -> "_Reach":
        """Return the files as this listener may see them: strangers not what is kept out of the prompt."""
        if self.scope is Scope.MAIN:
            return _Reach(self.files, self.view, self.written, self._results, screened=self._screened)
        ignored = find_rules(self.ground.documents.reading())
        return _Reach(self.files, self.view, self.written, self._results, ignored, self._screened)

    @property
    def _results(self) -> str:
        """The folder of the current session's large results."""
        return self.sessions.places.attachments(self.session) if self.session else ""

    @property
    def _agents(self) -> tuple[AgentSettings, ...]:
        return (self.ground.agent, *self.ground.settings.agents)

    def _is_memory(self, path: str) -> bool:
        agents = [agent.id for agent in self._agents]
        return standing_of(path, self.ground.layout, agents).tier in MEMORY

    def _is_injected(self, path: str) -> bool:
        """Tell whether every prompt holds a file; told when something is written, since few calls write."""
        return injected_by(self.ground.layout, self._agents)(path)

    def _learnt(self, path: str) -> str | None:
        """Return what the agent reads of a namespace, by the path of a hit; before others it has none."""
        name = file_of(path)
        if name is None or self.scope is not Scope.MAIN:
            return None
        reading = self.ground.namespaces.reading()
        own = namespace_of(self.ground.agent, self.ground.agent.id, self.ground.location).path
        is_read = name == own or name in [each.path for each in switched_on(reading)]
        document = reading.document(name) if is_read else None
        return learnt_in(document.verbatim) if document else None

    @property
    def _screen(self) -> Screen:
        privacy = self.ground.settings.privacy
        return Screen(secrets=privacy.secrets, personal=privacy.personal)

    def _screened(self, path: str, data: bytes) -> bytes:
        """Return what a tool may write to a file: of memory, what the owner's policy lets through."""
        if not (self._is_memory(path) or self._is_memory(self.files.target(path))):
            return data
        content = self.files.read(path)
        old = content.data if content else b""
        texts = (each.decode("utf-8", "surrogateescape") for each in (old, data))
        screened = self._screen.between(*texts)
        if screened.blocked:
            raise BlockedByPrivacy(screened.found)
        return screened.text.encode("utf-8", "surrogateescape") if screened.found else data

    def _proposer(self) -> Proposer:
        return Proposer(
            agent=self.ground.agent.id,
            session=self.session or "",
            records=self.records,
            clock=self.clock,
            turn=lambda: turn_in(self.heard(), self._owners()),
        )

    def _owners(self) -> tuple[str, ...]:
        """Return the ids of the owner as a sender; a session that has not begun yet has none of its own."""
        user = self.ground.settings.user.id
        if self.session is None or not self.sessions.exists(self.session):
            return (user,) if user else ()
        return owners_of(self.sessions, self.session, user)

    def _writer(self, keeper: Callable[[], Keeper], proposer: Proposer, access: Access) -> Writer:
        return Writer(
            agent=self.ground.agent.id,
            agents=tuple(agent.id for agent in self._agents),
            layout=self.ground.layout,
            keeper=keeper,
            proposer=proposer,
            access=access,
        )

    def _skills(self) -> roster.Skills:
        return roster.skills_of(self.ground, self.ground.documents.reading(), self.scope)

    def _sources(self) -> Sources:
        agent = self.ground.agent.id
        return Sources(
            agent_id=agent,
            model=self.model,
            workspace_dir=self.ground.location if self.scope is Scope.MAIN else self.ground.directory,
            look=looking(self.ground.documents, self.ground.layout, self.scope),
            now=self.clock.now,
            scope=self.scope,
            home=self.ground.layout.home,
            sessions=lambda: _OwnLogs(self.sessions, self.scope, self.session).sessions(limit=0, offset=0)[1],
            recalls=lambda since: self.records().recalls.count(agent, since),
            recalled=self._recalled,
        )

    def _recalled(self, since: datetime) -> list[str]:
        events = self.records().recalls.since(self.ground.agent.id, since, _RECALLS)
        return [event.text for event in events]


def _as_it_is(path: str, data: bytes) -> bytes:  # noqa: ARG001 - what is no memory is nobody's to look at
    return data


class _Reach(Struct, frozen=True):
    """The files of a workspace through the eyes of one listener."""

    files: FileStore
    view: View
    written: Callable[[str], object]
    results: str = ""
    ignored: Callable[[str], bool] | None = None
    screened: Callable[[str, bytes], bytes] = _as_it_is

    def read(self, path: str) -> Content | None:
        if is_result(path, self.results):
            content = self.files.read(path)
            # A link in its place, or one more name of another file, is judged like any other.
            if content is None or (content.target == path and content.links <= 1):
                return content
        if self._is_kept(path):
            raise HiddenByScope(path)
        try:
            with discreet(path, self.view):
                content = fetch(self.files, path, view=self.view)
        except NoSuchPath:
            return None
        return None if content is None or self._is_kept(content.target) else content

    def list(self, under: str) -> Sequence[Entry]:
        try:
            shown = [entry for entry in self.files.list(under) if not self._hides(entry)]
        except Unreadable:
            if is_unseen(self.files, under, self.view):
                return []
            raise
        # A folder that shows nothing of its own may be as good as absent, whatever it has links to.
        has_own = any(entry.path == entry.target for entry in shown)
        return shown if has_own or not (shown and is_unseen(self.files, under, self.view)) else []

    def target(self, path: str) -> str:
        return self.files.target(path)

    def put(self, path: str, data: bytes, *, expect: str | None) -> str:
        data = self.screened(path, data)
        done = edit.put(self.files, path, data, expect=expect or edit.ABSENT, view=self.view)
        self.written(path)
        return done.digest

    def _hides(self, entry: Entry) -> bool:
        is_kept = self._is_kept(entry.path) or self._is_kept(entry.target)
        return is_kept or is_hidden(self.files, entry, self.view)

    def _is_kept(self, path: str) -> bool:
        """Tell whether strangers are not shown a file since it is kept out of the prompt."""
        return self.ignored is not None and self.ignored(path)


class _OwnLogs(Struct, frozen=True):
    """The sessions that an agent may look at: its own, and before others only the one they take part in."""

    store: Sessions
    scope: Scope
    current: str | None

    def sessions(self, *, limit: int, offset: int) -> tuple[Sequence[SessionRow], int]:
        if self.scope is Scope.MAIN:
            rows, total = self.store.rows(limit=limit, offset=offset)
            return [_listed(row) for row in rows], total
        if self.current is None or not self.store.exists(self.current):
            return [], 0
        # Its title may be what the owner said first, and its length tells how much they said.
        shown = self._shown()
        row = replace(
            _listed(self.store.row(self.current)),
            title="",
            entries=len(shown),
            first_timestamp=shown[0].entry.timestamp if shown else None,
            last_timestamp=shown[-1].entry.timestamp if shown else None,
        )
        return [row][offset : offset + limit], 1

    def page(self, session: str, *, first: int, limit: int) -> LogPage | None:
        if not self._may_see(session):
            return None
        try:
            page = self.store.page(session, first=first, limit=limit)
        except UnknownSession:
            return None
        if self.scope is Scope.MAIN:
            return LogPage(
                header=page.header, total=page.total, entries=[_logged(placed) for placed in page.entries]
            )
        shown = self._shown()
        entries = [_logged(placed) for placed in shown[first - 1 : first - 1 + limit]]
        return LogPage(header=None, total=len(shown), entries=entries)

    def search(self, words: str, *, limit: int) -> Sequence[LogHit]:
        only = self.current if self.scope is Scope.SHARED else None
        if self.scope is Scope.SHARED and only is None:
            return []
        # Before others, hits of the owner's are taken out first: they must not use up the limit.
        found = search(self.store, words, limit=limit if only is None else _EVERY, only=only)
        numbers = {placed.entry.message_id: placed.number for placed in self._shown()} if only else {}
        shown = [hit for hit in found if only is None or hit.entry.scope == Scope.SHARED][:limit]
        return [
            LogHit(
                session=hit.session,
                entry=_logged(Placed(numbers.get(hit.entry.message_id, hit.number), hit.entry)),
            )
            for hit in shown
        ]

    def _shown(self) -> list[Placed]:
        """Return what others may see of the current session, numbered as if there were nothing else."""
        if self.current is None:
            return []
        entries = (placed.entry for placed in self.store.entries(self.current))
        shown = (entry for entry in entries if entry.scope == Scope.SHARED)
        return [Placed(number, entry) for number, entry in enumerate(shown, 1)]

    def _may_see(self, session: str) -> bool:
        return self.scope is Scope.MAIN or session == self.current


def _listed(row: account.SessionRow) -> SessionRow:
    return SessionRow(
        id=row.id,
        title=row.title,
        agent_id=row.agent_id,
        source_plugin=row.source,
        entries=row.entries,
        first_timestamp=row.started or None,
        last_timestamp=row.updated or None,
    )


def _logged(placed: Placed) -> LoggedEntry:
    entry = placed.entry
    return LoggedEntry(
        number=placed.number,
        timestamp=entry.timestamp,
        role=entry.role,
        content=entry.to_text(),
        message_id=entry.message_id or None,
        source_plugin=entry.source_plugin,
        sender_id=entry.sender_id,
    )
