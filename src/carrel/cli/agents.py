"""`carrel agents list | show`."""

import json
from collections.abc import Iterator

import click
from msgspec import to_builtins

from carrel.app import DEFAULT_AGENT, Workspace
from carrel.cli import complete, output
from carrel.cli.options import Shared, shared_options
from carrel.cli.skills import show_findings
from carrel.config import Config, effective, flatten
from carrel.settings import AgentSettings, Settings
from carrel.workspace.subagents import Subagent, UnknownSubagent

SCHEMA_VERSION = 1
_ELSEWHERE = {
    "model": "model.name",
    "context_window": "model.context_window",
    "memory_tokens": "budgets.memory_tokens",
}
"""Where an agent's value comes from when it has none of its own."""


@click.group()
@shared_options
def agents(_: Shared) -> None:
    r"""List and show the configured agents and the subagents that files declare.

    \b
    Examples:
      carrel agents list
      carrel agents show researcher
    """


@agents.command("list")
@shared_options
def list_(shared: Shared) -> None:
    r"""List agents and subagents, where each is declared, and the tokens of its own prompt.

    \b
    Examples:
      carrel agents list
      carrel -C my-agent agents list --json
    """
    shared.know_agent()
    with Workspace.open(shared.root, team=True) as workspace:
        subagents = workspace.subagents(scope=shared.scope)
        rows = workspace.agents(subagents)
    if shared.as_json:
        document = {"agents": to_builtins(rows), "hidden": subagents.withheld}
        findings = to_builtins(subagents.findings)
        output.document({"schema_version": SCHEMA_VERSION, **document, "findings": findings})
        return
    width = max([len(row.id) for row in rows] + [2])
    output.line(output.styled(f"{'prompt':>9}  {'kind':8}  {'id':{width}}  declared", bold=True))
    for row in rows:
        about = " · ".join(output.printable(text) for text in (row.name, row.description) if text)
        declared = output.printable(row.declared)
        output.line(
            f"{row.tokens:>9,}  {row.kind:8}  {row.id:{width}}  {declared}{f'  {about}' if about else ''}"
        )
    if subagents.withheld:
        output.line(f"{subagents.withheld} more for the owner only (main scope)", to_stderr=True)
    show_findings(subagents.findings, to_stderr=True)


@agents.command()
@click.argument("name", metavar="ID", shell_complete=complete.colleagues)
@shared_options
def show(shared: Shared, name: str) -> None:
    r"""Show an agent's settings in force and where each comes from, or a subagent's declaration.

    \b
    Examples:
      carrel agents show main
      carrel agents show researcher --json
    """
    shared.know_agent()
    with Workspace.open(shared.root, team=True) as workspace:
        found = workspace.subagents(scope=shared.scope)
        configured = {agent.id: agent for agent in workspace.config.settings.agents}
        configured = configured or {DEFAULT_AGENT: AgentSettings(id=DEFAULT_AGENT)}
        if name in configured:
            _show_agent(workspace.config, configured[name], as_json=shared.as_json)
            return
        subagents = {each.id: each for each in found.loaded}
        if name not in subagents:
            raise UnknownSubagent(name, [*configured, *subagents])
        tokens = workspace.counts.count(subagents[name].prompt)
    _show_subagent(subagents[name], tokens, as_json=shared.as_json)


def _show_agent(config: Config, agent: AgentSettings, *, as_json: bool) -> None:
    rows = list(_in_force(config, agent))
    if as_json:
        settings = [
            {"key": key, "value": to_builtins(value), "origin": origin} for key, value, origin in rows
        ]
        declared = config.origins.get(f"agents.{agent.id}.id", "default")
        document = {"kind": "agent", "id": agent.id, "declared": declared, "settings": settings}
        output.document({"schema_version": SCHEMA_VERSION, **document})
        return
    width = max(len(key) for key, _, _ in rows)
    for key, value, origin in rows:
        text = json.dumps(to_builtins(value), ensure_ascii=False)
        output.line(f"{key:{width}}  {output.printable(text)}  ({output.printable(origin)})")


def _in_force(config: Config, agent: AgentSettings) -> Iterator[tuple[str, object, str]]:
    """Yield each setting of an agent with its origin; what it lacks comes from the workspace's settings."""
    shared = {key: (value, origin) for key, value, origin in effective(config)}
    for key, value in flatten(Settings(agents=(agent,))).items():
        name = ".".join(key[2:])
        if key[0] == "agents" and value is None and name in _ELSEWHERE:
            inherited, origin = shared[_ELSEWHERE[name]]
            yield name, inherited, f"{_ELSEWHERE[name]}, {origin}"
        elif key[0] == "agents":
            yield name, value, config.origins.get(".".join(key), "default")


def _show_subagent(subagent: Subagent, tokens: int, *, as_json: bool) -> None:
    declared = to_builtins(subagent.declared)
    if as_json:
        document = {"kind": "subagent", "id": subagent.id, "declared": subagent.document.path}
        document |= {"description": subagent.description, "settings": declared}
        document |= {"extra": to_builtins(subagent.extra), "tokens": tokens, "prompt": subagent.prompt}
        output.document({"schema_version": SCHEMA_VERSION, **document})
        return
    rows = {"declared": subagent.document.path, "description": subagent.description, **declared}
    rows |= subagent.extra
    width = max(len(output.printable(key)) for key in rows)
    for key, value in rows.items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(to_builtins(value), ensure_ascii=False)
            output.line(f"{output.printable(key):{width}}  {output.printable(text)}")
    output.line(f"\n{subagent.prompt}")
