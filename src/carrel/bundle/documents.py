"""A bundle as one JSON document: the manifest, each file with text or base64, each table with its rows."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from typing import IO, Any

from msgspec import to_builtins

from carrel import plainjson
from carrel.bundle import manifest as manifests
from carrel.bundle.checking import checked
from carrel.bundle.errors import BundleDamaged, BundleTooLarge, NotABundle
from carrel.bundle.lines import to_line, to_row
from carrel.bundle.manifest import Held, Item, Manifest, Table
from carrel.bundle.source import Source

DOCUMENT_LIMIT = 1 << 28
"""Bytes; what is larger belongs into a ZIP, which is read piece by piece."""

_LISTS = ("files", "tables")


def write_json(source: Source, stream: IO[bytes]) -> None:
    """Write a bundle as JSON, a line for each file and table."""
    told = to_builtins(source.manifest)
    head = {name: value for name, value in told.items() if name not in _LISTS}
    stream.write(plainjson.dumps(head)[:-1])
    for name, items in (("files", source.manifest.files), ("tables", source.manifest.tables)):
        stream.write(f',\n"{name}":['.encode())
        for number, item in enumerate(items):
            stream.write(b",\n" if number else b"\n")
            stream.write(_one(item, b"".join(source.chunks(item))))
        stream.write(b"]")
    stream.write(b"}\n")


def _one(item: Item, data: bytes) -> bytes:
    told = plainjson.dumps(to_builtins(item))[:-1]
    if isinstance(item, Table):
        lines = b",\n".join(data.splitlines())
        return told + b',"lines":[' + lines + b"]}"
    try:
        return told + b',"text":' + plainjson.dumps(data.decode()) + b"}"
    except UnicodeDecodeError:
        return told + b',"base64":"' + b64encode(data) + b'"}'


class JsonBundle:
    """A document that was read as a whole."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        data = stream.read(DOCUMENT_LIMIT + 1)
        if len(data) > DOCUMENT_LIMIT:
            raise BundleTooLarge(len(data), DOCUMENT_LIMIT, "the most that is read of a JSON document")
        stream.close()
        told = _loaded(data, name)
        self.manifest: Manifest = manifests.understand(told, name)
        items = zip(self.manifest.items, [*told["files"], *told["tables"]], strict=True)
        self._data = {item.entry: _bytes_of(item, each) for item, each in items}

    def chunks(self, item: Item) -> Iterator[bytes]:
        """Yield the bytes of an item."""
        return checked([self._data[item.entry]], item)

    def close(self) -> None:
        """Let go of what was read."""
        self._data = {}


def _loaded(data: bytes, name: str) -> Any:
    try:
        return plainjson.loads(data)
    except ValueError:
        if f'"{manifests.KIND}"'.encode() in data[:1000]:
            raise BundleDamaged(name, "is not JSON to its end") from None
        raise NotABundle(name, "it is not JSON") from None


def _bytes_of(item: Item, told: Mapping[str, Any]) -> bytes:
    try:
        if isinstance(item, Held):
            return told["text"].encode() if "text" in told else b64decode(told["base64"], validate=True)
        return b"".join(to_line(to_row(each, item)) for each in told["lines"])
    except (LookupError, ValueError, TypeError, AttributeError):
        raise BundleDamaged(item.entry, "has no content that makes sense") from None
