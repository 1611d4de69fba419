"""The stack of a session's turns: what each call held, what of it came from the cache, and what broke that.

`stack(turns, width, window=…)` takes `Turn`s, oldest first: plain values that any source may fill.
`turns_of(spent)` makes them from a session's account (`records.usage`), which has the provider's own figures.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle
from math import ceil

from markupsafe import Markup
from msgspec import Struct

from carrel.context.forecast import COMPACT_PERCENT
from carrel.http.explorer.pictures.parts import fitting, textures
from carrel.records.usage import Spent

_TOP, _TALL, _LEFT = 22, 150, 52
_MOST = 240
"""How many columns a picture has; of more turns each column shows the last of several."""

CACHED, NEW, BESIDE, ANSWER = "From the cache", "New context", "Tools and the provider's own", "Answer"
"""The classes that an account of spending can tell apart."""

_COLOURS = ("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8")
_PLAIN = "k1"
"""The colour that has no texture."""

_SIGHT = 4
_NUMBER = 30
"""How wide a column's number is."""

_LINE = Markup('<li><svg aria-hidden="true" width="22" height="14"><path class="{}" d="{}"/></svg>{}</li>')


class Turn(Struct, frozen=True, kw_only=True):
    """One turn: what its call held by class, from the lowest of the stack to the highest.

    `cached` is how much of that the provider had in its cache, none where nobody knows; `broken_at` names the
    section that broke the prefix, and `link` leads to the turn.
    """

    name: str
    uses: tuple[tuple[str, int], ...]
    cached: int | None = None
    exact: bool = True
    broken_at: str = ""
    link: str = ""

    @property
    def total(self) -> int:
        """All tokens of the turn."""
        return sum(max(tokens, 0) for _, tokens in self.uses)

    def describe(self) -> str:
        """Say in a line what the turn took."""
        about = "" if self.exact else "about "
        told = f"Turn {self.name}: {about}{self.total:,} tokens"
        told += "" if self.cached is None else f", {self.cached:,} from the cache"
        return told + (f"; the prefix broke at {self.broken_at}" if self.broken_at else "")


def turns_of(spent: Sequence[Spent]) -> tuple[Turn, ...]:
    """Return the turns of an account, oldest first, by where their tokens came from."""
    return tuple(_turn(number, each) for number, each in enumerate(spent, 1))


def _turn(number: int, spent: Spent) -> Turn:
    beside = max(spent.input - spent.counted, 0) if spent.counted else 0
    beside = min(beside, max(spent.input - spent.cached, 0))
    new = max(spent.input - spent.cached - beside, 0)
    uses = ((CACHED, spent.cached), (NEW, new), (BESIDE, beside), (ANSWER, spent.output))
    return Turn(name=str(number), uses=uses, cached=spent.cached)


