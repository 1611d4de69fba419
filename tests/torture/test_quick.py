"""The quick tier: each promise of the table, tried some times; `make torture` tries them for as long as one likes."""

import subprocess
import sys

import pytest
from tests.torture import defects
from tests.torture.rows import Row
from tests.torture.table import ROWS


@pytest.mark.parametrize(
    ("row", "part"),
    [
        pytest.param(row, part, id=f"row{row.number}-part{part}")
        for row in ROWS
        for part in range(1, row.parts + 1)
    ],
)
def test_a_promise_that_is_tried_again_and_again_is_kept(row: Row, part: int) -> None:
    """In a process of its own: rows fork, which none should that has run other tests, and perhaps their threads."""
    words = ["--quick", "--only", str(row.number), "--part", str(part)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", *words],
        cwd=defects.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{row.promise}\n{done.stdout}{done.stderr}"


def test_every_defect_to_be_seeded_is_about_a_text_that_the_source_has_once() -> None:
    assert list(defects.rotten(ROWS)) == []


def test_every_row_has_a_number_of_its_own_and_is_shown_able_to_fail() -> None:
    numbers = [row.number for row in ROWS]
    assert numbers == sorted(set(numbers))
    assert [row.number for row in ROWS if not row.defects] == []
