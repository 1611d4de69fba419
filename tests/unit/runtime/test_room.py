"""A call that fits its window: what is left out, in which order, and what is said about it."""

from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.context.conftest import NOW, Desk
from tests.unit.runtime.house import House, says

from carrel.context.assemble import Assembly
from carrel.context.calls import to_plain
from carrel.context.inputs import Inputs, Recalled
from carrel.errors import UsageError
from carrel.findings import Finding
from carrel.runtime.loop import Prepared
from carrel.runtime.room import (
    MOST_RESERVED,
    Fitted,
    OverWindow,
    Shortened,
    Steps,
    fit_call,
    kept_of,
    refuse_over,
    room_in,
)
from carrel.sessions.message import Message, ToolCall
from carrel.settings import ModelSettings
from carrel.testing import ScriptedModel
from carrel.workspace.scope import Scope

SMALL = "layout: carrel\nagents: [{id: kate}]\nmodel: {context_window: 8000}\n"
WORDS = "The harbour is calm and the boats are many. "
STEPS = ["recall_trimmed", "files_trimmed", "history_compacted", "history_dropped"]


def text(tokens: int) -> str:
    """A text of about so many tokens."""
    return WORDS * (tokens // 10)


def hits(count: int, tokens: int = 100) -> tuple[Recalled, ...]:
    return tuple(Recalled(path=f"memory/{n}.md", line=1, text=f"HIT{n} {text(tokens)}") for n in range(count))


def turns(count: int, tokens: int = 100) -> tuple[Message, ...]:
    """Turns of about so many tokens each."""
    return tuple(
        message
        for number in range(count)
        for message in (Message("user", f"QUESTION{number}?"), Message("assistant", text(tokens)))
    )


class Call:
    """A workspace with a window, and one call over it; `steps` is the order in which history was touched."""

    def __init__(self, window: int | None, files: dict[str, str] | None = None, **inputs: Any):
        own = Desk(files or {"AGENTS.md": "Be brief.\n"})
        self.desk = own.set(model=ModelSettings(context_window=window))
        self.inputs = Inputs(scope=Scope.MAIN, now=NOW, time_zone="UTC", **{"query": "And now?", **inputs})
        self.steps: list[str] = []
        self.lost: list[Message] = []
        self.shorter: Shortened | None = None

    def fit(self, *, room: int | None = None) -> Fitted:
        return fit_call(
            lambda inputs, budget: self.desk.assembler.assemble(inputs, budget=budget),
            self.inputs,
            None,
            self.desk.ground.counts.count,
            steps=Steps(shorten=self._shorten, lose=self._lose),
            room=room,
        )

    def whole(self) -> Assembly:
        """The call as it would be if there were room for all of it."""
        return self.desk.assembler.assemble(self.inputs)

    def _shorten(self, kept: int) -> Shortened:
        assert kept > 0
        self.steps.append("shorten")
        return self.shorter or Shortened()

    def _lose(self, dropped: tuple[Message, ...]) -> None:
        self.steps.append("lose")
        self.lost += dropped


def codes(fitted: Fitted) -> list[str]:
    said = [warning.code for warning in fitted.assembly.report.warnings]
    return [code for code in said if code in STEPS]


def history_in(fitted: Fitted) -> list[str]:
    return [message.to_text() for message in fitted.inputs.history]


def row(assembly: Assembly, name: str):
    return next(row for row in assembly.report.sections if row.name == name)


SUMMARY = Message("user", f"Summary of the conversation so far:\n\n- NX-4711 {text(60)}")
COMPACTED = Shortened(
    history=(SUMMARY, *turns(2)),
    summarised=1,
    findings=(Finding(code="history_compacted", message="Shorter now.", severity="info"),),
)
LARGE = {"AGENTS.md": "Be brief.\n", "stack.md": text(1_500), "team.md": text(1_500), "zoo.md": text(1_500)}


# --------------------------------------------------------------------------------------------------------- the order


def test_what_fits_is_sent_whole_and_nothing_is_said():
    call = Call(8_000, recall=hits(3), history=turns(5))
    fitted = call.fit()
    assert fitted.assembly == call.whole()
    assert (codes(fitted), call.steps) == ([], [])


def test_each_step_is_taken_in_its_order_and_each_is_said():
    call = Call(4_000, LARGE, recall=hits(10), history=turns(60))
    call.shorter = replace(COMPACTED, history=(SUMMARY, *turns(40)))
    fitted = call.fit()
    assert codes(fitted) == STEPS
    assert call.steps == ["shorten", "lose"]
    assert fitted.used <= room_in(4_000)


def test_recall_goes_first_and_its_last_hits_first():
    call = Call(4_000, recall=hits(30), history=turns(10))
    fitted = call.fit()
    assert (codes(fitted), call.steps) == (["recall_trimmed"], [])
    assert fitted.inputs.history == call.inputs.history
    kept = len(fitted.inputs.recall)
    assert 0 < kept < 30
    assert fitted.inputs.recall == call.inputs.recall[:kept]
    assert f"{30 - kept} of 30 recalled hits" in fitted.assembly.report.warnings[-1].message
    assert "HIT0 " in fitted.assembly.to_text()
    assert "HIT29 " not in fitted.assembly.to_text()


def test_files_go_next_and_leave_room_for_a_conversation():
    call = Call(4_000, LARGE, history=turns(4, 80))
    fitted = call.fit()
    assert (codes(fitted), call.steps) == (["files_trimmed"], [])
    assert fitted.inputs.history == call.inputs.history
    files = [row for row in fitted.assembly.report.sections if row.kind in ("document", "documents")]
    assert sum(row.tokens for row in files) <= room_in(4_000) * 3 // 4
    assert row(fitted.assembly, "AGENTS.md").state == "included"
    assert row(fitted.assembly, "zoo.md").state in ("excluded", "truncated")


def test_history_is_compacted_before_anything_of_it_is_dropped():
    call = Call(4_000, history=turns(60))
    call.shorter = COMPACTED
    fitted = call.fit()
    assert (codes(fitted), call.steps) == (["history_compacted"], ["shorten"])
    assert fitted.inputs.history == COMPACTED.history
    assert fitted.inputs.summarised == 1


def test_where_it_cannot_be_compacted_the_oldest_whole_turns_are_not_sent():
    call = Call(4_000, history=turns(60))
    fitted = call.fit()
    assert (codes(fitted), call.steps) == (["history_dropped"], ["shorten", "lose"])
    kept = fitted.inputs.history
    assert kept == call.inputs.history[-len(kept) :]
    assert kept[0].role == "user"
    assert tuple(call.lost) == call.inputs.history[: -len(kept)]
    assert f"The {len(call.lost)} oldest messages" in fitted.assembly.report.warnings[-1].message
    assert fitted.used <= room_in(4_000)


def test_a_message_that_is_larger_than_the_rest_still_leaves_no_history_behind():
    call = Call(4_000, history=turns(4), query=text(3_590))
    fitted = call.fit()
    assert fitted.inputs.history == ()
    assert tuple(call.lost) == call.inputs.history
    assert codes(fitted) == ["history_dropped"]


def test_a_call_that_will_not_be_made_asks_nobody():
    call = Call(4_000, history=turns(60))
    fitted = fit_call(
        lambda inputs, budget: call.desk.assembler.assemble(inputs, budget=budget),
        call.inputs,
        None,
        call.desk.ground.counts.count,
    )
    assert fitted.used <= room_in(4_000)
    assert call.steps == []


def test_less_room_than_the_window_has_is_kept_to():
    call = Call(4_000, history=turns(20))
    assert codes(call.fit()) == []
    fitted = call.fit(room=1_000)
    assert fitted.used <= 1_000
    assert codes(fitted) == ["history_dropped"]


def test_tools_and_the_answer_have_their_room_too():
    call = Call(4_000, history=turns(30), beside=1_500)
    fitted = call.fit()
    assert fitted.used + 1_500 + 400 <= 4_000
    assert (room_in(4_000), room_in(1_000_000, 500)) == (3_600, 1_000_000 - MOST_RESERVED - 500)


# ----------------------------------------------------------------------------------------------------------- a summary


def with_summary(*messages: Message) -> dict[str, Any]:
    return {"history": (SUMMARY, *messages), "summarised": 1}


def test_a_summary_stays_while_turns_are_dropped():
    call = Call(4_000, **with_summary(*turns(60)))
    fitted = call.fit()
    assert fitted.inputs.history[0] == SUMMARY
    assert fitted.inputs.summarised == 1
    assert SUMMARY not in call.lost
    assert "NX-4711" in fitted.assembly.to_text()
    assert fitted.inputs.history[1].role == "user"


def test_a_summary_is_dropped_last_and_not_in_silence():
    call = Call(1_000, **with_summary(*turns(4)))
    fixed = Call(1_000).whole().report.tokens.used
    assert call.fit(room=fixed + 80).inputs.history == (SUMMARY,)
    call.lost.clear()
    fitted = call.fit(room=fixed + 60)
    assert fitted.inputs.history == ()
    assert fitted.inputs.summarised == 0
    assert call.lost[0] == SUMMARY
    assert tuple(call.lost) == call.inputs.history
    assert codes(fitted) == ["history_dropped"]


def test_a_summary_goes_rather_than_the_last_turn_where_only_one_of_both_fits():
    long = replace(SUMMARY, content=text(700))
    call = Call(1_000, history=(long, *turns(3)), summarised=1)
    fitted = call.fit(room=400)
    assert long not in fitted.inputs.history
    assert "QUESTION2?" in history_in(fitted)
    assert call.lost[0] == long


# ------------------------------------------------------------------------------------------------------- calm prefixes


def test_the_prefix_does_not_move_with_every_turn():
    begins: list[str] = []
    for count in range(40, 120):
        fitted = Call(8_000, history=turns(count)).fit()
        if codes(fitted):
            begins.append(history_in(fitted)[0])
    moved = [number for number in range(1, len(begins)) if begins[number] != begins[number - 1]]
    assert len(begins) > 40
    # A turn has about 100 tokens, and a quarter of the room 1,800.
    assert len(moved) <= len(begins) // 15 + 1
    assert all(later - earlier > 12 for earlier, later in pairwise(moved))


def test_a_step_that_would_take_everything_leaves_the_last_turn_that_fits():
    history = (*turns(1, 300), *turns(1, 300), Message("user", "LAST?"), Message("assistant", text(650)))
    call = Call(1_000, history=history)
    fitted = call.fit(room=900)
    assert history_in(fitted)[:1] == ["LAST?"]


def test_a_call_and_its_result_go_together():
    asked = Message("assistant", "", tool_calls=(ToolCall(id="c1", name="read_file", arguments={}),))
    result = Message("tool", text(300), tool_call_id="c1")
    turn = (Message("user", "Look."), asked, result, Message("assistant", "Done."))
    for room in range(200, 1_500, 37):
        kept = Call(2_000, history=(*turn, *turns(3), *turn)).fit(room=room).inputs.history
        assert (asked in kept) == (result in kept)
        assert kept == () or kept[0].role == "user"


# --------------------------------------------------------------------------------------------------- an assumed window


def test_an_assumed_window_cuts_no_file():
    call = Call(None, LARGE, history=turns(20))
    assert not call.whole().report.tokens.known
    fitted = call.fit(room=2_000)
    assert "files_trimmed" not in codes(fitted)
    assert row(fitted.assembly, "zoo.md").state == "included"
    # History is left out all the same: a window there is.
    assert fitted.inputs.history == ()
    assert "history_dropped" in codes(fitted)


def test_an_assumed_window_refuses_nothing():
    call = Call(None, query=text(200_000))
    assembly = call.fit().assembly
    assert assembly.report.tokens.used > assembly.report.tokens.window
    refuse_over(assembly, 10_000)
    assert "over_window" in [warning.code for warning in assembly.report.warnings]


def test_a_known_window_refuses_what_cannot_fit_with_both_figures():
    assembly = Call(4_000, query=text(5_000)).fit().assembly
    with pytest.raises(OverWindow) as caught:
        refuse_over(assembly, 0)
    assert isinstance(caught.value, UsageError)
    assert caught.value.code == "message_over_window"
    assert f"{assembly.report.tokens.used:,}" in caught.value.message
    assert "4,000" in caught.value.message
    assert "model.context_window" in caught.value.hint


def test_what_is_beside_the_sections_counts_for_a_refusal():
    assembly = Call(4_000, query=text(3_000)).fit().assembly
    refuse_over(assembly, 0)
    with pytest.raises(OverWindow):
        refuse_over(assembly, 4_001 - assembly.report.tokens.used)


# ------------------------------------------------------------------------------------------------- when to compact


def filled(percent: int, window: int = 10_000) -> Call:
    """A call whose history fills a window to so many percent."""
    count = Call(window).desk.ground.counts.count
    base = Call(window).whole().report.tokens.used
    each = sum(count(to_plain(message)) for message in turns(1))
    return Call(window, history=turns(max(0, window * percent // 100 - base) // each + 1))


@pytest.mark.parametrize(("percent", "full"), [(50, False), (80, False), (86, True), (95, True), (300, True)])
def test_history_is_compacted_from_85_percent_on(percent, full):
    assert (kept_of(filled(percent).whole(), 0) is not None) is full


def test_what_the_provider_counts_beyond_us_brings_it_forward():
    call = filled(75)
    assert kept_of(call.whole(), 0) is None
    assert kept_of(call.whole(), 1_500) is not None


def test_a_quarter_of_the_room_stays_word_for_word():
    assert kept_of(filled(95).whole(), 0) == room_in(10_000) // 4


def test_it_is_not_compacted_where_files_and_not_history_fill_the_window():
    call = Call(6_000, LARGE, history=turns(6))
    assert call.whole().report.tokens.used * 100 > 6_000 * 85
    assert kept_of(call.whole(), 0) is None


def test_what_was_compacted_is_dropped_no_further_than_it_must_be():
    call = Call(4_000, history=turns(60))
    call.shorter = replace(COMPACTED, history=(SUMMARY, *turns(60)))
    fitted = call.fit()
    assert fitted.inputs.history[0] == SUMMARY
    assert fitted.inputs.history[1:] == turns(60)[-len(fitted.inputs.history) + 1 :]
    assert SUMMARY not in call.lost


@pytest.mark.parametrize("name", ["SOUL.md", "AGENTS.md", "USER.md", "MEMORY.md", "knowledge/KNOWLEDGE.md"])
def test_a_file_that_is_always_sent_is_cut_where_it_would_fill_the_window(tmp_path, name):
    long = "The harbour is calm and the boats are many. " * 1_500
    house = House(tmp_path / "house", tmp_path / "home").put({"carrel.yaml": SMALL, name: long}).trust()
    model = ScriptedModel(says("Yes."))
    events = house.say(model, "Are you there?")
    report = next(event.assembly.report for event in events if isinstance(event, Prepared))
    assert report.tokens.used < report.tokens.window
    assert "files_trimmed" in {finding.code for finding in report.warnings}


def test_the_window_is_that_of_the_model_that_answers(tmp_path):
    house = House(tmp_path / "house", tmp_path / "home").put(
        {"carrel.yaml": "layout: carrel\nagents: [{id: kate}]\n"}
    )
    model = ScriptedModel(says("Yes."), name="openai:gpt-4")
    events = house.trust().say(model)
    report = next(event.assembly.report for event in events if isinstance(event, Prepared))
    assert (report.tokens.window, report.model) == (8_192, "openai:gpt-4")


def test_a_call_can_be_looked_at_as_it_would_be_in_another_window(tmp_path):
    long = "The harbour is calm and the boats are many. " * 1_500
    house = House(tmp_path / "house", tmp_path / "home").put(
        {"carrel.yaml": "layout: carrel\nagents: [{id: kate}]\n", "SOUL.md": long}
    )
    with house.trust().open() as kate:
        whole, small = kate.assemble().report, kate.assemble(window=8_000).report
        assert (small.tokens.window, small.tokens.known) == (8_000, True)
        assert small.tokens.used < 8_000 < whole.tokens.used
        assert "files_trimmed" in {finding.code for finding in small.warnings}
        assert kate.assemble().report == whole
