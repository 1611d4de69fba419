"""`carrel init`, `carrel trust`, `carrel health`."""

import click
from msgspec import to_builtins

from carrel.app import Workspace
from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.workspace.layout import LAYOUTS


@click.command()
@click.argument("directory_argument", metavar="[DIR]", required=False)
@click.option("--layout", default=LAYOUTS[0], show_default=True, metavar="|".join(LAYOUTS), help="Its kind.")
@shared_options
def init(shared: Shared, directory_argument: str | None, layout: str) -> None:
    r"""Make a workspace in DIR, or add what the one there lacks.

    A file that exists is never overwritten.

    \b
    Examples:
      carrel init my-agent
      carrel init --layout nexo kate
    """
    directory = directory_argument or shared.directory or "."
    made = Workspace.init(directory, layout=layout)
    if shared.as_json:
        output.document({"directory": directory, **to_builtins(made)})
        return
    for path in made.created:
        output.line(f"  {output.styled('made', fg='green')}  {path}")
    for path in made.kept:
        output.line(f"  {output.styled('kept', fg='yellow')}  {path}")
    output.line(f"\nNext: carrel -C {directory} context report")


@click.command()
@click.argument("directory_argument", metavar="[DIR]", required=False)
@shared_options
def trust(shared: Shared, directory_argument: str | None) -> None:
    """Let the settings in DIR name models, paths and commands.

    Read its carrel.yaml first. Trust ends by itself when one of those settings changes.
    """
    directory = directory_argument or shared.root
    Workspace.trust(directory)
    if shared.as_json:
        output.document({"directory": str(directory), "trusted": True})
    else:
        output.line(f"Trusted: {directory}")


@click.command()
@shared_options
def health(shared: Shared) -> None:
    r"""Look a workspace over: size, structure, and what a person should know.

    \b
    Examples:
      carrel health
      carrel -C my-agent health --json
    """
    with shared.open() as workspace:
        found = workspace.health()
    if shared.as_json:
        output.document({"schema_version": 1, **found.to_json()})
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
            output.line(f"          {finding.hint}")
