"""Caps on spending, and how far a provider's figures are believed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.errors import Refused
from carrel.records.sqlite import SqliteRecords
from carrel.records.usage import Spent
from carrel.runtime.spending import DOUBT_FROM, Allowance, Caps, SpendingCap, check, surplus

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
DAY = Caps(per_day=5.0)
SESSION = Caps(per_session=1.0)


@pytest.fixture
def usage():
    records = SqliteRecords()
    yield records.usage
    records.close()


def spend(usage, cost, *, turn="t1", agent="kate", session="s1", at=NOW):
    spent = Spent(agent=agent, session=session, model="gpt-5", at=at, input=10, cached=0, output=1, cost=cost)
    usage.add(spent, turn=turn)


def ask(usage, caps, *, purpose="turn", session="s1", now=NOW):
    return check(usage, caps, agent="kate", session=session, now=now, purpose=purpose)


# -------------------------------------------------------------------------------------------------------- caps


def test_without_caps_everything_is_allowed(usage):
    spend(usage, 1_000.0)
    assert ask(usage, Caps()) == Allowance()
    assert ask(usage, Caps(), purpose="background") == Allowance()


def test_below_its_cap_a_turn_is_allowed_and_nothing_is_said(usage):
    spend(usage, 4.99)
    assert ask(usage, DAY) == Allowance()


def test_at_its_cap_a_turn_is_refused_with_the_figures_and_when_it_resets(usage):
    spend(usage, 5.125)
    with pytest.raises(SpendingCap) as caught:
        ask(usage, DAY)
    error = caught.value
    assert isinstance(error, Refused)
    assert (error.code, error.span, error.cap, error.spent) == ("spending_cap", "day", 5.0, 5.125)
    assert error.resets == datetime(2026, 4, 25, tzinfo=UTC)
    assert error.message == (
        "The spending cap of $5.00 a day is reached: $5.12 was spent today. It resets at 2026-04-25 00:00 UTC."
    )
    assert "spending.per_day" in error.hint


def test_a_cap_is_reached_by_many_small_sums_that_add_up_to_it(usage):
    for number in range(50):
        spend(usage, 0.1, turn=f"t{number}")
    with pytest.raises(SpendingCap):
        ask(usage, DAY)


def test_a_session_at_its_cap_does_not_reset_and_others_go_on(usage):
    spend(usage, 1.0)
    with pytest.raises(SpendingCap) as caught:
        ask(usage, SESSION)
    assert (caught.value.span, caught.value.resets) == ("session", None)
    assert "new session" in caught.value.hint
    assert ask(usage, SESSION, session="s2").allowed


def test_the_same_session_id_of_another_agent_is_another_session(usage):
    spend(usage, 9.0, agent="ana")
    assert ask(usage, SESSION).allowed


def test_a_day_is_the_whole_workspaces_whichever_agent_spent(usage):
    spend(usage, 3.0)
    spend(usage, 3.0, agent="ana", session="s9")
    with pytest.raises(SpendingCap):
        ask(usage, DAY)


def test_a_day_begins_at_midnight_where_the_workspace_is(usage):
    bogota = ZoneInfo("America/Bogota")
    now = datetime(2026, 4, 24, 3, tzinfo=UTC).astimezone(bogota)  # still the 23rd there
    spend(usage, 6.0, at=datetime(2026, 4, 23, 4, tzinfo=UTC))  # the 22nd
    assert ask(usage, DAY, now=now).allowed
    spend(usage, 6.0, turn="t2", at=datetime(2026, 4, 23, 6, tzinfo=UTC))
    with pytest.raises(SpendingCap) as caught:
        ask(usage, DAY, now=now)
    assert caught.value.resets == datetime(2026, 4, 24, 5, tzinfo=UTC)
    assert ask(usage, DAY, now=now + timedelta(hours=2)).allowed


def test_background_work_stops_first_and_says_so(usage):
    spend(usage, 4.0)
    assert ask(usage, DAY).allowed
    background = ask(usage, DAY, purpose="background")
    assert not background.allowed
    (found,) = background.findings
    assert found.code == "background_stopped"
    assert "$4.00 of the $5.00 a day" in found.message
    assert "80%" in found.message


def test_background_work_goes_on_below_that(usage):
    spend(usage, 3.99)
    assert ask(usage, DAY, purpose="background") == Allowance()


def test_a_share_that_no_float_is_stops_it_too(usage):
    spend(usage, 0.08)
    assert not ask(usage, Caps(per_day=0.1), purpose="background").allowed


def test_background_work_beyond_a_cap_is_stopped_and_not_raised(usage):
    spend(usage, 50.0)
    both = ask(usage, Caps(per_day=5.0, per_session=1.0), purpose="background")
    assert not both.allowed
    assert len(both.findings) == 2


def test_background_work_of_no_session_knows_only_the_day(usage):
    spend(usage, 50.0)
    assert ask(usage, SESSION, session=None, purpose="background").allowed


def test_a_cap_of_nothing_allows_nothing(usage):
    with pytest.raises(SpendingCap, match=r"\$0\.00 a day"):
        ask(usage, Caps(per_day=0.0))


def test_calls_without_a_price_are_not_counted_and_that_is_said(usage):
    spend(usage, None)
    spend(usage, 1.0, turn="t2")
    allowance = ask(usage, DAY)
    assert allowance.allowed
    assert [found.code for found in allowance.findings] == ["spending_unknown"]
    assert "1 call has no known price" in allowance.findings[0].message
    spend(usage, None, turn="t3")
    spend(usage, 9.0, turn="t4")
    with pytest.raises(SpendingCap, match="2 calls have no known price"):
        ask(usage, DAY)


# --------------------------------------------------------------------------------------------------- anchoring


WINDOW = 200_000


def reported(tokens, counted, *, model="gpt-5"):
    """The last call of a session as its provider reported it, and as it was counted here."""
    return Spent(
        agent="kate", session="s1", model=model, at=NOW, input=tokens, cached=0, output=1, counted=counted
    )


LARGE = 400_000


def test_without_a_report_on_this_model_there_is_nothing_to_go_by():
    assert surplus(None, "gpt-5", LARGE) is None
    assert surplus(reported(1_200, 1_000), "gpt-4o", LARGE) is None
    assert surplus(reported(1_200, 0), "gpt-5", LARGE) is None  # a call that was not counted
    assert surplus(reported(0, 1_000), "gpt-5", LARGE) is None  # a provider that tells nothing


def test_what_the_provider_counts_beyond_us_is_beside_the_next_call_too():
    found = surplus(reported(1_200, 1_000), "gpt-5", LARGE)
    assert found is not None
    assert (found.tokens, found.finding) == (200, None)


def test_a_provider_that_counts_less_saves_nothing():
    found = surplus(reported(600, 1_000), "gpt-5", LARGE)
    assert found is not None
    assert (found.tokens, found.finding) == (0, None)


@pytest.mark.parametrize("tokens", [1, 249, DOUBT_FROM + 4_001, 10**9])
def test_a_report_that_cannot_be_true_is_left_aside_and_named(tokens):
    found = surplus(reported(tokens, 1_000), "gpt-5", LARGE)
    assert found is not None
    assert found.tokens == 0
    assert found.finding is not None
    assert found.finding.code == "usage_doubtful"
    assert f"{tokens:,}" in found.finding.message
    assert "1,000" in found.finding.message


@pytest.mark.parametrize("tokens", [250, 4_000, DOUBT_FROM + 4_000])
def test_another_tokenizer_and_many_tools_are_no_lie(tokens):
    found = surplus(reported(tokens, 1_000), "gpt-5", LARGE)
    assert found is not None
    assert found.finding is None


@pytest.mark.parametrize(("tokens", "is_believed"), [(3_000, True), (3_001, False), (9_000, False)])
def test_a_report_that_would_leave_less_than_half_of_the_window_is_not_believed(tokens, is_believed):
    found = surplus(reported(tokens, 1_000), "gpt-5", 4_000)
    assert found is not None
    assert (found.finding is None) is is_believed
    assert found.tokens == (tokens - 1_000 if is_believed else 0)


whole = st.integers(-10, 10**12)


@given(tokens=whole, counted=whole, window=st.integers(1, 10**7))
def test_whatever_is_reported_there_is_room_left_and_no_more_is_believed_than_can_be(tokens, counted, window):
    found = surplus(reported(tokens, counted), "gpt-5", window)
    if found is not None:
        assert 0 <= found.tokens <= min(3 * max(0, counted) + DOUBT_FROM, window // 2)
        assert found.finding is None or not found.tokens
