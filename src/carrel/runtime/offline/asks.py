"""What a message asks for, as far as its looks tell: an answer or none, and the tool that would give it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from carrel.runtime.offline.facts import without_lead
from carrel.runtime.offline.sources import sentences, shorten
from carrel.runtime.offline.words import fold
from carrel.tools.registry import ToolSpec

_READ = 1_000
"""What of a message is looked at for a wish: its beginning."""

_WHO = re.compile(
    r"\b(?:who (?:are|r) you|what(?: is|'s) your name|(?:introduce|describe) yourself|about yourself"
    r"|who am i (?:talking|speaking) (?:to|with)|quien eres|como te llamas|wer bist du|wie heisst du)\b"
)
_KNOW = re.compile(
    r"\b(?:what (?:do|did) you (?:still |already )?(?:know|remember)|qu[eé] sabes|was wei(?:ß|ss)t du)\b"
    r"(?: (?:about|of|on|de|sobre|über) (?P<topic>[^?.!,;]{1,80}))?",
    re.IGNORECASE,
)
_STATS = re.compile(
    r"\bhow are you(?: doing)?(?: today)? ?[?!.]|\bhow are you doing\b|\byour (?:own )?(?:stats|statistics)\b"
    r"|\bhow many (?:sessions|memories|conversations)\b|\bcomo estas\b|\bwie geht(?: es|'s) dir\b"
)
_READS = re.compile(
    r"\b(?:read|open|show|cat|print|display|quote|view|contents? of|what(?:'s| is) in|what does"
    r"|lee|abre|muestra|lies|zeig)\b"
)
_LISTS = re.compile(r"\b(?:list|show|which|what|see)\b[^?.!]{0,40}\bfiles\b|\bls\b")
_FOLDER = re.compile(r"\bfiles (?:are )?(?:in|under|inside)(?: the)? ([\w./-]{1,200})", re.IGNORECASE)
_SKILL_AFTER = re.compile(r"\bskill (?:called |named )?[\"'`]?([\w-]{2,64})", re.IGNORECASE)
_SKILL_BEFORE = re.compile(r"\bthe [\"'`]?([\w-]{2,64})[\"'`]? skill\b", re.IGNORECASE)
_FILE = re.compile(r"[\w.~/-]{0,200}\w\.[A-Za-z][A-Za-z0-9]{0,7}")
_NO_FOLDER = ("workspace", "folder", "directory", "here", "there", "my", "this", "your", "total", "it")
_NO_SKILL = (
    "do",
    "does",
    "have",
    "has",
    "is",
    "are",
    "and",
    "list",
    "you",
    "can",
    "for",
    "to",
    "that",
    "names",
)
_ARTICLE = re.compile(r"^(?:the|my|our|your|los|las|el|la|die|der|das) ", re.IGNORECASE)
_EVERYTHING = ("me", "myself", "us", "everything", "all", "anything", "mi", "mich", "it all")
_QUESTION_WORDS = """
what whats who whos when where why how which whose whom do does did is are was were can could will would
should have has tell show list find search explain read open give describe introduce
que quien cuando donde como cual cuanto por dime muestra lee abre
wer wann wo wie warum welche zeig lies sag nenne
"""
_ASKING = frozenset(_QUESTION_WORDS.split())


class Ask(Struct, frozen=True, kw_only=True):
    """A tool that a message asks for; `value` is the argument that the tool calls by the first of `keys`."""

    tool: str
    keys: tuple[str, ...] = ()
    value: str = ""

    def arguments(self, spec: ToolSpec) -> dict[str, Any]:
        """Return the arguments, named as the tool's own schema names them."""
        if not self.keys or not self.value:
            return {}
        names = cast("Mapping[str, Any]", spec.parameters.get("properties") or {})
        return {next((key for key in self.keys if key in names), self.keys[0]): self.value}


def is_question(text: str) -> bool:
    """Tell a question or a wish from a statement."""
    flat = without_lead(shorten(text, _READ))
    first = fold(re.split(r"[^\w]+", flat.lstrip("¿¡\"'( "), maxsplit=1)[0])
    return first in _ASKING or any(sentence.endswith("?") for sentence in sentences(flat))


def asks_who(text: str) -> bool:
    """Tell whether the agent itself is asked about."""
    return bool(_WHO.search(_folded(text)))


def topic_of(text: str) -> str | None:
    """Return what the agent is asked to know about: "" for all of it, none where it is not asked."""
    known = _KNOW.search(shorten(text, _READ))
    if known is None:
        return None
    topic = _ARTICLE.sub("", (known["topic"] or "").strip(), count=1)
    return "" if topic.lower() in _EVERYTHING else topic


def asked_for(text: str) -> Iterator[Ask]:
    """Yield the tools that a message names by what it wants, the likeliest first."""
    folded = _folded(text)
    if _WHO.search(folded):
        yield Ask(tool="who_am_i")
    topic = topic_of(text)
    if topic is not None:
        yield Ask(tool="what_do_i_know", keys=("section", "filter", "query"), value=topic)
    if _STATS.search(folded):
        yield Ask(tool="my_stats")
    path = _file_in(text) if _READS.search(folded) else ""
    if path:
        yield Ask(tool="read_file", keys=("path", "file", "file_path"), value=path)
    elif _LISTS.search(folded):
        yield Ask(tool="list_files", keys=("under", "path", "folder", "directory"), value=_folder_in(text))
    if re.search(r"\bskills?\b", folded):
        name = _skill_in(text)
        yield Ask(tool="skill_read", keys=("name", "skill"), value=name) if name else Ask(tool="skill_list")


def _folded(text: str) -> str:
    return fold(shorten(text, _READ)).replace("\u2019", "'")


def _file_in(text: str) -> str:
    """Return the first word that looks like a file: it has an extension and is no address."""
    for word in shorten(text, _READ).split():
        bare = word.strip("\"'`()[]{}<>,;:!?*").rstrip(".")
        if "@" not in bare and "://" not in bare and _FILE.fullmatch(bare):
            return bare
    return ""


def _folder_in(text: str) -> str:
    found = _FOLDER.search(shorten(text, _READ))
    folder = found[1].rstrip("./") if found else ""
    return "" if folder.lower() in _NO_FOLDER else folder


def _skill_in(text: str) -> str:
    flat = shorten(text, _READ)
    for pattern in (_SKILL_BEFORE, _SKILL_AFTER):
        found = pattern.search(flat)
        if found and found[1].lower() not in _NO_SKILL:
            return found[1]
    return ""
