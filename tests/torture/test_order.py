"""Whether a trace tells of a sync that is missing: held here on traces as strace writes them."""

from pathlib import Path

import pytest
from tests.torture.order import Ledger, calls, wrong_with

OPENED = '7 openat(3</w>, ".carrel-tmp-1", O_WRONLY|O_CREAT|O_EXCL, 0644) = 4</w/.carrel-tmp-1>'
WRITTEN = '7 write(4</w/.carrel-tmp-1>, ""..., 5) = 5'
SYNCED = "7 fsync(4</w/.carrel-tmp-1>) = 0"
RENAMED = '7 renameat(3</w>, ".carrel-tmp-1", 3</w>, "a.md") = 0'
FOLDER = "7 fsync(3</w>) = 0"
ANSWER = '7 write(1<pipe:[9]>, ""..., 3) = 3'
SOUND = [OPENED, WRITTEN, SYNCED, RENAMED, FOLDER, ANSWER]


def wrong(lines: list[str]) -> list[str]:
    return wrong_with(Ledger(Path("/w")), lines)


def test_a_writer_that_syncs_file_and_folder_before_it_answers_is_sound():
    assert wrong(SOUND) == []


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (SYNCED, "a.md has its name before its bytes are synced"),
        (FOLDER, "the name a.md is not synced at the answer"),
        (ANSWER, "it changed nothing, or answered nothing"),
    ],
)
def test_each_call_that_is_missing_is_told_of(missing: str, told: str):
    assert told in wrong([line for line in SOUND if line != missing])


def test_what_is_synced_only_after_the_answer_is_told_of():
    assert wrong([OPENED, WRITTEN, SYNCED, RENAMED, ANSWER, FOLDER]) == [
        "the name a.md is not synced at the answer"
    ]


def test_a_call_that_failed_counts_for_nothing():
    failed = "7 fsync(3</w>) = -1 EIO (Input/output error)"
    assert wrong([OPENED, WRITTEN, SYNCED, RENAMED, failed, ANSWER]) == [
        "the name a.md is not synced at the answer"
    ]


def test_a_call_that_was_interrupted_by_another_thread_is_put_together():
    begun, resumed = "7 fsync(3</w> <unfinished ...>", "7 <... fsync resumed>) = 0"
    other = '8 write(5</elsewhere>, ""..., 1) = 1'
    assert wrong([OPENED, WRITTEN, SYNCED, RENAMED, begun, other, resumed, ANSWER]) == []
    assert [call.name for call in calls([begun, other, resumed])] == ["write", "fsync"]


def test_what_can_be_made_anew_and_what_is_elsewhere_may_be_left_to_luck():
    cache = '7 write(6</w/.carrel/cache/counts.db>, ""..., 1) = 1'
    other = '7 write(6</elsewhere/a>, ""..., 1) = 1'
    assert wrong([*SOUND[:-1], cache, other, ANSWER]) == []
