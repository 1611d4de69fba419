"""Two stores seen as one: the upper is read first and alone is written, the lower is never changed."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import Refused, UsageError
from carrel.files import (
    NEVER_NS,
    READ_LIMIT,
    Content,
    Entry,
    FileStore,
    Part,
    Reason,
    Stale,
    Stamp,
    Unreadable,
    show,
)
from carrel.files.durable import HASH_LIMIT
from carrel.files.local import LocalFiles
from carrel.files.paths import NameTaken, fold, parts
from carrel.files.tenant import TenantFiles, within

Fallthrough = Literal["absent", "empty"]

BLANK_LIMIT = 64 * 1024
"""A file with more bytes than this has text, whatever they are: nobody empties a file by filling it."""

_ATTEMPTS = 3
_WORTH_REMEMBERING = 1000
_WAY = 32
_GAP = "/"
_NOTHING: Stamp = (0, 0, 0, 0)
_UNSETTLED: Stamp = (0, 0, 0, NEVER_NS)

_Seen = TypeVar("_Seen", Content, Entry, Part)


class LayersDisagree(Unreadable):
    """One layer has a file where the other has a directory, so that neither may hide the other."""

    code = "layers_disagree"

    def __init__(self, path: str, reason: Reason, *, at: str) -> None:
        super().__init__(path, reason, detail=f"{show(at)} is a file in one layer, a directory in the other")
        self.hint = "Rename one of the two, in the upper layer or in the lower."
        self.at = at


class RemainsBelow(Refused):
    """A removal would bring the lower layer's file back instead; docs/decisions/0005 says why."""

    code = "remains_below"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} is in the lower layer too, which is read-only: removed, it would come back.",
            hint="Remove it from the lower layer first, or write what it shall say from now on.",
        )
        self.path = path


class EmptyAcrossTenants(UsageError):
    """A file that one tenant emptied would show what somebody else wrote."""

    code = "empty_across_tenants"

    def __init__(self) -> None:
        super().__init__(
            "An empty file may fall through to the lower layer only where both layers are one tenant's.",
            hint="Set overlay.fallthrough to absent.",
        )


class _Layer(Struct, frozen=True):
    """One of the two stores, and what its identities are marked with."""

    files: FileStore
    mark: str

    def marked(self, seen: _Seen) -> _Seen:
        return replace(seen, identity=self.mark + seen.identity) if self.mark else seen

    def has(self, path: str) -> bool:
        """Tell whether there is anything at a path, readable or not."""
        try:
            return self.files.read(path, limit=0) is not None
        except Unreadable as error:
            return error.reason != "not_directory"

    def is_directory(self, path: str) -> bool | None:
        """Tell whether a directory is at a path, None when nothing is."""
        try:
            return None if self.files.read(path, limit=0) is None else False
        except Unreadable as error:
            return None if error.reason == "not_directory" else error.reason == "directory"


