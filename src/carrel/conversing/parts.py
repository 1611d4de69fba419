"""The parts of a conversation, each made from what a workspace has."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from carrel.conversing.heard import UNSEEN, heard_in, recalled_in
from carrel.errors import CarrelError
from carrel.files.ephemeral import EphemeralFiles
from carrel.findings import Finding
from carrel.memory.consolidate.consolidator import Consolidator
from carrel.memory.dream.files import target_of
from carrel.memory.keeping import Keeper
from carrel.opening import Opened, time_zone
from carrel.records import Records
from carrel.records.usage import Purpose
from carrel.runtime.callbacks import TurnEnded
from carrel.runtime.consolidation import Consolidation
from carrel.runtime.delegation import Seat
from carrel.runtime.errands import Account
from carrel.runtime.health import visible_to
from carrel.runtime.large import Kept, Sizes, keep_large
from carrel.runtime.model import Model, Reply
from carrel.runtime.models import OFFLINE
from carrel.runtime.record import Scribe
from carrel.runtime.remember import Asking, Remember
from carrel.runtime.retention import Retention
from carrel.runtime.room import room_in
from carrel.runtime.spending import Allowance, Caps, check, surplus
from carrel.runtime.toolbox import Toolbox
from carrel.sessions.message import Message
from carrel.sessions.places import SessionPlaces, places_of
from carrel.sessions.store import Sessions
from carrel.shelf import Shelf
from carrel.tools.memory import Look
from carrel.tools.registry import Registry, Tool
from carrel.workspace.scope import Scope

_CHARACTERS = 3  # in a token, or more; a page must not be larger than its share

LOOKED_OVER = 100
"""How many sessions health looks at: reading one for the first time means reading all of it."""


def open_remember(
    shelf: Shelf, sessions: Sessions, keeper: Callable[[], Keeper], allow: Callable[[Model], object]
) -> Remember:
    """Return who takes facts from what a workspace's agent hears and says."""
    return Remember(
        agent=shelf.agent,
        sessions=sessions,
        records=lambda: shelf.records,
        keeper=keeper,
        asking=Asking(
            agent=shelf.agent.id,
            clock=shelf.config.clock,
            count=shelf.counts.count,
            usage=lambda: shelf.records.usage,
            allow=allow,
        ),
        clock=shelf.config.clock,
        user=shelf.config.settings.user,
        recalled=lambda session: recalled_in(sessions, shelf.records, session, _owners(shelf)),
    )


def open_consolidation(shelf: Shelf, keeper: Callable[[], Keeper], asking: Asking) -> Consolidation:
    """Return who makes memory of a workspace's journal."""
    settings = shelf.config.settings
    return Consolidation(
        consolidator=Consolidator(
            agent=shelf.agent.id,
            target=target_of(shelf.layout, shelf.agent),
            layout=shelf.layout,
            files=shelf.files,
            records=lambda: shelf.records,
            keeper=keeper,
            settings=settings.consolidation,
            count=shelf.counts.count,
            clock=shelf.config.clock,
            zone=time_zone(settings.time_zone),
        ),
        asking=asking,
        queue=lambda: shelf.records.queue,
        memory_enabled=shelf.agent.memory_enabled,
    )


def open_retention(
    shelf: Shelf,
    sessions: Sessions,
    consolidation: Consolidation,
    remember: Remember,
) -> Retention:
    """Return who takes away what is older than a workspace's settings keep.

    A journal that several agents have is for those to take away who make memory of it.
    """
    settings, agent, kept = shelf.config.settings, shelf.agent, shelf.config.settings.retention
    peers = (each for each in settings.agents if each.workspace == agent.workspace)
    if not agent.memory_enabled and any(each.memory_enabled for each in peers):
        kept = replace(kept, journal_days=None)
    return Retention(
        agent=agent.id,
        settings=kept,
        sessions=sessions,
        files=shelf.files,
        layout=shelf.layout,
        records=lambda: shelf.records,
        unread=remember.unread,
        learn=remember.put_rest,
        consolidated=consolidation.consolidated,
        discard=shelf.discard,
        clock=shelf.config.clock,
        zone=time_zone(settings.time_zone),
    )


def open_scribe(
    shelf: Shelf,
    sessions: Sessions,
    records: Callable[[], Records],
    ended: Callable[[str, int], object],
) -> Scribe:
    """Return who writes down what a workspace's agent hears and says."""
    return Scribe(
        agent=shelf.agent.id,
        model=shelf.model_name or "",
        sessions=sessions,
        records=records,
        clock=shelf.config.clock,
        files=shelf.files,
        events=shelf.layout.sessions.events,
        ended=ended,
    )


