"""Whether a prompt and its report are what files, limits and layout make of them, judged without Carrel's code."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple

from tests.torture.rendering import LAYOUTS, Layout, Messages, Piece, forging, is_hidden, pieces
from tests.torture.written import Desk

KEPT = ("included", "truncated")
_BESIDE = ("history", "query", "recall", "session")
"""Kinds of rows that are no piece of a file or a prompt."""

_USUAL_MEMORY = 2_000
_SLACK = 40
"""Characters; with more room than that beside its marker, something of any text fits."""

_FLUSH, _COMPACT = 70, 85
"""Of a window in a hundred, what is to be taken when history is saved, and when it is compacted."""

_HITS = r'<recall>(\n<hit path="[^"\n]*" line="\d+"( date="[\d-]+")?>[^\n]*</hit>)+\n</recall>'
_SESSION = r"<session>\ndate: 2026-04-24 \(Friday\)\ntime zone: UTC(\nsession: \w+)?\n</session>"

Row = dict[str, Any]


class Found(NamedTuple):
    """A piece where it stands in a prompt: with all that is around it, and its own text."""

    piece: Piece
    row: Row
    rendered: str
    text: str


class Asked(NamedTuple):
    """A question about a workspace, and whether what it costs is counted again."""

    desk: Desk
    scope: str
    budget: dict[str, int]
    query: str
    session: str
    said: Sequence[tuple[str, str]]
    """Roles and texts, as far as whoever listens may hear them."""
    is_counted: bool

    @property
    def layout(self) -> Layout:
        return LAYOUTS[self.desk.layout]

    @property
    def file(self) -> float:
        return self.budget.get("file", self.layout.file or float("inf"))

    @property
    def total(self) -> float:
        return self.budget.get("total", self.layout.total or float("inf"))

    def size(self, text: str, claimed: int) -> int:
        """Return how much room a text takes; tokens, which are dear, as claimed where they are not counted."""
        if self.layout.unit == "tokens":
            return tokens(text) if self.is_counted else claimed
        return len(text) if self.layout.unit == "characters" else len(text) // 4

    def has_room(self, piece: Piece, limit: float) -> bool:
        """Tell whether something of any text fits beside its marker; no token is less than a character."""
        return limit > len(self.layout.marker) + len(piece.name) + _SLACK


class Wrong(Exception):
    """What a prompt should not be, so that no more of it can be read."""


@cache
def _encode() -> Callable[[str], list[int]]:
    from splintr import Tokenizer  # noqa: PLC0415 - only where tokens are counted again

    return Tokenizer.from_pretrained("o200k_base").encode_ordinary


def tokens(text: str) -> int:
    """Count tokens, as the vocabulary itself does."""
    return len(_encode()(text))


def faults(asked: Asked, answer: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with an answer."""
    rows: list[Row] = answer["report"]["sections"]
    wanted = pieces(asked.desk, is_shared=asked.scope == "shared", session=asked.session)
    yield from _of_report(answer["report"], rows)
    yield from _of_question(asked, answer["report"])
    yield from _of_window(asked, answer["report"])
    yield from _of_forecast(asked, answer["report"])
    yield from _unsaid(wanted, rows)
    yield from _told(asked, answer)
    texts = [text for role, text in answer["messages"]]
    shown = sum(1 for _ in takewhile(lambda each: each[0] == "system", answer["messages"]))
    shown -= bool(texts[:shown] and texts[shown - 1].startswith("Context from memory:\n- "))
    try:
        found = list(_read(asked, wanted, {row["name"]: row for row in rows}, texts[:shown]))
    except Wrong as wrong:
        yield str(wrong)
        return
    told = [row["name"] for row in rows if row["state"] in KEPT and row["kind"] not in _BESIDE]
    if told != [each.row["name"] for each in found]:
        yield f"the prompt has {[each.row['name'] for each in found]}, the report {told}"
    for each in found:
        yield from _of_piece(asked, each)
    yield from _of_limits(asked, wanted, rows, found)
    yield from _of_headings(asked, answer["report"]["warnings"], found)
    yield from _of_talk(asked, [(role, text) for role, text in answer["messages"][shown:]])


