"""The memory tool that models are trained on: six commands over files below /memories, on the workspace.

`/memories` is the folder of memory, and `/memories/MEMORY.md` the notebook beside it. The words of an answer
are the convention's own. What every prompt holds, what reads like an order and what would take the place of
the owner's words waits for the owner; all else is written at once, and each change can be undone.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct

from carrel.files import READ_LIMIT, Content, Entry, Stale, show
from carrel.files.paths import clean
from carrel.memory.owned import is_owners
from carrel.memory.pen import Author, Pen
from carrel.memory.proposed import hunk
from carrel.memory.sorting import OWNER
from carrel.memory.trust import is_suspect
from carrel.records.proposals import Proposal
from carrel.screen.policy import BlockedByPrivacy
from carrel.tools.access import text_of
from carrel.tools.memory_errors import ROOT, BadMemoryCall, MemoryKept, NoSuchMemory
from carrel.tools.memory_write import Writer
from carrel.tools.proposing import INJECTION, OWNERS, Hold
from carrel.tools.registry import BadArguments, Tool
from carrel.workspace.tiers import standing_of

NAME = "memory"
WAITS = "Nothing was written yet: this change of {} waits for the owner. Go on without it."

_NOTEBOOK = "MEMORY.md"
_WIDTH = 6
_MOST_LINES = 999_999
_MOST_ENTRIES = 1_000
_MOST_MOVED = 200
_AROUND = 2
_UNITS = "BKMG"

Lines = Annotated[list[int], Meta(description="The first and the last line to show, -1 for the end.")]


class MemoryCommand(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the six commands, with what it takes."""

    command: Annotated[
        Literal["view", "create", "str_replace", "insert", "delete", "rename"],
        Meta(description="What to do with a file or folder of your memory."),
    ]
    path: Annotated[str | None, Meta(description=f"A path below {ROOT}; of all commands but rename.")] = None
    view_range: Lines | None = None
    file_text: Annotated[str | None, Meta(description="create: the whole text of the new file.")] = None
    old_str: Annotated[str | None, Meta(description="str_replace: the exact text, which occurs once.")] = None
    new_str: Annotated[str | None, Meta(description="str_replace: what to put in its place.")] = None
    insert_line: Annotated[int | None, Meta(description="insert: the line to insert after, 0: first.")] = None
    insert_text: Annotated[str | None, Meta(description="insert: the text to insert.")] = None
    old_path: Annotated[str | None, Meta(description="rename: the path that there is.")] = None
    new_path: Annotated[str | None, Meta(description="rename: the path that there is to be.")] = None


