"""Facts by simple rules: what a user states about themselves and their work in plain sentences.

A rule sees one clause at a time and only its beginning, so that a long text costs little. English, and a
little Spanish and German. What no rule knows is not guessed.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from carrel.runtime.offline.sources import TITLES, parts, plain, sentences, shorten
from carrel.runtime.offline.words import STOP, fold
from carrel.sessions.message import Message

Kind = Literal[
    "name", "preference", "decision", "remember", "correction", "date", "place", "work", "tool", "fact"
]

MOST_FACTS = 500
LONGEST_MESSAGE = 200_000
_LONGEST_CLAUSE = 500
_LONGEST_FACT = 300
_MOST_LEADS = 4


class Extracted(Struct, frozen=True, kw_only=True):
    """One statement; `evidence_index` is the message that it was read in."""

    text: str
    kind: Kind
    evidence_index: int


class _Rule(Struct, frozen=True):
    kind: Kind
    shape: str
    pattern: re.Pattern[str]


def _rule(kind: Kind, shape: str, heads: str, rest: str = "(?P<x>.+)") -> _Rule:
    return _Rule(kind, shape, re.compile(f"(?:{heads}) {rest}", re.IGNORECASE | re.DOTALL))


_DID = r"(?:just |already |finally )?"
_NAME = "(?P<name>.+)"
_PROPER = r"(?P<name>(?-i:[^\W\d_a-z]).+)"
_Y_IS_X = r"(?P<y>[^,;]{1,60}?) (?:is|are) (?P<x>.+)"
_EVENT = "deadline|launch|release|meeting|demo|exam|appointment"

_RULES = (
    _rule("name", "The user's name is {name}.", "my name is|my name's|people call me|i go by", _NAME),
    _rule(
        "name", "The user's name is {name}.", "me llamo|mi nombre es|ich hei(?:ß|ss)e|mein name ist", _NAME
    ),
    _rule("name", "The user's name is {name}.", "i am called|i'm called|(?:you can |just )?call me", _PROPER),
    _rule("name", "The agent's name is {name}.", "your name is", _NAME),
    _rule("preference", "The user prefers {x}.", "i(?: would|'d)? (?:really |much |strongly |also )?prefer"),
    _rule("preference", "The user prefers {x}.", "(?:yo )?prefiero|ich bevorzuge"),
    _rule(
        "preference", "The user {verb}s {x}.", "i (?:really |also )?(?P<verb>like|love|enjoy|hate|dislike)"
    ),
    _rule("preference", "The user does not {verb} {x}.", "i (?:don't|do not|can't) (?P<verb>like|stand)"),
    _rule("preference", "The user's favourite {y}: {x}.", "my favou?rite", _Y_IS_X),
    _rule("preference", "{verb} {x}.", "(?P<verb>always|never)"),
    _rule(
        "decision",
        "{verb} {x}.",
        f"we(?:'ve| have| had)? {_DID}(?P<verb>decided|agreed|chose|picked|settled)",
    ),
    _rule(
        "decision",
        "Decided to {x}.",
        "we'll|we will|we are going to|we're going to|let's|let us",
        "(?P<x>(?:use|go with|switch to|stick with|move to|keep) .+)",
    ),
    _rule("decision", "The user decided {x}.", f"i(?:'ve| have)? {_DID}decided"),
    _rule("decision", "Decision: {x}.", "(?:the |our )?decision(?: is|:)"),
    _rule("decision", "Decided {x}.", "hemos decidido|decidimos"),
    _rule("decision", "Decided {x}.", "wir haben (?:uns )?(?:entschieden|beschlossen),?"),
    _rule("date", "The user's birthday is {x}.", "my birthday is(?: on)?|mi cumpleaños es(?: el)?"),
    _rule("date", "The user's birthday is {x}.", "mein geburtstag ist(?: am)?"),
    _rule("date", "The user was born {x}.", "i was born", "(?P<x>(?:on|in) .+)"),
    _rule(
        "date",
        "The {y} is {x}.",
        "the|our|my",
        r"(?P<y>[^,;]{1,60}?) (?:is|are) (?P<x>(?:due|scheduled|planned|set) (?:on|for|by|in|at) .+)",
    ),
    _rule(
        "date",
        "The {y} is {x}.",
        "the|our|my",
        rf"(?P<y>(?:[^\s,;]{{1,30}} ){{0,3}}(?:{_EVENT})) (?:is|will be) "
        r"(?P<x>(?:on|at|in|by|next|this|tomorrow)\b.+)",
    ),
    _rule("place", "The user lives in {x}.", "i live in|i am based in|i'm based in|vivo en|ich wohne in"),
    _rule("place", "The user is from {x}.", "i am from|i'm from"),
    _rule("place", "The user moved to {x}.", "i (?:have |just )?moved to"),
    _rule("work", "The user works {x}.", "i work", "(?P<x>(?:at|for|in|as|on|with) .+)"),
    _rule("work", "The user is a {x}.", "(?:i am|i'm) an?", r"(?!bit\b|little\b|lot\b|few\b)(?P<x>.+)"),
    _rule("work", "The user works at {x}.", "trabajo (?:en|para)|ich arbeite bei"),
    _rule("work", "The user works as {x}.", "trabajo como|ich arbeite als"),
    _rule("tool", "The team uses {x}.", "(?:we|our team) (?:use|uses|run|are using|build with)"),
    _rule("tool", "The team uses {x}.", "usamos|wir (?:nutzen|verwenden|benutzen)"),
    _rule("tool", "The user uses {x}.", "i use|i am using|i'm using"),
    _rule("tool", "The team deploys {x}.", "we deploy", "(?P<x>(?:to|on|with) .+)"),
    _rule("fact", "The team's {y}: {x}.", "our", _Y_IS_X),
    _rule("fact", "The user's {y}: {x}.", "my", _Y_IS_X),
)
_REMEMBER = re.compile(
    r"(?:(?:remember|note|keep in mind|don't forget|do not forget|recuerda|merk dir)"
    r"(?:,? (?:that|que|dass)|:|,) "
    r"|remember (?=(?:my|i|we|our|the)\b))(?P<x>.+)",
    re.IGNORECASE | re.DOTALL,
)
_CORRECTION = re.compile(
    r"(?:actually|correction|en realidad|eigentlich|i meant(?: to say)?|that(?:'s| is) (?:wrong|not right))"
    r"[,:;]? (?P<x>.+)",
    re.IGNORECASE | re.DOTALL,
)
_STATES = re.compile(r"\b(?:is|are|was|were|not|has|have|uses?|es|ist)\b", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:hi|hello|hey|ok|okay|well|so|also|and|but|yes|no|please|by the way|btw|oh|fyi|sorry"
    r"|hola|hallo|bitte)(?: there)?[,!.:;]* ",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r",? (?:and|but|y|und) (?=(?:i|i'm|i've|my|we|we've|our|mi|vivo|ich|mein|wir)\b)", re.IGNORECASE
)
_SECRET = re.compile(
    r"pass(?:word|phrase|code)|secret|token|api.?key|\bkey\b|\bpin\b|contraseña", re.IGNORECASE
)
_EMPTY = ("name", "question", "point", "guess", "problem", "idea", "bad", "mistake", "turn")
_PARTICLES = ("de", "del", "la", "van", "von", "der", "den", "da", "bin", "al")
_SWAPPED = {
    "my": "their",
    "me": "them",
    "mine": "theirs",
    "myself": "themself",
    "i": "they",
    "i'm": "they are",
}
_FIRST_PERSON = re.compile(r"\b(?:my|me|mine|myself|i'm|i)\b(?!')", re.IGNORECASE)


def extract_facts(messages: Sequence[Message]) -> tuple[Extracted, ...]:
    """Return what the user's messages state, in order, each statement once."""
    found: dict[str, Extracted] = {}
    for number, message in enumerate(messages):
        if message.role != "user":
            continue
        for kind, text in facts_in(parts(message)[0]):
            found.setdefault(text, Extracted(text=text, kind=kind, evidence_index=number))
            if len(found) >= MOST_FACTS:
                return tuple(found.values())
    return tuple(found.values())


