"""A summary by extraction: what was asked, decided, stated, dated, left open and named, under headings."""

import re
from collections.abc import Iterator, Sequence

from carrel.runtime.offline.facts import LONGEST_MESSAGE, facts_in
from carrel.runtime.offline.sources import OWN, parts, plain, sentences, shorten
from carrel.runtime.offline.words import STOP, content, fold
from carrel.sessions.message import Message

HEADINGS = ("Requests", "Decisions", "Facts", "Dates", "Open", "Names and references")
REQUESTS, DECISIONS, FACTS, DATES, OPEN, NAMES = HEADINGS
_URGENCY = (DECISIONS, FACTS, OPEN, DATES, REQUESTS, NAMES)
"""What is kept first where not all fits."""

_LONGEST = 160
_LONGEST_WORD = 200
_MOST_NAMES = 40
_NEAR = 50  # messages after which an answer is none
_LEFT_OUT = "({:,} more entries were left out.)"
_LEFT = re.compile(r"\(([\d,]{1,15}) more entries were left out\.\)")
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|octubre|noviembre|diciembre"
    "|januar|februar|märz|mai|juni|juli|oktober|dezember"
)
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.? (?:de )?(?:{_MONTHS})\b|\b(?:{_MONTHS}) \d{{1,2}}\b",
    re.IGNORECASE,
)
_TASK = re.compile(
    r"\b(?:todo|fixme|need to|needs to|have to|must|should|remind me|don't forget to|remember to|next step"
    r"|follow up|still open|still missing)\b",
    re.IGNORECASE,
)
_BOX = re.compile(r"[-*+] \[ \] ")
_PATH = re.compile(r"(?:[\w.@~-]*/)+[\w.@-]*|[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,4}")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_ISSUE = re.compile(r"[\w./-]{0,80}#\d{1,9}")
_HASH = re.compile(r"(?=[0-9a-f]{0,39}\d)(?=[0-9a-f]{0,39}[a-f])[0-9a-f]{7,40}")
_AROUND = "\"'`()[]{}<>,;:!?*_“”"
_NAME = re.compile(r"[^\W\d_][\w-]{1,40}")

Sections = dict[str, dict[str, str]]
"""By heading, the entries in order; the key is what makes two of them the same."""


def summarise(messages: Sequence[Message], *, limit_chars: int, earlier: str = "") -> str:
    """Return a summary no longer than the limit, empty where not one entry fits.

    A message that begins with `earlier` is an earlier summary; its entries are carried over.
    """
    sections: Sections = {heading: {} for heading in HEADINGS}
    left = 0
    for number, message in enumerate(messages):
        text = parts(message)[0][:LONGEST_MESSAGE]
        if earlier and text.startswith(earlier):
            left += _carry_over(sections, text)
        elif message.role in ("user", "assistant") and OWN not in text[:500]:
            _take_in(sections, message, text, is_answered=_is_answered(messages, number))
    whole = _render(sections, left)
    if len(whole) <= limit_chars:
        return whole
    kept, more = _fit(sections, limit_chars - len(_LEFT_OUT.format(10**12)) - 2)
    return _render(kept, left + more) if any(kept.values()) else ""


def _take_in(sections: Sections, message: Message, text: str, *, is_answered: bool) -> None:
    for kind, fact in facts_in(text):
        if kind == "decision" or message.role == "user":
            heading = {"decision": DECISIONS, "date": DATES}.get(kind, FACTS)
            _add(sections, heading, fact)
    is_first = True
    for sentence in _sentences(text):
        if message.role == "user" and is_first and content(sentence):
            _add(sections, REQUESTS, sentence)
            is_first = False
        if sentence.endswith("?") and not is_answered:
            _add(sections, OPEN, sentence)
        elif _BOX.match(sentence) or (message.role == "user" and _TASK.search(sentence)):
            _add(sections, OPEN, _BOX.sub("", sentence, count=1))
        elif _DATE.search(sentence) and not sentence.endswith("?"):
            _add(sections, DATES, sentence)
    for name in _names((text, *_called(message))):
        if len(sections[NAMES]) < _MOST_NAMES or fold(name) in sections[NAMES]:
            _add(sections, NAMES, name)


