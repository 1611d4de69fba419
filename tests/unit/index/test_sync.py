"""The catalog after its source changed: what is new is read, what is as it was keeps its id."""

import pytest
from tests.stubs.indexed import Shelf

from carrel.errors import Unavailable
from carrel.index import Text, Unsearched
from carrel.index.embedded.catalog import Catalog
from carrel.index.entry import NEIGHBOURS
from carrel.index.sync import take_in


@pytest.fixture
def catalog():
    opened = Catalog(None)
    yield opened
    opened.close()


def texts(catalog):
    return [stored.chunk.text for stored in catalog.matching("1", ())]


def ids(catalog):
    return {stored.chunk.text: stored.id for stored in catalog.matching("1", ())}


def settle(catalog):
    for part in ("words", "vectors"):
        if due := catalog.due(part, 10_000):
            catalog.settle(part, due[-1][0])


def due(catalog, part="words"):
    """The texts of the chunks that are due, None for each that is to be forgotten."""
    known = {stored.id: stored.chunk.text for stored in catalog.matching("1", ())}
    return [known.get(own) for own, _, _ in catalog.due(part, 10_000)]


def bullets(*said):
    return "\n".join(f"- {each}" for each in said)


def journal(*said):
    shelf = Shelf({"day.md": bullets(*said)})
    shelf.places_of["day.md"] = {"tier": "journal"}
    return shelf


def test_what_is_new_is_kept_and_due(catalog):
    report = take_in(catalog, journal("one", "two"))
    assert (report.changed, report.gone, report.chunks) == (1, 0, 2)
    assert texts(catalog) == due(catalog) == due(catalog, "vectors") == ["- one", "- two"]


def test_nothing_is_read_again_while_the_stamp_is_the_same(catalog):
    shelf = journal("one")
    shelf.places_of["day.md"]["stamp"] = "1"
    take_in(catalog, shelf)
    shelf.documents["day.md"] = bullets("changed behind its stamp")
    assert take_in(catalog, shelf).changed == 0
    assert shelf.read == ["day.md"]


def test_another_stamp_with_the_same_text_changes_nothing(catalog):
    shelf = journal("one")
    shelf.places_of["day.md"]["stamp"] = "1"
    take_in(catalog, shelf)
    settle(catalog)
    shelf.places_of["day.md"]["stamp"] = "2"
    assert take_in(catalog, shelf).changed == 0
    assert take_in(catalog, shelf).changed == 0
    assert shelf.read == ["day.md"] * 2
    assert due(catalog) == []


@pytest.mark.parametrize(
    "told",
    [{"tier": "profile"}, {"agent": "kate"}, {"private": True}, {"tags": ("x",)}, {"date": "2026-01-01"}],
)
def test_what_a_place_says_of_itself_changes_its_chunks(catalog, told):
    shelf = journal("one")
    shelf.places_of["day.md"]["stamp"] = "1"
    take_in(catalog, shelf)
    shelf.places_of["day.md"].update(told, stamp="2")
    assert take_in(catalog, shelf).changed == 1
    chunk = next(catalog.matching("1", ())).chunk
    assert all(getattr(chunk, name) == value for name, value in told.items())


def test_a_change_in_the_middle_leaves_the_other_chunks_their_ids(catalog):
    said = [f"entry {number}" for number in range(20)]
    shelf = journal(*said)
    take_in(catalog, shelf)
    before = ids(catalog)
    settle(catalog)
    said[10] = "something else"
    shelf.documents["day.md"] = bullets(*said)
    report = take_in(catalog, shelf)
    after = ids(catalog)
    assert report.chunks == 1
    assert {text: own for text, own in after.items() if text != "- something else"} == {
        text: own for text, own in before.items() if text != "- entry 10"
    }
    near = [f"- entry {10 + away}" for away in range(-NEIGHBOURS, NEIGHBOURS + 1) if away]
    assert sorted(filter(None, due(catalog))) == sorted([*near, "- something else"])
    assert sorted(due(catalog, "vectors"), key=str) == ["- something else", None]


def test_lines_move_with_what_is_put_before_them(catalog):
    shelf = journal("one", "two")
    take_in(catalog, shelf)
    settle(catalog)
    before = ids(catalog)
    shelf.documents["day.md"] = bullets("zero", "one", "two")
    take_in(catalog, shelf)
    assert [(stored.seq, stored.chunk.line) for stored in catalog.matching("1", ())] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert ids(catalog)["- two"] == before["- two"]
    assert due(catalog, "vectors") == ["- zero"]


def test_what_is_taken_away_is_due_to_be_forgotten(catalog):
    shelf = journal("one", "two", "three")
    take_in(catalog, shelf)
    settle(catalog)
    shelf.documents["day.md"] = bullets("one", "three")
    assert take_in(catalog, shelf).changed == 1
    assert texts(catalog) == ["- one", "- three"]
    assert set(due(catalog)) == {"- one", None, "- three"}


