"""Whatever was said and however small the window: a call fits, is accepted, and loses nothing in silence."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.properties.test_window import check_anthropic, check_chat, check_responses, check_settled
from tests.unit.context.conftest import NOW, Desk

from carrel.context.assemble import Assembly
from carrel.context.calls import to_plain
from carrel.context.formats import to_anthropic, to_openai, to_responses
from carrel.context.inputs import Inputs, Recalled
from carrel.findings import Finding
from carrel.runtime.large import clip_results
from carrel.runtime.room import Fitted, Shortened, Steps, fit_call, room_in
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import settle, whole_turns
from carrel.settings import ModelSettings
from carrel.workspace.scope import Scope

QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = "calm boats in the harbour "

# ------------------------------------------------------------------------------------------------------- any conversation

lengths = st.integers(0, 60)
names = st.sampled_from(["read_file", "list_files"])
ids = st.sampled_from(["a", "b", "c", "d", "a-2", ""])


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A turn as it may stand in a log: calls with and without results, results without calls, several at once."""
    said = [Message("user", f"Well? {WORDS * draw(lengths)}")]
    for _ in range(draw(st.integers(0, 2))):
        asked = draw(st.lists(ids, max_size=3))
        calls = tuple(
            ToolCall(id=own, name=draw(names), arguments={"path": WORDS * draw(st.integers(0, 8))})
            for own in asked
        )
        said.append(Message("assistant", WORDS * draw(st.integers(0, 5)), tool_calls=calls))
        answered = [own for own in asked if draw(st.integers(0, 4))]
        said += [Message("tool", WORDS * draw(lengths), tool_call_id=own) for own in answered]
        if draw(st.integers(0, 6)) == 0:
            said.append(Message("tool", "Nobody asked.", tool_call_id="zz"))
    if draw(st.integers(0, 5)):
        said.append(Message("assistant", WORDS * draw(lengths)))
    return said


histories = st.lists(turns(), max_size=8).map(lambda each: tuple(m for turn in each for m in turn))
windows = st.integers(150, 4_000)
besides = st.sampled_from([0, 0, 30, 200])
FILES = {"AGENTS.md": "Be brief.\n", "stack.md": WORDS * 30, "team.md": WORDS * 30}
DESKS = {True: Desk(FILES), False: Desk({})}

UNANSWERED = (
    Message("user", "Go."),
    Message("assistant", "", tool_calls=tuple(ToolCall(id=f"c{n}", name="f") for n in range(128))),
)


class Case:
    """One call over a window; `lost` is what was told before it was left out."""

    def __init__(self, history: Sequence[Message], window: int, *, files: bool = True, **inputs: Any):
        self.desk = DESKS[files].set(model=ModelSettings(context_window=window))
        self.window = window
        self.lost: list[Message] = []
        self.inputs = Inputs(
            scope=Scope.MAIN, now=NOW, time_zone="UTC", query="And now?", history=tuple(history), **inputs
        )

    def assemble(self, inputs: Inputs, budget: Any = None) -> Assembly:
        return self.desk.assembler.assemble(inputs, budget=budget)

    def fit(self, shorten: Any = None) -> Fitted:
        return fit_call(
            self.assemble,
            self.inputs,
            None,
            self.desk.ground.counts.count,
            steps=Steps(shorten=shorten, lose=self.lost.extend),
        )


def check_accepted(assembly: Assembly, history: Sequence[Message]) -> None:
    check_settled(settle(history).messages)
    check_chat(to_openai(assembly))
    check_responses(to_responses(assembly))
    check_anthropic(to_anthropic(assembly))


def said(fitted: Fitted) -> set[str]:
    return {warning.code for warning in fitted.assembly.report.warnings}


# ------------------------------------------------------------------------------------------------------------- properties


@QUICK
@given(histories, windows, besides, st.booleans())
def test_what_is_sent_is_accepted_by_every_provider(history, window, beside, files):
    fitted = Case(history, window, files=files, beside=beside).fit()
    check_accepted(fitted.assembly, fitted.inputs.history)


@QUICK
@given(history=histories, window=windows, beside=besides, files=st.booleans(), recalled=st.integers(0, 4))
@example(history=UNANSWERED * 3, window=1_000, beside=0, files=False, recalled=0)
def test_a_call_never_exceeds_its_window_while_anything_could_be_left_out(
    history, window, beside, files, recalled
):
    recall = tuple(Recalled(path=f"{n}.md", line=1, text=WORDS * 5) for n in range(recalled))
    case = Case(history, window, files=files, beside=beside, recall=recall)
    fitted = case.fit()
    if fitted.used + beside > window:
        assert fitted.inputs.history == ()
        assert fitted.inputs.recall == ()
        assert case.assemble(fitted.inputs).report.tokens.used >= fitted.used


