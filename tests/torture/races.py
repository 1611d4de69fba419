"""Files and folders swapped for links to the outside and back, thousands of times a second, while others use them."""

import ctypes
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.torture.canaries import Lookout, is_told
from tests.torture.desk import Child, Desk, Say
from tests.torture.waiting import HANG_SECONDS, Hung, at_most, stopwatch

from carrel.app import Workspace
from carrel.errors import CarrelError

_ALARM = 20
_HERE, _EXCHANGE = -100, 2
_SWAPPED = 0.3
_MOMENTS = ("open", "os.rename", "os.remove", "os.scandir", "os.listdir", "os.mkdir")
NAMES = ("swap.md", "piped.md", "swapped/secret.md", "swapped/MEMORY.md", "swapped/new.md", "swapped")
_FOLDERS = ("list", "tree")
Deed = Callable[[Workspace, str], object]


def _remove(workspace: Workspace, path: str) -> object:
    content = workspace.files.read(path)
    return content and workspace.files.remove(path, expect=content.digest)


def _replace(workspace: Workspace, path: str) -> object:
    content = workspace.files.read(path)
    return workspace.write(path, "Mine.\n", expect=content.digest if content else None)


DEEDS: dict[str, Deed] = {
    "read": lambda workspace, path: workspace.read(path),
    "part": lambda workspace, path: workspace.files.part(path, 0, 1_000),
    "list": lambda workspace, path: workspace.list(path),
    "stamps": lambda workspace, path: workspace.files.stamps([path]),
    "write": _replace,
    "append": lambda workspace, path: workspace.append(path, "More.\n"),
    "remove": _remove,
    "tree": lambda workspace, path: workspace.tools().call("list_files", {"under": path}),
    "tool": lambda workspace, path: workspace.tools().call("read_file", {"path": path}),
    "prompt": lambda workspace, path: workspace.assemble("s1", path).to_text(),
}


def swap(desk: Desk, chance: random.Random, count: int, say: Say) -> None:
    """Do this and that with names that are swapped all the while, and say what was seen of the outside.

    Another process swaps them as fast as it can; this one swaps them at the worst moments, before calls of its own.
    """
    swapper, longest = Swapper(desk.root), 0.0
    _see_that_each_works(desk, say)
    other = Child(lambda _: swapper.go_on())
    lookout = Lookout(desk.root.parent)
    try:
        with desk.open() as workspace:
            sys.addaudithook(lambda event, _: swapper.swap(chance) if event in _MOMENTS else None)
            for _ in range(count):
                name, path = chance.choice(sorted(DEEDS)), chance.choice(NAMES)
                found, took = _raced(workspace, name, path)
                for fault in (*found, *lookout.seen()):
                    say(f"bad race {name} {path}: {fault}")
                longest = max(longest, took)
                say("tried")
    finally:
        other.kill()
        lookout.close()
    say(f"longest {longest:.2f}")
    say("done")


def _see_that_each_works(desk: Desk, say: Say) -> None:
    """Do everything once with what nobody swaps: what is always refused would try nothing."""
    with desk.open() as workspace:
        for name, do in DEEDS.items():
            (desk.root / "plain").mkdir(exist_ok=True)
            (desk.root / "plain/file.md").write_text("Inside.\n")
            try:
                do(workspace, "plain" if name in _FOLDERS else "plain/file.md")
            except CarrelError as error:
                say(f"bad race {name}: a harmless path is refused: {error.message}")
            else:
                say(f"deed {name}")


def _raced(workspace: Workspace, name: str, path: str) -> tuple[list[str], float]:
    """Do something with a name, and return what is wrong with the answer and how long it took."""
    said, found, taken = "", list[str](), stopwatch()
    try:
        with at_most(_ALARM):
            said = str(DEEDS[name](workspace, path))
    except CarrelError as error:
        said = f"{error.message} {error.hint}"
    except Hung:
        found.append("it hung")
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        found.append(f"{type(error).__name__} {str(error)[:200]!r}")
    if (took := taken()) > HANG_SECONDS:
        found.append(f"it took {took:.1f} s")
    if is_told(said):
        found.append("what lies outside was told")
    return found, took


class Swapper:
    """Lets each of some names be now a file or a folder inside, now a link to the outside or a pipe."""

    def __init__(self, root: Path) -> None:
        self._aside = root / ".aside"
        self._root, self._outside = root, root.parent / "outside"
        self._rename = ctypes.CDLL(None).renameat2
        self._makers: dict[str, Callable[[Path], object]] = {
            "swap.md": lambda path: path.symlink_to(self._outside / "secret.md"),
            "piped.md": os.mkfifo,
            "swapped": lambda path: path.symlink_to(self._outside),
        }
        self._aside.mkdir()
        for name, make in self._makers.items():
            if name == "swapped":
                (root / name).mkdir()
                for file in ("secret.md", "MEMORY.md"):
                    (root / name / file).write_text("Inside.\n")
            else:
                (root / name).write_text("Inside.\n")
            make(self._aside / name)

    def swap(self, chance: random.Random) -> None:
        """Swap one of the names, if chance will have it; each time for good, and all at once."""
        if chance.random() < _SWAPPED:
            self._exchange(chance.choice(sorted(self._makers)))

    def go_on(self) -> None:
        """Swap them until somebody ends it; where a link was written over, make another."""
        while True:
            for name, make in self._makers.items():
                self._exchange(name)
                with suppress(OSError):
                    aside = self._aside / name
                    if aside.is_file() and not aside.is_symlink() and not (self._root / name).is_symlink():
                        aside.unlink()
                        make(aside)

    def _exchange(self, name: str) -> None:
        place, aside = os.fsencode(self._root / name), os.fsencode(self._aside / name)
        self._rename(_HERE, place, _HERE, aside, _EXCHANGE)
