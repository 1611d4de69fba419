"""The calls of a session: history that fills the window is compacted, and what is left out was offered first."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime.house import KATES, NOW, House

from carrel.app import Workspace
from carrel.context.assemble import Assembly
from carrel.runtime.callbacks import CompactionBegins, CompactionStopped
from carrel.runtime.compact import COOL_DOWN
from carrel.runtime.room import OverWindow, room_in
from carrel.sessions.message import Message

WINDOW = 4_000
SETTINGS = (
    f"layout: carrel\nmodel:\n  context_window: {WINDOW}\n"
    "agents:\n  - id: kate\n    systemPromptTemplate: You are Kate.\n"
)
STORY = "The harbour is calm and the boats are many. " * 10
NEEDLE = "We decided to call the ship Zoltan, hull NX-4711."


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house", tmp_path / "home").put({"carrel.yaml": SETTINGS}).trust()


def talk(house: House, turns: int, *, scope: str = "main", begin: int = 0) -> None:
    """Record turns of about 105 tokens each; the first says what must never be forgotten."""
    with house.open() as workspace:
        for number in range(begin, begin + turns):
            asked = NEEDLE if number == 0 else f"Tell me about boat {number}."
            said: list[dict[str, Any]] = [
                {"role": "user", "content": asked, "message_id": f"u{number}"},
                {"role": "assistant", "content": STORY, "message_id": f"a{number}"},
            ]
            workspace.record("s1", said, scope=scope)


def ask(workspace: Workspace, text: str = "And now?", *, scope: str = "main") -> Assembly:
    """Record a message and prepare the call that answers it, as an application does."""
    workspace.record("s1", [{"role": "user", "content": text}], scope=scope)
    return workspace.prepare("s1", text, scope=scope)


def codes(assembly: Assembly) -> list[str]:
    return [warning.code for warning in assembly.report.warnings]


def log_of(house: House) -> bytes:
    return (house.root / f"{KATES}/s1.log.jsonl").read_bytes()


def compactions(house: House) -> list[dict[str, Any]]:
    return [line for line in house.log() if line["type"] == "compaction"]


def entries(house: House) -> list[str]:
    return [line["message_id"] for line in house.log() if line["type"] == "entry"]


# ----------------------------------------------------------------------------------------------------------- compaction


def test_a_history_that_leaves_room_stays_as_it_is(house):
    talk(house, 25)
    with house.open() as workspace:
        assembly = ask(workspace)
    assert assembly.report.tokens.used * 100 < WINDOW * 85
    assert "history_compacted" not in codes(assembly)
    assert compactions(house) == []


def test_from_85_percent_on_it_is_compacted_by_rules(house):
    talk(house, 40)
    with house.open() as workspace:
        assembly = ask(workspace)
    assert "history_compacted" in codes(assembly)
    assert "history_dropped" not in codes(assembly)
    (line,) = compactions(house)
    assert line["method"] == "offline"
    assert assembly.report.tokens.used < WINDOW // 2
    assert "NX-4711" in assembly.to_text()
    assert assembly.messages[-1].to_text().startswith("And now?")
    # The log has every word.
    assert entries(house)[:80] == [f"{who}{number}" for number in range(40) for who in "ua"]


def test_the_next_call_is_not_compacted_again(house):
    talk(house, 40)
    with house.open() as workspace:
        ask(workspace)
        again = ask(workspace, "And then?")
    assert "history_compacted" not in codes(again)
    assert len(compactions(house)) == 1


def test_looking_compacts_nothing(house):
    talk(house, 40)
    before = log_of(house)
    with house.open() as workspace:
        workspace.conversations.caller("s1", "main").look("And now?")
        assembly = workspace.assemble("s1", "And now?")
    assert assembly.report.tokens.used <= room_in(WINDOW)
    assert "history_dropped" in codes(assembly)
    assert log_of(house) == before


def test_strangers_have_a_history_compacted_that_is_all_theirs(house):
    talk(house, 40, scope="shared")
    with house.open() as workspace:
        assembly = ask(workspace, scope="shared")
    assert "history_compacted" in codes(assembly)
    assert compactions(house)[0]["scope"] == "shared"
    assert "NX-4711" in assembly.to_text()


def test_strangers_who_heard_only_a_part_have_it_left_out_and_not_compacted(house):
    talk(house, 1)
    talk(house, 40, scope="shared", begin=1)
    with house.open() as workspace:
        assembly = ask(workspace, scope="shared")
    assert "history_dropped" in codes(assembly)
    assert "history_compacted" not in codes(assembly)
    assert assembly.report.tokens.used <= room_in(WINDOW)
    assert "NX-4711" not in assembly.to_text()
    assert compactions(house) == []
    with house.open() as workspace:
        assert "history_compacted" in codes(ask(workspace))


def test_five_messages_larger_than_the_window_end_in_a_typed_error_and_a_whole_log(house):
    for number in range(5):
        with house.open() as workspace:
            with pytest.raises(OverWindow) as caught:
                ask(workspace, f"{number}: {STORY * 60}")
            assert caught.value.code == "message_over_window"
    assert len(entries(house)) == 5
    # What came before them is not lost, and a message that fits is answered again.
    with house.open() as workspace:
        assembly = ask(workspace, "Are you there?")
    assert assembly.messages[-1].to_text().startswith("Are you there?")
    assert assembly.report.tokens.used <= room_in(WINDOW)


# ------------------------------------------------------------------------------------------------- offered before it goes


class Saver:
    """A callback that saves what is offered; `fails` says how often it cannot, `seen` what the log was then."""

    def __init__(self, house: House, *, fails: int = 0):
        self.house = house
        self.fails = fails
        self.calls = 0
        self.saved: list[Message] = []
        self.seen: list[int] = []

    def __call__(self, event: CompactionBegins) -> None:
        self.calls += 1
        if self.calls <= self.fails:
            raise OSError("The disk is full.")
        self.saved += event.messages
        self.seen.append(len(compactions(self.house)))

    def texts(self) -> set[str]:
        return {message.to_text() for message in self.saved}


def test_what_becomes_a_summary_was_offered_before(house):
    talk(house, 40)
    saver = Saver(house)
    with house.open() as workspace:
        workspace.callbacks.on("before_compaction", saver)
        assembly = ask(workspace)
    assert saver.seen == [0]
    sent = {message.to_text() for message in assembly.messages}
    gone = {f"Tell me about boat {number}." for number in range(1, 40)} - sent
    assert gone
    assert gone <= saver.texts()
    assert NEEDLE in saver.texts()


def test_what_is_dropped_was_offered_before(house):
    talk(house, 1)
    talk(house, 40, scope="shared", begin=1)
    saver = Saver(house)
    with house.open() as workspace:
        workspace.callbacks.on("before_compaction", saver)
        assembly = ask(workspace, scope="shared")
    sent = {message.to_text() for message in assembly.messages}
    gone = {f"Tell me about boat {number}." for number in range(1, 40)} - sent
    assert gone
    assert gone <= saver.texts()
    # Strangers never heard the beginning, and are offered none of it.
    assert NEEDLE not in saver.texts()


def test_a_callback_that_fails_keeps_history_from_shrinking(house):
    talk(house, 60)
    saver = Saver(house, fails=1_000)
    with house.open() as workspace:
        workspace.callbacks.on("before_compaction", saver)
        workspace.record("s1", [{"role": "user", "content": "And now?"}])
        before = log_of(house)
        with pytest.raises(CompactionStopped) as caught:
            workspace.prepare("s1", "And now?")
    assert caught.value.code == "compaction_stopped"
    assert caught.value.hint
    assert log_of(house) == before


def test_a_callback_that_fails_while_all_still_fits_stops_no_call(house):
    talk(house, 32)
    saver = Saver(house, fails=1_000)
    with house.open() as workspace:
        workspace.callbacks.on("before_compaction", saver)
        assembly = ask(workspace)
    assert WINDOW * 85 <= assembly.report.tokens.used * 100 <= room_in(WINDOW) * 100
    assert "compaction_failed" in codes(assembly)
    assert "history_dropped" not in codes(assembly)
    assert NEEDLE in assembly.to_text()
    assert compactions(house) == []


def test_a_failed_compaction_is_not_tried_again_for_ten_minutes_and_turns_are_dropped_meanwhile(house):
    talk(house, 60)
    first = Saver(house, fails=1)  # it fails for the compaction, and saves what is dropped then
    with house.open() as workspace:
        workspace.callbacks.on("before_compaction", first)
        assembly = ask(workspace)
    assert codes(assembly)[-2:] == ["compaction_failed", "history_dropped"]
    soon = Saver(house)
    with house.open(at=NOW + COOL_DOWN - timedelta(seconds=1)) as workspace:
        workspace.callbacks.on("before_compaction", soon)
        assembly = ask(workspace)
    assert "history_dropped" in codes(assembly)
    assert "compaction_failed" not in codes(assembly)
    assert soon.calls == 1  # for what is dropped, and for no compaction
    assert assembly.report.tokens.used <= room_in(WINDOW)
    assert compactions(house) == []
    with house.open(at=NOW + COOL_DOWN) as workspace:
        assert "history_compacted" in codes(ask(workspace))
    assert len(compactions(house)) == 1


# ------------------------------------------------------------------------------------------------------- without records


def test_a_conversation_goes_on_without_records(house):
    talk(house, 2)
    without_records(house)
    with house.open() as workspace:
        workspace.record("s1", [{"role": "user", "content": "And now?"}])
        fitted = workspace.conversations.caller("s1", "main").go_on("And now?")
    assert "records_unavailable" in codes(fitted.assembly)
    assert fitted.used <= room_in(WINDOW)


def test_a_full_history_is_not_shrunk_where_nothing_of_it_can_be_remembered(house):
    talk(house, 60)
    without_records(house)
    with house.open() as workspace:
        workspace.record("s1", [{"role": "user", "content": "And now?"}])
        before = log_of(house)
        with pytest.raises(CompactionStopped) as stopped:
            workspace.conversations.caller("s1", "main").go_on("And now?")
    assert "records.db cannot be used" in stopped.value.message
    assert log_of(house) == before
    assert json.loads(before.splitlines()[1])["content"] == NEEDLE


def without_records(house):
    """Put something where the records are that nobody can open."""
    for file in (house.root / ".carrel/state").glob("*"):
        file.unlink()
    (house.root / ".carrel/state/records.db").mkdir(parents=True)
