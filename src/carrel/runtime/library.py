"""All that can be searched in a workspace, as the index is told of it: its files, and what was said."""

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import time_ns

from msgspec import Struct

from carrel.errors import CarrelError
from carrel.files import SETTLED_NS, Entry, FileStore, Unreadable, walk
from carrel.index.source import TEXT_LIMIT, Place, Turn
from carrel.runtime.view import View, is_private
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry as Said
from carrel.tools.access import SETTINGS
from carrel.workspace.layout import Layout
from carrel.workspace.scope import Scope
from carrel.workspace.tiers import standing_of

_SPOKEN = ("user", "assistant")


class Noted(Struct, frozen=True):
    """What was found out of files and logs, by path, and the stamp that it holds for: each is asked once."""

    private: dict[str, tuple[Hashable, bool]]
    lengths: dict[str, tuple[str, tuple[int, str]]]


class Library(Struct, frozen=True, kw_only=True):
    """The files of a workspace that may be read, and the sessions of its agents; it implements Source.

    `ignored` says which paths are kept out, `names` what each agent is called where it speaks.
    """

    files: FileStore
    layout: Layout
    view: View
    ignored: Callable[[str], bool]
    sessions: Sequence[Sessions]
    names: Mapping[str, str]
    noted: Noted

    def places(self, only: Collection[str] | None = None) -> Iterator[Place]:
        """Yield what there is, the files first; with `only`, what these paths are."""
        yield from self._files(only)
        taken: set[str] = set()  # a log that does not say whose it is belongs to the first who has its folder
        for sessions in self.sessions:
            for place in self._sessions(sessions, only):
                if place.path not in taken:
                    taken.add(place.path)
                    yield place

    def text(self, place: Place) -> str | None:
        """Return the text of a file, none where it is not text or cannot be had."""
        try:
            content = self.files.read(place.path, limit=TEXT_LIMIT)
        except Unreadable:
            return None
        if content is None or b"\0" in content.data:
            return None
        try:
            return content.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    def turns(self, place: Place, first: int) -> Iterator[Turn]:
        """Yield what was said in a session, from a number on; what tools said is not searched."""
        sessions = next(each for each in self.sessions if each.places.agent == place.agent)
        for placed in sessions.entries(place.session, first):
            entry = placed.entry
            yield Turn(
                number=placed.number,
                text=entry.to_text() if entry.role in _SPOKEN else "",
                line=placed.number,
                speaker=self._speaker(entry, place.agent),
                date=entry.timestamp[:10],
                message_id=entry.message_id,
                private=entry.scope != Scope.SHARED,
            )

    def _files(self, only: Collection[str] | None) -> Iterator[Place]:
        agents = tuple(self.names)
        for entry in self._entries(only):
            if entry.kind != "file" or entry.size > TEXT_LIMIT or self._is_of_session(entry.path):
                continue
            standing = standing_of(entry.path, self.layout, agents)
            yield Place(
                path=entry.path,
                tier=standing.tier,
                stamp=self._stamp(entry),
                agent=standing.agent,
                private=self._is_private(entry),
                date=standing.date,
            )

    def _entries(self, only: Collection[str] | None) -> Iterator[Entry]:
        if only is None:
            yield from walk(self.files, skip=lambda entry: self.ignored(entry.path))
            return
        folders = sorted({path.rpartition("/")[0] for path in only})
        for folder in folders:
            with suppress(Unreadable):
                yield from (
                    entry
                    for entry in self.files.list(folder)
                    if entry.path in only and not self.ignored(entry.path)
                )

    def _sessions(self, sessions: Sessions, only: Collection[str] | None) -> Iterator[Place]:
        places = sessions.places
        for entry in self.files.list(places.folder):
            session = places.session_of(entry.path)
            if session is None or (only is not None and entry.path not in only):
                continue
            with suppress(CarrelError):  # what cannot be read is told of by health, what is another's is his
                stamp = self._stamp(entry)
                count, begin = self._length(sessions, session, entry.path, stamp)
                yield Place(
                    path=entry.path,
                    tier="session",
                    stamp=stamp,
                    agent=places.agent,
                    session=session,
                    private=False,  # each turn says whether it was the owner's alone
                    turns=count,
                    begin=begin,
                )

    def _is_of_session(self, path: str) -> bool:
        """Tell whether a file belongs to sessions: they are searched as what was said."""
        folders = [sessions.places.folder for sessions in self.sessions]
        return any(path.startswith(f"{folder}/") for folder in folders)

    def _is_private(self, entry: Entry) -> bool:
        """Tell whether others than the owner are not shown a file; settings tell what an agent may do."""
        if entry.path.rpartition("/")[2] in SETTINGS:
            return True
        if entry.links > 1:  # what its other names are changes without it
            return is_private(self.files, entry, self.view)
        stamp = (entry.target, entry.stamp)
        known = self.noted.private.get(entry.path)
        if known is None or known[0] != stamp:
            known = self.noted.private[entry.path] = stamp, is_private(self.files, entry, self.view)
        return known[1]

    def _length(self, sessions: Sessions, session: str, path: str, stamp: str) -> tuple[int, str]:
        """Return how many entries a log has, and the mark of what they are; another agent's is an error."""
        known = self.noted.lengths.get(path)
        if known is None or not stamp or known[0] != stamp:
            known = self.noted.lengths[path] = stamp, sessions.measure(session)
        return known[1]

    def _stamp(self, entry: Entry) -> str:
        """Return what a file is recognised by; one that changed a moment ago may change unseen."""
        changed = max(entry.modified_ns, entry.stamp[-1])
        return "" if time_ns() - changed < SETTLED_NS else ":".join(str(part) for part in entry.stamp)

    def _speaker(self, entry: Said, agent: str) -> str:
        if entry.role == "assistant":
            return entry.name or self.names.get(agent, agent)
        return entry.name or entry.sender_id or "user"
