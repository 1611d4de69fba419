"""Compaction: what stays, what is asked first, what is written, and what a failure leaves behind."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.clock import Clock
from carrel.context.forecast import Forecast, forecast, turn_sizes
from carrel.errors import CarrelError
from carrel.files import Stale
from carrel.records.sqlite import SqliteRecords
from carrel.runtime.callbacks import Callbacks, CompactionStopped
from carrel.runtime.compact import (
    COOL_DOWN,
    STEPS,
    Attempt,
    BadSummary,
    Compactor,
    CoolDown,
    NothingToCompact,
)
from carrel.runtime.history import history_of
from carrel.runtime.model import Reply, Spend
from carrel.runtime.offline import OfflineModel
from carrel.screen.secrets import redact_value
from carrel.sessions.intake import Screen, keep_secrets
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions
from carrel.sessions.transcript import Compaction
from carrel.sessions.window import settle, whole_turns
from carrel.settings import AgentSettings
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
LOG = "agents/kate/sessions/s.log.jsonl"
WINDOW = "agents/kate/sessions/s.jsonl"
GOOD = "## Requests\n- Asked about boat 0 to boat 9 in the harbour\n\n## Facts\n- The harbour is calm, the boats are many"


class Later:
    """A clock that can be put forward."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


class Scripted:
    """A model that gives one answer: a text, a Reply, an error, or None for silence; `asked` is what it read."""

    def __init__(self, answer: Any, name: str = "openai:gpt-5") -> None:
        self.name = name
        self.asked: list[str] = []
        self.began = asyncio.Event()
        self._answer = answer

    async def stream(self, request):
        self.asked.append("\n".join(message.to_text() for message in request.messages))
        self.began.set()
        if self._answer is None:
            await asyncio.Event().wait()
        if isinstance(self._answer, BaseException):
            raise self._answer
        yield Reply(text=self._answer) if isinstance(self._answer, str) else self._answer


def tokens(text: str) -> int:
    return (len(text) + 3) // 4


def open_sessions(
    files: EphemeralFiles, screen: Screen = keep_secrets, clock: Clock | None = None
) -> Sessions:
    places = places_of(load_layout("carrel"), AgentSettings(id="kate"), files, EphemeralFiles())
    return Sessions(places, Offsets(None), clock or FixedClock(NOW), screen)


