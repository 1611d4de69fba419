"""A calendar of the last weeks: how much was said each day, and where something was remembered."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

from markupsafe import Markup
from msgspec import Struct

WEEKS = 16

_STEP = 16
_CELL = 13
_LEFT, _TOP = 34, 20
_SHADES = (0.28, 0.5, 0.75, 1)
_WEEKDAYS = ((0, "Mon"), (2, "Wed"), (4, "Fri"))


class Day(Struct, frozen=True, kw_only=True):
    """One day: what was said, and what memory wrote."""

    day: date
    messages: int = 0
    writes: int = 0

    @property
    def label(self) -> str:
        """The day in words."""
        return f"{self.day:%a %-d %b %Y}: {self.messages:,} messages, {self.writes:,} memory writes"


def first_day(today: date) -> date:
    """Return the Monday on which the calendar begins."""
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def days_of(today: date, said: Mapping[date, int], written: Mapping[date, int]) -> tuple[Day, ...]:
    """Return every day of the calendar up to today."""
    first = first_day(today)
    every = (first + timedelta(days=count) for count in range((today - first).days + 1))
    return tuple(Day(day=day, messages=said.get(day, 0), writes=written.get(day, 0)) for day in every)


def calendar(days: Sequence[Day]) -> Markup:
    """Draw the days as weeks, side by side: the darker the more was said, a dot where memory was written."""
    most = max((day.messages for day in days), default=0)
    width, height = _LEFT + WEEKS * _STEP, _TOP + 7 * _STEP
    busy = sum(bool(day.messages or day.writes) for day in days)
    said, wrote = sum(day.messages for day in days), sum(day.writes for day in days)
    label = f"Activity in {WEEKS} weeks: {said:,} messages and {wrote:,} memory writes on {busy:,} days"
    parts = [*_names(days), *(_cell(days[0].day, day, most) for day in days)]
    return Markup(
        '<svg class="picture calendar" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    ).format(width, height, label, Markup("").join(parts))


def _names(days: Sequence[Day]) -> Iterable[Markup]:
    for row, name in _WEEKDAYS:
        yield Markup('<text class="soft" x="0" y="{}">{}</text>').format(_TOP + row * _STEP + 11, name)
    last = -3
    for week in range(0, len(days), 7):
        month = days[week]
        column = week // 7
        if (week == 0 or days[week - 7].day.month != month.day.month) and column - last > 2:  # noqa: PLR2004 - its width
            last = column
            yield Markup('<text class="soft" x="{}" y="12">{}</text>').format(
                _LEFT + column * _STEP, f"{month.day:%b}"
            )


def _cell(first: date, day: Day, most: int) -> Markup:
    column, row = divmod((day.day - first).days, 7)
    x, y = _LEFT + column * _STEP, _TOP + row * _STEP
    if not day.messages and not day.writes:
        return Markup('<rect class="blank" x="{}" y="{}" width="{}" height="{}" rx="3"/>').format(
            x, y, _CELL, _CELL
        )
    shade = _SHADES[min(3, 4 * day.messages // (most + 1))] if day.messages else 0
    square = Markup(
        '<rect class="{}" fill-opacity="{}" x="{}" y="{}" width="{}" height="{}" rx="3"/>'
    ).format("k1" if day.messages else "blank", shade if day.messages else 1, x, y, _CELL, _CELL)
    dot = (
        Markup('<circle class="dot" cx="{}" cy="{}" r="3"/>').format(x + _CELL / 2, y + _CELL / 2)
        if day.writes
        else Markup("")
    )
    return Markup("<g><title>{}</title>{}{}</g>").format(day.label, square, dot)
