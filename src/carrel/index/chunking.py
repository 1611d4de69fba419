"""Cutting texts into chunks, the way they are written: sections, bullets, paragraphs, blocks of code.

Every line that says something is in exactly one chunk, as it stands there; only a line that is longer than a
chunk may be is parted. Reading cannot fail, and costs a few passes over the lines.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from carrel.index.chunk import Chunk
from carrel.index.source import Place, Turn
from carrel.markdown.frontmatter import parse
from carrel.markdown.lines import closed_fences, closes
from carrel.markdown.outline import Section, outline

FULL = 800
"""Characters from which on a chunk takes in no more."""

LONGEST = 1_600
"""Characters that a chunk may have; a paragraph with more is parted."""

MOST_SECTIONS = 2_000
"""Sections of one document that have chunks of their own; where there are more, neighbours share them."""

MOST_ITEMS = 5_000
"""Bullets of one document that have chunks of their own, where bullets do; of more, neighbours share them."""

_ITEMISED = frozenset(("journal", "profile", "graph"))
"""Tiers whose bullets are statements of their own."""

_MARKDOWN = (".md", ".markdown", ".mdx")
_BULLET = re.compile(r" {0,1}(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_DAY = re.compile(r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")
_SPACES = re.compile(r"\s")
_NEAR = 200  # how far back from the end of a piece a better place to part is looked for


class _Piece(Struct):
    """Lines that belong together: text, and the first and last of them.

    An item stands alone where items do, and a heading never does.
    """

    text: str
    line: int
    end_line: int
    is_item: bool = False
    is_heading: bool = False


def chunk_document(place: Place, text: str) -> list[Chunk]:
    """Return the chunks of a document, in its order, each with the headings that it stands below."""
    text = text.replace("\r\n", "\n")
    is_markdown = place.path.lower().endswith(_MARKDOWN)
    meta = parse(text).meta if is_markdown else None
    lines = text.split("\n")
    parts = _sections(text, len(lines)) if is_markdown else [((), 1, len(lines))]
    itemised = place.tier in _ITEMISED and sum(map(bool, map(_BULLET.match, lines))) <= MOST_ITEMS
    common = Chunk(
        path=place.path,
        line=1,
        end_line=len(lines),
        text="",
        tier=place.tier,
        agent=place.agent,
        private=place.private or (meta is not None and meta.private),
        date=place.date or _day(place.path),
        tags=tuple(dict.fromkeys((*place.tags, *(meta.tags if meta else ())))),
    )
    return [
        replace(common, headings=path, line=piece.line, end_line=piece.end_line, text=piece.text)
        for path, first, last in parts
        for piece in _packed(
            lines,
            _blocks(lines, first, last, is_markdown=is_markdown, heading=bool(path)),
            itemised=itemised,
        )
    ]


def chunk_turn(place: Place, turn: Turn) -> list[Chunk]:
    """Return the chunks of a turn: one, or several of a long one."""
    text = turn.text.replace("\r\n", "\n")
    pieces: Iterable[_Piece]
    if len(text) <= LONGEST:
        pieces = [_Piece(text, 1, 1)] if text.strip() else []
    else:
        lines = text.split("\n")
        pieces = _packed(lines, _blocks(lines, 1, len(lines), is_markdown=True), itemised=False)
    return [
        Chunk(
            path=place.path,
            line=turn.line,
            end_line=turn.line,
            text=piece.text,
            tier=place.tier,
            agent=place.agent,
            private=place.private or turn.private,
            date=turn.date,
            speaker=turn.speaker,
            session=place.session,
            message_id=turn.message_id,
            tags=place.tags,
        )
        for piece in pieces
    ]


def _day(path: str) -> str:
    """Return the day that a file is named after, if any."""
    for found in _DAY.findall(path.rpartition("/")[2]):
        with suppress(ValueError):
            return date.fromisoformat(found).isoformat()
    return ""


def _sections(text: str, last: int) -> list[tuple[tuple[str, ...], int, int]]:
    """Return the sections of a Markdown text: the headings that lead there, and the first and last line."""
    found = [section for section in outline(text) if section.level]
    if len(found) > MOST_SECTIONS:
        found = list(_apart(found, text))
    begins = [section.line for section in found]
    if not begins:
        return [((), 1, last)]
    before: list[tuple[tuple[str, ...], int, int]] = [((), 1, begins[0] - 1)] if begins[0] > 1 else []
    ends = [line - 1 for line in begins[1:]] + [last]
    return before + [(section.path, section.line, end) for section, end in zip(found, ends, strict=True)]


def _apart(found: Iterable[Section], text: str) -> Iterator[Section]:
    """Yield the sections that begin a chunk's length behind the one before: nobody wrote so many by hand."""
    ends = list(accumulate(len(line) + 1 for line in text.split("\n")))
    free = 0
    for section in found:
        if (begin := ends[section.line - 1]) >= free:
            yield section
            free = begin + FULL


