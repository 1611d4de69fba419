"""What a proposal does to its file, and how that looks: pure functions of its texts.

A proposal holds what stood there when it was made. Where that is gone it no longer fits, and says so instead
of guessing.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import takewhile

from carrel.errors import Conflict
from carrel.files import show
from carrel.markdown import sections
from carrel.markdown.sections import SectionNotFound
from carrel.records.proposals import Proposal

Edit = Callable[[str | None], str | None]
"""Makes the new text of a file of the old one, none where there is no file; none: nothing is to be done."""

CONTEXT = 3
"""Lines around a change that stay the same, by which its place is found again."""


class OutdatedProposal(Conflict):
    """The file is no longer what the proposal was made for; nothing was changed, and it still waits."""

    code = "outdated_proposal"

    def __init__(self, proposal: Proposal, problem: str) -> None:
        what = f"Proposal {proposal.id}" if proposal.id else "The change"
        super().__init__(
            f"{what} no longer fits {show(proposal.path)}: {problem}.",
            hint="Look at the file: make the change by hand, or reject the proposal.",
        )
        self.proposal = proposal


def edit_of(proposal: Proposal) -> Edit:
    """Return what a proposal does to its file; one that no longer fits is an OutdatedProposal."""
    return partial(_EDITS[proposal.action], proposal)


def refuse_outdated(proposal: Proposal, line: str, text: str | None) -> None:
    """Refuse a proposal to replace a line that is no longer there; an edit that never writes."""
    if sections.remove_line(text or "", line) is None:
        raise OutdatedProposal(proposal, "the line to replace is gone")


def hunk(before: str | None, after: str) -> tuple[str, str]:
    """Return the lines that differ, old and new, with as many around them as tell their place for sure."""
    if not before:
        return "", after
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    around = CONTEXT
    while True:
        first, last = max(0, head - around), max(0, tail - around)
        was = "".join(old[first : len(old) - last])
        if was and (before.count(was) == 1 or not (first or last)):
            return was, "".join(new[first : len(new) - last])
        around *= 2


def diff_of(proposal: Proposal) -> str:
    """Return what a proposal takes away and adds, line by line; it costs one pass whatever the texts."""
    return "\n".join(_diff(proposal.old.splitlines(), proposal.new.splitlines()))


def _diff(old: list[str], new: list[str]) -> Iterator[str]:
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    yield from (f" {line}" for line in old[max(0, head - CONTEXT) : head])
    yield from (f"-{line}" for line in old[head : len(old) - tail])
    yield from (f"+{line}" for line in new[head : len(new) - tail])
    yield from (f" {line}" for line in old[len(old) - tail :][:CONTEXT])


def _lines(text: str) -> list[str]:
    """Part a text into lines that still have their ends."""
    *lines, last = text.split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _common(one: list[str], other: list[str]) -> int:
    """Return how many lines two lists begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _append(proposal: Proposal, text: str | None) -> str | None:
    """Add to the end of a section, of the whole text where none is named."""
    own, block, section = text or "", proposal.new.strip("\r\n"), proposal.section
    if not section and (parts := sections.sections(own)):
        section = sections.address_of(parts[-1], parts)
    try:
        is_known = _holds(sections.read(own, proposal.section), block)
    except SectionNotFound:
        is_known = False
    return None if is_known else sections.append(own, section, block)


def _replace(proposal: Proposal, text: str | None) -> str | None:
    own = text or ""
    try:
        now = sections.read(own, proposal.section)
    except SectionNotFound:
        if proposal.old.strip():
            raise OutdatedProposal(proposal, f"there is no section {proposal.section!r}") from None
        return sections.append(own, proposal.section, proposal.new)
    if now.strip() == proposal.new.strip():
        return None
    if now.strip() != proposal.old.strip():
        raise OutdatedProposal(proposal, f"the section {proposal.section!r} says something else now")
    return sections.replace(own, proposal.section, proposal.new)


def _rename(proposal: Proposal, text: str | None) -> str | None:
    try:
        return sections.rename(text or "", proposal.section, proposal.new)
    except SectionNotFound:
        raise OutdatedProposal(proposal, f"there is no section {proposal.section!r}") from None


def _remove(proposal: Proposal, text: str | None) -> str | None:
    found = sections.remove_line(text or "", proposal.old)
    if found is None:
        raise OutdatedProposal(proposal, "the line to remove is gone")
    return found


def _supersede(proposal: Proposal, text: str | None) -> str | None:
    found = sections.replace_line(text or "", proposal.old, proposal.new)
    if found is None:
        raise OutdatedProposal(proposal, "the line to replace is gone")
    return found


def _write(proposal: Proposal, text: str | None) -> str | None:
    """Put the new lines in the place of the old ones, which must be there once."""
    own, old, new = text or "", proposal.old, proposal.new
    if not old and not own:
        return new
    if old and own.count(old) == 1 and _is_whole(own, old):
        return own.replace(old, new)
    if old or own != new:
        raise OutdatedProposal(proposal, "the lines to replace are gone" if old else "it exists by now")
    return None


def _is_whole(text: str, lines: str) -> bool:
    """Tell whether some lines stand in a text as lines, and not as the end or the beginning of others."""
    start = text.index(lines)
    end = start + len(lines)
    return (not start or text[start - 1] == "\n") and (lines.endswith("\n") or end == len(text))


def _holds(text: str, block: str) -> bool:
    """Tell whether some whole lines of a text, one after the other, are this block."""
    lines = f"\n{text}\n".replace("\r\n", "\n")
    return f"\n{block}\n".replace("\r\n", "\n") in lines


_EDITS: dict[str, Callable[[Proposal, str | None], str | None]] = {
    "add": _append,
    "append": _append,
    "replace": _replace,
    "rename": _rename,
    "remove": _remove,
    "supersede": _supersede,
    "write": _write,
}
