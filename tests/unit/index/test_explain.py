"""Why a hit stands where it does."""

from math import nan

from carrel.index.explain import explain
from carrel.index.fuse import Ranking, fuse_ranks
from carrel.index.fuse.reorder import by_recency, diversify

WORDS = Ranking(name="words", hits=[(1, 12.4), (2, 7.0)])
VECTORS = Ranking(name="vectors", hits=[(2, 0.61), (3, 0.5), (1, 0.4)], weight=0.5)


def test_words_and_lists_are_told_in_plain_sentences():
    best = fuse_ranks([WORDS, VECTORS])[0]
    assert explain(best, 1, matched={"text": ["moved", "lisbon"], "headings": ["travel"], "speaker": []}) == (
        "1st, score 0.989 where 1 would be the best of every list.",
        "Found in its text: moved, lisbon; in its headings: travel.",
        "3rd by vectors with 0.4, a list of weight 0.5: 0.323 of the score.",
        "1st by words with 12.4: 0.667 of the score.",
    )


def test_a_hit_without_a_word_of_the_query_says_where_it_comes_from():
    lines = explain(fuse_ranks([WORDS, VECTORS])[2], 3)
    assert "No word of the query is in it; it comes from vectors." in lines
    assert not any("words" in line for line in lines)


def test_a_tier_that_counts_more_is_told_with_the_kind_of_question():
    entry = fuse_ranks([WORDS], boosts={"session": 2.0}, tier=lambda _: "session")[0]
    assert "The session tier counts 2 times in debugging questions." in explain(entry, 1, profile="debugging")
    assert "The session tier counts 2 times." in explain(entry, 1)


def test_age_is_told_where_it_took_something():
    entry = by_recency(fuse_ranks([WORDS]), {1: 10_000.0}.get)[1]
    assert "Its age leaves 0.8 of 1." in explain(entry, 2)
    assert not any("age" in line for line in explain(fuse_ranks([WORDS])[0], 1))


def test_what_diversity_moved_says_from_where_and_for_what():
    diverse = diversify(
        fuse_ranks([Ranking(name="words", hits=[(1, 3.0), (2, 2.0), (3, 1.0)])]),
        lambda *pair: 1.0 * (3 not in pair),
    )
    assert [entry.id for entry in diverse] == [1, 3, 2]
    lower = explain(diverse[2], 3, where=lambda entry: f"notes.md:{entry}")
    assert "2nd by score, and lower here because it is 1 like notes.md:1 above." in lower
    assert "3rd by score, and higher here because others repeat what stands above." in explain(diverse[1], 2)


def test_a_score_is_never_shown_as_a_certainty():
    said = " ".join(explain(fuse_ranks([WORDS])[0], 1, matched={"text": ["a"]})).lower()
    assert not any(word in said for word in ("%", "confiden", "certain", "sure", "probab"))


def test_many_and_endless_words_are_cut_and_what_is_no_number_says_so():
    entry = fuse_ranks([Ranking(name="vectors", hits=[(1, nan)])])[0]
    lines = explain(entry, 112, matched={"text": ["w" * 1_000_000] * 50})
    assert lines[0].startswith("112th")
    assert "and 38 more" in lines[1]
    assert len(lines[1]) < 600
    assert "with no number" in lines[2]
