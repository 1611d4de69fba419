"""What is done with secrets and personal data before a text is written or embedded."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from carrel.errors import Refused
from carrel.screen import personal as people
from carrel.screen import secrets as keys

__all__ = ["BlockedByPrivacy", "Policy", "Screen", "Screened", "apply"]

Policy = Literal["block", "redact", "allow"]
"""Do not write it at all; write it with marks; write it as it is, unread."""

_MOST_KINDS = 10


class BlockedByPrivacy(Refused):
    """A text holds what the settings keep out of memory; nothing was written."""

    code = "blocked_by_privacy"

    def __init__(self, kinds: Sequence[str]) -> None:
        super().__init__(
            f"The text holds what is kept out of memory: {', '.join(kinds[:_MOST_KINDS])}.",
            hint="Leave it out; privacy.secrets and privacy.personal say what is done with it.",
        )
        self.kinds = tuple(kinds)


class Screened(Struct, frozen=True):
    """A text as it may be written, the kinds of what was found, and whether it may be written at all.

    A text that is blocked has its marks too, so that whoever shows it to its owner gives nothing away.
    """

    text: str
    found: tuple[str, ...] = ()
    blocked: bool = False


class Screen(Struct, frozen=True, kw_only=True):
    """The policies of a workspace; whatever becomes memory or a vector goes through one of these."""

    secrets: Policy = "redact"
    personal: Policy = "allow"

    def of(self, text: str) -> Screened:
        """Return a text as it may be written."""
        return apply(text, secrets=self.secrets, personal=self.personal)

    def may(self, text: str) -> str:
        """Return a text as it may be written; one that may not is BlockedByPrivacy."""
        screened = self.of(text)
        if screened.blocked:
            raise BlockedByPrivacy(screened.found)
        return screened.text

    def between(self, old: str, new: str) -> Screened:
        """Return a file's new text as it may be written: only the lines that the old one lacks are looked at.

        What stood there before is its owner's, and stays as it is.
        """
        if self.secrets == self.personal == "allow":
            return Screened(new)
        standing = frozenset(old.split("\n"))
        parts: list[str] = []
        kinds: dict[str, None] = {}
        blocked = False
        for is_new, lines in _runs(new.split("\n"), standing):
            screened = self.of(lines) if is_new else Screened(lines)
            parts.append(screened.text)
            kinds.update(dict.fromkeys(screened.found))
            blocked = blocked or screened.blocked
        return Screened("\n".join(parts) if kinds else new, tuple(kinds), blocked)


def apply(text: str, *, secrets: Policy, personal: Policy) -> Screened:
    """Return the text with `[REDACTED:KIND]` for what a policy does not allow.

    What is allowed is not looked for, and so not among the kinds. Where nothing is found the text stays the
    same object.
    """
    blocked = False
    kinds: dict[str, None] = {}
    if secrets != "allow":
        redacted = keys.redact(text)
        text = redacted.text
        kinds.update(dict.fromkeys(redacted.kinds))
        blocked = secrets == "block" and bool(redacted.kinds)
    if personal != "allow":
        found = people.find(text)
        text = "".join(_marked(text, found)) if found else text
        kinds.update(dict.fromkeys(each.kind for each in found))
        blocked = blocked or (personal == "block" and bool(found))
    return Screened(text, tuple(kinds), blocked)


def _marked(text: str, found: Sequence[people.Personal]) -> Iterator[str]:
    end = 0
    for each in found:
        yield text[end : each.start]
        yield f"[REDACTED:{each.kind.upper()}]"
        end = each.end
    yield text[end:]


def _runs(lines: Sequence[str], standing: frozenset[str]) -> Iterator[tuple[bool, str]]:
    """Yield lines that are new, or were there, as long as they follow each other; a key may have several.

    An empty line is told by the one before it: one within a key is no sign that half of the key was there.
    """
    begin, is_new = 0, False
    for place, line in enumerate(lines):
        is_now = is_new if not line.strip() else line not in standing
        if is_now != is_new and place:
            yield is_new, "\n".join(lines[begin:place])
            begin = place
        is_new = is_now
    yield is_new, "\n".join(lines[begin:])
