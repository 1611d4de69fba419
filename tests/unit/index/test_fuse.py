"""One order of several lists, and what may change it afterwards."""

from math import nan

import pytest

from carrel.index.fuse import Fused, Ranking, fuse_ranks, fuse_scores
from carrel.index.fuse.profiles import BUILT_IN, GENERAL, Profile, detect
from carrel.index.fuse.reorder import by_recency, diversify

WORDS = Ranking(name="words", hits=[(1, 9.0), (2, 7.0), (3, 5.0)])
VECTORS = Ranking(name="vectors", hits=[(2, 0.8), (4, 0.5), (1, 0.4)])


def ids(entries):
    return [entry.id for entry in entries]


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_the_best_of_every_list_has_the_highest_score_there_is(fuse):
    best, other = fuse(
        [Ranking(name="words", hits=[(7, 3.0), (8, 1.0)]), Ranking(name="graph", hits=[(7, 1.0)])]
    )
    assert (best.id, best.score) == (7, 1.0)
    assert other.score < 1


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_a_list_that_found_nothing_or_counts_nothing_lowers_nobody(fuse):
    alone = fuse([WORDS])
    silent = Ranking(name="graph", hits=[])
    unwanted = Ranking(name="vectors", hits=[(3, 1.0)], weight=0)
    assert fuse([WORDS, silent, unwanted]) == alone
    assert alone[0].score == 1.0


def test_ranks_are_worth_what_reciprocal_rank_fusion_says():
    fused = {entry.id: entry.score for entry in fuse_ranks([WORDS, VECTORS])}
    raw = {1: 1 / 61 + 1 / 63, 2: 1 / 62 + 1 / 61, 3: 1 / 63, 4: 1 / 62}
    assert fused == {entry: pytest.approx(value / (2 / 61)) for entry, value in raw.items()}
    assert list(fused) == [2, 1, 4, 3]


def test_scores_count_by_how_far_apart_they_are():
    close = Ranking(name="words", hits=[(1, 10.0), (2, 9.9), (3, 0.0)])
    fused = {entry.id: entry.score for entry in fuse_scores([close])}
    assert fused == {1: 1.0, 2: pytest.approx(0.99), 3: 0.0}


def test_the_last_of_a_list_that_holds_every_match_is_worth_more_than_what_is_not_listed():
    whole = Ranking(name="words", hits=[(1, 10.0), (2, 9.0)], low=0.0)
    fused = {
        entry.id: entry.score for entry in fuse_scores([whole, Ranking(name="vectors", hits=[(3, 0.1)])])
    }
    assert fused == {1: 0.5, 2: pytest.approx(0.45), 3: 0.5}


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
@pytest.mark.parametrize("hits", [[(5, 0.3)], [(5, 0.3), (6, 0.3), (7, 0.3)], [(5, 0.0)], [(5, -2.0)]])
def test_where_all_scores_are_equal_all_are_the_best(fuse, hits):
    assert {entry.score for entry in fuse([Ranking(name="words", hits=hits)])} == {1.0}


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_each_entry_keeps_what_every_list_said_of_it(fuse):
    entry = next(each for each in fuse([WORDS, VECTORS]) if each.id == 1)
    assert [(p.name, p.rank, p.score) for p in entry.placings] == [("vectors", 3, 0.4), ("words", 1, 9.0)]
    assert sum(placing.part for placing in entry.placings) == pytest.approx(entry.score)


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_ties_are_broken_by_the_key(fuse):
    where = {1: ("b.md", 1), 2: ("a.md", 9), 3: ("a.md", 2)}
    tied = Ranking(name="words", hits=[(1, 1.0), (2, 1.0), (3, 1.0)])
    assert ids(fuse([tied], key=where.__getitem__)) == [3, 2, 1]


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_a_weight_decides_between_lists(fuse):
    heavy = Ranking(name="vectors", hits=[(2, 1.0)], weight=3)
    best, other = fuse([Ranking(name="words", hits=[(1, 1.0)]), heavy])
    assert (best.id, best.score) == (2, 0.75)
    assert other.score == 0.25


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_a_tier_that_counts_more_goes_first_and_scores_stay_below_one(fuse):
    tiers = {1: "journal", 2: "session", 3: "journal"}
    fused = fuse([WORDS], boosts={"session": 2.5}, tier=tiers.__getitem__)
    assert ids(fused)[0] == 2
    assert all(0 <= entry.score <= 1 for entry in fused)
    assert {entry.tier: entry.boost for entry in fused} == {"session": 2.5, "journal": 1.0}


