"""A workspace told for people: who the agent is, what it remembers and why, its days and what was said."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from carrel.app import Workspace
from carrel.belongings import namespaces_of
from carrel.context.build import agent_name
from carrel.context.report import Report
from carrel.context.select import find_identity
from carrel.files import Unreadable, walk
from carrel.files.paths import is_own
from carrel.findings import Finding
from carrel.markdown.frontmatter import parse
from carrel.memory.review import said_in
from carrel.records.facts import Fact
from carrel.runtime.health import Health
from carrel.runtime.view import is_private
from carrel.screen.secrets import redact
from carrel.sessions.account import SessionRow
from carrel.sessions.store import Sessions
from carrel.workspace.ignore import find_rules
from carrel.workspace.scope import Scope, parse_scope
from carrel.workspace.tiers import standing_of

_PAGE = 500
_TOLD, _DREAMT = "USER.md", "DREAMS.md"
"""What an agent is told of its owner is read with who it is; what it dreamt, with what it remembers."""


class Text(Struct, frozen=True):
    """A file that people read, or a namespace by its title, without front matter."""

    name: str
    text: str


class Learnt(Struct, frozen=True, kw_only=True):
    """A fact, and what was said that it was taken from."""

    fact: Fact
    said: tuple[str, ...]


class Talk(Struct, frozen=True, kw_only=True):
    """A session, and where it is read."""

    row: SessionRow
    sessions: Sessions


class Account(Struct, frozen=True, kw_only=True):
    """All that a page tells; `screened` returns a text as it may be shown."""

    name: str
    layout: str
    scope: str
    at: str
    report: Report
    health: Health
    hidden: int
    persona: tuple[Text, ...]
    memory: tuple[Text, ...]
    journal: tuple[Text, ...]
    library: tuple[Text, ...]
    """What is read when it is needed: knowledge, skills, and other files."""
    learnt: tuple[Learnt, ...]
    talks: tuple[Talk, ...]
    findings: tuple[Finding, ...]
    screened: Callable[[str], str]


def open_account(workspace: Workspace, scope: str) -> Account:
    """Return what this scope may be told; sessions are read when they are shown: keep the workspace open."""
    return _Telling(workspace, scope).account()


class _Telling:
    """One account in the making."""

    def __init__(self, workspace: Workspace, scope: str) -> None:
        self._workspace = workspace
        self._scope = scope
        self._is_shared = parse_scope(scope) is Scope.SHARED
        self._keeps = workspace.config.settings.transcripts.secrets == "keep"
        self._findings: list[Finding] = []
        self._hidden = 0

    def account(self) -> Account:
        workspace = self._workspace
        report = workspace.assemble(scope=self._scope).report
        order = {row.name: place for place, row in enumerate(report.sections)}
        persona, memory, journal, library = self._sorted(order)
        return Account(
            name=self._shown(self._name()),
            layout=workspace.layout.name,
            scope=self._scope,
            at=f"{workspace.config.clock.now():%Y-%m-%d %H:%M} UTC",
            report=report,
            health=workspace.health(scope=self._scope),
            hidden=self._hidden,
            persona=persona,
            memory=memory if self._is_shared else (*memory, *self._experience()),
            journal=journal,
            library=library,
            learnt=() if self._is_shared else tuple(self._learnt()),
            talks=() if self._is_shared else tuple(self._talks()),
            findings=tuple(self._findings),
            screened=self._shown,
        )

    def _name(self) -> str:
        """Return what the agent is called, and of several what they share."""
        workspace = self._workspace
        if len(workspace.config.settings.agents) > 1:
            return workspace.config.settings.workspace.name or workspace.location.rpartition("/")[2]
        ground, view = workspace.assembler.ground, workspace.eyes(self._scope)
        hidden_by = view.privacy if view.hides else None
        found = find_identity(ground.documents.reading(), ground.layout, hidden_by)
        return agent_name(ground, found.name)

    def _sorted(self, order: Mapping[str, int]) -> tuple[tuple[Text, ...], ...]:
        """Return who the agent is and what it remembers, in the order of its prompt, its days, and more."""
        persona, memory, journal, library = list[Text](), list[Text](), list[Text](), list[Text]()
        layout, agents = self._workspace.layout, self._agents()
        for path in self._paths():
            standing = standing_of(path, layout, agents)
            inner = path.removeprefix(layout.home)
            if standing.tier == "journal":
                journal += self._text(path)
            elif (standing.tier in ("profile", "graph") and inner != _TOLD) or inner == _DREAMT:
                memory += self._text(path)
            else:
                (persona if "/" not in inner else library).extend(self._text(path))
        for texts in (persona, memory):
            texts.sort(key=lambda text: (order.get(text.name, len(order)), text.name))
        journal.sort(key=lambda text: text.name.rpartition("/")[2])
        return tuple(persona), tuple(memory), tuple(journal), tuple(library)

    def _paths(self) -> Iterator[str]:
        """Yield the Markdown files that are not ignored and that this scope may see."""
        workspace = self._workspace
        view, files = workspace.eyes(self._scope), workspace.files
        ignored = find_rules(workspace.assembler.ground.documents.reading())
        for entry in walk(files, skip=lambda entry: is_own(entry.path) or ignored(entry.path)):
            if entry.kind != "file":
                continue
            if view.hides and is_private(files, entry, view):
                self._hidden += 1
            elif entry.path.endswith(".md"):
                yield entry.path

    def _text(self, path: str) -> Iterator[Text]:
        """Yield the text of a file, if it can be had; that it cannot is told."""
        try:
            content = self._workspace.fetch(path, scope=self._scope)
        except Unreadable as error:
            self._findings.append(Finding(code="left_out", path=path, message=error.message))
            return
        if content is not None:
            text = content.data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
            yield Text(path, self._shown(parse(text).body))

    def _experience(self) -> Iterator[Text]:
        """Yield what the agents at home here learnt beyond this workspace."""
        workspace = self._workspace
        store, agents = workspace.find_namespaces(), workspace.config.settings.agents
        names = [entry.path for entry in store.list() if entry.kind == "file"]
        for _, name in namespaces_of(workspace.home, [""], agents, names):
            if (content := store.read(name)) is not None:
                parsed = parse(content.data.decode("utf-8", "replace"))
                yield Text(str(parsed.meta.extra.get("title") or name), self._shown(parsed.body))

    def _learnt(self) -> Iterator[Learnt]:
        """Yield the facts that stand, each with what was said."""
        workspace = self._workspace
        if not workspace.home.has_records():
            return
        said, facts, after = said_in(workspace.transcripts.of), workspace.records.facts, ""
        while page := facts.find(states=("written",), limit=_PAGE, after=after):
            for fact in page:
                texts = (self._shown(text) for text in said(fact).values() if text)
                yield Learnt(fact=fact, said=tuple(texts))
            after = page[-1].id

    def _talks(self) -> Iterator[Talk]:
        """Yield the sessions of all who are at home here, the oldest first."""
        for sessions in self._workspace.transcripts.everyones:
            for row in reversed(sessions.rows()[0]):
                if row.problem:
                    message = f"The session {row.id} is left out: {row.problem}."
                    self._findings.append(Finding(code="left_out", path=row.id, message=message))
                else:
                    yield Talk(row=row, sessions=sessions)

    def _agents(self) -> Sequence[str]:
        agents = [agent.id for agent in self._workspace.config.settings.agents]
        return agents or [self._workspace.agent.id]

    def _shown(self, text: str) -> str:
        """Return a text with its secrets marked, as transcripts have them."""
        return text if self._keeps else redact(text).text