def _blocks(
    lines: Sequence[str], first: int, last: int, *, is_markdown: bool, heading: bool = False
) -> Iterator[_Piece]:
    """Yield a heading, paragraphs, bullets with what belongs to them, and fenced code, of some lines."""
    if heading:
        yield _Piece(lines[first - 1], first, first, is_heading=True)
        first += 1
    begin = 0
    fence = ""
    is_item = False
    # One that is never closed is text: it would hide all that follows in one long piece.
    backwards = ((number, lines[number - 1]) for number in range(last, first - 1, -1))
    fences = closed_fences(backwards) if is_markdown else {}
    for number in range(first, last + 1):
        line = lines[number - 1]
        bare = line.strip()
        if fence:
            fence = "" if closes(bare, fence) else fence
            continue
        if number in fences:
            fence = fences[number]
            begin = begin or number
            continue
        starts = is_markdown and _BULLET.match(line) is not None
        if begin and (starts or not bare):
            yield _piece(lines, begin, number - 1, is_item=is_item)
            begin = 0
        if bare and not begin:
            begin, is_item = number, starts or (is_item and line[0] in " \t")
    if begin:
        yield _piece(lines, begin, last, is_item=is_item)


def _piece(lines: Sequence[str], first: int, last: int, *, is_item: bool) -> _Piece:
    while last > first and not lines[last - 1].strip():
        last -= 1
    return _Piece("\n".join(lines[first - 1 : last]), first, last, is_item)


def _packed(lines: Sequence[str], blocks: Iterable[_Piece], *, itemised: bool) -> Iterator[_Piece]:
    """Join what stands together up to a full chunk, with what is between, and part what is too long."""
    held: _Piece | None = None
    for block in blocks:
        if held is not None and _may_join(held, block, itemised=itemised):
            text = "\n".join(lines[held.line - 1 : block.end_line])
            held = _Piece(text, held.line, block.end_line, block.is_item)
            continue
        if held is not None:
            yield from _parted(held)
        held = block
    if held is not None:
        yield from _parted(held)


def _may_join(held: _Piece, block: _Piece, *, itemised: bool) -> bool:
    if held.is_heading:
        return True
    is_alone = itemised and (block.is_item or held.is_item)
    return not is_alone and len(held.text) + len(block.text) < FULL


def _parted(piece: _Piece) -> Iterator[_Piece]:
    """Yield a piece in parts that are short enough, whole lines where that is possible."""
    if len(piece.text) <= LONGEST:
        yield piece
        return
    held: list[str] = []
    begin = piece.line
    size = 0
    for number, line in enumerate(piece.text.split("\n"), piece.line):
        if held and size + len(line) >= FULL:
            yield _Piece("\n".join(held), begin, number - 1, piece.is_item)
            held, size = [], 0
        if not held:
            begin = number
        if len(line) > LONGEST:
            yield from (_Piece(part, number, number, piece.is_item) for part in _cut(line))
        elif held or line.strip():
            held.append(line)
            size += len(line) + 1
    if held:
        yield _Piece("\n".join(held), begin, piece.end_line, piece.is_item)


def _cut(line: str) -> Iterator[str]:
    """Yield a line in parts, between words where there are any."""
    at = 0
    while at < len(line):
        end = min(at + FULL, len(line))
        if end < len(line):
            spaces = [found.end() for found in _SPACES.finditer(line, max(at + 1, end - _NEAR), end)]
            end = spaces[-1] if spaces else end
        if line[at:end].strip():
            yield line[at:end]
        at = end
