from hypothesis import given
from hypothesis import strategies as st

from carrel.index.fuse import Ranking, fuse_ranks, fuse_scores
from carrel.index.fuse.reorder import by_recency, diversify

scores = st.integers(-20, 20).map(float)
hits = st.dictionaries(st.integers(0, 12), scores, max_size=10).map(
    lambda found: sorted(found.items(), key=lambda item: -item[1])
)
rankings = st.lists(
    st.tuples(hits, st.sampled_from([0.0, 0.3, 1.0, 2.0]), st.sampled_from([None, 0.0, -3.0])), max_size=4
).map(
    lambda rows: [
        Ranking(name=f"list {number}", hits=found, weight=weight, low=low)
        for number, (found, weight, low) in enumerate(rows)
    ]
)
ways = st.sampled_from([fuse_ranks, fuse_scores])
boosts = st.dictionaries(st.sampled_from(["even", "odd"]), st.floats(0, 3), max_size=2)


def tier(entry):
    return "odd" if entry % 2 else "even"


@given(rankings, ways, boosts)
def test_a_fused_order_holds_every_entry_once_by_falling_score_between_0_and_1(lists, fuse, weights):
    fused = fuse(lists, boosts=weights, tier=tier)
    expected = {entry for ranking in lists if ranking.weight for entry, _ in ranking.hits}
    assert {entry.id for entry in fused} == expected
    assert len(fused) == len(expected)
    order = [(-entry.score, entry.id) for entry in fused]
    assert order == sorted(order)
    assert all(0 <= entry.score <= 1 for entry in fused)


@given(rankings, ways, st.randoms())
def test_the_order_of_lists_and_of_ties_in_them_changes_nothing(lists, fuse, random):
    shuffled = []
    for ranking in lists:
        mixed = list(ranking.hits)
        random.shuffle(mixed)
        mixed.sort(key=lambda item: -item[1])
        shuffled.append(Ranking(name=ranking.name, hits=mixed, weight=ranking.weight, low=ranking.low))
    random.shuffle(shuffled)
    assert fuse(shuffled) == fuse(lists)


@given(rankings, ways, st.integers(0, 15))
def test_a_limit_is_the_beginning_of_the_whole(lists, fuse, limit):
    assert fuse(lists, limit=limit) == fuse(lists)[:limit]


@given(rankings, ways, st.dictionaries(st.integers(0, 12), st.floats(-1e6, 1e6)), st.floats(0, 1))
def test_age_takes_no_more_than_its_share(lists, fuse, ages, share):
    before = {entry.id: entry for entry in fuse(lists)}
    for entry in by_recency(list(before.values()), ages.get, share=share):
        assert before[entry.id].score * (1 - share) - 1e-9 <= entry.score <= before[entry.id].score


@given(rankings, ways, st.floats(0, 1), st.integers(0, 6))
def test_diversity_reorders_and_keeps_all_and_the_first(lists, fuse, balance, limit):
    fused = fuse(lists)
    diverse = diversify(fused, lambda one, other: (one * other % 7) / 7, balance=balance, limit=limit)
    assert sorted(entry.id for entry in diverse) == sorted(entry.id for entry in fused)
    assert [entry.id for entry in diverse[:1]] == [entry.id for entry in fused[:1]]
