"""Where a request is worked on: one workspace, for one who asks, as far as they may."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, Request
from msgspec import Struct
from starlette.concurrency import run_in_threadpool

from carrel.app import Workspace, pick_agent
from carrel.files import Content
from carrel.http.access import Access
from carrel.http.errors import UnknownWorkspace
from carrel.http.served import Served
from carrel.records.keys import Right
from carrel.runtime.view import NoSuchPath
from carrel.sessions.places import behind, valid_session
from carrel.shelf import OWNER
from carrel.workspace.scope import HiddenByScope, Scope


class Desk(Struct, frozen=True, kw_only=True):
    """A workspace before one listener, and who that is."""

    name: str
    workspace: Workspace
    access: Access
    scope: Scope
    agent: str | None
    announce: Callable[[str], None]
    """Tells who listens to events that this workspace has changed."""

    @property
    def own(self) -> Workspace:
        """The workspace as one agent's; with several at home in it, one must be named."""
        pick_agent(self.workspace.config.settings, self.agent)
        return self.workspace

    def fetch(self, path: str) -> Content:
        """Return a file as far as this listener may know of it."""
        content = self.workspace.fetch(path, scope=self.scope)
        if content is None:
            raise NoSuchPath(path)
        return content

    def session(self, name: str) -> str:
        """Return the session that is meant: before others than the owner, one of their own key's."""
        if self.scope is Scope.MAIN or self.access.name == OWNER:
            return valid_session(name)
        return behind(self.access.name.removeprefix("key:"), name)

    def note(self, action: str, target: str = "", /, *, session: str = "", **detail: Any) -> None:
        """Write down who changed what; every endpoint that changes something does."""
        workspace = self.workspace
        workspace.records.audit.note(
            at=workspace.config.clock.now(),
            actor=self.access.name,
            action=action,
            target=target,
            session=session,
            detail=detail,
        )
        self.announce(self.name)


class Needs:
    """What an endpoint asks of who asks: a right, and to be the owner where it hides nothing."""

    def __init__(self, right: Right, *, owner: bool = False, eyes: bool = False) -> None:
        self.right: Right = right
        self.owner = owner or eyes
        self.eyes = eyes
        """Whether the owner may look with others' eyes here."""

    async def __call__(self, request: Request) -> Desk:
        """Return the desk of a request, or refuse it; `PARAMETERS` are read by hand, which is much faster."""
        access: Access = request.state.access
        served: Served = request.app.state.served
        access.require(self.right, owner=self.owner)
        asked: str = request.path_params["workspace"]
        name = served.name_of(asked)
        if access.workspace not in (None, name):
            raise UnknownWorkspace(asked)  # as of none: who holds a key of one learns no other's name
        agent = request.query_params.get("agent")
        scope = access.listening(request.query_params.get("scope"))
        if self.owner and not self.eyes and scope is not Scope.MAIN:
            raise HiddenByScope("this part of the workspace")
        is_open = served.is_open(name, agent)
        return Desk(
            name=name,
            workspace=served.workspace(name, agent)
            if is_open
            else await run_in_threadpool(served.workspace, name, agent),
            access=access,
            scope=scope,
            agent=agent,
            announce=request.app.state.hub.announce,
        )


PARAMETERS: tuple[dict[str, Any], ...] = (
    {"name": "workspace", "in": "path", "required": True, "schema": {"type": "string"}},
    {"name": "agent", "in": "query", "required": False, "schema": {"type": "string"}},
    {"name": "scope", "in": "query", "required": False, "schema": {"enum": ["main", "shared"]}},
)
"""What every endpoint of a workspace takes, for the description."""

Reader = Annotated[Desk, Depends(Needs("read"))]
"""Whoever may read, as far as their scope goes."""

OwnerReader = Annotated[Desk, Depends(Needs("read", owner=True))]
"""Who may read what hides nothing."""

Writer = Annotated[Desk, Depends(Needs("write"))]
"""Whoever may change things, as far as their scope goes."""

OwnerWriter = Annotated[Desk, Depends(Needs("write", owner=True))]
"""Who may change what only the owner sees."""

Admin = Annotated[Desk, Depends(Needs("admin", owner=True))]
"""Who looks after the workspace: keys, proposals, what is undone and forgotten."""
