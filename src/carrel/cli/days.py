"""Days and times as people give them."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day

import click


def bound(option: str, given: str | None, zone: tzinfo, *, is_end: bool = False) -> datetime | None:
    """Return the moment that a day or a time stands for; a day as an end is over when the next begins."""
    if given is None:
        return None
    try:
        try:
            day = date.fromisoformat(given) + timedelta(days=is_end)
            found = datetime.combine(day, time_of_day.min, zone)
        except ValueError:
            found = datetime.fromisoformat(given)
        return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(f"{option} takes a day such as 2026-04-23, or an ISO time.") from None
