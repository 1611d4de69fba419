"""What the index is told of a workspace: its files by tier, and what was said in its sessions."""

import os
import time

import pytest
from msgspec.structs import replace
from tests.unit.context.conftest import NOW

from carrel.files import SETTLED_NS, Unreadable
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.index import Place, Text
from carrel.runtime.library import Library
from carrel.runtime.logs import Logs
from carrel.runtime.view import look
from carrel.runtime.walked import Walked
from carrel.sessions.intake import keep_secrets
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import places_of
from carrel.sessions.store import Sessions
from carrel.sessions.turn import said
from carrel.settings import AgentSettings
from carrel.testing import FixedClock
from carrel.workspace.document import Documents
from carrel.workspace.ignore import find_rules
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope, privacy_of

LOG = "agents/kate/sessions/s1.log.jsonl"


class Room:
    """A directory, the sessions in it, and the library over both."""

    def __init__(self, root, layout="carrel", agents=("kate",)):
        self.root = root
        self.layout = load_layout(layout)
        self.files = LocalFiles(root)
        self.lengths = {}
        self.walked = None
        self.logs = Logs()
        self.rules = "rules"
        self.names = {agent: agent for agent in agents}
        self.sessions = [
            Sessions(
                places_of(self.layout, AgentSettings(id=agent), self.files, EphemeralFiles()),
                Offsets(None),
                FixedClock(NOW),
                keep_secrets,
            )
            for agent in agents
        ]

    def put(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        return self

    def say(self, session, *messages, scope=Scope.MAIN, agent=0):
        self.sessions[agent].record(session, messages, scope=scope)
        return self

    @property
    def library(self):
        reading = Documents(self.files).reading()
        return Library(
            files=self.files,
            layout=self.layout,
            view=look(privacy_of(self.layout, reading), scope=Scope.SHARED),
            ignored=find_rules(reading),
            sessions=self.sessions,
            names=self.names,
            lengths=self.lengths,
            rules=self.rules,
            walked=self.walked,
            logs=self.logs,
        )

    def places(self, only=None):
        """What can be searched."""
        return {path: place for path, place in self.all_places(only).items() if place.lack is None}

    def all_places(self, only=None):
        return {place.path: place for place in self.library.places(only)}

    def text(self, path):
        return self.library.text(Place(path=path, tier="document"))


@pytest.fixture
def room(tmp_path):
    return Room(tmp_path)


def user(text, **fields):
    return said({"role": "user", "content": text, **fields})


def age(path):
    """Make a file look as if nobody had touched it for a while."""
    then = time.time_ns() - 10 * SETTLED_NS
    os.utime(path, ns=(then, then))


def test_every_text_file_is_there_with_its_tier(room):
    room.put(
        {
            "AGENTS.md": "a",
            "MEMORY.md": "b",
            "memory/2026-04-24.md": "c",
            "src/x.py": "d",
            "knowledge/k.md": "e",
        }
    )
    assert {path: place.tier for path, place in room.places().items()} == {
        "AGENTS.md": "document",
        "MEMORY.md": "profile",
        "memory/2026-04-24.md": "journal",
        "src/x.py": "document",
        "knowledge/k.md": "knowledge",
    }


def test_what_is_ignored_hidden_or_too_large_is_not_there(room):
    room.put(
        {
            ".carrelignore": "drafts/\n*.log\n",
            "drafts/a.md": "x",
            "b.log": "x",
            ".env": "x",
            "node_modules/m.js": "x",
            "id_rsa": "x",
            "large.txt": "x" * (1024 * 1024 + 1),
            "kept.md": "x",
        }
    )
    assert set(room.places()) == {"kept.md"}


def test_a_file_at_the_limit_is_read(room):
    room.put({"large.txt": "x" * (1024 * 1024)})
    assert room.places()["large.txt"].lack is None
    assert len(room.text("large.txt").text) == 1024 * 1024


def test_what_cannot_be_searched_says_why(room, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    room.put({"large.txt": "x" * (1024 * 1024 + 1), "drafts/large.txt": "x" * (1024 * 1024 + 1), "a.md": "x"})
    room.put({".carrelignore": "drafts/\n"})
    os.mkfifo(room.root / "pipe.md")
    (room.root / "out.md").symlink_to(outside)
    lacks = {path: place.lack for path, place in room.all_places().items()}
    assert {path: lack for path, lack in lacks.items() if lack} == {
        "large.txt": "too_large",
        "pipe.md": "unreadable",
        "out.md": "unreadable",
    }


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"\x80"])
def test_what_is_no_text_says_so(room, content):
    room.put({"odd.bin": content})
    assert room.text("odd.bin") == Text(lack="not_text")


