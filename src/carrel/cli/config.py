"""`carrel config show | schema | validate`."""

import json

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.config import dump, effective
from carrel.config.schema import json_schema
from carrel.context.template import parse_template


@click.group()
@shared_options
def config(_: Shared) -> None:
    r"""Show, describe and check settings.

    \b
    Examples:
      carrel config show        every value in force, and where it comes from
      carrel config validate    what is wrong, with its line
      carrel config schema      for editors
    """


@config.command()
@shared_options
def show(shared: Shared) -> None:
    r"""Print every value in force and where it comes from.

    \b
    Examples:
      carrel config show
      carrel -C my-agent config show --json
    """
    with shared.open(team=True) as workspace:
        in_force, filled = workspace.config, workspace.filled_settings()
    if shared.as_json:
        output.document(dump(in_force, filled))
        return
    rows = [
        (key, json.dumps(value, ensure_ascii=False), origin)
        for key, value, origin in effective(in_force, filled)
    ]
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        is_default = origin == "default"
        source = output.styled(output.printable(origin), dim=is_default, fg=None if is_default else "green")
        output.line(f"{key:{width}}  {output.printable(value)}  ({source})")
    output.warnings(in_force.findings)


@config.command()
@shared_options
def schema(_: Shared) -> None:
    r"""Print the JSON Schema of carrel.yaml, for editors and checks.

    \b
    Examples:
      carrel config schema > carrel.schema.json
    """
    output.line(json.dumps(json_schema(), ensure_ascii=False, indent=2))


@config.command()
@shared_options
def validate(shared: Shared) -> None:
    r"""Check carrel.yaml and the prompt templates in it; what is wrong is named with its line.

    \b
    Examples:
      carrel config validate
      carrel -C my-agent config validate --json
    """
    with shared.open(team=True) as workspace:
        for agent in workspace.config.settings.agents:
            parse_template(agent.system_prompt_template)
        findings = (*workspace.config.findings, *workspace.validate(scope=shared.scope))
    if shared.as_json:
        output.document({"valid": True, "findings": to_builtins(findings)})
        return
    output.line("The settings are valid.")
    output.warnings(findings)
