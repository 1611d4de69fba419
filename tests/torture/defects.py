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
SEEN = "yes"
NOT_KEPT, TOO_FEW, BROKE_OFF = 4, 5, 1
"""How a process ends that tried a row: it told of something, was tried too seldom in its time, or fell over itself."""

_OUTCOMES = {NOT_KEPT: SEEN, TOO_FEW: "**no**, it took too long", 0: "**no**"}
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
    if done.returncode in _OUTCOMES:
        return _OUTCOMES[done.returncode]
    return f"**no**, it broke off: {done.stderr.strip().splitlines()[-1:]}"