def test_what_cannot_be_read_or_has_grown_meanwhile_says_so(room):
    room.put({"grown.txt": "x" * (1024 * 1024 + 1), "folder/a.md": "x"})
    assert room.text("grown.txt") == Text(lack="too_large")
    assert room.text("folder") == Text(lack="unreadable")


def test_a_byte_order_mark_is_no_text(room):
    room.put({"a.md": b"\xef\xbb\xbfHello"})
    assert room.text("a.md") == Text(text="Hello")


def test_a_file_that_is_gone_has_no_text(room):
    assert room.text("gone.md") is None


def test_links_inside_are_followed_once_and_links_outside_are_not(room, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    room.put({"docs/a.md": "a"})
    (room.root / "link.md").symlink_to("docs/a.md")
    (room.root / "out.md").symlink_to(outside)
    (room.root / "loop").symlink_to(".")
    places = room.places()
    assert "out.md" not in places
    assert all(not path.startswith("loop/") for path in places)
    assert {"docs/a.md", "link.md"} <= set(places)


def test_a_pipe_stops_nobody(room):
    os.mkfifo(room.root / "pipe.md")
    room.put({"a.md": "x"})
    assert set(room.places()) == {"a.md"}


@pytest.mark.parametrize(
    "name", ["MEMORY.md", "USER.md", "memory/2026-04-24.md", "carrel.yaml", ".carrelignore"]
)
def test_private_files_say_so(room, name):
    room.put({name: "x", "team.md": "y"})
    places = room.places([name, "team.md"])
    assert name not in places or places[name].private
    assert not places["team.md"].private


def test_a_file_is_private_by_its_front_matter_from_the_moment_it_says_so(room):
    room.put({"plan.md": "open\n"})
    assert not room.text("plan.md").private
    assert room.library.seen(["plan.md"], Scope.SHARED) == {"plan.md"}
    room.put({"plan.md": "<!-- scope: private -->\nclosed\n"})
    assert room.text("plan.md").private
    assert room.library.seen(["plan.md"], Scope.SHARED) == set()
    assert room.library.seen(["plan.md", "gone.md"], Scope.MAIN) == {"plan.md"}


@pytest.mark.parametrize("name", ["plan.md", "plan.txt", "plan.py"])
@pytest.mark.parametrize("content", [b"<!-- scope: private -->\n\xc3\xbc", b"---\nscope: private\n---\nx"])
def test_what_a_file_says_of_itself_counts_whatever_its_kind(room, name, content):
    room.put({name: content})
    assert room.text(name).private


def test_looking_what_there_is_reads_no_file(room):
    class Counted:
        def __init__(self, files):
            self._files = files
            self.asked = []

        def __getattr__(self, name):
            self.asked.append(name)
            return getattr(self._files, name)

    room.put({f"notes/{number}.md": "x" for number in range(20)})
    room.files = Counted(room.files)
    library = room.library
    room.files.asked.clear()
    assert len(list(library.places())) == 20
    assert {"read", "part"}.isdisjoint(room.files.asked)


def test_another_name_of_a_private_file_is_private(room):
    room.put({"MEMORY.md": "secret"})
    (room.root / "hard.md").hardlink_to(room.root / "MEMORY.md")
    (room.root / "soft.md").symlink_to("MEMORY.md")
    places = room.places()
    assert places["hard.md"].private
    assert places["soft.md"].private


def test_a_second_name_becomes_private_when_the_first_does(room):
    room.put({"plan.md": "text"})
    (room.root / "twin.md").hardlink_to(room.root / "plan.md")
    assert not room.places()["twin.md"].private
    (room.root / "plan.md").rename(room.root / "MEMORY.md")
    assert room.places()["twin.md"].private


def test_a_stamp_stands_for_a_file_that_was_left_alone_and_for_no_other(room):
    room.put({"old.md": "x", "new.md": "y"})
    age(room.root / "old.md")
    # The time of a change cannot be set back, so that a file is settled only by waiting.
    stamps = {path: place.stamp for path, place in room.places().items()}
    assert stamps["new.md"] == ""


def test_a_clock_that_was_set_back_does_not_have_every_file_read_again(room, monkeypatch):
    room.put({"a.md": "x", "b.md": "y"})
    now = time.time_ns()
    monkeypatch.setattr("carrel.runtime.library.time_ns", lambda: now - 3_600_000_000_000)
    assert all(place.stamp for place in room.places().values())


@pytest.fixture
def settled(monkeypatch):
    """Everything was left alone for long enough."""
    monkeypatch.setattr("carrel.files.SETTLED_NS", -(10**15))


def again(room):
    """What is told to an index that knows all there is; the stamps of what it need not look at."""
    stamps = {path: place.stamp for path, place in room.all_places().items()}
    assert all(stamps.values())
    return {place.path: place for place in room.library.places(None, stamps)}


def is_told(place):
    """Whether more than its stamp is told of a place."""
    return place != Place(path=place.path, tier=place.tier, stamp=place.stamp)


def test_of_what_is_as_it_was_only_the_stamp_is_told(room, settled):
    room.put({"a.md": "x", "MEMORY.md": "y", "big.txt": "x" * (1024 * 1024 + 1)}).say("s1", user("Hello."))
    assert not any(map(is_told, again(room).values()))
    room.lengths.clear()
    assert set(again(room)) == {"a.md", "MEMORY.md", "big.txt", LOG}


def test_nothing_is_kept_of_a_session_that_rests_or_is_gone(room, settled):
    room.say("s1", user("Hello.")).say("s2", user("Hello."))
    room.all_places()
    other = LOG.replace("s1", "s2")
    assert set(room.lengths) == {LOG, other}
    (room.root / other).unlink()
    room.all_places(only=[other])
    assert set(room.lengths) == {LOG}
    again(room)
    assert not room.lengths


def test_a_file_with_other_names_is_looked_at_each_time(room, settled):
    room.put({"plan.md": "text", "other.md": "text"})
    (room.root / "twin.md").hardlink_to(room.root / "plan.md")
    (room.root / "soft.md").symlink_to("other.md")
    before = again(room)
    assert {path for path, place in before.items() if place.tier} == {"plan.md", "twin.md", "soft.md"}
    (room.root / "plan.md").rename(room.root / "MEMORY.md")
    stamps = {path: place.stamp for path, place in before.items()}
    after = {place.path: place for place in room.library.places(None, stamps)}
    assert after["twin.md"].private
    assert after["twin.md"].stamp != before["twin.md"].stamp


def test_other_rules_have_everything_told_anew(room, settled):
    room.put({"a.md": "x", "drafts/b.md": "y"})
    stamps = {path: place.stamp for path, place in room.all_places().items()}
    room.put({".carrelignore": "drafts/\n"})
    room.rules = "other rules"
    told = {place.path: place for place in room.library.places(None, stamps)}
    assert {path: place.tier for path, place in told.items()} == {"a.md": "document"}


def test_an_agent_that_gets_another_name_has_its_sessions_read_anew(room, settled):
    room.say("s1", user("Hello."), said({"role": "assistant", "content": "Hi."}))
    before = room.places()[LOG]
    room.names["kate"] = "Katharina"
    (after,) = room.library.places(None, {LOG: before.stamp})
    assert after.begin != before.begin
    assert [turn.speaker for turn in room.library.turns(after, 1)] == ["user", "Katharina"]


def test_only_some_paths_are_looked_at(room):
    room.put({"a.md": "x", "b.md": "y"}).say("s1", user("Hello."))
    assert set(room.places(["a.md"])) == {"a.md"}
    assert set(room.places([LOG])) == {LOG}
    assert room.places(["gone.md", "no/such/folder.md"]) == {}


def test_a_session_is_a_place_and_its_files_are_no_documents(room):
    room.say("s1", user("Hello."), said({"role": "assistant", "content": "Hi."}))
    room.sessions[0].settle("s1")
    assert (room.root / "agents/kate/sessions/sessions.json").exists()
    places = room.places()
    assert set(places) == {LOG}
    assert (places[LOG].tier, places[LOG].session, places[LOG].agent, places[LOG].turns) == (
        "session", "s1", "kate", 2,
    )  # fmt: skip


def test_turns_say_who_spoke_when_and_to_whom(room):
    room.say("s1", user("Mine."))
    room.say(
        "s1", user("Ours.", name="Ana"), said({"role": "assistant", "content": "Hi."}), scope=Scope.SHARED
    )
    library = room.library
    turns = list(library.turns(room.places()[LOG], 1))
    assert [(turn.text, turn.speaker, turn.private) for turn in turns] == [
        ("Mine.", "user", True),
        ("Ours.", "Ana", False),
        ("Hi.", "kate", False),
    ]
    assert {turn.date for turn in turns} == {"2026-04-24"}
    assert all(turn.message_id for turn in turns)
    assert [turn.text for turn in library.turns(room.places()[LOG], 3)] == ["Hi."]


def test_what_a_tool_said_is_not_searched_and_keeps_its_number(room):
    call = {"id": "c1", "name": "read_file", "arguments": {"path": "x"}}
    room.say(
        "s1",
        user("Read it."),
        said({"role": "assistant", "content": "", "tool_calls": [call]}),
        said({"role": "tool", "content": "SECRET OUTPUT", "tool_call_id": "c1"}),
        said({"role": "assistant", "content": "Done."}),
    )
    turns = list(room.library.turns(room.places()[LOG], 1))
    assert [turn.number for turn in turns] == [1, 2, 3, 4]
    assert turns[2].text == ""
    assert turns[3].text == "Done."


def test_a_session_that_grew_says_so_and_keeps_its_mark(room):
    room.say("s1", user("One."))
    before = room.places()[LOG]
    room.say("s1", user("Two."))
    after = room.places()[LOG]
    assert (before.turns, after.turns) == (1, 2)
    assert after.begin == before.begin


def test_two_agents_with_a_session_of_one_name_have_two_places(tmp_path):
    room = Room(tmp_path, agents=("kate", "milo")).say("s1", user("Kate's."))
    room.say("s1", user("Milo's."), agent=1)
    assert {(place.agent, place.session) for place in room.places().values()} == {
        ("kate", "s1"),
        ("milo", "s1"),
    }


def test_in_a_folder_that_agents_share_each_log_is_one_place(tmp_path):
    room = Room(tmp_path, layout="nexo", agents=("kate", "milo")).say("k1", user("Kate's."))
    room.say("m1", user("Milo's."), agent=1)
    room.put({"transcripts/old.jsonl": '{"role":"user","content":"Whose?","message_id":"x"}\n'})
    found = list(room.library.places())
    assert len({place.path for place in found}) == len(found)
    assert {place.session: place.agent for place in found if place.session != "old"} == {
        "k1": "kate",
        "m1": "milo",
    }


def test_a_damaged_log_stops_nobody(room):
    room.put({LOG: b"\xff\xfe garbage\n{not json\n", "a.md": "x"})
    places = room.places()
    assert "a.md" in places
    assert LOG not in places or list(room.library.turns(places[LOG], 1)) == []


def test_a_folder_that_cannot_be_listed_stops_nobody(room):
    class Locked:
        def __init__(self, files):
            self._files = files

        def __getattr__(self, name):
            return getattr(self._files, name)

        def list(self, under=""):
            if under == "locked":
                raise Unreadable(under, "permission")
            return self._files.list(under)

    room.put({"locked/a.md": "x", "b.md": "y"})
    room.files = Locked(room.files)
    assert set(room.places()) == {"b.md"}
    assert room.all_places()["locked"].lack == "unreadable"
    assert room.places(["locked/a.md"]) == {}


# What was learnt elsewhere

OWN = "agent.0123.kate.md"
TITLED = "---\ntitle: Secret title\nworkspace: /somewhere\n---\n\n## Insights\n\n- Tides turn twice a day.\n"


@pytest.fixture
def learnt(tmp_path):
    """A library over an empty workspace and some namespaces, of which one is this agent's."""
    folder = tmp_path / "namespaces"
    folder.mkdir()
    (folder / "agent.4567.milo.md").write_text("- Another's.\n")

    def library(data):
        (folder / OWN).write_bytes(data)
        (tmp_path / "desk").mkdir(exist_ok=True)
        own = Room(tmp_path / "desk").library
        return replace(own, namespaces=LocalFiles(folder), learnt={OWN: "kate", "agent.89.gone.md": ""})

    return library


def test_what_an_agent_learnt_elsewhere_is_its_owner_s_without_what_the_file_says_of_itself(learnt):
    library = learnt(TITLED.encode())
    (place,) = library.places()
    assert (place.path, place.tier, place.agent, place.private) == (
        f"namespace://{OWN}", "profile", "kate", True,
    )  # fmt: skip
    text = library.text(place)
    assert text.private
    assert text.text.splitlines()[7] == "- Tides turn twice a day."
    assert "Secret" not in text.text
    assert library.seen([place.path, "namespace://agent.4567.milo.md"], Scope.MAIN) == {place.path}
    assert library.seen([place.path], Scope.SHARED) == set()
    assert [each.path for each in library.places([place.path])] == [place.path]
    assert list(library.places([LOG])) == []


@pytest.mark.parametrize(
    ("data", "lack"), [(b"\xff\xfe", "not_text"), (b"a\0b", "not_text"), (b"x" * 2**20 + b"x", "too_large")]
)
def test_a_namespace_that_cannot_be_searched_says_why(learnt, data, lack):
    library = learnt(data)
    (place,) = library.places()
    assert (place.lack or library.text(place).lack) == lack


class Counted(LocalFiles):
    """The files of a directory, which count how often a folder of them is listed."""

    def list(self, under=""):
        self.listed.append(under)
        return super().list(under)


def test_folders_are_listed_again_only_where_something_changed(room):
    room.put({"AGENTS.md": "Be brief.", "memory/2026-04-20.md": "- It rains.", "notes/a.md": "A walrus."})
    room.say("s1", user("Hi."))
    room.files, room.walked = Counted(room.root), Walked()
    room.files.listed = listed = []
    time.sleep(SETTLED_NS / 1e9 + 0.2)  # the clock of a disk cannot be put back
    known = {}

    def told():
        """What is told to one who knows what was told before, and which folders were listed for it."""
        listed.clear()
        places = list(room.library.places(None, known))
        known.update((place.path, place.stamp) for place in places)
        return {place.path for place in places if place.tier}, {*listed}

    assert told()[0] == {"AGENTS.md", "memory/2026-04-20.md", "notes/a.md", LOG}
    assert told() == ({LOG}, {"", "agents", "agents/kate", "memory", "notes"})
    assert told() == ({LOG}, set())
    (room.root / "notes/a.md").write_text("A walrus")
    (room.root / "notes/b.md").write_text("Another.")
    assert told()[0] == {"notes/a.md", "notes/b.md", LOG}
    assert told()[0] == {"notes/a.md", "notes/b.md", LOG}  # it may change again without its times showing it
    room.say("s2", user("Hi."))
    assert told()[0] == {"notes/a.md", "notes/b.md", LOG, LOG.replace("s1", "s2")}
    (resting,) = room.logs.resting.values()
    assert LOG in resting
    (room.root / LOG).unlink()
    assert LOG not in told()[0]
    (room.root / LOG.replace("s1", "s2")).unlink()
    told()
    assert not resting  # of what is gone nothing is kept


def test_of_a_log_that_grew_a_moment_ago_every_turn_is_told(room):
    room.say("s1", user("Hi."))
    told = []
    for number in range(3):
        room.say("s1", user(f"And {number}."))
        told.append((room.places()[LOG].turns, room.places([LOG])[LOG].turns))
    assert told == [(2, 2), (3, 3), (4, 4)]


def test_a_log_that_was_replaced_a_moment_ago_is_measured_anew(room):
    room.say("s1", user("Hi."), user("Ho."))
    before = room.places()[LOG]
    lines = (room.root / LOG).read_bytes().splitlines(keepends=True)
    (room.root / LOG).write_bytes(b"".join(lines[:-1]))
    after = room.places()[LOG]
    assert (before.turns, after.turns) == (2, 1)
    assert before.begin != after.begin


def test_who_speaks_by_another_name_is_told_anew(room, settled):
    room.say("s1", user("Hi."))
    again(room)
    known = {path: place.stamp for path, place in room.all_places().items()}
    assert not any(is_told(place) for place in room.library.places(None, known))
    assert not any(is_told(place) for place in room.library.places(None, known))
    room.names = {"kate": "Katharina"}
    assert [place.path for place in room.library.places(None, known) if is_told(place)] == [LOG]


def test_a_folder_of_sessions_is_not_told_as_files_by_another_name(room):
    room.put({"AGENTS.md": "Be brief.", "agents/kate/sessions/kept/large.txt": "A walrus."})
    room.say("s1", user("Hi."))
    (room.root / "said").symlink_to("agents/kate/sessions")
    (room.root / "large").symlink_to("agents/kate/sessions/kept")
    assert set(room.places()) == {"AGENTS.md", LOG}
