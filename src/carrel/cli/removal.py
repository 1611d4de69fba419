"""Whether a session is to go to the trash."""

import sys
from typing import TextIO

import click

from carrel.cli import output
from carrel.sessions.account import SessionRow


def described(row: SessionRow) -> str:
    """Return what a person should know of a session before it goes."""
    return f"{row.id} ({output.printable(row.title)}, {row.entries:,} entries)"


def is_sure(what: str) -> bool:
    """Ask whoever sits at a terminal; a program knows what it does."""
    stream: TextIO | None = sys.stdin
    if stream is None or not stream.isatty():
        return True
    return click.confirm(f"Move {what} to the trash?", err=True)
