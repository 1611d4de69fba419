"""A workspace's files and what is read from them, as far as a listener may see: the half without sessions."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import replace

from carrel.config import WORKSPACE_FILE
from carrel.context.assemble import Assembler
from carrel.context.build import Ground
from carrel.context.report import Report
from carrel.errors import Unavailable, UsageError
from carrel.files import Content, Entry, FileStore, Unreadable, show, walk
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.paths import BadPath, clean
from carrel.findings import Finding
from carrel.home import Home
from carrel.opening import Opened, settle_layout
from carrel.records import Records
from carrel.runtime import edit, explorer, roster
from carrel.runtime.preview import PREVIEW_BYTES, Preview
from carrel.runtime.preview import preview as preview_file
from carrel.runtime.view import NoSuchPath, View, discreet, fetch, is_hidden, is_unseen, look
from carrel.settings import AgentSettings
from carrel.tokens import open_tokenizer
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents, Reading
from carrel.workspace.layout import Layout
from carrel.workspace.manifest import MANIFEST_FILE
from carrel.workspace.scope import Privacy, Scope, parse_scope, privacy_of, read_scoped
from carrel.workspace.skills import SkillCost, Skills
from carrel.workspace.subagents import AgentRow, Subagents

if TYPE_CHECKING:
    from carrel.screen.policy import Screen

OWNER = "owner"
"""Who changes files where nobody else is named."""


class WorkspaceClosed(UsageError):
    """Somebody asks a workspace for something that was closed in this process."""

    code = "workspace_closed"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"The workspace {show(location)} is closed.",
            hint="Open it again, and close it only when all that works with it is done.",
        )


class Shelf(ABC):
    """The files of an opened workspace, with the eyes of one listener or another.

    Opening executes nothing and writes nothing into it.
    """

    def __init__(self, opened: Opened, agent: AgentSettings, *, base: Opened | None = None) -> None:
        self._opened: tuple[Opened, Opened] | None = (opened, opened if base is None else base)
        """The agent's workspace, and the one before it was taken instead; none once it is closed."""
        self._place = opened.home.root, opened.home.location
        self.config = opened.config
        self.agent = agent
        self.manifest = opened.manifest
        self._noticed = opened.noticed

    @property
    def root(self) -> Path | None:
        """The directory, where it lives in one."""
        return self._place[0]

    @property
    def location(self) -> str:
        """What the workspace is called for good: its directory, or its address."""
        return self._place[1]

    @property
    def home(self) -> Home:
        """Where it lives; nothing is read or written but by way of this or of the files."""
        return self._still_open()[0].home

    @property
    def files(self) -> FileStore:
        """What people and agents write."""
        return self._still_open()[0].files

    @property
    def _base(self) -> Opened:
        return self._still_open()[1]

    def refuse_closed(self) -> None:
        """Raise where it was closed."""
        self._still_open()

    def _still_open(self) -> tuple[Opened, Opened]:
        if self._opened is None:
            raise WorkspaceClosed(self.location)
        return self._opened

    @abstractmethod
    def report(self, *, scope: str = Scope.MAIN) -> Report:
        """Return the account of what a model would read now."""

    @cached_property
    def layout(self) -> Layout:
        """The layout: as the settings say, else as remembered, else as the files give away."""
        layout = self._base.find_layout(settle_layout(self.config, self._remembered))
        private: list[str] = []
        for agent in self.config.settings.agents:
            with suppress(BadPath):  # whose sessions these are is told
                private.append(f"{clean(agent.transcripts_dir or '')}/**")
        return replace(layout, private=(*layout.private, *private))

    @property
    def screen(self) -> "Screen":
        """What is done with secrets and personal data before memory is written or a text embedded."""
        from carrel.screen.policy import Screen  # noqa: PLC0415 - who only reads has no use for it

        privacy = self.config.settings.privacy
        return Screen(secrets=privacy.secrets, personal=privacy.personal)

    @cached_property
    def records(self) -> Records:
        """The small truths beside the files."""
        return self.home.records()

    @property
    def model_name(self) -> str | None:
        """The model that the agent speaks with, as far as anybody said."""
        return self.agent.model or self.config.settings.model.name

    def called_model(self, agent: AgentSettings | None = None) -> str | None:
        """Return the model to call for an agent where nobody names one: as the owner's settings say.

        A name without a provider or a server serves to count by, and so does one that a stranger wrote. For
        another agent than this one only its own model counts.
        """
        config, own = self.config, agent or self.agent
        name = self.model_name if agent is None else agent.model
        key = f"agents.{own.id}.model" if own.model else "model.name"
        is_owners = config.trusted or config.origins.get(key) not in (WORKSPACE_FILE, MANIFEST_FILE)
        is_whole = name is not None and (":" in name or bool(config.settings.model.base_url))
        return name if is_owners and is_whole else None

    @cached_property
    def counts(self) -> TokenCounts:
        """Token counts for this agent's model; a tokenizer that is chosen is that of `model.name`."""
        of_model = self.config.settings.model
        chosen = of_model.tokenizer if self.model_name == of_model.name else None
        return self.home.counts(open_tokenizer(chosen, self.model_name))

    @cached_property
    def assembler(self) -> Assembler:
        """The context engine over this workspace."""
        return Assembler(
            Ground(
                layout=self.layout,
                settings=self.config.settings,
                agent=self.agent,
                documents=Documents(self.files),
                namespaces=Documents(self.find_namespaces()),
                counts=self.counts,
                location=self.location,
                os_name=self.config.os_name,
                title=self.manifest.squad_name if self.manifest else "",
                findings=(*self._noticed, *self.config.findings),
            )
        )

    def read(self, path: str, *, scope: str = Scope.MAIN) -> str | None:
        """Return the text of a file, none when there is none.

        Shared scope is refused what is private by its name, there or not; what is so otherwise is none to it.
        """
        path, view = clean(path), self.eyes(scope)
        try:
            with discreet(path, view):
                document = read_scoped(self._reading(), self.layout, path, parse_scope(scope))
        except NoSuchPath:
            return None
        if document is not None and document.problem:
            if is_unseen(self.files, path, view):
                return None
            raise Unreadable(path, document.problem)
        return document and document.verbatim

    def write(self, path: str, text: str, *, expect: str | None) -> str:
        """Replace the file with the digest `expect`, or make one where that is none; return its digest."""
        digest = self.files.write(edit.changeable(path), text.encode(), expect=expect)
        self._written(path)
        return digest

    def append(self, path: str, text: str) -> None:
        """Add whole lines to the end of a file."""
        self.files.append(edit.changeable(path), text.encode())
        self._written(path)

    def list(self, under: str = "", *, scope: str = Scope.MAIN) -> list[Entry]:
        """Return what one folder holds, sorted by name, as far as this scope may know of it."""
        return explorer.listed(self.files, under, view=self.eyes(scope))

    def tree(
        self, under: str = "", *, scope: str = Scope.MAIN, everything: bool = False
    ) -> Iterator[explorer.Node]:
        """Return the nodes of one folder, with what became of each file in the context."""
        return explorer.tree(self.files, under, view=self.view(scope), everything=everything)

    def outline(
        self,
        under: str = "",
        *,
        scope: str = Scope.MAIN,
        everything: bool = False,
        depth: int | None = None,
    ) -> Iterator[tuple[explorer.Node, explorer.Lasts]]:
        """Return the nodes below a folder as a stream, each with where it stands in the tree."""
        view = self.view(scope)
        return explorer.outline(self.files, under, view=view, everything=everything, depth=depth)

    def view(self, scope: str = Scope.MAIN, *, beside: str | None = None) -> View:
        """Return how a listener sees the files; the owner may look beside the context of shared scope."""
        report = self.report(scope=beside or scope)
        return look(self._privacy(), report, parse_scope(scope))

    def preview(self, path: str, *, limit: int = PREVIEW_BYTES, scope: str = Scope.MAIN) -> Preview:
        """Return the beginning of a file for somebody to look at."""
        view = self.eyes(scope)
        with discreet(path, view):
            return preview_file(self.files, path, limit=limit, view=view)

    def fetch(self, path: str, *, scope: str = Scope.MAIN) -> Content | None:
        """Return a file exactly as it is, none when there is none."""
        view = self.eyes(scope)
        try:
            with discreet(path, view):
                return fetch(self.files, path, view=view)
        except NoSuchPath:
            return None

    def put(
        self,
        path: str,
        data: bytes,
        *,
        expect: str | None = None,
        scope: str = Scope.MAIN,
        actor: str = OWNER,
    ) -> edit.Written:
        """Write a file over the content with this digest ("absent": none), else over what is there now."""
        keep = partial(self._keep, actor=actor)
        written = edit.put(self.files, path, data, expect=expect, view=self.eyes(scope), keep=keep)
        self._written(path)
        return written

    def move(self, source: str, target: str, *, scope: str = Scope.MAIN) -> edit.Moved:
        """Give a file another path, which must be free."""
        moved = edit.move(self.files, source, target, view=self.eyes(scope))
        self._written(source, target)
        return moved

    def discard(self, path: str, *, scope: str = Scope.MAIN) -> edit.Discarded:
        """Remove a file, keeping it in the workspace's trash."""
        now, view = self.config.clock.now(), self.eyes(scope)
        discarded = edit.discard(self.files, path, trash=self.home.trash, now=now, view=view)
        self._written(path)
        return discarded

    def read_agents(self, *, scope: str = Scope.MAIN) -> str | None:
        """Return AGENTS.md."""
        return self.read(f"{self.layout.home}AGENTS.md", scope=scope)

    def read_memory(self, *, scope: str = Scope.MAIN) -> str | None:
        """Return MEMORY.md."""
        return self.read(f"{self.layout.home}MEMORY.md", scope=scope)

    def read_knowledge(self, *, scope: str = Scope.MAIN) -> str | None:
        """Return the entry page of the knowledge."""
        return self.read(f"{self.layout.home}knowledge/KNOWLEDGE.md", scope=scope)

    def list_knowledge(self, *, scope: str = Scope.MAIN) -> Sequence[str]:
        """Return the paths of all knowledge files, sorted."""
        return self._files_below(f"{self.layout.home}knowledge", scope)

    def list_memory(self, *, scope: str = Scope.MAIN) -> Sequence[str]:
        """Return the paths of all journal files and notebooks, sorted."""
        return self._files_below(self.layout.journal, scope) if self.layout.journal else []

    def skills(self, *, scope: str = Scope.MAIN) -> Skills:
        """Return the skills that this scope may know of."""
        return roster.skills_of(self.assembler.ground, self._reading(), parse_scope(scope))

    def skill_costs(self, skills: Skills) -> tuple[SkillCost, ...]:
        """Return what each skill costs, in the prompt and when its body is read."""
        return roster.costs_of(self.assembler.ground, skills)

    def lint_skills(self, name: str | None = None, *, scope: str = Scope.MAIN) -> tuple[Finding, ...]:
        """Hold all skills, or one, to the Agent Skills specification."""
        return roster.lint(self.assembler.ground, parse_scope(scope), name)

    def subagents(self, *, scope: str = Scope.MAIN) -> Subagents:
        """Return the subagents that this scope may know of."""
        return roster.subagents_of(self.assembler.ground, self._reading(), parse_scope(scope))

    def agents(self, subagents: Subagents) -> tuple[AgentRow, ...]:
        """Return the configured agents, or the one there is without any, and these subagents."""
        return roster.agents_of(self.assembler.ground, self.config.origins, subagents)

    def close(self) -> None:
        """Let go of what was opened; sessions bring what is derived from them up to date first.

        Whoever asks for something afterwards is told that it is closed. Twice is as good as once.
        """
        for name in ("forgetting", "dreaming", "memory"):
            vars(self).pop(name, None)
        for name in ("searching", "conversations", "transcripts", "records", "counts"):
            resource = vars(self).pop(name, None)
            if resource is not None:
                resource.close()
        for name in ("assembler", "layout"):
            vars(self).pop(name, None)
        self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _written(self, *paths: str) -> None:
        """Take note that files were written, or are gone."""

    @abstractmethod
    def _keep(self, path: str, data: bytes, found: Content | None, *, actor: str) -> int:
        """Write a file so that this can be undone; return the number of the change."""

    def find_namespaces(self) -> FileStore:
        """Return the store of namespaces to read from; none exist before the first is written."""
        return self.home.find_namespaces() or EphemeralFiles()

    def open_namespaces(self) -> FileStore:
        """Return the store of namespaces to write to, made where it is missing."""
        if (known := self.home.find_namespaces()) is not None:
            return known
        made = self.home.open_namespaces()
        vars(self).pop("assembler", None)  # it was told that there is nothing
        return made

    def _privacy(self) -> Privacy:
        return privacy_of(self.layout, self._reading())

    def eyes(self, scope: str) -> View:
        """Return how a listener sees the files, whatever the context has of them."""
        return look(self._privacy(), scope=parse_scope(scope))

    def _has_records(self) -> bool:
        return self.home.has_records()

    def _remembered(self, detected: str | None) -> str | None:
        """Return the layout of earlier, else keep the detected one: a new file must not change its kind."""
        with suppress(Unavailable):  # a machine that cannot remember detects again
            if self._has_records() and (known := self.records.layout()):
                return known
            if detected is not None:
                self.records.remember_layout(detected)
        return detected

    def _reading(self) -> Reading:
        return self.assembler.ground.documents.reading()

    def _files_below(self, folder: str, scope: str) -> Sequence[str]:
        view = self.eyes(scope)
        found = walk(self.files, folder, skip=lambda entry: entry.kind not in ("file", "directory"))
        return sorted(entry.path for entry in found if not is_hidden(self.files, entry, view))
