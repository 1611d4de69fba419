"""Dreams: what was recalled often enough to be promoted, what was promoted and why, and the way back."""

import re
from collections.abc import Sequence
from typing import Any, cast

from markupsafe import Markup
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.http.explorer.choosing import numbered, own_of
from carrel.http.explorer.markup import rendered
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.pictures.dots import SHAPES, Axis, Dot, Standing, dot_plot
from carrel.http.routes.dreams import list_candidates, list_dreams
from carrel.memory.dream.files import diary_of
from carrel.memory.dream.rows import JudgedRow
from carrel.memory.dream.verdict import REASONS, Reason

router = pages()

TABS = (("", "Candidates"), ("runs", "Runs"), ("diary", "Diary"))
AXES = ("recalls", "days", "queries")

_TITLE = "Dreams"
_CANDIDATES = 50
_MOST_CANDIDATES = 500
_FIRST = {"ready": 0, "later": 1, "blocked": 2, "known": 3}
"""What becomes of candidates, in the order in which they are told; the best of each kind comes first."""

_RUNS = 10
_DIARY = 20_000


_CODES = re.compile(rf"\b([\d,]+) ({'|'.join(REASONS)})\b")


@router.get("/dreams")
def dreams(viewer: Looking) -> HTMLResponse:
    """Show how dreaming is doing, and what the tab says."""
    own = own_of(viewer, title=_TITLE, here="dreams")
    if isinstance(own, HTMLResponse):
        return own
    tab = viewer.request.query_params.get("tab", "")
    show = {"runs": _runs, "diary": _diary}.get(tab, _candidates)
    return show(viewer, own)


def in_words(reason: str) -> str:
    """Return why a run promoted nothing, with sentences in place of codes."""
    return _CODES.sub(lambda found: f"{found[1]} ({_sentence(found[2])})", reason)


def _sentence(code: str) -> str:
    told = REASONS[cast("Reason", code)].rstrip(".")
    return told[:1].lower() + told[1:]


def _shown(viewer: Viewer, own: Workspace, tab: str, **values: Any) -> HTMLResponse:
    return page(
        viewer,
        "dreams.html",
        title=_TITLE,
        here="dreams",
        tab=tab,
        tabs=TABS,
        name=own.agent.display_name or own.agent.id,
        status=own.dreaming.status().to_row(),
        zone=own.config.settings.time_zone,
        in_words=in_words,
        **values,
    )


def _candidates(viewer: Viewer, own: Workspace) -> HTMLResponse:
    asked = viewer.request.query_params
    across = asked.get("across", AXES[0])
    across = across if across in AXES else AXES[0]
    found = list_candidates(viewer.desk, limit=_MOST_CANDIDATES)
    listed = sorted(found.candidates, key=lambda each: _FIRST.get(each.state, len(_FIRST)))
    shown = listed if asked.get("all") else listed[:_CANDIDATES]
    settings = own.config.settings.dreaming
    least = {"recalls": settings.min_recalls, "days": settings.min_days, "queries": settings.min_queries}
    dots = _dots(shown[:_CANDIDATES], across)
    return _shown(
        viewer,
        own,
        "",
        found=found,
        across=across,
        axes=AXES,
        shapes=SHAPES,
        candidates=shown,
        standings=[_standing(each) for each in shown],
        picture=dot_plot(dots, Axis(name=across, least=least[across]), settings.min_score) if dots else "",
        dry=bool(asked.get("dry")),
        ready=[each for each in listed if each.state == "ready"],
        settings=settings,
    )


def _runs(viewer: Viewer, own: Workspace) -> HTMLResponse:
    found = list_dreams(viewer.desk, cursor=numbered(viewer, "before"), limit=_RUNS)
    return _shown(viewer, own, "runs", runs=found.items, before=found.next_cursor)


def _diary(viewer: Viewer, own: Workspace) -> HTMLResponse:
    path = diary_of(own.layout)
    text, problem = "", ""
    try:
        text = own.read(path) or ""
    except CarrelError as error:
        problem = error.message
    start = text.find("\n## ", max(0, len(text) - _DIARY)) if len(text) > _DIARY else 0
    shown = text[max(0, start) :]
    return _shown(
        viewer,
        own,
        "diary",
        path=path,
        diary=rendered(shown) if shown else Markup(),
        is_cut=start > 0,
        problem=problem,
    )


def _dots(candidates: Sequence[JudgedRow], across: str) -> list[Dot]:
    values = {"recalls": "hits", "days": "days", "queries": "queries"}
    return [
        Dot(
            number=number,
            across=getattr(each, values[across]),
            score=each.score,
            standing=_standing(each),
        )
        for number, each in enumerate(candidates, 1)
    ]


def _standing(candidate: JudgedRow) -> Standing:
    return {"ready": "passes", "below": "below"}.get(candidate.state, "held")  # pyright: ignore[reportReturnType]
