"""Sections of Markdown files: each read and changed without touching a byte of the others."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Header, Query
from msgspec import Meta, Struct
from starlette.responses import Response

from carrel.errors import UsageError
from carrel.http.answers import Reply, etag, tagged
from carrel.http.desk import Desk, OwnerWriter, Reader
from carrel.http.errors import problem_of
from carrel.http.routing import Routes, sent
from carrel.markdown.sections import SectionConflict, read
from carrel.memory.notebook import digest_of
from carrel.memory.rows import Edited, Passage, SectionRow, edited, section_rows
from carrel.records.changes import Change
from carrel.runtime.view import exact_text

routes = Routes("memory", "/w/{workspace}")

File = Annotated[str, Query(max_length=4_096, description="A Markdown file, by its path")]
Address = Annotated[
    str, Query(max_length=2_000, description="A heading, Above/Heading or Heading#2, as the list has it")
]
IfMatch = Annotated[str | None, Header(max_length=200)]

_UNMET = 412


class Outline(Struct, frozen=True, kw_only=True):
    """The sections of a file, in their order."""

    sections: tuple[SectionRow, ...]


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a section is to say, or what is added to it."""

    text: str


class Rearranged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Another heading for a section, or the section that it comes behind; "" puts it first."""

    heading: Annotated[str, Meta(max_length=2_000)] | None = None
    after: Annotated[str, Meta(max_length=2_000)] | None = None


class RenameOrMove(UsageError):
    """Both or neither of two changes were asked for."""

    code = "rename_or_move"

    def __init__(self) -> None:
        super().__init__("A section is renamed or moved.", hint='Give one of "heading" and "after".')


@routes.get("/memory/sections", Outline)
def list_sections(desk: Reader, file: File) -> Response:
    """List the sections of a file, with their tokens and the address that finds each."""
    text, digest = _file(desk, file)
    return Reply(Outline(sections=section_rows(text, desk.workspace.counts.count)), headers=_tag(digest))


@routes.get("/memory/section", Passage)
def read_section(desk: Reader, file: File, section: Address) -> Response:
    """Return a section with what is nested in it. Its ETag is what a change of it may name."""
    text, _ = _file(desk, file)
    own = read(text, section)
    digest = digest_of(own)
    return Reply(Passage(path=file, section=section, text=own, digest=digest), headers=_tag(digest))


@routes.put("/memory/section", Edited, takes=Text)
def replace_section(
    desk: OwnerWriter,
    file: File,
    section: Address,
    body: Annotated[Text, Depends(sent(Text))],
    if_match: IfMatch = None,
) -> Response:
    """Put a text in place of a section's; its heading stays, and a missing one is made.

    Over another version than If-Match names nothing is written: this one waits among the proposals.
    """
    replace = desk.workspace.memory.notebook(file).replace
    answer = _edit(desk, "section.replace", file, partial(replace, section, _plain(body.text)), if_match)
    if answer.status_code == _UNMET:
        desk.note("section.propose", file)
    return answer


@routes.post("/memory/section", Edited, takes=Text)
def append_to_section(
    desk: OwnerWriter,
    file: File,
    section: Address,
    body: Annotated[Text, Depends(sent(Text))],
    if_match: IfMatch = None,
) -> Response:
    """Add a text to the end of a section, which is made where it is missing."""
    append = desk.workspace.memory.notebook(file).append
    return _edit(desk, "section.append", file, partial(append, section, _plain(body.text)), if_match)


@routes.patch("/memory/section", Edited, takes=Rearranged)
def rearrange_section(
    desk: OwnerWriter,
    file: File,
    section: Address,
    body: Annotated[Rearranged, Depends(sent(Rearranged))],
    if_match: IfMatch = None,
) -> Response:
    """Give a section another heading, or put it behind another one with what is nested in it."""
    if (body.heading is None) == (body.after is None):
        raise RenameOrMove
    notebook = desk.workspace.memory.notebook(file)
    if body.heading is not None:
        return _edit(desk, "section.rename", file, partial(notebook.rename, section, body.heading), if_match)
    return _edit(desk, "section.move", file, partial(notebook.move, section, body.after or ""), if_match)


def _file(desk: Desk, file: str) -> tuple[str, str]:
    """Return a file's text as this listener may read it, and its digest."""
    content = desk.fetch(file)
    return exact_text(file, content), content.digest


def _edit(
    desk: Desk, action: str, file: str, edit: Callable[..., Change | None], if_match: str | None
) -> Response:
    """Make a change over the version that If-Match names, and note it; over another, nothing is written."""
    try:
        change = edit(expect=tagged(if_match))
    except SectionConflict as error:
        return Reply(problem_of(error), _UNMET)
    if change is not None:
        desk.note(action, file, change=change.id)
    return Reply(edited(change))


def _tag(digest: str) -> dict[str, str]:
    return {"ETag": etag(digest)}


def _plain(text: str) -> str:
    return text.replace("\0", "\ufffd")  # what holds a NUL is no text to others
