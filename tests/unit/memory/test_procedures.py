"""A procedure is worth more the more it was used, a little, and for a while."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.app import Workspace
from carrel.memory.procedures import weights_of
from carrel.records.recalls import RecallEvent, Remembered

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
QUARTER = timedelta(minutes=15)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DEPLOY = "memory/procedures/deploy.md"


def remembered(*ages, path=DEPLOY, tier="procedure", text="x"):
    quarters = frozenset((NOW - timedelta(days=age) - EPOCH) // QUARTER for age in ages)
    return Remembered(
        tier=tier, path=path, line=1, text=text, hits=len(ages), worth=0, last=NOW, queries=frozenset({1}),
        quarters=quarters,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ages", "weight"),
    [
        ((0,), 1.05),  # one of five: 0.25 / 5
        ((90,), 1.025),  # half of it
        ((180,), 1.0125),
        ((0, 90), 1.075),
        ((0, 1, 2, 3, 4, 5, 6, 7), 1.25),
        ((-30,), 1.05),  # a clock that was wrong
    ],
)
def test_each_use_counts_and_fades_by_half_in_ninety_days(ages, weight):
    assert weights_of([remembered(*ages)], NOW)[DEPLOY] == pytest.approx(weight, abs=1e-3)


def test_passages_of_one_page_in_one_moment_are_one_use_and_other_tiers_are_none():
    told = [remembered(0), remembered(0, text="y"), remembered(0, path="MEMORY.md", tier="profile")]
    assert weights_of(told, NOW) == {DEPLOY: pytest.approx(1.05, abs=1e-3)}


@given(st.lists(st.floats(-1e4, 1e4), max_size=50))
def test_a_weight_is_never_less_than_one_nor_more_than_one_and_a_quarter(ages):
    for weight in weights_of([remembered(*ages)], NOW).values():
        assert 1 <= weight <= 1.25


def test_of_two_procedures_that_answer_alike_the_one_in_use_comes_first(tmp_path):
    pages = {
        name: f"# How to release {name}\n\nBuild, then push the release.\n" for name in ("alpha", "omega")
    }
    root = tmp_path / "desk"
    for name, text in pages.items():
        place = root / f"memory/procedures/{name}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (root / "carrel.yaml").write_text("layout: carrel\nsearch: {embedder: none}\n")
    environ = {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": NOW.isoformat()}
    with Workspace.open(root, environ=environ) as workspace:

        def found():
            return [hit.chunk.path.rpartition("/")[2] for hit in workspace.search("push the release").hits]

        first, *_ = found()
        last = "omega.md" if first == "alpha.md" else "alpha.md"
        workspace.records.recalls.add(
            RecallEvent(
                agent="main", session="s1", at=NOW - timedelta(days=day), query=f"q{day}",
                path=f"memory/procedures/{last}", line=1, tier="procedure", rank=1, score=0.5, text="x", who="tool",
            )
            for day in range(5)
        )  # fmt: skip
        assert found()[0] == last
