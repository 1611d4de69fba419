"""`carrel demo`: a sample workspace, and what a model would read of it."""

import os
import tempfile
from pathlib import Path

import click

from carrel import plainyaml
from carrel.app import Workspace
from carrel.cli import output, picture
from carrel.cli.options import Shared, shared_options
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget

SAMPLE = {
    "carrel.yaml": """\
layout: carrel
agents:
  - id: kate
    displayName: Kate
    systemPromptTemplate: You are {{agent.displayName}}. The date stands last, so that this stays cached.
""",
    "SOUL.md": "Kind, and exact.\n",
    "AGENTS.md": "Be brief. Say where a fact comes from.\n",
    "IDENTITY.md": "- **Name:** Kate\n- **Creature:** octopus\n- **Vibe:** warm but sharp\n- **Emoji:** 🐙\n",
    "USER.md": "Luis, in Bogota. Prefers Spanish.\n",
    "MEMORY.md": "## People\n\n- Ana uses a Samsung, not an iPhone.\n",
    "stack.md": "<!-- priority: 10 -->\n<!-- tags: code -->\nWe use Python.\n",
    "handbook.md": "# Handbook\n\n" + "A long page that nobody has shortened yet. " * 120 + "\n",
    "knowledge/KNOWLEDGE.md": "Start here.\n",
    "knowledge/api.md": "# API\n\nAll calls go through src/lib/api.ts.\n",
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Ship it safely\n---\nRun the checklist.\n",
}


@click.command()
@shared_options
def demo(shared: Shared) -> None:
    r"""See Carrel at work on a sample workspace, in a temporary directory that is removed afterwards.

    \b
    Examples:
      carrel demo
    """
    del shared
    with tempfile.TemporaryDirectory(prefix="carrel-demo-") as folder:
        root = Path(folder) / "kate"
        # The demo must not touch its user's own settings, caches or memory.
        environ = {**os.environ, "CARREL_HOME": str(Path(folder) / "home")}
        plainyaml.remember_in(Path(folder) / "home/cache/yaml")
        Workspace.init(root, layout="carrel", environ=environ)
        for path, text in SAMPLE.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        with Workspace.open(root, environ=environ) as workspace:
            _show(workspace)


def _show(workspace: Workspace) -> None:
    _heading("1. A directory of Markdown")
    for path in sorted(SAMPLE):
        output.line(f"  {path}")
    _heading("2. What the model would read, to the byte")
    assembly = workspace.prepare("demo", "Which phone does Ana use?")
    for text in assembly.to_text().splitlines():
        output.line(f"  {text[:100]}{'…' if len(text) > 100 else ''}")  # noqa: PLR2004 - what fits a terminal
    _heading("3. What it costs, and what stays cached between calls")
    _picture(workspace.assemble("demo", "And her address?"))
    _heading("4. The same with room for 200 tokens a file: what is cut is marked and reported")
    tight = Budget(file=200)
    _picture(workspace.assemble(query="And her address?", budget=tight))
    _heading("5. The same in a group chat: the owner's files stay with the owner")
    _picture(workspace.assemble(query="Which phone does Ana use?", scope="shared"))
    _heading("6. Health")
    health = workspace.health()
    output.line(
        f"  {health.files} files, {health.total_bytes:,} bytes, structure valid: {health.structure_valid}"
    )
    output.line("\nNow your own: carrel init my-agent && carrel -C my-agent context report")


def _heading(text: str) -> None:
    output.line(f"\n{output.styled(text, bold=True)}\n")


def _picture(assembly: Assembly) -> None:
    output.line(f"  {picture.headline(assembly.report)}")
    for text in (*picture.bar(assembly.report, 76), "", *picture.table(assembly.report)):
        output.line(f"  {text}")
