"""Carrel's own region of MEMORY.md: the section `Consolidated`, and in it what is its owner's all the same.

All of it is pure. A bullet is Carrel's where it is a line that Carrel wrote and nobody pinned; every other
line is the owner's, and stays as it is, below the heading that it stands under.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256

from msgspec import Struct

from carrel.markdown import sections
from carrel.markdown.lines import heading_of
from carrel.markdown.structure import structure_of
from carrel.memory.consolidate.pieces import Bullet

HEADING = "Consolidated"
"""What Carrel's own region stands below."""


class Topic(Struct, frozen=True, kw_only=True):
    """A heading of the region as it is written, what its owner keeps below it, and Carrel's own lines."""

    heading: str = ""
    words: str = ""
    is_own: bool = False
    kept: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def region_of(text: str) -> str:
    """Return what stands in the region, nothing where there is none."""
    parts = sections.sections(text)
    part = next((each for each in parts if each.heading == HEADING), None)
    return text[part.body : part.end].replace("\r\n", "\n").strip("\n") if part else ""


def outside_of(text: str) -> str:
    """Return a text without its region."""
    part = next((each for each in sections.sections(text) if each.heading == HEADING), None)
    return text[: part.body] + text[part.end :] if part else text


def with_region(text: str | None, body: str) -> str | None:
    """Return a text with another region; no byte around it changes. None where nothing does."""
    own = text or ""
    parts = sections.sections(own)
    part = next((each for each in parts if each.heading == HEADING), None)
    if part is None and not body:
        return None
    new = sections.replace(own, sections.address_of(part, parts) if part else HEADING, body)
    return None if new == text else new


def digest_of(body: str) -> str:
    """Return what a region is recognised by."""
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def topics_of(body: str, ours: Collection[str], own_topics: Collection[str]) -> tuple[Topic, ...]:
    """Return the region by its headings, the lines before the first below none."""
    found: list[_Reading] = [_Reading("")]
    for line, is_fenced in _lines(body):
        heading = None if is_fenced else heading_of(line.strip())
        if heading is not None:
            found.append(_Reading(line, heading[1], is_own=heading[1] in own_topics))
        else:
            found[-1].add(line, is_own=not is_fenced and line in ours, is_fenced=is_fenced)
    return tuple(each.done() for each in found)


def composed(topics: Sequence[Topic], bullets: Sequence[Bullet]) -> str:
    """Return a region with these bullets below their topics, and all that its owner keeps in its place."""
    rest: dict[str, list[Bullet]] = {}
    for bullet in bullets:
        rest.setdefault(bullet.topic.casefold(), []).append(bullet)
    blocks: list[str] = []
    for topic in topics:
        own = [bullet.line for bullet in rest.pop(topic.words.casefold(), ())]
        if own or topic.kept or (topic.heading and not topic.is_own):
            blocks += _block(topic.heading, topic.kept, own)
    for more in rest.values():
        blocks += _block(f"### {more[0].topic}", (), [bullet.line for bullet in more])
    return "\n\n".join(blocks)


class _Reading:
    """A topic while it is read."""

    def __init__(self, heading: str, words: str = "", *, is_own: bool = False) -> None:
        self._topic = Topic(heading=heading, words=words, is_own=is_own)
        self._read: list[tuple[str, bool, bool]] = []

    def add(self, line: str, *, is_own: bool, is_fenced: bool) -> None:
        """Take in a line; one that goes on an own bullet makes that its owner's."""
        if line[:1].isspace() and line.strip() and self._read and self._read[-1][1]:
            self._read[-1] = (self._read[-1][0], False, False)
        self._read.append((line, is_own, is_fenced))

    def done(self) -> Topic:
        """Return the topic; of blank lines that are not code, one stays between two of its owner's."""
        kept: list[str] = []
        for line, is_own, is_fenced in self._read:
            is_blank = not line.strip() and not is_fenced
            if not is_own and not (is_blank and (not kept or not kept[-1].strip())):
                kept.append(line)
        while kept and not kept[-1].strip():
            kept.pop()
        own = tuple(line for line, is_own, _ in self._read if is_own)
        topic = self._topic
        return Topic(
            heading=topic.heading, words=topic.words, is_own=topic.is_own, kept=tuple(kept), lines=own
        )


def _block(heading: str, kept: Sequence[str], own: Sequence[str]) -> Iterator[str]:
    if heading:
        yield heading
    is_list = bool(kept) and kept[-1].lstrip().startswith("- ")
    if is_list or not kept or not own:
        if kept or own:
            yield "\n".join((*kept, *own))
    else:
        yield "\n".join(kept)
        yield "\n".join(own)


def _lines(body: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is within a fence."""
    fences = structure_of(f"\n{body}").fences  # so that a rule at its beginning is no front matter
    begins = [begin for begin, _ in fences]
    at = 1
    for line in body.split("\n"):
        within = bisect_right(begins, at) - 1
        yield line, within >= 0 and at < fences[within][1]
        at += len(line) + 1
