"""`carrel demo`: a sample workspace, what a model reads of it, and a conversation that survives a crash."""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from carrel import plainyaml
from carrel.app import Workspace
from carrel.cli import output, picture
from carrel.cli.chat.voice import safe
from carrel.cli.demo_studio import NEIGHBOUR, furnish
from carrel.cli.demo_talk import speaking
from carrel.cli.options import Shared, shared_options
from carrel.cli.serve import serve
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

SESSION = "talk"
FACT = "Remember that the launch is on 12 May."
PACE = 0.15
"""Seconds a word: as slow as a model that thinks, so that there is a middle of an answer."""
PIECES = 20


@click.command()
@click.option("--serve", "is_served", is_flag=True, help="Open a richer one in your browser, until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Where to serve. [default: any free]")
@shared_options
def demo(shared: Shared, is_served: bool, port: int) -> None:
    r"""See Carrel at work on a sample workspace, in a temporary directory that is removed afterwards.

    \b
    Examples:
      carrel demo
      carrel demo --serve
    """
    if is_served:
        _serve(port)
        return
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
        asyncio.run(_talk(root, environ))
    output.line("\nNow your own: carrel init my-agent && carrel -C my-agent chat")


def _serve(port: int) -> None:
    """Serve a workspace in which weeks of work were done; it needs no key and no network."""
    with tempfile.TemporaryDirectory(prefix="carrel-demo-") as folder:
        os.environ["CARREL_HOME"] = str(Path(folder) / "home")  # the server's workers are told by it, too
        root = Path(folder) / "harbour"
        output.line(
            "A sample workspace is being furnished with three weeks of work; it takes a moment.",
            to_stderr=True,
        )
        furnish(root, os.environ)
        output.line("Open the link. Ctrl-C ends it and removes everything.", to_stderr=True)
        more = (str(root), str(root.parent / NEIGHBOUR))
        click.get_current_context().invoke(serve, more=more, port=port)


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


async def _talk(root: Path, environ: Mapping[str, str]) -> None:
    """Hold a conversation with the offline model, be killed in the middle of an answer, and go on."""
    before = _sent(root, environ)
    _heading("7. A conversation with the offline model, which needs no network and only quotes")
    async with speaking(root, SESSION, environ) as partner:
        await partner.ask("Which phone does Ana use?")
        await partner.ask(FACT)
    _heading("8. The context grew by what was said; what stood before it is unchanged, and stays cached")
    after = _sent(root, environ)
    for title, assembly in (("before", before), ("after", after)):
        output.line(f"  {title}: {picture.headline(assembly.report)}")
        width = round(76 * assembly.report.tokens.used / after.report.tokens.used)
        for text in picture.bar(assembly.report, width):
            output.line(f"  {text}")
    _heading("9. The process is killed in the middle of an answer (SIGKILL: it cannot save anything)")
    async with speaking(root, SESSION, environ, pace=PACE) as partner:
        await partner.ask("Please read handbook.md.", stop_after=PIECES)
        ended = await partner.kill()
    output.line(f"\n\n  Ended by signal {-ended}, after {PIECES} pieces of its answer.")
    _heading("10. A new process opens the session: what was said is there, and what is missing is told")
    async with speaking(root, SESSION, environ) as partner:
        for said in partner.opening["last"]:
            output.line(f"  {said['role']}: {' '.join(safe(said['text']).split())}")
        output.line(f"  {partner.opening['messages']} messages. {partner.opening['missing']}")
        _heading("11. It goes on: the fact was told before the crash, and is quoted with its source")
        await partner.ask("When is the launch?")


def _sent(root: Path, environ: Mapping[str, str]) -> Assembly:
    """Return what a next call would send, as another process sees it."""
    with Workspace.open(root, environ=environ) as workspace:
        return workspace.assemble(SESSION)


def _heading(text: str) -> None:
    output.line(f"\n{output.styled(text, bold=True)}\n")


def _picture(assembly: Assembly) -> None:
    output.line(f"  {picture.headline(assembly.report)}")
    for text in (*picture.bar(assembly.report, 76), "", *picture.table(assembly.report)):
        output.line(f"  {text}")
