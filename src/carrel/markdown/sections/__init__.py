"""Sections of a Markdown text: find one by its address, read it, and edit it without touching the rest.

    text = append(text, "People", "- Ana uses a Samsung.")

Any text will do: with a byte order mark, CRLF, equal or empty headings, fences that are never closed. Offsets
are into the text as it is; all of this is pure, and costs a few passes.
"""

from carrel.markdown.sections.addresses import address_of, addresses_of, find, read
from carrel.markdown.sections.edits import append, rename, replace
from carrel.markdown.sections.errors import (
    AmbiguousSection,
    BadHeading,
    BadMove,
    BadSectionText,
    SectionConflict,
    SectionNotFound,
)
from carrel.markdown.sections.merging import merge
from carrel.markdown.sections.moving import move
from carrel.markdown.sections.parts import Part, sections
from carrel.markdown.sections.single_lines import remove_line, replace_line

__all__ = [
    "AmbiguousSection",
    "BadHeading",
    "BadMove",
    "BadSectionText",
    "Part",
    "SectionConflict",
    "SectionNotFound",
    "address_of",
    "addresses_of",
    "append",
    "find",
    "merge",
    "move",
    "read",
    "remove_line",
    "rename",
    "replace",
    "replace_line",
    "sections",
]
