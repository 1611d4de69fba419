"""Printing: text for people, one JSON document for machines, always UTF-8."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any, cast

import click
from msgspec import json


def write(text: str, *, to_stderr: bool = False) -> None:
    """Write text as UTF-8 whatever the locale says; what is not Unicode becomes `?`."""
    stream = sys.stderr if to_stderr else sys.stdout
    stream.flush()
    data = text.encode("utf-8", "replace")
    buffer: IO[bytes] | None = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode())
    else:
        buffer.write(data)
        buffer.flush()


def line(text: str = "", *, to_stderr: bool = False) -> None:
    """Write a line."""
    write(f"{text}\n", to_stderr=to_stderr)


def document(data: Mapping[str, Any]) -> None:
    """Write one JSON document, on several lines where somebody looks at it."""
    text = json.encode(_unicode(data))
    line((json.format(text, indent=2) if sys.stdout.isatty() else text).decode())


def _unicode(value: Any) -> Any:
    """Replace what is not Unicode, such as the bytes of a file name in another encoding."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {key: _unicode(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_unicode(item) for item in cast("Sequence[Any]", value)]
    return value


def styled(text: str, **style: Any) -> str:
    """Colour a text where somebody looks at it: on a terminal, and not against their wish."""
    return click.style(text, **style) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def printable(name: str) -> str:
    """Show a name so that no character of it moves the cursor or hides another."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)