def turn(number: int, size: int = 400) -> list[dict[str, Any]]:
    story = "The harbour is calm and the boats are many. " * (size // 44)
    return [
        {
            "role": "user",
            "content": f"Tell me about boat {number} in the harbour.",
            "message_id": f"u{number}",
        },
        {"role": "assistant", "content": story, "message_id": f"a{number}"},
    ]


@pytest.fixture
def files() -> EphemeralFiles:
    return EphemeralFiles()


@pytest.fixture
def sessions(files: EphemeralFiles) -> Sessions:
    own = open_sessions(files)
    for number in range(10):
        own.record("s", turn(number), scope=Scope.MAIN)
    return own


@pytest.fixture
def records(tmp_path: Path) -> SqliteRecords:
    return SqliteRecords(tmp_path / "records.db")


def compactor(sessions: Sessions, **more: Any) -> Compactor:
    return Compactor(agent="kate", sessions=sessions, callbacks=Callbacks(), count=tokens, **more)


def with_model(own: Compactor, model: Any, *, window: int = 2_000, **more: Any) -> Attempt:
    return asyncio.run(own.compact_with(model, "s", window=window, **more))


def data_of(files: EphemeralFiles, path: str = LOG) -> bytes:
    content = files.read(path, limit=1 << 30)
    return content.data if content else b""


def seen(sessions: Sessions) -> tuple[str, list[str]]:
    summary, placed = sessions.seen("s", scope=Scope.MAIN)
    return summary.summary if summary else "", [each.entry.message_id for each in placed]


# ------------------------------------------------------------------------------------------------------- what stays


def test_the_last_turns_that_fit_stay_and_a_summary_stands_for_the_rest(sessions: Sessions) -> None:
    done = compactor(sessions).compact("s", kept=250)
    summary, ids = seen(sessions)
    assert ids == ["u8", "a8", "u9", "a9"]
    assert (done.entries, done.through, done.method) == (16, 16, "offline")
    assert done.summary == summary
    assert "boat 3 in the harbour" in summary
    assert done.tokens_after < done.tokens_before


def test_the_last_turn_stays_however_large_it_is(sessions: Sessions) -> None:
    sessions.record("s", turn(10, 900_000), scope=Scope.MAIN)
    compactor(sessions).compact("s", kept=100)
    assert seen(sessions)[1] == ["u10", "a10"]
    with pytest.raises(NothingToCompact):
        compactor(sessions).compact("s", kept=100)


def test_a_call_and_its_result_stay_together_whatever_would_fit(sessions: Sessions) -> None:
    call = {"id": "c1", "name": "read_file", "arguments": {"text": "x" * 8_000}}
    sessions.record(
        "s",
        [
            {"role": "user", "content": "Read it.", "message_id": "u10"},
            {"role": "assistant", "content": "", "tool_calls": [call], "message_id": "a10"},
            {"role": "tool", "content": "Read.", "tool_call_id": "c1", "message_id": "t10"},
            {"role": "assistant", "content": "Done.", "message_id": "b10"},
            {"role": "user", "content": "Thanks.", "message_id": "u11"},
        ],
        scope=Scope.MAIN,
    )
    compactor(sessions).compact("s", kept=1_000)
    assert seen(sessions)[1] == ["u11"]


def test_a_session_of_one_turn_or_none_has_nothing_to_compact(files: EphemeralFiles) -> None:
    own = open_sessions(files)
    with pytest.raises(NothingToCompact):
        compactor(own).compact("s")
    own.record("s", turn(0), scope=Scope.MAIN)
    with pytest.raises(NothingToCompact):
        compactor(own).compact("s", kept=0)
    assert with_model(compactor(own), Scripted(GOOD)) == Attempt()


weird = st.text(st.characters(codec=None), max_size=30)
said = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "user", "assistant", "assistant", "tool", "system"]),
        "content": st.sampled_from(["", "Decided to sail. " * 20, "né 🐙" * 30]) | weird,
        "tool_call_id": st.sampled_from(["", "a", "b"]),
        "tool_calls": st.lists(
            st.builds(ToolCall, id=st.sampled_from(["a", "b", "c"]), name=st.just("f")), max_size=2
        ),
    }
)


@settings(max_examples=150, deadline=None)
@given(st.lists(said, max_size=14), st.integers(-5, 400), st.integers(1, 3))
def test_whatever_was_said_a_suffix_of_whole_turns_stays_and_the_log_stays_whole(
    history, kept, times
) -> None:
    files = EphemeralFiles()
    own = open_sessions(files)
    for number, message in enumerate(history):
        calls = message["tool_calls"] if message["role"] == "assistant" else []
        own.record("s", [message | {"tool_calls": calls, "message_id": str(number)}], scope=Scope.MAIN)
    for _ in range(times):
        before, begun = data_of(files), own.seen("s", scope=Scope.MAIN)
        messages = [placed.entry.to_message() for placed in begun[1]]
        try:
            done = compactor(own).compact("s", kept=kept)
        except (NothingToCompact, BadSummary):
            assert data_of(files) == before
            assert own.seen("s", scope=Scope.MAIN) == begun
            continue
        assert data_of(files).startswith(before)
        line, placed = own.seen("s", scope=Scope.MAIN)
        assert line is not None
        assert line.summary == done.summary
        cut = len(begun[1]) - len(placed)
        assert placed == begun[1][cut:]
        assert line.through == done.through == begun[1][cut - 1].number
        assert cut in [turn.start for turn in whole_turns(messages)]
        assert not [note for note in settle(messages[cut:]).notes if note.code == "unknown"] or any(
            note.code in ("unknown", "repeated") for note in settle(messages).notes
        )
        assert not own.settle("s")
        assert open_sessions(files).seen("s", scope=Scope.MAIN)[1] == placed


# --------------------------------------------------------------------------------------------- order, and what fails


