"""Work beside the others: once at a time, once more where it was asked for, and ended by who closes."""

from threading import Event, Thread

import pytest

from carrel.runtime.beside import Beside

LONG = 30.0


class Work:
    """Work that begins and ends when the test says so."""

    def __init__(self, *, patient=True):
        self.begun, self.go, self.done = Event(), Event(), 0
        self.patient = patient

    def __call__(self, is_over):
        self.begun.set()
        while not self.go.wait(0.01):
            if is_over() and self.patient:
                return
        self.done += 1


@pytest.fixture
def work():
    made = Work()
    yield made
    made.go.set()


def test_who_asks_does_not_wait(work):
    beside = Beside(work, "test", patience=LONG)
    assert beside.begin()
    assert work.begun.wait(LONG)
    assert work.done == 0
    work.go.set()
    beside.wait(LONG)
    assert work.done == 1


def test_what_is_asked_for_meanwhile_is_done_once_more(work):
    beside = Beside(work, "test", patience=LONG)
    beside.begin()
    assert work.begun.wait(LONG)
    assert [beside.begin() for _ in range(3)] == [False] * 3
    work.go.set()
    beside.wait(LONG)
    assert work.done == 2


def test_where_no_thread_can_be_had_nothing_is_done_and_nobody_fails(work, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    beside = Beside(work, "test", patience=LONG)
    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", refuse)
        assert not beside.begin()
        beside.wait(LONG)
    work.go.set()
    assert beside.begin()
    beside.wait(LONG)
    assert work.done == 1


def test_it_can_be_begun_again_when_it_is_done(work):
    beside = Beside(work, "test", patience=LONG)
    work.go.set()
    for number in (1, 2, 3):
        assert beside.begin()
        beside.wait(LONG)
        assert work.done == number


def test_waiting_has_an_end(work):
    beside = Beside(work, "test", patience=LONG)
    beside.begin()
    beside.wait(0.01)
    assert work.done == 0


def test_closing_ends_what_is_done_and_begins_nothing_any_more(work):
    beside = Beside(work, "test", patience=LONG)
    beside.begin()
    assert work.begun.wait(LONG)
    beside.begin()
    beside.close()
    assert (beside.begin(), work.done) == (False, 0)


def test_closing_leaves_alone_what_does_not_end():
    work = Work(patient=False)
    beside = Beside(work, "test", patience=0.01)
    beside.begin()
    assert work.begun.wait(LONG)
    beside.close()
    assert work.done == 0
    work.go.set()
    beside.wait(LONG)
    assert work.done == 1


@pytest.mark.parametrize("pressing", ["wait", "begin", "close"])
def test_what_need_not_begin_yet_begins_when_somebody_waits_asks_again_or_closes(work, pressing):
    beside = Beside(work, "test", patience=LONG)
    work.go.set()
    assert beside.begin(after=LONG * LONG)
    assert not work.begun.is_set()
    getattr(beside, pressing)()
    assert work.begun.wait(LONG)
    beside.wait(LONG)
    assert work.done >= 1


def test_what_need_not_begin_yet_begins_when_its_time_has_come(work):
    beside = Beside(work, "test", patience=LONG)
    assert beside.begin(after=0.01)
    assert work.begun.wait(LONG)
