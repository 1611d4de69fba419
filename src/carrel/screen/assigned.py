"""Secrets that the name before them gives away: `password: ...`, `API_KEY=...`, `--token ...`."""

import re
from collections.abc import Iterator

from carrel.screen.candidate import NAMED, Candidate
from carrel.screen.names import ANCHORS, WORD, kind_of, sort_of

_LOOK_BACK = 48
_NAME = re.compile(
    WORD + rb"(?P<closed>(?:\\{0,3}[\"'`*_)\]]){0,4})"
    rb"(?:(?P<sign>[ \t]{0,8}(?:=[=>]?|:=?)[*_]{0,3}[ \t]{0,8}|>(?=[^<>\s]{6,999}+</))"
    rb"|[ \t]{1,2}(?P<said>is|was)[ \t:]{1,3}|[ \t]{1,2}(?=[^\s]{0,40}[0-9!#$%&@^]))"
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
_OWN_NAME = re.compile(r"[A-Za-z0-9_.-]*\Z")
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
    literal = not is_bare or _is_literal(name, before, word)
    if is_bare:
        end = start + len(value["bare"].rstrip(",;" if literal else ".,;:!?)]}*_"))
    kind = kind_of(sort, before + word, text[start:end], literal=literal)
    # A bare value was looked at whole; within quotes there may be another name.
    return (Candidate(NAMED, start, end, kind) if kind else None), end if kind or is_bare else name.end()


def _is_name(name: re.Match[bytes], before: str) -> bool:
    """Tell whether something is given to the name, and it is not one step of a path, or part of a mark."""
    own = _own_name(before)
    lead = before[: len(before) - len(own)]
    is_step = lead.endswith("::") or (lead.endswith(":") and name["sign"] == b":")
    if is_step or _OPEN_MARK.search(before):
        return False
    return bool(name["sign"] or name["said"]) or own.startswith("--")


def _own_name(before: str) -> str:
    """Return the part of a name that stands before its last word."""
    found = _OWN_NAME.search(before)
    return found[0] if found else ""


def _is_literal(name: re.Match[bytes], before: str, word: str) -> bool:
    """Tell whether a bare value is neither prose nor code: behind a flag, in a query, in an environment."""
    if not (name["sign"] or name["said"]):
        return True
    if name["sign"] != b"=" or name["closed"]:
        return False
    own = _own_name(before)
    lead = before[: len(before) - len(own)]
    return (own + word).isupper() or own[:1] == "-" or lead in ("", "export ", "set ") or lead[-1] in "?&;"
