from hypothesis import given
from hypothesis import strategies as st

from carrel.index import Hit
from carrel.index.chunk import Chunk
from carrel.index.pack import pack

LINES = [f"line {number} says {number % 7}" for number in range(30)]


def cut(document, line, height, session):
    """A hit as the index would cut it from a document whose lines are known."""
    lines = [f"{document} {each}" for each in LINES[line : line + height]]
    return Chunk(
        path=document,
        line=line + 1,
        end_line=line + len(lines),
        text="\n".join(lines),
        tier="session" if session else "journal",
        session=document if session else "",
    )


chunks = st.builds(
    cut, st.sampled_from(["a.md", "b.md"]), st.integers(0, 25), st.integers(1, 5), st.just(value=False)
)
hits = st.lists(chunks, max_size=30).map(
    lambda found: [Hit(id=number, chunk=chunk, score=1 / (number + 1)) for number, chunk in enumerate(found)]
)


def characters(text):
    return len(text)


@given(hits, st.integers(0, 3_000), st.integers(0, 25))
def test_every_hit_is_in_one_passage_or_left_out_and_the_budget_holds(found, budget, limit):
    packed = pack(found, characters, budget=budget, limit=limit)
    kept = [rank for passage in packed.passages for rank in passage.ranks]
    left = [each.rank for each in packed.left_out]
    assert sorted(kept + left) == list(range(1, len(found) + 1))
    assert packed.tokens <= budget
    assert len(kept) <= limit
    best = [passage.ranks[0] for passage in packed.passages]
    assert best == sorted(best)


@given(hits)
def test_a_passage_is_the_very_lines_of_its_document_each_once(found):
    packed = pack(found, characters, budget=1_000_000, limit=1_000)
    for passage in packed.passages:
        chunks = [found[rank - 1].chunk for rank in passage.ranks]
        numbers = {number for chunk in chunks for number in range(chunk.line, chunk.end_line + 1)}
        expected = [f"{passage.path} {LINES[number - 1]}" for number in sorted(numbers)]
        assert passage.text.split("\n") == expected
        assert (passage.line, passage.end_line) == (min(numbers), max(numbers))


@given(hits)
def test_no_line_is_told_twice_and_none_is_lost_when_there_is_room(found):
    packed = pack(found, characters, budget=1_000_000, limit=1_000)
    told = [line for passage in packed.passages for line in passage.text.split("\n")]
    assert len(told) == len(set(told))
    assert set(told) == {line for each in found for line in each.chunk.text.split("\n")}
