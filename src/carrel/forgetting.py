"""Forgetting in one workspace, put together: what its owner names is forgotten, and what remains is told."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from carrel.errors import CarrelError
from carrel.files import walk
from carrel.files.paths import clean
from carrel.home import Home
from carrel.memory.dream.files import DIARY
from carrel.memory.forget.choice import Choice, Chooser
from carrel.memory.forget.copies import Copies
from carrel.memory.forget.forgetter import Forgetter
from carrel.memory.forget.leftovers import Leftovers, Room
from carrel.memory.forget.report import Copy, Forgotten
from carrel.memory.forget.sayings import Place
from carrel.memory.owned import text_at
from carrel.memory.pen import Pen
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope
from carrel.workspace.tiers import MEMORY, standing_of

_MARKDOWN = ".md"
_FOLDERS = ("memory", "agents")


class Forgetting:
    """What an agent's owner wants forgotten; `namespace` is the agent's own, `sessions` are everybody's."""

    def __init__(
        self,
        shelf: Shelf,
        *,
        pen: Callable[[], Pen],
        sessions: Callable[[], Sequence[Sessions]],
        namespace: Callable[[], str],
        let_go: Callable[[], object],
        step: Callable[[str], object] = str,
    ) -> None:
        self._shelf = shelf
        self._pen = pen
        self._sessions = sessions
        self._namespace = namespace
        self._let_go = let_go
        self._step = step

    def forget(
        self, choice: Choice, *, purge: bool = False, dry_run: bool = False, scope: str = Scope.MAIN
    ) -> Forgotten:
        """Forget all that is meant, everywhere; a dry run only tells what that would be."""
        if parse_scope(scope) is Scope.SHARED:
            raise HiddenByScope("memory")
        file = None if choice.file is None else clean(choice.file)
        forgetter = self.forgetter
        chosen = self._chooser.choose(
            Choice(
                facts=choice.facts,
                session=choice.session,
                sender=choice.sender,
                file=file,
                query=choice.query,
            )
        )
        return forgetter.look(chosen, purge=purge) if dry_run else forgetter.forget(chosen, purge=purge)

    def finish(self) -> int:
        """Finish what a kill has left; return how many forgettings that were."""
        return self.forgetter.finish()

    @property
    def forgetter(self) -> Forgetter:
        """Who takes it away."""
        shelf = self._shelf
        return Forgetter(
            pen=self._pen(),
            records=lambda: shelf.records,
            copies=Copies(records=lambda: shelf.records, sessions=self._sessions),
            leftovers=Leftovers(rooms=lambda: [*self._rooms()], sweep=shelf.home.sweep_files),
            derived=Derived(home=shelf.home, let_go=self._let_go),
            places=self._places,
            is_day=self._is_day,
            clock=shelf.config.clock,
            step=self._step,
        )

    @property
    def _chooser(self) -> Chooser:
        shelf = self._shelf
        return Chooser(
            agent=shelf.agent.id,
            records=lambda: shelf.records,
            sessions=lambda: self._sessions()[0],
            places=self._places,
            read=self._read,
            now=shelf.config.clock.now(),
        )

    def _places(self) -> Iterator[Place]:
        """Yield the files of memory: notebooks, days, pages, what was promoted, and the agent's namespace."""
        shelf, home = self._shelf, self._shelf.layout.home
        agents = {shelf.agent.id, *(agent.id for agent in shelf.config.settings.agents)}
        folders = dict.fromkeys((shelf.layout.journal, *(f"{home}{name}" for name in _FOLDERS)))
        for entry in shelf.files.list(home.rstrip("/")):
            is_memory = standing_of(entry.path, shelf.layout, agents).tier in MEMORY
            if entry.kind == "file" and (is_memory or entry.path == f"{home}{DIARY}"):
                yield "workspace", entry.path
        for folder in filter(None, folders):
            for entry in walk(
                shelf.files, folder, skip=lambda entry: entry.kind not in ("file", "directory")
            ):
                if entry.path.endswith(_MARKDOWN) and self._is_memory(entry.path, agents):
                    yield "workspace", entry.path
        yield "namespaces", self._namespace()

    def _rooms(self) -> Iterator[Room]:
        """Yield what is looked through for leftovers."""
        if (trash := self._shelf.home.find_trash()) is not None:
            yield trash, "trash"
        yield self._shelf.files, "file"
        yield self._shelf.find_namespaces(), "file"

    def _is_memory(self, path: str, agents: set[str]) -> bool:
        """Tell whether a file below the folders of memory is an agent's own writing, its archive too."""
        is_within = path.startswith(f"{self._shelf.layout.home}memory/")
        return is_within or standing_of(path, self._shelf.layout, agents).tier in MEMORY

    def _is_day(self, path: str) -> bool:
        return standing_of(path, self._shelf.layout, (self._shelf.agent.id,)).tier == "journal"

    def _read(self, place: Place) -> str:
        try:
            return text_at(self._pen(), *place)
        except CarrelError:  # what cannot be read is told by whoever is to change it
            return ""


class Derived(Struct, frozen=True, kw_only=True):
    """The index of a workspace and the vectors that servers made: both are made again when needed."""

    home: Home
    let_go: Callable[[], object]
    """Lets go of what is open of it here; others notice that it is gone."""

    def copies(self, how: str) -> list[Copy]:
        """Return what there is of it."""
        return [Copy(kind="index", place=name, how=how) for name in self.home.indexed()]

    def drop(self) -> list[Copy]:
        """Remove it."""
        self.let_go()
        gone = self.copies("")
        self.home.drop_index()
        return gone
