"""What a workspace needs to hold conversations, put together; loaded by the first that does."""

from collections.abc import Callable
from pathlib import Path

from carrel.errors import CarrelError
from carrel.files import FileStore
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.findings import Finding
from carrel.opening import Places
from carrel.records import Records
from carrel.runtime.callbacks import Callbacks, TurnEnded
from carrel.runtime.compact import Compacted, Compactor
from carrel.runtime.model import Reply
from carrel.runtime.record import Scribe
from carrel.runtime.toolbox import Toolbox
from carrel.runtime.view import View
from carrel.screen.secrets import redact_value
from carrel.sessions.intake import keep_secrets
from carrel.sessions.message import Message
from carrel.sessions.offsets import Offsets
from carrel.sessions.places import SessionPlaces, places_of
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf
from carrel.tools.registry import Registry
from carrel.workspace.scope import HiddenByScope, Scope

LOOKED_OVER = 100
"""How many sessions health looks at: reading one for the first time means reading all of it."""


def open_sessions(shelf: Shelf, places: Places) -> Sessions:
    """Return the sessions of a workspace's agent."""
    places.claim()
    own = shelf.layout.sessions
    derived = EphemeralFiles() if own.window and own.catalog else _derived_files(places)
    keeps = shelf.config.settings.transcripts.secrets == "keep"
    return Sessions(
        places_of(shelf.layout, shelf.agent, shelf.files, derived),
        Offsets(places.cache / "sessions.db", inside=places.inside),
        shelf.config.clock,
        keep_secrets if keeps else redact_value,
    )


def open_scribe(shelf: Shelf, sessions: Sessions, records: Callable[[], Records]) -> Scribe:
    """Return who writes down what a workspace's agent hears and says."""
    return Scribe(
        agent=shelf.agent.id,
        model=shelf.model_name or "",
        sessions=sessions,
        records=records,
        clock=shelf.config.clock,
        files=shelf.files,
        events=shelf.layout.sessions.events,
    )


def tools_of(
    shelf: Shelf,
    sessions: Sessions,
    records: Callable[[], Records],
    *,
    session: str | None,
    view: View,
    scope: Scope,
) -> Registry:
    """Return the tools of a workspace's agent before one listener."""
    return Toolbox(
        ground=shelf.assembler.ground,
        files=shelf.files,
        view=view,
        scope=scope,
        clock=shelf.config.clock,
        model=shelf.model_name,
        records=records,
        sessions=sessions,
        session=session,
    ).registry()


def ended_turn(sessions: Sessions, agent: str, session: str, scope: Scope) -> TurnEnded:
    """Return the turn that the last entry of a session ends, as it was recorded."""
    _, placed = sessions.seen(session, scope=Scope.MAIN)
    entries = [each.entry for each in placed]
    asked = next((entry for entry in reversed(entries) if entry.role == "user"), None)
    return TurnEnded(
        agent=agent,
        session=session,
        scope=scope,
        message=Message("user", asked.to_text() if asked else ""),
        reply=Reply(text=entries[-1].to_text()),
        finish=entries[-1].finish,
    )


def compact(shelf: Shelf, sessions: Sessions, callbacks: Callbacks, session: str, scope: Scope) -> Compacted:
    """Compact a session with the offline model, which summarises by picking out what was said.

    Others than the owner may do so only where all of it was said before them.
    """
    sessions.row(session)
    if scope is Scope.SHARED:
        earlier, placed = sessions.seen(session, scope=Scope.MAIN)
        heard = [*(each.entry.scope for each in placed), *([earlier.scope] if earlier else ())]
        if any(scope != Scope.SHARED for scope in heard):
            raise HiddenByScope(f"session {session}")
    compactor = Compactor(
        agent=shelf.agent.id, sessions=sessions, callbacks=callbacks, count=shelf.counts.count
    )
    return compactor.compact(session)


def look_over(shelf: Shelf, sessions: Callable[[], Sessions]) -> tuple[Finding, ...]:
    """Return what is wrong with the logs of the sessions that were used last."""
    places = places_of(shelf.layout, shelf.agent, shelf.files, EphemeralFiles())
    if shelf.files.stamps([places.folder]) == [None]:
        return ()
    rows, _ = sessions().rows(limit=LOOKED_OVER)
    odd = (row.id for row in rows if row.damaged or row.duplicates or row.foreign)
    return tuple(finding for session in odd for finding in sessions().findings(session))


def all_places(shelf: Shelf) -> list[SessionPlaces]:
    """Return where the sessions of every agent are."""
    nowhere = EphemeralFiles()
    agents = shelf.config.settings.agents or (shelf.agent,)
    return [places_of(shelf.layout, agent, shelf.files, nowhere) for agent in agents]


def _derived_files(places: Places) -> FileStore:
    """Return where what is derived from sessions is kept if the layout has no place for it."""
    folder: Path = places.cache / "sessions"
    try:
        places.refuse_links(folder / "any")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return LocalFiles(folder)
    except (CarrelError, OSError):  # it is derived: then it lasts as long as the process
        return EphemeralFiles()
