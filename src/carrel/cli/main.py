"""The command line: `carrel [-C DIR] [--agent ID] [--scope S] VERB`, and what becomes of errors."""

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING

import click

from carrel import __version__, plainyaml
from carrel.cli import output, steps
from carrel.cli.errors import exit_code, show_error
from carrel.cli.options import Shared, shared_options
from carrel.cli.verbs import COMMANDS, alike
from carrel.config import user_directories
from carrel.errors import CarrelError
from carrel.telemetry import kind_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class _Lazy(click.Group):
    """A group that knows its commands by name and loads each on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs, in the order a new user meets them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one verb."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        return getattr(import_module(COMMANDS[cmd_name][0]), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb, or say which may be meant: click would look at loaded ones only."""
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing or not name[:1].isalnum():
            return super().resolve_command(ctx, args)
        near = alike(name)
        also = f" Did you mean {' or '.join(f'`carrel {words}`' for words in near)}?" if near else ""
        raise click.UsageError(f"No such command {name!r}.{also}", ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete a verb without loading any."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell that asks needs it

        found = [
            CompletionItem(name, help=told)
            for name, (_, told) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return found or super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


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
    output.begin()
    code, error = _run(arguments)
    try:
        steps.end(code, error)
    except CarrelError as failed:  # the command is done all the same
        show_error(failed.code, failed.message, failed.hint, as_json=False)
    return code


def _run(arguments: Sequence[str]) -> tuple[int, str]:
    """Run a command; return its exit code and the code of its error."""
    try:
        with suppress(OSError):  # a home that cannot be found is told of where it is needed
            plainyaml.remember_in(user_directories(os.environ).cache / "yaml")
        ended = carrel.main(args=list(arguments), prog_name="carrel", standalone_mode=False)
    except output.ReaderGone:
        output.give_up()
        return 0, ""
    except output.OutputFailed as error:
        output.give_up()
        show_error(error.code, error.message, error.hint, as_json=False)
        return exit_code(error), error.code
    except (click.Abort, KeyboardInterrupt):
        return 130, "interrupted"
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user
        with suppress(output.ReaderGone):
            return _report(error, as_json="--json" in arguments), kind_of(error)
        output.give_up()
        return 1, kind_of(error)
    return (ended if isinstance(ended, int) else 0), ""  # a check that did not pass ends with a code


def _report(error: Exception, *, as_json: bool) -> int:
    """Print an error in the shape of its kind and return the exit code."""
    if isinstance(error, CarrelError):
        show_error(error.code, error.message, error.hint, as_json=as_json)
        return exit_code(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and not as_json:
        output.line(error.format_message(), is_error=True)
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
