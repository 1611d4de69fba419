"""What can be wrong with the name of a section, or with what somebody wants to put there."""

from collections.abc import Sequence

from carrel.errors import Conflict, NotFound, UsageError

_LONGEST = 80
_MOST = 10


class SectionNotFound(NotFound):
    """No section has this address; those that there are, are listed."""

    code = "section_not_found"

    def __init__(self, address: str, headings: Sequence[str]) -> None:
        known = f"There are: {_listed(headings)}." if headings else "The text has no headings."
        super().__init__(f"There is no section {_short(address)}.", hint=known)
        self.address = address


class AmbiguousSection(UsageError):
    """Several sections have this address; each is listed by one of its own."""

    code = "ambiguous_section"

    def __init__(self, address: str, addresses: Sequence[str]) -> None:
        super().__init__(
            f"{len(addresses)} sections are called {_short(address)}.",
            hint=f"Name one of: {_listed(addresses)}.",
        )
        self.addresses = tuple(addresses)


class SectionConflict(Conflict):
    """Two have changed the same section; neither text is lost, both are here."""

    code = "section_conflict"

    def __init__(self, section: str, *, mine: str, theirs: str) -> None:
        named = f"The section {_short(section)}" if section else "The text before the first heading"
        super().__init__(
            f"{named} was changed by somebody else meanwhile.",
            hint="Read it again, and make your change to what it says now.",
        )
        self.section = section
        self.mine = mine
        self.theirs = theirs


class BadSectionText(UsageError):
    """A text, which is not quoted, would not stay within the section meant for it, or change another."""

    code = "bad_section_text"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The text cannot stand there: {problem}.",
            hint="Close every code fence, and give each section its own call.",
        )


class BadHeading(UsageError):
    """A heading that would not be read back as it was given."""

    code = "bad_heading"

    def __init__(self, heading: str, problem: str) -> None:
        super().__init__(
            f"{_short(heading)} cannot be a heading: {problem}.",
            hint="A heading is one line of text that does not end with #.",
        )


class BadMove(UsageError):
    """A section cannot go there without taking others in, or being taken apart."""

    code = "bad_move"

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"The section cannot go there: {problem}.", hint="Move it behind a section of its own level."
        )


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(_short(name) for name in names[:_MOST])
    return f"{shown} and {len(names) - _MOST} more" if len(names) > _MOST else shown