def _of_report(report: dict[str, Any], rows: Sequence[Row]) -> Iterator[str]:
    used = sum(row["tokens"] for row in rows)
    if used != report["tokens"]["used"]:
        yield f"the sections sum up to {used}, not {report['tokens']['used']}"
    stable = takewhile(lambda row: row["stable"], (row for row in rows if row["sha256"]))
    digest = sha256("".join(row["sha256"] for row in stable).encode()).hexdigest()
    if digest != report["prefix"]["sha256"]:
        yield "the digest of the prefix is another one"
    if any(each["code"] == "untrusted_setting" for each in report["warnings"]):
        yield "it is not trusted"


def _of_question(asked: Asked, report: dict[str, Any]) -> Iterator[str]:
    """Yield where a report is of another question: whose, of what, and what was said before."""
    desk = asked.desk
    own = {"layout": desk.layout, "agent": "kate", "session": asked.session or None, "scope": asked.scope}
    own |= {"model": desk.model.name or None, "unit": asked.layout.unit}
    if (told := {name: report[name] for name in own}) != own:
        yield f"the report is of {told}, not of {own}"
    rows = [row for row in report["sections"] if row["kind"] in ("history", "query")]
    texts = [text for _, text in asked.said] + ([asked.query] if asked.query else [])
    if [row["sha256"] for row in rows] != [sha256(text.encode()).hexdigest() for text in texts]:
        yield f"{[row['name'] for row in rows]} are not the {len(texts)} that were said and asked"
    elif asked.is_counted and [row["tokens"] for row in rows] != list(map(tokens, texts)):
        yield f"{[row['name'] for row in rows]} cost {list(map(tokens, texts))} tokens"


def _of_window(asked: Asked, report: dict[str, Any]) -> Iterator[str]:
    """Yield where the room is another than what is known of the model, or what the settings say."""
    told, model = report["tokens"], asked.desk.model
    own = {"window": model.window, "free": max(0, model.window - told["used"]), "method": model.method}
    if {name: told[name] for name in own} != own:
        yield f"the window is told to be {told}, not {own}"
    codes = {each["code"] for each in report["warnings"]}
    if ("unknown_model" in codes) == model.is_known:
        yield f"the window of {model.name!r} is {'not ' * model.is_known}known, they say"
    if ("over_window" in codes) != (told["used"] > model.window):
        yield f"{told['used']} of {model.window} are taken, and they say {sorted(codes)}"