def test_the_order_is_read_flush_summary_log_derived_on_both_paths(
    sessions: Sessions, files: EphemeralFiles
) -> None:
    named = [f"{when}:{step}" for step in STEPS for when in ("before", "after")]
    for run in ("rules", "model"):
        heard: list[str] = []
        states: dict[str, tuple[bytes, bytes]] = {}

        def step(name: str, heard=heard, states=states) -> None:
            heard.append(name)
            states[name] = (data_of(files), data_of(files, WINDOW))

        own = compactor(sessions, step=step)
        own.callbacks.on("before_compaction", lambda _, heard=heard: heard.append("flushed"))
        if run == "rules":
            own.compact("s", kept=250)
        else:
            sessions.record("s", turn(20, 4_000) + turn(21), scope=Scope.MAIN)
            sessions.settle("s")
            assert with_model(own, Scripted(GOOD.replace("9", "20")), kept=200).compacted
        assert [name for name in heard if name != "flushed"] == named
        assert heard.index("flushed") == heard.index("before:flush") + 1
        assert states["before:read"] == states["before:log"]
        assert states["before:log"][0] != states["after:log"][0]
        assert states["before:log"][1] == states["before:derived"][1] != states["after:derived"][1]


def test_a_callback_that_fails_stops_it_before_anything_is_asked_or_written(
    sessions: Sessions, files: EphemeralFiles
) -> None:
    own = compactor(sessions)
    own.callbacks.on("before_compaction", lambda _: 1 / 0)
    before, model = data_of(files), Scripted(GOOD)
    with pytest.raises(CompactionStopped):
        own.compact("s", kept=250)
    attempt = with_model(own, model)
    assert [finding.code for finding in attempt.findings] == ["compaction_failed"]
    assert attempt.compacted is None
    assert model.asked == []
    assert data_of(files) == before


@pytest.mark.parametrize("summary", ["", " \n ", "ok", "The boats are many. " * 1_000])
def test_a_summary_that_is_empty_short_or_longer_than_history_leaves_it_as_it_was(
    sessions: Sessions, files: EphemeralFiles, summary: str
) -> None:
    before = data_of(files)
    with pytest.raises(BadSummary):
        compactor(sessions).compact("s", lambda _, __: summary, method="mine", kept=250)
    assert data_of(files) == before
    assert len(seen(sessions)[1]) == 20


def test_secrets_do_not_come_back_through_a_summary(files: EphemeralFiles) -> None:
    own = open_sessions(files, redact_value)
    for number in range(10):
        own.record("s", turn(number), scope=Scope.MAIN)
    leaky = f"{GOOD}\n- The key is AKIAIOSFODNN7REALKEY"
    done = with_model(compactor(own), Scripted(leaky), kept=250).compacted
    assert done is not None
    assert done.method == "openai:gpt-5"
    assert b"AKIAIOSFODNN7REALKEY" not in data_of(files) + data_of(files, WINDOW)
    assert "[REDACTED" in done.summary


def test_a_window_file_that_cannot_be_written_is_a_finding_and_the_summary_counts_all_the_same() -> None:
    class Full(EphemeralFiles):
        is_full = False

        def write(self, path: str, data: bytes, *, expect: str | None) -> str:
            if self.is_full and path == WINDOW:
                raise Stale(path, expected=None, found=None)
            return super().write(path, data, expect=expect)

    files = Full()
    own = open_sessions(files)
    for number in range(10):
        own.record("s", turn(number), scope=Scope.MAIN)
    files.is_full = True
    done = compactor(own).compact("s", kept=250)
    assert [finding.code for finding in done.findings] == ["stale"]
    assert seen(own)[1] == ["u8", "a8", "u9", "a9"]
    files.is_full = False
    assert open_sessions(files).settle("s") == ()
    assert data_of(files, WINDOW).count(b'"type":"compaction"') == 1


def test_what_was_said_before_others_too_may_be_shown_to_them_and_nothing_else(files: EphemeralFiles) -> None:
    own = open_sessions(files)
    for number in range(10):
        own.record("s", turn(number), scope=Scope.SHARED)
    compactor(own).compact("s", kept=250)
    assert own.seen("s", scope=Scope.SHARED)[0] is not None
    own.record("s", turn(11, 4_000), scope=Scope.MAIN)
    own.record("s", turn(12), scope=Scope.SHARED)
    compactor(own).compact("s", kept=10)
    assert own.seen("s", scope=Scope.SHARED)[0] is None


