"""Files and folders swapped for links to the outside and back, thousands of times a second, while others use them."""

import ctypes
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.torture.canaries import CANARY, Lookout
from tests.torture.desk import Child, Desk, Say

from carrel.app import Workspace
from carrel.errors import CarrelError

_ALARM = 120
_HERE, _EXCHANGE = -100, 2
_SWAPPED = 0.3
_MOMENTS = ("open", "os.rename", "os.remove", "os.scandir", "os.listdir", "os.mkdir")
NAMES = ("swap.md", "piped.md", "swapped/secret.md", "swapped/MEMORY.md", "swapped/new.md", "swapped")
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
    "tree": lambda workspace, path: workspace.tools().call("list_files", {"path": path}),
    "tool": lambda workspace, path: workspace.tools().call("read_file", {"path": path}),
    "prompt": lambda workspace, path: workspace.assemble("s1", path).to_text(),
}


def swap(desk: Desk, chance: random.Random, count: int, say: Say) -> None:
    """Do this and that with names that are swapped all the while, and say what was seen of the outside.

    Another process swaps them as fast as it can; this one swaps them at the worst moments, before calls of its own.
    """
    signal.alarm(_ALARM)
    swapper = Swapper(desk.root)
    other = Child(lambda _: swapper.go_on())
    lookout = Lookout(desk.root.parent)
    try:
        with desk.open() as workspace:
            sys.addaudithook(lambda event, _: swapper.swap(chance) if event in _MOMENTS else None)
            for _ in range(count):
                name, path = chance.choice(sorted(DEEDS)), chance.choice(NAMES)
                for fault in (*_raced(workspace, name, path), *lookout.seen()):
                    say(f"bad race {name} {path}: {fault}")
                say("tried")
    finally:
        other.kill()
        lookout.close()
    say("done")


def _raced(workspace: Workspace, name: str, path: str) -> list[str]:
    began = time.process_time()
    try:
        said = str(DEEDS[name](workspace, path))
    except CarrelError as error:
        said = error.message
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return [f"{type(error).__name__} {str(error)[:200]!r}"]
    hung = [f"it took {took:.1f} s"] if (took := time.process_time() - began) > 1 else []
    return [*hung, "what lies outside was told"] if CANARY in said else hung


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
