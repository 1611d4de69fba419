"""Memory of one agent, put together: notebooks, journal and facts, what changed and what waits."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import tzinfo
from functools import cached_property
from hashlib import sha256

from msgspec.structs import replace

from carrel.context.build import agent_name
from carrel.context.select import find_identity
from carrel.errors import CarrelError, NotFound, Unavailable, UsageError
from carrel.files import FileStore, show
from carrel.files.history import GitHistory, History
from carrel.findings import Finding
from carrel.markdown.sections import SectionConflict, SectionNotFound, append
from carrel.memory import journal
from carrel.memory.fact import fact_id, key_of
from carrel.memory.following import follow
from carrel.memory.ignored import git_ignores
from carrel.memory.journal import Category
from carrel.memory.keeping import Keeper, Kept
from carrel.memory.namespaces import Namespaces
from carrel.memory.notebook import Notebook
from carrel.memory.owned import text_at
from carrel.memory.pen import MARKDOWN, Author, Pen
from carrel.memory.places import Target, place_of
from carrel.memory.review import Review, said_in
from carrel.memory.written import holds
from carrel.opening import time_zone
from carrel.records.changes import Change
from carrel.records.facts import Fact, FactState, Layer, Store
from carrel.records.proposals import Proposal
from carrel.runtime.edit import changeable
from carrel.runtime.remember import ACTOR
from carrel.runtime.remember.troubles import REDACTED, troubles
from carrel.runtime.unseen import EVERYTHING
from carrel.sessions.store import Sessions
from carrel.settings import AgentSettings
from carrel.shelf import OWNER, Shelf
from carrel.tools.memory import NotMemory
from carrel.workspace.namespace import Namespace, beginning, namespace_of

_LOOKED_AT = 20
_PAGE = 50


class MemoryOff(UsageError):
    """The agent has no memory of its own, and none is made for it."""

    code = "memory_off"

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"The memory of {agent} is switched off.", hint="Set memory_enabled for the agent in carrel.yaml."
        )


class FactUnwritten(Unavailable):
    """A fact is kept and could not be written to its file yet."""

    code = "fact_unwritten"

    def __init__(self, place: str, error: CarrelError) -> None:
        super().__init__(
            f"The fact is kept, and not yet written to {show(place)}: {error.message}",
            hint="`carrel sweep` writes it once that is possible; nothing needs to be said again.",
        )


class NothingChanged(NotFound):
    """Memory has not changed yet."""

    code = "nothing_changed"

    def __init__(self) -> None:
        super().__init__("Memory has not changed yet.", hint="carrel memory add remembers something.")


class _Stores(Mapping[Store, FileStore]):
    """Where memory is written; the folder of namespaces is made by the first who needs it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def __getitem__(self, store: Store) -> FileStore:
        return self._shelf.files if store == "workspace" else self._shelf.open_namespaces()

    def __iter__(self) -> Iterator[Store]:
        yield from ("workspace", "namespaces")

    def __len__(self) -> int:
        return 2


