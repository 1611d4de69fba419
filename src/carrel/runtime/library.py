"""All that can be searched in a workspace, as the index is told of it: its files, and what was said."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import time_ns

from msgspec import Struct, field

from carrel.errors import CarrelError
from carrel.files import Entry, FileStore, Stamp, Unreadable, is_recent, walk
from carrel.index.source import TEXT_LIMIT, Lack, Place, Text, Turn
from carrel.markdown.lines import body_start
from carrel.runtime.logs import Logs, stamps_of
from carrel.runtime.view import View, is_private
from carrel.runtime.walked import Walked, as_known
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Entry as Said
from carrel.workspace.layout import Layout
from carrel.workspace.scope import FRONT_MATTER_BYTES, Scope, says_private, sets_up
from carrel.workspace.tiers import standing_of

_SPOKEN = ("user", "assistant")
_SCHEME = "namespace://"

_MOST_LENGTHS = 4_096
Lengths = dict[str, tuple[Stamp, tuple[int, str]]]
"""What was found out of logs, by path, and the stamp that it holds for: each is asked once."""


class Library(Struct, frozen=True, kw_only=True):
    """The files of a workspace that may be read, and the sessions of its agents; it implements Source.

    `ignored` says which paths are kept out, `names` what each agent is called where it speaks, and `enough`
    how many turns of a log are enough for now. Equal `rules` tell the same of a file that is the same. What
    agents learnt elsewhere lies in `namespaces`, of which `learnt` says whose each file is. What was `walked`
    before is not walked again while it stays as it is, where the files are near; `logs` are kept like that.
    """

    files: FileStore
    layout: Layout
    view: View
    ignored: Callable[[str], bool]
    sessions: Sequence[Sessions]
    names: Mapping[str, str]
    lengths: Lengths
    rules: str
    enough: Mapping[str, int] = {}
    namespaces: FileStore | None = None
    learnt: Mapping[str, str] = {}
    walked: Walked | None = None
    logs: Logs = field(default_factory=Logs)

    def places(
        self, only: Collection[str] | None = None, stamps: Mapping[str, str] | None = None
    ) -> Iterator[Place]:
        """Yield what there is, the files first; with `only`, what these paths are.

        A file that is as `stamps` say is not looked at: with many files, their rules cost more than the disk.
        """
        yield from self._told(only, stamps or {})
        yield from self._learnt(only)
        taken: set[str] = set()  # a log that does not say whose it is belongs to the first who has its folder
        for sessions in self.sessions:
            for place in self._sessions(sessions, only, stamps or {}):
                if place.path not in taken:
                    taken.add(place.path)
                    yield place

    def text(self, place: Place) -> Text | None:
        """Return what a file says, and whether that it is private, or what it lacks; none if it is gone."""
        name = file_of(place.path)
        store = self.files if name is None or self.namespaces is None else self.namespaces
        try:
            content = store.read(name or place.path, limit=TEXT_LIMIT)
        except Unreadable as error:
            return Text(lack="too_large" if error.reason == "too_large" else "unreadable")
        if content is None:
            return None
        try:
            text = content.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return Text(lack="not_text")
        if "\0" in text:
            return Text(lack="not_text")
        if name is not None:
            return Text(text=learnt_in(text), private=True)
        is_whole = len(content.data) <= FRONT_MATTER_BYTES
        is_private = says_private(content.data[:FRONT_MATTER_BYTES], is_whole=is_whole)
        return Text(text=text, private=is_private)

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

    def seen(self, paths: Collection[str], scope: Scope) -> set[str]:
        """Return which of these files are there and may be seen by a listener, as they are now."""
        learnt = {place.path for place in self._learnt(paths)} if scope is Scope.MAIN else set[str]()
        return learnt | {entry.path for entry in self._entries(paths) if self._is_seen(entry, scope)}

    def has_alone(self, paths: Collection[str]) -> bool:
        """Tell whether each of these paths is a file that has no other name, so that it stands for itself."""
        linked = self.walked.linked if self.walked else frozenset[str]()
        found = (entry for entry in self._entries(paths) if _is_alone(entry) and not _is_below(entry, linked))
        return sum(1 for _ in found) == len(paths)

    def _told(self, only: Collection[str] | None, stamps: Mapping[str, str]) -> Iterable[Place]:
        """Return the files: some, or all, as the last walk told them or by another one."""
        if only is not None:
            return self._files(self._entries(only), stamps)
        if self.walked and (places := self.walked.again(self.files, self.rules, stamps)) is not None:
            return places
        began_ns, folders, linked = time_ns(), [""], set[str]()
        entries = walk(self.files, skip=lambda entry: self._is_passed_over(entry, folders, linked))
        places = tuple(self._files(entries, stamps))
        if self.walked:
            self.walked.linked = frozenset(linked)
            self.walked.keep(self.files, self.rules, folders, places, began_ns)
        return places

    def _files(self, entries: Iterable[Entry], stamps: Mapping[str, str]) -> Iterator[Place]:
        own, now, rules = self._own, time_ns(), f"{self.rules}:"
        for entry in entries:
            if entry.path.startswith(own):  # they are searched as what was said
                continue
            stamp = _stamp_of(entry, now, rules)
            if _is_alone(entry) and stamp and stamps.get(entry.path) == stamp:
                yield as_known(entry.path, stamp)
            elif not self.ignored(entry.path):
                yield self._place(entry, stamp)

    def _learnt(self, only: Collection[str] | None) -> Iterator[Place]:
        """Yield what agents learnt elsewhere, for the owner alone."""
        if self.namespaces is None or not (only is None or any(map(file_of, only))):
            return
        now = time_ns()
        entries: Sequence[Entry] = ()
        with suppress(Unreadable):
            entries = self.namespaces.list("")
        for entry in entries:
            path, agent = place_of(entry.path), self.learnt.get(entry.path)
            if agent is not None and (only is None or path in only):
                stamp = _stamp_of(entry, now, f"{agent}:")
                yield Place(
                    path=path, tier="profile", stamp=stamp, agent=agent, private=True, lack=_lack_of(entry)
                )

    def _place(self, entry: Entry, stamp: str) -> Place:
        standing = standing_of(entry.path, self.layout, self.names)
        is_covered = self._is_covered(entry)
        return Place(
            path=entry.path,
            tier=standing.tier,
            stamp=stamp if _is_alone(entry) or not stamp else f"{stamp}:{is_covered}",
            agent=standing.agent,
            private=is_covered,
            date=standing.date,
            lack=_lack_of(entry),
        )

    def _entries(self, only: Collection[str]) -> Iterator[Entry]:
        """Yield the entries of some paths."""
        for folder in sorted({path.rpartition("/")[0] for path in only}):
            with suppress(Unreadable):
                found = self.files.list(folder)
                yield from (entry for entry in found if entry.path in only and entry.kind != "directory")

    def _is_passed_over(self, entry: Entry, folders: list[str], linked: set[str]) -> bool:
        """Tell whether a folder is not walked: what is in it is ignored, or searched as what was said.

        Those that are walked are noted, and where links lead.
        """
        if entry.target != entry.path:
            linked.add(entry.target)
        if entry.kind != "directory":
            return False
        is_passed_over = f"{entry.target}/".startswith(self._own) or self.ignored(f"{entry.path}/")
        folders += [] if is_passed_over else [entry.path]
        return is_passed_over

    @property
    def _own(self) -> tuple[str, ...]:
        """The folders of sessions, whatever other names lead there."""
        return tuple(f"{sessions.places.folder}/" for sessions in self.sessions)

    def _sessions(
        self, sessions: Sessions, only: Collection[str] | None, stamps: Mapping[str, str]
    ) -> Iterator[Place]:
        places = sessions.places
        name = self.names.get(places.agent, places.agent)
        now, rules = time_ns(), f"{places.agent}:{name}:"
        resting = self.logs.resting.setdefault(rules, {})
        logs = self.logs.stamps(self.files, places) if only is None else stamps_of(self.files, places, only)
        if only is None and len(resting) > len(logs):
            for gone in resting.keys() - {path for path, _ in logs}:
                resting.pop(gone, None)
        for path, found in logs:
            if found is None:  # gone since its folder was read
                resting.pop(path, None)
                self.lengths.pop(path, None)
                continue
            kept = resting.get(path)
            if kept is not None and kept[0] == found and stamps.get(path) == kept[1].stamp:
                yield kept[1]
                continue
            stamp = "" if is_recent(found[-1], now) else _text_of(found, rules)
            if stamp and stamps.get(path) == stamp:
                place = Place(path=path, tier="session", stamp=stamp)
                resting[path] = (found, place)
                self.lengths.pop(path, None)  # which is asked for when it is spoken in, and then is another
                yield place
                continue
            with suppress(CarrelError):  # what cannot be read is told of by health, what is another's is his
                yield self._session(sessions, path, found, stamp, name)

    def _session(self, sessions: Sessions, path: str, found: Stamp, stamp: str, name: str) -> Place:
        session = sessions.places.session_of(path) or ""
        count, begin = self._length(sessions, session, path, found)
        return Place(
            path=path,
            tier="session",
            stamp=stamp,
            agent=sessions.places.agent,
            session=session,
            private=False,  # each turn says whether it was the owner's alone
            turns=count,
            begin=f"{begin}:{name}",
            enough=self.enough.get(path),
        )

    def _is_covered(self, entry: Entry) -> bool:
        """Tell whether a file is the owner's by where it stands; what it says itself its text tells.

        Settings tell what an agent may do.
        """
        if sets_up(entry.path):
            return True
        privacy = self.view.privacy
        return privacy is not None and privacy.covers(entry.path, entry.target, entry.identity, entry.links)

    def _is_seen(self, entry: Entry, scope: Scope) -> bool:
        if entry.path.startswith(self._own):
            return True  # each turn says by itself who may see it
        if self.ignored(entry.path):
            return False
        if scope is Scope.MAIN:
            return True
        return not (self._is_covered(entry) or is_private(self.files, entry, self.view))

    def _length(self, sessions: Sessions, session: str, path: str, stamp: Stamp) -> tuple[int, str]:
        """Return how many entries a log has, and the mark of what they are; another agent's is an error.

        A log that is read goes by its size and time as well, settled or not: who only adds makes it grow.
        """
        known = self.lengths.get(path)
        if known is None or known[0] != stamp:
            if len(self.lengths) >= _MOST_LENGTHS:
                self.lengths.clear()  # all go: that is rare, and only what is spoken in is asked for
            known = self.lengths[path] = stamp, sessions.measure(session)
        return known[1]

    def _speaker(self, entry: Said, agent: str) -> str:
        if entry.role == "assistant":
            return entry.name or self.names.get(agent, agent)
        return entry.name or entry.sender_id or "user"


def place_of(namespace: str) -> str:
    """Return the path that a namespace's file is found by; no file of a workspace has such a one."""
    return f"{_SCHEME}{namespace}"


