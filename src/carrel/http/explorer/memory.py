"""What an agent remembers: its layers, every fact with its evidence, what changed, and the way back."""

from collections import Counter
from datetime import date
from functools import cache
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.http.explorer.changed import Changed, changed
from carrel.http.explorer.choosing import numbered, own_of
from carrel.http.explorer.days import days_of
from carrel.http.explorer.evidence import spoken
from carrel.http.explorer.layers import MOST_ROWS, reader_of, recalled, recalls_of
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.http.explorer.pictures.share import share_bar
from carrel.http.explorer.sharing import shares_of
from carrel.http.routes.facts import list_facts, show_fact
from carrel.markdown.sections import read
from carrel.memory.fact import KINDS
from carrel.memory.forget.choice import Choice
from carrel.memory.forget.copies import PURGE
from carrel.memory.forget.report import Copy, Forgotten
from carrel.memory.notebook import digest_of
from carrel.runtime.library import place_of
from carrel.runtime.remember import Due
from carrel.runtime.view import NoSuchPath, exact_text

router = pages()

TABS = (
    ("", "What it remembers"),
    ("facts", "All facts"),
    ("changes", "Changes"),
    ("journal", "Journal"),
    ("learning", "Learning"),
)
STATES = ("written", "waiting", "planned", "superseded", "undone", "refused", "forgotten")

_TITLE = "Memory"
_FACTS = 50
_CHANGES = 20
_DAYS = 4

Words = Annotated[str, Query(max_length=1_000)]
Path = Annotated[str, Query(max_length=4_096)]


@router.get("/memory")
def memory(viewer: Looking) -> HTMLResponse:
    """Show what an agent remembers, by the tab that is asked for."""
    own = own_of(viewer, title=_TITLE, here="memory")
    if isinstance(own, HTMLResponse):
        return own
    tab = viewer.request.query_params.get("tab", "")
    show = {"facts": _facts, "changes": _changes, "journal": _journal, "learning": _learning}.get(
        tab, _layers
    )
    return show(viewer, own)


@router.get("/memory/section")
def section(viewer: Looking, file: Path = "", section: Words = "", layer: Words = "project") -> HTMLResponse:
    """Show one section whole, to be read, added to and replaced."""
    own = own_of(viewer, title=_TITLE, here="memory")
    if isinstance(own, HTMLResponse):
        return own
    reader = reader_of(own)
    reader.most = reader.room = MOST_ROWS
    reader.start = numbered(viewer, "start") or 0
    is_file = layer != "experience"
    sheet = reader.project(own.memory.notebook(file).path, section) if is_file else reader.experience(section)
    card = next(iter(sheet.cards), None)
    if card is None:
        raise NoSuchPath(f"{sheet.path}#{section}")
    text = ""
    if sheet.is_editable and section:
        content = own.fetch(file)
        text = read(exact_text(file, content), section) if content else ""
    return page(
        viewer,
        "section.html",
        title=card.heading or sheet.title,
        here="memory",
        sheet=sheet,
        card=card,
        text=text,
        digest=digest_of(text),
        start=reader.start,
        following=reader.start + MOST_ROWS,
    )


@router.get("/memory/forget")
def forget(
    viewer: Looking,
    fact: Annotated[list[str], Query(max_length=100)] = [],  # noqa: B006 - FastAPI copies it
    query: Words = "",
) -> HTMLResponse:
    """Show what would be forgotten, and where copies would remain; nothing is forgotten by looking.

    To know, every file and session is read: that is asked for once the page stands, with `look=now`.
    """
    own = own_of(viewer, title=_TITLE, here="memory")
    if isinstance(own, HTMLResponse):
        return own
    values: dict[str, Any] = {
        "chosen": fact,
        "wanted": query,
        "found": None,
        "remaining": (),
        "problem": None,
        "purged": PURGE,
    }
    if viewer.request.query_params.get("look") == "now":
        try:
            choice = Choice(facts=tuple(fact), query=query or None)
            values["found"] = found = own.forgetting.forget(choice, dry_run=True)
            values["remaining"] = _remaining(found)
        except CarrelError as error:
            values["problem"] = error
    return page(viewer, "forget.html", title="Forget", here="memory", **values)


def _remaining(found: Forgotten) -> list[Copy]:
    """Return the copies without those in lines that would go: whoever only looks still finds them there."""
    going = Counter(line.path for line in found.removed)
    return [copy for copy in found.remaining if copy.kind != "file" or copy.count > going[copy.place]]


def _shown(viewer: Viewer, own: Workspace, tab: str, **values: Any) -> HTMLResponse:
    return page(
        viewer,
        "memory.html",
        title=_TITLE,
        here="memory",
        tab=tab,
        tabs=TABS,
        name=own.agent.display_name or own.agent.id,
        enabled=own.agent.memory_enabled,
        **values,
    )


