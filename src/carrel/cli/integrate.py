"""`carrel integrate HARNESS install | status | remove`."""

import difflib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from carrel.adapters.harness import quick, settings
from carrel.adapters.harness.settings import Edit, Standing, Where
from carrel.adapters.harness.wire import HARNESSES
from carrel.app import Workspace
from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.files.resolve import RootMissing, RootNotDirectory
from carrel.findings import Finding
from carrel.home.address import is_address
from carrel.opening import absolute


@click.command()
@click.argument("harness", metavar="|".join(HARNESSES))
@click.argument("action", type=click.Choice(["install", "status", "remove"]), metavar="install|status|remove")
@click.option("--user", is_flag=True, help="In your own settings, for all projects.")
@click.option(
    "--project", metavar="DIR", help="In the settings of a project. [default: the current directory]"
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@shared_options
def integrate(
    shared: Shared, harness: str, action: str, *, user: bool, project: str | None, dry_run: bool
) -> None:
    r"""Plug Carrel into a coding agent: hooks in its settings, put in once and taken out without a trace.

    Other hooks stay as they are, and what stood there is kept beside. The hooks find the workspace around the
    project; with -C they use that one. Their scope is shared unless you say --scope main.

    \b
    Examples:
      carrel integrate claude install --dry-run        what would change
      carrel integrate claude install                  in this project's .claude/settings.json
      carrel -C ~/my-agent integrate codex install --user --scope main
      carrel integrate cursor status
      carrel integrate claude remove
    """
    if user and project is not None:
        raise click.UsageError("--user and --project name two different places; give one.")
    where: Where = "user" if user else "project"
    folder = _project(project)
    path = settings.settings_path(harness, where, project=folder, environ=os.environ)
    if action == "status":
        places: tuple[Where, ...] = ("project", "user") if not user and project is None else (where,)
        found: dict[Where, Standing] = {}
        for each in places:
            here = settings.settings_path(harness, each, project=folder, environ=os.environ)
            found[each] = settings.standing(here, harness)
        _show_status(shared, harness, found)
        return
    if action == "install":
        output.warnings(_unmet(shared, folder, where))
        edit = settings.install(
            path, harness, settings.commands_of(harness, _program(where), _options(shared))
        )
    else:
        edit = settings.remove(path, harness)
    _show_edit(shared, harness, edit if dry_run else settings.write(edit), dry_run=dry_run)


def _project(named: str | None) -> Path:
    """Return the project: one that was named is there, or nothing would ever read its settings."""
    folder = absolute(named or "")
    if named is not None and not folder.is_dir():
        raise RootNotDirectory(str(folder)) if folder.exists() else RootMissing(str(folder))
    return folder


def _unmet(shared: Shared, folder: Path, where: Where) -> Iterator[Finding]:
    """Yield what keeps the hooks from having anything to say; what was named must be there."""
    around = quick.around(str(folder)) if shared.directory is None and where == "project" else ""
    root = shared.directory or around
    if shared.directory is not None and not is_address(root) and not absolute(root).is_dir():
        raise RootMissing(root)
    if shared.agent is not None and root and not is_address(root):
        Workspace.open(root, agent=shared.agent).close()
    if shared.directory is None and where == "project" and not around:
        yield Finding(
            code="no_workspace_around",
            severity="warning",
            message=f"There is no workspace around {folder}: the hooks do nothing until there is one.",
            hint="Make one with `carrel init`, or name another with -C.",
        )
    if where == "project" and (environment := _environment_of(shutil.which("carrel") or "")):
        yield Finding(
            code="carrel_in_environment",
            severity="info",
            message=f"The hooks call `carrel`, which is found only where {environment} is active.",
            hint="Start the agent from there, or install Carrel for yourself, with `pipx` or `uv tool`.",
        )


def _program(where: Where) -> list[str]:
    """Return how to start this Carrel: by its name where a shell finds it, else by where it is."""
    found = shutil.which("carrel")
    if found and where == "user" and _environment_of(found):
        return [found]
    if found:
        return ["carrel"]
    script = Path(sys.executable).with_name("carrel")
    # Hooks are run in any project: without -P, code of that project would be run for Carrel's.
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "carrel"]


def _environment_of(program: str) -> str:
    """Return the virtual environment that puts a program on the path for as long as it is active, or ""."""
    active = os.environ.get("VIRTUAL_ENV", "")
    return active if active and Path(program).parent == Path(active) / "bin" else ""


def _options(shared: Shared) -> list[str]:
    """Return what the hooks are told beside the event: only what somebody has said."""
    given: list[str] = []
    if shared.directory is not None:
        named = shared.directory
        given += ["-C", named if is_address(named) else str(absolute(named))]
    if shared.agent is not None:
        given += ["--agent", shared.agent]
    context: click.Context | None = click.get_current_context()
    while context is not None:
        if scope := context.params.get("scope"):
            return [*given, "--scope", scope]
        context = context.parent
    return given


def _show_edit(shared: Shared, harness: str, edit: Edit, *, dry_run: bool) -> None:
    diff = "".join(_diff(edit))
    if shared.as_json:
        output.document(
            {
                "harness": harness,
                "path": str(edit.path),
                "changed": edit.is_change and not dry_run,
                "would_change": edit.is_change,
                "backup": str(edit.backup) if edit.backup else None,
                "diff": diff,
            }
        )
        return
    shown = output.printable(str(edit.path))
    if not edit.is_change:
        output.line(f"{shown}: nothing to change")
        return
    for line in diff.splitlines() if dry_run else ():
        output.line(output.printable(line))
    verb = "removed" if edit.after is None else "changed"
    output.line(f"{shown}: {'would be ' if dry_run else ''}{verb}")
    if edit.backup:
        output.line(f"as it was: {output.printable(str(edit.backup))}")


def _diff(edit: Edit) -> list[str]:
    before, after = ((text or "").splitlines(keepends=True) for text in (edit.before, edit.after))
    found = difflib.unified_diff(before, after, f"{edit.path} (now)", f"{edit.path} (then)", n=2)
    return [line if line.endswith("\n") else f"{line}\n" for line in found]


def _show_status(shared: Shared, harness: str, found: dict[Where, Standing]) -> None:
    if shared.as_json:
        places = [
            {
                "where": where,
                "path": str(each.path),
                "state": each.state,
                "commands": each.commands,
                "problem": each.problem,
            }
            for where, each in found.items()
        ]
        output.document({"harness": harness, "places": places})
        return
    for where, each in found.items():
        output.line(f"{where:8} {each.state:11} {output.printable(str(each.path))}")
        for event, command in each.commands.items():
            output.line(f"         {event:18} {output.printable(command)}")
        if each.problem:
            output.line(f"         {output.printable(each.problem)}")
