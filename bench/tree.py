"""Figures of the explorer: `python bench/tree.py [--json FILE] [--files N]`.

Everything is compared within one run, as ratios: the machine's own speed drops out.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from carrel import Workspace
from carrel.runtime import explorer
from carrel.runtime.preview import preview
from carrel.runtime.view import View
from figures import figure, options, show

FILES = 100_000
FOLDERS = {"1,000 folders": 1_000, "1 folder": 1}
TEXT = b"# Page\n\nSome text that a person wrote.\n"
ROUNDS = 5


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--files", type=int, default=FILES, help="how many files")
    chosen = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CARREL_HOME"] = str(Path(folder) / "home")
        for name, folders in FOLDERS.items():
            root = make_workspace(Path(folder) / name.replace(" ", "-"), chosen.files, folders)
            with Workspace.open(root) as workspace:
                view, guest = workspace.view(), workspace.view("shared")
                figures += first_screen(name, root, workspace, view)
                figures += full_walk(name, root, workspace, view)
                figures += shared_walk(name, root, workspace, guest)
            figures += command(name, root)
        figures += huge(Path(folder))
    show(figures, chosen.json)


def make_workspace(root: Path, files: int, folders: int) -> Path:
    """So many pages, evenly in so many folders, beside a few documents."""
    root.mkdir()
    (root / "carrel.yaml").write_text("layout: carrel\n")
    for name in ("SOUL.md", "AGENTS.md", "USER.md"):
        (root / name).write_bytes(TEXT)
    for number in range(folders):
        folder = root / f"pages-{number:04}"
        folder.mkdir()
        above = os.open(folder, os.O_RDONLY)
        for page in range(files // folders):
            fd = os.open(f"page-{page:05}.md", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=above)
            os.write(fd, TEXT)
            os.close(fd)
        os.close(above)
    return root


def compared(ours: Callable[[], object], theirs: Callable[[], object], rounds: int = ROUNDS) -> tuple:
    """The median times of two pieces of work done in turn, in ms; short ones are repeated."""
    ours()
    begin = time.perf_counter()
    theirs()
    times = max(1, int(0.02 / (time.perf_counter() - begin)))
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, list_ in zip((ours, theirs), taken, strict=True):
            begin = time.perf_counter()
            for _ in range(times):
                work()
            list_.append((time.perf_counter() - begin) / times)
    mine, other = (statistics.median(list_) * 1000 for list_ in taken)
    return mine, other


def consume(nodes: Iterable[explorer.Node]) -> None:
    deque(nodes, maxlen=0)


def scan(folder: Path) -> None:
    """The least an explorer must do for one folder: its names, and a stat of each."""
    with os.scandir(folder) as items:
        for item in items:
            item.stat(follow_symlinks=False)


def os_walk(root: Path) -> None:
    """The least for all of it."""
    for folder, _, names in os.walk(root):
        for name in names:
            os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 - the least


def first_screen(name: str, root: Path, workspace: Workspace, view: View) -> list[dict]:
    folder = "pages-0000"
    screen, bare = compared(
        lambda: consume(explorer.tree(workspace.files, folder, view=view)), lambda: scan(root / folder)
    )
    first, _ = compared(
        lambda: next(explorer.walk(workspace.files, folder, view=view)), lambda: scan(root / folder)
    )
    return [
        figure(f"{name}: scandir + stat of one folder", bare, "ms"),
        figure(f"{name}: its nodes", screen, "ms"),
        figure("  over scandir + stat", screen / bare, "x", 10),
        figure("  its first node over scandir + stat", first / bare, "x"),
    ]


def full_walk(name: str, root: Path, workspace: Workspace, view: View) -> list[dict]:
    counted = explorer.total(explorer.walk(workspace.files, view=view))
    assert counted.files > 10, "the files are there"
    walked, bare = compared(
        lambda: explorer.total(explorer.walk(workspace.files, view=view)), lambda: os_walk(root)
    )
    return [
        figure(f"{name}: os.walk + os.stat of {counted.files:,} files", bare, "ms"),
        figure(f"{name}: full walk with totals", walked, "ms"),
        figure("  over os.walk + os.stat", walked / bare, "x", 3),
    ]


def shared_walk(name: str, root: Path, workspace: Workspace, view: View) -> list[dict]:
    """In shared scope every file is asked whether it calls itself private, so every one is opened."""

    def read_all() -> None:
        for folder, _, names in os.walk(root):
            for page in names:
                with open(os.path.join(folder, page), "rb") as file:  # noqa: PTH118, PTH123 - the least
                    file.read()

    walked, bare = compared(lambda: consume(explorer.walk(workspace.files, view=view)), read_all, rounds=3)
    return [figure(f"{name}: full walk in shared scope over os.walk + read", walked / bare, "x")]


def command(name: str, root: Path) -> list[dict]:
    """`carrel files tree --json` as a process: the wait for the first line, and for the last."""
    words = [sys.executable, "-m", "carrel", "-C", str(root), "files", "tree", "--json"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    begin = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - begin
        last = deque(process.stdout, maxlen=1)[0]
    whole = time.perf_counter() - begin
    assert b"totals" in last
    return [
        figure(f"{name}: files tree --json, first line", first * 1000, "ms"),
        figure(f"{name}: files tree --json, last line", whole * 1000, "ms"),
    ]


def huge(folder: Path) -> list[dict]:
    """A preview costs its first bytes, whatever the size."""
    root = folder / "huge"
    root.mkdir()
    for name, size in (("small.log", 70_000), ("huge.log", 1 << 40)):
        with (root / name).open("wb") as file:
            file.write(b"line\n" * 13_000)
            file.truncate(size)
    with Workspace.open(root) as workspace:
        large, small = compared(
            lambda: preview(workspace.files, "huge.log"),
            lambda: preview(workspace.files, "small.log"),
        )
    return [figure("preview of 1 TiB over one of 70 kB", large / small, "x")]


if __name__ == "__main__":
    main()
