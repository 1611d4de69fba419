"""What is found: one piece of a document, and where it stands."""

from typing import Final

from msgspec import Struct

TIERS: Final = ("session", "journal", "profile", "graph", "procedure", "document", "knowledge")
"""Where a hit can come from."""


class Chunk(Struct, frozen=True, kw_only=True):
    """A piece of one document: its text as it stands in the file, and all that says where it is from.

    Lines count from 1 and are inclusive. `private` is what the shared scope may not see.
    """

    path: str
    line: int
    end_line: int
    text: str
    tier: str
    headings: tuple[str, ...] = ()
    agent: str = ""
    private: bool = False
    date: str = ""
    speaker: str = ""
    session: str = ""
    message_id: str = ""
    tags: tuple[str, ...] = ()
