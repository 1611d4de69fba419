"""One session's log: whole lines added durably and once, and any page of it without reading the rest."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from threading import RLock

from msgspec.structs import replace

from carrel.files import FileStore, Part, Stale
from carrel.files.durable import HASH_LIMIT
from carrel.sessions.known import Known
from carrel.sessions.offsets import Offset, Offsets
from carrel.sessions.placed import CHUNK, Added, NewerLog, Placed, digest, encoded, runs
from carrel.sessions.stretch import Reading, Stretch
from carrel.sessions.transcript import Compaction, Entry, Foreign, Header, Line, decode, encode

_ENDING = 512
_ATTEMPTS = 50
_PENDING = 256


class _Gone(Exception):
    """What was kept of a log is gone, or somebody else's."""


class Log:
    """The log of one session; several processes may add to it, and each sees what the others added.

    What was read before is not read again: `Offsets` remembers where the entries are.
    """

    def __init__(self, files: FileStore, path: str, offsets: Offsets) -> None:
        self.path = path
        self._files = files
        self._offsets = offsets
        self._lock = RLock()
        self._known: Known = Known()
        self._new: list[Offset] = []
        self._new_ids: dict[str, int] = {}
        self._is_anew = False
        self._is_loaded = False
        self._version = 0
        self._ending = b""
        self.began = 0
        """How often the log turned out to be another than the one that was read."""
        self.unfinished = 0
        """How many bytes at the end are no whole line."""

    @property
    def known(self) -> Known:
        """What is known of the log since it was last looked at."""
        return self._known

    def look(self) -> Known:
        """Read what was added since, and return what is known of the log now."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                with suppress(_Gone):
                    return self._look()
                self._begin_anew()
                self._load()
            raise Stale(self.path, expected=None, found=None)

    def _look(self) -> Known:
        self._refresh()
        part = self._files.part(self.path, self._known.size, CHUNK)
        if part is None:
            if self._known.size:
                self._begin_anew()
            self.unfinished = 0
            return self._known
        if not self._is_same(part):
            self._begin_anew()
            part = self._files.part(self.path, 0, CHUNK)
        self._take_in(part)
        if len(self._new) >= _PENDING:
            self.flush()
        return self._known

    def add(self, lines: Sequence[Line], header: Header, *, minted: Collection[str] = ()) -> list[Added]:
        """Add lines durably, each entry once by its message id; return where the entries are.

        A new log begins with the header. All lines are added in one write: all of them or none. Ids that were
        `minted` for this call cannot be in the log.
        """
        with self._lock:
            if not self._is_loaded:
                self._load()
            fresh: list[Line] = []
            is_sure = False
            for _ in range(_ATTEMPTS):
                # Nobody can have come between if the log still ends where it was last seen to end.
                known = self._known if self._known.size else self.look()
                if known.newer:
                    raise NewerLog(self.path, known.newer)
                fresh = list(self._distinct(lines, minted))
                if len(fresh) < len(lines) and not is_sure:
                    self.look()  # what is called recorded must be there still
                    is_sure = True
                    continue
                if not fresh:
                    break
                head = (header,) if known.header is None and not known.entries else ()
                data = [encoded(line) for line in (*head, *fresh)]
                at = known.size + self.unfinished
                try:
                    size = self._files.append(self.path, b"".join(data), at=at)
                except Stale:  # others were quicker: see what they added
                    self.look()
                    continue
                self._take_own((*head, *fresh), data, size)
                break
            else:
                raise Stale(self.path, expected=None, found=None)
            new = {id(line) for line in fresh}
            entries = (line for line in lines if isinstance(line, Entry))
            return [Added(self.number_of(entry.message_id) or 0, id(entry) in new) for entry in entries]

    def refuse(self, lines: Sequence[Line]) -> None:
        """Raise what adding these lines would, where that can be told before."""
        if newer := self.look().newer:
            raise NewerLog(self.path, newer)
        for line in lines:
            encoded(line)

    def number_of(self, message_id: str) -> int | None:
        """Return the number of the entry with this id, none where there is none."""
        for _ in range(_ATTEMPTS):
            with suppress(_Gone):
                return self._number_of(message_id)
            self.look()
        return None

    def _number_of(self, message_id: str) -> int | None:
        number = self._new_ids.get(message_id)
        if number is not None or self._is_anew or not self._version:
            return number
        if not message_id or not message_id.isprintable():
            return None
        version, number = self._offsets.number_of(self.path, message_id)
        if version != self._version:
            raise _Gone
        # One who read further may have kept more than is known here.
        return number if number is not None and number <= self._known.entries else None

    def entries(self, first: int, last: int, known: Known | None = None) -> Iterator[Placed]:
        """Yield the entries from one number to another, in order, but for what cannot be read any more.

        Who has looked just now says what was `known` then, and the log is not looked at once more.
        """
        done = max(1, first) - 1
        try:
            for placed in self._entries(done + 1, last, known, is_sure=False):
                done = placed.number
                yield placed
        except _Gone:
            with self._lock:
                self._begin_anew()
            yield from self._entries(done + 1, last, None, is_sure=True)

    def _entries(self, first: int, last: int, known: Known | None, *, is_sure: bool) -> Iterator[Placed]:
        with self._lock:
            known = self.look() if known is None else known
            offsets = self._offsets_of(max(1, first), min(last, known.entries))
        for run in runs(offsets):
            start = run[0].start
            part = self._files.part(self.path, start, run[-1].end - start)
            data = part.data if part else b""
            for offset in run:
                found = decode(data[offset.start - start : offset.end - start])
                own = [line for _, _, line in found.lines if isinstance(line, Entry)]
                if not is_sure and (not own or offset.message_id not in ("", own[0].message_id)):
                    raise _Gone
                if own:
                    yield Placed(offset.number, own[0])

    def lines(self, first: int, last: int) -> Iterator[bytes]:
        """Yield the lines of these entries as they stand in the log, each with its newline."""
        with self._lock:
            offsets = self._offsets_of(first, last)
        for run in runs(offsets):
            part = self._files.part(self.path, run[0].start, run[-1].end - run[0].start)
            data = part.data if part else b""
            for offset in run:
                start = offset.start - run[0].start
                yield data[start : start + offset.size].rstrip(b"\r\n") + b"\n"

    def own_lines(self) -> set[bytes]:
        """Return all lines that a window of this log may have or have had, to recognise one by."""
        known = self.look()
        lines = set(self.lines(1, known.entries))
        content = self._files.read(self.path, limit=HASH_LIMIT)
        for raw in content.data.split(b"\n") if content else ():
            for _, _, line in decode(raw).lines:
                if isinstance(line, Header | Compaction):
                    lines.add(encode(line))
        return lines

    def compaction(self) -> tuple[int, Compaction] | None:
        """Return the last compaction and the number of the last entry that it stands for."""
        known = self.look()
        if known.compacted is None:
            return None
        through, start, size = known.compacted
        part = self._files.part(self.path, start, size)
        for _, _, line in decode(part.data).lines if part else ():
            if isinstance(line, Compaction):
                return through, line
        return None

    @property
    def version(self) -> int:
        """The version of what is kept of it, another when it was not what had been read; 0 where none is."""
        return 0 if self._is_anew else self._version

    def flush(self) -> None:
        """Keep what is known for the next process; what cannot be kept stays with this one."""
        with self._lock:
            if not self._new and not self._is_anew:
                return
            if not self._known.modified_ns and (part := self._files.part(self.path, 0, 0)):
                self._known = replace(self._known, identity=part.identity, modified_ns=part.modified_ns)
            known = replace(self._known, ending=digest(self._ending))
            version = self._offsets.keep(
                self.path, known, self._new, version=self._version, anew=self._is_anew
            )
            if version is not None:
                self._new, self._new_ids, self._is_anew, self._version = [], {}, False, version

    def _offsets_of(self, first: int, last: int) -> list[Offset]:
        """Return where entries stand, as kept and as known only here."""
        new = [offset for offset in self._new if first <= offset.number <= last]
        end = self._new[0].number - 1 if self._new else last
        if self._is_anew or first > min(end, last):
            return new
        return [*self._offsets.entries(self.path, first, min(end, last)), *new]

    def _refresh(self) -> None:
        """Begin with what an earlier process knew, and begin again where what was kept is gone."""
        if not self._is_loaded:
            if self._files.stamps([self.path]) != [None]:
                self._load()
        elif self._version and self._offsets.version(self.path) != self._version:
            self._begin_anew()
            self._load()

    def _load(self) -> None:
        """Begin with what an earlier process knew, if this is still the log that it read."""
        self._is_loaded = True
        self._version, known = self._offsets.known(self.path)
        if known is None or not known.size:
            self._begin_anew()
            return
        start = max(0, known.size - _ENDING)
        part = self._files.part(self.path, start, known.size - start)
        is_untouched = part is not None and part.modified_ns == known.modified_ns
        is_grown = part is not None and part.size > known.size
        if part is not None and (is_untouched or is_grown) and digest(part.data) == known.ending:
            self._known, self._ending, self._is_anew = known, part.data, False
        else:
            self._begin_anew()

    def _begin_anew(self) -> None:
        self._known, self._new, self._new_ids, self._is_anew = Known(), [], {}, True
        self._ending = b""
        self.began += 1

    def _is_same(self, part: Part) -> bool:
        """Tell whether the file that a part is of is the one that was read, grown or not.

        One that grew must still have the end that was read where it was; one that did not must not have been
        touched, since whoever only adds makes it grow.
        """
        known = self._known
        if not known.size:
            return True
        if part.size < known.size:
            return False
        is_untouched = known.modified_ns in (0, part.modified_ns) and part.identity == known.identity
        if part.size == known.size + self.unfinished:
            return is_untouched
        start = max(0, known.size - _ENDING)
        before = self._files.part(self.path, start, known.size - start)
        return before is not None and before.data == self._ending

    def _take_in(self, part: Part | None) -> None:
        """Read whole lines up to the end; what follows the last newline waits for it."""
        reading = Reading(self._files, self.path, part, self._known.size)
        for stretch in reading.stretches():
            if stretch.is_damaged:
                self._take_pieces(stretch)
            else:
                self._take_lines(stretch.pieces[0][1])
        tail, left = reading.tail, reading.passed + len(reading.held)
        if tail and _lacks_newline(tail):
            self._take_lines(tail + b"\n", size=len(tail))
            left -= len(tail)
        self.unfinished = left
        if last := reading.last:
            self._known = replace(self._known, identity=last.identity, modified_ns=last.modified_ns)

    def _take_pieces(self, stretch: Stretch) -> None:
        """Take in what is whole in a line that was too long to hold, or has a hole in it."""
        self._known = replace(self._known, damaged=self._known.damaged + 1)
        for start, data in stretch.pieces:
            for offset, size, line in decode(data, is_damaged=True).lines:
                self._take(start + offset, size, line)
        self._ending = bytes(_ENDING)
        self._advance(stretch.end, stretch.pieces[-1][1])

    def _take_lines(self, data: bytes, *, size: int | None = None) -> None:
        start = self._known.size
        place = 0
        while place < len(data):
            end = data.index(b"\n", place) + 1
            found = decode(data[place:end])
            if found.is_damaged:
                self._known = replace(self._known, damaged=self._known.damaged + 1)
            for offset, length, line in found.lines:
                self._take(start + place + offset, length, line)
            place = end
        size = len(data) if size is None else size
        self._advance(start + size, data[:size])

    def _take_own(self, lines: Sequence[Line], data: Sequence[bytes], size: int) -> None:
        """Take in what was just written here, without reading it back."""
        start = size - sum(len(each) for each in data)
        if start != self._known.size:  # a torn line was completed first, and nobody has read that yet
            self.look()
            return
        for line, each in zip(lines, data, strict=True):
            if isinstance(line, Entry):
                self._take_new(start, len(each), line)
            else:
                self._take(start, len(each), line)
            start += len(each)
        self._advance(size, data[-1] if len(data[-1]) >= _ENDING else b"".join(data), modified_ns=0)
        if len(self._new) >= _PENDING:
            self.flush()

    def _advance(self, size: int, data: bytes, **seen: int) -> None:
        self._ending = (self._ending + data[-_ENDING:])[-_ENDING:]
        self._known = replace(self._known, size=size, **seen)

    def _take(self, start: int, size: int, line: Line | Foreign) -> None:
        if isinstance(line, Entry):
            if self._number_of(line.message_id) is None:
                self._take_new(start, size, line)
            else:
                self._known = replace(self._known, duplicates=self._known.duplicates + 1)
        elif isinstance(line, Compaction):
            through = self._number_of(line.message_id) or line.through
            self._known = self._known.after_compaction(through, start, size)
        else:
            self._known = self._known.after_note(line)

    def _take_new(self, start: int, size: int, entry: Entry) -> None:
        self._known = self._known.after_entry(entry)
        # No id that a database could not hold is looked for, so it need not be kept.
        own = entry.message_id if entry.message_id.isprintable() else ""
        self._new.append(Offset(self._known.entries, start, size, own))
        if own:
            self._new_ids[own] = self._known.entries

    def _distinct(self, lines: Sequence[Line], minted: Collection[str]) -> Iterator[Line]:
        """Yield the lines that are not in the log yet, each message id once."""
        seen: set[str] = set()
        for line in lines:
            if isinstance(line, Entry):
                own = line.message_id
                if own not in minted and (own in seen or self.number_of(own) is not None):
                    continue
                seen.add(own)
            yield line


def _lacks_newline(held: bytes) -> bool:
    """Tell whether a last line lacks its newline and no more: it is whole, or whole ones grown together.

    What was begun and has no end may be on its way: then nothing of it is taken yet. What begins otherwise
    than a line does is on nobody's.
    """
    found = decode(held)
    if not found.is_damaged:
        return bool(found.lines)
    place = 0 if held.startswith(b"{") else held.find(b"{")
    for offset, size, _ in found.lines:
        if offset != place:
            return False
        place += size
    return place > 0 and b"{" not in held[place:]
