"""Whatever a document holds, its chunks hold every line of it once, where it is."""

from hypothesis import given
from hypothesis import strategies as st

from carrel.index import Place
from carrel.index.chunking import LONGEST, chunk_document

LINES = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "\x85",
            "# One",
            "## Two",
            "- a",
            "  b",
            "1. c",
            "```",
            "~~~~",
            "---",
            "text",
            "\ttab",
            "> q",
        ]
    ),
    st.text(st.characters(blacklist_characters="\n\r"), max_size=40),
)


@given(st.lists(LINES, max_size=40), st.sampled_from(["document", "profile", "journal"]), st.booleans())
def test_every_line_that_says_something_is_in_one_chunk_as_it_stands(lines, tier, is_markdown):
    place = Place(path="a.md" if is_markdown else "a.txt", tier=tier)
    chunks = chunk_document(place, "\n".join(lines))
    seen = []
    for chunk in chunks:
        assert chunk.text == "\n".join(lines[chunk.line - 1 : chunk.end_line])
        seen += range(chunk.line, chunk.end_line + 1)
    assert len(seen) == len(set(seen))
    assert set(seen) >= {number for number, line in enumerate(lines, 1) if line.strip()}
    assert seen == sorted(seen)


@given(st.text(max_size=6_000).map(lambda text: text * 3))
def test_no_chunk_is_too_long_or_empty(text):
    chunks = chunk_document(Place(path="a.md", tier="document"), text)
    assert all(chunk.text.strip() and len(chunk.text) <= LONGEST for chunk in chunks)
