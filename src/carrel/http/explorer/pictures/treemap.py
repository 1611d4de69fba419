"""The treemap of a context: areas are tokens, and what was cut or left out is dashed.

`treemap(parts, width, link=…)` takes the parts of a report (`parts_of(report.sections)`) and a function from
a part to the address that it leads to, or none.
"""

from collections.abc import Callable, Sequence

from markupsafe import Markup
from msgspec import Struct

from carrel.http.explorer.pictures.parts import Part, fitting, texture, textures

Link = Callable[[Part], str]

_MOST = 48
"""How many parts have an area of their own; the smallest beyond them are shown together."""

_LINE = 20
"""How high a line of text is."""

_LABEL = 110
"""How wide a label is that says something."""


class Box(Struct, frozen=True):
    """A place in a picture."""

    x: float
    y: float
    width: float
    height: float


def treemap(
    parts: Sequence[Part],
    width: int = 1000,
    *,
    link: Link | None = None,
    exact: bool = True,
    key: str = "map",
) -> Markup:
    """Return the parts as areas to scale, largest first; what the model does not read of one is dashed."""
    shown = sorted((part for part in parts if part.whole), key=lambda part: (-part.whole, part.number))
    rest = sum(part.whole for part in shown[_MOST:])
    height = round(width * (0.36 if width > 600 else 0.9))  # noqa: PLR2004 - a phone is taller than wide
    boxes = squarify([*(part.whole for part in shown[:_MOST]), *([rest] if rest else [])], width, height)
    tiles = [
        _tile(part, box, link, key, exact=exact) for part, box in zip(shown[:_MOST], boxes, strict=False)
    ]
    if rest:
        tiles.append(_others(len(shown) - _MOST, rest, boxes[-1]))
    sent, whole = sum(part.tokens for part in shown), sum(part.whole for part in shown)
    told = f"Parts by size: {sent:,} tokens are sent, of {whole:,} with all that was cut or left out."
    return Markup(
        '<svg class="picture map" viewBox="0 0 {} {}" role="{}" aria-label="{}"><defs>{}</defs>{}</svg>'
    ).format(
        width,
        height,
        "group" if link else "img",
        told,
        textures(key, (part.group.colour for part in shown)),
        Markup("").join(tiles),
    )


def squarify(sizes: Sequence[int], width: float, height: float) -> tuple[Box, ...]:
    """Return a box for each size, largest first: to scale, as square as can be, together the whole area."""
    total = sum(sizes)
    if not total:
        return ()
    scale = width * height / total
    boxes: list[Box] = []
    left = Box(0, 0, width, height)
    row: list[float] = []
    for area in (size * scale for size in sizes):
        side = min(left.width, left.height)
        if row and _worst([*row, area], side) > _worst(row, side):
            placed, left = _laid(row, left)
            boxes += placed
            row = []
        row.append(area)
    return (*boxes, *_laid(row, left)[0])


def _worst(row: Sequence[float], side: float) -> float:
    """Return how far from a square the worst box of a row along a side is."""
    total = sum(row)
    if not side or not min(row):
        return float("inf")
    return max(side * side * max(row) / total**2, total**2 / (side * side * min(row)))


def _laid(row: Sequence[float], left: Box) -> tuple[list[Box], Box]:
    """Lay a row along the shorter side of what is left; return its boxes and what is left then."""
    total = sum(row)
    boxes: list[Box] = []
    if left.width >= left.height:
        deep = total / left.height if left.height else 0.0
        y = left.y
        for area in row:
            tall = area / deep if deep else 0.0
            boxes.append(Box(left.x, y, deep, tall))
            y += tall
        return boxes, Box(left.x + deep, left.y, max(left.width - deep, 0.0), left.height)
    deep = total / left.width
    x = left.x
    for area in row:
        wide = area / deep if deep else 0.0
        boxes.append(Box(x, left.y, wide, deep))
        x += wide
    return boxes, Box(left.x, left.y + deep, left.width, max(left.height - deep, 0.0))