def _of_forecast(asked: Asked, report: dict[str, Any]) -> Iterator[str]:
    """Yield where there are other turns left than as many as those that were, or any before the first."""
    history = [row["tokens"] for row in report["sections"] if row["kind"] == "history"]
    turns = [sum(two) for two in zip(history[::2], history[1::2], strict=False)]
    for name, percent in (("turns_to_flush", _FLUSH), ("turns_to_compact", _COMPACT)):
        told = report["forecast"][name]
        left = max(0, asked.desk.model.window * percent - report["tokens"]["used"] * 100)
        if not turns:
            yield from () if told is None else (f"{name} is {told}, and nothing was said",)
        elif told is None or not -(-left // (max(turns) * 100)) <= told <= -(-left // (min(turns) * 100)):
            yield f"{name} is {told}, with turns of {turns} tokens and room for {left // 100}"


def _unsaid(wanted: Messages, rows: Iterable[Row]) -> Iterator[str]:
    """Yield what is there for this scope, and has no row; no text stays away without a reason."""
    told = {row["name"]: row for row in rows}
    for piece in (each for message in wanted for each in message):
        row = told.get(piece.name)
        if row is None:
            yield f"{piece.name} is not in the report"
        elif (row["state"] in KEPT) != bool(piece.text or piece.is_frame) and row["reason"] not in (
            "total",
            "no_room",
            "limit",
        ):
            yield f"{piece.name} is {row['state']}, {row['reason']}, and has {len(piece.text)} characters"
        elif row["state"] not in KEPT and piece.otherwise is not None and piece.otherwise.name not in told:
            yield f"{piece.otherwise.name} is not there, where {piece.name} is not"


def _told(asked: Asked, answer: dict[str, Any]) -> Iterator[str]:
    """Yield what others read or hear of what is the owner's alone."""
    if asked.scope != "shared":
        return
    texts, desk = "\n".join(text for _, text in answer["messages"]), asked.desk
    hidden = [file for name, file in desk.files.items() if is_hidden(desk, name)]
    for file in (*hidden, *desk.namespaces.values()):
        yield from (f"others read {word}" for word in file.words if word[-1:] == "." and word in texts)
    names = {row["name"] for row in answer["report"]["sections"]}
    yield from (f"others hear of {name}" for name in desk.files if name in names and is_hidden(desk, name))


def _read(asked: Asked, wanted: Messages, rows: dict[str, Row], texts: Sequence[str]) -> Iterator[Found]:
    """Yield the pieces of a prompt from its first character to its last."""
    messages = [own for each in wanted if (own := list(_shown(each, rows)))]
    if len(messages) != len(texts):
        raise Wrong(f"{len(texts)} messages of the system, not {len(messages)}")
    for message, text in zip(messages, texts, strict=True):
        at, led = 0, set[str]()
        for piece, row in message:
            head = piece.gap if at else ""
            head += "".join(lead for lead in piece.leads if lead not in led) + piece.open
            led |= set(piece.leads)
            if not text.startswith(head, at):
                raise Wrong(f"{piece.name} should begin with {head!r}, not {text[at : at + 80]!r}")
            end = _end(asked, piece, row, text, at + len(head))
            tail = piece.after + piece.close
            if not text.startswith(tail, end):
                raise Wrong(f"{piece.name} should end with {tail[:80]!r}, not {text[end : end + 80]!r}")
            yield Found(piece, row, text[at : end + len(tail)], text[at + len(head) : end])
            at = end + len(tail)
        if at != len(text):
            raise Wrong(f"nothing should follow {message[-1][0].name}, and there is {text[at : at + 80]!r}")


def _shown(message: Iterable[Piece], rows: dict[str, Row]) -> Iterator[tuple[Piece, Row]]:
    """Yield the pieces of which the report says that they are in the prompt."""
    for piece in message:
        row = rows.get(piece.name)
        if row is not None and row["state"] in KEPT:
            yield piece, row
        elif piece.otherwise is not None and piece.otherwise.name in rows:
            yield piece.otherwise, rows[piece.otherwise.name]


def _end(asked: Asked, piece: Piece, row: Row, text: str, at: int) -> int:
    """Return where the text of a piece ends: all of it, or what a cut has left, with the marker at its place."""
    if row["state"] == "included":
        if not text.startswith(piece.text, at):
            raise Wrong(f"{piece.name} is said to be whole and is not")
        return at + len(piece.text)
    marker = asked.layout.marker.replace("{name}", re.escape(piece.name))
    if piece.keep == "head":
        found = re.compile(re.escape(asked.layout.before) + marker).search(text, at)
        if found is None and asked.layout.overflow == "rest":  # where nothing else fits, it stands alone
            found = re.compile(marker).match(text, at)
        if found is None or not piece.text.startswith(text[at : found.start()]):
            raise Wrong(f"{piece.name} is cut, and what is left is not its beginning and a marker")
        return found.end()
    if piece.keep == "both":
        return _end_of_both(piece, marker, text, at)
    marked = re.compile(marker + "\n").match(text, at)
    start = marked.end() if marked else at
    if marked is None and asked.desk.layout != "squad":
        raise Wrong(f"{piece.name} is cut, and there is no marker before its end")
    return start + _length_of_tail(piece, text, start)


def _end_of_both(piece: Piece, marker: str, text: str, at: int) -> int:
    found = re.compile(f"\n{marker}\n").search(text, at)
    if found is None or not piece.text.startswith(text[at : found.start()]):
        raise Wrong(f"{piece.name} is cut, and what is left is not its beginning and a marker")
    left = int(re.findall(r"\d+", found[0].removeprefix(f"\n[... {piece.name}"))[0])
    tail = len(piece.text) - left - (found.start() - at)
    if tail <= 0 or not text.startswith(piece.text[-tail:], found.end()):
        raise Wrong(f"{piece.name} has not as much after its marker as that says")
    return found.end() + tail


def _length_of_tail(piece: Piece, text: str, start: int) -> int:
    """Return how much of the end of a piece stands here: up to its last word, or as much of that as was left."""
    whole = text.find(piece.last, start)
    if whole >= 0 and piece.text.endswith(text[start : whole + len(piece.last)]):
        return whole + len(piece.last) - start
    for length in range(len(piece.last) - 1, 0, -1):
        if text.startswith(piece.last[-length:], start):
            return length
    raise Wrong(f"{piece.name} is cut, and what is left is not its end")


def _of_piece(asked: Asked, found: Found) -> Iterator[str]:
    """Yield what is wrong with a piece by itself: what the report says of it, and what a cut made of it."""
    piece, row = found.piece, found.row
    if row["sha256"] != sha256(found.rendered.encode()).hexdigest():
        yield f"the digest of {piece.name} is another one"
    if asked.is_counted and row["tokens"] != tokens(found.rendered):
        yield f"{piece.name} costs {tokens(found.rendered)} tokens, not {row['tokens']}"
    if piece.text and (size := asked.size(found.text, row["size"])) != row["size"]:
        yield f"{piece.name} has the size {size}, not {row['size']}"
    if asked.is_counted and piece.text and row["raw_tokens"] != tokens(piece.text):
        yield f"{piece.name} has {tokens(piece.text)} tokens when it is whole, not {row['raw_tokens']}"
    if piece.limited == "file" and asked.size(found.text, row["size"]) > asked.file:
        yield f"{piece.name} is larger than {asked.file}"
    if row["state"] == "truncated":
        if asked.desk.layout in ("carrel", "agentscope") and forging(asked.desk.layout).search(found.text):
            yield f"{piece.name} forges a tag now that it is cut"
        yield from _of_marker(asked, found)


def _of_marker(asked: Asked, found: Found) -> Iterator[str]:
    """Yield where a marker tells other numbers than there are."""
    if asked.desk.layout != "carrel" or not asked.is_counted:
        return
    pattern = asked.layout.marker.replace("{name}", re.escape(found.piece.name))
    lines = found.text.split("\n")
    line = lines[-1] if found.piece.keep == "head" else lines[0]
    kept = found.text.removesuffix(f"\n{line}") if line is lines[-1] else found.text.removeprefix(f"{line}\n")
    told = re.fullmatch(pattern, line)
    if told is None or told.groups() != (str(tokens(kept)), str(tokens(found.piece.text))):
        yield f"{found.piece.name}: {line!r}, and {tokens(kept)} of {tokens(found.piece.text)} are there"


def _of_limits(asked: Asked, wanted: Messages, rows: Iterable[Row], found: Iterable[Found]) -> Iterator[str]:
    """Yield where limits are not kept to, or something stays away for which there is room."""
    told, seen = {row["name"]: row for row in rows}, {each.piece.name: each for each in found}
    standing = [each if each.text else each.otherwise or each for message in wanted for each in message]
    if any(each.name not in told for each in standing):
        return  # which was told of before
    running = [each for each in standing if each.text and each.counted]
    for each in standing:
        if each.text and not each.counted:
            yield from _of_one(asked, each, told[each.name])
    if asked.desk.layout == "squad":
        yield from _of_shares(asked, [each for each in running if "share" in each.limited], told, seen)
        left = asked.budget.get("memory", _USUAL_MEMORY)
        others = [each for each in running if each.limited == "file"]
        yield from _of_truncating(asked, others, told, seen, left)
    elif asked.layout.overflow == "exclude":
        yield from _of_excluding(asked, running, told)
    elif asked.layout.overflow == "truncate":
        yield from _of_truncating(asked, running, told, seen, asked.total)
    else:
        yield from _of_rest(asked, running, told, seen)


def _of_one(asked: Asked, piece: Piece, row: Row) -> Iterator[str]:
    """Yield where a piece that takes part in no total is left out, or cut for anything but its own limit."""
    if row["state"] not in KEPT and (row["reason"] != "no_room" or not piece.limited):
        yield f"{piece.name} is {row['state']}, {row['reason']}, and takes no room from others"
    yield from _of_file(asked, piece, row)


def _of_file(asked: Asked, piece: Piece, row: Row) -> Iterator[str]:
    """Yield where a piece is not as its own limit makes it."""
    limit = asked.file if piece.limited else float("inf")
    whole = asked.size(piece.text, row["raw_tokens"])
    if row["state"] in KEPT and (row["state"] == "included") != (whole <= limit):
        yield f"{piece.name} is {row['state']} with {whole} of {limit}"
    if row["reason"] == "no_room" and (whole <= limit or asked.has_room(piece, limit)):
        yield f"{piece.name} has no room, and its size is {whole} of {limit}"
    yield from _of_limit(piece, row, limit)


def _of_limit(piece: Piece, row: Row, limit: float) -> Iterator[str]:
    """Yield where the report tells another limit than the one in force, of what is in the prompt."""
    if row["state"] in KEPT and row["limit"] != (None if limit == float("inf") else limit):
        yield f"{piece.name} has the limit {limit}, not {row['limit']}"


def _of_excluding(asked: Asked, running: Iterable[Piece], told: dict[str, Row]) -> Iterator[str]:
    """Pinned ones first, then the others in order until one does not fit."""
    taken = sum(told[each.name]["size"] for each in running if each.pinned)
    room, is_full = asked.total - taken, False
    for piece in running:
        row = told[piece.name]
        whole = asked.size(piece.text, row["raw_tokens"])
        yield from _of_file(asked, piece, row)
        if piece.pinned and row["reason"] == "total":
            yield f"{piece.name} is never left out for others"
        if piece.pinned or row["reason"] == "no_room":
            continue
        if row["state"] in KEPT:
            room -= row["size"]
            if is_full or room < 0:
                yield f"{piece.name} is in the prompt, and there was no room for it or one before it"
        else:
            if not is_full and min(whole, asked.file) <= room and whole <= asked.file:
                yield f"{piece.name} is left out, and {room} are left for its {whole}"
            is_full = True


def _of_truncating(
    asked: Asked, running: Iterable[Piece], told: dict[str, Row], seen: dict[str, Found], total: float
) -> Iterator[str]:
    """In order; the first that the total cuts or refuses is the last."""
    left, is_closed = total, False
    for piece in running:
        row = told[piece.name]
        whole, limit = asked.size(piece.text, row["raw_tokens"]), min(asked.file, left)
        is_whole = not is_closed and whole <= limit
        if is_whole != (row["state"] == "included") or (is_closed and row["state"] in KEPT):
            yield f"{piece.name} is {row['state']}, {row['reason']}, its size {whole}, its limit {limit}"
        if row["state"] in KEPT and (size := asked.size(seen[piece.name].text, row["size"])) > limit:
            yield f"{piece.name} takes {size} where {limit} are left"
        if row["state"] == "truncated" and asked.layout.unit == "characters":
            yield from _of_room(asked, seen[piece.name], limit)
        if not is_closed and row["reason"] == "no_room" and asked.has_room(piece, limit):
            yield f"{piece.name} has no room where {limit} characters are left"
        binds = whole > left and left < asked.file
        yield from _of_limit(piece, row, left if binds else asked.file)
        is_closed = is_closed or binds
        left -= row["size"]


def _of_room(asked: Asked, found: Found, limit: float) -> Iterator[str]:
    """Yield where a cut took more than it had to: a twentieth, to end at a good place."""
    if len(found.text) < 0.95 * (limit - len(asked.layout.marker)) - _SLACK:
        yield f"of {found.piece.name} {len(found.text)} characters are left where {limit} fit"
    if found.piece.keep == "both" and len(found.text) not in (limit, limit - 1, limit - 2):
        yield f"of {found.piece.name} {len(found.text)} characters are left, not {limit}"


def _of_rest(
    asked: Asked, running: Sequence[Piece], told: dict[str, Row], seen: dict[str, Found]
) -> Iterator[str]:
    """All whole but one, which gets what the others leave."""
    taken = sum(len(each.text) // 4 for each in running if each.limited != "rest")
    for piece in running:
        room = (asked.total - taken) * 4
        has_room = piece.limited != "rest" or len(piece.text) // 4 <= room // 4
        yield from _of_limit(piece, told[piece.name], room // 4 if piece.limited else float("inf"))
        if (told[piece.name]["state"] == "included") != has_room:
            yield f"{piece.name} is {told[piece.name]['state']}, and {room} characters are left for it"
        elif not has_room:
            kept = seen[piece.name].text.rpartition("\n")[0]
            wanted = max(0, int(room) - 63)
            if len(kept) > wanted or (len(kept) < wanted and piece.text[len(kept)] not in "<&"):
                yield f"of {piece.name} {len(kept)} characters are left, not {wanted}"


def _of_shares(
    asked: Asked, running: Iterable[Piece], told: dict[str, Row], seen: dict[str, Found]
) -> Iterator[str]:
    """Sixty in a hundred of an agent's memory for what it learnt elsewhere, forty for what it learnt here."""
    total = asked.budget.get("memory", _USUAL_MEMORY)
    first = min((3 * total + 4) // 5, total - 1) if total > 1 else total
    for share, room in (("first share", first), ("second share", total - first)):
        own = [each for each in running if each.limited == share]
        texts = [seen[each.name].text for each in own if each.name in seen]
        is_cut = any(told[each.name]["state"] != "included" for each in own)
        for each in own:
            yield from _of_limit(each, told[each.name], room)
        if asked.is_counted and tokens("\n\n".join(texts)) > room:
            yield f"{tokens(chr(10).join(texts))} tokens in a share of {room}"
        if asked.is_counted and is_cut == (tokens("\n\n".join(each.text for each in own)) <= room):
            yield f"the {share} of {room} is cut: {is_cut}, of {[each.name for each in own]}"


def _of_headings(asked: Asked, warnings: Iterable[dict[str, str]], found: Iterable[Found]) -> Iterator[str]:
    """Yield what has a heading of the layout in it, where nobody is warned of that."""
    told = {each["message"].split(" contains ")[0] for each in warnings if each["code"] == "forged_heading"}
    for name, text in ((each.piece.name, each.piece.text) for each in found if each.piece.is_file):
        lines = {line.rstrip(" \t") for line in text.split("\n")}
        if lines & set(asked.layout.headings) and name not in told:
            yield f"{name} forges a heading, and nobody is warned of it"


def hidden(asked: Asked, answer: dict[str, Any]) -> int:
    """Return of how much others are told that it is hidden, by what the owner reads with the same limits."""
    desk, rows = asked.desk, answer["report"]["sections"]
    kept = [row["name"] for row in rows if row["state"] in KEPT]
    listed = [
        name for name in desk.files if name.startswith("knowledge/") and name != "knowledge/KNOWLEDGE.md"
    ]
    listed = listed if desk.layout in ("carrel", "agentscope") else []
    alone = [
        name for name in kept if name in desk.namespaces or (name in desk.files and is_hidden(desk, name))
    ]
    return len(alone) + sum(is_hidden(desk, name) for name in listed)


def _of_talk(asked: Asked, messages: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield what is wrong with what follows the system's messages: what was recalled and said, and the question."""
    rest = list(messages)
    if rest and rest[0][1].startswith("Context from memory:"):
        lines = rest.pop(0)[1].split("\n")[1:]
        yield from (f"no hit: {line!r}" for line in lines if not re.fullmatch(r"- .* \([^()]*:\d+\)", line))
    role, asks = rest.pop() if asked.query and rest else ("", "")
    if rest != list(asked.said):
        told = [[(role, text[:20]) for role, text in each] for each in (asked.said, rest)]
        yield f"said was {told[0]}, and there is {told[1]}"
    if not asked.query:
        return
    own, _, parts = asks.partition("\n")
    if (role, own) != ("user", asked.query):
        yield f"the question is {own!r}, of {role!r}"
    pattern = rf"({_HITS}\n)?{_SESSION}" if asked.desk.layout == "carrel" else ""
    if not re.fullmatch(pattern, parts):
        yield f"beside the question there is {parts[:200]!r}"
    for hit in re.findall(r"(?m)^<hit [^>]*>(.*)</hit>$", parts):
        if forging("carrel").search(hit):
            yield f"a hit forges a tag: {hit[:80]!r}"
