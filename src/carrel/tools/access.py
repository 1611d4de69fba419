"""What tools may touch: files through a door that knows the scope, and of those not every one."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal, Protocol

from msgspec import Struct

from carrel.errors import NotFound, Refused
from carrel.files import Content, Entry, Unreadable, show
from carrel.files.paths import BadPath, clean, fold, is_own
from carrel.settings import AgentSettings
from carrel.tools.page import MOST_CHARACTERS
from carrel.workspace.layout import Layout
from carrel.workspace.scope import sets_up

TRANSCRIPTS = ("agents", "transcripts", "logs")
"""Folders of transcripts, where no layout says otherwise."""

_NOTEBOOK = "memory.md"
_RESULT = re.compile(r"[0-9a-f]{32}\.txt")

Kept = Literal["transcript", "settings", "own"]

_HINTS: dict[Kept, str] = {
    "transcript": "session_logs shows your own sessions.",
    "settings": "Ask the owner to change it.",
    "own": "Leave it to the program that it belongs to.",
}


class NotForTools(Refused):
    """Transcripts, settings and what Carrel keeps for itself: an agent must not rewrite its own history."""

    code = "not_for_tools"

    def __init__(self, path: str, kept: Kept, verb: str) -> None:
        super().__init__(f"{show(path)} is not for a tool to {verb}.", hint=_HINTS[kept])
        self.path = path


class NoSuchFile(NotFound):
    """A tool was asked for a file or folder that is not there, as far as the agent may know."""

    code = "no_such_file"

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no {show(path)}.", hint="list_files shows what there is.")
        self.path = path


class Reach(Protocol):
    """The files of a workspace as one scope may see and change them; every verb is scope-checked."""

    def read(self, path: str) -> Content | None:
        """Return a file, none when absent; what the scope may not see or nobody can read raises."""
        ...

    def list(self, under: str) -> Sequence[Entry]:
        """Return what one folder ("": the root) holds, without what the scope may not know of."""
        ...

    def target(self, path: str) -> str:
        """Return where a file would be written, after all links."""
        ...

    def put(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (none: create it), and return the new digest."""
        ...


class Access(Struct, frozen=True, kw_only=True):
    """A reach, less what no tool may touch; a path is judged by its name and by where a link leads."""

    reach: Reach
    transcripts: tuple[str, ...] = TRANSCRIPTS
    results: str = ""
    """The folder of the current session's large results, which may be read by their full names."""
    page: int = MOST_CHARACTERS
    """How many characters a page of a file has, at most."""

    def read(self, path: str) -> Content:
        """Return a file that a tool may read."""
        self.refuse(path, path, "read")
        content = self.reach.read(path)
        if content is None:
            raise NoSuchFile(path)
        self.refuse(path, content.target, "read")
        return content

    def replaceable(self, path: str) -> Content | None:
        """Return what stands where a tool is about to write, none when nothing does."""
        self.refuse(path, path, "change")
        content = self.reach.read(path)
        for target in self.targets(path, content):
            self.refuse(path, target, "change")
        return content

    def targets(self, path: str, content: Content | None) -> tuple[str, ...]:
        """Return where a file would be written, and where that is which is read there: links may differ."""
        written = self.reach.target(path)
        return (written,) if content is None or content.target == written else (written, content.target)

    def refuse(self, path: str, target: str, verb: Literal["read", "list", "change"]) -> None:
        """Raise where `target`, asked for as `path`, is not for tools."""
        kept = self.kept(target)
        if kept is None or (verb != "change" and kept == "settings"):
            return
        if verb == "read" and (_is_notebook(target) or is_result(target, self.results)):
            return
        raise NotForTools(path, kept, verb)

    def kept(self, path: str) -> Kept | None:
        """Return what of the things that are not for tools a path is, or is inside of."""
        if is_own(path):
            return "own"
        if sets_up(path):
            return "settings"
        names = [fold(name) for name in path.split("/")]
        folders = ([fold(name) for name in folder.split("/")] for folder in self.transcripts)
        return "transcript" if any(names[: len(folder)] == folder for folder in folders) else None


def access_for(reach: Reach, layout: Layout, agents: Iterable[AgentSettings], results: str = "") -> Access:
    """Return what tools may touch, wherever the layout and the settings keep the transcripts of any agent."""
    places = (layout.sessions.log, layout.sessions.window, layout.sessions.events)
    folders = [place.partition("/")[0] for place in places if "/" in place]
    for agent in agents:
        with suppress(BadPath):  # outside of the workspace, where no tool reaches
            folders.append(clean(agent.transcripts_dir or ""))
    return Access(reach=reach, transcripts=tuple(dict.fromkeys(folders)), results=results)


def is_result(path: str, folder: str) -> bool:
    """Tell whether a path is that of a large result in a session's folder; without one, none is."""
    above, _, name = path.rpartition("/")
    return bool(folder) and above == folder and _RESULT.fullmatch(name) is not None


def text_of(path: str, content: Content) -> str:
    """Return a file's text exactly, its byte order mark and newlines included."""
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        raise Unreadable(path, "not_utf8") from None


def _is_notebook(path: str) -> bool:
    """Tell an agent's notebook, `agents/<id>/memory.md`, from the transcripts beside it."""
    names = path.split("/")
    return fold(names[-1]) == _NOTEBOOK and len(names) > 2 and fold(names[-3]) == "agents"  # noqa: PLR2004
