"""`carrel config show | schema | validate`."""

import json

import click

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.config import dump, effective
from carrel.config.schema import json_schema


@click.group()
@shared_options
def config(_: Shared) -> None:
    """Show, describe and check settings."""


@config.command()
@shared_options
def show(shared: Shared) -> None:
    """Print every value in force and where it comes from."""
    with shared.open() as workspace:
        in_force = workspace.config
    if shared.as_json:
        output.document(dump(in_force))
        return
    rows = [
        (key, json.dumps(value, ensure_ascii=False), origin) for key, value, origin in effective(in_force)
    ]
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        source = output.styled(origin, dim=origin == "default", fg=None if origin == "default" else "green")
        output.line(f"{key:{width}}  {output.printable(value)}  ({source})")
    for finding in in_force.findings:
        output.line(f"{finding.severity}: {finding.message} {finding.hint}", to_stderr=True)


@config.command()
@shared_options
def schema(_: Shared) -> None:
    """Print the JSON Schema of carrel.yaml, for editors and checks."""
    output.line(json.dumps(json_schema(), ensure_ascii=False, indent=2))


@config.command()
@shared_options
def validate(shared: Shared) -> None:
    """Check carrel.yaml; a wrong key or value is named with its line."""
    with shared.open() as workspace:
        findings = (*workspace.config.findings, *workspace.validate())
    if shared.as_json:
        found = [{"code": f.code, "message": f.message, "hint": f.hint} for f in findings]
        output.document({"valid": True, "findings": found})
        return
    output.line("The settings are valid.")
    for finding in findings:
        output.line(f"{finding.severity}: {finding.message} {finding.hint}".rstrip())
