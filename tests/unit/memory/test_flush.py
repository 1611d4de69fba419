"""Before history is shrunk, what its turns state is in the journal, once; or history is not shrunk."""

import pytest
from msgspec.structs import replace
from tests.unit.memory.kept import Deadly, Killed, Room, fact

from carrel.errors import CarrelError
from carrel.memory.claims import Claim
from carrel.memory.flush import PRIORITY, Flush
from carrel.runtime.callbacks import Callbacks, CompactionStopped
from carrel.runtime.compact import Compactor
from carrel.runtime.offline.claims import claims_of
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces
from carrel.sessions.store import Sessions
from carrel.testing import EphemeralFiles, FixedClock
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

from tests.unit.memory.kept import NOW  # isort: skip

DAY = "memory/2026-04-24.md"
JWT = "We decided to use JWT for authentication."
STORY = "The harbour is calm and the boats are many. " * 9


class Talk:
    """A session of Kate's that is about to be compacted; `asked` is what a model is to read later."""

    def __init__(self, room: Room, claims=claims_of) -> None:
        self.room, self.claims = room, claims
        self.asked: list[tuple[str, int]] = []
        places = SessionPlaces(
            files=EphemeralFiles(),
            own=EphemeralFiles(),
            agent="kate",
            log_pattern="agents/kate/sessions/{session}.log.jsonl",
            window_pattern="agents/kate/sessions/{session}.jsonl",
            catalog_path="agents/kate/sessions/sessions.json",
        )
        self.sessions = Sessions(places, Offsets(None), FixedClock(NOW), keep_secrets)

    def say(self, *messages: str, scope: Scope = Scope.MAIN, sender: str | None = None) -> None:
        for message in messages:
            number = len(list(self.sessions.entries("s1", 1))) if self.sessions.exists("s1") else 0
            user = {"role": "user", "content": message, "message_id": f"u{number}"}
            if sender:
                user["sender_id"] = sender
            reply = {"role": "assistant", "content": STORY, "message_id": f"a{number}"}
            self.sessions.record("s1", [user, reply], scope=scope)

    def compact(self, room: Room | None = None):
        room = room or self.room
        flush = Flush(
            agent=room.agent,
            sessions=self.sessions,
            records=lambda: room.records,
            keeper=lambda: room.keeper,
            extract=self.claims,
            put=lambda session, number: self.asked.append((session, number)),
            clock=FixedClock(NOW),
        )
        callbacks = Callbacks()
        callbacks.on("before_compaction", flush, priority=PRIORITY)
        compactor = Compactor(
            agent="kate", sessions=self.sessions, callbacks=callbacks, count=lambda text: len(text) // 4
        )
        return compactor.compact("s1", kept=150)

    @property
    def is_compacted(self) -> bool:
        return self.sessions.seen("s1", scope=Scope.MAIN)[0] is not None


@pytest.fixture
def talk() -> Talk:
    return Talk(Room())


def test_what_is_about_to_go_is_in_the_journal_first(talk):
    talk.say(JWT, "What about boats?", "And now?")
    talk.compact()
    line = "- 12:00 [decision] Decided to use JWT for authentication. _(session s1, u0)_\n"
    assert talk.room.text(DAY) == line
    assert talk.is_compacted
    assert talk.asked == [("s1", 4)]


def test_the_same_turns_flushed_twice_add_nothing(talk):
    talk.say(JWT, "What about boats?", "And now?")
    for burnt in range(1, 40):
        fuse = [burnt]
        try:
            talk.compact(talk.room.again(fuse))
            break
        except (Killed, CompactionStopped):
            talk.room.again().pen.recover()
    talk.room.again().pen.recover()
    if not talk.is_compacted:
        talk.compact()
    assert talk.room.text(DAY).count("JWT") == 1


def test_where_nothing_can_be_saved_history_is_not_shrunk(talk):
    talk.say(JWT, "What about boats?", "And now?")

    class Broken(Deadly):
        VERBS = ("append", "write")

        def _burn(self) -> None:
            raise CarrelError("The disk is full.")

    room = talk.room.again()
    room.work = Broken(talk.room.work, [0])
    room._open()
    with pytest.raises(CompactionStopped):
        talk.compact(room)
    assert not talk.is_compacted
    assert talk.asked == []
    talk.compact()
    assert talk.room.text(DAY).count("JWT") == 1


def test_with_memory_off_nothing_is_written_and_nothing_asked(talk):
    talk.say(JWT, "What about boats?", "And now?")
    talk.room.agent = replace(talk.room.agent, memory_enabled=False)
    talk.compact()
    assert talk.is_compacted
    assert talk.room.texts() == {}
    assert talk.asked == []


def test_what_extraction_has_read_is_not_flushed(talk):
    talk.say(JWT, "I prefer tea.", "And now?")
    talk.room.records.facts.advance("kate", "s1", expect=0, to=2)
    talk.compact()
    assert "JWT" not in talk.room.text(DAY)
    assert "tea" in talk.room.text(DAY)


def test_what_somebody_else_said_does_not_reach_the_journal(talk):
    talk.say(JWT, scope=Scope.SHARED, sender="mallory")
    talk.say("What about boats?", "And now?")
    talk.compact()
    assert talk.room.texts() == {}


def test_what_came_from_outside_waits_for_its_owner():
    talk = Talk(Room(), lambda stretch, _: [Claim(text=JWT, kind="note", evidence=(stretch.messages[0].id,))])
    talk.say(JWT, scope=Scope.SHARED, sender="mallory")
    talk.say("What about boats?", "And now?")
    talk.compact()
    assert talk.room.texts() == {}
    assert [each.why for each in talk.room.records.proposals.list()] == ["external_source"]


def test_what_was_forgotten_is_not_flushed(talk):
    talk.say(JWT, "What about boats?", "And now?")
    talk.room.records.facts.add([fact("Decided to use JWT for authentication.", state="forgotten")])
    talk.compact()
    assert talk.room.texts() == {}


def test_without_a_journal_it_goes_to_the_notebook(talk):
    talk.say(JWT, "What about boats?", "And now?")
    talk.room.layout = load_layout("squad")
    talk.compact(talk.room.again())
    assert "- Decided to use JWT for authentication." in "".join(talk.room.texts().values())


def test_another_agents_compaction_is_none_of_its_concern(talk):
    talk.say(JWT, "What about boats?", "And now?")
    talk.room.agent = replace(talk.room.agent, id="luis")
    talk.compact()
    assert talk.room.texts() == {}