def file_of(path: str) -> str | None:
    """Return the file of the namespace that has this path, none where it is a file of the workspace."""
    return path.removeprefix(_SCHEME) if path.startswith(_SCHEME) else None


def spelled(path: str) -> str:
    """Return a path without what may stand in it and says nothing: ./ at its beginning, / at its end."""
    if file_of(path) is not None:
        return path
    return "/".join(name for name in path.split("/") if name not in ("", "."))


def learnt_in(text: str) -> str:
    """Return a namespace without what it says of itself, every line where it was."""
    start = body_start(text)
    return "\n" * text.count("\n", 0, start) + text[start:]


def _stamp_of(entry: Entry, now: int, rules: str = "") -> str:
    """Return what a file is recognised by; one that has just changed may change unseen."""
    is_new = is_recent(entry.stamp[-1], now) or is_recent(entry.modified_ns, now)
    return "" if is_new else _text_of(entry.stamp, rules)


def _text_of(stamp: Stamp, rules: str) -> str:
    return rules + ":".join(map(str, stamp))


def _is_alone(entry: Entry) -> bool:
    """Tell whether a file has one name; what has others is looked at each time."""
    return entry.kind == "file" and entry.links == 1 and entry.target == entry.path


def _is_below(entry: Entry, folders: Collection[str]) -> bool:
    """Tell whether a file is one of these, or in one of them."""
    if not folders:
        return False
    names = entry.path.split("/")
    return any("/".join(names[:end]) in folders for end in range(len(names) + 1))


def _lack_of(entry: Entry) -> Lack | None:
    """Return why an entry cannot be searched, as far as that is known without reading it."""
    if entry.kind != "file":
        return "unreadable"
    return "too_large" if entry.size > TEXT_LIMIT else None
