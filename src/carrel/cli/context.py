"""`carrel context show | report`."""

import shutil

import click

from carrel.cli import output, picture
from carrel.cli.options import Shared, shared_options
from carrel.context.assemble import Assembly
from carrel.context.report import SCHEMA_VERSION


@click.group()
@shared_options
def context(_: Shared) -> None:
    r"""Show what the model would read, and why.

    \b
    Examples:
      carrel context report                         percent used, a bar, and a line per section
      carrel context show --query "Where were we?"  the prompt itself
      carrel --scope shared context report          what a group chat would see
    """


_session = click.option("--session", metavar="ID", help="The conversation; else none.")
_query = click.option("--query", metavar="TEXT", help="The user's message.")


@context.command()
@_session
@_query
@click.option("--format", "form", type=click.Choice(["text", "messages"]), default="text", show_default=True)
@click.option("--prepare", is_flag=True, help="Not only show: freeze the session and remember this call.")
@shared_options
def show(shared: Shared, session: str | None, query: str | None, form: str, *, prepare: bool) -> None:
    """Print exactly what the model would read.

    With --json or --format messages, as messages with the report; else as text with a line for each role.
    """
    assembly = _assemble(shared, session, query, for_real=prepare)
    if shared.as_json or form == "messages":
        messages = [message.to_json() for message in assembly.messages]
        output.document(
            {"schema_version": SCHEMA_VERSION, "messages": messages, "report": assembly.report.to_json()}
        )
    else:
        output.write(assembly.to_text())


@context.command()
@_session
@_query
@click.option("--oneline", is_flag=True, help="One line, for a status bar.")
@shared_options
def report(shared: Shared, session: str | None, query: str | None, *, oneline: bool) -> None:
    """Show how full the window is, with what, and what was cut, left out or hidden."""
    account = _assemble(shared, session, query, for_real=False).report
    if shared.as_json:
        output.document(account.to_json())
        return
    if oneline:
        output.line(picture.oneline(account))
        return
    output.line(picture.headline(account))
    for text in picture.bar(account, min(shutil.get_terminal_size().columns, 100)):
        output.line(text)
    output.line()
    for text in picture.table(account):
        output.line(text)
    if account.prefix.changed_by:
        change = account.prefix.changed_by
        output.line(f"\nThe cached prefix broke at {output.printable(change.section)}: {change.cause}.")
    for warning in account.warnings:
        output.line(f"warning: {output.printable(warning.message)} [{warning.code}]", to_stderr=True)


def _assemble(shared: Shared, session: str | None, query: str | None, *, for_real: bool) -> Assembly:
    with shared.open() as workspace:
        if for_real:
            if session is None:
                raise click.UsageError("--prepare needs a --session to remember.")
            return workspace.prepare(session, query, shared.scope)
        return workspace.assemble(session, query, shared.scope)