def test_a_place_that_is_gone_is_forgotten(catalog):
    shelf = journal("one")
    take_in(catalog, shelf)
    settle(catalog)
    shelf.documents.clear()
    assert take_in(catalog, shelf).gone == 1
    assert (texts(catalog), due(catalog)) == ([], [None])


def test_only_the_paths_that_are_asked_for_are_looked_at(catalog):
    shelf = Shelf({"a.md": "one", "b.md": "two"})
    take_in(catalog, shelf)
    shelf.documents = {"b.md": "three"}
    report = take_in(catalog, shelf, only=["b.md"])
    assert (report.changed, report.gone) == (1, 0)
    assert texts(catalog) == ["one", "three"]
    assert take_in(catalog, shelf, only=["a.md"]).gone == 1


def test_a_text_that_is_none_or_too_large_is_forgotten(catalog):
    shelf = Shelf({"a.md": "one", "b.md": "two"})
    take_in(catalog, shelf)
    shelf.documents = {"a.md": None, "b.md": "x" * 1_100_000}
    assert take_in(catalog, shelf).gone == 2
    assert texts(catalog) == []


def test_what_cannot_be_searched_is_noted_and_not_read_again_until_it_changes(catalog):
    shelf = Shelf({"a.png": Text(lack="not_text"), "b.txt": "x" * 1_100_000, "c.md": "text"})
    shelf.places_of = {path: {"stamp": "1"} for path in shelf.documents}
    shelf.places_of["d.iso"] = {"stamp": "1", "lack": "too_large"}
    shelf.documents["d.iso"] = AssertionError("nobody needs to read it")
    assert (take_in(catalog, shelf).changed, catalog.count()) == (1, (1, 1))
    assert catalog.lacking() == {
        "not_text": Unsearched(1, ("a.png",)),
        "too_large": Unsearched(2, ("b.txt", "d.iso")),
    }
    shelf.read.clear()
    assert take_in(catalog, shelf).changed == 0
    assert shelf.read == []
    shelf.documents["a.png"] = "It is text after all."
    shelf.places_of["a.png"]["stamp"] = "2"
    assert take_in(catalog, shelf).changed == 1
    assert set(texts(catalog)) == {"It is text after all.", "text"}
    del shelf.documents["b.txt"], shelf.documents["d.iso"]
    assert take_in(catalog, shelf).gone == 0
    assert catalog.lacking() == {}


def test_what_can_no_longer_be_searched_is_not_found_any_more(catalog):
    shelf = journal("one", "two")
    take_in(catalog, shelf)
    settle(catalog)
    shelf.documents["day.md"] = Text(lack="unreadable")
    assert take_in(catalog, shelf).gone == 1
    assert (texts(catalog), due(catalog), catalog.count()) == ([], [None, None], (0, 0))
    assert take_in(catalog, shelf).gone == 0
    shelf.documents["day.md"] = bullets("one", "two")
    assert take_in(catalog, shelf).chunks == 2
    assert catalog.lacking() == {}


def test_what_could_not_be_read_is_tried_again_whatever_its_stamp_says(catalog):
    shelf = journal("one")
    shelf.places_of["day.md"]["stamp"] = "1"
    shelf.documents["day.md"] = Text(lack="unreadable")
    take_in(catalog, shelf)
    shelf.documents["day.md"] = bullets("one")
    assert take_in(catalog, shelf).changed == 1


def test_of_many_only_the_first_are_named(catalog):
    shelf = Shelf({f"{number:02}.png": Text(lack="not_text") for number in range(30)})
    take_in(catalog, shelf)
    (found,) = catalog.lacking().values()
    assert (found.count, found.paths) == (30, ("00.png", "01.png", "02.png", "03.png", "04.png"))


def test_what_a_text_says_of_its_privacy_counts_like_what_its_place_says(catalog):
    shelf = journal("one")
    shelf.documents["day.md"] = Text(text=bullets("one"), private=True)
    take_in(catalog, shelf)
    assert [stored.chunk.private for stored in catalog.matching("1", ())] == [True]
    shelf.documents["day.md"] = Text(text=bullets("one"))
    assert take_in(catalog, shelf).changed == 1
    assert [stored.chunk.private for stored in catalog.matching("1", ())] == [False]


def test_the_source_is_told_which_stamps_are_known(catalog):
    shelf = Shelf({"a.md": "one", "b.md": "two"})
    shelf.places_of["a.md"] = {"stamp": "1"}
    take_in(catalog, shelf)
    told = []
    places = shelf.places
    shelf.places = lambda only, stamps: told.append(stamps) or places(only)
    take_in(catalog, shelf)
    assert told == [{"a.md": "1"}]


