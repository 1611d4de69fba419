"""Characters that nobody sees: which of them stand where they belong, and which hide something.

A joiner within an emoji or a Persian word, a variant of an ideograph, the tags of a flag, a mark of byte
order at the start: all of these are part of honest text. What is left is shown to the owner, and counted.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_EMOJI = "[\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001fbff]"
_SKIN = "[\U0001f3fb-\U0001f3ff]"
_JOINING = "[\u0600-\u07ff\u0840-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc]"
_SPACELESS = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"  # words of Thai, Lao, Burmese and Khmer are not parted
)
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
_SELECTOR = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)

_HONEST = (
    "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f",
    rf"{_EMOJI}[\ufe00-\ufe0f]?{_SKIN}?(?:\u200d{_EMOJI}\ufe0f?{_SKIN}?)*+",
    r"[0-9#*]\ufe0f\u20e3?",
    rf"(?<={_JOINING})[\u200c\u200d]",
    rf"(?<={_SPACELESS})\u200b",
    rf"{_IDEOGRAPH}{_SELECTOR}",
    r"[\u1800-\u18af][\u180b-\u180d\u180f]",
    r"\A\ufeff",
    r"\r(?=\n|\Z)|[\x0b\x0c]",
    r"\x1b\[(?:[0-7]|[349][0-7]|10[0-7])?(?:;[0-9]{1,3}){0,4}m",  # a colour, but not what conceals
)
_MARKS = r"[\u061c\u200e\u200f]"
"""Marks of direction: part of honest text only where some of it runs from right to left."""
_HIDING = {
    "tag_characters": "[\U000e0000-\U000e007f]+",
    "variation_selectors": rf"{_SELECTOR}+",
    "bidi": r"[\u202a-\u202e\u2066-\u2069]+",
    "zero_width": (
        rf"(?:{_MARKS}|[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u3164"
        "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a])+"
    ),
    "control_characters": r"[\x00-\x08\x0b-\x1f\x7f-\x9f]+",
    "": r"[\ud800-\udfff]+",  # half a character is damage, not malice
}
_ANY_OF_THEM = re.compile("|".join(form.rstrip("+") for form in _HIDING.values()))
_EMBEDDINGS = frozenset("\u202a\u202b\u2066\u2067\u2068")
_CLOSINGS = frozenset("\u202c\u2069")
_OVERRIDES = frozenset("\u202d\u202e")
_MANY = 6
"""So many characters of no width are a message even where each of them stands alone."""


class Hidden(NamedTuple):
    """Some characters that show nothing, and do not belong where they stand."""

    kind: str
    start: int
    end: int


def hidden(text: str) -> Iterator[Hidden]:
    """Yield in order what hides in a text."""
    if not _ANY_OF_THEM.search(text):
        return
    is_mirrored = _RIGHT_TO_LEFT.search(text) is not None
    is_embedded = is_mirrored and _is_balanced(text)
    for found in _any().finditer(text):
        kind = found.lastgroup
        is_honest = kind == "zero_width" and is_mirrored and re.fullmatch(rf"{_MARKS}+", found[0])
        is_honest = is_honest or (kind == "bidi" and is_embedded and not _OVERRIDES & {*found[0]})
        if kind and not is_honest:
            yield Hidden("" if kind == "damage" else kind, *found.span())


def visible(text: str) -> str:
    r"""Return the text with every hiding character written out, as in `\u{200b}`, for its owner to see."""
    parts: list[str] = []
    end = 0
    for found in hidden(text):
        parts += (text[end : found.start], *(f"\\u{{{ord(c):x}}}" for c in text[found.start : found.end]))
        end = found.end
    return "".join((*parts, text[end:])) if parts else text


def hiding(text: str) -> tuple[str, ...]:
    """Return the kinds of hiding characters that cannot be an accident of copying."""
    kinds: dict[str, None] = {}
    alone = 0
    for kind, start, end in hidden(text):
        if kind == "zero_width" and end - start == 1:
            if text[start] == "\u00ad":
                continue
            alone += 1
            if not (_is_letter(text, start - 1) and _is_letter(text, end)) and alone < _MANY:
                continue
        if kind:
            kinds[kind] = None
    return tuple(kinds)


def _is_letter(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isascii() and text[at].isalpha()


def _is_balanced(text: str) -> bool:
    """Tell whether every embedding is closed again, as programs write them that mix directions."""
    depth = 0
    for character in text:
        depth += (character in _EMBEDDINGS) - (character in _CLOSINGS)
        if depth < 0:
            return False
    return depth == 0


@cache
def _any() -> re.Pattern[str]:
    """Return the pattern that passes over honest characters and names the others."""
    hiding_forms = (f"(?P<{kind or 'damage'}>{form})" for kind, form in _HIDING.items())
    return re.compile("|".join((*(f"(?:{form})" for form in _HONEST), *hiding_forms)))
