"""`carrel skills list | show | lint`."""

from collections import Counter
from collections.abc import Iterable

import click
from msgspec import to_builtins

from carrel.cli import complete, output
from carrel.cli.errors import EXIT_CODES
from carrel.cli.options import Shared, shared_options
from carrel.errors import CheckFailed
from carrel.findings import Finding
from carrel.workspace.skills import skills_folder

SCHEMA_VERSION = 1
_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


@click.group()
@shared_options
def skills(_: Shared) -> None:
    r"""List, show and check skills.

    \b
    Examples:
      carrel skills list            what each costs, in the prompt and when it is read
      carrel skills show deploy     its instructions
      carrel skills lint            every rule of the Agent Skills specification
    """


@skills.command("list")
@shared_options
def list_(shared: Shared) -> None:
    r"""List the skills, with the tokens of their lines in the prompt and of their bodies.

    \b
    Examples:
      carrel skills list
      carrel --scope shared skills list --json
    """
    with shared.open(team=True) as workspace:
        found = workspace.skills(scope=shared.scope)
        costs = workspace.skill_costs(found)
        folder, in_prompt = skills_folder(workspace.layout)
        layout = workspace.layout.name
    prompt_tokens = sum(cost.line_tokens for cost in costs)
    if shared.as_json:
        document = {"folder": folder, "in_prompt": in_prompt, "prompt_tokens": prompt_tokens}
        document |= {"skills": to_builtins(costs), "hidden": found.withheld}
        findings = to_builtins(found.findings)
        output.document({"schema_version": SCHEMA_VERSION, **document, "findings": findings})
        return
    width = max([len(output.printable(cost.name)) for cost in costs] + [5])
    output.line(output.styled(f"{'in prompt':>9}  {'body':>7}  {'skill':{width}}  description", bold=True))
    for cost in costs:
        name = output.printable(cost.name)
        about = output.printable(cost.description)
        output.line(f"{cost.line_tokens:>9,}  {cost.body_tokens:>7,}  {name:{width}}  {about}".rstrip())
    count = "1 skill" if len(costs) == 1 else f"{len(costs):,} skills"
    output.line(f"{prompt_tokens:>9,}  tokens in every prompt for {count}")
    if not in_prompt:
        output.line(f"The layout {layout} lists no skills in the prompt.", to_stderr=True)
    if found.withheld:
        output.line(f"{found.withheld} more for the owner only (main scope)", to_stderr=True)
    show_findings(found.findings, to_stderr=True)


@skills.command()
@click.argument("name", shell_complete=complete.skills)
@shared_options
def show(shared: Shared, name: str) -> None:
    r"""Print a skill's instructions: its body, without front matter.

    \b
    Examples:
      carrel skills show deploy
    """
    with shared.open(team=True) as workspace:
        skill = workspace.skills(scope=shared.scope).named(name)
        tokens = workspace.counts.count(skill.document.text)
    if not shared.as_json:
        output.line(skill.document.text)
        return
    document = {"name": skill.name, "description": skill.description, "path": skill.document.path}
    document |= {"front_matter": to_builtins(skill.document.meta.extra)}
    output.document(
        {"schema_version": SCHEMA_VERSION, **document, "tokens": tokens, "body": skill.document.text}
    )


@skills.command()
@click.argument("name", required=False, shell_complete=complete.skills)
@shared_options
def lint(shared: Shared, name: str | None) -> None:
    r"""Check all skills, or one, against the Agent Skills specification; an error ends with code 4.

    \b
    Examples:
      carrel skills lint
      carrel skills lint deploy --json
    """
    with shared.open(team=True) as workspace:
        findings = workspace.lint_skills(name, scope=shared.scope)
    counts = Counter(finding.severity for finding in findings)
    if shared.as_json:
        passed = {"passed": not counts["error"], "errors": counts["error"], "warnings": counts["warning"]}
        output.document({"schema_version": SCHEMA_VERSION, **passed, "findings": to_builtins(findings)})
    else:
        show_findings(findings)
        output.line(f"{counts['error']} errors, {counts['warning']} warnings")
    if counts["error"]:
        click.get_current_context().exit(EXIT_CODES[CheckFailed])


def show_findings(findings: Iterable[Finding], *, to_stderr: bool = False) -> None:
    """Print findings for people, each with its next step."""
    for finding in findings:
        severity = output.styled(f"{finding.severity:7}", fg=_COLOURS[finding.severity])
        output.line(f"{severity} {output.printable(finding.message)} [{finding.code}]", to_stderr=to_stderr)
        if finding.hint:
            output.line(f"        {output.printable(finding.hint)}", to_stderr=to_stderr)
