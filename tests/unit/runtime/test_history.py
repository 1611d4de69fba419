"""What the next call takes of a session: a summary where there is one, what was said since, and nothing twice."""

from datetime import UTC, datetime
from typing import Any

import pytest

from carrel.runtime.history import SUMMARY, history_of
from carrel.runtime.large import KEPT_TURNS
from carrel.screen.secrets import redact_value
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)


@pytest.fixture
def sessions() -> Sessions:
    places = places_of(load_layout("carrel"), AgentSettings(id="kate"), EphemeralFiles(), EphemeralFiles())
    return Sessions(places, Offsets(None), FixedClock(NOW), redact_value)


def say(sessions: Sessions, *said: tuple[str, str], scope: Scope = Scope.MAIN) -> None:
    sessions.record("s", [{"role": role, "content": text} for role, text in said], scope=scope)


def texts(sessions: Sessions, message: str | None = None, scope: Scope = Scope.MAIN) -> tuple[list[str], int]:
    history, summarised = history_of(sessions, "s", scope=scope, message=message)
    return [each.to_text() for each in history], summarised


def test_a_session_that_has_not_begun_has_no_history(sessions):
    assert history_of(sessions, "s", scope=Scope.MAIN, message="Hi.") == ((), 0)


def test_a_message_that_is_recorded_already_is_not_shown_twice(sessions):
    say(sessions, ("user", "Hi."), ("assistant", "Yes."), ("user", "Hi."))
    assert texts(sessions, "Hi.") == (["Hi.", "Yes."], 0)
    assert texts(sessions, "And now?") == (["Hi.", "Yes.", "Hi."], 0)
    assert texts(sessions) == (["Hi.", "Yes.", "Hi."], 0)


def test_a_message_whose_secrets_were_taken_out_is_known_again(sessions):
    secret = "My key is " + "AKIA" + "IOSFODNN7EXAMPLQ"
    say(sessions, ("user", secret))
    assert texts(sessions, secret) == ([], 0)


def test_a_summary_stands_first_and_is_counted(sessions):
    say(sessions, ("user", "One."), ("assistant", "Two."), ("user", "Three."), ("assistant", "Four."))
    line = Compaction(
        summary="They counted to two.", through=2, tokens_before=9, tokens_after=5, method="offline"
    )
    sessions.compact("s", line)
    assert texts(sessions) == ([f"{SUMMARY}\n\nThey counted to two.", "Three.", "Four."], 1)


def test_strangers_are_shown_what_was_said_before_them(sessions):
    say(sessions, ("user", "Between us."), ("assistant", "Yes."))
    say(sessions, ("user", "Aloud."), ("assistant", "Hello."), scope=Scope.SHARED)
    assert texts(sessions, scope=Scope.SHARED) == (["Aloud.", "Hello."], 0)


def test_long_arguments_of_older_turns_are_clipped_and_the_log_has_them_whole(sessions):
    for number in range(KEPT_TURNS + 1):
        asked: dict[str, Any] = {"id": f"c{number}", "name": "write_file", "arguments": {"text": "x" * 9_000}}
        sessions.record(
            "s",
            [
                {"role": "user", "content": "Write it."},
                {"role": "assistant", "content": "", "tool_calls": [asked]},
                {"role": "tool", "content": "Done.", "tool_call_id": f"c{number}"},
                {"role": "assistant", "content": "Done."},
            ],
            scope=Scope.MAIN,
        )
    history, _ = history_of(sessions, "s", scope=Scope.MAIN, message=None)
    sent = [len(str(call.arguments)) for message in history for call in message.tool_calls]
    assert [size > 9_000 for size in sent] == [False, *[True] * KEPT_TURNS]
    logged = [call for placed in sessions.entries("s") for call in placed.entry.to_message().tool_calls]
    assert all(len(str(call.arguments)) > 9_000 for call in logged)
