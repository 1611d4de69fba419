"""Vectors that are made while others search and write: what is told meanwhile, and what is kept of them."""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from tests.stubs.indexed import Meanings, Shelf

from carrel.errors import Unavailable
from carrel.files.disk import Disk
from carrel.index import Query
from carrel.index.embedded import EmbeddedIndex, embedding, parts

LONG = 30.0


class Interrupted(Meanings):
    """An embedder in the midst of whose work, at one of its batches, something else happens."""

    def __init__(self, happens, *, at=1, name="meanings"):
        super().__init__(name)
        self._happens = happens
        self._at = at
        self.batches = 0

    def embed(self, texts):
        self.batches += 1
        made = super().embed(texts)
        if self.batches == self._at:
            self._happens()
        return made


@pytest.fixture
def shelf():
    return Shelf({f"notes/{number:03}.md": f"The apple of row {number} is ripe." for number in range(200)})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "index"


@pytest.fixture
def opened(folder):
    """Opens the index; what was opened is closed at the end."""
    made = []

    def opening(embedder=None):
        made.append(EmbeddedIndex(folder, embedder=embedder))
        return made[-1]

    yield opening
    for index in made:
        index.close()


def ask(index, text="apple", **asked):
    return index.search(Query(text=text, limit=500, **asked))


def lists(found):
    return {placing.name for hit in found.hits for placing in hit.fused.placings}


def test_no_lock_is_held_while_an_embedder_is_at_work(opened, folder, shelf):
    seen = []

    def happens():
        held = os.open(folder / parts.LOCK_FILE, os.O_RDWR)
        seen.append(Disk().lock(held))
        os.close(held)
        with ThreadPoolExecutor(1) as pool:  # another thread of this process
            seen.append(len(pool.submit(ask, index, mode="lexical").result(LONG).hits))

    index = opened(Interrupted(happens))
    assert index.sync(shelf).findings == ()
    assert seen == [True, 200]


def test_while_vectors_are_made_words_answer_and_it_is_said_how_far_they_are(opened, shelf):
    opened(Meanings("one")).sync(shelf)
    seen = []
    embedder = Interrupted(lambda: seen.append(ask(index)), at=2, name="two")
    index = opened(embedder)
    report = index.sync(shelf)
    (found,) = seen
    assert (len(found.hits), found.degraded, lists(found)) == (200, True, {"words"})
    (finding,) = found.findings
    assert finding.code == "vectors_behind"
    assert "64 of 200" in finding.message
    assert "index sync" in finding.hint
    assert (report.waiting, report.findings) == (0, ())
    assert (ask(index).degraded, lists(ask(index))) == (False, {"words", "vectors"})


def test_where_few_are_missing_vectors_answer_and_it_is_said(opened, shelf):
    index = opened(Meanings())
    index.sync(shelf)
    shelf.documents["late.md"] = "One more apple."
    assert index.sync(shelf, stop=lambda: True).waiting == 1
    found = ask(index)
    assert [finding.code for finding in found.findings] == ["vectors_behind"]
    assert lists(found) == {"words", "vectors"}
    assert "late.md" in [hit.chunk.path for hit in found.hits]
    assert not ask(index, mode="lexical").degraded


def test_what_is_left_for_later_is_gone_on_with_and_nothing_is_made_twice(opened, shelf):
    embedder = Meanings()
    index = opened(embedder)
    stops = iter([False, False, True])
    assert index.sync(shelf, stop=lambda: next(stops)).waiting == 136
    assert index.status().vectors == 64
    again = opened(embedder)
    assert again.sync(shelf).waiting == 0
    assert (len(embedder.embedded), len(set(embedder.embedded)), again.status().vectors) == (200, 200, 200)


def test_what_changes_meanwhile_is_not_mixed_up(opened, shelf):
    def happens():  # as another process would
        del shelf.documents["notes/000.md"]
        shelf.documents["notes/001.md"] = "A pear."
        shelf.documents["new.md"] = "A plum."
        opened().sync(shelf)

    index = opened(Interrupted(happens))
    index.sync(shelf)
    assert index.status().vectors == index.status().chunks == 200
    assert ask(index, "pear", mode="vector").hits[0].chunk.text == "A pear."
    assert ask(index, "plum", mode="vector").hits[0].chunk.path == "new.md"
    assert "notes/000.md" not in [hit.chunk.path for hit in ask(index, mode="vector").hits]
    assert opened(Meanings()).sync(shelf).changed == 0


def test_vectors_for_which_another_embedder_was_chosen_meanwhile_are_not_kept(opened, folder, shelf):
    index = opened(Interrupted(lambda: opened(Meanings("two")).sync(shelf), name="one"))
    index.sync(shelf)
    assert opened(Meanings("two")).sync(shelf).waiting == 0
    assert len(list(folder.glob("vectors-*.bin"))) == 1
    assert opened(Meanings("two")).status().vectors == 200


def test_what_is_closed_meanwhile_stays_closed_and_is_gone_on_with_later(opened, shelf):
    def happens():
        index.close()

    index = opened(Interrupted(happens))
    index.sync(shelf)
    assert index._opened is None, "nothing was opened behind the back of who closed it"
    again = opened(Meanings())
    again.sync(shelf)
    assert again.status().vectors == 200


def test_two_do_not_make_the_same_vectors(opened, shelf):
    others = Meanings()
    seen = []
    index = opened(Interrupted(lambda: seen.append(opened(others).sync(shelf, stop=lambda: False))))
    index.sync(shelf)
    assert [(report.waiting, report.findings) for report in seen] == [(200, ())]
    assert others.embedded == []
    assert index.status().vectors == 200


def test_who_wants_all_of_them_waits_for_the_one_who_makes_them(opened, shelf, monkeypatch):
    monkeypatch.setattr(embedding, "LOCK_SECONDS", 0.2)
    begun, go = Event(), Event()

    def happens():
        begun.set()
        assert go.wait(LONG)

    index, other = opened(Interrupted(happens)), opened(Meanings())
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(index.sync, shelf)
        assert begun.wait(LONG)
        assert [finding.code for finding in other.sync(shelf).findings] == ["lock_timeout"]
        go.set()
        assert made.result(LONG).findings == ()
    assert (other.sync(shelf).findings, ask(other).degraded) == ((), False)


def test_progress_is_told_up_to_the_last_vector(opened, shelf):
    told = []
    opened(Meanings()).sync(shelf, progress=lambda done, of: told.append((done, of)))
    assert told[-3:] == [(64, 200), (192, 200), (200, 200)]


def test_a_failure_is_said_until_nothing_waits_any_more(opened, shelf):
    embedder = Meanings(broken=Unavailable("no server"))
    index = opened(embedder)
    assert index.sync(shelf).waiting == 200
    assert [finding.code for finding in ask(index).findings] == ["unavailable", "vectors_behind"]
    shelf.documents.clear()
    embedder.broken = None
    index.sync(shelf)
    assert ask(index).findings == ()


def test_an_embedder_that_fails_in_the_middle_leaves_what_was_made(opened, shelf):
    def happens():
        embedder.broken = Unavailable("no server")

    embedder = Interrupted(happens)
    index = opened(embedder)
    report = index.sync(shelf)
    assert (report.waiting, [finding.code for finding in report.findings]) == (136, ["unavailable"])
    embedder.broken = None
    assert index.sync(shelf).waiting == 0
    assert len(embedder.embedded) == 200
