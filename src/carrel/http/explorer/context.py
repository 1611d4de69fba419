"""Context: what a model would be sent, how full its window is, what was cut or left out, and what if."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from json import dumps
from typing import Any

from msgspec import Struct
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.compare import Comparison, NothingToCompare, between_budgets, between_scopes
from carrel.context.formats import to_anthropic, to_openai, to_responses
from carrel.context.report import Report, Row
from carrel.http.explorer import telling, words
from carrel.http.explorer.asked import Asked, read_asked
from carrel.http.explorer.pages import Looking, Viewer, fragment, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.pictures import both
from carrel.http.explorer.pictures.bar import bar, legend
from carrel.http.explorer.pictures.parts import Part, parts_of
from carrel.http.explorer.pictures.treemap import treemap
from carrel.opening import AgentRequired
from carrel.records.usage import Spent
from carrel.sessions.account import SessionRow
from carrel.tokens import KNOWN_MODELS
from carrel.workspace.scope import HiddenByScope, Scope

router = pages()

ROWS = 100
"""Parts that the table shows at a time."""

RECALLED = 20
"""Hits that are told one by one."""

SHOWN = 20_000
"""Characters of a long text that are shown until all of it is asked for."""

MOST_SHOWN = 4_000_000
SESSIONS = 60
WINDOWS = (8_192, 32_768, 128_000, 200_000, 400_000, 1_048_576)

_PATHS = frozenset(("document", "documents", "additional", "knowledge", "notebook", "journal", "layer"))
_LOG = re.compile(r"([^/]+?)(?:\.log)?\.jsonl$")
"""The session that a log is of, by its path."""

_FORMATS: Mapping[str, Callable[[Assembly], Any]] = {
    "openai": to_openai,
    "responses": to_responses,
    "anthropic": to_anthropic,
    "messages": lambda assembly: [message.to_json() for message in assembly.messages],
}


class Slider(Struct, frozen=True, kw_only=True):
    """One limit: what was asked for, what is in force, and how far it can be moved."""

    name: str
    label: str
    asked: int | None
    in_force: int | None
    most: int

    @property
    def value(self) -> int:
        """Where the slider stands."""
        chosen = self.in_force if self.asked is None else self.asked
        return self.most if chosen is None else min(chosen, self.most)


class Looked(Struct, frozen=True, kw_only=True):
    """A context as it was asked for, beside the one under the limits in force."""

    own: Workspace
    assembly: Assembly
    report: Report
    parts: tuple[Part, ...]
    now: Report
    """Under the limits in force; the same where no others were asked for."""


@router.get("/context")
def context(viewer: Looking) -> HTMLResponse:
    """Show what the model would be sent."""
    asked = read_asked(viewer.request.query_params)
    try:
        own = viewer.desk.own
    except AgentRequired:
        return page(viewer, "choose.html", title="Context", here="context")
    looked = _look(viewer, own, asked)
    values = _values(viewer, looked, asked) | _choices(viewer, looked, asked)
    return page(viewer, "context.html", title="Context", here="context", **values)


@router.get("/context/part")
def part(viewer: Looking) -> HTMLResponse:
    """Show the same with other limits, for a page that is open."""
    asked = read_asked(viewer.request.query_params)
    looked = _look(viewer, viewer.desk.own, asked)
    return fragment(viewer, "context_part.html", **_values(viewer, looked, asked))


@router.get("/context/explain/{path:path}")
def explain(viewer: Looking, path: str) -> HTMLResponse:
    """Say why a file is in the prompt, cut, out or hidden."""
    asked = read_asked(viewer.request.query_params)
    found = None
    if viewer.desk.scope is Scope.MAIN:  # it tells what others may not see
        try:
            found = viewer.desk.own.explain(path, asked.session, asked.query)
        except AgentRequired:
            return page(viewer, "choose.html", title=f"Why {path}", here="context")
    return page(
        viewer,
        "context_explain.html",
        title=f"Why {path}",
        here="context",
        path=path,
        found=found,
        at=_addresses(viewer, asked),
        unit=viewer.desk.own.layout.unit if found else "",
    )


def _look(viewer: Viewer, own: Workspace, asked: Asked) -> Looked:
    """Assemble what was asked for; nothing is recorded."""
    assemble = _assembling(own, asked, viewer.desk.scope)
    now = assemble()
    then = now if asked.budget is None else assemble(asked.budget)
    report = then.report
    return Looked(own=own, assembly=then, report=report, parts=parts_of(report.sections), now=now.report)


def _assembling(own: Workspace, asked: Asked, scope: Scope) -> Callable[..., Assembly]:
    """Return what assembles under a budget all that was asked for beside it."""
    return partial(own.assemble, asked.session, asked.query, scope, model=asked.model, window=asked.window)


def _values(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    """Return what the part of the page shows that changes with what is asked."""
    report, at = looked.report, _addresses(viewer, asked)
    link = "#s" if asked.tab == "sections" else ""
    budget = (
        telling.differences(between_budgets(looked.now, looked.assembly.report)) if asked.budget else None
    )
    return {
        "wanted": asked,
        "at": at,
        "report": report,
        "headline": telling.headline(report),
        "cut": [row.name for row in report.sections if row.state == "truncated"],
        "out": [row.name for row in report.sections if row.reason in ("total", "no_room")],
        "bars": both(lambda width, key: bar(report, width, link=link, key=f"bar-{key}", parts=looked.parts)),
        "legend": legend(report, parts=looked.parts),
        "budget": budget,
        "fallout": telling.fallout(budget) if budget else "",
        "told": telling,
        "notes": tuple(_notes(looked, asked)),
        **_TABS[asked.tab](viewer, looked, asked),
    }


def _choices(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    """Return what the form offers."""
    is_owner = viewer.desk.scope is Scope.MAIN
    rows = looked.own.sessions.rows(limit=SESSIONS)[0] if is_owner else []
    return {
        "sessions": rows,
        "is_listed": any(row.id == asked.session for row in rows),
        "models": KNOWN_MODELS,
        "in_force": looked.own.model_name,
        "windows": WINDOWS,
        "sliders": _sliders(looked, asked),
    }


def _sliders(looked: Looked, asked: Asked) -> tuple[Slider, ...]:
    """Return both limits, each as far as it makes a difference."""
    force = looked.own.assembler.limits(Budget())
    scale = 4 if looked.report.unit == "characters" else 1
    sizes = [row.raw_tokens * scale for row in looked.now.sections if row.kind in _PATHS] or [0]
    file, total = _ceiling(max(sizes)), _ceiling(sum(sizes))
    return (
        Slider(name="file", label="One file", asked=asked.file, in_force=force.file, most=file),
        Slider(name="total", label="All files", asked=asked.total, in_force=force.total, most=total),
    )


def _ceiling(size: int) -> int:
    """Return a round number with some room above a size."""
    size = max(size + size // 10, 100)
    step = 10 ** (len(str(size)) - 2)
    return -(-size // step) * step


def _notes(looked: Looked, asked: Asked) -> Iterator[str]:
    """Say what the figures do not: a session keeps parts, and another model or window is only tried."""
    force = looked.own.assembler.ground.window_of()
    is_other = asked.model not in (None, force.name)
    if (asked.budget or is_other) and _is_frozen(looked):
        yield (
            "The session keeps its memory as it was cut and counted at its beginning: "
            "another limit or model does not change that part."
        )
    if is_other:
        own = f"The one in force is {force.name}" if force.name else "The settings name none"
        yield f"So it would be for {asked.model}. {own}, and its window has {force.size:,} tokens."
    window = force.size
    if asked.window not in (None, window):
        yield (
            f"So it would be in a window of {asked.window:,} tokens; the one in force has {window:,}. "
            "What does not fit is left out in this order: recall, then files, then the oldest turns."
        )


def _is_frozen(looked: Looked) -> bool:
    own, report = looked.own, looked.report
    return bool(report.session and own.records.frozen(own.agent.id, report.session, report.scope))


# ----------------------------------------------------------------------------------------------------- tabs


def _sections(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    parts = looked.parts
    shown = parts[asked.start : asked.start + ROWS]
    leads = _leading(viewer)
    exact = looked.report.tokens.exact
    return {
        "parts": shown,
        "count": len(parts),
        "next": asked.start + ROWS if asked.start + ROWS < len(parts) else None,
        "rows_at_once": ROWS,
        "absent": [row.name for row in looked.report.sections if row.state == "missing"],
        "is_path": _is_path,
        "recalled": [_recalled(viewer, hit) for hit in looked.report.recall[:RECALLED]],
        "maps": both(lambda width, key: treemap(parts, width, link=leads, exact=exact, key=f"map-{key}")),
    }


def _text(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    del viewer
    return _capped(looked.assembly.to_text(), asked)


def _json(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    del viewer
    return _capped(dumps(_FORMATS[asked.form](looked.assembly), ensure_ascii=False, indent=2), asked)


def _compare(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    against = asked.against or ("limits" if asked.budget else "last" if asked.session else "scopes")
    compared, problem = None, ""
    try:
        compared = _compared(viewer, looked, asked, against)
    except (NothingToCompare, HiddenByScope) as error:
        problem = f"{error.message} {error.hint}"
    found = telling.differences(compared) if compared else None
    return {"against": against, "compared": compared, "found": found, "problem": problem}


def _compared(viewer: Viewer, looked: Looked, asked: Asked, against: str) -> Comparison | None:
    scope, told = viewer.desk.scope, looked.assembly.report
    if against == "scopes":
        if scope is not Scope.MAIN:  # it names what others may not see
            raise HiddenByScope("what the owner's call holds")
        return between_scopes(told, _assembling(looked.own, asked, Scope.SHARED)(asked.budget).report)
    if against == "limits":
        return between_budgets(looked.now, told)
    if asked.session is None:
        return None
    return looked.own.compare_last(asked.session, asked.query, scope, model=asked.model, window=asked.window)


def _cache(viewer: Viewer, looked: Looked, asked: Asked) -> dict[str, Any]:
    is_owner = viewer.desk.scope is Scope.MAIN
    spent, row = (_last_call(looked.own, asked.session)) if is_owner and asked.session else (None, None)
    sent = [part for part in looked.parts if part.tokens]
    return {"spent": spent, "row": row, "sent": sent[:ROWS], "sent_count": len(sent)}


_TABS: Mapping[str, Callable[[Viewer, Looked, Asked], dict[str, Any]]] = {
    "sections": _sections,
    "text": _text,
    "json": _json,
    "compare": _compare,
    "cache": _cache,
}


def _last_call(own: Workspace, session: str) -> tuple[Spent | None, SessionRow | None]:
    """Return what the provider said of the session's last turn, and when that was."""
    row = own.sessions.row(session) if own.sessions.exists(session) else None
    return own.records.usage.last(own.agent.id, session, purpose="turn"), row


