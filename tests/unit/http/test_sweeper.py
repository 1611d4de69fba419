"""The index is kept up beside answering, whatever happens before, between and after the watching."""

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from carrel.app import Workspace
from carrel.http import sweeper as module
from carrel.http.sweeper import Sweeper
from carrel.index.embedded import parts

PATIENCE = 60.0
WORD = "marmalade"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    Workspace.init(tmp_path / "desk")
    return tmp_path / "desk"


@pytest.fixture
def indexed(desk: Path) -> Iterator[Callable[[], int]]:
    """Tells how many files the index holds; asking does not make it look for more."""
    with Workspace.open(desk) as workspace:
        yield lambda: workspace.searching.status().places


def until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_file_that_changes_just_before_the_watching_begins_is_taken_in(
    desk: Path, indexed: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before: list[int] = []

    def begin_late(*roots: Path, **options: Any) -> Iterator[Any]:
        before.append(indexed())
        (desk / "late.md").write_text("It is in the cellar.\n")
        yield from watchfiles.watch(*roots, **options)

    monkeypatch.setattr(module, "watch", begin_late)
    with Sweeper([desk]) as sweeper:
        sweeper.start()
        until(lambda: bool(before))
        assert before[0] > 0
        until(lambda: indexed() == before[0] + 1)


def test_a_workspace_that_is_reached_by_a_link_is_watched_too(
    desk: Path, indexed: Callable[[], int], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("desk")
    with Sweeper([tmp_path / "link"]) as sweeper:
        sweeper.start()
        until(lambda: indexed() > 0)
        before = indexed()
        time.sleep(1.5)  # until the watching has begun, and everything was looked at once more
        (desk / "late.md").write_text("It is in the cellar.\n")
        until(lambda: indexed() != before)
        assert indexed() == before + 1


def test_an_index_that_another_writes_for_too_long_is_brought_up_when_it_can_be(
    desk: Path, indexed: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "LOCK_SECONDS", 0.01)
    tries: list[int] = []

    class Counted(Sweeper):
        def _take_in(self, workspace: Workspace, changed: Collection[str]) -> None:
            super()._take_in(workspace, changed)
            tries.append(indexed())

    with Workspace.open(desk) as other:
        other.searching.sync()
        before = indexed()
        held = os.open(desk / ".carrel" / "cache" / "index" / parts.LOCK_FILE, os.O_RDWR)
        fcntl.flock(held, fcntl.LOCK_EX)
        (desk / "new.md").write_text("It is in the cellar.\n")
        with Counted([desk]) as sweeper:
            sweeper.start()
            until(lambda: len(tries) > 3)
            assert set(tries) == {before}
            os.close(held)
            until(lambda: indexed() == before + 1)


def test_watching_that_fails_begins_again_and_misses_nothing(
    desk: Path, indexed: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PERIOD", 0.05)
    begun: list[int] = []

    def fail_once(*roots: Path, **options: Any) -> Iterator[Any]:
        begun.append(indexed())
        if len(begun) == 1:
            (desk / "missed.md").write_text("Nobody saw this come.\n")
            raise RuntimeError("a name is not Unicode")
        yield from watchfiles.watch(*roots, **options)

    monkeypatch.setattr(module, "watch", fail_once)
    with Sweeper([desk]) as sweeper:
        sweeper.start()
        until(lambda: len(begun) == 2)
        assert begun[1] == begun[0] + 1
        (desk / "seen.md").write_text("This one was watched.\n")
        until(lambda: indexed() == begun[1] + 1)


def test_what_breaks_beside_answering_is_logged_without_a_word_of_what_was_read(
    desk: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "PERIOD", 0.05)

    def fails(_: Workspace, **more: Any) -> None:
        raise ValueError(WORD)

    monkeypatch.setattr(Workspace, "sweep", fails)
    with Sweeper([desk]) as sweeper:
        sweeper.start()
        until(lambda: "sweep of desk" in caplog.text)
    assert "ValueError" in caplog.text
    assert WORD not in caplog.text


def test_a_file_in_a_folder_that_is_made_meanwhile_is_taken_in(
    desk: Path, indexed: Callable[[], int]
) -> None:
    with Sweeper([desk]) as sweeper:
        sweeper.start()
        until(lambda: indexed() > 0)
        before = indexed()
        for number, folder in enumerate(("one", "one/two", "three"), 1):
            (desk / folder).mkdir()
            time.sleep(1.5)  # until it is watched
            (desk / folder / "new.md").write_text("It is in the cellar.\n")
            until(lambda number=number: indexed() >= before + number)
        assert indexed() == before + 3
