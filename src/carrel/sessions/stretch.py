"""A log as it is read: stretches of whole lines, and what is left of a line with a hole in it."""

from collections.abc import Iterator

from msgspec import Struct

from carrel.files import FileStore, Part, Unreadable
from carrel.sessions.placed import CHUNK
from carrel.sessions.transcript import LINE_LIMIT

HOLES_LIMIT = 2 * LINE_LIMIT
"""How many bytes that are no line are passed over, at most: a hole of any size costs nothing to make."""

_KEPT = 2
"""Of a line that is too long, how many of the last parts read are held: a whole entry may end it."""


class Stretch(Struct, frozen=True):
    """Bytes of a log up to the end of a line, by their places: whole lines, or pieces of a damaged one."""

    pieces: tuple[tuple[int, bytes], ...]
    end: int
    is_damaged: bool = False


class Reading:
    """One reading of a log from a place on; it never holds more than a line can have.

    What follows the last newline is `held` at the end of it, and `passed` how much before that was not.
    """

    def __init__(self, files: FileStore, path: str, part: Part | None, start: int) -> None:
        self.last = part
        self._files, self._path, self._start = files, path, start
        self._chunks: list[bytes] = []
        self._pieces: list[tuple[int, bytes]] = []
        self._size = 0
        self.passed = 0
        self._passed_in_all = 0

    @property
    def held(self) -> bytes:
        """Bytes of a line that has no end yet."""
        return b"".join(self._chunks)

    @property
    def tail(self) -> bytes:
        """What follows the last newline up to the first hole; nothing where more was passed over."""
        if self._pieces:
            place, data = self._pieces[0]
            return data if place == self._start else b""
        return b"" if self.passed else self.held

    def stretches(self) -> Iterator[Stretch]:
        """Yield what is whole up to the end of the file, in order."""
        part = self.last
        while part is not None and part.data:
            self.last = part
            yield from self._split(part.data)
            read = self._start + self.passed + self._size
            part = self._files.part(self._path, read, CHUNK) if read < part.size else None

    def _split(self, data: bytes) -> Iterator[Stretch]:
        if self.passed and (end := data.find(b"\n") + 1):
            place = self._start + self.passed
            self._hold(data[:end])
            pieces = (*self._pieces, (place, self.held))
            yield Stretch(pieces, self._advance(), is_damaged=True)
            data = data[end:]
        if end := data.rfind(b"\n") + 1:
            self._hold(data[:end])
            pieces = ((self._start, self.held),)
            yield Stretch(pieces, self._advance())
            data = data[end:]
        if data and data == bytes(len(data)):
            self._set_aside()
            self._pass(len(data))
        elif data:
            self._hold(data)
            if self._size > LINE_LIMIT:
                self._pass(sum(len(chunk) for chunk in self._chunks[:-_KEPT]))
                self._chunks = self._chunks[-_KEPT:]
                self._size = sum(len(chunk) for chunk in self._chunks)

    def _hold(self, data: bytes) -> None:
        self._chunks.append(data)
        self._size += len(data)

    def _set_aside(self) -> None:
        """Keep what came before a hole for the end of its line, if it has one."""
        if self._chunks:
            self._pieces.append((self._start + self.passed, self.held))
            size, self._chunks, self._size = self._size, [], 0
            self._pass(size)

    def _pass(self, size: int) -> None:
        self.passed += size
        self._passed_in_all += size
        if self._passed_in_all > HOLES_LIMIT:
            raise Unreadable(self._path, "too_large")

    def _advance(self) -> int:
        """Begin the next line after the one that is held, and return where."""
        self._start += self.passed + self._size
        self._chunks, self._pieces, self._size, self.passed = [], [], 0, 0
        return self._start
