"""The quick tier: each promise of the table, tried some times; `make torture` tries them for as long as one likes."""

import signal
import subprocess
import sys

import pytest
from tests.torture import __main__ as runner
from tests.torture import defects, lanes, page
from tests.torture.rows import Meter, Row, held
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


def test_what_one_run_found_stays_on_the_page_until_another_tries_the_same(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(
        "# Page\n\n<!-- table -->\nNot run yet.\n<!-- end of table -->\n<!-- defects -->\n<!-- end of defects -->\n"
    )
    meter, (first, second, *_) = Meter(1, 1, tmp_path), ROWS
    for row, seed in ((second, 1), (first, 1), (second, 2)):
        page.put_row(path, row, meter, seconds=60, seed=seed)
    page.put_defect(path, first, first.defects[0], "no | or\nyes")
    page.put_defect(path, second, second.defects[0], "yes")
    page.put_defect(path, first, first.defects[0], defects.SEEN)
    lines = [line.split(" | ") for line in path.read_text().splitlines() if line.startswith("| ")]
    told = [(line[0], "seed 2" in line[5]) for line in lines if len(line) == len(lines[0])]
    assert told == [("| #", False), ("| ---", False), ("| 1", False), ("| 2", True)]
    assert [line[3] for line in lines[4:]] == ["seen", "---", "yes", "yes"]


def test_a_row_that_falls_over_is_told_with_what_it_had_found(capsys):
    def fall(meter: Meter) -> None:
        meter.tried(3)
        meter.check(is_kept=False, told="a line is torn")
        raise ValueError("no such line")

    meter = held(ROWS[0]._replace(run=fall), 10, 60)
    assert (meter.trials, meter.broken) == (3, ["a line is torn"])
    assert page.verdict(meter) == "BROKE OFF (ValueError: no such line), NOT KEPT 1 times before"
    assert "ValueError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("codes", "worst"),
    [
        ((0, 0), 0),
        ((0, defects.NOT_KEPT, defects.TOO_FEW), defects.NOT_KEPT),
        ((0, defects.BROKE_OFF), defects.BROKE_OFF),
        ((0, -signal.SIGKILL), signal.SIGKILL),
    ],
)
def test_rows_of_which_one_failed_have_failed_however_it_ended(codes: tuple[int, ...], worst: int) -> None:
    assert runner.worst(codes) == worst


def test_rows_beside_each_other_share_the_time_and_one_that_is_paced_has_all_of_it():
    given = dict[int, float]()

    def note(row: Row, seconds: float) -> int:
        given[row.number] = seconds
        return row.number == 3

    assert max(lanes.try_all(ROWS, 1_000, note)) == 1
    assert sorted(given) == [row.number for row in ROWS]
    assert [
        number for number, seconds in given.items() if seconds == 1_000 and number != ROWS[-1].number
    ] == [12]
