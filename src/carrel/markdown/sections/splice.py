"""Putting a text in the place of another, so that nothing around it changes, and reading it back."""

from collections.abc import Iterable, Sequence

from carrel.markdown.lines import body_start
from carrel.markdown.sections.errors import BadSectionText
from carrel.markdown.sections.parts import Part
from carrel.markdown.structure import Heading, is_fence_open, structure_of


def spliced(
    text: str, parts: Sequence[Part], start: int, end: int, new: str
) -> tuple[str, tuple[Heading, ...]]:
    """Return the text with `new` from `start` to `end`, and the headings that stand in there now.

    Refused where a heading before or after it would come, go or change, or what the front matter is.
    """
    result = text[:start] + new + text[end:]
    grown = len(new) - (end - start)
    expected = [
        (part.start + (grown if part.start >= end else 0), part.level, part.heading)
        for part in parts
        if not start <= part.start < end
    ]
    inside: list[Heading] = []
    outside: list[tuple[int, int, str]] = []
    for heading in structure_of(result).headings:
        if start <= heading.start < start + len(new):
            inside.append(heading)
        else:
            outside.append((heading.start, heading.level, heading.words))
    if outside != expected:
        raise BadSectionText("with what stands around it, it would hide or make other headings")
    if _front(result) != _front(text):
        raise BadSectionText("at the very start of a text it would be front matter")
    return result, tuple(inside)


def no_open_fence(words: str) -> None:
    """Refuse what would turn all that is written after it into code."""
    if is_fence_open(words):
        raise BadSectionText("a code fence in it is not closed")


def only_deeper(headings: Iterable[Heading], level: int) -> None:
    """Refuse headings that would end the section of this level rather than be nested in it."""
    for heading in headings:
        if heading.level <= level:
            raise BadSectionText(
                f"a {'#' * heading.level} in it is not below the section's own {'#' * level}"
            )


def no_headings(headings: Sequence[Heading]) -> None:
    """Refuse headings of any level."""
    if headings:
        raise BadSectionText(
            f"a {'#' * headings[0].level} in it is a heading, which begins a section of its own"
        )


def core_span(text: str) -> tuple[int, int]:
    """Return where a text begins and ends without blank lines around it; its last newline is not of it."""
    said = len(text.rstrip())
    if not said:
        return 0, 0
    start = text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1
    end = text.find("\n", said)
    if end == -1:
        return start, len(text)
    return start, end - (text[end - 1] == "\r")


def words_of(given: str) -> str:
    """Return what somebody gave with newlines LF, without blank lines around it."""
    plain = given.replace("\r\n", "\n").replace("\r", "\n")
    start, end = core_span(plain)
    return plain[start:end]


def newline_at(text: str, position: int) -> str:
    """Return the newline that is in use there: the one before, else the first after."""
    found = text.rfind("\n", 0, position)
    found = found if found != -1 else text.find("\n")
    return "\r\n" if found > 0 and text[found - 1] == "\r" else "\n"


def _front(text: str) -> str:
    return text[: body_start(text)].rstrip()
