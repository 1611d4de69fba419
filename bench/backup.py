"""Figures of backups: `python bench/backup.py [--json FILE] [--files N]`.

Beside each stands `cp -r` with an fsync of every file, on the same disk in the same run: who copies less
surely, or looks at nothing again, is no measure.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from carrel import Workspace
from carrel.backing import check, create, restore
from figures import Figure, figure, options, run, timed

FILES = 10_000
FOLDERS = 100
TEXT = b"# Page\n\nSome text that a person wrote, and that an agent reads from time to time.\n" * 20
RESTED = 2.5
"""Seconds after which nobody has to read a file twice to know that it rests."""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--files", type=int, default=FILES, help="how many files")
    chosen = parser.parse_args()
    run([lambda folder: measure(folder, chosen.files)], chosen.json)


def measure(folder: Path, files: int) -> list[Figure]:
    root = make_workspace(folder / "desk", files)
    time.sleep(RESTED)
    copy = timed(copied, root, folder / "copy")
    made = timed(lambda: create(root, folder / "one.zip", environ=os.environ))
    read = timed(lambda: check(folder / "one.zip"))
    back = timed(lambda: restore(folder / "one.zip", folder / "back", environ=os.environ))
    size = (folder / "one.zip").stat().st_size
    return [
        figure(f"{files:,} files: cp -r, and fsync of each", copy, "s"),
        figure("backup create: copied, packed, written, read again", made, "s"),
        figure("  beside cp", made / copy, "times"),
        figure("backup verify", read, "s"),
        figure("backup restore: unpacked, fsync of each, compared", back, "s"),
        figure("  beside cp", back / copy, "times"),
        figure("the file beside what is in it", 100 * size / (files * len(TEXT)), "%"),
    ]


def make_workspace(root: Path, files: int) -> Path:
    Workspace.init(root)
    for number in range(files):
        page = root / f"pages-{number % FOLDERS:03}" / f"page-{number:05}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_bytes(TEXT + str(number).encode())
    os.sync()
    return root


def copied(root: Path, to: Path) -> None:
    if shutil.which("cp") is None:
        sys.exit("There is no cp here.")
    subprocess.run(["cp", "-r", root, to], check=True)
    for folder, _, names in os.walk(to):
        for name in (*names, "."):
            fd = os.open(Path(folder) / name, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)


if __name__ == "__main__":
    main()