def tools_of(
    shelf: Shelf,
    sessions: Sessions,
    records: Callable[[], Records],
    *,
    session: str | None,
    scope: Scope,
    look: Look,
    model: str | None = None,
    others: tuple[Tool, ...] = (),
    keeper: Callable[[], Keeper] | None = None,
    written: Callable[[str], object],
    unseen: bool = False,
) -> Registry:
    """Return the tools of a workspace's agent before one listener, and `others` beside them.

    A model that lives elsewhere has read what is `unseen` here: what it writes is as after a page of the web.
    """
    owners = _owners(shelf)
    beyond = (UNSEEN,) if unseen else ()
    return Toolbox(
        ground=shelf.assembler.ground,
        files=shelf.files,
        view=shelf.eyes(scope),
        scope=scope,
        clock=shelf.config.clock,
        model=shelf.model_name,
        records=records,
        sessions=sessions,
        session=session,
        others=others,
        page=_share(shelf, model) * _CHARACTERS,
        look=look,
        heard=lambda: (
            *recalled_in(sessions, records(), session, owners),
            *heard_in(sessions, session),
            *beyond,
        ),
        keeper=keeper,
        written=written,
    ).registry(ready=shelf.refuse_closed)


def _owners(shelf: Shelf) -> tuple[str, ...]:
    user = shelf.config.settings.user.id
    return (user,) if user else ()


def opened_for(shelf: Shelf, base: Opened, seat: Seat) -> Opened:
    """Return the directory in which a delegate works: a peer's, its caller's, or one for it alone."""
    if seat.kind == "peer":
        return base.moved_to(seat.agent.workspace)
    if seat.kind == "inherited":
        return replace(base, home=shelf.home, files=shelf.files)
    home, config = shelf.home.seated(seat), base.config
    settings = replace(config.settings, agents=(seat.agent,), layout="carrel")
    config = replace(config, settings=settings, origins={**config.origins, "layout": "delegation"})
    return replace(base, home=home, files=home.files, config=config, manifest=None, lower=None)


def _share(shelf: Shelf, model: str | None) -> int:
    """Return a quarter of the room that a model has."""
    window = shelf.assembler.ground.window_of(None if model == OFFLINE else model)
    return room_in(window.size) // 4


def keep_result(shelf: Shelf, sessions: Sessions, session: str, model: str, text: str) -> Kept:
    """Store a tool's result that is too large beside the session, and return what is shown of it.

    Too large is what would take a quarter of the room that the model has.
    """
    most = Sizes()
    share = _share(shelf, model)
    sizes = Sizes(
        limit=min(most.limit, share), head=min(most.head, share // 4), tail=min(most.tail, share // 8)
    )
    return keep_large(
        text,
        sizes=sizes,
        files=shelf.files,
        folder=sessions.places.attachments(session),
        count=shelf.counts.count,
        screen=sessions.screened,
    )


def allow(shelf: Shelf, account: Account, purpose: Purpose, *, others: Sequence[str] = ()) -> Allowance:
    """Say whether more may be spent on an account; a turn beyond a cap is refused.

    Where there is a cap, records that cannot be read are an error: nobody knows what was spent.
    """
    settings = shelf.config.settings
    caps = Caps(per_day=settings.spending.per_day, per_session=settings.spending.per_session)
    if caps == Caps():
        return Allowance()
    now = shelf.config.clock.now().astimezone(time_zone(settings.time_zone))
    return check(
        account.usage(),
        caps,
        agent=account.agent,
        session=account.session or None,
        now=now,
        purpose=purpose,
        others=others,
    )


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


def look_over(shelf: Shelf, sessions: Callable[[], Sessions]) -> tuple[Finding, ...]:
    """Return what is wrong with the logs of the sessions that were used last."""
    places = places_of(shelf.layout, shelf.agent, shelf.files, EphemeralFiles())
    if shelf.files.stamps([places.folder]) == [None]:
        return ()
    rows, _ = sessions().rows(limit=LOOKED_OVER)
    odd = (row.id for row in rows if row.problem or row.damaged or row.duplicates or row.foreign)
    return tuple(finding for session in odd for finding in sessions().findings(session))


def all_places(shelf: Shelf) -> list[SessionPlaces]:
    """Return where the sessions of every agent are."""
    nowhere = EphemeralFiles()
    agents = shelf.config.settings.agents or (shelf.agent,)
    return [places_of(shelf.layout, agent, shelf.files, nowhere) for agent in agents]


def session_logs(shelf: Shelf, scope: Scope) -> list[str]:
    """Return the paths of all logs of sessions that a listener may know of, of every agent, sorted."""
    visible = visible_to(shelf.assembler.ground, scope)
    return sorted(
        entry.path
        for places in all_places(shelf)
        for entry in shelf.files.list(places.folder)
        if places.session_of(entry.path) and visible(entry.path)
    )


def beside(shelf: Shelf, session: str) -> int:
    """Return what the provider of a session's last call counted beside its sections."""
    with suppress(CarrelError):  # without records there is nothing to go by
        last = shelf.records.usage.last(shelf.agent.id, session, purpose="turn")
        told = surplus(last, last.model, shelf.assembler.ground.window_of(last.model).size) if last else None
        return told.tokens if told else 0
    return 0
