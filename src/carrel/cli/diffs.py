"""A line of a diff as people know them."""

from carrel.cli import output
from carrel.cli.transcripts import visible
from carrel.screen.hidden import visible as spelt_out

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def coloured(line: str) -> str:
    """Return a line of a diff in its colour, with nothing in it that a terminal obeys."""
    colour = _COLOURS.get(line[:1])
    shown = visible(spelt_out(line))
    return output.styled(shown, fg=colour) if colour else shown
