"""What a switch of a namespace would do, before it is done: assembled with and without, for each agent."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from carrel.app import Workspace
from carrel.context.assemble import Assembler
from carrel.context.build import Ground
from carrel.context.inputs import Inputs
from carrel.context.report import Report
from carrel.errors import CarrelError
from carrel.files.ephemeral import EphemeralFiles
from carrel.http.explorer.pages import Viewer
from carrel.http.served import Served
from carrel.markdown.frontmatter import parse, update
from carrel.opening import time_zone
from carrel.settings import AgentSettings
from carrel.workspace.document import DOCUMENT_LIMIT, Documents
from carrel.workspace.namespace import SUFFIX, namespace_of
from carrel.workspace.scope import Scope

MOST = 12
"""Agents that are looked at; each costs two assemblies."""


class Effect(Struct, frozen=True, kw_only=True):
    """One agent's prompt, before and after; `reads`: whether its layout has a place for others' memory."""

    workspace: str
    agent: str
    before: int
    after: int
    window: int
    exact: bool
    reads: bool
    is_own: bool
    lost: tuple[str, ...] = ()
    """What the model would read no more, or less of."""

    @property
    def added(self) -> int:
        """Tokens more, or less."""
        return self.after - self.before


def effects(viewer: Viewer, path: str, *, enabled: bool) -> tuple[Effect, ...]:
    """Return what each agent's prompt would be, of the workspaces that who looks may see."""
    found: list[Effect] = []
    for name, workspace, agent in _seats(viewer):
        if len(found) == MOST:
            break
        found.append(_effect(name, workspace, agent, path, enabled=enabled))
    return tuple(found)


def tokens_in(workspace: Workspace, path: str) -> int | None:
    """Return the tokens of what a namespace says, none where it cannot be read."""
    document = workspace.assembler.ground.namespaces.reading().document(path)
    return None if document is None or document.problem else workspace.counts.count(document.text)


def _seats(viewer: Viewer) -> Iterator[tuple[str, Workspace, AgentSettings]]:
    """Yield each agent with its workspace: this one's first, then those of the others that are served."""
    desk = viewer.desk
    served: Served = viewer.request.app.state.served
    others = [name for name in served.names if name != desk.name] if desk.access.workspace is None else []
    for name in (desk.name, *others):
        workspace = desk.workspace if name == desk.name else served.workspace(name)
        agents = workspace.config.settings.agents or (workspace.agent,)
        for agent in agents:
            own = served.workspace(name, agent.id) if agent.workspace else workspace
            yield name, own, agent


def _effect(name: str, workspace: Workspace, agent: AgentSettings, path: str, *, enabled: bool) -> Effect:
    ground = replace(workspace.assembler.ground, agent=agent)
    switched = replace(ground, namespaces=Documents(_switched(workspace, path, enabled=enabled)))
    before, after = (_report(workspace, each) for each in (ground, switched))
    parts = (part for message in ground.layout.messages for part in message.parts)
    return Effect(
        workspace=name,
        agent=agent.id,
        before=before.tokens.used,
        after=after.tokens.used,
        window=after.tokens.window,
        exact=after.tokens.exact,
        reads=any(part.kind == "namespaces" for part in parts),
        is_own=namespace_of(agent, agent.id, ground.location).path == path,
        lost=_lost(before, after),
    )


def _report(workspace: Workspace, ground: Ground) -> Report:
    zone = workspace.config.settings.time_zone
    now = workspace.config.clock.now().astimezone(time_zone(zone))
    return Assembler(ground).assemble(Inputs(scope=Scope.MAIN, now=now, time_zone=zone)).report


def _switched(workspace: Workspace, path: str, *, enabled: bool) -> EphemeralFiles:
    """Return the namespaces as they would be; what cannot be read is in no prompt, and left out."""
    files, texts = workspace.find_namespaces(), dict[str, bytes]()
    for entry in files.list(""):
        try:
            content = files.read(entry.path, limit=DOCUMENT_LIMIT) if entry.path.endswith(SUFFIX) else None
        except CarrelError:
            continue
        if content is not None:
            texts[entry.path] = content.data
    if path in texts:
        texts[path] = _set(texts[path], enabled=enabled)
    return EphemeralFiles(texts)


def _set(data: bytes, *, enabled: bool) -> bytes:
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    if parse(text).body == text:  # somebody made it by hand
        return f"---\nenabled: {'true' if enabled else 'false'}\n---\n{text}".encode()
    try:
        return update(text, {"enabled": enabled}).encode()
    except CarrelError:
        return data


def _lost(before: Report, after: Report) -> tuple[str, ...]:
    had = {row.name: row.tokens for row in before.sections if row.tokens}
    has = {row.name: row.tokens for row in after.sections}
    return tuple(name for name, tokens in had.items() if has.get(name, 0) < tokens)
