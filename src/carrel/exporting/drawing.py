"""How a page shows a text and a context: what draws them better may be given, by who has it."""

from collections.abc import Callable
from html import escape

from msgspec import Struct

from carrel.context.report import Report
from carrel.sessions.export import visible


def _as_it_is(text: str) -> str:
    return f'<div class="text" dir="auto">{escape(visible(text))}</div>'


class Drawing(Struct, frozen=True, kw_only=True):
    """Functions to HTML that runs nothing, loads nothing and has everything escaped."""

    markdown: Callable[[str], str] = _as_it_is
    context: Callable[[Report], str] = lambda _: ""


PLAIN = Drawing()
"""What needs nothing beside Carrel itself."""