def _tile(part: Part, box: Box, link: Link | None, key: str, *, exact: bool) -> Markup:
    inner = Box(box.x + 1, box.y + 1, max(box.width - 2, 0.2), max(box.height - 2, 0.2))
    share = part.tokens / part.whole
    sent, cut = _parted(inner, share)
    told = part.describe(exact=exact)
    drawn = [Markup("<title>{}</title>").format(told)]
    if sent is not None:
        drawn.append(_rect(sent, part.group.colour + " part"))
        if pattern := texture(key, part.group):
            drawn.append(Markup('<rect fill="url(#{})" {}/>').format(pattern, _place(sent)))
    if cut is not None:
        drawn.append(_rect(cut, "lost"))
    drawn.append(_labels(part, sent, cut, "" if exact else "≈ "))
    inside = Markup("").join(drawn)
    if link is None or not (address := link(part)):
        return Markup("<g>{}</g>").format(inside)
    return Markup('<a href="{}">{}</a>').format(address, inside)


def _parted(box: Box, share: float) -> tuple[Box | None, Box | None]:
    """Part a box into what is sent and what is not, across its longer side."""
    if share >= 1:
        return box, None
    if share <= 0:
        return None, box
    if box.width >= box.height:
        wide = box.width * share
        return Box(box.x, box.y, wide, box.height), Box(box.x + wide, box.y, box.width - wide, box.height)
    tall = box.height * share
    return Box(box.x, box.y, box.width, tall), Box(box.x, box.y + tall, box.width, box.height - tall)


def _labels(part: Part, sent: Box | None, cut: Box | None, about: str) -> Markup:
    """Return name and size in what is sent, else in what is not, wherever there is more room for them."""
    box, kind = (sent, "on-part") if sent is not None else (cut, "off-part")
    if sent is not None and cut is not None and cut.width > max(sent.width, 2 * _LABEL):
        box, kind = (sent, "on-part") if sent.width > _LABEL else (cut, "off-part")
    if box is None or box.height < _LINE:
        return Markup("")
    x, y = round(box.x + 7, 2), round(box.y + _LINE - 3, 2)
    line = Markup('<text class="{}" x="{}" y="{}">{}</text>')
    name = fitting(f"{part.number} {part.name}", box.width - 12)
    size = fitting(about + _sized(part), box.width - 12)
    told = line.format(kind, x, y, name) if name else Markup("")
    if name and size and box.height >= 2 * _LINE:
        told += line.format(f"{kind} small", x, round(y + 16, 2), size)
    return told + _lost(part, cut, about) if box is sent and cut is not None else told


def _lost(part: Part, cut: Box, about: str) -> Markup:
    """Return how much of a part was cut, in the place where it would be."""
    told = fitting(f"{about}{part.whole - part.tokens:,} cut", cut.width - 12)
    if not told or cut.height < _LINE:
        return Markup("")
    x, y = round(cut.x + 7, 2), round(cut.y + _LINE - 3, 2)
    return Markup('<text class="off-part small" x="{}" y="{}">{}</text>').format(x, y, told)


def _sized(part: Part) -> str:
    if part.tokens == part.whole:
        return f"{part.tokens:,}"
    return f"{part.tokens:,} of {part.whole:,}" if part.tokens else f"{part.whole:,} left out"


def _others(count: int, tokens: int, box: Box) -> Markup:
    told = f"{count:,} smaller parts: {tokens:,} tokens"
    return Markup("<g><title>{}</title>{}</g>").format(told, _rect(box, "blank"))


def _rect(box: Box, kind: str) -> Markup:
    return Markup('<rect class="{}" {} rx="3"/>').format(kind, _place(box))


def _place(box: Box) -> Markup:
    return Markup('x="{}" y="{}" width="{}" height="{}"').format(
        *(round(value, 2) for value in (box.x, box.y, box.width, box.height))
    )
