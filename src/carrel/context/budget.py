"""Budgets: which sections fit, which are cut, which are left out."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from carrel.context.section import Section
from carrel.errors import UsageError
from carrel.workspace.layout import Overflow

Shorten = Callable[[Section, int], Section | None]
"""Cuts a section to a limit; none where not even a character of it fits."""


class BadBudget(UsageError):
    """A limit that is no number of tokens or characters."""

    code = "bad_budget"

    def __init__(self, name: str, value: object) -> None:
        super().__init__(
            f"The budget {name}={value!r} is not a whole number from 0 up.", hint="0 leaves everything out."
        )


class Budget(Struct, frozen=True, kw_only=True):
    """Room for one section, for all that are counted, and for an agent's memory.

    `file` and `total` are in the layout's unit, `memory` in tokens. What is none is as the settings say, else
    the layout; where that says nothing either, there is no limit.
    """

    file: int | None = None
    total: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name in ("file", "total", "memory"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise BadBudget(name, value)


def split(total: int) -> tuple[int, int]:
    """Share memory tokens between experience and project, 60 to 40; from two on neither gets nothing."""
    first = min((3 * total + 4) // 5, total - 1) if total > 1 else max(total, 0)
    return first, max(total, 0) - first


def fit(
    sections: Sequence[Section], budget: Budget, overflow: Overflow, shorten: Shorten
) -> tuple[Section, ...]:
    """Apply the limits; every section comes back, in the same order, with the state it ended in."""
    limited = [replace(section, limit=_limit(section, budget)) for section in sections]
    return tuple(_RULES[overflow](limited, budget, shorten))


def _limit(section: Section, budget: Budget) -> int | None:
    if section.share and budget.memory is not None:
        return split(budget.memory)[section.share - 1]
    return None if section.unlimited else budget.file


def _fit_excluding(sections: Sequence[Section], budget: Budget, shorten: Shorten) -> list[Section]:
    """Keep pinned sections, then the others in order until one does not fit.

    Stopping there, rather than skipping to a smaller one, means that the lowest priority goes first and
    that a larger budget never loses a section.
    """
    sized = [_limited(section, section.limit, shorten, "limit") for section in sections]
    if budget.total is None:
        return sized
    room = budget.total - sum(s.size for s in sized if s.pinned and s.counted)
    fitted: list[Section] = []
    full = False
    for section in sized:
        if section.kept and section.counted and not section.pinned:
            full = full or section.size > room
            room -= section.size
            fitted.append(section.out("excluded", "total") if full else section)
        else:
            fitted.append(section)
    return fitted


def _fit_truncating(sections: Sequence[Section], budget: Budget, shorten: Shorten) -> list[Section]:
    """Take sections in order; the first that the total cuts or refuses closes the list."""
    fitted: list[Section] = []
    left = budget.total
    for section in sections:
        if left is None or not section.counted or not section.kept:
            fitted.append(_limited(section, section.limit, shorten, "limit"))
        elif left < 0:
            fitted.append(section.out("excluded", "total"))
        else:
            total_binds = section.size > left and (section.limit is None or left < section.limit)
            limit = left if total_binds else section.limit
            fitted.append(_limited(section, limit, shorten, "total" if total_binds else "limit"))
            left = -1 if total_binds else left - fitted[-1].size
    return fitted


def _fit_rest(sections: Sequence[Section], budget: Budget, shorten: Shorten) -> list[Section]:
    """Take all sections whole but those that get the rest: they are cut to what the counted ones leave."""
    if budget.total is None:
        return list(sections)
    taken = sum(s.size for s in sections if s.kept and s.counted and not s.rest)
    left = budget.total - taken  # below nothing, even an empty text is too much
    return [
        _limited(replace(section, limit=left), left, shorten, "total") if section.rest else section
        for section in sections
    ]


def _limited(section: Section, limit: int | None, shorten: Shorten, reason: str) -> Section:
    if not section.kept or limit is None or section.size <= limit:
        return section
    cut = shorten(section, limit)
    if cut is None:
        return section.out("excluded", "no_room")
    return replace(cut, state="truncated", reason=reason, limit=limit)


_RULES: dict[Overflow, Callable[[Sequence[Section], Budget, Shorten], list[Section]]] = {
    "exclude": _fit_excluding,
    "truncate": _fit_truncating,
    "rest": _fit_rest,
}
