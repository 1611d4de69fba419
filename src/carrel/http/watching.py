"""Which folders of a workspace are watched for changes: those that are somebody's, each by itself.

Who watches a folder with all below it follows links out of the workspace, and looks into what Carrel and git
keep there: each folder of the trash would cost memory for as long as the process lives.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change

from carrel.files.paths import TEMPORARY, is_own


class Watched:
    """The folders of some workspaces, and the workspaces themselves, be they there or not."""

    def __init__(self, *roots: Path) -> None:
        self._roots = roots
        self._has_begun = False
        self.folders = _found(roots)

    def are_others(self, changed: Iterable[tuple[Change, str]]) -> bool:
        """Tell, after each report of who watches the folders, whether there are others by now.

        With the first one they are looked for: of those that came before it, nobody was told.
        """
        has_begun, self._has_begun = self._has_begun, True
        if not has_begun and self.folders != _found(self._roots):
            return True
        return any(self._is_other(*each) for each in changed)

    def is_theirs(self, _: Change, path: str) -> bool:
        """Tell whether a file is somebody's, and not one that Carrel or git keeps for itself."""
        place = Path(path)
        inside = [place.relative_to(root).as_posix() for root in self._roots if place.is_relative_to(root)]
        return not place.name.startswith(TEMPORARY) and not any(map(is_own, inside))

    def _is_other(self, change: Change, path: str) -> bool:
        """Tell whether a folder is gone, is another one of its name, or may have become readable."""
        if change is Change.deleted:
            return path in self.folders
        return (change is Change.added or path not in self.folders) and _is_folder(path)


def _found(roots: Iterable[Path]) -> set[str]:
    waiting = [str(root) for root in roots]
    found = set(waiting)
    while waiting:
        folder = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            waiting += (entry.path for entry in entries if _is_watched(entry))
            found.add(folder)
    return found


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - asked for each change


def _is_watched(entry: "os.DirEntry[str]") -> bool:
    """Tell whether this is a folder of somebody's, with a name that who watches can be given."""
    is_unicode = entry.name == entry.name.encode("utf-8", "ignore").decode()
    return is_unicode and not is_own(entry.name) and entry.is_dir(follow_symlinks=False)
