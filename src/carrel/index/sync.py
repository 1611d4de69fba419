"""Making the catalog match its source: what changed is read, what is gone is forgotten, the rest stays.

Of a document that changed, the chunks that are as they were keep their ids; of a session that grew, only the
new turns are read. Whatever a changed chunk is searched with is due to be written again, and nothing else. A
file that cannot be searched is a place without chunks: it is told of, and not read again until it changes.
"""

from collections.abc import Collection, Sequence
from hashlib import sha256
from itertools import takewhile

from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.index import Progress, SyncReport
from carrel.index.catalog import Known, Line, Taking
from carrel.index.chunk import Chunk
from carrel.index.chunking import chunk_document, chunk_turn
from carrel.index.entry import NEIGHBOURS
from carrel.index.source import TEXT_LIMIT, Lack, Place, Source, Text

_AT_ONCE = 2_000
"""Chunks that are kept in one transaction."""


def take_in(
    catalog: Taking,
    source: Source,
    *,
    only: Collection[str] | None = None,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the catalog up to its source, or to some paths of it; return what changed."""
    taking = _Taking(catalog, source, catalog.places(only))
    taking.look(only)
    while not taking.is_done:
        taking.take_some()
        if progress is not None:
            progress(taking.done, len(taking.pending))
    taking.settle()
    return SyncReport(
        changed=taking.changed, gone=taking.gone, chunks=taking.chunks, unread=tuple(taking.unread)
    )


class _Taking:
    """A sync on its way."""

    def __init__(self, catalog: Taking, source: Source, known: dict[str, Known]) -> None:
        self.changed = self.gone = self.chunks = 0
        self.unread: list[str] = []
        self.pending: list[Place] = []
        self.done = 0
        self._catalog = catalog
        self._source = source
        self._known = known
        self._missing: dict[str, Known] = {}
        self._settled: list[tuple[Known, str]] = []

    @property
    def is_done(self) -> bool:
        """Whether every place that changed was taken in."""
        return self.done >= len(self.pending)

    def look(self, only: Collection[str] | None) -> None:
        """Find out what changed, and what is gone."""
        self._missing = dict(self._known)
        stamps = {path: known.stamp for path, known in self._known.items() if known.stamp}
        for place in self._source.places(only, stamps):
            known = self._missing.pop(place.path, None) or self._known.get(place.path)
            if known is None:
                self.pending += [] if place.enough == 0 else [place]
            elif place.stamp and place.stamp == known.stamp:
                continue
            elif not _has_enough(place, known):
                self.pending.append(place)
            elif place.stamp and known.turns == place.turns:
                self._settled.append((known, place.stamp))

    def take_some(self) -> None:
        """Take in places in one transaction, until it is large enough."""
        before = self.chunks
        with self._catalog.transaction():
            while not self.is_done and self.chunks - before < _AT_ONCE:
                self._take(self.pending[self.done])
                self.done += 1

    def settle(self) -> None:
        """Forget what is gone, and keep the stamps of sessions that are as they were."""
        if self._missing or self._settled:
            with self._catalog.transaction():
                for known in self._missing.values():
                    self._drop(known)
                for known, stamp in self._settled:
                    self._catalog.keep_stamp(known, stamp)

    def _take(self, place: Place) -> None:
        known = self._known.get(place.path)
        is_grown = known is not None and _is_grown(place, known, _digest(place))
        try:
            told = self._read(place, known.turns + 1 if known and is_grown else 1)
        except CarrelError:  # what the source cannot read now it may read later
            self.unread.append(place.path)
            return
        if isinstance(told, list):
            self._take_session(place, known if is_grown else None, told)
        else:
            self._take_document(place, known, told)

    def _read(self, place: Place, first: int) -> Text | list[Chunk] | None:
        """Return what a document says, None where it is gone; of a session, the chunks from a turn on."""
        if place.turns is not None:
            return [chunk for turn in self._source.turns(place, first) for chunk in chunk_turn(place, turn)]
        told = Text(lack=place.lack) if place.lack else self._source.text(place)
        return Text(text=told) if isinstance(told, str) else told

    def _drop(self, known: Known) -> None:
        self._catalog.drop_place(known)
        self.gone += not known.lack

    def _take_document(self, place: Place, known: Known | None, told: Text | None) -> None:
        if told is None:
            if known is not None:
                self._drop(known)
            return
        if lack := told.lack or ("too_large" if len(told.text) > TEXT_LIMIT else None):
            self._take_lack(place, known, lack)
            return
        said = replace(place, private=place.private or told.private)
        digest = _digest(said, told.text)
        if known is not None and known.digest == digest:
            if known.stamp != place.stamp:
                self._catalog.keep_stamp(known, place.stamp)
            return
        self._count(_replace(self._catalog, place, digest, chunk_document(said, told.text)))

    def _take_lack(self, place: Place, known: Known | None, lack: Lack) -> None:
        """Note that a place cannot be searched; what could not be read may be read another time."""
        place = replace(place, stamp="") if lack == "unreadable" else place
        _replace(self._catalog, place, b"", (), lack)
        self.gone += known is not None and not known.lack

    def _take_session(self, place: Place, grown: Known | None, chunks: Sequence[Chunk]) -> None:
        """Take in all chunks of a session, or those that one has more than when it was known."""
        digest = _digest(place)
        if grown is None:
            self._count(_replace(self._catalog, place, digest, chunks))
            return
        last = self._catalog.last(grown.id)
        for seq, chunk in enumerate(chunks, last + 1):
            self._catalog.add(grown.id, seq, chunk, digest_of(chunk))
        self._catalog.keep_place(place, digest)
        if chunks:
            _owe(self._catalog, grown.id, last + 1, last + len(chunks))
        self._count(len(chunks))

    def _count(self, chunks: int) -> None:
        self.changed += 1
        self.chunks += chunks


def _is_grown(place: Place, known: Known, digest: bytes) -> bool:
    """Tell whether a session is the one that is known, with more turns or none."""
    is_told = bool(place.begin) and known.begin == place.begin and known.digest == digest
    return is_told and known.turns <= (place.turns or 0)


def _replace(
    catalog: Taking, place: Place, digest: bytes, chunks: Sequence[Chunk], lack: Lack | None = None
) -> int:
    """Put new chunks where others stood, leave those alone that are as they were; return how many are new."""
    own = catalog.keep_place(place, digest, lack)
    old = catalog.lines(own)
    digests = [digest_of(chunk) for chunk in chunks]
    head = _common(old, digests)
    tail = _common(old[head:][::-1], digests[head:][::-1])
    for line in old[head : len(old) - tail]:
        catalog.drop(line.id)
        catalog.owe_dropped("words", line.id)
        catalog.owe_dropped("vectors", line.id)
    kept = [*zip(old[:head], range(head), strict=True)]
    shift = len(chunks) - len(old)
    kept += [(old[at], at + shift) for at in range(len(old) - tail, len(old))]
    for line, at in kept:
        if (line.seq, line.line, line.end_line) != (at + 1, chunks[at].line, chunks[at].end_line):
            catalog.move(line, at + 1, chunks[at])
    for at in range(head, len(chunks) - tail):
        catalog.add(own, at + 1, chunks[at], digests[at])
    if head + tail < max(len(old), len(chunks)):
        _owe(catalog, own, head + 1, len(chunks) - tail)
    if shift and tail:  # words know which chunk of its place each one is
        catalog.owe("words", own, len(chunks) - tail + 1, len(chunks))
    return len(chunks) - tail - head


def _owe(catalog: Taking, place: int, first: int, last: int) -> None:
    """Note what is searched with the chunks from one number to another; `last` is before `first` for none."""
    catalog.owe("words", place, first - NEIGHBOURS, last + NEIGHBOURS)
    catalog.owe("vectors", place, first, last)


def _common(lines: Sequence[Line], digests: Sequence[bytes]) -> int:
    """Return with how many equal chunks two lists begin."""
    pairs = zip(lines, digests, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].digest == pair[1], pairs))


def _has_enough(place: Place, known: Known) -> bool:
    """Tell whether what is known of a session is enough for now, and still what it was."""
    if place.turns is None:
        return False
    enough = place.turns if place.enough is None else place.enough
    return known.turns >= enough and _is_grown(place, known, _digest(place))


def _digest(place: Place, text: str = "") -> bytes:
    """Return what a place is recognised by: its text, and all else that its chunks hold."""
    told = (place.tier, place.agent, str(place.private), place.date, place.session, *place.tags, "", text)
    return sha256("\0".join(told).encode("utf-8", "surrogatepass")).digest()


def digest_of(chunk: Chunk) -> bytes:
    """Return what a chunk is recognised by: all that is searched of it, but not the lines where it stands."""
    told = (
        chunk.text, chunk.tier, *chunk.headings, "", chunk.agent, str(chunk.private), chunk.date,
        chunk.speaker, chunk.session, chunk.message_id, *chunk.tags,
    )  # fmt: skip
    return sha256("\0".join(told).encode("utf-8", "surrogatepass")).digest()[:16]
