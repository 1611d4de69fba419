"""Rendering: escape what could forge a delimiter, wrap sections, and join them into messages."""

import re
from collections.abc import Callable
from functools import lru_cache

Escape = Callable[[str], str]


@lru_cache(maxsize=32)
def escaper(tags: tuple[str, ...]) -> Escape:
    """Return the escape for a layout's tags: `<` becomes `&lt;` where it would open or close one of them."""
    if not tags:
        return _unchanged
    names = "|".join(re.escape(tag) for tag in tags)
    # Possessive, so that a megabyte of white space after `<` is read once.
    pattern = re.compile(rf"<(?=\s*+(?:/\s*+)?+(?:{names})(?![\w.-]))", re.IGNORECASE)
    return lambda text: pattern.sub("&lt;", text)


def _unchanged(text: str) -> str:
    return text


def attribute(text: str) -> str:
    """Write a text inside quotes: no character of it can end the attribute or the line."""
    text = printable_surrogates(text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    if text.isprintable():  # as most are, and no control character is
        return text
    return "".join(f"&#{ord(c)};" if is_control(c) else c for c in text)


def one_line(name: str) -> str:
    """Write a name outside an attribute: control characters and broken bytes become `?`."""
    if name.isprintable():  # as most are, and none of these is
        return name
    return "".join("?" if is_control(c) else c for c in printable_surrogates(name))


def printable_surrogates(text: str) -> str:
    """Replace what is not Unicode text, such as the bytes of a file name in another encoding."""
    return text.encode("utf-8", "replace").decode("utf-8")


def is_control(character: str) -> bool:
    """Tell the control characters, C0 and C1."""
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0  # noqa: PLR2004 - the two blocks


def wrap(text: str, opening: str, closing: str) -> str:
    """Put a text between its opening and closing lines."""
    return "\n".join(line for line in (opening, text, closing) if line)
