"""What the offline model may quote: the lines of a request, each with the place that it came from.

A prompt is read by its looks alone, whatever layout made it. It is material, not instruction: a file that
imitates a heading or a tag can at most have itself quoted under another name.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from carrel.sessions.message import Message

OWN = "I am the offline model and only quote"
"""What each answer says of itself; an answer is no source for another."""

LONGEST_TEXT = 1_000_000
"""What is read of one text: its beginning."""
LONGEST_LINE = 400
MOST_LINES = 100_000

_TAGS = {
    "agents_context": "AGENTS.md",
    "memory_context": "MEMORY.md",
    "domain_knowledge_context": "knowledge/KNOWLEDGE.md",
    "knowledge": "knowledge/KNOWLEDGE.md",
    "skills": "skills",
    "session": "session",
    "document": "",
    "memory": "",
    "journal": "",
    "recall": "",
    "loaded_context": "",
}
_BLOCKS = ("IDENTITY", "SOUL", "USER", "AGENTS", "MEMORY")
_GROUPS = {
    "# RECENT NOTES": "notes",
    "# Project Context": "project",
    "## Agent Memory": "layers",
    "[Supplementary Context]": "namespaces",
    "Context from memory:": "recall",
}
_OPEN = re.compile(r'<([A-Za-z_0-9.-]{1,200})((?: [a-z]{1,20}="[^"<>]*")*)>')
_MARK = re.compile(rf"</?(?:{'|'.join(_TAGS)}|hit)(?: [^<>]*)?>")
_ATTRIBUTE = re.compile(r' ([a-z]{1,20})="([^"<>]*)"')
_HIT = re.compile(r'<hit path="([^"<>]*)" line="(\d{1,9})"(?: date="[^"<>]*")?>(.*)</hit>')
_ENTITY = re.compile(r"&(amp|lt|gt|quot|#\d{1,7});")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}
_RECALLED = re.compile(r"- (.*) \(([^()]{1,400}:\d{1,9})\)")
_ANSWERED = re.compile(rf"(?:\S{{1,40}}: )?{OWN}.*?(?= user: |$)")
_TURN = re.compile(r"(?<!\s)\s++(?=user: )")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MARKS = ("[truncated", "[... ", "... (memory truncated", "```", "~~~", "|--", "| --", "---", "===", "***")
_LONGEST_ABBREVIATION = 5
TITLES = ("dr", "mr", "mrs", "ms", "st", "sr", "sra", "prof")
_ABBREVIATED = (*TITLES, "vs", "e.g", "i.e", "z.b")
# Begun only where a run of full stops begins, so that a megabyte of them is read once.
_SENTENCE = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]]*+\s+|\n+")
_GUIDANCE = "Workspace guidance"


class Line(Struct, frozen=True, kw_only=True):
    """One thing that can be quoted; `rank` orders sources where nothing else does, the lowest first."""

    text: str
    source: str
    heading: str = ""
    rank: int = 0


RECALLED, LOADED, SAID_BY_USER, SAID_BY_MODEL = range(4)


def lines_of(messages: Sequence[Message]) -> list[Line]:
    """Return all that can be quoted before the last message of the user, and what came with that one."""
    last = last_user(messages)
    found: list[Line] = []
    systems = 0
    for number, message in enumerate(messages[: last + 1] if last is not None else messages):
        if message.role == "system":
            systems += 1
            found += read_block(message.to_text(), f"system message {systems}")
        elif number == last:
            for part in parts(message)[1:]:
                found += read_block(part, "session")
        elif message.role in ("user", "assistant"):
            found += _said(message)
        if len(found) > MOST_LINES:
            break
    return found[:MOST_LINES]


def last_user(messages: Sequence[Message]) -> int | None:
    """Return the place of the user's last message."""
    return next((n for n in range(len(messages) - 1, -1, -1) if messages[n].role == "user"), None)


def parts(message: Message) -> tuple[str, ...]:
    """Return the texts of a message; the first is what its author wrote."""
    return (message.content,) if isinstance(message.content, str) else message.content