class Memory:
    """What an agent keeps in files, for its owner; it hides nothing."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        sessions: Callable[[str], Sessions | None],
        written: Callable[[str], None],
    ) -> None:
        self._shelf = shelf
        self._sessions = sessions
        self._written = written
        self._noticed: tuple[Finding, ...] = ()

    def findings(self) -> tuple[Finding, ...]:
        """Say what is wrong with memory, and what waits."""
        _ = self.pen  # which settles what was left half done
        waiting = self._shelf.records.proposals.counts()["waiting"]
        found = (*self._noticed, *(self._history.findings() if self._history else ()))
        found = (*found, *troubles(self._shelf.records, self._shelf.config.clock.now()))
        return (*found, _waiting(waiting)) if waiting else found

    @cached_property
    def pen(self) -> Pen:
        """Who writes; what a kill has left half done is finished first."""
        shelf = self._shelf
        pen = Pen(
            stores=_Stores(shelf),
            changes=lambda: shelf.records.changes,
            clock=shelf.config.clock,
            history=lambda: self._history,
            written=lambda store, path: self._written(path if store == "workspace" else EVERYTHING),
            screen=shelf.screen,
            redacted=self._note_redacted,
        )
        self._noticed = pen.recover()
        for change in shelf.records.changes.list(state="undone", limit=_LOOKED_AT):
            self._follow(pen, change)
        return pen

    @cached_property
    def keeper(self) -> Keeper:
        """Who puts facts where they belong."""
        shelf = self._shelf
        return Keeper(
            pen=self.pen,
            records=lambda: shelf.records,
            target=self._target,
            clock=shelf.config.clock,
            zone=self._zone,
            layout=shelf.layout,
            opening=self._opening,
        )

    @property
    def review(self) -> Review:
        """What waits for the owner's word."""
        shelf = self._shelf
        return Review(
            keeper=self.keeper,
            pen=self.pen,
            records=lambda: shelf.records,
            clock=shelf.config.clock,
            said=said_in(self._sessions),
        )

    @property
    def namespaces(self) -> Namespaces:
        """What agents learnt, beyond any workspace."""
        return Namespaces(files=self._shelf.find_namespaces(), pen=self.pen)

    @property
    def namespace(self) -> Namespace:
        """The agent's own."""
        return self._namespace_of(self._shelf.agent)

    def called(self, store: Store, path: str) -> str:
        """Return what people know a file of memory by: its path, or the title of a namespace."""
        if store == "workspace":
            return path
        own = (each for each in self._own_namespaces() if each.path == path)
        return self.namespaces.title(path) or next((each.title for each in own), path)

    def notebook(self, path: str) -> Notebook:
        """Return a Markdown file of the workspace, which need not exist yet."""
        if not changeable(path).lower().endswith(MARKDOWN):  # a heading would break settings, or a log
            raise NotMemory(path, hint="A notebook is Markdown, in a file like notes.md.")
        return Notebook(
            path=changeable(path), pen=lambda: self.pen, files=self._shelf.files, keep_mine=self._keep_mine
        )

    def add(
        self,
        text: str,
        *,
        layer: Layer = "project",
        kind: str = "note",
        subject: str = "",
        section: str = "",
    ) -> Kept:
        """Remember what the owner says, where facts of this layer, kind and subject belong."""
        shelf = self._shelf
        if not shelf.agent.memory_enabled:
            raise MemoryOff(shelf.agent.id)
        if section:
            with suppress(SectionNotFound):  # one that is named by its position may be there
                append("", section, "- ")  # what can never be a heading is refused, and not planned
        at = shelf.config.clock.now()
        fact = Fact(
            id=fact_id(shelf.agent.id, "", (at.isoformat(),), text),
            agent=shelf.agent.id,
            layer=layer,
            kind=kind,
            text=text,
            key=key_of(text),
            at=at,
            section=section,
            subject=subject,
        )
        with suppress(CarrelError):  # what is planned and stands nowhere would count as known
            self.keeper.finish(Author(actor=ACTOR, action="append"))
        try:
            return self.keeper.keep([fact], Author(actor=OWNER, action="add", agent=shelf.agent.id))
        except CarrelError as error:
            with suppress(NotFound):
                planned = shelf.records.facts.get(fact.id)
                if planned.state == "planned":
                    raise FactUnwritten(self.called(planned.store, planned.path), error) from error
            raise

    def note(self, text: str, *, category: Category = "note", session: str = "") -> Change | None:
        """Add an entry to the journal of today."""
        now = self._shelf.config.clock.now().astimezone(self._zone)
        path = journal.day_path(self._shelf.layout, now.date())
        line = journal.entry(text, category=category, at=now, session=session)
        return self.pen.append("workspace", path, line, Author(actor=OWNER, action="note", session=session))

    def facts(
        self,
        *,
        states: Sequence[FactState] = (),
        session: str | None = None,
        path: str | None = None,
        limit: int = 100,
        after: str = "",
    ) -> list[Fact]:
        """Return what the agent learnt, in the order in which it did."""
        return self._shelf.records.facts.find(
            agent=self._shelf.agent.id, states=states, session=session, path=path, limit=limit, after=after
        )

    def pin(self, fact: str, *, pinned: bool = True) -> Fact:
        """Keep a fact from being replaced or removed by anybody but its owner, or let go of it."""
        records = self._shelf.records
        with records.transaction():
            changed = replace(records.facts.get(fact), pinned=pinned)
            records.facts.update(changed)
        return changed

    def history(self, path: str | None = None, *, limit: int = 20, before: int | None = None) -> list[Change]:
        """Return what changed in memory, the newest first."""
        _ = self.pen  # which settles what was left half done
        return self._shelf.records.changes.list(path=path, limit=limit, before=before)

    def change(self, number: int | None = None) -> Change:
        """Return a change by its number, else the last one."""
        if number is not None:
            return self._shelf.records.changes.get(number)
        if not (last := self.history(limit=1)):
            raise NothingChanged
        return last[0]

    def undo(self, count: int = 1) -> list[Change]:
        """Take back the last changes that stand, byte for byte; return the changes that did so."""
        pen, found = self.pen, list[Change]()
        before: int | None = None
        while len(found) < count and (
            page := self._shelf.records.changes.list(state="done", before=before, limit=_PAGE)
        ):
            found += [change for change in page if not change.undoes]
            before = page[-1].id
        return self._undone(pen, found[:count])

    def undo_change(self, number: int) -> list[Change]:
        """Take back one change, whatever came after it."""
        return self._undone(self.pen, [self._shelf.records.changes.get(number)])

    @cached_property
    def _zone(self) -> tzinfo:
        return time_zone(self._shelf.config.settings.time_zone)

    @cached_property
    def _history(self) -> History | None:
        """The workspace's own repository, where its owner wants one."""
        git = self._shelf.agent.workspace_git
        if not git.enabled or self._shelf.root is None:
            return None
        return GitHistory(
            self._shelf.root,
            name=git.author_name,
            email=git.author_email,
            is_ignored=git_ignores(self._shelf.files),
        )

    def _target(self, fact: Fact) -> Target:
        return place_of(
            fact, layout=self._shelf.layout, agent=self._shelf.agent, namespace=self.namespace.path
        )

    def _opening(self, store: Store, path: str) -> str:
        """Return what a new file of memory begins with: a namespace says whose it is, whoever approves it."""
        own = self._own_namespaces() if store == "namespaces" else ()
        return next((beginning(namespace) for namespace in own if namespace.path == path), "")

    def _own_namespaces(self) -> Iterator[Namespace]:
        """Yield the namespaces of the agents of this workspace, this one's first."""
        return map(self._namespace_of, (self._shelf.agent, *self._shelf.config.settings.agents))

    def _namespace_of(self, agent: AgentSettings) -> Namespace:
        ground = replace(self._shelf.assembler.ground, agent=agent)
        identity = find_identity(ground.documents.reading(), ground.layout, None)
        return namespace_of(agent, agent_name(ground, identity.name), ground.location)

    def _undone(self, pen: Pen, changes: Sequence[Change]) -> list[Change]:
        made = pen.undo(changes, Author(actor=OWNER, action="undo"))
        for change in changes:
            self._follow(pen, self._shelf.records.changes.get(change.id))
        return made

    def _follow(self, pen: Pen, change: Change) -> None:
        """Let facts stand or not as their lines do; in a file that cannot be read none is seen to stand."""

        def stands(fact: Fact) -> bool:
            with suppress(CarrelError):
                return holds(text_at(pen, fact.store, fact.path), fact.line)
            return False

        follow(self._shelf.records, change, stands)

    def _note_redacted(self, path: str, kinds: Sequence[str]) -> None:
        """Keep account of what was written with marks."""
        self._shelf.records.audit.note(
            at=self._shelf.config.clock.now(),
            actor=self._shelf.agent.id,
            action=REDACTED,
            target=path,
            detail={"kinds": list(kinds)},
        )

    def _keep_mine(self, conflict: SectionConflict, path: str) -> None:
        """Let a text that came too late wait beside the one that stands."""
        told = f"{path}\0{conflict.section}\0{conflict.theirs}\0{conflict.mine}"
        self._shelf.records.proposals.add(
            Proposal(
                key=sha256(told.encode("utf-8", "surrogatepass")).hexdigest(),
                at=self._shelf.config.clock.now(),
                agent=self._shelf.agent.id,
                actor=OWNER,
                action="replace",
                why="section_conflict",
                reason="Somebody else changed this section first.",
                path=path,
                section=conflict.section,
                old=conflict.theirs,
                new=conflict.mine,
                trust="owner",
            )
        )


def _waiting(number: int) -> Finding:
    return Finding(
        code="proposals_waiting",
        severity="info",
        message="A change of memory waits for your word."
        if number == 1
        else f"{number:,} changes of memory wait for your word.",
        hint="carrel memory review shows them.",
    )