def classes_of(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the classes of all turns, in the order in which they are first met, and have their colours."""
    return tuple(dict.fromkeys(name for turn in turns for name, _ in turn.uses))


class _Scale(Struct, frozen=True, kw_only=True):
    """What all columns share: how wide one is, what the top stands for, and which class has which colour."""

    key: str
    step: float
    top: int
    colours: dict[str, str]

    def y(self, tokens: float) -> float:
        """Return how high so many tokens reach."""
        return round(_TOP + _TALL * (1 - min(max(tokens, 0), self.top) / self.top), 2)

    def middle(self, number: int) -> float:
        """Return where the middle of a column is."""
        return round(_LEFT + (number + 0.5) * self.step, 2)


def stack(
    turns: Sequence[Turn], width: int = 1000, *, window: int | None = None, key: str = "stack"
) -> Markup:
    """Return the turns as columns to one scale, with the line of the cache and a tick where the prefix broke.

    The mark of compaction is drawn where it is within sight: far above all columns it would flatten them.
    """
    if not turns:
        return Markup("")
    columns = _columns(turns)
    highest = max(turn.total for turn, _ in columns) or 1
    limit = window * COMPACT_PERCENT // 100 if window else None
    scale = _Scale(
        key=key,
        step=(width - _LEFT) / len(columns),
        top=max(highest, limit) if limit is not None and limit < highest * _SIGHT else highest,
        colours=dict(zip(classes_of(turns), cycle(_COLOURS), strict=False)),
    )
    shown = [turn for turn, _ in columns]
    drawn = [*_axis(width, limit, scale)]
    drawn += [_column(turn, count, number, scale) for number, (turn, count) in enumerate(columns)]
    drawn += [_cache_line(shown, scale), *_breaks(shown, scale)]
    told = f"{len(turns):,} turns; the last took {turns[-1].total:,} tokens. The table below has all figures."
    role = "group" if any(turn.link for turn in turns) else "img"
    begin = Markup('<svg class="picture stack" viewBox="0 0 {} {}" role="{}" aria-label="{}">').format(
        width, _TOP + _TALL + 24, role, told
    )
    return begin + Markup("<defs>{}</defs>{}</svg>").format(textures(key, _COLOURS), Markup("").join(drawn))


def stack_legend(turns: Sequence[Turn], key: str = "stack-legend") -> Markup:
    """Return what the colours, textures and lines of a stack mean."""
    swatch = Markup(
        '<li><svg aria-hidden="true" width="14" height="14"><rect class="{}" width="14" height="14" rx="3"/>'
        "{}</svg>{}</li>"
    )
    over = Markup('<rect fill="url(#{})" width="14" height="14" rx="3"/>')
    items = [
        swatch.format(colour, over.format(f"{key}-{colour}") if colour != _PLAIN else "", name)
        for name, colour in zip(classes_of(turns), cycle(_COLOURS), strict=False)
    ]
    if any(turn.cached is not None for turn in turns):
        items.append(_LINE.format("cache-line", "M0 7H22", "Read from the provider's cache"))
    if any(turn.broken_at for turn in turns):
        items.append(_LINE.format("broken", "M11 0V14", "The prefix broke"))
    defs = Markup('<svg class="unseen" aria-hidden="true"><defs>{}</defs></svg>').format(
        textures(key, _COLOURS)
    )
    return Markup('{}<ul class="legend">{}</ul>').format(defs, Markup("").join(items))


def _columns(turns: Sequence[Turn]) -> list[tuple[Turn, int]]:
    """Return the turns that are drawn, each with for how many it stands: a break among them is kept."""
    each = -(-len(turns) // _MOST)
    buckets = [turns[begin : begin + each] for begin in range(0, len(turns), each)]
    return [(_last(bucket), len(bucket)) for bucket in buckets]


def _last(bucket: Sequence[Turn]) -> Turn:
    broken = [turn for turn in bucket if turn.broken_at]
    return broken[-1] if broken else bucket[-1]


def _axis(width: int, limit: int | None, scale: _Scale) -> Iterator[Markup]:
    text = Markup('<text class="soft" x="{}" y="{}" text-anchor="end">{:,}</text>')
    line = Markup('<path class="{}" d="M{} {}H{}"/>')
    for share in (0, 0.5, 1):
        y = scale.y(scale.top * share)
        yield text.format(_LEFT - 6, y + 4, round(scale.top * share))
        yield line.format("grid-line", _LEFT, y, width)
    if limit is not None and limit <= scale.top:
        y = scale.y(limit)
        yield line.format("mark-compact", _LEFT, y, width)
        label = Markup('<text class="soft" x="{}" y="{}" text-anchor="end">{}</text>')
        yield label.format(width - 2, y - 4, f"compact {COMPACT_PERCENT} %")


def _column(turn: Turn, count: int, number: int, scale: _Scale) -> Markup:
    gap = min(2.0, scale.step / 4)
    x, wide = round(_LEFT + number * scale.step + gap / 2, 2), round(max(scale.step - gap, 0.3), 2)
    told = turn.describe() + (f" ({count} turns are shown as this one)" if count > 1 else "")
    drawn, below = Markup("<title>{}</title>").format(told), 0
    for name, tokens in turn.uses:
        y, low = scale.y(below + max(tokens, 0)), scale.y(below)
        below += max(tokens, 0)
        colour = scale.colours[name]
        place = Markup('x="{}" y="{}" width="{}" height="{}"').format(x, y, wide, round(low - y, 2))
        drawn += Markup('<rect class="{} part" {}/>').format(colour, place)
        if colour != _PLAIN:
            drawn += Markup('<rect fill="url(#{}-{})" {}/>').format(scale.key, colour, place)
    if number % max(1, ceil(_NUMBER / scale.step)) == 0:
        label = Markup('<text class="soft" x="{}" y="{}" text-anchor="middle">{}</text>')
        drawn += label.format(scale.middle(number), _TOP + _TALL + 16, turn.name[:6])
    if not turn.link:
        return Markup("<g>{}</g>").format(drawn)
    return Markup('<a href="{}">{}</a>').format(turn.link, drawn)


def _cache_line(turns: Sequence[Turn], scale: _Scale) -> Markup:
    """Return the line through what came from the cache; it is open where nobody knows."""
    drawn: list[str] = []
    is_open = False
    for number, turn in enumerate(turns):
        if turn.cached is not None:
            drawn.append(f"{'L' if is_open else 'M'}{scale.middle(number)} {scale.y(turn.cached)}")
        is_open = turn.cached is not None
    return Markup('<path class="cache-line" d="{}"/>').format(" ".join(drawn)) if drawn else Markup("")


def _breaks(turns: Sequence[Turn], scale: _Scale) -> Iterator[Markup]:
    """Yield a tick for each break, with the name of the section where that does not cover the one before."""
    tick = Markup('<g><title>{}</title><path class="broken" d="M{} {}V{}"/>{}</g>')
    label = Markup('<text class="broken-name" x="{}" y="{}" text-anchor="end">{}</text>')
    free = float(_LEFT)
    for number, turn in enumerate(turns):
        if not turn.broken_at:
            continue
        x = scale.middle(number)
        name = fitting(turn.broken_at.rpartition("/")[2] or turn.broken_at, x - free - 6)
        told = label.format(x + 2, _TOP - 10, name) if name else ""
        free = x if name else free
        yield tick.format(turn.describe(), x, _TOP - 6, _TOP + _TALL, told)
