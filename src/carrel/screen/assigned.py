"""Secrets that the name before them gives away: `password: ...`, `API_KEY=...`, `--token ...`."""

import re
from collections.abc import Iterator
from string import ascii_letters, digits

from carrel.screen.candidate import NAMED, Candidate
from carrel.screen.likely import Place
from carrel.screen.names import ANCHORS, WORD, kind_of, sort_of

_LOOK_BACK = 96
_NAME = re.compile(
    WORD + rb"(?P<closed>(?:\\{0,3}[\"'`*_)\]]){0,4})"
    rb"(?:(?P<sign>[ \t]{0,8}(?:=[=>]?|:=?)(?:[*_]{1,3}(?=[ \t]))?[ \t]{0,8}|>(?=[^<>\s]{6,999}+</)"
    rb"|(?<=[\"'])[ \t]{1,3}value[ \t]?=[ \t]?)"
    rb"|[ \t]{1,2}(?P<said>is|was|ist|war|lautet|es|est|\xe9)[ \t:]{1,3}"
    rb"|[ \t]{1,2}(?=[^\s]{0,40}[0-9!#$%&@^]))"
)
"""A name, and what gives it a value: a sign, a tag, a sentence, or, behind a flag, nothing."""
_VALUE = re.compile(
    r"(?:[bfruBFRU]{1,2}(?=[\"']))?(?:\\{1,7}[\"'](?P<escaped>[^\"'\\\r\n]++)"
    r"|\"(?P<double>[^\"\\\r\n]*+(?:\\[^\r\n][^\"\\\r\n]*+)*+)\""
    r"|'(?P<single>[^'\\\r\n]*+(?:\\[^\r\n][^'\\\r\n]*+)*+)'"
    r"|`(?P<ticked>[^`\r\n]++)`"
    # A bare one ends before white space, the next name with its sign, or an escaped end of line.
    r"|[\"'`]?(?P<bare>[^\s\"'`<>,;&|\\]*+"
    r"(?:(?:[,;&|](?![\w.-]{1,40}[\"']?[=:])|\\(?![nrt]|\s|\Z))[^\s\"'`<>,;&|\\]*+)*+))"
)
_SPACED = re.compile(
    # Not only at the beginning of a line: a journal has the hour before it.
    r"(?:.*\W)?(?:(?:machine[ \t]+[^\s]+|default)[ \t]+login[ \t]+[^\s]+[ \t]+"
    r"|(?:ENV|ARG|setx)[ \t]+[\w.-]*)\Z|\W{0,8}login[ \t]+[^\s]+[ \t]+\Z"
)
"""What stands before a name that only space parts from its value: in files of logins and of Docker."""
_NAME_CHARACTERS = f"{ascii_letters}{digits}_.-"
_OPEN_MARK = re.compile(r"\[REDACTED:[A-Z_]*\Z")


def assigned(text: str, lowered: bytes) -> Iterator[Candidate]:
    """Yield the secrets that a text gives a name to; `lowered` has one byte for each character."""
    for anchor in ANCHORS:
        start = lowered.find(anchor)
        while start != -1:
            name = _NAME.match(lowered, start)
            candidate, end = _value(text, name) if name else (None, start + len(anchor))
            if candidate:
                yield candidate
            start = lowered.find(anchor, end)


def _value(text: str, name: re.Match[bytes]) -> tuple[Candidate | None, int]:
    """Return the secret that a name has, if it has one, and where to look on."""
    before = text[max(0, name.start() - _LOOK_BACK) : name.start()].rpartition("\n")[2]
    word = text[name.start("word") : name.end("word")]
    sort = sort_of(word, before) if _is_name(name, before) else ""
    value = _VALUE.match(text, name.end()) if sort else None
    if not value or not value.lastgroup:
        return None, name.end()
    start, end = value.span(value.lastgroup)
    is_bare = value.lastgroup == "bare"
    place = _place(name, before, word) if is_bare else "literal"
    if is_bare:
        end = start + len(
            _trimmed(value["bare"], name, before) if place == "prose" else value["bare"].rstrip(",;")
        )
    kind = kind_of(sort, before + word, text[start:end], place=place)
    # A bare value was looked at whole; within quotes there may be another name.
    return (Candidate(NAMED, start, end, kind) if kind else None), end if kind or is_bare else name.end()


def _trimmed(value: str, name: re.Match[bytes], before: str) -> str:
    """Return a bare value without what ends a sentence, closes a bracket or an emphasis around it.

    Where a sign gave the value, a mark at its end may be part of it.
    """
    marks = ".,;:"
    marks += "!?)]}*_" if name["said"] or name["closed"] else ""
    marks += "".join(close for opened, close in ("()", "[]", "{}", "**", "__") if opened in before)
    return value.rstrip(marks)


def _is_name(name: re.Match[bytes], before: str) -> bool:
    """Tell whether something is given to the name, and it is not one step of a path, or part of a mark."""
    lead = before.rstrip(_NAME_CHARACTERS)
    is_step = lead.endswith("::") or (lead.endswith(":") and name["sign"] == b":")
    if is_step or _OPEN_MARK.search(before):
        return False
    return bool(name["sign"] or name["said"] or _SPACED.match(before)) or before.startswith("--", len(lead))


def _place(name: re.Match[bytes], before: str, word: str) -> Place:
    """Return where a bare value stands, by the name and sign before it."""
    if not (name["sign"] or name["said"]) or name["sign"] == b">":
        return "literal"
    if name["sign"] != b"=" or name["closed"]:
        return "prose"
    lead = before.rstrip(_NAME_CHARACTERS)
    own = before[len(lead) :]
    if (own + word).isupper() and own[:1] != "-":
        return "setting"
    is_literal = own[:1] == "-" or lead in ("", "export ", "set ") or lead[-1] in "?&;"
    return "literal" if is_literal else "prose"
