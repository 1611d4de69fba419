"""Search: one box over files, memory and what was said; every hit leads to its line or its message."""

from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.datastructures import QueryParams
from starlette.responses import HTMLResponse

from carrel.errors import CarrelError, UsageError
from carrel.http.errors import Problem, problem_of
from carrel.http.explorer import words
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.snippets import counted, grouped
from carrel.index import MODES, TIERS, Filter, Found, Mode

router = pages()

STEP = 20
MOST = 100
"""Hits that are shown at first and with each further page, and at the most."""

_LONGEST = 10_000
_MOST_LINES = 20
_SEVERAL = 20
_FILTERS = ("tier", "in_agent", "section", "tag", "path", "in_session", "since", "until")
_FACETS = {"tier": "tier", "agent": "in_agent", "section": "section", "tag": "tag", "session": "in_session"}
"""The parameter that narrows by each kind of facet."""


class Sought(Struct, frozen=True, kw_only=True):
    """What is looked for, how, and in what; as the address says it."""

    text: str
    mode: Mode
    limit: int
    lines: int
    case: bool
    filters: tuple[tuple[str, str], ...]

    def of(self, name: str) -> tuple[str, ...]:
        """Return what a filter asks for."""
        return tuple(value for each, value in self.filters if each == name)

    def query(self, *, without: tuple[str, str] | None = None, **changed: Any) -> dict[str, Any]:
        """Return the query that asks this again, with something changed or left out."""
        asked: dict[str, Any] = {"q": self.text}
        asked |= {"mode": self.mode if self.mode != "hybrid" else "", "case": 1 if self.case else ""}
        asked |= {"lines": str(self.lines) if self.lines != 1 else ""}
        asked |= {"limit": self.limit if self.limit != STEP else ""}
        for name, value in self.filters:
            if (name, value) != without:
                asked.setdefault(name, []).append(value)
        return asked | changed


@router.get("/search")
def search(viewer: Looking) -> HTMLResponse:
    """Show what a query finds; without one, what can be asked."""
    sought = _sought(viewer.request.query_params)
    found, problem = _found(viewer, sought) if sought.text.strip() else (None, None)
    has_more = found is not None and len(found.hits) > sought.limit
    found = replace(found, hits=found.hits[: sought.limit]) if found and has_more else found
    own = f"{viewer.base}/search{words.kept(viewer.desk.agent, viewer.desk.scope)}"

    def address(**changed: Any) -> str:
        return words.with_query(own, **sought.query(**changed))

    return page(
        viewer,
        "search.html",
        title=f"{sought.text[:60]} · Search" if sought.text else "Search",
        here="search",
        sought=sought,
        found=found,
        problem=problem,
        groups=grouped(found, sought.lines) if found else (),
        facets=_facets(found, sought, address) if found else (),
        chosen=[(name, value, address(without=(name, value))) for name, value in sought.filters],
        bare=words.with_query(own, q=sought.text, mode=sought.mode),
        others=[(mode, address(mode=mode)) for mode in MODES if mode != sought.mode],
        more=address(limit=min(sought.limit + STEP, MOST)) if has_more and sought.limit < MOST else "",
        is_cut=has_more,
        modes=MODES,
        tiers=TIERS,
    )


def _sought(given: QueryParams) -> Sought:
    """Read an address; what makes no sense in it is as if it were not there."""
    mode = given.get("mode", "")
    filters = [(name, value.strip()[:200]) for name in _FILTERS for value in given.getlist(name)[:_SEVERAL]]
    return Sought(
        text=given.get("q", "")[:_LONGEST],
        mode=mode if mode in MODES else "hybrid",
        limit=_number(given.get("limit", ""), STEP, MOST) or STEP,
        lines=_number(given.get("lines", ""), 1, _MOST_LINES),
        case=given.get("case", "") in ("1", "true", "on"),
        filters=tuple((name, value) for name, value in filters if value),
    )


def _number(text: str, otherwise: int, most: int) -> int:
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise  # noqa: PLR2004


def _found(viewer: Viewer, sought: Sought) -> tuple[Found | None, Problem | None]:
    """Return what is found, or what is wrong with the question."""
    try:
        found = viewer.desk.workspace.search(
            sought.text,
            mode=sought.mode,
            limit=sought.limit + 1,  # one more says that there is more
            within=_within(sought),
            scope=viewer.desk.scope,
            case=sought.case,
            lines=sought.lines if sought.mode in ("literal", "regex") else 0,
            facets=True,
        )
    except CarrelError as error:
        return None, problem_of(error)
    return found, None


def _within(sought: Sought) -> Filter:
    return Filter(
        tiers=sought.of("tier"),
        agents=sought.of("in_agent"),
        sections=sought.of("section"),
        tags=sought.of("tag"),
        paths=sought.of("path"),
        sessions=sought.of("in_session"),
        since=_day(sought, "since"),
        until=_day(sought, "until"),
    )


def _day(sought: Sought, name: str) -> str:
    for value in sought.of(name):
        try:
            return date.fromisoformat(value).isoformat()
        except ValueError:
            raise UsageError(f"{name.title()} is not a day.", hint="Write it as 2026-05-12.") from None
    return ""


def _facets(found: Found, sought: Sought, address: Any) -> list[tuple[str, list[tuple[str, int, str]]]]:
    """Return by kind what the hits could be narrowed to, and the address that does."""
    told: list[tuple[str, list[tuple[str, int, str]]]] = []
    for kind, counts in (found.facets or counted(found)).items():
        name = _FACETS.get(kind)
        values = [(value, count) for value, count in counts.items() if name and value not in sought.of(name)]
        if name is None or not values:
            continue
        narrowed = [
            (value, count, address(**{name: [*sought.of(name), value]})) for value, count in values[:8]
        ]
        told.append((kind, narrowed))
    return told