def _layers(viewer: Viewer, own: Workspace) -> HTMLResponse:
    shares = shares_of(own)
    return _shown(
        viewer,
        own,
        "",
        sheets=list(reader_of(own).sheets()),
        shares=shares,
        picture=share_bar(shares),
        counts=own.records.facts.counts(own.agent.id),
        waiting=own.records.proposals.counts()["waiting"],
        next_facts=_next(own),
        kinds=KINDS,
        last=next(iter(own.memory.history(limit=1)), None),
        standing=_standing(own),
    )


def _facts(viewer: Viewer, own: Workspace) -> HTMLResponse:
    asked = viewer.request.query_params
    if one := asked.get("fact"):
        shown = show_fact(viewer.desk, one)
        said = spoken(own, shown.fact.agent, shown.fact.session, shown.fact.evidence, 20)
        wrote = own.memory.change(shown.change.id) if shown.change else None
        called = own.memory.called(shown.fact.store, shown.fact.path) if shown.fact.path else ""
        change = changed(own, wrote, is_open=True, is_whole=True) if wrote else None
        return _shown(viewer, own, "facts", one=shown.fact, called=called, said=said, change=change)
    states = [state for state in asked.getlist("state") if state in STATES]
    found = list_facts(
        viewer.desk,
        state=states,
        session=asked.get("session") or None,
        path=asked.get("path") or None,
        query=asked.get("words", "")[:1_000],
        cursor=asked.get("cursor", "")[:200],
        limit=_FACTS,
    )
    recalls, called = recalls_of(own), cache(own.memory.called)
    rows = [
        (
            fact,
            recalled(recalls, fact.path if fact.store == "workspace" else place_of(fact.path), fact.text),
            called(fact.store, fact.path),
        )
        for fact in found.items
    ]
    return _shown(
        viewer,
        own,
        "facts",
        one=None,
        rows=rows,
        states=states,
        every_state=STATES,
        next_cursor=found.next_cursor,
        counts=own.records.facts.counts(own.agent.id),
    )


def _changes(viewer: Viewer, own: Workspace) -> HTMLResponse:
    asked = viewer.request.query_params
    if number := numbered(viewer, "change"):
        found = [own.memory.change(number)]
    else:
        found = own.memory.history(
            asked.get("path") or None, limit=_CHANGES, before=numbered(viewer, "before")
        )
    is_one = bool(number)
    may_lead = not is_one and not asked.get("path") and not numbered(viewer, "before")
    return _shown(
        viewer,
        own,
        "changes",
        changes=[changed(own, change, is_open=is_one, is_whole=is_one) for change in found],
        only=number,
        standing=_standing(own) if may_lead else None,
        before=found[-1].id if len(found) == _CHANGES and found[-1].id > 1 else None,
    )


def _journal(viewer: Viewer, own: Workspace) -> HTMLResponse:
    before = viewer.request.query_params.get("before", "")
    days, more = days_of(own, before=before if _is_day(before) else "", most=_DAYS)
    return _shown(
        viewer, own, "journal", days=days, more=more, keeps=bool(own.layout.journal or own.layout.home)
    )


def _learning(viewer: Viewer, own: Workspace) -> HTMLResponse:
    status = own.conversations.learning.status()
    return _shown(
        viewer,
        own,
        "learning",
        status=status,
        sessions=[(each.session, _when(each)) for each in status.sessions],
        interval=own.agent.trigger_interval,
        consolidation=own.config.settings.consolidation,
    )


def _standing(own: Workspace) -> Changed | None:
    """Return the newest change that can be taken back: who looks means this one, whatever comes meanwhile."""
    recent = (changed(own, each, is_open=False) for each in own.memory.history(limit=_CHANGES))
    return next((each for each in recent if each.can_undo), None)


def _next(own: Workspace) -> tuple[str, str]:
    """Return when facts are taken next, in few words, and from which session."""
    found = own.conversations.learning.outlook()
    soonest = min(found.items(), key=lambda each: max(0, each[1].needed - each[1].turns), default=None)
    return (_when(soonest[1])[0], soonest[0]) if soonest else ("after a talk", "")


def _when(due: Due) -> tuple[str, str]:
    """Say when facts are taken from a session, and why not now."""
    finding = due.finding()
    if finding is None:
        return "now", "Enough is new; the next sweep takes them."
    if due.reason == "too_few_turns":
        left = max(1, due.needed - due.turns)
        return f"after {left} more {'turn' if left == 1 else 'turns'}", finding.message
    return {"memory_off": "never", "no_model": "never", "put_before": "soon"}.get(
        due.reason, ""
    ), finding.message


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