def _capped(text: str, asked: Asked) -> dict[str, Any]:
    """Return a text as far as it is shown, and how much of it that leaves out."""
    shown = text[: MOST_SHOWN if asked.whole else SHOWN]
    return {"text": shown, "length": len(text), "left": len(text) - len(shown)}


# ------------------------------------------------------------------------------------------------ addresses


def _addresses(viewer: Viewer, asked: Asked) -> Callable[..., str]:
    """Return what makes an address of this page that asks for something else."""
    base = f"{viewer.base}/context{words.kept(viewer.desk.agent, viewer.desk.scope)}"
    return partial(asked.address, base)


def _leading(viewer: Viewer) -> Callable[[Part], str]:
    """Return where an area of the treemap leads: to the file; what is none leads to its row."""
    keep = words.kept(viewer.desk.agent, viewer.desk.scope)

    def lead(part: Part) -> str:
        return (
            f"{viewer.base}/files/{words.path(part.name)}{keep}" if _is_path(part.row) else f"#s{part.number}"
        )

    return lead


def _recalled(viewer: Viewer, hit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a hit with what it is called and where it leads: what was said is called by its session."""
    path, line = hit["path"], hit["line"]
    keep = words.kept(viewer.desk.agent, viewer.desk.scope)
    if hit["tier"] != "session" or (log := _LOG.search(path)) is None:
        address = f"{viewer.base}/files/{words.path(path)}{keep}#L{line}"
        return {**hit, "name": f"{path}:{line}", "address": address}
    address = words.with_query(f"{viewer.base}/sessions/{words.path(log[1])}{keep}", **{"from": line})
    return {**hit, "name": f"{log[1]}, message {line:,}", "address": address}


def _is_path(row: Row) -> bool:
    return row.kind in _PATHS and (row.kind != "layer" or row.name.endswith(".md"))
