"""`carrel init`, `carrel restore`, `carrel trust`, `carrel health`."""

from shlex import quote

import click
from msgspec import to_builtins

from carrel.app import Workspace
from carrel.cli import complete, output
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import writes
from carrel.making import Made
from carrel.workspace.layout import LAYOUTS


@click.command()
@click.argument("directory_argument", metavar="[DIR]", required=False, shell_complete=complete.directories)
@click.option(
    "--layout",
    shell_complete=complete.layouts,
    metavar="|".join(LAYOUTS),
    help="Its kind, also ./my-layout.yaml; else what it is already, else carrel.",
)
@shared_options
@writes
def init(shared: Shared, directory_argument: str | None, layout: str | None) -> None:
    r"""Make a workspace in DIR, or add what the one there lacks.

    A file that exists is never overwritten. Settings that were there before are trusted only if they name
    no models, paths or commands.

    \b
    Examples:
      carrel init my-agent
      carrel init --layout nexo kate
    """
    directory = directory_argument or shared.directory or "."
    _show(Workspace.init(directory, layout=layout), directory, as_json=shared.as_json)


@click.command()
@click.argument("directory_argument", metavar="[DIR]", required=False, shell_complete=complete.directories)
@shared_options
@writes
def restore(shared: Shared, directory_argument: str | None) -> None:
    r"""Bring back what DIR should hold by its own manifest: .squad-config.json, else carrel.yaml.

    What is missing is made; a file that exists is never overwritten.

    \b
    Examples:
      carrel restore my-squad
      carrel restore --json
    """
    directory = directory_argument or str(shared.root)
    _show(Workspace.restore(directory), directory, as_json=shared.as_json)


@click.command()
@click.argument("directory_argument", metavar="[DIR]", required=False, shell_complete=complete.directories)
@shared_options
@writes
def trust(shared: Shared, directory_argument: str | None) -> None:
    r"""Let the settings in DIR name models, paths and commands.

    Read its carrel.yaml first. Trust ends by itself when one of those settings changes.

    \b
    Examples:
      carrel trust my-agent
      carrel trust
    """
    directory = directory_argument or shared.root
    Workspace.trust(directory)
    if shared.as_json:
        output.document({"directory": str(directory), "trusted": True})
    else:
        output.line(f"Trusted: {output.printable(str(directory))}")


@click.command()
@shared_options
def health(shared: Shared) -> None:
    r"""Look a workspace over: size, structure, and what a person should know.

    In shared scope nothing is said of private files but that they are counted.

    \b
    Examples:
      carrel health
      carrel -C my-agent health --json
    """
    with waiting(shared, "Looking it over"), shared.open(team=True) as workspace:
        found = workspace.health(scope=shared.scope)
    if shared.as_json:
        output.document(found.to_json())
        return
    whole = output.styled("whole", fg="green") if found.structure_valid else output.styled("broken", fg="red")
    output.line(f"{found.files:,} files · {found.total_bytes:,} bytes · structure {whole}")
    if not found.findings:
        output.line("Nothing to see to.")
    colours = {"error": "red", "warning": "yellow", "info": "blue"}
    for finding in found.findings:
        severity = output.styled(f"{finding.severity:7}", fg=colours[finding.severity])
        output.line(f"  {severity} {output.printable(finding.message)} [{finding.code}]")
        if finding.hint:
            output.line(f"          {output.printable(finding.hint)}")


def _show(made: Made, directory: str, *, as_json: bool) -> None:
    """Tell what was made, what was kept, whether the whole is trusted, and what to do next."""
    step = f"carrel trust {quote(directory)}"
    if as_json:
        hint = "" if made.trusted else f"Read its settings, then: {step}"
        output.document({"directory": directory, **to_builtins(made), "hint": hint})
        return
    for path in made.created:
        output.line(f"  {output.styled('made', fg='green')}  {output.printable(path)}")
    for path in made.kept:
        output.line(f"  {output.styled('kept', fg='yellow')}  {output.printable(path)}")
    agent = f" --agent {quote(made.agents[0])}" if len(made.agents) > 1 else ""
    output.line(f"\nNext: carrel -C {output.printable(quote(directory))}{agent} context report")
    if not made.trusted:
        output.warnings(made.findings)
        output.line(f"Not trusted. Read its settings, then: {output.printable(step)}", to_stderr=True)
