"""All Records that are built in, held to their contract; a new one is by one more line in RECORDS of conftest.py."""

import math
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carrel.records import Records
from carrel.records.usage import MOST_TOKENS
from carrel.testing.contracts import RecordsContract
from carrel.testing.contracts.records.samples import spent

ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3),
    st.sampled_from([-1, 2**63, 10**400, math.inf, -math.inf, math.nan, "9" * 5000, [], {}]),
)  # fmt: skip


class TestRecords(RecordsContract):
    """What is given as `records` is in conftest.py."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    figures=st.fixed_dictionaries(dict.fromkeys(("input", "cached", "output", "cost", "counted"), ANYTHING)),
    turn=st.uuids(),
)
def test_no_figure_whatever_breaks_a_turn(records: Records, figures: dict[str, object], turn: UUID) -> None:
    records.usage.add(spent(**figures), turn=str(turn))
    last = records.usage.last("kate", "s1")
    assert last is not None
    assert 0 <= last.cached <= last.input <= MOST_TOKENS
    assert 0 <= last.output <= MOST_TOKENS
    assert 0 <= last.counted <= MOST_TOKENS
    total = records.usage.total()
    assert total.cost is None or (math.isfinite(total.cost) and total.cost >= 0)
