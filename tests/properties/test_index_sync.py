"""However a document came to be what it is, the catalog holds the chunks that it would hold from the start."""

from hypothesis import given
from hypothesis import strategies as st
from tests.stubs.indexed import Shelf

from carrel.index.embedded.catalog import Catalog
from carrel.index.sync import take_in

LINES = st.lists(st.sampled_from(["- a", "- b", "- c", "# H", "## I", "text", ""]), max_size=12)


def held(catalog):
    return [(stored.seq, stored.chunk) for stored in catalog.matching("1", ())]


@given(st.lists(LINES, min_size=1, max_size=5))
def test_a_document_that_changed_is_held_as_one_that_is_new(versions):
    shelf = Shelf()
    shelf.places_of["a.md"] = {"tier": "profile"}
    changed, fresh = Catalog(None), Catalog(None)
    for lines in versions:
        shelf.documents["a.md"] = "\n".join(lines)
        take_in(changed, shelf)
    take_in(fresh, shelf)
    assert held(changed) == held(fresh)
    written = {own for own, place, _ in changed.due("words", 1_000) if place}
    assert {stored.id for stored in changed.matching("1", ())} == written
    changed.close()
    fresh.close()
