"""Faults put into a copy of the source on purpose, one at a time: the row that should tell of each is tried on it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.torture.rows import Defect, Row

ROOT = Path(__file__).parents[2]
SEEN, NOT_KEPT = "yes", 4
_LONGEST = 900


def rotten(rows: Sequence[Row]) -> Iterator[str]:
    """Tell of each defect whose text is not, or not just once, in the source any more."""
    for row in rows:
        for defect in row.defects:
            times = (ROOT / "src/carrel" / defect.file).read_text("utf-8").count(defect.old)
            if times != 1:
                yield f"row {row.number}, {defect.says}: its text is {times} times in {defect.file}"


def tried(row: Row, defect: Defect) -> str:
    """Try a row on a copy that has a defect, and return what became of it: SEEN, or what went wrong."""
    with TemporaryDirectory(prefix="torture-defect-") as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        file = source / "carrel" / defect.file
        text = file.read_text("utf-8")
        if text.count(defect.old) != 1:
            return "its text is not in the source"
        file.write_text(text.replace(defect.old, defect.new), "utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-m", "tests.torture", "--quick", "--only", str(row.number)],
                env=os.environ | {"PYTHONPATH": str(source), "TMPDIR": folder},
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "no, it hung"
    if done.returncode == NOT_KEPT:
        return SEEN
    return "**no**" if done.returncode == 0 else f"it broke off: {done.stderr.strip().splitlines()[-1:]}"
