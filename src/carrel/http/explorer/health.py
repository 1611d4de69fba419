"""Health: what a person should look at, with what to do about it; and how the index is."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from threading import Lock
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import HTMLResponse

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.files import walk
from carrel.http.explorer.pages import Looking, Viewer, page
from carrel.http.explorer.pages import router as pages
from carrel.index import Status
from carrel.runtime.health import NOT_COUNTED, Health
from carrel.workspace.scope import Scope

router = pages()

_LARGE = 2_000
"""Files from which on a workspace is not looked over while somebody waits for a page."""

_FRESH = timedelta(seconds=30)
"""For so long nobody looks anew at a large workspace in which nothing was done."""

_ORDER = {"error": 0, "warning": 1, "info": 2}
_MOST = 200


class LookedOver(Struct, frozen=True, kw_only=True):
    """What was found in a workspace, and when; `is_stale` where it is to be looked over again beside.

    Of a large one in which nobody has looked there is nothing yet.
    """

    health: Health | None = None
    at: datetime | None = None
    event: int = 0
    """The last of the trail by then."""
    is_stale: bool = True

    @property
    def counts(self) -> Mapping[str, int]:
        """How many findings are how severe."""
        findings = self.health.findings if self.health else ()
        return dict.fromkeys(_ORDER, 0) | Counter(each.severity for each in findings)


_KEPT: WeakKeyDictionary[Workspace, dict[Scope, LookedOver]] = WeakKeyDictionary()
_LOCK = Lock()


class Searched(Struct, frozen=True, kw_only=True):
    """How the index is, and when it was last written; a problem where it cannot be had."""

    status: Status = Status()
    written: datetime | None = None
    problem: str = ""

    @property
    def word(self) -> str:
        """Its state in one word."""
        if self.problem:
            return "unavailable"
        if self.status.degraded:
            return "degraded"
        if not self.status.places:
            return "empty"
        return "catching up" if self.status.waiting else "up to date"


@router.get("/health")
def health(viewer: Looking) -> HTMLResponse:
    """Show what was found."""
    seen = looked_over(viewer)
    findings = seen.health.findings if seen.health else ()
    severity = viewer.request.query_params.get("severity", "")
    code = viewer.request.query_params.get("code", "")
    rows = [
        each
        for each in sorted(findings, key=lambda finding: _ORDER[finding.severity])
        if severity in ("", each.severity) and code in ("", each.code)
    ]
    return page(
        viewer,
        "health.html",
        title="Health",
        here="health",
        seen=seen,
        findings=rows[:_MOST],
        more=max(0, len(rows) - _MOST),
        codes=sorted({each.code for each in findings}),
        severity=severity,
        code=code,
        searched=searched(viewer.desk.workspace) if viewer.desk.scope is Scope.MAIN else None,
    )


def looked_over(viewer: Viewer) -> LookedOver:
    """Return how a workspace is: a small one as it is now, of a large one what was found when last looked.

    Whoever follows a link with `look=now` waits for a new look. The page of a large one does that by itself.
    """
    workspace, scope = viewer.desk.workspace, viewer.desk.scope
    now = workspace.config.clock.now()
    last = next((event.id for event in workspace.records.audit.events(limit=1)), 0)
    with _LOCK:
        known = _KEPT.get(workspace, {}).get(scope)
    is_asked = viewer.request.query_params.get("look") == "now"
    if not is_asked and _is_large(workspace, known):
        known = known or _keep(workspace, scope, LookedOver())
        is_fresh = known.at is not None and now - known.at < _FRESH and known.event == last
        return replace(known, is_stale=not is_fresh)
    found = LookedOver(health=workspace.health(scope=scope), at=now, event=last, is_stale=False)
    return _keep(workspace, scope, found)


def _keep(workspace: Workspace, scope: Scope, seen: LookedOver) -> LookedOver:
    with _LOCK:
        _KEPT.setdefault(workspace, {})[scope] = seen
    return seen


def _is_large(workspace: Workspace, known: LookedOver | None) -> bool:
    """Tell whether looking at every file takes long; where nobody has, the first of them are counted."""
    if known is not None:
        return known.health is None or known.health.files > _LARGE
    entries = walk(workspace.files, skip=lambda entry: entry.path in NOT_COUNTED)
    return next(islice(entries, _LARGE, None), None) is not None


def searched(workspace: Workspace) -> Searched:
    """Return how the index of a workspace is; one that cannot be opened is told of."""
    try:
        status = workspace.searching.status()
    except CarrelError as error:
        return Searched(problem=error.message)
    return Searched(status=status, written=_written(status.location))


def _written(location: str) -> datetime | None:
    """Return when something in a folder was last written, none where there is nothing to look at."""
    try:
        times = [each.stat().st_mtime for each in Path(location).iterdir()] if location else []
    except OSError:
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None
