"""Callbacks: the order they run in, and what becomes of one that fails."""

import functools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.errors import Unavailable, UsageError
from carrel.files.disk import DiskFull
from carrel.runtime.callbacks import (
    BadCallback,
    Callbacks,
    CompactionBegins,
    CompactionStopped,
    TurnBegins,
    TurnEnded,
)
from carrel.runtime.model import Reply
from carrel.sessions.message import Message
from carrel.workspace.scope import Scope

PLACE = {"agent": "kate", "session": "s1", "scope": Scope.SHARED}
HELLO = Message("user", "a secret thing")
BEGINS = TurnBegins(**PLACE, message=HELLO)
ENDED = TurnEnded(**PLACE, message=HELLO, reply=Reply(text="Hi."), finish="stop")
COMPACTION = CompactionBegins(**PLACE, messages=(HELLO,))


def spill(event):
    raise ValueError(event)


@given(st.lists(st.integers(-3, 3), max_size=12))
def test_callbacks_run_by_priority_and_then_as_they_were_registered(priorities):
    callbacks, ran = Callbacks(), []
    for number, priority in enumerate(priorities):
        callbacks.on("after_turn", lambda _, number=number: ran.append(number), priority=priority)
    assert callbacks.after_turn(ENDED) == ()
    assert ran == [number for number, _ in sorted(enumerate(priorities), key=lambda pair: pair[1])]


def test_without_a_priority_a_callback_stands_at_a_hundred():
    callbacks, ran = Callbacks(), []
    callbacks.on("before_turn", lambda _: ran.append("late"), priority=101)
    callbacks.on("before_turn", lambda _: ran.append("plain"))
    callbacks.on("before_turn", lambda _: ran.append("early"), priority=99)
    callbacks.before_turn(BEGINS)
    assert ran == ["early", "plain", "late"]


def test_each_moment_tells_its_own_functions_what_happened():
    callbacks, told = Callbacks(), []
    callbacks.on("before_turn", told.append)
    callbacks.on("after_turn", told.append)
    callbacks.on("before_compaction", told.append)
    callbacks.before_turn(BEGINS)
    callbacks.after_turn(ENDED)
    callbacks.before_compaction(COMPACTION)
    assert told == [BEGINS, ENDED, COMPACTION]


@pytest.mark.parametrize("moment", ["before_turn", "after_turn"])
def test_a_callback_that_fails_is_named_and_the_others_run(moment):
    callbacks, ran = Callbacks(), []
    callbacks.on(moment, spill)
    callbacks.on(moment, ran.append)
    event = BEGINS if moment == "before_turn" else ENDED
    (finding,) = getattr(callbacks, moment)(event)
    assert finding.code == "callback_failed"
    assert "spill" in finding.message
    assert moment in finding.message
    assert "ValueError" in finding.message
    assert "secret" not in f"{finding.message}{finding.hint}"
    assert ran == [event]


def test_a_failure_before_a_compaction_stops_it_and_the_callbacks_after_it():
    callbacks, ran = Callbacks(), []
    callbacks.on("before_compaction", spill)
    callbacks.on("before_compaction", ran.append)
    with pytest.raises(CompactionStopped, match="spill failed with ValueError") as caught:
        callbacks.before_compaction(COMPACTION)
    assert isinstance(caught.value, Unavailable)
    assert caught.value.code == "compaction_stopped"
    assert "secret" not in caught.value.message
    assert isinstance(caught.value.__cause__, ValueError)
    assert ran == []


def test_a_failure_of_ours_before_a_compaction_is_told_with_its_cause_and_what_helps():
    def fill(event):
        raise DiskFull("memory/2026-04-24.md")

    callbacks = Callbacks()
    callbacks.on("before_compaction", fill)
    with pytest.raises(CompactionStopped) as caught:
        callbacks.before_compaction(COMPACTION)
    cause = DiskFull("memory/2026-04-24.md")
    assert f"failed: {cause.message.removesuffix('.')}; nothing was compacted." in caught.value.message
    assert "memory/2026-04-24.md" in caught.value.message
    assert caught.value.hint == f"{cause.hint} The session is whole."


def test_a_program_that_is_told_to_exit_exits():
    callbacks = Callbacks()

    def leave(event):
        raise KeyboardInterrupt

    callbacks.on("before_turn", leave)
    with pytest.raises(KeyboardInterrupt):
        callbacks.before_turn(BEGINS)


async def asynchronous(event):
    return event


class AsynchronousObject:
    async def __call__(self, event):
        return event


@pytest.mark.parametrize(
    ("moment", "function"),
    [
        ("before_everything", print),
        (["before_turn"], print),
        ("before_turn", "print"),
        ("before_turn", asynchronous),
        ("before_turn", functools.partial(asynchronous)),
        ("before_turn", AsynchronousObject()),
    ],
    ids=["unknown moment", "no name", "no function", "async", "partial", "object"],
)
def test_what_could_never_run_is_refused_when_it_is_registered(moment, function):
    with pytest.raises(BadCallback) as caught:
        Callbacks().on(moment, function)
    assert isinstance(caught.value, UsageError)
    assert "before_compaction" in caught.value.hint


def test_an_object_that_can_be_called_is_named_by_its_class():
    class Listener:
        def __call__(self, event):
            del event
            raise OSError

    callbacks = Callbacks()
    callbacks.on("after_turn", Listener())
    assert "Listener failed with OSError" in callbacks.after_turn(ENDED)[0].message


def test_a_name_cannot_forge_a_line_of_a_report():
    def odd(event):
        raise OSError

    odd.__qualname__ = "odd\nerror: all is lost " + "x" * 1_000
    callbacks = Callbacks()
    callbacks.on("after_turn", odd)
    message = callbacks.after_turn(ENDED)[0].message
    assert "\n" not in message
    assert len(message) < 250


def test_a_callback_registered_by_a_callback_waits_for_the_next_turn():
    callbacks, ran = Callbacks(), []
    callbacks.on("before_turn", lambda _: callbacks.on("before_turn", ran.append))
    callbacks.before_turn(BEGINS)
    assert ran == []
    callbacks.before_turn(BEGINS)
    assert ran == [BEGINS]


def test_registering_from_many_threads_loses_none():
    callbacks, ran = Callbacks(), []
    barrier = threading.Barrier(8)

    def register():
        barrier.wait()
        for _ in range(50):
            callbacks.on("before_turn", ran.append)

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    callbacks.before_turn(BEGINS)
    assert len(ran) == 400
