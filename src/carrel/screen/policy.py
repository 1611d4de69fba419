"""What is done with secrets and personal data before a text is written or embedded."""

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from carrel.screen import personal as people
from carrel.screen import secrets as keys

__all__ = ["Policy", "Screened", "apply"]

Policy = Literal["block", "redact", "allow"]
"""Do not write it at all; write it with marks; write it as it is, unread."""


class Screened(Struct, frozen=True):
    """A text as it may be written, the kinds of what was found, and whether it may be written at all.

    A text that is blocked has its marks too, so that whoever shows it to its owner gives nothing away.
    """

    text: str
    found: tuple[str, ...] = ()
    blocked: bool = False


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
