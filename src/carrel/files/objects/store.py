"""The files of one workspace as objects: documents swapped by ETag, logs added to by create-if-absent."""

import hashlib
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from carrel.addresses import Key
from carrel.files import READ_LIMIT, Content, Entry, Part, Stale, Stamp
from carrel.files.objects.bucket import LARGEST, Bucket, Found, ObjectsUnavailable, split_url
from carrel.files.objects.reading import Reading, Whole, in_parallel
from carrel.files.objects.shapes import (
    Head,
    Shape,
    folder_entry,
    folder_stamp,
    gone_head,
    head_of,
    log_head,
    new_id,
    places,
    segment,
)
from carrel.files.paths import BadPath, new_name, parts

_NO_ACCESS: Mapping[str, Key] = {}
_TRIES = 50
_PATIENCE = 30.0
"""How long one append goes on when others are quicker each time, in seconds."""

_FRESH = 600.0
"""How long what is known of a log's end is used, in seconds."""

_KEPT = timedelta(hours=1)
"""How long the numbers of an ended log stay taken: whoever knew it before has tried or given up by then."""

_REMOVAL, _ABANDONED, _WAIT = 5.0, 60.0, 3.0
"""When a removal no longer deletes its object; when others take its place; how long they wait at a time."""

_PAUSE = 0.02
_TAILS = 1024


class _Tail(Struct, frozen=True):
    """The end of a log as it was at some time, by this process's clock."""

    log: str
    number: int
    size: int
    is_open: bool
    seen: float


