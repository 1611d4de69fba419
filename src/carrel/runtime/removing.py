"""How a session goes to the trash: its log, its window, its attachments."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from carrel.runtime.edit import Discarded
from carrel.sessions.fork import forks_with_attachments
from carrel.sessions.places import Spot
from carrel.sessions.store import Sessions, UnknownSession

_WINDOW_LIMIT = 1 << 30


class Gone(Struct, frozen=True, kw_only=True):
    """What was moved to the trash; attachments stay where forks need them."""

    session: str
    kept: tuple[Discarded, ...]
    needed_by: tuple[str, ...]


def remove(
    sessions: Sessions,
    session: str,
    *,
    discard: Callable[[str], Discarded],
    thaw: Callable[[str, str], object],
) -> Gone:
    """Move a session to the trash; broken off at any point, it can be repeated.

    `discard` moves one file there, `thaw` ends what is frozen for an agent's session.
    """
    attached = attachments(sessions, session)
    # Somebody may have removed the log alone.
    if not sessions.exists(session) and not attached:
        raise UnknownSession(session)
    needed_by = forks_with_attachments(sessions, session)
    # The log goes last: as long as it is there, whoever looks for sessions comes upon what a kill has left.
    paths = [*(() if needed_by else attached), *_own(sessions, session)]
    kept = tuple(map(discard, paths))
    sessions.forget(session)
    thaw(sessions.places.agent, session)
    return Gone(session=session, kept=kept, needed_by=tuple(needed_by))


def attachments(sessions: Sessions, session: str) -> list[str]:
    """Return the paths of what the messages of a session hold beside text."""
    places = sessions.places
    found = places.files.list(places.attachments(session))
    return [entry.path for entry in found if entry.kind == "file"]


def _own(sessions: Sessions, session: str) -> Iterator[str]:
    """Yield the window, if it lies beside the log, and the log; a window in our own cache just goes."""
    places = sessions.places
    window = places.window(session)
    if not sessions.exists(session):
        return
    if window.files is not places.files:
        _remove(window)
    elif window.files.stamps([window.path]) != [None]:
        yield window.path
    yield places.log(session)


def _remove(window: Spot) -> None:
    """Remove a window from our own cache: the log that goes to the trash has all of it."""
    content = window.files.read(window.path, limit=_WINDOW_LIMIT)
    if content is not None:
        window.files.remove(window.path, expect=content.digest)
