"""`--dry-run`: a command works on copies, and what it did to them is told; docs/decisions/0022 says why."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from msgspec import to_builtins

from carrel import plainyaml
from carrel.cli import output
from carrel.cli.options import Shared
from carrel.cli.progress import waiting
from carrel.config.directories import STAGE_VARIABLE, user_directories
from carrel.home.address import is_address
from carrel.workspace.scope import Scope, parse_scope

if TYPE_CHECKING:
    from carrel.home.differences import Differences

Command = TypeVar("Command", bound=Callable[..., Any])

_HELP = "Show what would change, and change nothing."
_BY_RULES = "In a dry run no model is asked; rules stand in for it."
_NOTHING = "Nothing was changed."
_MOST_LINES = 40
_COLOURS = {"new": "green", "changed": "yellow", "removed": "red"}


def writes(command: Command) -> Command:
    """Give a command that changes something --dry-run; it stands below `shared_options`."""

    def wrapper(shared: Shared, *args: Any, dry_run: bool, **kwargs: Any) -> Any:
        if not dry_run:
            return command(shared, *args, **kwargs)
        with _staged(shared) as stage:
            if "model_name" in kwargs and not shared.as_json:
                output.line(_BY_RULES)
            return _rehearse(shared, stage, lambda: command(shared, *args, **kwargs))

    return click.option("--dry-run", is_flag=True, help=_HELP)(_wrapped(wrapper, command))


def foretells(command: Command) -> Command:
    """Let a command that has a --dry-run of its own work on copies meanwhile, so that it leaves no trace.

    Where a workspace is in a database, it looks at that itself.
    """

    def wrapper(shared: Shared, *args: Any, dry_run: bool, **kwargs: Any) -> Any:
        opened = (value for name, value in kwargs.items() if name != "target")  # which is only told
        named = [shared.directory, *opened]
        if not dry_run or any(isinstance(each, str) and is_address(each) for each in named):
            return command(shared, *args, dry_run=dry_run, **kwargs)
        with _staged(shared):
            return command(shared, *args, dry_run=True, **kwargs)

    return _wrapped(wrapper, command)


def _wrapped(wrapper: Callable[..., Any], command: Command) -> Command:
    wrapped: Any = update_wrapper(wrapper, command)
    return wrapped


class Stage(NamedTuple):
    """Where copies stand in for what would be written, and which are of the user's own directories."""

    folder: Path
    own: tuple[Path, ...]

    @property
    def root(self) -> Path | None:
        """The workspace that was opened first."""
        from carrel.home.stage import opened  # noqa: PLC0415 - for dry runs only

        return next((place for place in opened(self.folder) if place not in self.own), None)


@contextmanager
def _staged(shared: Shared) -> Generator[Stage]:
    """Let all that is opened meanwhile be a copy; at the end the copies are gone."""
    from tempfile import mkdtemp  # noqa: PLC0415 - as above

    from carrel.files.folders import remove_folder  # noqa: PLC0415 - as above
    from carrel.home.stage import staged  # noqa: PLC0415 - as above

    directories = user_directories(os.environ)
    stage = Stage(
        Path(os.path.realpath(mkdtemp(prefix="carrel-dry-run-"))),
        tuple(Path(os.path.realpath(place)) for place in (directories.data, directories.config)),
    )
    try:
        for place in stage.own:
            staged(place, stage.folder)
        output.manner.stage, shared.stage = str(stage.folder), stage.folder
        os.environ[STAGE_VARIABLE] = str(stage.folder)
        plainyaml.remember_in(None)
        yield stage
    finally:
        os.environ.pop(STAGE_VARIABLE, None)
        shared.stage = None
        with suppress(OSError):
            remove_folder(stage.folder)


def _rehearse(shared: Shared, stage: Stage, work: Callable[[], Any]) -> Any:
    """Do it on the stage, and tell what it says, then what it changed there."""
    from carrel.home.differences import differences  # noqa: PLC0415 - as above

    held = output.manner.held = [] if shared.as_json else None
    if not shared.as_json:
        output.line("Dry run: this would happen.")
    try:
        ended = work()
    finally:
        output.manner.held = None
    with waiting(shared, "Comparing"):
        found = differences(stage.folder, stage.root)
    is_hidden = parse_scope(shared.scope) is Scope.SHARED  # others learn the number alone
    if held is not None:
        told = {"count": len(found.files)} if is_hidden else to_builtins(found)
        output.document({**(held[-1] if held else {}), "dry_run": True, "would_change": told})
    elif is_hidden:
        output.line(f"This would change {len(found.files):,} files. {_NOTHING}")
    else:
        _show(found)
    return ended


def _show(found: "Differences") -> None:
    """Tell a person what would change: files with their lines, then records."""
    from carrel.cli.diffs import coloured  # noqa: PLC0415 - it loads the screen, and most commands show no diff

    if not found.files and not found.records:
        output.line("Nothing would change.")
        return
    output.line("\nThis would change:")
    for each in found.files:
        output.line(
            f"  {output.styled(f'{each.change:<8}', fg=_COLOURS[each.change])} {output.printable(each.path)}"
        )
        lines = each.diff.splitlines()
        for line in lines[:_MOST_LINES]:
            output.line(f"    {coloured(line)}")
        if (left := len(lines) - _MOST_LINES) > 0:
            output.line(f"    … and {left:,} more lines: --json shows all of them")
    for rows in found.records:
        output.line(f"  {'records':<8} {rows.table}: {rows.added:,} new, {rows.removed:,} gone")
    output.line(f"\n{_NOTHING} Next: the same command without --dry-run")