class ObjectFiles:
    """The files of one workspace; a directory exists while a file is below it.

    Threads and processes may share a workspace. Which names are beside a new one is looked up before it is
    made, not with it: two who make names at once that differ only by case may both succeed. `access` holds
    the provider's own variables; what is not in it the driver looks for itself, as the provider's tools do.
    """

    def __init__(
        self, url: str, tenant: str, workspace: str, *, access: Mapping[str, Key] = _NO_ACCESS
    ) -> None:
        bucket, prefix = split_url(url)
        self._bucket = Bucket(bucket, access)
        self._places = places(prefix, tenant, workspace)
        self._reading = Reading(self._bucket, self._places)
        self._lock = Lock()
        self._tails: dict[str, _Tail] = {}
        self._gone: dict[str, float] = {}

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, None when absent."""
        path = _spelt(path)
        if (whole := self._reading.whole(path, limit)) is None:
            self._reading.refuse_unfit(path)
            return None
        return Content(data=whole.data, digest=_digest(whole.data), target=path, identity=path, links=1)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes from `start` on, None when absent."""
        path = _spelt(path)
        for _ in range(_TRIES):
            if (shape := self._reading.shape(path)) is None:
                self._reading.refuse_unfit(path)
                return None
            if (data := self._reading.cut(shape, start, start + size)) is not None:
                return Part(
                    data=data,
                    size=shape.size,
                    modified_ns=shape.changed_ns,
                    target=path,
                    identity=path,
                    links=1,
                )
        raise ObjectsUnavailable("busy")

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return the stamp of each file or directory, None where there is neither.

        Each folder that is asked about, or has something that is, is listed once.
        """
        keys = ["/".join(parts(path)) if path else "" for path in paths]
        held = {key for key in keys if key and self._places.holds(key)}
        above = sorted({_above(key) for key in held})
        listed = dict(zip(above, in_parallel(self._reading.folder, above), strict=True))
        found: dict[str, Stamp] = {}
        folders = {""} & {*keys}
        for key in held:
            shapes, below = listed[_above(key)]
            if (shape := shapes.get(_name(key))) is not None:
                found[key] = shape.stamp
            elif _name(key) in below:
                folders.add(key)
        for key, names in self._names(folders, listed).items():
            if names or not key:
                found[key] = folder_stamp(names)
        return [found.get(key) for key in keys]

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries of one directory by name."""
        under = _spelt(under) if under else ""
        shapes, below = self._reading.folder(under)
        if not shapes and not below and under and self._places.holds(under):
            self._reading.refuse_file(under)
        above = f"{under}/" if under else ""
        folders = self._names([above + name for name in below], {})
        entries = [shape.entry for shape in shapes.values()]
        entries += [folder_entry(path, names) for path, names in folders.items() if names]
        return sorted(entries, key=lambda entry: entry.path)

    def target(self, path: str) -> str:
        """Return where a file would be written."""
        return _spelt(path)

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace the content whose digest is `expect` (None: create it) and return the new digest."""
        path, data = _spelt(path), bytes(data)
        for _ in range(_TRIES):
            if (whole := self._expected(path, expect)) is None:
                self._refuse_new(path)
                is_done = self._created(path, self._plain(path, data))
            else:
                is_done = self._swapped(whole.shape, self._plain(path, data))
                if is_done:
                    self._clear(whole.shape.beside)
            if is_done:
                return _digest(data)
        raise ObjectsUnavailable("busy")

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end, of a file with `at` bytes where that is given."""
        path, data = _spelt(path), bytes(data)
        started = time.monotonic()
        while time.monotonic() - started < _PATIENCE:
            known = self._known(path)
            # What is known may be old: it may be added to, not trusted in what it refuses.
            if known is not None and data and at in (None, known.size):
                size = self._added(path, known, data)
            elif (begun := self._reading.begun(path, LARGEST)) is None:
                size = self._first(path, data, at)
            else:
                size = self._extended(begun, data, at)
            if size is not None:
                return size
        raise ObjectsUnavailable("busy")

    def remove(self, path: str, *, expect: str) -> None:
        """Remove the file whose digest is `expect`."""
        path = _spelt(path)
        for _ in range(_TRIES):
            whole = self._expected(path, expect)
            assert whole is not None
            shape = replace(whole.shape, beside=self._reading.beside(path))
            started = time.monotonic()
            if self._swapped(shape, gone_head()):
                # No store deletes under a condition. So others leave a removed file's object alone for a
                # while, and nobody deletes it later than soon.
                if time.monotonic() - started < _REMOVAL:
                    with suppress(ObjectsUnavailable):
                        self._bucket.delete_once(shape.head.key)
                self._clear(shape.beside)
                return
        raise ObjectsUnavailable("busy")

    def _expected(self, path: str, expect: str | None) -> Whole | None:
        """Return the file whose digest is `expect`; None where none is expected, and none is."""
        if (whole := self._reading.whole(path, LARGEST)) is None:
            self._reading.refuse_unfit(path)
        found = whole and _digest(whole.data)
        if found != expect:
            raise Stale(path, expected=expect, found=found)
        return whole

    def _created(self, path: str, body: bytes) -> bool:
        """Make the first object of a file; False when there is one."""
        started = time.monotonic()
        while not self._bucket.create(key := self._places.head(path), body):
            found = self._bucket.look(key)
            if found is not None and not self._reading.head(found).is_gone:
                return False
            if found is not None and self._is_abandoned(found):
                return self._bucket.swap(found, body)
            if time.monotonic() - started > _WAIT:
                raise ObjectsUnavailable("busy")
            time.sleep(_PAUSE)
        return True

    def _is_abandoned(self, gone: Found) -> bool:
        """Tell whether who removed a file has surely deleted its object by now, or never will."""
        now = time.monotonic()
        with self._lock:
            if len(self._gone) >= _TAILS:
                self._gone.clear()
            return now - self._gone.setdefault(gone.key + gone.e_tag, now) > _ABANDONED

    def _swapped(self, shape: Shape, body: bytes) -> bool:
        """Replace a file's first object, and with it the whole; False when the file is another one by now."""
        self._forget(shape.path)
        if shape.log and not shape.is_sealed:
            seal = self._places.segment(shape.path, shape.log, shape.last + 1)
            if not self._bucket.create(seal, b"", once=True):
                return False
        return self._bucket.swap(shape.head, body)

    def _clear(self, beside: Sequence[Found]) -> None:
        """Take away what a log said that has ended.

        A number that was used lately stays taken: somebody may be about to try it, and would be told that
        lines were added which nobody will ever read. All times compared are the store's own.
        """
        newest = max((found.changed for found in beside), default=None)
        old = [found for found in beside if newest is not None and newest - found.changed > _KEPT]
        self._bucket.delete([found.key for found in old])
        in_parallel(self._bucket.empty, [found.key for found in beside if found.size and found not in old])

    def _plain(self, path: str, data: bytes) -> bytes:
        """Return the object of a document; one that begins as ours do is put behind such a beginning."""
        return data if head_of(data) == Head() else self._log(path, data)[1]

    def _log(self, path: str, body: bytes) -> tuple[str, bytes]:
        """Begin a log, and return its name and its first object."""
        log = new_id()
        self._bucket.create(self._places.segment(path, log, 0), b"", once=True)
        return log, log_head(log, body)

    def _first(self, path: str, data: bytes, at: int | None) -> int | None:
        """Make a file of the first lines that are added to it; None when somebody else was quicker."""
        self._reading.refuse_unfit(path)
        if at:
            raise Stale(path, expected=str(at), found="0")
        self._refuse_new(path)
        return len(data) if self._created(path, self._plain(path, data)) else None

    def _extended(self, begun: Whole, data: bytes, at: int | None) -> int | None:
        """Add lines to a file that is there; None when somebody else was quicker."""
        shape = begun.shape
        if at not in (None, shape.size):
            raise Stale(shape.path, expected=str(at), found=str(shape.size))
        if not data and not shape.log and not _is_open(begun.data):
            return shape.size
        tail = self._tail(begun)
        return None if tail is None else self._added(shape.path, tail, data)

    def _tail(self, begun: Whole) -> _Tail | None:
        """Return the end of a log; a document becomes one first. None when it changed meanwhile."""
        shape, now = begun.shape, time.monotonic()
        if shape.log and not shape.is_sealed:
            last = self._reading.lines(shape.segments[-1]) if shape.segments else begun.data
            return None if last is None else _Tail(shape.log, shape.last, shape.size, _is_open(last), now)
        # A seal of somebody who then changed nothing ends the log too: it goes on in another.
        if (whole := self._reading.completed(begun)) is None:
            return None
        log, head = self._log(shape.path, whole.data)
        if not self._bucket.swap(shape.head, head):
            return None
        self._clear(shape.beside)
        return _Tail(log, 0, shape.size, _is_open(whole.data), now)

    def _added(self, path: str, tail: _Tail, data: bytes) -> int | None:
        """Add a segment to a log and return the size; None when somebody else was quicker."""
        lines = b"\n" + data if tail.is_open else data
        if not lines:
            return tail.size
        started = time.monotonic()
        key = self._places.segment(path, tail.log, tail.number + 1)
        if not self._bucket.create(key, segment(lines), once=True):
            self._forget(path)
            return None
        if time.monotonic() - tail.seen > 2 * _FRESH:  # we slept, and the log may have ended long ago
            shape = self._reading.shape(path)
            if shape is None or shape.log != tail.log:
                raise ObjectsUnavailable("unknown")
        size = tail.size + len(lines)
        with self._lock:
            if len(self._tails) >= _TAILS:
                self._tails.clear()
            self._tails[path] = _Tail(tail.log, tail.number + 1, size, _is_open(lines), started)
        return size

    def _known(self, path: str) -> _Tail | None:
        tail = self._tails.get(path)
        return tail if tail is not None and time.monotonic() - tail.seen < _FRESH else None

    def _forget(self, path: str) -> None:
        with self._lock:
            self._tails.pop(path, None)

    def _refuse_new(self, path: str) -> None:
        """Hold new names, and only new ones, to the rules that every store has for them."""
        if not self._places.holds(path):
            for name in path.split("/"):
                new_name(path, name)
            raise BadPath(path, "is longer than a key of an object may be")
        steps = list[tuple[str, set[str]]]()
        above = path
        while above and not (steps and steps[-1][1]):  # where there is a name, all folders above exist
            above, name = _above(above), _name(above)
            steps.append((name, self._reading.names(above)))
        for name, beside in reversed(steps):
            new_name(path, name, beside=beside)

    def _names(
        self, folders: Collection[str], listed: Mapping[str, tuple[Mapping[str, Shape], Collection[str]]]
    ) -> dict[str, set[str]]:
        """Return the names in each of some directories, of which some are listed already."""
        known = {folder: {*listed[folder][0], *listed[folder][1]} for folder in folders if folder in listed}
        asked = [folder for folder in folders if folder not in known]
        return known | dict(zip(asked, in_parallel(self._reading.names, asked), strict=True))


def _spelt(path: str) -> str:
    return "/".join(parts(path))


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_open(data: bytes) -> bool:
    return data != b"" and not data.endswith(b"\n")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
