"""Pictures that the server draws: pure functions from values to SVG."""

from collections.abc import Callable

from markupsafe import Markup

WIDE, NARROW = 1000, 340
"""Pictures are drawn for a desk and for a phone: text in one that is scaled down could not be read."""


def both(draw: Callable[[int, str], Markup]) -> tuple[tuple[str, Markup], ...]:
    """Return a picture for a desk and one for a phone, each with the class that shows it."""
    return (("wide", draw(WIDE, "wide")), ("narrow", draw(NARROW, "narrow")))