class OverlayFiles:
    """A FileStore of two layers: what the upper has is read there, all else from the lower.

    With `fallthrough="empty"` an upper file without text is as good as absent while the lower has one; that
    is for two layers of one tenant, or of none. An upper file that cannot be read raises and never falls
    through. Links stay within their layer.
    """

    def __init__(self, upper: FileStore, lower: FileStore, *, fallthrough: Fallthrough = "absent") -> None:
        if fallthrough == "empty" and _tenant(upper) != _tenant(lower):
            raise EmptyAcrossTenants
        self._upper = _Layer(upper, _mark(upper, "upper"))
        self._lower = _Layer(lower, _mark(lower, "lower"))
        self._skips_blank = fallthrough == "empty"

    def within(self, folder: str) -> FileStore:
        """Return a folder of both layers as an overlay of its own."""
        upper, lower = within(self._upper.files, folder), within(self._lower.files, folder)
        return OverlayFiles(upper, lower, fallthrough="empty" if self._skips_blank else "absent")

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the upper's content, else the lower's, None when both are absent."""
        return self._look(path, limit)[1]

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return at most `size` bytes of the upper's file from `start` on, else of the lower's."""
        layers = (self._upper, self._lower) if self._counts(path) else (self._lower, self._upper)
        try:
            for layer in layers:
                if (part := layer.files.part(path, start, size)) is not None:
                    return layer.marked(part)
        except Unreadable as error:
            self._explain(path, error)
            raise
        return None

    def stamps(self, paths: Sequence[str]) -> list[Stamp | None]:
        """Return a stamp for each path that changes with either layer, None where neither has anything.

        For a layer that has nothing at a path, its nearest folder stands in: whatever comes to stand there,
        even what has no stamp itself, changes that. So a stamp may change although its file did not.
        """
        plan = _remembered(tuple(paths)) if len(paths) <= _WORTH_REMEMBERING else _planned(paths)
        above, below = self._upper.files.stamps(plan.asked), self._lower.files.stamps(plan.asked)
        return [
            None
            if above[chain[0]] is None and below[chain[0]] is None
            else _mixed(_nearest(above, chain), _nearest(below, chain))
            for chain in plan.chains
        ]

    def list(self, under: str = "") -> list[Entry]:
        """Return the sorted union of both layers' entries; the upper's wins where both have a name.

        A name on which they disagree is listed as special, being neither a file nor a directory.
        """
        try:
            above = {entry.path: self._upper.marked(entry) for entry in self._upper.files.list(under)}
            below = {entry.path: self._lower.marked(entry) for entry in self._lower.files.list(under)}
        except Unreadable as error:
            self._explain(under, error)
            raise
        folders = self._folders(f"{under}/-" if under else "-")
        return [self._merged(above.get(path), below.get(path), folders) for path in sorted({*above, *below})]

    def target(self, path: str) -> str:
        """Return where a file would be written: in the upper, whatever of the lower is read by its path."""
        return self._upper.files.target(path)

    def write(self, path: str, data: bytes, *, expect: str | None) -> str:
        """Replace in the upper what was seen with the digest `expect`, in whichever layer that was.

        The upper's own compare-and-swap decides: what it held when the comparison was made, it still holds.
        """
        found = None
        for _ in range(_ATTEMPTS):
            above, seen = self._look(path, HASH_LIMIT)
            found = seen and seen.digest
            if found != expect:
                break
            if found is None:
                self._refuse_twin(path)
            with suppress(Stale):
                return self._upper.files.write(path, data, expect=above and above.digest)
        raise Stale(path, expected=expect, found=found)

    def append(self, path: str, data: bytes, *, at: int | None = None) -> int:
        """Add whole lines at the end; what only the lower has is copied up in the same step."""
        seen = None
        for _ in range(_ATTEMPTS):
            if self._counts(path):
                return self._upper.files.append(path, data, at=at)
            above, seen = self._look(path, HASH_LIMIT)
            if seen is None:
                self._refuse_twin(path)
            if seen is None or seen is above:
                return self._upper.files.append(path, data, at=at)
            if at is not None and at != len(seen.data):
                break
            ending = b"\n" if seen.data and not seen.data.endswith(b"\n") else b""
            with suppress(Stale):
                whole = seen.data + ending + data
                self._upper.files.write(path, whole, expect=above and above.digest)
                return len(whole)
        found = self._look(path, HASH_LIMIT)[1]
        raise Stale(path, expected=seen and seen.digest, found=found and found.digest)

    def remove(self, path: str, *, expect: str) -> None:
        """Remove a file of the upper, unless the lower has something at the same path."""
        if not self._lower.has(path):
            return self._upper.files.remove(path, expect=expect)
        seen = self._look(path, HASH_LIMIT)[1]
        if seen is None or seen.digest != expect:
            raise Stale(path, expected=expect, found=seen and seen.digest)
        raise RemainsBelow(path)

    def _look(self, path: str, limit: int) -> tuple[Content | None, Content | None]:
        """Return what the upper has at a path, and what is seen there: that, or the lower's."""
        reach = max(limit, BLANK_LIMIT) if self._skips_blank else limit
        try:
            above = self._upper.files.read(path, limit=reach)
            if above is None or self._is_blank(above):
                below = self._lower.files.read(path, limit=limit)
                if below is not None:
                    return above, self._lower.marked(below)
        except Unreadable as error:
            self._explain(path, error)
            raise
        if above is None:
            return None, None
        if len(above.data) > limit:
            raise Unreadable(path, "too_large", detail=f"more than {limit} bytes")
        above = self._upper.marked(above)
        return above, above

    def _counts(self, path: str) -> bool:
        """Tell whether the upper has a file that is seen, without reading more of it than that takes."""
        try:
            content = self._upper.files.read(path, limit=BLANK_LIMIT if self._skips_blank else 0)
        except Unreadable as error:
            if error.reason == "too_large":
                return True
            self._explain(path, error)
            raise
        return content is not None and not self._is_blank(content)

    def _is_blank(self, content: Content) -> bool:
        """Tell whether a file of the upper gives way to one of the lower for want of text."""
        if not self._skips_blank or len(content.data) > BLANK_LIMIT:
            return False
        try:
            return not content.data.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            return False

    def _folders(self, path: str) -> tuple[Stamp, Stamp]:
        """Return what stands in for a path that a layer does not have, for each layer."""
        plan = _remembered((path,))
        above, below = self._upper.files.stamps(plan.asked), self._lower.files.stamps(plan.asked)
        chain = plan.chains[0][1:]
        return _nearest(above, chain), _nearest(below, chain)

    def _merged(self, above: Entry | None, below: Entry | None, folders: tuple[Stamp, Stamp]) -> Entry:
        """Return the one entry for a name, with the stamp that `stamps` gives for it."""
        shown = (self._winner(above, below) if below else above) if above else below
        assert shown is not None
        stamps = (_own_stamp(above) or folders[0], _own_stamp(below) or folders[1])
        return replace(shown, stamp=_mixed(*stamps))

    def _winner(self, above: Entry, below: Entry) -> Entry:
        """Return the entry of what is read under a name that both layers have."""
        if above.kind == "link":
            # A link that leads nowhere is absent to every store, and what is absent falls through.
            return above if self._upper.has(above.path) else below
        if below.kind != "link" and (above.kind == "directory") != (below.kind == "directory"):
            return replace(above, kind="special")
        return below if self._gives_way(above) and self._lower.has(below.path) else above

    def _gives_way(self, entry: Entry) -> bool:
        if not self._skips_blank or entry.kind != "file" or entry.size > BLANK_LIMIT:
            return False
        try:
            return not self._counts(entry.path)
        except Unreadable:
            return False

    def _explain(self, path: str, error: Unreadable) -> None:
        """Raise LayersDisagree where that is the reason of an error; the way to a file may be, too."""
        if error.reason not in ("directory", "not_directory") or not path:
            return
        for at in _steps(path):
            above, below = self._upper.is_directory(at), self._lower.is_directory(at)
            if above is None or below is None:
                return  # one layer ends here, and what it does not have cannot disagree
            if above != below:
                raise LayersDisagree(path, error.reason, at=at) from error

    def _refuse_twin(self, path: str) -> None:
        """Refuse a new name that differs from one in the lower only by case or Unicode form.

        The upper knows only its own names. Where the lower ends, it has no names further down either.
        """
        at = next((at for at in _steps(path) if self._lower.files.stamps([at]) == [None]), path)
        if self._upper.files.stamps([at]) != [None]:
            return
        under, _, name = at.rpartition("/")
        for entry in self._lower.files.list(under):
            existing = entry.path.rpartition("/")[2]
            if existing != name and fold(existing) == fold(name):
                raise NameTaken(path, existing)


