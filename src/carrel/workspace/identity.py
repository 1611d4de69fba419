"""IDENTITY.md: five facts about a persona, read from whatever shape people write them in."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

Field = Literal["name", "creature", "vibe", "emoji", "avatar"]
FIELDS: tuple[Field, ...] = ("name", "creature", "vibe", "emoji", "avatar")
_EMPHASIS = "*_` \t"


class Identity(Struct, frozen=True, kw_only=True):
    """The fields found; `placeholders` were never filled in, `prose` is text beside the fields."""

    name: str | None = None
    creature: str | None = None
    vibe: str | None = None
    emoji: str | None = None
    avatar: str | None = None
    placeholders: tuple[str, ...] = ()
    prose: bool = False

    def line(self, fields: tuple[str, ...]) -> str:
        """Return the fields asked for in one line, `name=Kate, vibe=warm`; empty when none is known."""
        known = ((field, getattr(self, field)) for field in fields)
        return ", ".join(f"{field}={value}" for field, value in known if value)


def parse_identity(text: str) -> Identity:
    """Read the fields: bullet optional, bold on either side of the colon, value here or on the next line.

    A value in parentheses is a placeholder of a template: skipped, and listed. The last of two wins.
    """
    found: dict[str, str] = {}
    placeholders: dict[str, None] = {}
    prose = False
    awaiting: str | None = None
    for line, is_fenced in _lines(text):
        stripped = line.strip()
        key, value = (None, "") if is_fenced else _field(stripped)
        if key is None and awaiting is not None and not is_fenced and _may_be_value(stripped):
            key, value = awaiting, stripped.strip(_EMPHASIS)
        awaiting = None
        if key is None:
            prose = prose or (bool(stripped) if is_fenced else _is_prose(stripped))
        elif not value:
            awaiting = key
        elif value.startswith("(") and value.endswith(")"):
            placeholders[key] = None
        else:
            found[key] = value
    unfilled = tuple(key for key in placeholders if key not in found)
    return Identity(**found, placeholders=unfilled, prose=prose)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it stands inside a code fence; a fence's own lines are blank."""
    fence = ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
            yield "", True
        else:
            yield line, fence != ""


def _may_be_value(line: str) -> bool:
    return bool(line) and not line.startswith(("#", "- ", "* "))


def _field(line: str) -> tuple[str | None, str]:
    """Return key and value of a line like `- **Name:** Kate`; the key is none when it is not one of ours."""
    left, colon, right = line.partition(":")
    key = left.lstrip("-*+ ").strip(_EMPHASIS).lower()
    return (key, right.strip(_EMPHASIS)) if colon and key in FIELDS else (None, "")


def _is_prose(line: str) -> bool:
    """Tell text from headings, rules and comments, which nobody misses in the rendered line."""
    return bool(line) and not line.startswith(("#", "---", "***", "<!--"))