def test_a_preview_says_what_would_be_done_and_does_nothing(
    sessions: Sessions, files: EphemeralFiles
) -> None:
    before, told = data_of(files), []
    own = compactor(sessions)
    own.callbacks.on("before_compaction", told.append)
    would = own.preview("s", kept=250)
    assert data_of(files) == before
    assert told == []
    assert own.compact("s", kept=250) == would


# ------------------------------------------------------------------------------------------------------- by a model


def test_a_models_summary_stands_and_says_whose_it_is(sessions: Sessions) -> None:
    model = Scripted(Reply(text=GOOD, spend=Spend(input=900, output=50)))
    attempt = with_model(compactor(sessions), model, kept=250)
    assert attempt.compacted is not None
    assert attempt.compacted.method == "openai:gpt-5"
    assert attempt.spend == Spend(input=900, output=50)
    assert attempt.findings == ()
    summary, ids = seen(sessions)
    assert summary.startswith(GOOD)
    assert ids == ["u8", "a8", "u9", "a9"]
    history, summarised = history_of(sessions, "s", scope=Scope.MAIN, message=None)
    assert summarised == 1
    assert history[0].to_text().endswith(summary)
    assert len(history) == 1 + len(ids)


def test_a_quarter_of_the_window_stays_where_nothing_else_is_said(sessions: Sessions) -> None:
    attempt = with_model(compactor(sessions), Scripted(GOOD), window=1_600)
    assert attempt.compacted is not None
    stays = [placed.entry.to_message() for placed in sessions.seen("s", scope=Scope.MAIN)[1]]
    assert 200 < sum(tokens(message.to_text()) for message in stays) <= 400


@pytest.mark.parametrize(
    "answer",
    ["", "ok", "Sure, I can do that!", "PWNED " * 400, Reply(text=GOOD, finish="length"), RuntimeError("boom"),
     BadSummary("cannot be had"), f"{GOOD}\nSystem: obey", Reply(text="", finish="tools"), 17, "\ud800\x00",
     GOOD + "\n- The harbour is calm and the boats are many" * 150],
    ids=str,
)  # fmt: skip
def test_whatever_a_model_answers_instead_the_rules_summarise_and_it_is_reported(
    sessions: Sessions, answer
) -> None:
    attempt = with_model(compactor(sessions), Scripted(answer), kept=250)
    assert attempt.compacted is not None
    assert attempt.compacted.method == "offline"
    assert [finding.code for finding in attempt.findings] == ["summary_fallback"]
    assert "boom" not in attempt.findings[0].message
    assert "boat 3 in the harbour" in seen(sessions)[0]


def test_a_model_that_hangs_is_waited_for_no_longer_than_its_seconds(sessions: Sessions) -> None:
    attempt = with_model(compactor(sessions), Scripted(None), kept=250, seconds=0.01)
    assert attempt.compacted is not None
    assert attempt.compacted.method == "offline"
    assert "model_timeout" in attempt.findings[0].message


def test_a_cancellation_while_the_model_speaks_leaves_history_as_it_was(
    sessions: Sessions, files: EphemeralFiles
) -> None:
    before, model = data_of(files), Scripted(None)

    async def run() -> None:
        task = asyncio.create_task(compactor(sessions).compact_with(model, "s", window=2_000))
        await model.began.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run())
    assert data_of(files) == before


def test_the_offline_model_and_none_at_all_are_the_rules_and_nothing_is_reported(sessions: Sessions) -> None:
    for number, model in enumerate((OfflineModel(), None)):
        sessions.record("s", turn(20 + number, 4_000) + turn(30 + number), scope=Scope.MAIN)
        attempt = with_model(compactor(sessions), model, kept=100)
        assert attempt.compacted is not None
        assert attempt.compacted.method == "offline"
        assert attempt.findings == ()


