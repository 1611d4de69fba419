"""What a walk over all files has told, kept while every file and folder of it stays as it is."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from carrel.files import FileStore, Stamp, is_settled
from carrel.index.source import Place


class Walked(Struct):
    """The places of the last walk that told nothing new, and all that it depends on.

    Names that come and go change the stamp of their folder, and what a file says changes its own: a walk
    over the same stamps would tell the same. It is kept only if all of them were settled when it began, so
    that nothing can have changed unseen meanwhile.
    """

    rules: str = ""
    paths: list[str] = []
    stamps: list[Stamp | None] = []
    known: dict[str, str] = {}
    places: tuple[Place, ...] = ()
    linked: frozenset[str] = frozenset()
    """Where links led in the last walk, whatever it told: what stands there has other names, too."""

    def again(self, files: FileStore, rules: str, known: Mapping[str, str]) -> tuple[Place, ...] | None:
        """Return what a walk would tell one who has these stamps, if that is kept; costs a stat for each."""
        if not self.paths or rules != self.rules or not self.known.items() <= known.items():
            return None
        return self.places if files.stamps(self.paths) == self.stamps else None

    def keep(
        self, files: FileStore, rules: str, folders: Sequence[str], places: Sequence[Place], began_ns: int
    ) -> None:
        """Keep what a walk through these folders told, if that is what its listener knew before."""
        self.paths = []
        if not all(is_known(place) for place in places):
            return
        # Neighbours stand side by side, since a folder is then opened once.
        paths = sorted((*folders, *(place.path for place in places)), key=lambda path: path.rpartition("/"))
        stamps = files.stamps(paths)
        if all(is_settled(stamp, began_ns) for stamp in stamps):
            self.rules, self.paths, self.stamps = rules, paths, stamps
            self.known, self.places = {place.path: place.stamp for place in places}, tuple(places)


def as_known(path: str, stamp: str) -> Place:
    """Return a place that is as its listener knows it, of which nothing else need be told."""
    return Place(path=path, tier="", stamp=stamp)


def is_known(place: Place) -> bool:
    """Tell whether a place is as its listener knows it."""
    return not place.tier
