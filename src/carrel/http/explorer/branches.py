"""The tree beside a file: one folder at a time and a window of each, so that many cost no more than few."""

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.files.paths import is_own
from carrel.runtime.explorer import Node, beside, tree
from carrel.runtime.view import View

PAGE = 200
"""Names of one folder that are shown at a time."""

AROUND = 24
"""Names of a folder above that are shown on either side of the one that leads on."""


class Level(Struct, frozen=True, kw_only=True):
    """Some names of one folder from the number `start` on, and the folder among them that is open.

    `start` is none where names are before these and nobody counted them: to know which of them others may
    know of, every one would have to be opened. What follows is then found by the last name instead.
    """

    path: str
    nodes: tuple[Node, ...] = ()
    start: int | None = 0
    has_more: bool = False
    is_numbered: bool = True
    opened: "Level | None" = None

    @property
    def stop(self) -> int:
        """The number of the first name after these."""
        return (self.start or 0) + len(self.nodes)

    @property
    def onward(self) -> dict[str, object]:
        """What an address says that shows the names after these."""
        if self.is_numbered:
            return {"start": self.stop}
        return {"after": self.nodes[-1].path.rpartition("/")[2]} if self.nodes else {}

    def first(self, count: int) -> "Level":
        """Return no more than so many of these."""
        is_cut = len(self.nodes) > count
        return replace(self, nodes=self.nodes[:count], has_more=True) if is_cut else self


def level(  # noqa: PLR0917 - each is a parameter of the address
    files: FileStore, path: str, view: View, start: int = 0, stop: int = PAGE, after: str = ""
) -> Level:
    """Return the names of a folder between two numbers, or of those after one; one more is looked at."""
    nodes = tuple(islice(tree(files, path, view=view, after=after), start, max(start, stop) + 1))
    size = max(stop - start, 0)
    return Level(
        path=path,
        nodes=nodes[:size],
        start=None if after else start,
        has_more=len(nodes) > size,
        is_numbered=not (after or view.hides),
    )


def way_to(files: FileStore, path: str, view: View, folder: Level | None) -> tuple[Level, Node | None]:
    """Return the tree that is open down to a path, and what is there; `folder` is its own content.

    Where the way ends before the path does, the tree ends with it.
    """
    opened, found = folder, None
    for window, node in reversed(list(_steps(files, path, view))):
        is_open = node is not None and node.kind == "directory" and not is_own(node.path)
        opened = replace(window, opened=opened if is_open else None)
        found = node if node is not None and node.path == path else found
    return opened or Level(path=""), found


def _steps(files: FileStore, path: str, view: View) -> Iterator[tuple[Level, Node | None]]:
    """Yield each folder along a way, and what leads on in it, until nothing does."""
    above = ""
    for name in path.split("/") if path else ():
        child = f"{above}/{name}" if above else name
        try:
            window, node = _around(files, above, view, child)
        except CarrelError:
            return  # there is no such folder, or none to look into: the one above it says so
        yield window, node
        if node is None:
            return
        above = child


def _around(files: FileStore, path: str, view: View, child: str) -> tuple[Level, Node | None]:
    """Return the names of a folder beside one of them; from the first on where that one is not there.

    As many are on either side; where one side has few, the other has more.
    """
    found = beside(files, child, view=view)
    after = [*islice(found.after, 2 * AROUND + 1)]
    if found.node is None:
        window = Level(path=path, nodes=tuple(after[: 2 * AROUND]), has_more=len(after) > 2 * AROUND)
        return replace(window, is_numbered=not view.hides), None
    room = max(AROUND, 2 * AROUND - len(after))
    before = [*islice(found.before, room + 1)]
    nearest, shown = before[:room][::-1], after[: max(AROUND, 2 * AROUND - len(before))]
    number = found.number
    window = Level(
        path=path,
        nodes=(*nearest, found.node, *shown),
        start=0 if len(before) <= room else None if number is None else number - room,
        has_more=len(after) > len(shown),
        is_numbered=not view.hides,
    )
    return window, found.node
