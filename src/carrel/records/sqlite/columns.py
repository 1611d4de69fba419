"""How SQLite takes a text, and how conditions are joined."""

from collections.abc import Collection
from typing import Any


def from_text(text: str) -> str | bytes:
    """Return a text as SQLite takes it: one that is not Unicode as bytes, which no text is equal to."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def where(*conditions: tuple[str, Any]) -> tuple[str, list[Any]]:
    """Return those conditions that have a value, joined, and their values."""
    given = [(condition, value) for condition, value in conditions if value is not None]
    return " AND ".join(condition for condition, _ in given) or "true", [value for _, value in given]


def among(column: str, values: Collection[str]) -> str:
    """Return the condition that a column has one of these values; of no values, that it has any."""
    if not values:
        return "true"
    return f"{column} = ?" if len(values) == 1 else f"{column} IN ({', '.join('?' * len(values))})"
