"""The catalog of chunks: what is kept comes back, and what is due stays due until it is settled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.stubs.indexed import Shelf

from carrel.index import Filter, Place
from carrel.index.chunk import Chunk
from carrel.index.embedded.catalog import Catalog
from carrel.index.embedded.filters import select, select_ids
from carrel.index.embedded.texts import KeptTexts
from carrel.index.sync import digest_of, take_in
from carrel.index.within import passes

CHUNK = Chunk(
    path="notes/a.md",
    line=3,
    end_line=5,
    text="A text\nwith \0 in it",
    tier="document",
    headings=("One", "Two"),
    agent="kate",
    private=True,
    date="2026-04-24",
    tags=("x", "y"),
)


@pytest.fixture
def catalog():
    opened = Catalog(None)
    yield opened
    opened.close()


def keep(catalog, chunk=CHUNK, seq=1):
    place = Place(path=chunk.path, tier=chunk.tier, agent=chunk.agent, session=chunk.session)
    number = catalog.keep_place(place, b"digest")
    return number, catalog.add(number, seq, chunk, digest_of(chunk))


def test_a_chunk_comes_back_as_it_was(catalog):
    place, own = keep(catalog)
    stored = catalog.chunks([own, 999])[own]
    assert (stored.place, stored.seq, stored.chunk) == (place, 1, CHUNK)
    assert list(catalog.spans([(place, 0, 5)])) == [[stored]]
    assert catalog.at("notes/a.md", 5, 9) == [stored]
    assert catalog.at("notes/a.md", 6, 9) == []


def test_an_id_is_never_given_twice(catalog):
    _, own = keep(catalog)
    catalog.drop(own)
    assert keep(catalog)[1] > own


def test_what_is_due_stays_due_until_it_is_settled(catalog):
    place, own = keep(catalog)
    catalog.owe("words", place, 1, 9)
    catalog.owe_dropped("words", own + 5)
    assert catalog.due("words", 10) == [(own, place, 1), (own + 5, 0, 0)]
    before = catalog.state().generation
    catalog.settle("words", own)
    assert catalog.due("words", 10) == [(own + 5, 0, 0)]
    assert catalog.state().generation > before
    assert catalog.waiting("vectors") == 0


def test_a_part_that_is_renewed_has_another_name_and_all_is_due(catalog):
    keep(catalog)
    before = catalog.state()
    catalog.renew("vectors", "model")
    after = catalog.state()
    assert (after.words, after.embedder) == (before.words, "model")
    assert after.vectors != before.vectors
    assert catalog.waiting("vectors") == 1


def test_an_open_transaction_that_fails_leaves_nothing(catalog):
    def fail():
        with catalog.transaction():
            keep(catalog)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert catalog.count() == (0, 0)


def test_who_spoke_is_known_once_and_to_others_who_spoke_in_the_open(catalog):
    said = [("Ana", 0), ("Ben", 1), ("Ana", 1), ("", 0), ("Zoë", 0), ("Ben", 1), ("ana", 1), ("\0", 0)]
    for seq, (speaker, private) in enumerate(said, 1):
        keep(catalog, replace(CHUNK, speaker=speaker, private=bool(private)), seq)
    assert catalog.speakers(shared=False) == ["\0", "Ana", "Ben", "Zoë", "ana"]
    assert catalog.speakers(shared=True) == ["\0", "Ana", "Zoë"]


def test_a_filter_that_lets_every_place_through_asks_for_no_chunk_by_itself(catalog):
    keep(catalog)
    assert select_ids(catalog, Filter(agents=("", "kate"))) is None
    assert select_ids(catalog, Filter(agents=("kate",), shared=True)) is not None
    keep(catalog, replace(CHUNK, path="b.md", agent="max"))
    assert list(select_ids(catalog, Filter(agents=("", "kate"))) or ()) == [1]


FILTERS = [
    Filter(),
    Filter(shared=True),
    Filter(tiers=("profile", "session")),
    Filter(agents=("main",)),
    Filter(agents=("",)),
    Filter(sections=("PEOPLE",)),
    Filter(tags=("red",)),
    Filter(paths=("notes",)),
    Filter(paths=("notes/a.md", "sessions/")),
    Filter(paths=("note",)),
    Filter(sessions=("s1",)),
    Filter(since="2026-04-24"),
    Filter(until="2026-04-24"),
    Filter(since="2026-04-24", until="2026-04-24", shared=True),
    Filter(tiers=("\ud800",)),
]


@pytest.mark.parametrize("within", FILTERS)
def test_the_database_lets_through_what_the_filter_says(catalog, within):
    shelf = Shelf(
        {"notes/a.md": "# People\n- Ana", "notes/b.md": "---\ntags: [red]\n---\n# Péople\nx", "c.md": "y"}
    )
    shelf.places_of = {"notes/a.md": {"tier": "profile", "private": True}, "c.md": {"date": "2026-05-01"}}
    shelf.say("s1", "one", date="2026-04-24")
    shelf.say("s2", "two", private=True, date="2026-04-20")
    take_in(catalog, shelf)
    everything = list(select(catalog, Filter()))
    expected = [stored for stored in everything if passes(stored.chunk, within)]
    assert list(select(catalog, within)) == expected
    ids = select_ids(catalog, within)
    assert sorted(ids if ids is not None else [each.id for each in everything]) == sorted(
        s.id for s in expected
    )
    assert 0 <= len(expected) <= len(everything) == 6


def test_a_change_is_seen_whoever_made_it(tmp_path):
    one, other = Catalog(tmp_path / "catalog.db"), Catalog(tmp_path / "catalog.db")
    seen = [one.version()]
    assert one.version() == seen[0]
    keep(one)
    seen.append(one.version())
    keep(other, replace(CHUNK, path="b.md"))
    seen.append(one.version())
    assert len(set(seen)) == 3
    one.close()
    other.close()


@pytest.mark.parametrize("within", [Filter(), Filter(tags=("x",)), Filter(sections=("two",), shared=True)])
def test_texts_are_put_together_from_what_a_filter_lets_through(catalog, within):
    place, own = keep(catalog)
    catalog.add(
        place, 2, replace(CHUNK, line=8, end_line=8, text="more", tags=(), headings=(), private=False), b""
    )
    wholes = list(KeptTexts(catalog).within(within))
    assert [number for whole in wholes for number in whole.ids] == [
        each.id for each in select(catalog, within)
    ]
    if within == Filter():
        (whole,) = wholes
        assert whole.text == f"{CHUNK.text}\n\n\n\nmore"
        assert [whole.at(line) for line in (3, 4, 7, 8)] == [own, own, own, own + 1]


def test_texts_are_read_once_until_something_changes(catalog):
    keep(catalog)
    texts = KeptTexts(catalog)
    first = next(texts.within(Filter()))
    assert next(texts.within(Filter())) is first
    keep(catalog, replace(CHUNK, line=20, end_line=20, text="new"), seq=2)
    assert next(texts.within(Filter())).text.endswith("new")


def test_texts_that_are_too_large_to_keep_are_read_again(catalog):
    keep(catalog, replace(CHUNK, text="x" * 5_000_000))
    texts = KeptTexts(catalog)
    first = next(texts.within(Filter()))
    again = next(texts.within(Filter()))
    assert again is not first
    assert again == first


def test_what_was_read_is_read_again_once_others_have_changed_it(tmp_path):
    one, other = Catalog(tmp_path / "catalog.db"), Catalog(tmp_path / "catalog.db")
    place, own = keep(one)
    assert (one.chunks([own])[own].seq, *one.places()) == (1, CHUNK.path)
    before = one.stands([own])
    other.move(other.lines(place)[0], 7, CHUNK)
    keep(other, replace(CHUNK, path="b.md"))
    one.state()
    assert one.chunks([own])[own].seq == 7
    assert one.stands([own]) != before
    assert set(one.places()) == {CHUNK.path, "b.md"}
    other.drop_place(other.places()[CHUNK.path])
    one.state()
    assert (one.chunks([own]), one.stands([own]), [*one.places()]) == ({}, {}, ["b.md"])
    one.close()
    other.close()


def test_what_was_undone_is_not_remembered(catalog):
    place, own = keep(catalog)
    known = catalog.places()

    def fail():
        with catalog.transaction():
            catalog.keep_stamp(known[CHUNK.path], "another")
            catalog.move(catalog.lines(place)[0], 7, CHUNK)
            assert catalog.chunks([own])[own].seq == 7
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert catalog.places() == known
    assert catalog.chunks([own])[own].seq == 1


@given(st.lists(st.integers(1, 12), max_size=40))
def test_some_chunks_are_those_that_were_asked_for_and_are_there(asked):
    catalog = Catalog(None)
    place = catalog.keep_place(Place(path="a.md", tier="document"), b"digest")
    there = {catalog.add(place, seq, CHUNK, bytes([seq])): seq for seq in range(1, 9)}
    for _ in range(2):
        assert {own: each.seq for own, each in catalog.chunks(asked).items()} == {
            own: there[own] for own in asked if own in there
        }
        assert set(catalog.stands(asked)) == {own for own in asked if own in there}
    catalog.close()
