"""Candidates of a dream as dots: the score against how often one was recalled, and where the gates are."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from markupsafe import Markup
from msgspec import Struct

Standing = Literal["passes", "held", "below"]
"""passes: to be promoted; held: every gate is open, and something else is in the way; below: one is shut."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 0.0, 99.0, 6.0, 86.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOST_TICKS = 8
_LABELLED = 30
_WIDE, _TALL = 6.4, 3.0
"""Pixels of a percent, of a picture of middle size: what has room there is drawn."""

_PIP, _DIGIT = 6.0, 8.0
_STEP, _BESIDE = 2.2, 0.4
"""Percent by which a dot is moved that would lie on another, and the part of a unit that it may be moved."""

_Box = tuple[float, float, float, float]

SHAPES: dict[Standing, Markup] = {
    "passes": Markup('<path d="M0-7 7 0 0 7-7 0z" class="k1"/>'),
    "held": Markup('<path d="M-5-5h10v10h-10z" class="k4"/><path d="M-5-5 5 5M5-5-5 5" class="on-line"/>'),
    "below": Markup('<circle r="5" class="hollow"/>'),
}
"""A full diamond, a crossed square and an empty circle: told apart by their shape."""


_MARK = Markup('<svg x="{}%" y="{}%" class="pip">{}{}</svg>')


class Dot(Struct, frozen=True, kw_only=True):
    """One candidate: its number in the table, its score from 0 to 1, and what it is held against."""

    number: int
    across: int
    score: float
    standing: Standing


class Axis(Struct, frozen=True, kw_only=True):
    """What is told from left to right: its name, and the least that the gate asks for."""

    name: str
    least: int


def dot_plot(dots: Sequence[Dot], axis: Axis, least_score: float) -> Markup:
    """Return the picture; what passes both gates stands in the corner that is tinted."""
    most = max([axis.least + 1, *(dot.across for dot in dots)]) + 0.5
    gate, level = _across(axis.least - 0.5, most), _up(least_score)  # between what passes and what does not
    return Markup(
        '<svg class="gateplot" role="img" aria-label="{}">'
        '<rect x="{}%" y="{}%" width="{}%" height="{}%" class="passing"/>{}{}'
        '<line x1="{}%" x2="{}%" y1="{}%" y2="{}%" class="line gate"/>'
        '<line x1="{}%" x2="{}%" y1="{}%" y2="{}%" class="line gate"/>'
        '<text x="{}%" y="{}%" dx="5" dy="13" class="soft">{} {}</text>'
        '<text x="{}%" y="{}%" dy="-5" text-anchor="end" class="soft">score {}</text>{}</svg>'
    ).format(
        _told(dots, axis, least_score),
        _n(gate), _n(_TOP), _n(_RIGHT - gate), _n(level - _TOP),
        _scores(), _numbers(axis, most),
        _n(gate), _n(gate), _n(_TOP), _n(_BOTTOM),
        _n(_LEFT), _n(_RIGHT), _n(level), _n(level),
        _n(gate), _n(_TOP), axis.least, axis.name,
        _n(_RIGHT), _n(level), f"{least_score:g}",
        _marks(dots, most),
    )  # fmt: skip


def _marks(dots: Sequence[Dot], most: float) -> Markup:
    """Return the dots, side by side where there is room; a number that would cover one is left out."""
    places: list[tuple[Dot, float, float]] = []
    taken: list[_Box] = []
    room = _across(_BESIDE, most)
    for dot in dots:
        at, y = _across(dot.across, most), _up(dot.score)
        moved = (at + step * _STEP for step in (0, 1, -1, 2, -2, 3, -3) if abs(step) * _STEP <= room)
        free = (x for x in moved if not any(_meet(_pip(x, y), box) for box in taken))
        x = next(free, at)
        places.append((dot, x, y))
        taken.append(_pip(x, y))
    marks: list[Markup] = []
    for dot, x, y in places:
        left = x * _WIDE + _PIP + 1
        told = left, y * _TALL - _PIP, left + _DIGIT * len(str(dot.number)), y * _TALL + _PIP
        label: Markup | str = ""
        if dot.number <= _LABELLED and not any(_meet(told, box) for box in taken):
            label = Markup('<text x="8" y="4">{}</text>').format(dot.number)
            taken.append(told)
        marks.append(_MARK.format(_n(x), _n(y), SHAPES[dot.standing], label))
    return Markup().join(marks)


def _pip(x: float, y: float) -> _Box:
    return x * _WIDE - _PIP, y * _TALL - _PIP, x * _WIDE + _PIP, y * _TALL + _PIP


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scores() -> Markup:
    return Markup().join(
        Markup(
            '<line x1="{}%" x2="{}%" y1="{}%" y2="{}%" class="line faint"/>'
            '<text x="0" y="{}%" dx="-8" dy="4" text-anchor="end" class="soft">{}</text>'
        ).format(_n(_LEFT), _n(_RIGHT), _n(_up(tick)), _n(_up(tick)), _n(_up(tick)), f"{tick:g}")
        for tick in _TICKS
    )


def _numbers(axis: Axis, most: float) -> Markup:
    step = max(1, -(-int(most) // _MOST_TICKS))
    ticks = Markup().join(
        Markup('<text x="{}%" y="{}%" dy="17" text-anchor="middle" class="soft">{}</text>').format(
            _n(_across(tick, most)), _n(_BOTTOM), tick
        )
        for tick in range(0, int(most) + 1, step)
    )
    name = Markup('<text x="{}%" y="100%" dy="-6" text-anchor="end" class="soft">{} →</text>')
    return ticks + name.format(_n(_RIGHT), axis.name)


def _told(dots: Sequence[Dot], axis: Axis, least_score: float) -> str:
    tally = Counter(dot.standing for dot in dots)
    return (
        f"{len(dots)} candidates by score and {axis.name}. The gates are at {axis.least} {axis.name} and a "
        f"score of {least_score:g}. {tally['passes']} pass every gate and would be promoted, {tally['held']} "
        f"pass and may not be, {tally['below']} do not pass. The table below has each of them."
    )


def _across(value: float, most: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * value / most


def _up(score: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * min(max(score, 0.0), 1.0)


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