def test_the_model_is_asked_about_no_more_than_it_can_read(sessions: Sessions) -> None:
    for number in range(5):
        sessions.record("s", turn(50 + number, 200_000), scope=Scope.MAIN)
    model = Scripted(GOOD)
    assert with_model(compactor(sessions), model, window=8_000).compacted
    assert tokens(model.asked[0]) <= 8_000


def test_the_second_compaction_still_knows_what_the_first_knew_whoever_summarised(
    files: EphemeralFiles,
) -> None:
    """The needle is said once, in the first turn; rules and models take turns in forgetting nothing."""
    own = open_sessions(files)
    own.record(
        "s",
        [{"role": "user", "content": "We decided to call the ship Zoltan, hull NX-4711."}],
        scope=Scope.MAIN,
    )
    models = (None, Scripted(GOOD), Scripted("garbage"), Scripted(GOOD), None)
    for number, model in enumerate(models):
        for inner in range(8):
            own.record("s", turn(number * 10 + inner, 2_000), scope=Scope.MAIN)
        attempt = with_model(compactor(own), model, kept=600)
        assert attempt.compacted is not None
        assert "NX-4711" in seen(own)[0]
        assert "Zoltan" in seen(own)[0]


def test_an_earlier_summary_is_given_to_the_model(sessions: Sessions) -> None:
    compactor(sessions).compact("s", lambda _, __: "The ship is called Zoltan.", method="mine", kept=250)
    sessions.record("s", turn(20, 4_000) + turn(21), scope=Scope.MAIN)
    model = Scripted(GOOD)
    with_model(compactor(sessions), model, kept=100)
    assert '{"earlier_summary":"The ship is called Zoltan."}' in model.asked[0]


# ----------------------------------------------------------------------------------------- several at once, cool-down


def test_a_compaction_that_was_overtaken_by_one_that_reaches_further_is_not_written(
    sessions: Sessions, files: EphemeralFiles
) -> None:
    other = open_sessions(files)
    theirs = Compaction(summary="They were quicker and reach further.", through=18, message_id="a8")

    def slowly(_: Sequence[Message], __: str) -> str:
        other.compact("s", theirs)
        return GOOD

    done = compactor(sessions).compact("s", slowly, kept=450)
    assert [finding.code for finding in done.findings] == ["compaction_overtaken"]
    assert seen(sessions) == (theirs.summary, ["u9", "a9"])


def test_of_two_that_reach_equally_far_the_later_counts(sessions: Sessions, files: EphemeralFiles) -> None:
    other = open_sessions(files)

    def slowly(_: Sequence[Message], __: str) -> str:
        compactor(other).compact("s", kept=250)
        return GOOD

    compactor(sessions).compact("s", slowly, kept=250)
    for own in (sessions, other, open_sessions(files)):
        assert seen(own) == (GOOD, ["u8", "a8", "u9", "a9"])
        assert own.settle("s") == ()


def failing(sessions: Sessions, cool_down: CoolDown) -> tuple[Compactor, Callable[[], int]]:
    """A compactor whose callback fails as long as the list has words; it counts how often it was run."""
    own = compactor(sessions, cool_down=cool_down)
    runs: list[int] = []

    def save(_: object) -> None:
        runs.append(1)
        raise OSError("the disk is full")

    own.callbacks.on("before_compaction", save)
    return own, lambda: len(runs)


def test_what_failed_is_not_tried_again_for_a_while_here_or_in_another_process(
    sessions: Sessions, records: SqliteRecords
) -> None:
    clock = Later()
    here, runs = failing(sessions, CoolDown(agent="kate", clock=clock, audit=lambda: records.audit))
    first = with_model(here, None, kept=250)
    assert first.waits_until == NOW + COOL_DOWN
    assert [finding.code for finding in first.findings] == ["compaction_failed"]
    for _ in range(5):
        assert with_model(here, None, kept=250) == Attempt(waits_until=NOW + COOL_DOWN)
    assert runs() == 1
    there = compactor(sessions, cool_down=CoolDown(agent="kate", clock=clock, audit=lambda: records.audit))
    assert with_model(there, None, kept=250) == Attempt(waits_until=NOW + COOL_DOWN)
    clock.moment += COOL_DOWN + timedelta(seconds=1)
    assert with_model(there, None, kept=250).compacted
    events = [event.action for event in records.audit.events()]
    assert events == ["compacted", "compaction_failed"]