@QUICK
@given(histories, windows, besides)
def test_what_stays_is_the_end_of_the_conversation_from_a_whole_turn_on(history, window, beside):
    fitted = Case(history, window, beside=beside).fit()
    kept = fitted.inputs.history
    begin = len(history) - len(kept)
    assert kept == history[begin:]
    assert begin in {0, len(history), *(turn.start for turn in whole_turns(history))}
    # No call was parted from its result: neither half has more that is missing than the whole had.
    missing = [note.code for note in settle(history).notes].count("missing")
    parts = settle(history[:begin]), settle(kept)
    assert sum(note.code == "missing" for part in parts for note in part.notes) == missing


@QUICK
@given(histories, windows, besides, st.booleans())
def test_all_that_is_not_sent_was_told_before_and_is_said(history, window, beside, files):
    case = Case(history, window, files=files, beside=beside)
    fitted = case.fit()
    assert (*case.lost, *fitted.inputs.history) == history
    assert ("history_dropped" in said(fitted)) == bool(case.lost)


@QUICK
@given(histories, windows)
def test_whoever_cannot_save_what_would_be_lost_keeps_it_from_being_lost(history, window):
    case = Case(history, window)

    def fail(dropped: tuple[Message, ...]) -> None:
        raise OSError("The disk is full.")

    steps = Steps(lose=fail)
    if case.fit().inputs.history == history:
        return
    with pytest.raises(OSError, match="full"):
        fit_call(case.assemble, case.inputs, None, case.desk.ground.counts.count, steps=steps)


@QUICK
@given(histories, windows, st.integers(0, 40))
def test_a_summary_goes_only_after_all_that_it_stands_before(history, window, length):
    summary = Message("user", f"Summary of the conversation so far:\n\n{WORDS * length}")
    case = Case((summary, *history), window, summarised=1)
    fitted = case.fit()
    sent = fitted.inputs
    if sent.summarised:
        assert sent.history[0] == summary
        assert (*case.lost, *sent.history[1:]) == history
    else:
        count = case.desk.ground.counts.count
        fixed = [row.tokens for row in fitted.assembly.report.sections if row.kind != "history"]
        assert count(to_plain(summary)) + sum(fixed) > room_in(window)
        assert case.lost[0] == summary


@QUICK
@given(histories, windows, histories)
def test_a_compaction_is_followed_by_a_call_that_is_accepted_and_fits(history, window, shorter):
    told = Finding(code="history_compacted", message="Shorter.", severity="info")
    case = Case(history, window)
    asked: list[int] = []

    def shorten(kept: int) -> Shortened:
        asked.append(kept)
        return Shortened(history=(Message("user", "Summary."), *shorter), summarised=1, findings=(told,))

    fitted = case.fit(shorten)
    check_accepted(fitted.assembly, fitted.inputs.history)
    assert len(asked) <= 1
    assert ("history_compacted" in said(fitted)) == bool(asked)
    assert all(0 < kept <= room_in(window) // 4 for kept in asked)
    assert fitted.used <= window or fitted.inputs.history == ()


@QUICK
@given(st.lists(turns(), min_size=4, max_size=8), st.integers(300, 1_200))
def test_the_prefix_moves_only_forward_as_a_conversation_goes_on(each, window):
    begins: list[int] = []
    for number in range(1, len(each) + 1):
        history = tuple(message for turn in each[:number] for message in turn)
        begins.append(len(history) - len(Case(history, window, files=False).fit().inputs.history))
    assert begins == sorted(begins)


@QUICK
@given(turns(), turns(), st.integers(0, 2_000))
def test_clipped_results_stay_with_their_calls_and_are_accepted(own, more, room):
    count = DESKS[True].ground.counts.count

    def size(messages: Sequence[Message]) -> int:
        return sum(count(to_plain(message)) for message in messages)

    whole = tuple(settle((*own, *more)).messages)
    clipped = clip_results(whole, room, size)
    assert [(m.role, m.tool_call_id, [c.id for c in m.tool_calls]) for m in clipped] == [
        (m.role, m.tool_call_id, [c.id for c in m.tool_calls]) for m in whole
    ]
    assert size(clipped) <= size(whole)
    assert settle(clipped).notes == ()
    # Oldest first: once one is whole, all after it are.
    changed = [number for number, pair in enumerate(zip(clipped, whole, strict=True)) if pair[0] != pair[1]]
    if changed and size(clipped) <= room:
        assert size((*clipped[: changed[-1]], *whole[changed[-1] :])) > room
