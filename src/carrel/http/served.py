"""The workspaces that a server serves: opened once, by the first who asks for one."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.http.errors import KeysUnread, UnknownWorkspace
from carrel.records.keys import Key

DEFAULT = "default"
"""The name by which the first workspace is known beside its own."""

_PARTS = ("records", "assembler", "conversations", "searching", "memory", "dreaming", "forgetting")

Open = Callable[[Path, str | None], Workspace]


def open_for(path: Path, agent: str | None) -> Workspace:
    """Open a directory for one agent, else for all that are at home in it."""
    return Workspace.open(path, agent=agent, team=agent is None)


def _furnish(workspace: Workspace) -> Workspace:
    """Load and make all parts now: threads that begin with one at the same time might each see half of it."""
    for part in _PARTS:
        getattr(workspace, part)
    _ = workspace.conversations.everyones
    return workspace


class Served:
    """Directories by name, and their workspaces as they were asked for; owns these.

    Threads share them: what a workspace is made of takes one at a time where it must.
    """

    def __init__(self, directories: Sequence[Path], *, open: Open = open_for) -> None:  # noqa: A002 - the verb
        self._directories = _by_name(directories)
        self._open = open
        self._lock = Lock()
        self._workspaces: dict[tuple[str, str | None], Workspace] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all workspaces."""
        return tuple(self._directories)

    def name_of(self, name: str) -> str:
        """Return the own name of a workspace."""
        if name in self._directories:
            return name
        if name == DEFAULT and self._directories:
            return self.names[0]
        raise UnknownWorkspace(name)

    def is_open(self, name: str, agent: str | None = None) -> bool:
        """Tell whether a workspace is at hand."""
        return (name, agent) in self._workspaces

    def workspace(self, name: str = DEFAULT, agent: str | None = None) -> Workspace:
        """Return a workspace, for one agent if one is named."""
        own = self.name_of(name)
        with self._lock:
            if (own, agent) not in self._workspaces:
                self._workspaces[own, agent] = _furnish(self._open(self._directories[own], agent))
            return self._workspaces[own, agent]

    def find_key(self, key: str) -> tuple[str, Key] | None:
        """Return the workspace of a key and what is kept of it."""
        is_certain = True
        for name in self._directories:
            try:
                found = self.workspace(name).records.keys.get(key)
            except CarrelError:  # which locks nobody out of the others, and is told to no stranger
                is_certain = False
                continue
            if found is not None:
                return name, found
        if not is_certain:
            raise KeysUnread
        return None

    def close(self) -> None:
        """Let go of all workspaces."""
        with self._lock:
            for workspace in self._workspaces.values():
                workspace.close()
            self._workspaces.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _by_name(directories: Sequence[Path]) -> Mapping[str, Path]:
    """Name each directory after itself; where two have one name, the later gets a number."""
    named: dict[str, Path] = {}
    for directory in directories:
        base = "".join(c if c.isalnum() or c in "-_." else "-" for c in directory.resolve().name) or DEFAULT
        name, count = base, 1
        while name in named:
            count += 1
            name = f"{base}-{count}"
        named[name] = directory
    return named
