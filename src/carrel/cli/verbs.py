"""The commands by name: where each is, and what the list of them says of it; nothing is loaded here."""

import os
import sys

VARIABLE = "_CARREL_COMPLETE"
"""What the script of a shell sets when it asks."""

# The module of a command is imported when the command runs, so that one verb does not pay for the others.
COMMANDS = {
    "init": ("carrel.cli.workspace", "Make a workspace, or add what one lacks."),
    "restore": ("carrel.cli.workspace", "Bring back what a workspace's manifest says is there."),
    "trust": ("carrel.cli.workspace", "Let a workspace's own settings count in full."),
    "context": ("carrel.cli.context", "Show what the model would read, and why."),
    "chat": ("carrel.cli.chat", "Talk to the agent."),
    "search": ("carrel.cli.search", "Find what was written and said."),
    "index": ("carrel.cli.index", "Look after the index that search is answered from."),
    "memory": ("carrel.cli.memory", "See, correct and take back what the agent remembers."),
    "dream": ("carrel.cli.dream", "Promote what was recalled often, and take it back."),
    "namespaces": ("carrel.cli.namespaces", "Look after what agents learnt beyond one workspace."),
    "sessions": ("carrel.cli.sessions", "List, read, search, record and export sessions."),
    "sweep": ("carrel.cli.sweep", "Do what waits in the queue."),
    "jobs": ("carrel.cli.jobs", "See what waits in the queue, and what went wrong."),
    "tools": ("carrel.cli.tools", "List and call the agent's tools."),
    "skills": ("carrel.cli.skills", "List, show and check skills."),
    "agents": ("carrel.cli.agents", "List and show agents and subagents."),
    "files": ("carrel.cli.files", "Browse the files, and change them safely."),
    "mcp": ("carrel.cli.mcp", "Serve the agent's tools and memory to MCP clients."),
    "serve": ("carrel.cli.serve", "Serve workspaces over HTTP."),
    "hook": ("carrel.cli.hook", "Answer a coding agent's hook."),
    "integrate": ("carrel.cli.integrate", "Plug Carrel into a coding agent, and take it out again."),
    "keys": ("carrel.cli.keys", "Make, list and revoke keys for the server."),
    "export": ("carrel.cli.export", "Give away a workspace: as a ZIP, JSON, Markdown or a page of HTML."),
    "backup": ("carrel.cli.backup", "Keep a workspace safe in one file, and bring it back."),
    "import": ("carrel.cli.import_", "Bring in another workspace, other programs' memory, or an export."),
    "migrate": ("carrel.cli.migrate", "Move a workspace into a database, or out of it."),
    "database": ("carrel.cli.database", "Look after the database that workspaces live in."),
    "health": ("carrel.cli.workspace", "Look a workspace over."),
    "config": ("carrel.cli.config", "Show, describe and check settings."),
    "bench": ("carrel.cli.bench", "Measure Carrel on your machine, with a copy of your workspace."),
    "completion": ("carrel.cli.completion", "Print what lets your shell complete commands."),
    "demo": ("carrel.cli.demo", "See Carrel at work on a sample workspace."),
}


BELOW = {
    "context": "diff explain report show",
    "index": "rebuild status sync",
    "memory": "add append consolidate diff extract facts forget "
    "history move pin rename replace review search sections show status undo",
    "dream": "candidates revert run status",
    "namespaces": "disable enable export list rename",
    "sessions": "compact delete export forecast fork list record search show tail",
    "jobs": "list retry show",
    "tools": "call list",
    "skills": "lint list show",
    "agents": "list show",
    "files": "cat mv put rm tree",
    "keys": "create list revoke",
    "backup": "create restore verify",
    "database": "migrate workspaces",
    "config": "schema show validate",
}
"""The verbs of those that are groups, for a shell that asks for them."""


_ALIKE = 3


def alike(word: str) -> list[str]:
    """Return what somebody may have meant who typed this first: a verb spelt otherwise, or one of a group."""
    from difflib import get_close_matches  # noqa: PLC0415 - for who misspelt it

    inside = [f"{group} {word}" for group, verbs in BELOW.items() if word in verbs.split()]
    return inside[:_ALIKE] or get_close_matches(word, COMMANDS, _ALIKE)


def offer(words: list[str], number: int, shell: str) -> list[str] | None:
    """Return the lines that a shell is answered while the first or second word is typed, none for others.

    What takes loading a command is for whoever loads it: options, arguments, verbs of verbs.
    """
    before, begun = words[1:number], words[number] if number < len(words) else ""
    if any(word.startswith("-") for word in (*before, begun)):
        return None
    if not before:
        names = [*COMMANDS]
    elif len(before) == 1 and before[0] in BELOW:
        names = BELOW[before[0]].split()
    else:
        return None
    found = [name for name in names if name.startswith(begun)]
    if shell == "zsh_complete":
        return [line for name in found for line in ("plain", name, _told(name, before))]
    return [f"plain,{name}" for name in found]


def _told(name: str, before: list[str]) -> str:
    return "_" if before else COMMANDS[name][1].replace(":", "\\:")


def answer_shell() -> bool:
    """Answer a shell that completes a verb, and tell whether that is done."""
    shell, number = os.environ.get(VARIABLE, ""), os.environ.get("COMP_CWORD", "")
    if shell not in ("bash_complete", "zsh_complete") or not number.isdecimal():
        return False
    found = offer(os.environ.get("COMP_WORDS", "").split(), int(number), shell)
    if found is not None:
        sys.stdout.buffer.write("".join(f"{line}\n" for line in found).encode())
    return found is not None
