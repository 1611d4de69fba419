"""The share of the two layers in the prompt, as one bar: how wide each may be, and what is used of it."""

from markupsafe import Markup

from carrel.http.explorer.sharing import Share, Shares

_WHOLE = 100.0


def share_bar(shares: Shares) -> Markup:
    """Return the bar; Layer A is plain and Layer B is hatched, and a line stands where one ends."""
    first = _width(shares)
    rest = _WHOLE - first
    parts = (
        _track(0, first, _filled(shares, shares.experience, first), "k1"),
        _track(first, rest, _filled(shares, shares.project, rest), "hatched"),
    )
    return Markup(
        '<svg class="share-strip" role="img" aria-label="{}"><defs><pattern id="share-hatch" width="6" '
        'height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" '
        'height="6" class="k2"/><path d="M1.5 0v6" class="on-line"/></pattern></defs>{}'
        '<line x1="{}%" x2="{}%" y1="0" y2="34" class="line strong"/></svg>'
    ).format(_told(shares), Markup().join(parts), _number(first), _number(first))


def _width(shares: Shares) -> float:
    """Return how much of the bar is Layer A's: of the budget where there is one, else of what is read."""
    if shares.is_limited:
        return _WHOLE * (shares.experience.limit or 0) / max(1, shares.budget)
    return _WHOLE * shares.experience.tokens / shares.used if shares.used else _WHOLE / 2


def _filled(shares: Shares, share: Share, width: float) -> float:
    if not shares.is_limited:
        return width if share.tokens else 0
    return width * min(1.0, share.size / share.limit) if share.limit else 0


def _track(start: float, width: float, filled: float, kind: str) -> Markup:
    return Markup(
        '<rect x="{}%" y="4" width="{}%" height="26" class="blank track"/>'
        '<rect x="{}%" y="4" width="{}%" height="26" class="{}"/>'
    ).format(_number(start), _number(width), _number(start), _number(filled), kind)


def _told(shares: Shares) -> str:
    told = (
        f"Layer {each.letter}, {each.name.lower()}: {each.tokens:,} tokens in the prompt"
        + (f", {each.size:,} of at most {each.limit:,}" if each.limit is not None else "")
        for each in shares.both
    )
    return "; ".join(told) + "."


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
