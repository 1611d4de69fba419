"""The options that every command takes, before the verb or after it."""

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from carrel.app import Workspace, find_workspace
from carrel.home.address import is_address
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

Command = TypeVar("Command", bound=Callable[..., Any])


class Shared(Struct):
    """What was given so far; what stands after the verb wins over what stands before it."""

    directory: str | None = None
    lower: str | None = None
    agent: str | None = None
    scope: str = "main"
    as_json: bool = False

    @property
    def root(self) -> str | Path:
        """The workspace meant: the one named, else the one around the current directory."""
        if self.directory is None:
            return find_workspace()
        return self.directory if is_address(self.directory) else Path(self.directory)

    def open(self, *, team: bool = False) -> Workspace:
        """Open the workspace that the options name; as a `team`, an agent may be named and need not be."""
        team = team and self.agent is None
        return Workspace.open(self.root, agent=self.agent, team=team, lower=self.lower)


_OPTIONS = (
    click.option(
        "-C",
        "directory",
        metavar="DIR",
        help="The workspace, also pg://TENANT/NAME; else the one you are in.",
    ),
    click.option("--lower", metavar="DIR", help="A read-only layer below the workspace."),
    click.option("--agent", metavar="ID", help="The agent, where there are several."),
    click.option("--scope", metavar="main|shared", help="Who is listening. [default: main]"),
    click.option("--json", "as_json", is_flag=True, default=None, help="Print one JSON document."),
)


def shared_options(command: Command) -> Command:
    """Give a command the shared options and pass what they say as its first argument."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context()
        shared = context.ensure_object(Shared)
        for name in ("directory", "lower", "agent", "scope", "as_json"):
            value = kwargs.pop(name)
            if value is not None:
                setattr(shared, name, value)
        if not isinstance(context.command, click.Group):  # what stands after the verb may still win
            parse_scope(shared.scope)
        return command(shared, *args, **kwargs)

    wrapped: Any = update_wrapper(wrapper, command)
    # Click keeps a paragraph's lines after a backspace, which a raw docstring spells with two characters.
    wrapped.__doc__ = (command.__doc__ or "").replace("\\b\n", "\b\n")
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def owner_only(shared: Shared) -> None:
    """Refuse in shared scope what is the owner's alone."""
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope("memory")