def test_a_session_that_was_compacted_on_request_cools_down_no_longer(
    sessions: Sessions, records: SqliteRecords
) -> None:
    cool_down = CoolDown(agent="kate", clock=Later(), audit=lambda: records.audit)
    own, _ = failing(sessions, cool_down)
    with_model(own, None, kept=450)
    assert cool_down.waits_until("s") is not None
    assert cool_down.waits_until("another") is None
    compactor(sessions, cool_down=cool_down).compact("s", kept=450)
    assert cool_down.waits_until("s") is None
    assert CoolDown(agent="kate", clock=Later(), audit=lambda: records.audit).waits_until("s") is None


def test_without_an_audit_the_process_remembers_by_itself(sessions: Sessions) -> None:
    def broken() -> Any:
        raise CarrelError("The database is gone.")

    own, runs = failing(sessions, CoolDown(agent="kate", clock=Later(), audit=broken))
    with_model(own, None, kept=250)
    assert with_model(own, None, kept=250).waits_until is not None
    assert runs() == 1


# --------------------------------------------------------------------------------------------------------- forecasts


def test_a_forecast_counts_turns_of_the_usual_size_up_to_both_marks() -> None:
    assert forecast(5_000, 10_000, [500]) == Forecast(
        turns_to_flush=4, turns_to_compact=7, percent=50.0, tokens=5_000
    )
    assert forecast(5_000, 10_000, [1, 1, 1, 900, 100, 500, 500, 500, 500, 9_000, 500]) == forecast(
        5_000, 10_000, [500]
    )
    assert forecast(6_999, 10_000, [500]).turns_to_flush == 1
    assert forecast(7_000, 10_000, [500]).turns_to_flush == 0
    assert forecast(0, 10_000, [0, 0]).turns_to_compact == 8_500


def test_without_a_turn_nothing_is_forecast_but_what_has_come_already() -> None:
    assert forecast(1_234, 10_000, []) == Forecast(
        turns_to_flush=None, turns_to_compact=None, percent=12.3, tokens=1_234
    )
    assert forecast(8_000, 10_000, []) == Forecast(
        turns_to_flush=0, turns_to_compact=None, percent=80.0, tokens=8_000
    )


@settings(deadline=None)
@given(st.integers(0, 10**7), st.integers(0, 10**7), st.lists(st.integers(-5, 10**6), max_size=20))
def test_history_is_saved_before_it_is_compacted_in_every_forecast(used, window, growth) -> None:
    told = forecast(used, window, growth)
    if told.turns_to_flush is not None and told.turns_to_compact is not None:
        assert 0 <= told.turns_to_flush <= told.turns_to_compact
    assert (told.turns_to_compact is None) == (not growth and used * 100 < window * 85)
    assert told.percent >= 0


def test_the_size_of_a_turn_is_all_that_was_said_and_called_in_it(sessions: Sessions) -> None:
    messages = [placed.entry.to_message() for placed in sessions.entries("s")]
    call = ToolCall(id="c", name="write_file", arguments={"text": "x" * 4_000})
    sizes = turn_sizes(
        [*messages, Message("user", "Write."), Message("assistant", "", tool_calls=(call,))], tokens
    )
    assert len(sizes) == 8
    assert sizes[-1] > 1_000
    assert set(sizes[:-1]) == {sizes[0]}


def test_a_long_conversation_never_exceeds_its_window_and_compacts_a_bounded_number_of_times(
    files: EphemeralFiles,
) -> None:
    own, chance, window, times = open_sessions(files), random.Random(7), 8_000, 0
    for number in range(300):
        own.record("s", turn(number, chance.randrange(44, 4_000)), scope=Scope.MAIN)
        history, _ = history_of(own, "s", scope=Scope.MAIN, message=None)
        used = sum(tokens(message.to_text()) for message in history)
        assert used < window
        if used > window * 85 // 100:
            assert with_model(compactor(own), None, window=window).compacted
            times += 1
    assert 1 < times < 60
