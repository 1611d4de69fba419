"""Which logs of sessions there are and how each is recognised, at the price of a stat for each."""

from collections.abc import Iterable, Sequence
from time import time_ns

from msgspec import Struct

from carrel.files import FileStore, Stamp, is_settled
from carrel.index.source import Place
from carrel.sessions.places import SessionPlaces


class Logs(Struct):
    """The names of logs, kept while their folder stays as it is, and the places of those that rest.

    Names that come and go change the stamp of their folder: while it is the one that was settled when they
    were listed, they are the same. A place is kept by whose it is, with the settled stamp of its log.
    """

    listed: dict[str, tuple[Stamp, tuple[str, ...]]] = {}
    resting: dict[str, dict[str, tuple[Stamp, Place]]] = {}

    def stamps(self, files: FileStore, places: SessionPlaces) -> Sequence[tuple[str, Stamp | None]]:
        """Return the paths of all logs of an agent, each with its stamp as it is now."""
        began_ns = time_ns()
        before, names = self.listed.pop(places.log_pattern, (None, ()))
        folder, *found = files.stamps((places.folder, *names))
        if folder is not None and folder == before:
            logs = list(zip(names, found, strict=True))
        else:
            entries = files.list(places.folder)
            logs = [(entry.path, entry.stamp) for entry in entries if places.session_of(entry.path)]
        if folder is not None and is_settled(folder, began_ns):
            self.listed[places.log_pattern] = (folder, tuple(path for path, _ in logs))
        return logs


def stamps_of(
    files: FileStore, places: SessionPlaces, only: Iterable[str]
) -> Sequence[tuple[str, Stamp | None]]:
    """Return those of some paths that are logs of an agent, each with its stamp, none where it is gone."""
    logs = [path for path in sorted(only) if places.session_of(path)]
    return list(zip(logs, files.stamps(logs), strict=True)) if logs else ()
