"""Where the files of a session are, as the layout says, and which ids a session may have."""

from functools import lru_cache

from msgspec import Struct

from carrel.files import FileStore
from carrel.files.paths import BadId, BadPath, clean, valid_id
from carrel.settings import AgentSettings
from carrel.workspace.layout import Layout

_AGENT, _SESSION = "{agent}", "{session}"
_TAKEN = (".log", ".json", ".jsonl", ".files", ".damaged")
"""Endings that would make one session's file the other kind of file of another's."""


@lru_cache(maxsize=1024)  # each of a session's files is asked for by it
def valid_session(session: str) -> str:
    """Return a session's id unchanged if it can be part of a file name, and of no other session's."""
    if valid_id(session).lower().endswith(_TAKEN):
        raise BadId(session)
    return session


def behind(door: str, name: str) -> str:
    """Return the session of this name that belongs to a door: no other door can name it, nor the owner's."""
    own = f"{door}."
    return valid_session(name if name.startswith(own) else f"{own}{name}")


class Spot(Struct, frozen=True):
    """One file: the store that keeps it, and its path there."""

    files: FileStore
    path: str


class SessionPlaces(Struct, frozen=True, kw_only=True):
    """The places of one agent's sessions: the log always in the workspace, the others where the layout says.

    A layout that has no place for the window and the catalog leaves them to a cache of ours, `own`.
    """

    files: FileStore
    own: FileStore
    agent: str
    log_pattern: str
    is_own_folder: bool = True
    """Whether the folder is this agent's alone; else each log says whose it is."""
    window_pattern: str = ""
    catalog_path: str = ""

    def log(self, session: str) -> str:
        """Return the path of a session's log."""
        return self.log_pattern.replace(_SESSION, valid_session(session))

    def window(self, session: str) -> Spot:
        """Return the place of what the model sees of a session."""
        if self.window_pattern:
            return Spot(self.files, self.window_pattern.replace(_SESSION, valid_session(session)))
        return Spot(self.own, f"{self.agent}/{valid_session(session)}.jsonl")

    def catalog(self) -> Spot:
        """Return the place of the list of sessions."""
        if self.catalog_path:
            return Spot(self.files, self.catalog_path)
        return Spot(self.own, f"{self.agent}/sessions.json")

    def attachments(self, session: str) -> str:
        """Return the folder beside a session's log for what its messages hold beside text."""
        return f"{self.folder}/{valid_session(session)}.files"

    @property
    def folder(self) -> str:
        """The folder of the logs."""
        return self.log_pattern.rpartition("/")[0]

    def session_of(self, path: str) -> str | None:
        """Return the id of the session whose log a path is, none where it is something else."""
        before, _, after = self.log_pattern.partition(_SESSION)
        if not (path.startswith(before) and path.endswith(after)) or len(path) <= len(before) + len(after):
            return None
        session = path[len(before) : len(path) - len(after)]
        try:
            return valid_session(session)
        except BadId:
            return None


def places_of(layout: Layout, agent: AgentSettings, files: FileStore, own: FileStore) -> SessionPlaces:
    """Return where an agent's sessions are; its own `transcripts_dir` wins over the layout's place."""
    given = layout.sessions
    folder, _, name = given.log.rpartition("/")
    is_own = _AGENT in folder
    filled = folder.replace(_AGENT, valid_id(agent.id))
    if agent.transcripts_dir:
        filled = clean(agent.transcripts_dir)
        if "{" in filled or "}" in filled:
            raise BadPath(agent.transcripts_dir, "has braces in it")
        is_own = False
    return SessionPlaces(
        files=files,
        own=own,
        agent=agent.id,
        log_pattern=f"{filled}/{name.replace(_AGENT, agent.id)}",
        is_own_folder=is_own,
        window_pattern=given.window.replace(_AGENT, agent.id),
        catalog_path=given.catalog.replace(_AGENT, agent.id),
    )
