"""The workspaces that a server serves: opened once, by the first who asks for one.

Each is a directory, or an address in a database that other servers may serve as well.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self, TypeGuard

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.home.address import is_address, is_foreign, parse_address
from carrel.http.errors import KeysUnread, UnknownWorkspace
from carrel.records.keys import Key

DEFAULT = "default"
"""The name by which the first workspace is known beside its own."""

_PARTS = ("records", "assembler", "conversations", "searching", "memory", "dreaming", "forgetting")

At = Path | str
"""Where a workspace is: a directory, or an address."""

Open = Callable[[At, str | None], Workspace]


def place(text: str) -> At:
    """Return where a workspace is, as it was named."""
    return text if is_address(text) else Path(text)


def open_for(path: At, agent: str | None) -> Workspace:
    """Open a workspace for one agent, else for all that are at home in it."""
    return Workspace.open(path, agent=agent, team=agent is None)


def _furnish(workspace: Workspace) -> Workspace:
    """Load and make all parts now: threads that begin with one at the same time might each see half of it."""
    for part in _PARTS:
        getattr(workspace, part)
    _ = workspace.transcripts.everyones
    return workspace


def is_shared(at: At) -> TypeGuard[str]:
    """Tell whether other servers may serve a place as well: one in a database, with its records."""
    return isinstance(at, str) and not is_foreign(at)


class Served:
    """Places by name, and their workspaces as they were asked for; owns these.

    Threads share them: what a workspace is made of takes one at a time where it must.
    """

    def __init__(self, directories: Sequence[At], *, open: Open = open_for) -> None:  # noqa: A002 - the verb
        self._directories = _by_name(directories)
        self._open = open
        self._lock = Lock()
        self._workspaces: dict[tuple[str, str | None], Workspace] = {}
        self._keyed: dict[str, str] = {}
        """Where each key was found before; whether it is still good is asked there each time."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all workspaces."""
        return tuple(self._directories)

    @property
    def shared(self) -> dict[str, str]:
        """The addresses of those that other servers may serve as well, by name."""
        return {name: at for name, at in self._directories.items() if is_shared(at)}

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
        for name in sorted(self._directories, key=lambda name: name != self._keyed.get(key)):
            try:
                found = self.workspace(name).records.keys.get(key)
            except CarrelError:  # which locks nobody out of the others, and is told to no stranger
                is_certain = False
                continue
            if found is not None:
                self._keyed[key] = name
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


def _called(address: str) -> str:
    """Return the name of an address: the same on every server, whatever else that serves."""
    if is_foreign(address):
        return address.partition("://")[2].strip("/")
    at = parse_address(address)
    return f"{at.tenant}.{at.workspace}"


def _by_name(directories: Sequence[At]) -> Mapping[str, At]:
    """Name each place after itself; where two have one name, the later gets a number."""
    named: dict[str, At] = {}
    for directory in directories:
        own = _called(directory) if isinstance(directory, str) else directory.resolve().name
        base = "".join(c if c.isalnum() or c in "-_." else "-" for c in own) or DEFAULT
        name, count = base, 1
        while name in named:
            count += 1
            name = f"{base}-{count}"
        named[name] = directory
    return named
