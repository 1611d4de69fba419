"""The recall section: hits without repetition, neighbours together, inside a budget."""

import pytest

from carrel.index import Hit
from carrel.index.chunk import Chunk
from carrel.index.pack import pack

COUNTER = iter(range(1, 1_000_000))


def hit(text, path="memory/2026-04-20.md", line=1, end_line=None, *, score=0.5, **fields):
    chunk = Chunk(
        path=path,
        line=line,
        end_line=end_line or line + text.count("\n"),
        text=text,
        **{"tier": "journal", **fields},
    )
    return Hit(id=next(COUNTER), chunk=chunk, score=score)


def words(text):
    return len(text.split())


def reasons(packed):
    return [(left.rank, left.reason, left.of) for left in packed.left_out]


def test_a_hit_keeps_its_text_and_its_source():
    (passage,) = pack([hit("Likes tea.", line=12, score=0.9, date="2026-04-20")], words).passages
    assert (passage.path, passage.line, passage.text) == ("memory/2026-04-20.md", 12, "Likes tea.")
    assert (passage.date, passage.tier, passage.score, passage.ranks) == ("2026-04-20", "journal", 0.9, (1,))


def test_the_same_statement_is_told_once_wherever_it_stands():
    packed = pack(
        [hit("- Likes  TEA."), hit("* likes tea.", path="MEMORY.md"), hit("No milk.", path="b.md")], words
    )
    assert [passage.text for passage in packed.passages] == ["- Likes  TEA.", "No milk."]
    assert reasons(packed) == [(2, "duplicate", 1)]


@pytest.mark.parametrize("heading", ["## People", "## People ##", "People\n------", "People\n=", "#  people"])
@pytest.mark.parametrize("is_first", [True, False])
def test_the_heading_that_a_statement_stands_below_makes_it_no_other(heading, is_first):
    below = hit(f"{heading}\n\n- Likes tea.", path="MEMORY.md", headings=("Memory", "People"))
    hits = [below, hit("- likes tea.")]
    packed = pack(hits if is_first else hits[::-1], words)
    assert reasons(packed) == [(2, "duplicate", 1)]


def test_headings_alone_are_told_apart():
    packed = pack([hit("## One", headings=("One",)), hit("## Two", path="b.md", headings=("Two",))], words)
    assert [passage.text for passage in packed.passages] == ["## One", "## Two"]


def test_lines_that_a_better_hit_holds_are_told_once():
    packed = pack([hit("one\ntwo\nthree", line=5), hit("two", line=6)], words)
    assert [passage.text for passage in packed.passages] == ["one\ntwo\nthree"]
    assert reasons(packed) == [(2, "duplicate", 1)]


def test_neighbours_become_one_passage_in_the_order_of_the_document_at_the_rank_of_the_best():
    packed = pack(
        [hit("fourth", line=4, score=0.9), hit("elsewhere", path="b.md"), hit("third", line=3, score=0.2)],
        words,
    )
    assert [passage.text for passage in packed.passages] == ["third\nfourth", "elsewhere"]
    first = packed.passages[0]
    assert (first.line, first.end_line, first.ranks, first.score) == (3, 4, (1, 3), 0.9)


def test_a_hit_between_two_passages_makes_them_one():
    packed = pack([hit("five", line=5), hit("three", line=3, headings=("A",)), hit("four", line=4)], words)
    assert [(passage.text, passage.ranks) for passage in packed.passages] == [
        ("three\nfour\nfive", (1, 2, 3))
    ]


def test_lines_that_two_hits_share_stand_there_once():
    packed = pack([hit("two\nthree", line=2), hit("one\ntwo", line=1), hit("three\nfour", line=3)], words)
    assert [passage.text for passage in packed.passages] == ["one\ntwo\nthree\nfour"]


def test_a_wider_hit_takes_in_a_narrower_one_that_was_better():
    packed = pack([hit("two", line=2), hit("one\ntwo\nthree", line=1)], words)
    assert [(passage.text, passage.ranks) for passage in packed.passages] == [("one\ntwo\nthree", (1, 2))]


def test_an_empty_line_does_not_part_what_stands_in_one_section():
    same = pack([hit("one", headings=("A",)), hit("three", line=3, headings=("A",))], words)
    other = pack([hit("one", headings=("A",)), hit("three", line=3, headings=("B",))], words)
    assert len(same.passages) == 1
    assert len(other.passages) == 2


def turn(text, line, speaker, session="s1", message=None):
    return hit(
        text,
        path=f"sessions/{session}.jsonl",
        line=line,
        end_line=line,
        tier="session",
        session=session,
        speaker=speaker,
        message_id=message or f"m{line}",
    )


def test_turns_say_who_speaks_and_a_turn_left_out_between_them_parts_them():
    packed = pack(
        [turn("I moved.", 7, "Ana"), turn("Where to?\nTell me.", 8, "Luis"), turn("Hm.", 10, "Ana")], words
    )
    assert [passage.text for passage in packed.passages] == [
        "Ana: I moved.\nLuis: Where to?\nTell me.",
        "Ana: Hm.",
    ]
    assert packed.passages[0].session == "s1"


def test_parts_of_a_long_turn_have_one_speaker():
    packed = pack([turn("first part", 7, "Ana"), turn("second part", 7, "Ana")], words)
    assert [passage.text for passage in packed.passages] == ["Ana: first part\nsecond part"]


def test_lines_of_another_file_or_session_are_no_neighbours():
    packed = pack([turn("one", 1, "Ana"), turn("two", 2, "Ana", session="s2"), hit("three", line=3)], words)
    assert len(packed.passages) == 3


def test_a_hit_that_does_not_fit_is_left_out_and_a_shorter_one_behind_it_is_not():
    packed = pack([hit("a b"), hit("many " * 50, path="b.md"), hit("c", path="c.md")], words, budget=10)
    assert [passage.text for passage in packed.passages] == ["a b", "c"]
    assert reasons(packed) == [(2, "budget", None)]
    assert packed.tokens == sum(passage.tokens for passage in packed.passages) <= 10


def test_the_source_costs_tokens_too():
    assert pack([hit("word", date="2026-04-20")], words).tokens > words("word")


def test_so_many_hits_are_kept_and_the_others_are_named():
    packed = pack([hit(f"fact {number}", path=f"{number}.md") for number in range(25)], words)
    assert len(packed.passages) == 20
    assert reasons(packed) == [(rank, "limit", None) for rank in range(21, 26)]


@pytest.mark.parametrize("text", ["", " \n\t", "- "])
def test_a_hit_that_says_nothing_is_left_out(text):
    packed = pack([hit(text, end_line=1)], words)
    assert packed.passages == ()
    assert len(packed.left_out) == 1


def test_nothing_fits_into_no_budget():
    packed = pack([hit("one"), hit("two", path="b.md")], words, budget=0)
    assert packed.passages == ()
    assert reasons(packed) == [(1, "budget", None), (2, "budget", None)]
