"""Vectors behave as a dictionary of rows would, whatever is put, dropped, torn and opened again."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from carrel.index import rowfile
from carrel.index.rows import fold_ids
from carrel.index.vectors import Vectors

DIMENSIONS = 4
ids = st.integers(0, 30)
values = st.integers(-3, 3).map(float)
rows = st.lists(values, min_size=DIMENSIONS, max_size=DIMENSIONS)


class Shelf(RuleBasedStateMachine):
    """One writer and a reader over one file, against a dictionary; the file is replaced often."""

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "vectors.bin"
        self.model = {}
        self.usual = rowfile._DEAD_AT_LEAST
        rowfile._DEAD_AT_LEAST = 8
        self.writer, self.reader = self.open(), self.open()

    def open(self):
        return Vectors(self.path, embedder="test")

    @rule(items=st.lists(st.tuples(ids, rows), max_size=12))
    def put(self, items):
        matrix = np.array([row for _, row in items], np.float32).reshape(len(items), DIMENSIONS)
        self.writer.put([identity for identity, _ in items], matrix)
        self.model.update(items)

    @rule(gone=st.sets(ids))
    def drop(self, gone):
        self.writer.drop(gone)
        self.model = {identity: row for identity, row in self.model.items() if identity not in gone}

    @rule(tail=st.binary(min_size=1, max_size=80))
    def tear(self, tail):
        if self.path.exists():
            with self.path.open("ab") as file:
                file.write(tail)

    @rule()
    def reopen(self):
        self.writer = self.open()

    @rule(query=rows, allowed=st.none() | st.sets(ids), k=st.integers(1, 12))
    def search(self, query, allowed, k):
        hits = self.reader.search(np.array(query, np.float32), allowed=allowed, k=k)
        scores = {
            identity: float(np.dot(row, query))
            for identity, row in self.model.items()
            if allowed is None or identity in allowed
        }
        order = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        assert list(hits) == (order[:k] if any(query) else [])

    @invariant()
    def holds_the_same(self):
        assert self.reader.ids.tolist() == sorted(self.model) == self.open().ids.tolist()
        assert not self.reader.was_damaged

    def teardown(self):
        rowfile._DEAD_AT_LEAST = self.usual
        shutil.rmtree(self.folder)


TestShelf = Shelf.TestCase


@given(st.lists(st.integers(-8, 7)), st.data())
def test_records_fold_the_same_at_once_and_in_parts(raw, data):
    raw = np.array(raw, np.int64)
    cut = data.draw(st.integers(0, len(raw)))
    empty = np.empty(0, np.int64)
    whole = fold_ids(empty, raw)
    assert np.array_equal(fold_ids(fold_ids(empty, raw[:cut]), raw[cut:]), whole)
    alive = whole[whole >= 0]
    assert len(set(alive.tolist())) == len(alive)


@given(st.lists(st.integers(-8, 7)))
def test_an_id_is_alive_when_its_last_record_does_not_take_it_away(raw):
    last = {(~n if n < 0 else n): n >= 0 for n in raw}
    folded = fold_ids(np.empty(0, np.int64), np.array(raw, np.int64))
    assert set(folded[folded >= 0].tolist()) == {n for n, is_alive in last.items() if is_alive}
