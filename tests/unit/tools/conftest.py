"""Tools over files without a disk, and over a real one where links matter."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from carrel.files import Content, Entry, FileStore
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.tools.access import Access
from carrel.tools.files import file_tools
from carrel.tools.registry import Registry
from carrel.workspace.scope import HiddenByScope


class Reach:
    """The files of a store, all of them but what is named as hidden."""

    def __init__(self, files: FileStore, hidden: frozenset[str] = frozenset()) -> None:
        self.files = files
        self.hidden = hidden

    def read(self, path: str) -> Content | None:
        if path in self.hidden:
            raise HiddenByScope(path)
        return self.files.read(path)

    def list(self, under: str) -> Sequence[Entry]:
        return [entry for entry in self.files.list(under) if entry.path not in self.hidden]

    def target(self, path: str) -> str:
        return self.files.target(path)

    def put(self, path: str, data: bytes, *, expect: str | None) -> str:
        if path in self.hidden:
            raise HiddenByScope(path)
        return self.files.write(path, data, expect=expect)


class Desk:
    """Files and the tools over them."""

    def __init__(self, files: Mapping[str, str | bytes] | FileStore, hidden: frozenset[str] = frozenset()):
        self.files = EphemeralFiles(files) if isinstance(files, Mapping) else files
        self.access = Access(reach=Reach(self.files, hidden))
        self.tools = Registry(file_tools(self.access))

    def call(self, name: str, **arguments: object):
        return self.tools.call(name, arguments)

    def text(self, path: str) -> str:
        content = self.files.read(path)
        assert content is not None
        return content.data.decode()


@pytest.fixture
def desk():
    return Desk


@pytest.fixture
def disk(tmp_path: Path):
    """Make a desk over a real directory, in which there can be links."""

    def make(files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None) -> Desk:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        for name, target in (links or {}).items():
            (tmp_path / name).symlink_to(target)
        return Desk(LocalFiles(tmp_path))

    return make