def read_block(text: str, source: str) -> Iterator[Line]:
    """Yield the lines of a text that Carrel assembled; `source` is its name where it does not say one."""
    reader = _Reader(source)
    for raw in text[:LONGEST_TEXT].split("\n"):
        if line := raw.strip():
            yield from reader.read(line)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without its line ends."""
    start = 0
    for match in _SENTENCE.finditer(text):
        before = text[max(start, match.start() - _LONGEST_ABBREVIATION) : match.start()]
        if match[0].startswith(".") and before.rpartition(" ")[2].lower() in _ABBREVIATED:
            continue
        if sentence := text[start : match.end()].strip():
            yield sentence
        start = match.end()
    if rest := text[start:].strip():
        yield rest


def shorten(text: str, limit: int) -> str:
    """Return a text on one line and no longer than the limit."""
    flat = " ".join(text[: limit * 4 + 1_000].split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def plain(text: str) -> str:
    """Return a line without the mark of a list."""
    return text[match.end() :] if (match := _BULLET.match(text)) else text


def pieces(text: str) -> Iterator[str]:
    """Yield a line, or its sentences where it is long."""
    if len(text) <= LONGEST_LINE:
        yield text
    else:
        yield from (shorten(sentence, LONGEST_LINE) for sentence in sentences(text))


def _said(message: Message) -> Iterator[Line]:
    """Yield what somebody said earlier; a question answers nothing, and an answer of ours only quotes."""
    text = parts(message)[0][:LONGEST_TEXT]
    if OWN in text[:500]:
        return
    source = f"earlier in this conversation ({message.role})"
    rank = SAID_BY_USER if message.role == "user" else SAID_BY_MODEL
    for raw in text.split("\n"):
        for sentence in sentences(raw) if raw else ():
            if not (sentence.endswith("?") or sentence.startswith(_MARKS) or _MARK.fullmatch(sentence)):
                yield Line(text=shorten(plain(sentence), LONGEST_LINE), source=source, rank=rank)


class _Reader:
    """Reads one assembled text line by line, and knows in which block it is."""

    def __init__(self, source: str) -> None:
        self._outside = source
        self._source = source
        self._heading = ""
        self._group = ""
        self._tag = ""
        self._is_loaded = False

    def read(self, line: str) -> Iterator[Line]:
        """Yield what of a line can be quoted: nothing where it is a mark of structure."""
        if line.startswith(_MARKS):
            return
        if line.startswith("<") and (hit := _HIT.fullmatch(line)):
            source = f"{_unescape(hit[1])}:{hit[2]}"
            yield from self._lines(hit[3], source, RECALLED)
        elif (line.startswith("<") and self._is_tag(line)) or (not self._tag and self._is_block(line)):
            return
        elif heading := _HEADING.fullmatch(line):
            self._heading = heading[2]
        elif not self._tag and (recalled := _RECALLED.fullmatch(line)):
            yield from self._lines(recalled[1], recalled[2], RECALLED)
        elif self._tag or self._heading != _GUIDANCE:
            yield from self._lines(plain(line), self._source, LOADED)

    def _lines(self, text: str, source: str, rank: int) -> Iterator[Line]:
        for turn in _turns(text) if rank == RECALLED else (text,):
            for piece in pieces(turn.replace("&lt;", "<").strip()):
                if piece:
                    yield Line(text=piece, source=source, heading=self._heading, rank=rank)

    def _is_tag(self, line: str) -> bool:
        """Take in an opening or closing tag of a layout; any name is one right inside `<loaded_context>`."""
        if line.startswith("</") and line.endswith(">") and self._is_end(line[2:-1]):
            return True
        opened = _OPEN.match(line)
        if opened is None or self._tag or not (self._is_loaded or opened[1] in _TAGS):
            return bool(_MARK.fullmatch(line))
        rest = line[opened.end() :]
        if not rest and opened[1] == "loaded_context":
            self._is_loaded = True
        elif not rest:
            self._open(opened[1], dict(_ATTRIBUTE.findall(opened[2])))
        return rest in ("", f"</{opened[1]}>")

    def _open(self, name: str, attributes: dict[str, str]) -> None:
        said = attributes.get("path") or attributes.get("title") or ""
        self._tag = name
        self._source = _unescape(said) or _TAGS.get(name, name) or self._outside
        self._heading = ""

    def _is_end(self, name: str) -> bool:
        if name == "loaded_context" and not self._tag:
            self._is_loaded = False
        elif name != self._tag:
            return False
        self._tag, self._source, self._heading = "", self._outside, ""
        return True

    def _is_block(self, line: str) -> bool:
        """Take in a heading that begins a block of a layout without tags."""
        if line in _GROUPS:
            self._group, self._source, self._heading = _GROUPS[line], self._outside, ""
            return True
        source = self._block(line)
        if source:
            self._source, self._heading = source, ""
        return bool(source)

    def _block(self, line: str) -> str:
        """Return the source that a heading announces, if it announces one."""
        mark, _, name = line.partition(" ")
        if mark == "#" and name in _BLOCKS:
            self._group = ""
            return f"{name}.md"
        if mark == "##" and self._group == "notes" and _DAY.match(name):
            return f"notes/{name}.md"
        if mark == "##" and self._group == "project" and name.endswith(".md"):
            return name
        if mark == "###" and self._group == "layers" and name in ("Experience", "Project"):
            return f"agent memory ({name.lower()})"
        return name if mark == "###" and self._group == "namespaces" else ""


def _turns(recalled: str) -> Iterator[str]:
    """Yield what was said, each by itself; as above, a question answers nothing, and we only quote."""
    for turn in _TURN.split(_ANSWERED.sub("", recalled)):
        if not (turn.startswith("user: ") and turn.rstrip().endswith("?")):
            yield turn


def _unescape(attribute: str) -> str:
    # Only control characters are written as numbers, and none of them belongs into an answer.
    return _ENTITY.sub(lambda m: _ENTITIES.get(m[1], "?"), attribute)
