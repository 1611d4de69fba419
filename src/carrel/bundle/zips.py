"""A bundle as a ZIP: the same workspace always gives the same bytes, and a stranger's is read with care."""

import os
import stat
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from carrel.bundle import manifest as manifests
from carrel.bundle.checking import CHUNK, checked
from carrel.bundle.errors import BundleDamaged, BundleTooLarge, NotABundle, UnsafeBundle
from carrel.bundle.manifest import MANIFEST, Item, Manifest
from carrel.bundle.names import crowded
from carrel.bundle.source import Source
from carrel.files.paths import fold

MANIFEST_LIMIT = 1 << 28
DIRECTORY_LIMIT = 1 << 28
"""Bytes of the list of entries, which is read as a whole."""

BEGINNING = b"PK\x03\x04"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = stat.S_IFREG | 0o644
_RATIO = 1_032
"""How much smaller deflating can make anything; a size beyond that is a lie."""

_END, _TAIL = b"PK\x05\x06", 22 + (1 << 16)
_END_64, _LOCATOR_64 = b"PK\x06\x06", b"PK\x06\x07"
_ENCRYPTED = 1
_BROKEN = (BadZipFile, LargeZipFile, zlib.error, EOFError, OSError, struct.error, ValueError, RuntimeError)


def write_zip(source: Source, stream: IO[bytes]) -> None:
    """Write a bundle as a ZIP: the manifest, then all else in its order, with no time and no owner."""
    with ZipFile(stream, "w", ZIP_DEFLATED) as target:
        data = manifests.encode(source.manifest)
        with target.open(_info(MANIFEST, len(data)), "w") as entry:
            entry.write(data)
        for item in source.manifest.items:
            with target.open(_info(item.entry, item.size), "w") as entry:
                for chunk in source.chunks(item):
                    entry.write(chunk)


def _info(name: str, size: int) -> ZipInfo:
    info = ZipInfo(name, _EPOCH)
    info.create_system = 3  # Unix, wherever it is written
    info.external_attr = _MODE << 16
    info.compress_type = ZIP_DEFLATED
    info.file_size = size
    return info


class ZippedBundle:
    """A ZIP that is open to be read."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream = stream
        self._size = os.fstat(stream.fileno()).st_size
        _refuse_long_directory(stream, self._size)
        with _typed(name):
            self._zip = ZipFile(stream)
        self._infos = self._looked_over()
        if MANIFEST not in self._infos:
            raise NotABundle(name, f"it has no {MANIFEST}")
        self.manifest: Manifest = manifests.decode(self._read_manifest(), name)
        self._compare()

    def chunks(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of an item."""
        return checked(self._unpacked(self._infos[item.entry]), item)

    def close(self) -> None:
        """Let go of the file."""
        self._zip.close()
        self._stream.close()

    def _looked_over(self) -> dict[str, ZipInfo]:
        """Return the entries by name, if each is a plain file and none takes another's place or bytes."""
        infos = self._zip.infolist()
        if twice := crowded((info.filename for info in infos), fold):
            raise UnsafeBundle(twice, "comes twice, or differs from another name only by case")
        for info in infos:
            mode = info.external_attr >> 16
            if info.is_dir() or (stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
                raise UnsafeBundle(info.filename, "is a link, a folder or a device")
            if info.flag_bits & _ENCRYPTED or info.compress_type not in (ZIP_DEFLATED, ZIP_STORED):
                raise UnsafeBundle(info.filename, "is encrypted, or packed in an unknown way")
            if info.file_size > _RATIO * info.compress_size:
                raise UnsafeBundle(info.filename, "cannot be as large as it says")
        if sum(info.compress_size for info in infos) > self._size:
            raise UnsafeBundle(MANIFEST, "has entries that share their bytes")
        return {info.filename: info for info in infos}

    def _read_manifest(self) -> bytes:
        info = self._infos[MANIFEST]
        if info.file_size > MANIFEST_LIMIT:
            raise BundleTooLarge(info.file_size, MANIFEST_LIMIT, "the most that a manifest may have")
        data = bytearray()
        for chunk in self._unpacked(info):
            data += chunk
            if len(data) > MANIFEST_LIMIT:
                raise BundleTooLarge(len(data), MANIFEST_LIMIT, "the most that a manifest may have")
        return bytes(data)

    def _compare(self) -> None:
        """Make sure that the manifest and the ZIP speak of the same."""
        told = {item.entry: item for item in self.manifest.items}
        if stray := next((name for name in self._infos if name not in told and name != MANIFEST), None):
            raise UnsafeBundle(stray, "is not in the manifest")
        for name, item in told.items():
            if name not in self._infos:
                raise BundleDamaged(name, "is missing")
            if self._infos[name].file_size != item.size:
                raise BundleDamaged(name, "has another size than the manifest says")

    def _unpacked(self, info: ZipInfo) -> Iterator[bytes]:
        with _typed(info.filename), self._zip.open(info) as entry:
            while chunk := entry.read(CHUNK):
                yield chunk


def _refuse_long_directory(stream: IO[bytes], size: int) -> None:
    """Refuse a list of entries that would fill the memory; where there is none at all, the rest finds out."""
    start = max(0, size - _TAIL)
    tail = os.pread(stream.fileno(), _TAIL, start)
    end = tail.rfind(_END)
    if end < 0 or len(tail) < end + 22:
        raise BundleDamaged("its end", "is missing")
    length: int = struct.unpack_from("<L", tail, end + 12)[0]
    if tail[end - 20 : end - 16] == _LOCATOR_64:
        offset: int = struct.unpack_from("<Q", tail, end - 12)[0]
        record = os.pread(stream.fileno(), 56, min(offset, size))
        if record[:4] == _END_64 and len(record) == 56:  # noqa: PLR2004 - as the format has it
            length = struct.unpack_from("<Q", record, 40)[0]
    if length > min(DIRECTORY_LIMIT, size):
        raise BundleTooLarge(length, min(DIRECTORY_LIMIT, size), "the most that its list of entries may have")


@contextmanager
def _typed(what: str) -> Generator[None]:
    """Turn whatever goes wrong with a ZIP into what it means: some of it is damaged."""
    try:
        yield
    except _BROKEN as error:
        raise BundleDamaged(what, f"cannot be read ({error})") from error
