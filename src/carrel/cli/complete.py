"""What a shell is offered while somebody types: names that are there, looked up where that is cheap.

Whatever goes wrong, nothing is offered: a shell must not be disturbed.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:  # only a shell that asks has it loaded
    from click.shell_completion import CompletionItem

    from carrel.app import Workspace

Offer = Callable[[click.Context, click.Parameter, str], list[str]]

_MOST = 500


def _offering(find: "Callable[[Workspace, str], Iterator[str]]") -> Offer:
    """Return what offers names of a workspace, its owner's as everywhere in a shell of theirs."""

    def offer(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
        try:
            with _workspace(context) as workspace:
                found = (name for name in find(workspace, begun) if name.startswith(begun))
                return list(islice(found, _MOST))
        except Exception:  # noqa: BLE001 - as above
            return []

    return offer


def _workspace(context: click.Context) -> "Workspace":
    """Open the workspace that the words before name."""
    from carrel.app import Workspace, find_workspace  # noqa: PLC0415 - a shell asks for verbs more often

    named, each = None, context
    while named is None and each is not None:
        named, each = each.params.get("directory"), each.parent
    return Workspace.open(Path(named).expanduser() if named else find_workspace(), team=True)


def directories(_: click.Context, __: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Let the shell offer directories."""
    return _by_shell(begun, "dir")


def any_files(_: click.Context, __: click.Parameter, begun: str) -> "list[CompletionItem]":
    """Let the shell offer files and directories."""
    return _by_shell(begun, "file")


def _by_shell(begun: str, kind: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem  # noqa: PLC0415 - as above

    return [CompletionItem(begun, type=kind)]


def scopes(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Offer who may be listening."""
    return [name for name in ("main", "shared") if name.startswith(begun)]


def layouts(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Offer the layouts that come with Carrel."""
    from carrel.workspace.layout import LAYOUTS  # noqa: PLC0415 - as above

    return [name for name in LAYOUTS if name.startswith(begun)]


def _agents(workspace: "Workspace", _: str) -> Iterator[str]:
    return (agent.id for agent in workspace.config.settings.agents)


def _colleagues(workspace: "Workspace", _: str) -> Iterator[str]:
    """Yield agents and subagents; where no agent is named there is one called main."""
    yield from (agent.id for agent in workspace.config.settings.agents or (workspace.agent,))
    yield from (each.id for each in workspace.subagents().loaded)


def _skills(workspace: "Workspace", _: str) -> Iterator[str]:
    return (skill.name for skill in workspace.skills().loaded)


def _tools(workspace: "Workspace", _: str) -> Iterator[str]:
    return (spec.name for spec in workspace.tools().specs())


def _sessions(workspace: "Workspace", _: str) -> Iterator[str]:
    """Yield sessions by the names of their logs; none is read."""
    from carrel.conversing.parts import all_places  # noqa: PLC0415 - as above

    for places in all_places(workspace):
        found = workspace.files.list(places.folder)
        for entry in sorted(found, key=lambda entry: -entry.modified_ns):
            if session := places.session_of(entry.path):
                yield session


def _files(workspace: "Workspace", begun: str) -> Iterator[str]:
    """Yield what is in the folder that was begun; a folder with its slash, so that one may go on."""
    hidden = begun.rpartition("/")[2].startswith(".")
    for entry in workspace.files.list(begun.rpartition("/")[0]):
        if hidden or not entry.path.rpartition("/")[2].startswith("."):
            yield f"{entry.path}/" if entry.kind == "directory" else entry.path


def _namespaces(workspace: "Workspace", _: str) -> Iterator[str]:
    return (row.key for row in workspace.memory.namespaces.list())


agents = _offering(_agents)
colleagues = _offering(_colleagues)
skills = _offering(_skills)
tools = _offering(_tools)
sessions = _offering(_sessions)
files = _offering(_files)
namespaces = _offering(_namespaces)
