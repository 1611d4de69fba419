"""The budget bar: a window to scale, and in it what is sent, in the order in which it is sent.

`bar(report, width)` is the picture and `legend(report)` says what its colours and textures mean. Both take a
Report as `Workspace.assemble` gives it. With `link="#s"` a part leads to `#s1`, `#s2`… by its number among
`parts_of(report.sections)`; without, the picture is one image. Pictures on one page have a `key` each.
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from carrel.context.forecast import COMPACT_PERCENT, FLUSH_PERCENT
from carrel.context.report import Report
from carrel.http.explorer.pictures.parts import (
    CACHED,
    Group,
    Part,
    fitting,
    gathered,
    parts_of,
    texture,
    textures,
)

_TOP, _TALL, _BAND = 24, 46, 12
_ZOOM_TOP, _ZOOM_TALL = 104, 40
_BESIDE = "Tools and what the provider adds, beside the sections"
_ROOMY = 600
"""How wide a picture is that has room for all words."""

_ZOOMED = 0.6
"""A bar that is less full than this is drawn once more, as wide as the picture."""


class Frame(Struct, frozen=True, kw_only=True):
    """What all parts of a bar have in common."""

    key: str
    link: str
    exact: bool
    width: int
    top: int = _TOP
    tall: int = _TALL

    def shape(self) -> Markup:
        """Return the rounded shape that the bar is cut to."""
        shape = Markup('<rect x="0" y="{}" width="{}" height="{}" rx="6"/>').format(
            self.top, self.width, self.tall
        )
        return Markup('<clipPath id="{}-clip{}">{}</clipPath>').format(self.key, self.top, shape)


class Segment(Struct, frozen=True):
    """Where a part stands in a bar."""

    part: Part
    x: float
    width: float


def bar(
    report: Report,
    width: int = 1000,
    *,
    link: str = "",
    key: str = "bar",
    parts: Sequence[Part] | None = None,
) -> Markup:
    """Return the window as a bar to scale: its parts in order, the cached prefix hatched, and the marks.

    The widths of parts and free room are those of their tokens, however small; a part without a label in the
    picture has its line in the table. Whoever has the `parts` of the report already may give them.
    """
    parts = [part for part in (parts_of(report.sections) if parts is None else parts) if part.tokens]
    tokens = report.tokens
    whole = max(tokens.window, tokens.used, 1)
    frame = Frame(key=key, link=link, exact=tokens.exact, width=width)
    shown = [*_room(report, width, whole), _drawn(segments(parts, width, whole), frame)]
    shown += [_prefix(report, width, whole), *_marks(report, width, whole)]
    defined, tall = textures(key, (CACHED, *(part.group.colour for part in parts))), _TOP + _TALL + 24
    defined += frame.shape()
    if 0 < tokens.used < whole * _ZOOMED:
        zoom = replace(frame, top=_ZOOM_TOP, tall=_ZOOM_TALL)
        shown += [
            _funnel(width, width * tokens.used / whole),
            _drawn(segments(parts, width, tokens.used), zoom),
        ]
        defined, tall = defined + zoom.shape(), _ZOOM_TOP + _ZOOM_TALL + 2
    role = "group" if link else "img"
    drawn = Markup('<svg class="picture bar" viewBox="0 0 {} {}" role="{}" aria-label="{}">').format(
        width, tall, role, describe(report)
    )
    return drawn + Markup("<defs>{}</defs>{}</svg>").format(defined, Markup("").join(shown))


def segments(parts: Sequence[Part], width: float, whole: int) -> tuple[Segment, ...]:
    """Return where each part stands; edges are rounded once, so that no gap opens between two parts."""
    placed: list[Segment] = []
    position, begin = 0, 0.0
    for part in gathered(parts, whole / width):
        position += part.tokens
        end = round(width * position / whole, 2)
        placed.append(Segment(part, begin, round(end - begin, 2)))
        begin = end
    return tuple(placed)


def legend(report: Report, key: str = "legend", *, parts: Sequence[Part] | None = None) -> Markup:
    """Return what the colours and textures of a bar mean, with the tokens of each group."""
    sums: dict[Group, int] = {}
    for part in parts_of(report.sections) if parts is None else parts:
        if part.tokens:
            sums[part.group] = sums.get(part.group, 0) + part.tokens
    about = "" if report.tokens.exact else "≈ "
    lines = [(_swatch(key, group), group.name, tokens) for group, tokens in sums.items()]
    if report.prefix.tokens:
        lines.append((_hatched(key), "Cached prefix, hatched below", report.prefix.tokens))
    if beside := beside_of(report):
        lines.append((_DOTTED, _BESIDE, beside))
    lines.append((_BLANK, "Free", report.tokens.free))
    items = (
        Markup("<li>{}{} <b>{}{:,}</b></li>").format(drawn, name, about, tokens)
        for drawn, name, tokens in lines
    )
    defs = Markup('<svg class="unseen" aria-hidden="true"><defs>{}</defs></svg>').format(
        textures(key, (CACHED, *(group.colour for group in sums)))
    )
    return Markup('{}<ul class="legend">{}</ul>').format(defs, Markup("").join(items))


def beside_of(report: Report) -> int:
    """Return what a call takes that no section has: tools, and what the provider counts differently."""
    return max(report.forecast.tokens - report.tokens.used, 0) if report.forecast else 0


def describe(report: Report) -> str:
    """Return the picture in words, for who does not see it."""
    tokens = report.tokens
    about = "" if tokens.exact else "about "
    return (
        f"The window of {tokens.window:,} tokens: {about}{tokens.used:,} are taken, {report.prefix.tokens:,} "
        f"of them in the cached prefix, and {tokens.free:,} are free. The table of sections has all figures."
    )


def _room(report: Report, width: int, whole: int) -> Iterator[Markup]:
    """Yield the window itself, and how much of it is free."""
    end = round(width * report.tokens.window / whole, 2)
    place = Markup('x="0" y="{}" width="{}" height="{}" rx="6"').format(_TOP, end, _TALL)
    yield Markup('<rect class="blank room" {}/>').format(place)
    if beside := beside_of(report):
        at, wide = width * report.tokens.used / whole, width * beside / whole
        dotted = Markup('<g><title>{}</title><rect class="beside" x="{}" y="{}" width="{}" height="{}"/></g>')
        told = f"{_BESIDE}: {beside:,} tokens"
        yield dotted.format(told, round(at, 2), _TOP, round(min(wide, max(width - at, 0)), 2), _TALL)
    label = Markup('<text class="soft" x="{}" y="{}" text-anchor="end">{}</text>')
    yield label.format(max(end, width / 2), _TOP + _TALL + 21, f"{report.tokens.free:,} free")


def _drawn(placed: Sequence[Segment], frame: Frame) -> Markup:
    """Return the parts of a bar, rounded at its ends only."""
    drawn = Markup("").join(_segment(segment, frame) for segment in placed)
    return Markup('<g clip-path="url(#{}-clip{})">{}</g>').format(frame.key, frame.top, drawn)


def _segment(segment: Segment, frame: Frame) -> Markup:
    part, x, width, top, tall = segment.part, segment.x, segment.width, frame.top, frame.tall
    place = Markup('x="{}" y="{}" width="{}" height="{}"').format(x, top, width, tall)
    told = part.describe(exact=frame.exact)
    drawn = Markup('<title>{}</title><rect class="{} part" {}/>').format(told, part.group.colour, place)
    if pattern := texture(frame.key, part.group):
        drawn += Markup('<rect fill="url(#{})" {}/>').format(pattern, place)
    if part.is_cached:
        hatch = Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}" fill="url(#{}-cached)"/>')
        drawn += hatch.format(x, top + tall - _BAND, width, _BAND, frame.key)
    if width > 3:  # noqa: PLR2004 - what is thinner would be nothing but its border
        drawn += Markup('<path class="part-edge" d="M{} {}v{}"/>').format(round(x + width, 2), top, tall)
    drawn += _label(part, x, width, top + (tall - _BAND) / 2 + 5)
    if not frame.link:
        return Markup("<g>{}</g>").format(drawn)
    return Markup('<a href="{}{}">{}</a>').format(frame.link, part.number, drawn)


def _label(part: Part, x: float, width: float, y: float) -> Markup:
    short = part.name.rpartition("/")[2] or part.name
    text = fitting(f"{part.number} {short}", width - 12) or fitting(str(part.number), width - 4)
    if not text:
        return Markup("")
    return Markup('<text class="on-part" x="{}" y="{}">{}</text>').format(
        round(x + min(6, width / 6), 2), y, text
    )


def _prefix(report: Report, width: int, whole: int) -> Markup:
    """Return the line below the bar that says how far the cached prefix goes."""
    end = round(width * report.prefix.tokens / whole, 2)
    if not report.prefix.tokens or end < 2:  # noqa: PLR2004 - too short to be seen
        return Markup("")
    y = _TOP + _TALL + 4
    text = f"cached prefix {report.prefix.tokens:,}"
    line = Markup('<path class="line" d="M0.5 {}v4H{}v-4"/>').format(y, max(end - 0.5, 0.5))
    return line + Markup('<text class="soft" x="1" y="{}">{}</text>').format(y + 17, text)


def _marks(report: Report, width: int, whole: int) -> Iterator[Markup]:
    """Yield the marks at which history is saved and compacted, and the end of a window that is too small."""
    window = width * report.tokens.window / whole
    flush, compact = f"flush {FLUSH_PERCENT} %", f"compact {COMPACT_PERCENT} %"
    if width < _ROOMY:
        flush, compact = "flush", "compact"
    apart = window * (COMPACT_PERCENT - FLUSH_PERCENT) / 100
    is_crowded = fitting(flush + compact, 2 * apart) != flush + compact
    yield _mark(window * FLUSH_PERCENT / 100, "" if is_crowded else flush, "mark-flush")
    yield _mark(window * COMPACT_PERCENT / 100, compact, "mark-compact")
    if report.tokens.used > report.tokens.window:
        yield _mark(window, "", "mark-end")


def _mark(x: float, text: str, kind: str) -> Markup:
    x = round(x, 2)
    line = Markup('<path class="{}" d="M{} {}V{}"/>').format(kind, x, _TOP - 5, _TOP + _TALL + 3)
    label = Markup('<text class="soft {}" x="{}" y="{}" text-anchor="middle">{}</text>')
    return line + label.format(kind, x, _TOP - 9, text) if text else line


def _funnel(width: int, used: float) -> Markup:
    """Return the lines from what is taken of the window to the same, enlarged."""
    low = _TOP + _TALL
    return Markup('<path class="funnel" d="M0 {}L{} {}L{} {}L0 {}z"/>').format(
        low, round(used, 2), low, width, _ZOOM_TOP, _ZOOM_TOP
    )


def _swatch(key: str, group: Group) -> Markup:
    pattern = texture(key, group)
    over = Markup('<rect fill="url(#{})" width="14" height="14" rx="3"/>').format(pattern) if pattern else ""
    return Markup(
        '<svg aria-hidden="true" width="14" height="14"><rect class="{}" width="14" height="14" rx="3"/>'
        "{}</svg>"
    ).format(group.colour, over)


def _hatched(key: str) -> Markup:
    return Markup(
        '<svg aria-hidden="true" width="14" height="14"><rect class="k7" width="14" height="14" rx="3"/>'
        '<rect class="band" fill="url(#{}-cached)" width="14" height="14" rx="3"/></svg>'
    ).format(key)


_DOTTED = Markup(
    '<svg aria-hidden="true" width="14" height="14">'
    '<rect class="beside" x="0.5" y="0.5" width="13" height="13" rx="3"/></svg>'
)
_BLANK = Markup(
    '<svg aria-hidden="true" width="14" height="14">'
    '<rect class="blank room" x="0.5" y="0.5" width="13" height="13" rx="3"/></svg>'
)
