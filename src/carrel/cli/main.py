"""The command line: `carrel [-C DIR] [--agent ID] [--scope S] VERB`, and what becomes of errors."""

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword

import click

from carrel import __version__, plainyaml
from carrel.cli import output
from carrel.cli.errors import exit_code, show_error
from carrel.cli.options import Shared, shared_options
from carrel.config import user_directories
from carrel.errors import CarrelError

# The module of a command is imported when the command runs, so that one verb does not pay for the others.
_COMMANDS = {
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
    "demo": ("carrel.cli.demo", "See Carrel at work on a sample workspace."),
}


class _Lazy(click.Group):
    """A group that knows its commands by name and loads each on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs, in the order a new user meets them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one verb."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        return getattr(import_module(_COMMANDS[cmd_name][0]), name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="carrel")
@shared_options
def carrel(_: Shared) -> None:
    r"""The workspace and memory layer for LLM agents.

    \b
    Examples:
      carrel init my-agent            make a workspace
      carrel -C my-agent context report   what the model would read, and what it costs
      carrel -C my-agent context show     the prompt itself
      carrel -C my-agent health           what a person should look at
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; every failure is a typed message, never a traceback."""
    try:
        with suppress(OSError):  # a home that cannot be found is told of where it is needed
            plainyaml.remember_in(user_directories(os.environ).cache / "yaml")
        ended = carrel.main(args=list(arguments), prog_name="carrel", standalone_mode=False)
    except output.ReaderGone:
        output.give_up()
        return 0
    except output.OutputFailed as error:
        output.give_up()
        show_error(error.code, error.message, error.hint, as_json=False)
        return exit_code(error)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user
        with suppress(output.ReaderGone):
            return _report(error, as_json="--json" in arguments)
        output.give_up()
        return 1
    return ended if isinstance(ended, int) else 0  # a check that did not pass ends with a code


def _report(error: Exception, *, as_json: bool) -> int:
    """Print an error in the shape of its kind and return the exit code."""
    if isinstance(error, CarrelError):
        show_error(error.code, error.message, error.hint, as_json=as_json)
        return exit_code(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        output.line(error.format_message(), to_stderr=True)
        return 2
    if isinstance(error, click.ClickException):
        context = error.ctx if isinstance(error, click.UsageError) else None
        path = context.command_path if context else "carrel"
        is_bare = isinstance(error, click.exceptions.NoArgsIsHelpError)
        message = "Name a command." if is_bare else error.format_message()
        show_error("usage", message, f"`{path} --help` shows how.", as_json=as_json)
        return 2
    show_error("internal", f"{type(error).__name__}: {error}", "Please report this.", as_json=as_json)
    return 1
