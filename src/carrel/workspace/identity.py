"""IDENTITY.md: five facts about a persona, read from whatever shape people write them in."""

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
    placeholders: list[str] = []
    prose = False
    awaiting: str | None = None
    for line in _outside_fences(text):
        stripped = line.strip()
        key, value = _field(stripped)
        if key is None and awaiting is not None and stripped and not stripped.startswith(("#", "- ", "* ")):
            key, value = awaiting, stripped.strip(_EMPHASIS)
        awaiting = None
        if key is None:
            prose = prose or _is_prose(stripped)
        elif not value:
            awaiting = key
        elif value.startswith("(") and value.endswith(")"):
            placeholders.append(key)
        else:
            found[key] = value
    return Identity(**found, placeholders=tuple(dict.fromkeys(placeholders)), prose=prose)


def _outside_fences(text: str) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def _field(line: str) -> tuple[str | None, str]:
    """Return key and value of a line like `- **Name:** Kate`; the key is none when it is not one of ours."""
    left, colon, right = line.partition(":")
    key = left.lstrip("-*+ ").strip(_EMPHASIS).lower()
    return (key, right.strip(_EMPHASIS)) if colon and key in FIELDS else (None, "")


def _is_prose(line: str) -> bool:
    """Tell text from headings, rules and comments, which nobody misses in the rendered line."""
    return bool(line) and not line.startswith(("#", "---", "***", "<!--"))
