"""Printing: text for people, one JSON document for machines, always UTF-8."""

import json
import os
import sys
from collections.abc import Mapping
from typing import IO, Any

import click


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
    """Write one JSON document."""
    line(json.dumps(data, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def styled(text: str, **style: Any) -> str:
    """Colour a text where somebody looks at it: on a terminal, and not against their wish."""
    return click.style(text, **style) if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


def printable(name: str) -> str:
    """Show a name so that no character of it moves the cursor or hides another."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in name)
