"""A session's title, from what the user said first, until somebody gives it one."""

import re

TITLE_CHARACTERS = 60

_MARKUP = re.compile(r"^(?:[#>*\-~]+\s+)+|`+|\*+(?=\S)|(?<=\S)\*+")
_FENCE = re.compile(r"^(```|~~~)")
_SPEECH = re.compile(
    r"^((hi|hello|hey)( there| all| everyone| team)?|good (morning|afternoon|evening)|please|hola|hallo)"
    r"\b[\s,!.:;-]*",
    re.IGNORECASE,
)
_READ = 4_000


def title_from(text: str) -> str:
    """Return a short line of a message: the first that says something, without markup, cut at a word."""
    lines = [_plain(line) for line in text[:_READ].splitlines() if not _FENCE.match(line.strip())]
    said = [line for line in lines if line]
    if not said:
        return ""
    rest = next((bare for line in said if (bare := _SPEECH.sub("", line))), said[0])
    return _shortened(rest[:1].upper() + rest[1:])


def _plain(line: str) -> str:
    visible = "".join(char if char.isprintable() else " " for char in line)
    return " ".join(_MARKUP.sub("", visible).split())


def _shortened(line: str) -> str:
    if len(line) <= TITLE_CHARACTERS:
        return line
    cut = line[: TITLE_CHARACTERS - 1]
    words = cut.rpartition(" ")[0]
    return f"{(words if len(words) > TITLE_CHARACTERS // 2 else cut).rstrip(' ,;:.')}…"