def _called(message: Message) -> Iterator[str]:
    """Yield what tools were called with."""
    for call in message.tool_calls:
        try:
            arguments = call.parsed() or {}
        except (ValueError, RecursionError):
            continue
        yield from (value for value in arguments.values() if isinstance(value, str))


def _sentences(text: str) -> Iterator[str]:
    """Yield sentences outside code; the box of a task stays with its own."""
    in_code = False
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            in_code = not in_code
        elif line and not in_code:
            yield from sentences(line if _BOX.match(line) else plain(line.lstrip("#> ")))


def _add(sections: Sections, heading: str, text: str) -> None:
    """Add an entry as the newest; one that is there already moves up."""
    short = shorten(text, _LONGEST)
    if short:
        key = fold(short.rstrip(".!"))
        sections[heading].pop(key, None)
        sections[heading][key] = short


def _is_answered(messages: Sequence[Message], number: int) -> bool:
    """Tell whether somebody said something to a message, other than that nothing is known."""
    asker = messages[number].role
    for place in range(number + 1, min(number + _NEAR, len(messages))):
        message = messages[place]
        text = parts(message)[0][:500].strip()
        if message.role == asker == "user":
            return False
        if message.role in ("user", "assistant") and message.role != asker and text:
            return not text.startswith(f"{OWN}, and nothing")
    return False


def _names(texts: Sequence[str]) -> Iterator[str]:
    """Yield the paths, addresses, numbers of issues, commits and names in texts, each word looked at once."""
    for text in texts:
        is_first = True
        for word in text.split():
            bare = word.strip(_AROUND).rstrip(".")
            if len(bare) <= _LONGEST_WORD and (_is_reference(bare) or (not is_first and _is_name(bare))):
                yield bare
            is_first = word[-1] in ".!?:"


def _is_reference(word: str) -> bool:
    if word.startswith(("https://", "http://")):
        return True
    if _ISSUE.fullmatch(word) or _HASH.fullmatch(word):
        return True
    return bool(_PATH.fullmatch(word) and _EXTENSION.search(word))


def _is_name(word: str) -> bool:
    name = word.removesuffix("'s").removesuffix("\u2019s")
    return bool(_NAME.fullmatch(name)) and name[0].isupper() and fold(name) not in STOP


def _carry_over(sections: Sections, text: str) -> int:
    """Take the entries of an earlier summary; return how many it had left out itself."""
    heading = FACTS
    left = 0
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith("## "):
            heading = line[3:] if line[3:] in HEADINGS else FACTS
        elif line.startswith("- "):
            _add(sections, heading, line[2:])
        elif found := _LEFT.fullmatch(line):
            left += int(found[1].replace(",", "") or 0)
    return left


def _fit(sections: Sections, room: int) -> tuple[Sections, int]:
    """Return the entries that fit, a few of every kind, the newest of each first, and how many do not."""
    queues = {heading: list(reversed(sections[heading].items())) for heading in _URGENCY}
    chosen: Sections = {heading: {} for heading in HEADINGS}
    left = 0
    for turn in range(max(map(len, queues.values()))):
        for heading, queue in queues.items():
            if turn >= len(queue):
                continue
            key, text = queue[turn]
            cost = len(text) + 3 + (0 if chosen[heading] else len(heading) + 6)
            if cost <= room:
                chosen[heading][key] = text
                room -= cost
            else:
                left += 1
    ordered = {h: {k: t for k, t in sections[h].items() if k in chosen[h]} for h in HEADINGS}
    return ordered, left


def _render(sections: Sections, left: int) -> str:
    blocks = [
        "\n".join([f"## {heading}", *(f"- {text}" for text in entries.values())])
        for heading, entries in sections.items()
        if entries
    ]
    if left:
        blocks.append(_LEFT_OUT.format(left))
    return "\n\n".join(blocks)
