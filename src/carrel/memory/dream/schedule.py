"""When dreaming or consolidation is due: at an hour of each day, or after some time."""

from datetime import UTC, datetime, time, timedelta, tzinfo

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}


def due_at(schedule: str | None, last: datetime | None, now: datetime, zone: tzinfo) -> datetime | None:
    """Return from when on a run is due, in UTC; none where nothing is scheduled.

    What was never run is due now, and so is what was last run in the future: by then the clock was wrong.
    """
    if schedule is None:
        return None
    if last is None or last > now:
        return now
    kind, _, word = schedule.partition(" ")
    if kind == "every":
        return (last + int(word[:-1]) * _UNITS[word[-1]]).astimezone(UTC)
    return _next(time.fromisoformat(word), last.astimezone(zone)).astimezone(UTC)


def _next(hour: time, last: datetime) -> datetime:
    """Return when the clock of this zone next shows an hour after a moment."""
    today = datetime.combine(last.date(), hour, last.tzinfo)
    return today if today > last else datetime.combine(last.date() + timedelta(days=1), hour, last.tzinfo)