class _Plan(Struct, frozen=True):
    """The paths whose stamps are needed, and for each path asked for where it and its folders are there."""

    asked: tuple[str, ...]
    chains: tuple[tuple[int, ...], ...]


def _planned(paths: Sequence[str]) -> _Plan:
    """Put folders after the paths, so that neighbours stay together, which stores make use of."""
    climbs = [_climb(path) for path in paths]
    asked = dict.fromkeys(climb[0] for climb in climbs)
    asked |= dict.fromkeys(folder for climb in climbs for folder in climb[1:] if folder != _GAP)
    places = {path: place for place, path in enumerate(asked)} | {_GAP: -1}
    return _Plan(tuple(asked), tuple(tuple(places[step] for step in climb) for climb in climbs))


# The same files are asked about turn after turn.
_remembered = lru_cache(maxsize=16)(_planned)


def _climb(path: str) -> list[str]:
    """Return a path and the folders above it up to the root, with a gap in the middle of a long way.

    A hostile path of thousands of names would otherwise cost thousands of stamps.
    """
    climb = [*_steps(path)[::-1], ""] if path else [""]
    return climb if len(climb) <= 2 * _WAY else [*climb[:_WAY], _GAP, *climb[-_WAY:]]


def _steps(path: str) -> list[str]:
    """Return a path and the folders above it, from the root downwards."""
    names = parts(path)
    return ["/".join(names[: end + 1]) for end in range(len(names))]


def _nearest(stamps: Sequence[Stamp | None], chain: Sequence[int]) -> Stamp:
    """Return the stamp of what is nearest to a path; it never settles where that is in the gap."""
    before = 0
    for place in chain:
        if place >= 0 and (stamp := stamps[place]) is not None:
            return stamp if before >= 0 else _UNSETTLED
        before = place
    return _NOTHING


def _own_stamp(entry: Entry | None) -> Stamp | None:
    """Return the stamp of what `stamps` has one for."""
    return entry.stamp if entry and entry.kind in ("file", "directory") else None


def _mixed(above: Stamp, below: Stamp) -> Stamp:
    """Return one stamp for two; it settles with the later change."""
    mark = hashlib.sha256(repr((above, below)).encode()).digest()
    return (int.from_bytes(mark[:8]), above[1], above[2], max(above[3], below[3]))


def _mark(store: FileStore, name: str) -> str:
    """Return what tells a layer's identities from the other's; no path begins like that.

    Local identities are inodes, the same for both layers: a file that is hard linked into both is one.
    """
    keeper = store.files if isinstance(store, TenantFiles) else store
    return "" if isinstance(keeper, LocalFiles) else f"/{name}/"


def _tenant(store: FileStore) -> str | None:
    return store.tenant if isinstance(store, TenantFiles) else None