def facts_in(text: str) -> Iterator[tuple[Kind, str]]:
    """Yield what a text states; questions, quotations and code state nothing."""
    for sentence in _stated(text[:LONGEST_MESSAGE]):
        for clause in _CLAUSE.split(without_lead(sentence[:_LONGEST_CLAUSE])):
            if fact := _fact(without_lead(clause.replace("\u2019", "'").strip())):
                yield fact


def _stated(text: str) -> Iterator[str]:
    in_code = False
    for raw in text.split("\n"):
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            in_code = not in_code
        elif line and not in_code and not line.startswith((">", "<")):
            yield from (s for s in sentences(plain(line)) if not s.endswith("?"))


def without_lead(text: str) -> str:
    """Take off the words that a sentence may begin with and that state nothing."""
    for _ in range(_MOST_LEADS):
        lead = _LEAD.match(text)
        if lead is None:
            break
        text = text[lead.end() :]
    return text


def _fact(clause: str) -> tuple[Kind, str] | None:
    if told := _REMEMBER.match(clause):
        return _plain_fact(told["x"]) or _as_written("remember", told["x"])
    if corrected := _CORRECTION.match(clause):
        known = _plain_fact(corrected["x"])
        if known is not None:
            return "correction", known[1]
        return _as_written("correction", corrected["x"]) if _STATES.search(corrected["x"]) else None
    return _plain_fact(clause)


def _plain_fact(clause: str) -> tuple[Kind, str] | None:
    for rule in _RULES:
        match = rule.pattern.match(clause)
        values = _values(match) if match else None
        if values is not None:
            text = rule.shape.format_map(values)
            return rule.kind, shorten(text[:1].upper() + text[1:], _LONGEST_FACT)
    return None


def _values(match: re.Match[str]) -> dict[str, str] | None:
    """Return what a rule found, told of a third person; none where it found nothing worth keeping."""
    values = {key: _told(value) for key, value in match.groupdict().items()}
    if "name" in values:
        values["name"] = _name(match["name"])
    about = values.get("y", "x").lower()
    if not all(values.values()) or about in _EMPTY or _SECRET.search(about):
        return None
    return values


def _told(text: str) -> str:
    text = text.strip().rstrip(".!…,;: ")
    return _FIRST_PERSON.sub(lambda m: _SWAPPED[m[0].lower()], text)


def _name(text: str) -> str:
    """Return the name that a text begins with; none where it begins with an ordinary word."""
    kept: list[str] = []
    for raw in text.split()[:6]:
        word = raw.strip(",;:!?\"'()")
        is_title = word.lower().rstrip(".") in TITLES
        word = word if is_title else word.rstrip(".")
        if not (word[:1].isupper() or word in _PARTICLES or not kept):
            break
        kept.append(word)
        if raw[-1] in ",;:!?)" or (raw[-1] == "." and not is_title):
            break
    while kept and kept[-1] in _PARTICLES:
        kept.pop()
    is_name = bool(kept and kept[0]) and fold(kept[0]) not in STOP and not kept[0][0].isdigit()
    return " ".join(kept) if is_name else ""


def _as_written(kind: Kind, text: str) -> tuple[Kind, str] | None:
    told = text.strip().rstrip(".!… ")
    if not told:
        return None
    return kind, shorten(f"{told[0].upper()}{told[1:]}.", _LONGEST_FACT)
