from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from carrel.context.inputs import Inputs
from carrel.workspace.scope import Scope


def inputs(now: datetime) -> Inputs:
    return Inputs(scope=Scope.MAIN, now=now, time_zone="UTC")


def test_today_is_the_day_of_the_given_zone():
    moment = datetime(2026, 4, 24, 3, tzinfo=UTC)
    assert inputs(moment).today == date(2026, 4, 24)
    assert inputs(moment.astimezone(ZoneInfo("America/Bogota"))).today == date(2026, 4, 23)


def test_the_last_days_are_newest_first_and_cross_a_leap_day():
    assert inputs(datetime(2024, 3, 1, tzinfo=UTC)).last_days(3) == [
        date(2024, 3, 1),
        date(2024, 2, 29),
        date(2024, 2, 28),
    ]