def test_turns_beyond_what_is_enough_wait_for_another_time(catalog):
    shelf = Shelf()
    shelf.say("new", "first words")
    shelf.say("old", "one", "two")
    shelf.places_of["sessions/new.jsonl"] = {"enough": 0, "stamp": "n1"}
    take_in(catalog, shelf)
    assert texts(catalog) == ["one", "two"]
    shelf.say("old", "three")
    shelf.places_of["sessions/old.jsonl"] = {"enough": 2, "stamp": "o2"}
    assert take_in(catalog, shelf).changed == 0
    shelf.places_of["sessions/old.jsonl"]["enough"] = 3
    assert take_in(catalog, shelf).changed == 1
    shelf.places_of = {"sessions/new.jsonl": {"stamp": "n1"}, "sessions/old.jsonl": {"stamp": "o2"}}
    assert take_in(catalog, shelf).changed == 1
    assert texts(catalog) == ["first words", "one", "two", "three"]


def test_a_session_that_came_to_rest_is_recognised_by_its_stamp(catalog):
    shelf = Shelf()
    shelf.say("s", "one")
    take_in(catalog, shelf)
    shelf.places_of["sessions/s.jsonl"] = {"stamp": "1"}
    assert take_in(catalog, shelf).changed == 0
    assert catalog.places()["sessions/s.jsonl"].stamp == "1"
    shelf.begins["s"] = "nobody looks at it any more"
    assert take_in(catalog, shelf).changed == 0


def test_a_place_that_cannot_be_read_now_stays_as_it_was_and_the_others_are_taken(catalog):
    shelf = Shelf({"a.md": "one", "b.md": "two"})
    take_in(catalog, shelf)
    shelf.documents = {"a.md": Unavailable("gone for a while"), "b.md": "three"}
    report = take_in(catalog, shelf)
    assert report.unread == ("a.md",)
    assert texts(catalog) == ["one", "three"]


def test_of_a_session_that_grew_only_the_new_turns_are_read(catalog):
    shelf = Shelf()
    shelf.say("s", *(f"turn {number}" for number in range(10)))
    take_in(catalog, shelf)
    before = ids(catalog)
    settle(catalog)
    shelf.say("s", "turn 10")
    asked = []
    turns = shelf.turns
    shelf.turns = lambda place, first: asked.append(first) or turns(place, first)
    assert take_in(catalog, shelf).chunks == 1
    assert asked == [11]
    assert due(catalog) == ["turn 7", "turn 8", "turn 9", "turn 10"]
    assert due(catalog, "vectors") == ["turn 10"]
    assert ids(catalog) == before | {"turn 10": ids(catalog)["turn 10"]}


def test_a_session_that_is_as_it_was_is_not_read(catalog):
    shelf = Shelf()
    shelf.say("s", "one")
    take_in(catalog, shelf)
    assert take_in(catalog, shelf).changed == 0
    assert shelf.read == ["sessions/s.jsonl"]


def test_a_session_that_was_begun_anew_is_read_anew(catalog):
    shelf = Shelf()
    shelf.say("s", "one", "two")
    take_in(catalog, shelf)
    shelf.sessions.clear()
    shelf.begins["s"] = "second"
    shelf.say("s", "other", "two", "three")
    take_in(catalog, shelf)
    assert texts(catalog) == ["other", "two", "three"]


def test_a_session_that_became_shorter_loses_its_turns(catalog):
    shelf = Shelf()
    shelf.say("s", "one", "two", "three")
    take_in(catalog, shelf)
    shelf.sessions["s"].pop()
    take_in(catalog, shelf)
    assert texts(catalog) == ["one", "two"]


def test_turns_that_say_nothing_are_counted_and_not_kept(catalog):
    shelf = Shelf()
    shelf.say("s", "one", "", "three")
    take_in(catalog, shelf)
    shelf.say("s", "four")
    take_in(catalog, shelf)
    assert texts(catalog) == ["one", "three", "four"]


def test_names_and_texts_that_are_not_unicode_are_kept(catalog):
    shelf = Shelf({"bad\udcff.md": "- a\0b \ud800 c"})
    shelf.say("s\udcff", "\ud800 said", speaker="\udcffAna")
    take_in(catalog, shelf)
    assert [stored.chunk.path for stored in catalog.matching("1", ())] == [
        "bad\udcff.md",
        "sessions/s\udcff.jsonl",
    ]
    assert take_in(catalog, shelf).changed == 0


def test_progress_is_told_up_to_the_end(catalog):
    told = []
    shelf = Shelf({f"{number}.md": "- text" for number in range(3)})
    take_in(catalog, shelf, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)
