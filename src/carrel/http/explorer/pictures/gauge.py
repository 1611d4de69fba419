"""A small bar: how much of a window is taken, and how much of that stays cached."""

from markupsafe import Markup

from carrel.context.forecast import COMPACT_PERCENT

_WIDTH, _HEIGHT = 600, 22
_LEAST = 3


def gauge(*, prefix: int, used: int, window: int, key: str = "gauge") -> Markup:
    """Draw the cached part, hatched, what follows it, and the room that is left; compaction has its mark.

    On a page with several each has its own `key`.
    """
    whole = max(window, used, 1)
    cached, taken, mark = _across(prefix, whole), _across(used, whole), _WIDTH * COMPACT_PERCENT // 100
    label = f"{used:,} of {window:,} tokens are taken, {prefix:,} of them in the part that stays cached"
    return Markup(
        '<svg class="picture gauge" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" '
        'aria-label="{label}"><defs><pattern id="{key}-hatch" width="6" height="6" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="k1" width="6" height="6"/>'
        '<rect class="on" width="2" height="6" fill-opacity=".45"/></pattern></defs>'
        '<rect class="blank" width="{w}" height="{h}" rx="4"/>'
        '<rect class="k2" width="{taken}" height="{h}" rx="4"/>'
        '<rect fill="url(#{key}-hatch)" width="{cached}" height="{h}" rx="4"/>'
        '<line class="line strong" x1="{mark}" x2="{mark}" y1="0" y2="{h}" stroke-dasharray="3 3"/></svg>'
    ).format(w=_WIDTH, h=_HEIGHT, key=key, label=label, taken=taken, cached=cached, mark=mark)


def _across(part: int, whole: int) -> int:
    """Return how wide a part is; a small one is not nothing."""
    return max(_LEAST, _WIDTH * part // whole) if part else 0
