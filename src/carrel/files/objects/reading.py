"""What is in a workspace's objects: shapes, bytes and names, each as it was at one moment.

A file may be several objects, and no store shows several at one moment. So what is read is checked: a
segment is never changed but by being emptied once its log has ended, and that shows; then all is read
again.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from carrel.files import Unreadable
from carrel.files.objects.bucket import LARGEST, Blob, Bucket, Found, ObjectsUnavailable, TooMuch
from carrel.files.objects.shapes import (
    GONE_BYTES,
    LOG_BYTES,
    TOKEN_BYTES,
    Head,
    Places,
    Shape,
    head_of,
    shape_of,
)

T = TypeVar("T")
U = TypeVar("U")

_TRIES = 50
_WORKERS = 8
_HEADS = 4096
_KEPT_BYTES = 8 << 20
_STEEP = 3
"""How many folders of a path are looked at before asking whether there are any at all."""


class Whole(Struct, frozen=True):
    """A file with all its bytes."""

    shape: Shape
    data: bytes


class Reading:
    """The reading side of one workspace, with what it remembers: only what can never change."""

    def __init__(self, bucket: Bucket, places: Places) -> None:
        self._bucket = bucket
        self._places = places
        self._lock = Lock()
        self._heads: dict[tuple[str, str], Head] = {}
        self._lines: dict[tuple[str, str], bytes] = {}
        self._room = _KEPT_BYTES

    def whole(self, path: str, limit: int) -> Whole | None:
        """Return a file with its bytes, None when absent; one of more than `limit` bytes is Unreadable."""
        for _ in range(_TRIES):
            if (begun := self.begun(path, limit)) is None:
                return None
            if begun.shape.size > limit:
                raise too_large(path, begun.shape.size, limit)
            if (whole := self.completed(begun)) is not None:
                return whole
        raise ObjectsUnavailable("busy")

    def completed(self, begun: Whole) -> Whole | None:
        """Return a file with what its segments add, None when its log ended meanwhile."""
        lines = in_parallel(self.lines, begun.shape.segments)
        return None if None in lines else Whole(begun.shape, b"".join([begun.data, *filter(None, lines)]))

    def begun(self, path: str, limit: int) -> Whole | None:
        """Return a file with the bytes of its first object, None when absent."""
        while self._places.holds(path):
            try:
                blob = self._bucket.get(self._places.head(path), most=min(limit, LARGEST) + LOG_BYTES)
            except TooMuch as error:
                shape = self.shape(path)
                raise too_large(path, shape.size if shape else error.size, limit) from None
            if blob is None or (head := head_of(blob.data)).is_gone:
                return None
            if (shape := self._shape(path, blob.found, head.log)) is not None:
                return Whole(shape, blob.data[shape.offset :])
        return None

    def shape(self, path: str) -> Shape | None:
        """Return the shape of a file, None when absent."""
        while self._places.holds(path):
            found = self._bucket.look(self._places.head(path))
            if found is None or (head := self.head(found)).is_gone:
                return None
            if (shape := self._shape(path, found, head.log)) is not None:
                return shape
        return None

    def cut(self, shape: Shape, start: int, end: int) -> bytes | None:
        """Return these bytes of a file, None when it is another one by now."""
        here = shape.head.size - shape.offset
        pieces: list[bytes | None] = [b""]
        if start < here:
            first = shape.offset + start
            pieces.append(self._bucket.get_part(shape.head, first, shape.offset + min(end, here)))
        for found in shape.segments:
            size = found.size - TOKEN_BYTES
            if start < here + size and end > here:
                lines = self.lines(found)
                pieces.append(lines and lines[max(0, start - here) : end - here])
            here += size
        return None if None in pieces else b"".join(filter(None, pieces))

    def lines(self, found: Found) -> bytes | None:
        """Return what a segment adds, None when its log ended meanwhile."""
        place = (found.key, found.e_tag)
        if (kept := self._lines.get(place)) is not None:
            return kept
        blob = self._bucket.get(found.key, most=LARGEST)
        if blob is None or blob.found.e_tag != found.e_tag:
            return None
        return self._keep_lines(place, blob)

    def head(self, found: Found) -> Head:
        """Return what the first object of a file is, by its first bytes."""
        place = (found.key, found.e_tag)
        if (known := self._heads.get(place)) is not None:
            return known
        data = self._bucket.get_part(found, 0, min(found.size, GONE_BYTES))
        if data is None:  # it changed just now, and whoever wants its bytes will notice
            return Head()
        head = head_of(data)
        if found.size > GONE_BYTES and head.is_gone:
            head = Head()
        with self._lock:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            self._heads[place] = head
        return head

    def names(self, folder: str) -> set[str]:
        """Return the names in a directory."""
        objects, below = self._objects(folder)
        return {*objects, *below}

    def folder(self, folder: str) -> tuple[dict[str, Shape], list[str]]:
        """Return the files of a directory by name, and the names of the directories in it."""
        objects, below = self._objects(folder)
        if not objects:
            return {}, below
        beside: dict[str, list[Found]] = {}
        root = self._places.logs(folder)
        for found in self._bucket.below(root):
            beside.setdefault(found.key.removeprefix(f"{root}/").partition("/")[0], []).append(found)
        above = f"{folder}/" if folder else ""
        shapes = {
            name: shape_of(
                above + name, found, self.head(found).log if name in beside else "", beside.get(name, ())
            )
            for name, found in objects.items()
        }
        return shapes, below

    def refuse_unfit(self, path: str) -> None:
        """Refuse a path that is a directory, or that has a file for one."""
        if self._places.holds(path):
            self._refuse_file_above(path)
            if self.names(path):
                raise Unreadable(path, "directory")

    def refuse_file(self, path: str) -> None:
        """Refuse a directory that is a file, or below one."""
        if self._is_file(path):
            raise Unreadable(path, "not_directory")
        self._refuse_file_above(path)

    def beside(self, path: str) -> tuple[Found, ...]:
        """Return all that is there of the logs of a file."""
        return tuple(self._bucket.below(self._places.segments(path)))

    def _refuse_file_above(self, path: str) -> None:
        above = list(accumulate(path.split("/")[:-1], lambda one, name: f"{one}/{name}"))
        for depth, folder in enumerate(above):
            if self._is_file(folder):
                raise Unreadable(path, "not_directory")
            if depth >= _STEEP and not self.names(folder):
                return

    def _is_file(self, path: str) -> bool:
        found = self._bucket.look(self._places.head(path))
        return found is not None and not self.head(found).is_gone

    def _shape(self, path: str, head: Found, log: str) -> Shape | None:
        """Return the shape of a file with this first object; None when that is another one by now."""
        if not log:
            return Shape(path=path, head=head, log="")
        shape = shape_of(path, head, log, self.beside(path))
        if not shape.is_doubtful:
            return shape
        found = self._bucket.look(head.key)
        return shape if found is not None and found.e_tag == head.e_tag else None

    def _objects(self, folder: str) -> tuple[dict[str, Found], list[str]]:
        if folder and not self._places.holds(folder):
            return {}, []
        objects, below = self._bucket.folder(self._places.head(folder))
        named = {found.key.rpartition("/")[2]: found for found in objects}
        gone = {
            name for name, found in named.items() if found.size == GONE_BYTES and self.head(found).is_gone
        }
        return {name: found for name, found in named.items() if name not in gone}, below

    def _keep_lines(self, place: tuple[str, str], blob: Blob) -> bytes:
        lines = blob.data[TOKEN_BYTES:]
        with self._lock:
            if len(lines) > self._room:
                self._lines.clear()
                self._room = _KEPT_BYTES
            if len(lines) <= self._room and place not in self._lines:
                self._lines[place] = lines
                self._room -= len(lines)
        return lines


def too_large(path: str, size: int, limit: int) -> Unreadable:
    """Return the refusal to read a file."""
    return Unreadable(path, "too_large", detail=f"{size} bytes, the limit is {limit}")


def in_parallel(work: Callable[[T], U], given: Iterable[T]) -> Sequence[U]:
    """Return what each gives, in order; they wait for the store together."""
    items = list(given)
    if len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(len(items), _WORKERS)) as pool:
        return list(pool.map(work, items))
