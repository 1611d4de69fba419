"""The index: the entry of one path is replaced, and whatever else is staged stays staged."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from carrel.files import READ_LIMIT, Stamp
from carrel.files.git import damaged, refused, waiting
from carrel.files.git.folder import Folder
from carrel.files.git.objects import ELSEWHERE, Item
from carrel.files.git.repository import INDEX_DRAFT
from carrel.files.resolve import combined

if TYPE_CHECKING:
    from pygit2 import Index

_NAME = "index"
_LIMIT = 16 * READ_LIMIT


@contextmanager
def staging(folder: Folder) -> Generator["Staging"]:
    """Make a copy of a repository's index, or an empty one where it has none yet, for one edit."""
    from pygit2 import GitError, Index  # noqa: PLC0415 - loads slowly, and most commands commit nothing

    found = folder.look(_NAME)
    data = folder.read(_NAME, _LIMIT)
    folder.discard(INDEX_DRAFT)
    index = Index(folder.path / INDEX_DRAFT)
    try:
        if data is not None:
            folder.draft(INDEX_DRAFT, data)
            try:
                index.read(force=True)
            except GitError as error:
                raise damaged(f"the index cannot be read ({error})") from error
        if index.conflicts is not None:
            hint = "They are committed once the conflicts are resolved."
            raise waiting("there are conflicts that are not resolved", hint)
        yield Staging(folder, index, combined(found) if found else None)
    finally:
        folder.discard(INDEX_DRAFT)


class Staging(Struct, frozen=True):
    """A copy of the index that is being edited, and the stamp of the one that it is of."""

    folder: Folder
    index: "Index"
    stamp: Stamp | None

    def find(self, path: str) -> Item | None:
        """Return what is staged at a path."""
        return _item(self.index, path)

    def put(self, path: str, item: Item | None) -> bool:
        """Stage an item at a path, or none; false where somebody changed the index meanwhile."""
        from pygit2 import GitError, IndexEntry, Oid  # noqa: PLC0415 - as above
        from pygit2.enums import FileMode  # noqa: PLC0415 - as above

        if self.find(path) == item:
            return True
        _refuse_elsewhere(self.index, path)
        try:
            if item is None:
                self.index.remove(path)
            else:
                self.index.add(IndexEntry(path, Oid(hex=item.id), FileMode(int(item.mode, 8))))
            self.index.write()
        except (GitError, ValueError) as error:
            raise damaged(f"the index cannot be written ({error})") from error
        return self.folder.publish(INDEX_DRAFT, self.folder, _NAME, self._is_same)

    def _is_same(self) -> bool:
        found = self.folder.look(_NAME)
        return (combined(found) if found else None) == self.stamp


def _item(index: "Index", path: str) -> Item | None:
    if path not in index:
        return None
    entry = index[path]
    return Item(b"%o" % entry.mode, os.fsencode(path).rpartition(b"/")[2], str(entry.id))


def _refuse_elsewhere(index: "Index", path: str) -> None:
    """Refuse a path that leads through what git keeps as a link, or as a repository of its own."""
    above = path.rpartition("/")[0]
    while above:
        item = _item(index, above)
        if item and item.mode in ELSEWHERE:
            raise refused(f"git keeps {above} as a link, or as a repository of its own")
        above = above.rpartition("/")[0]