class MemoryFolder(Struct, frozen=True, kw_only=True):
    """An agent's memory as files below /memories; `hold` lets wait what would enter every prompt."""

    writer: Writer
    hold: Hold

    def run(self, asked: MemoryCommand) -> str:
        """Carry out a command, and say what became of it."""
        return getattr(self, asked.command)(asked)

    def view(self, asked: MemoryCommand) -> str:
        """Show a folder two levels deep, or a file with its lines numbered."""
        shown = _given(asked, "path")
        place = self._place(shown)
        entry = self._entry(place)
        if place != self._root and (entry is None or entry.kind not in ("file", "directory")):
            raise NoSuchMemory(f"The path {shown} does not exist. Please provide a valid path.")
        if entry is None or entry.kind == "directory":
            return self._listing(shown, place, entry.size if entry else 0)
        lines = text_of(place, self.writer.access.read(place)).split("\n")
        if len(lines) > _MOST_LINES:
            raise BadMemoryCall(f"File {shown} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(asked.view_range, len(lines))
        told = _numbered(lines[first:last], first + 1)
        most = self.writer.access.page
        more = f"\n[cut at {most:,} characters; view_range shows the rest]" if len(told) > most else ""
        return f"Here's the content of {shown} with line numbers:\n{told[:most]}{more}"

    def create(self, asked: MemoryCommand) -> str:
        """Make a new file."""
        shown, text = _given(asked, "path"), _given(asked, "file_text")
        place = self._changeable(shown)
        if self._entry(place) is not None:
            raise BadMemoryCall(f"File {shown} already exists")
        self._refuse_links(place, None)
        return self._write(shown, place, None, text) or f"File created successfully at: {shown}"

    def str_replace(self, asked: MemoryCommand) -> str:
        """Put a text in the place of another, which must occur once."""
        shown, old = _given(asked, "path"), _given(asked, "old_str")
        new, (place, content, text) = asked.new_str or "", self._file(shown)
        count = text.count(old) if old else 0
        if not count:
            raise BadMemoryCall(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {shown}."
            )
        if count > 1:
            lines = ", ".join(map(str, _lines_with(text, old)))
            raise BadMemoryCall(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        edited = text.replace(old, new)
        if held := self._write(shown, place, content, edited):
            return held
        written = self.writer.access.reach.read(place)  # with marks for the secrets that it was given
        changed = text[: text.find(old)].count("\n")
        first = max(0, changed - _AROUND)
        now = text_of(place, written).split("\n") if written else []
        snippet = _numbered(now[first : changed + _AROUND + 1], first + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            f"{snippet}"
        )

    def insert(self, asked: MemoryCommand) -> str:
        """Put a text behind a line."""
        shown, added = _given(asked, "path"), _given(asked, "insert_text")
        place, content, text = self._file(shown)
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        at = asked.insert_line
        if at is None or not 0 <= at <= len(lines):
            raise BadMemoryCall(
                f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(at, added.rstrip("\n"))
        edited = "\n".join(lines)
        edited += "" if edited.endswith("\n") else "\n"
        return self._write(shown, place, content, edited) or f"The file {shown} has been edited."

    def delete(self, asked: MemoryCommand) -> str:
        """Remove a file, or a folder with all that is in it; each removal can be undone."""
        shown = _given(asked, "path")
        place = self._place(shown)
        if place == self._root:
            raise BadMemoryCall(f"Cannot delete the {ROOT} directory itself")
        found = self._movable(shown, place, f"The path {shown} does not exist")
        for path, content in found:
            self._pen.put("workspace", path, None, self._author("delete"), expect=content)
        return f"Successfully deleted {shown}"

    def rename(self, asked: MemoryCommand) -> str:
        """Give a file or folder another path; at every moment one of the two has the bytes."""
        old, new = _given(asked, "old_path"), _given(asked, "new_path")
        source, target = self._place(old), self._changeable(new)
        if source == self._root:
            raise BadMemoryCall(f"Cannot rename the {ROOT} directory itself")
        if self._entry(target) is not None:
            raise BadMemoryCall(f"The destination {new} already exists")
        found = self._movable(old, source, f"The path {old} does not exist")
        if f"{target}/".startswith(f"{source}/"):
            raise BadMemoryCall(f"{new} is inside of {old}")
        self._refuse_links(target, None)
        moves = [(path, f"{target}{path.removeprefix(source)}", content) for path, content in found]
        for _, to, content in moves:
            if self.hold(to, None, text_of(to, content)):
                return WAITS.format(new)
        for path, to, content in moves:
            self._pen.put("workspace", to, content.data, self._author("rename"), expect=None)
            self._pen.put("workspace", path, None, self._author("rename"), expect=content)
        return f"Successfully renamed {old} to {new}"

    @property
    def _root(self) -> str:
        return f"{self.writer.layout.home}memory"

    @property
    def _pen(self) -> Pen:
        return self.writer.keeper().pen

    def _place(self, path: str) -> str:
        """Return where a path of the model's is in the workspace."""
        if path.rstrip("/") == ROOT:
            return self._root
        if not path.startswith(f"{ROOT}/"):
            raise BadMemoryCall(f"Path must start with {ROOT}, got: {show(path[:200])}")
        inner = clean(path.removeprefix(ROOT).strip("/"))
        return f"{self.writer.layout.home}{_NOTEBOOK}" if inner == _NOTEBOOK else f"{self._root}/{inner}"

    def _changeable(self, path: str) -> str:
        """Return where a path is that the model may write to: no day of the journal, no other agent's."""
        place = self._place(path)
        if place == self._root:
            raise BadMemoryCall(f"The path {path} is not a file.")
        self.writer.access.refuse(path, place, "change")  # what is not there yet is not read before
        standing = standing_of(place, self.writer.layout, self.writer.agents)
        if standing.tier == "journal":
            raise MemoryKept(path, "the journal is only ever added to, with memory_write")
        if standing.agent not in ("", self.writer.agent):
            raise MemoryKept(path, "it is another agent's")
        return place

    def _entry(self, place: str) -> Entry | None:
        above = place.rpartition("/")[0]
        found = next((each for each in self.writer.access.reach.list(above) if each.path == place), None)
        return found if found is None or place == self._root or self._is_there(found) else None

    def _is_there(self, entry: Entry) -> bool:
        """Tell whether something is there; a folder is as long as a file is in it, whatever a disk keeps."""
        return next(self._files(entry), None) is not None

    def _file(self, path: str) -> tuple[str, Content, str]:
        """Return a file that may be changed, and its text."""
        place = self._changeable(path)
        entry = self._entry(place)
        if entry is None:
            raise NoSuchMemory(f"The path {path} does not exist. Please provide a valid path.")
        if entry.kind != "file":
            raise BadMemoryCall(f"The path {path} is not a file.")
        content = self.writer.access.replaceable(place)
        if content is None:
            raise NoSuchMemory(f"The path {path} does not exist. Please provide a valid path.")
        self._refuse_links(place, content)
        return place, content, text_of(place, content)

    def _refuse_links(self, place: str, content: Content | None) -> None:
        targets = self.writer.access.targets(place, content)
        if targets != (place,) or (content is not None and content.links > 1):
            raise MemoryKept(place, "it is a link, or has another name")

    def _movable(self, path: str, place: str, absent: str) -> list[tuple[str, Content]]:
        """Return the files that are to go, as they are: none that every prompt holds, none of the owner's."""
        entry = self._entry(place)
        if entry is None:
            raise NoSuchMemory(absent)
        under = list(self._files(entry))
        if len(under) > _MOST_MOVED:
            raise BadMemoryCall(f"{path} holds more than {_MOST_MOVED} files; take them one by one.")
        return [self._movable_file(path, each) for each in under]

    def _movable_file(self, path: str, place: str) -> tuple[str, Content]:
        self._changeable(f"{ROOT}/{place.removeprefix(f'{self._root}/')}")
        if standing_of(place, self.writer.layout, self.writer.agents).tier == "profile":
            raise MemoryKept(path, "every prompt holds it")
        content = self.writer.access.read(place)
        self._refuse_links(place, content)
        records = self.writer.keeper().records()
        if is_owners(records, "workspace", place, content.data.decode(errors="replace")):
            raise MemoryKept(path, "some of it is the owner's own words")
        return place, content

    def _files(self, entry: Entry) -> Iterator[str]:
        if entry.kind != "directory" or entry.path != entry.target:
            yield entry.path
            return
        for each in self.writer.access.reach.list(entry.path):
            yield from self._files(each)

    def _write(self, path: str, place: str, content: Content | None, text: str) -> str:
        """Write a text so that it can be undone, or let it wait and say so."""
        if len(text) > READ_LIMIT:
            raise BadArguments(NAME, f"the file would have more than {READ_LIMIT:,} characters")
        before = text_of(place, content) if content else None
        if self.hold(place, content, text) or self._waits(place, before or "", text):
            return WAITS.format(path)

        def edit(now: str | None) -> str:
            if now != before:
                raise Stale(place, expected=content.digest if content else None, found="")
            return text

        self._pen.edit("workspace", place, edit, self._author("create" if content is None else "edit"))
        return ""

    def _waits(self, place: str, before: str, after: str) -> Proposal | None:
        """Let wait what memory never takes at once: orders in disguise, and changes of the owner's words."""
        proposer, kept = self.writer.proposer, set(after.splitlines())
        added = "\n".join(line for line in after.splitlines() if line not in set(before.splitlines()))
        gone = "\n".join(line for line in before.splitlines() if line not in kept)
        trust = proposer.turn().trust_in(added or gone)
        why = INJECTION if is_suspect(added, trust) else ""
        if not why and is_owners(self.writer.keeper().records(), "workspace", place, gone):
            why = OWNERS
        if not why:
            return None
        screened = self._pen.screen.between(before, after)
        if screened.blocked:
            raise BlockedByPrivacy(screened.found)
        old, new = hunk(before, screened.text)
        return proposer.wait(
            proposer.proposal(why, action="write", path=place, old=old, new=new, trust=trust)
        )

    def _listing(self, path: str, place: str, size: int) -> str:
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        path = path.rstrip("/")
        lines = [f"{_size(size)}\t{path}"]
        for name, entry in self._below(place):
            if len(lines) > _MOST_ENTRIES:
                lines.append("[more files are not shown]")
                break
            lines.append(f"{_size(entry.size)}\t{path}/{name}{'/' if entry.kind == 'directory' else ''}")
        return "\n".join((head, *lines))

    def _below(self, place: str) -> Iterator[tuple[str, Entry]]:
        """Yield what a folder holds by its name there, two levels deep, without hidden names."""
        found = {each.path.rpartition("/")[2]: each for each in self.writer.access.reach.list(place)}
        if place == self._root and (notebook := self._entry(f"{self.writer.layout.home}{_NOTEBOOK}")):
            found[_NOTEBOOK] = notebook
        for name, entry in sorted(found.items()):
            if not self._is_shown(entry):
                continue
            yield name, entry
            if entry.kind == "directory":
                inner = sorted(self.writer.access.reach.list(entry.path), key=lambda each: each.path)
                for each in filter(self._is_shown, inner):
                    yield f"{name}/{each.path.rpartition('/')[2]}", each

    def _is_shown(self, entry: Entry) -> bool:
        is_hidden = entry.path.rpartition("/")[2].startswith(".")
        return not is_hidden and entry.kind in ("file", "directory") and self._is_there(entry)

    def _author(self, action: str) -> Author:
        agent = self.writer.agent
        actor = agent if agent != OWNER else "agent"  # nobody becomes the owner by a name
        session = self.writer.proposer.session
        return Author(actor=actor, action=action, reason=NAME, agent=agent, session=session)


def memory_tool(folder: MemoryFolder) -> Tool:
    """Return the one tool with the six commands."""
    return Tool(
        name=NAME,
        description=f"Your memory as files below {ROOT}: view, create, str_replace, insert, delete, rename.",
        parameters=MemoryCommand,
        run=folder.run,
        writes=True,
    )


def _given(asked: MemoryCommand, name: str) -> str:
    value = getattr(asked, name)
    if value is None:
        raise BadArguments(NAME, f"`{name}` is missing: {asked.command} needs it")
    return value


def _range(given: list[int] | None, lines: int) -> tuple[int, int]:
    """Return the first line to show, from 0, and the one behind the last."""
    if given is None or len(given) != 2:  # noqa: PLR2004 - a first and a last
        return 0, lines
    first, last = given
    return max(1, first) - 1, lines if last == -1 else max(0, last)


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _lines_with(text: str, old: str) -> Iterator[int]:
    """Yield the lines in which a text begins."""
    seen, line, at = 0, 1, text.find(old)
    while at >= 0:
        line += text.count("\n", seen, at)
        yield line
        seen, at = at, text.find(old, at + 1)


def _size(size: int) -> str:
    """Return a size as people read it."""
    unit = min((max(size, 1).bit_length() - 1) // 10, len(_UNITS) - 1)
    scaled = size / 1024**unit
    return f"{int(scaled) if scaled == int(scaled) else f'{scaled:.1f}'}{_UNITS[unit]}"
