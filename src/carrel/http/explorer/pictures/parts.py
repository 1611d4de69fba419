"""The parts of a context as pictures show them: rows in their order, with a long history as one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from carrel.context.report import Row, leading


class Group(Struct, frozen=True):
    """Kinds that a picture shows alike: the name of all of them, and the colour, which has a texture too."""

    name: str
    colour: str


_FILES = Group("Files", "k1")
_MEMORY = Group("Memory", "k3")
_MESSAGE = Group("Message", "k4")
_KNOWLEDGE = Group("Knowledge and skills", "k2")

CACHED = "cached"
"""The texture of the cached prefix."""

GROUPS: Mapping[str, Group] = {
    "knowledge": _KNOWLEDGE,
    "skills": _KNOWLEDGE,
    "prompt": Group("Prompt", "k5"),
    "notebook": _MEMORY,
    "layer": _MEMORY,
    "journal": Group("Journal", "k6"),
    "history": Group("History", "k7"),
    "recall": Group("Recall", "k8"),
    "query": _MESSAGE,
    "session": _MESSAGE,
}
"""By the kind of a section; what is not named here is a file."""


class Part(Struct, frozen=True, kw_only=True):
    """One part of a context, as a picture and the table beside it show it.

    `number` is its place among all parts, from 1; `members` says for how many rows it stands, and `whole` is
    what it would take uncut.
    """

    number: int
    row: Row
    members: int
    is_cached: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return self.row.name

    @property
    def group(self) -> Group:
        """The kinds among which it is shown."""
        return group_of(self.row.kind)

    @property
    def tokens(self) -> int:
        """What it takes of the window."""
        return self.row.tokens

    @property
    def whole(self) -> int:
        """What it would take if nothing of it were left out; the wrapping counts only where it is sent."""
        return max(self.row.raw_tokens, self.row.tokens)

    def describe(self, *, exact: bool = True) -> str:
        """Say in a line what it is and what it takes."""
        about = "" if exact else "about "
        told = f"{self.number}. {self.name}: {about}{self.tokens:,} tokens"
        if self.row.state == "truncated":
            told += f", cut from {self.whole:,}"
        elif self.row.state != "included":
            told += f", {self.row.state}"
        return told + (", in the cached prefix" if self.is_cached else "")


def group_of(kind: str) -> Group:
    """Return the group in which a kind of section is shown."""
    return GROUPS.get(kind, _FILES)


def parts_of(rows: Sequence[Row]) -> tuple[Part, ...]:
    """Return the parts of what there is of a report's rows, in their order; all of history is one."""
    joined: list[tuple[Row, int, bool]] = []
    for is_joined, some in groupby(_placed(rows), key=lambda pair: pair[0].kind == "history"):
        own = list(some)
        joined += _joined(own) if is_joined else [(row, 1, cached) for row, cached in own]
    return tuple(
        Part(number=number, row=row, members=members, is_cached=cached)
        for number, (row, members, cached) in enumerate(joined, 1)
    )


def _placed(rows: Sequence[Row]) -> list[tuple[Row, bool]]:
    """Say of each row that is there whether it stands in the prefix."""
    left = len(leading(rows))
    placed: list[tuple[Row, bool]] = []
    for row in rows:
        if row.state == "missing":
            continue
        is_sent = row.sha256 is not None
        placed.append((row, is_sent and left > 0))
        left -= is_sent
    return placed


def _joined(rows: Sequence[tuple[Row, bool]]) -> Iterator[tuple[Row, int, bool]]:
    """Yield one row for many messages, in two where the prefix ends among them."""
    for cached, some in groupby(rows, key=lambda each: each[1]):
        own = [row for row, _ in some]
        first, count = own[0], len(own)
        row = Row(
            name="history" if count > 1 else first.name,
            kind=first.kind,
            raw_tokens=sum(row.raw_tokens for row in own),
            tokens=sum(row.tokens for row in own),
            size=sum(row.size for row in own),
            limit=None,
            state="included",
            reason=None,
            stable=first.stable,
            sha256=first.sha256,
        )
        yield row, count, cached


def gathered(parts: Sequence[Part], least: float, most: int = 60) -> list[Part]:
    """Return the parts, with neighbours of one group as one where each has less than so many tokens.

    A workspace may have thousands of small ones: the measure grows until no more than `most` are left.
    """
    found = _neighbours(parts, least)
    while len(found) > most and least < max(part.tokens for part in parts):
        least *= 2
        found = _neighbours(parts, least)
    return found


def _neighbours(parts: Sequence[Part], least: float) -> list[Part]:
    found: list[Part] = []
    for key, some in groupby(parts, key=lambda part: (part.tokens < least, part.group, part.is_cached)):
        own = list(some)
        found += [_gathered(own)] if key[0] and len(own) > 1 else own
    return found


def _gathered(parts: Sequence[Part]) -> Part:
    first = parts[0]
    row = replace(
        first.row,
        name=f"{len(parts):,} small parts from here",
        tokens=sum(part.tokens for part in parts),
        raw_tokens=sum(part.whole for part in parts),
        state="included",
    )
    return replace(first, row=row, members=len(parts))


def fitting(text: str, room: float, *, character: float = 6.9) -> str:
    """Return what of a label fits into so many pixels: all, its beginning, or nothing."""
    most = int(room // character)
    if len(text) <= most:
        return text
    return f"{text[: most - 1]}…" if most > 4 else ""  # noqa: PLR2004 - fewer letters say nothing


def textures(key: str, colours: Iterable[str]) -> Markup:
    """Return the patterns that stand beside colours; `key` keeps pictures on one page apart."""
    made = Markup('<pattern id="{}-{}" width="{}" height="{}" patternUnits="userSpaceOnUse"{}>{}</pattern>')
    wanted = frozenset(colours)
    return Markup("").join(
        made.format(key, name, width, height, _turned(turn), _DRAWN[drawn])
        for name, width, height, turn, drawn in _TEXTURES
        if name in wanted
    )


def texture(key: str, group: Group) -> str:
    """Return the name of a group's texture, nothing for the one that is plain."""
    return "" if group is _FILES else f"{key}-{group.colour}"


def _turned(degrees: int) -> Markup:
    return Markup(' patternTransform="rotate({})"').format(degrees) if degrees else Markup("")


_DRAWN = {
    "line": Markup('<path class="weave" d="M0 0V40"/>'),
    "dot": Markup('<circle class="speck" cx="3" cy="3" r="1.1"/>'),
    "cross": Markup('<path class="weave" d="M0 4H8M4 0V8"/>'),
    "hatch": Markup('<path class="hatch" d="M0 0V40"/>'),
}
_TEXTURES = (
    ("k2", 6, 6, 0, "dot"),
    ("k3", 7, 7, 90, "line"),
    ("k4", 8, 8, 0, "cross"),
    ("k5", 7, 7, 0, "line"),
    ("k6", 9, 9, 30, "dot"),
    ("k7", 8, 8, -45, "line"),
    ("k8", 8, 8, 45, "cross"),
    (CACHED, 5, 5, 45, "hatch"),
)
