"""What is left where nobody looks: the trash, what was set aside, a plan or a write that was cut short.

These are rewritten. A file that is its owner's own is not: it is told, and theirs to edit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, Content, Entry, FileStore, walk
from carrel.files.paths import is_own
from carrel.findings import Finding
from carrel.memory.consolidate.state import NAME as STATE
from carrel.memory.consolidate.state import read_state, write_state
from carrel.memory.forget.blotting import FORGOTTEN, Told, blotted, blotted_line, said_in
from carrel.memory.forget.report import Copy, CopyKind
from carrel.memory.forget.sayings import sayings_of, without
from carrel.records.facts import Fact
from carrel.sessions.rewriting import rewritten

_DAMAGED = ".damaged"
_LOGS = ".jsonl"
_MOST_FILES = 100_000
_BY_HAND = "A purge rewrites the logs of sessions; a file of your own is yours to edit or delete."

Room = tuple[FileStore, CopyKind]
"""A place that is looked through, and what its files are where nothing else is known of them."""


class Sought(Struct, frozen=True, kw_only=True):
    """What is looked for: facts, what they say as it is looked for, and texts that say it word for word."""

    facts: tuple[Fact, ...]
    told: tuple[Told, ...]
    texts: tuple[str, ...]

    def is_in(self, data: bytes) -> bool:
        """Tell whether something holds one of the texts."""
        return any(text.encode("utf-8", "surrogatepass") in data for text in self.texts)

    def is_said_in(self, data: bytes) -> bool:
        """Tell whether something holds one of the texts, or says the same with all of its words."""
        return self.is_in(data) or bool(said_in(data.decode("utf-8", "replace"), self.told))


class Leftovers(Struct, frozen=True, kw_only=True):
    """Looks through what nobody reads; `rooms` are the workspace, its trash and the namespaces."""

    rooms: Callable[[], Sequence[Room]]
    sweep: Callable[[], object]
    """Removes what killed writers left of a file, which no listing shows."""

    def find(self, sought: Sought, *, how: str, purge: bool = False) -> tuple[list[Copy], list[Finding]]:
        """Return what holds something of this; to purge is to blot it out, where that may be done."""
        found, findings = list[Copy](), list[Finding]()
        if purge:
            findings += self._swept()
        for files, kind, entry in self._entries():
            try:
                content = files.read(entry.path)
                new = _cleared(kind, content, sought) if content else None
                if content is None or new is None:
                    continue
                if purge and new != content.data:
                    files.write(entry.path, new, expect=content.digest)
            except CarrelError as error:
                findings.append(
                    Finding(code=error.code, message=error.message, path=entry.path, hint=error.hint)
                )
                continue
            is_kept = new == content.data
            found.append(Copy(kind=kind, place=entry.path, how=_BY_HAND if is_kept else "" if purge else how))
        return found, findings

    def _swept(self) -> Iterator[Finding]:
        """Remove what killed writers left, and say where that could not be done."""
        try:
            self.sweep()
        except CarrelError as error:
            yield Finding(code=error.code, message=error.message, hint=error.hint)

    def _entries(self) -> Iterator[tuple[FileStore, CopyKind, Entry]]:
        """Yield every file that may be looked at, and what it is."""
        for files, usual in self.rooms():
            for entry in _below(files):
                name = entry.path.rpartition("/")[2]
                kind: CopyKind = "damaged" if _DAMAGED in name else "plan" if name == STATE else usual
                yield files, usual if usual == "trash" else kind, entry


def _below(files: FileStore) -> Iterator[Entry]:
    """Yield the files of a store that are small enough to be read, as many as can be."""

    def skip(entry: Entry) -> bool:
        return entry.kind not in ("file", "directory") or is_own(entry.path)

    for number, entry in enumerate(walk(files, skip=skip)):
        if number >= _MOST_FILES:
            return
        if entry.kind == "file" and entry.size <= READ_LIMIT:
            yield entry


def _cleared(kind: CopyKind, content: Content, sought: Sought) -> bytes | None:
    """Return a file without what is looked for, as it is where it is its owner's; none where it has none."""
    data = content.data
    if kind in ("trash", "damaged"):
        new = _blotted(content.target, data, sought)
        return new if new != data else None
    if not sought.is_said_in(data):
        return None
    return _without_plan(data) if kind == "plan" else data


def _blotted(path: str, data: bytes, sought: Sought) -> bytes:
    """Return a file without what facts say, as a log where it is one, else as prose."""
    if _LOGS in path:
        data, _ = rewritten(data, _blotting(sought.told))
    else:
        sayings = sayings_of(fact for fact in sought.facts if fact.text != FORGOTTEN)
        forms = sayings.everywhere.union(sayings.events, *sayings.within.values())
        text = without(data.decode("utf-8", "surrogateescape"), forms, sayings.anchors).text
        data = blotted(text, sought.told).encode("utf-8", "surrogateescape")
    if not sought.is_in(data):
        return data
    return b"\n".join(FORGOTTEN.encode() if sought.is_in(line) else line for line in data.split(b"\n"))


def _blotting(told: Sequence[Told]) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
    return lambda value: blotted_line(value, told)


def _without_plan(data: bytes) -> bytes:
    """Return a state of consolidation without the plan of a run that was cut short: its entries are new."""
    state, is_sound = read_state(data, UTC)
    return write_state(replace(state, plan=None)) if is_sound else data
