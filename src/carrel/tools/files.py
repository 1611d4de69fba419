"""Files as a model may use them: read in pages, listed, written and edited by compare-and-swap."""

from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct

from carrel.errors import UsageError
from carrel.files import READ_LIMIT, Content, Stale, show
from carrel.files.paths import clean
from carrel.tools.access import Access, NoSuchFile, text_of
from carrel.tools.listing import ListFiles, list_files
from carrel.tools.page import DEFAULT_LINES, MOST_LINES, page
from carrel.tools.proposing import Hold, hold_nothing, told
from carrel.tools.registry import BadArguments, Tool

HELD = "Nothing was written. The owner decides on it in `carrel memory review`; go on without it."
_MOST_PLACES = 5

InWorkspace = Annotated[str, Meta(description="Path inside the workspace, such as notes/plan.md.")]
Expect = Annotated[
    str | None,
    Meta(description="The `digest` that read_file gave: nothing is written if the file has changed since."),
]


class ReadFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which lines of which file to read."""

    path: InWorkspace
    offset: Annotated[
        int, Meta(description="The first line to read, from 1.", extra_json_schema={"minimum": 1})
    ] = 1
    limit: Annotated[
        int,
        Meta(
            description=f"Most lines to read, at most {MOST_LINES}.",
            extra_json_schema={"minimum": 1, "maximum": MOST_LINES},
        ),
    ] = DEFAULT_LINES
    column: Annotated[
        int,
        Meta(
            description="Where to begin in the first line, from 1: for lines too long for one page.",
            extra_json_schema={"minimum": 1},
        ),
    ] = 1


class WriteFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to write where."""

    path: InWorkspace
    content: Annotated[str, Meta(description="The whole text of the file.")]
    expect: Expect = None


class EditFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to put in the place of what."""

    path: InWorkspace
    old: Annotated[str, Meta(description="The exact text to replace, white space included.", min_length=1)]
    new: Annotated[str, Meta(description="What to put in its place; may be empty.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence, not just an only one.")] = False
    expect: Expect = None


class NoUniqueMatch(UsageError):
    """The text to replace is not in the file, or more than once; nothing was written."""

    code = "no_unique_match"

    def __init__(self, path: str, lines: list[int], matches: int) -> None:
        if not matches:
            message = f"`old` does not occur in {show(path)}."
            hint = "Read the file again: `old` must be what it says to the letter, white space included."
        else:
            places = ", ".join(map(str, lines)) + (", …" if matches > len(lines) else "")
            message = f"`old` occurs {matches:,} times in {show(path)}, in lines {places}."
            hint = "Give more of the text around the one that you mean, or set replace_all."
        super().__init__(message, hint=hint)
        self.path = path
        self.matches = matches


def file_tools(access: Access, hold: Hold = hold_nothing) -> tuple[Tool, ...]:
    """Return the tools that read and change files, as far as this access goes; what is held waits."""
    return (
        Tool(
            name="read_file",
            description="Read a text file of the workspace, some lines at a time. `more` is the next offset.",
            parameters=ReadFile,
            run=partial(read_file, access),
        ),
        Tool(
            name="list_files",
            description="List files and folders of the workspace with sizes in bytes, sorted by path.",
            parameters=ListFiles,
            run=partial(list_files, access),
        ),
        Tool(
            name="write_file",
            description="Create a file, or replace one whose `digest` from read_file is given as `expect`.",
            parameters=WriteFile,
            run=partial(write_file, access, hold),
            writes=True,
        ),
        Tool(
            name="edit_file",
            description="Replace an exact piece of text in a file, which must occur once.",
            parameters=EditFile,
            run=partial(edit_file, access, hold),
            writes=True,
        ),
    )


def read_file(access: Access, asked: ReadFile) -> dict[str, Any]:
    """Return a page of a file, and the digest of the whole."""
    path = clean(asked.path)
    content = access.read(path)
    found = page(
        "read_file",
        text_of(path, content),
        offset=asked.offset,
        limit=asked.limit,
        column=asked.column,
        most=access.page,
    )
    return {"path": path, **found.to_json(), "digest": content.digest}


def write_file(access: Access, hold: Hold, asked: WriteFile) -> dict[str, Any]:
    """Create a file, or replace exactly the content that the caller has seen."""
    path = clean(asked.path)
    data = _encoded("write_file", "content", asked.content)
    content = access.replaceable(path)
    _refuse_stale(path, content, asked.expect)
    if held := hold(path, content, asked.content):
        return {"path": path, **told(held), "note": HELD}
    digest = access.reach.put(path, data, expect=asked.expect)
    return {"path": path, "digest": digest, "size": len(data), "created": content is None}


def edit_file(access: Access, hold: Hold, asked: EditFile) -> dict[str, Any]:
    """Replace text in a file, unless somebody changed it since it was seen."""
    path = clean(asked.path)
    if asked.old == asked.new:
        raise BadArguments("edit_file", "`old` and `new` are the same, so nothing would change")
    content = access.replaceable(path)
    if content is None:
        raise NoSuchFile(path)
    expect = asked.expect or content.digest
    _refuse_stale(path, content, expect)
    text = text_of(path, content)
    old, new = _with_newlines_of(text, asked.old, asked.new)
    matches = text.count(old)
    if not matches or (matches > 1 and not asked.replace_all):
        raise NoUniqueMatch(path, _lines_of(text, old), matches)
    if len(text) + matches * (len(new) - len(old)) > READ_LIMIT:
        raise _too_large("edit_file")
    edited = text.replace(old, new)
    data = _encoded("edit_file", "new", edited)
    if held := hold(path, content, edited):
        return {"path": path, **told(held), "note": HELD}
    digest = access.reach.put(path, data, expect=expect)
    return {
        "path": path,
        "digest": digest,
        "size": len(data),
        "replacements": matches,
        "line": _lines_of(text, old)[0],
    }


def _refuse_stale(path: str, content: Content | None, expect: str | None) -> None:
    """Refuse to write over what the caller has not seen, and say what a model can do that did not look."""
    if expect == (content.digest if content else None):
        return
    error = Stale(path, expected=expect, found=content.digest if content else None)
    error.hint = (
        "Read it with read_file, and pass its `digest` as `expect`."
        if content
        else "Leave out `expect` to create it."
    )
    raise error


def _with_newlines_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Return both texts as a file with CRLF has them: models write LF whatever they have read."""
    feeds = text.count("\n")
    if not feeds or feeds != text.count("\r\n") or "\r" in old or "\r" in new:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\n", "\r\n")


def _lines_of(text: str, old: str) -> list[int]:
    """Return the lines in which the first few occurrences begin."""
    lines: list[int] = []
    seen, line, at = 0, 1, text.find(old)
    while at >= 0 and len(lines) < _MOST_PLACES:
        line += text.count("\n", seen, at)
        lines.append(line)
        seen, at = at, text.find(old, at + len(old))
    return lines


def _encoded(tool: str, field: str, text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise BadArguments(tool, f"`{field}` holds half a character, which no file can") from None
    if len(data) > READ_LIMIT:
        raise _too_large(tool)
    return data


def _too_large(tool: str) -> BadArguments:
    return BadArguments(
        tool, f"the file would have more than {READ_LIMIT:,} bytes", hint="Split it into several files."
    )