@pytest.mark.parametrize("fuse", [fuse_ranks, fuse_scores])
def test_a_score_that_is_no_number_harms_no_other(fuse):
    broken = Ranking(name="vectors", hits=[(1, 0.9), (2, 0.1), (3, nan)])
    fused = {entry.id: entry.score for entry in fuse([broken])}
    assert fused[1] == 1.0
    assert all(0 <= score <= 1 for score in fused.values())


def test_the_limit_keeps_the_best_ones():
    assert ids(fuse_ranks([WORDS, VECTORS], limit=2)) == [2, 1]
    assert fuse_scores([], limit=2) == []


def entry(number, score):
    return Fused(id=number, score=score, relevance=score, placings=())


def test_the_newer_of_two_equals_goes_first():
    assert ids(by_recency([entry(1, 0.5), entry(2, 0.5)], {1: 400.0, 2: 1.0}.get)) == [2, 1]


def test_an_old_fact_that_fits_much_better_stays_first():
    aged = by_recency([entry(1, 0.9), entry(2, 0.5)], {1: 100_000.0, 2: 0.0}.get, share=0.3)
    assert ids(aged) == [1, 2]
    assert aged[0].score == pytest.approx(0.9 * 0.7)
    assert aged[0].relevance == 0.9


def test_what_has_no_date_or_one_to_come_loses_nothing():
    aged = by_recency([entry(1, 0.5), entry(2, 0.4)], {2: -30.0}.get)
    assert [(each.score, each.recency) for each in aged] == [(0.5, 1.0), (0.4, 1.0)]


def test_half_of_the_share_is_gone_after_the_half_life():
    (aged,) = by_recency([entry(1, 1.0)], {1: 30.0}.get, half_life=30, share=0.4)
    assert aged.score == pytest.approx(0.8)


def test_what_repeats_the_first_hit_makes_room_for_something_else():
    entries = [entry(1, 1.0), entry(2, 0.95), entry(3, 0.8)]

    def similarity(one, other):
        return 0.99 if {one, other} == {1, 2} else 0.0

    diverse = diversify(entries, similarity)
    assert ids(diverse) == [1, 3, 2]
    assert (diverse[2].moved.rank, diverse[2].moved.like, diverse[2].moved.similarity) == (2, 1, 0.99)
    assert diverse[0].moved is None


def test_diversity_loses_nothing_behind_its_limit():
    entries = [entry(number, 1 / number) for number in range(1, 40)]
    assert sorted(ids(diversify(entries, lambda *_: 0.5, limit=3))) == list(range(1, 40))
    assert diversify([], lambda *_: 0.5) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Why does the build crash with this error?", "debugging"),
        ("DEBUG it", "debugging"),
        ("Give me the pros and cons", "debate"),
        ("It doesn\u2019t work", "debugging"),
        ("research what is known about tides", "research"),
        ("the terror of bugle calls", "general"),
        ("", "general"),
        ("\ud800\x00", "general"),
    ],
)
def test_words_of_a_question_choose_its_profile(query, name):
    assert detect(query).name == name


def test_the_built_in_multipliers_are_those_of_astra():
    weights = {
        profile.name: [profile.tiers.get(tier, 1.0) for tier in ("session", "graph", "knowledge", "document")]
        for profile in (*BUILT_IN, GENERAL)
    }
    assert weights == {
        "research": [0.8, 1.8, 1.5, 1.0],
        "debugging": [2.0, 0.7, 0.9, 1.2],
        "debate": [0.9, 1.5, 2.0, 1.0],
        "general": [1.0, 1.0, 1.0, 1.0],
    }


def test_a_profile_of_ones_own_is_found_in_any_script_and_replaces_a_built_in_one():
    chinese = Profile(name="修复", triggers=("调试",), tiers={"session": 3.0})
    own = Profile(name="debugging", triggers=("gremlin",), tiers={"journal": 2.0})
    assert detect("请帮我调试这个程序", [chinese]) == chinese
    assert detect("a gremlin", [own]) == own
    assert detect("an error", [own]) == GENERAL
