"""Pages that memory begins by itself, one for each entity and procedure, in the form that the graph reads."""

import re
import unicodedata
from hashlib import sha256

from carrel.memory.fact import normalise
from carrel.memory.graph.pages import read_page
from carrel.memory.words import WORD, fold

ENTITIES = "memory/entities"
PROCEDURES = "memory/procedures"

_LONGEST_NAME = 120
_LONGEST_SLUG = 50
_LONGEST_RELATION = 40
_SEPARATORS = frozenset(" -_.,'\u2019\"()&:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.ASCII)
_RELATION = re.compile(r"- \w{1,40}: \[\[[^\[\]|#]{1,200}\]\] \(\d{4}-\d{2}-\d{2}\)")
_LINK = re.compile(r"\[\[([^\[\]]*)\]\]")


def page_path(folder: str, name: str) -> str:
    """Return the path of the page with this name, below the home of the layout."""
    return f"{folder}/{slug_of(name)}.md"


def slug_of(name: str) -> str:
    """Return a name as the name of a file; where that leaves something out, a digest keeps two apart."""
    plain = normalise(name)
    slug = "-".join(WORD.findall(fold(plain)))[:_LONGEST_SLUG].rstrip("-")
    if slug and _is_told(plain) and not _DEVICE.fullmatch(slug):
        return slug
    digest = sha256(plain.casefold().encode()).hexdigest()[:8]
    return f"{slug}-{digest}" if slug else digest


def title_of(name: str) -> str:
    """Return a name as a heading shows it."""
    return normalise(name)[:_LONGEST_NAME].rstrip("# ") or "Untitled"


def opening(name: str) -> str:
    """Return the text that a page begins with."""
    return f"# {title_of(name)}\n"


def relation_line(relation: str, target: str, day: str) -> str:
    """Return the line of a relation that was observed on a day; "" where the graph would not read it back."""
    kind = "_".join(WORD.findall(relation.lower()))[:_LONGEST_RELATION].strip("_")
    name = normalise(target)
    line = f"- {kind}: [[{name}]] ({day})"
    links = read_page("", line).links
    is_read = [(link.relation, link.target, link.day) for link in links] == [(kind, name, day)]
    return line if kind and is_read else ""


def is_newer(line: str, old: str) -> bool:
    """Tell whether a line is a relation that another has too, observed on a later day."""
    return is_relation(line) and without_day(line) == without_day(old) and line > old


def is_relation(line: str) -> bool:
    """Tell whether a line is one that `relation_line` makes."""
    return _RELATION.fullmatch(line) is not None


def without_day(line: str) -> str:
    """Return a line of a relation without when it was observed, which does not make it another one."""
    return line.rpartition(" (")[0] if is_relation(line) else line


def without_links(text: str) -> str:
    """Return a text that links to nothing any more, and reads the same."""
    return _LINK.sub(lambda link: link[1].rpartition("|")[2], text)


def _is_told(name: str) -> bool:
    """Tell whether nothing but case, accents and separators is left out of a slug."""
    if len(name) > _LONGEST_SLUG:
        return False
    marks = (unicodedata.category(c)[0] == "M" for c in name)
    return not any(marks) and all(c.isalnum() or c in _SEPARATORS for c in name)
