"""The options that every command takes, before the verb or after it."""

from collections.abc import Callable
from functools import update_wrapper
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import click
from msgspec import Struct

from carrel.app import Workspace, find_workspace
from carrel.cli import complete, output, steps
from carrel.cli.progress import bar
from carrel.files import show
from carrel.findings import Finding
from carrel.home.address import is_address
from carrel.opening import is_bare
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope

Command = TypeVar("Command", bound=Callable[..., Any])


class Shared(Struct):
    """What was given so far; what stands after the verb wins over what stands before it."""

    directory: str | None = None
    lower: str | None = None
    agent: str | None = None
    scope: str = "main"
    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    log: str | None = None
    stage: Path | None = None
    """Where the copies of a dry run are."""

    @property
    def root(self) -> str | Path:
        """The workspace meant: the one named, else the one around the current directory."""
        if self.directory is None:
            return find_workspace()
        return self.directory if is_address(self.directory) else Path(self.directory)

    @property
    def again(self) -> str:
        """How the next command begins that is about the same workspace and agent."""
        named = (("-C", self.directory), ("--agent", self.agent))
        given = (f" {option} {output.printable(quote(value))}" for option, value in named if value)
        return f"carrel{''.join(given)}"

    def copy_root(self) -> None:
        """Copy the workspace for a dry run, with a bar; elsewhere, or a second time, do nothing."""
        if self.stage is not None and isinstance(self.root, Path):
            from carrel.home.stage import staged  # noqa: PLC0415 - for dry runs only

            staged(self.root, self.stage, progress=bar(self))

    def open(self, *, team: bool = False) -> Workspace:
        """Open the workspace that the options name; as a `team`, an agent may be named and need not be."""
        team = team and self.agent is None
        self.copy_root()
        opened = Workspace.open(self.root, agent=self.agent, team=team, lower=self.lower)
        if self.directory is None and self.lower is None:
            _tell_of_bare(find_workspace())
        return opened

    def know_agent(self) -> None:
        """Refuse an agent that the workspace does not have, in a command that is about all of them."""
        if self.agent is not None:
            self.open().close()


def _tell_of_bare(root: Path) -> None:
    """Warn who stands in a directory without an agent: all would work, with nothing to read."""
    if is_bare(root):
        message = f"{show(str(root))} is no workspace yet: nothing of an agent is in it."
        hint = "`carrel init` makes it one; -C names another."
        output.warnings([Finding(code="bare_directory", message=message, hint=hint)])


_OPTIONS = (
    click.option(
        "-C",
        "directory",
        metavar="DIR",
        shell_complete=complete.directories,
        help="The workspace, also pg://TENANT/NAME; else the one you are in.",
    ),
    click.option(
        "--lower",
        metavar="DIR",
        shell_complete=complete.directories,
        help="A read-only layer below the workspace.",
    ),
    click.option(
        "--agent", metavar="ID", shell_complete=complete.agents, help="The agent, where there are several."
    ),
    click.option(
        "--scope",
        metavar="main|shared",
        shell_complete=complete.scopes,
        help="Who is listening. [default: main]",
    ),
    click.option("--json", "as_json", is_flag=True, default=None, help="Print one JSON document."),
    click.option("-q", "--quiet", is_flag=True, default=None, help="Nothing on standard error but errors."),
    click.option("-v", "--verbose", is_flag=True, default=None, help="Tell the steps, and log them."),
    click.option(
        "--log",
        metavar="FILE",
        shell_complete=complete.any_files,
        help="Log the steps here, a JSON object a line.",
    ),
)
NAMES = ("directory", "lower", "agent", "scope", "as_json", "quiet", "verbose", "log")


def shared_options(command: Command) -> Command:
    """Give a command the shared options and pass what they say as its first argument."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        context = click.get_current_context()
        shared = context.ensure_object(Shared)
        for name in NAMES:
            value = kwargs.pop(name)
            if value is not None:
                setattr(shared, name, value)
        if not isinstance(context.command, click.Group):  # what stands after the verb may still win
            parse_scope(shared.scope)
            output.manner.is_quiet = shared.quiet
            if shared.verbose or shared.log:
                steps.begin(context.command_path, shared.log, is_told=shared.verbose)
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
