"""Whose things a page shows: those of the agent that was chosen, else of all that are at home here."""

from collections.abc import Sequence

from carrel.app import Workspace
from carrel.http.explorer.pages import Viewer
from carrel.http.served import Served
from carrel.opening import AgentRequired
from carrel.sessions.store import UnknownSession

_MOST = 12
"""Agents that one page looks at; of more, one is chosen."""


def seats(viewer: Viewer) -> tuple[Workspace, ...]:
    """Return the workspace as each agent has it that is looked at."""
    desk = viewer.desk
    agents = desk.workspace.config.settings.agents
    if desk.agent or len(agents) < 2:  # noqa: PLR2004 - one needs no choice
        return (desk.workspace,)
    served: Served = viewer.request.app.state.served
    return tuple(served.workspace(desk.name, agent.id) for agent in agents[:_MOST])


def seat_of(viewer: Viewer, session: str) -> Workspace:
    """Return the workspace of the agent that holds a session; of two with one id, one must be named."""
    found = [seat for seat in seats(viewer) if seat.sessions.exists(session)]
    if len(found) > 1:
        raise AgentRequired([seat.agent.id for seat in found])
    if not found:
        raise UnknownSession(session)
    return found[0]


def only(found: Sequence[Workspace]) -> Workspace | None:
    """Return the one there is; of several none is meant."""
    return found[0] if len(found) == 1 else None


def name_of(seat: Workspace) -> str:
    """Return what an agent is called."""
    return seat.agent.display_name or seat.agent.id
