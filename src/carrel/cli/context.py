"""`carrel context show | report | explain | diff`."""

import shutil

import click

from carrel.cli import complete, output, picture
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import writes
from carrel.context.assemble import Assembly
from carrel.context.budget import Budget
from carrel.context.formats import to_anthropic, to_openai, to_responses
from carrel.context.report import SCHEMA_VERSION
from carrel.workspace.scope import HiddenByScope, Scope, parse_scope


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


FORMATS = {"openai": to_openai, "responses": to_responses, "anthropic": to_anthropic}

_session = click.option(
    "--session", metavar="ID", shell_complete=complete.sessions, help="The conversation; else none."
)
_query = click.option("--query", metavar="TEXT", help="The user's message.")
_model = click.option("--model", metavar="NAME", help="As it would be for another model than the settings'.")


@context.command()
@_session
@_query
@_model
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "messages", *FORMATS]),
    default="text",
    show_default=True,
    help="For people, as neutral messages, or as a provider's request body.",
)
@click.option("--prepare", is_flag=True, help="Not only show: freeze the session and remember this call.")
@shared_options
@writes
def show(
    shared: Shared, session: str | None, query: str | None, model: str | None, form: str, *, prepare: bool
) -> None:
    r"""Print exactly what the model would read.

    As text with a line for each role; with --json or another format as one JSON document with the report.

    \b
    Examples:
      carrel context show --query "Where were we?"
      carrel context show --query "Where were we?" --format anthropic
      carrel context show --session s1 --prepare --json
    """
    if not prepare:
        assembly = _assemble(shared, session, query, model)
    elif session is None:
        raise click.UsageError("--prepare needs a --session to remember.")
    elif model is not None:
        raise click.UsageError("--prepare is for the model of the settings: leave out --model.")
    else:
        with shared.open() as workspace:
            assembly = workspace.prepare(session, query, shared.scope)
    if form in FORMATS:
        _document(assembly, "request", FORMATS[form](assembly))
    elif shared.as_json or form == "messages":
        _document(assembly, "messages", [message.to_json() for message in assembly.messages])
    else:
        output.write(assembly.to_text())
        output.warnings(assembly.report.warnings)


@context.command()
@_session
@_query
@_model
@click.option("--oneline", is_flag=True, help="One line, for a status bar.")
@shared_options
def report(
    shared: Shared, session: str | None, query: str | None, model: str | None, *, oneline: bool
) -> None:
    r"""Show how full the window is, with what, and what was cut, left out or hidden.

    \b
    Examples:
      carrel context report
      carrel context report --oneline
      carrel context report --model gpt-4.1
      carrel --scope shared context report --json
    """
    account = _assemble(shared, session, query, model).report
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
    output.warnings(account.warnings)


@context.command(name="explain")
@click.argument("path", shell_complete=complete.files)
@_session
@_query
@shared_options
def explain_path(shared: Shared, path: str, session: str | None, query: str | None) -> None:
    r"""Say why a file is in the prompt, cut, out or hidden.

    \b
    Examples:
      carrel context explain USER.md
      carrel context explain memory/2026-04-20.md
    """
    if parse_scope(shared.scope) is Scope.SHARED:
        raise HiddenByScope(path)  # it tells of what others see, and that is for the owner
    with shared.open() as workspace:
        found = workspace.explain(path, session, query)
    if shared.as_json:
        output.document(found.to_json())
        return
    for scope, state in (("main", found.state), ("shared", found.shared)):
        output.line(f"{scope:6} {output.styled(state or 'not considered', bold=True)}")
    for sentence in found.because:
        output.line(f"  {output.printable(sentence)}")


@context.command()
@_session
@_query
@click.option("--scopes", is_flag=True, help="Compare main and shared scope.")
@click.option("--file", "file_limit", type=click.IntRange(0), help="Compare with this limit of one file.")
@click.option("--total", "total_limit", type=click.IntRange(0), help="Compare with this limit of all files.")
@shared_options
def diff(
    shared: Shared,
    session: str | None,
    query: str | None,
    file_limit: int | None,
    total_limit: int | None,
    *,
    scopes: bool,
) -> None:
    r"""Compare two contexts section by section.

    With --session alone: the session's last call, and one made now.

    \b
    Examples:
      carrel context diff --session s1
      carrel context diff --scopes
      carrel context diff --total 50000
    """
    if scopes and (file_limit is not None or total_limit is not None):
        raise click.UsageError("Compare either scopes or budgets.")
    with shared.open() as workspace:
        if scopes:
            compared = workspace.compare_scopes(session, query)
        elif file_limit is not None or total_limit is not None:
            budget = Budget(file=file_limit, total=total_limit)
            compared = workspace.compare_budgets(budget, session, query, shared.scope)
        elif session is not None:
            compared = workspace.compare_last(session, query, shared.scope)
        else:
            raise click.UsageError("Say what to compare: --session ID, --scopes, --file N or --total N.")
    if shared.as_json:
        output.document(compared.to_json())
        return
    for text in picture.comparison(compared):
        output.line(text)


def _document(assembly: Assembly, name: str, content: object) -> None:
    report = assembly.report.to_json()
    output.document({"schema_version": SCHEMA_VERSION, name: content, "report": report})


def _assemble(shared: Shared, session: str | None, query: str | None, model: str | None) -> Assembly:
    with waiting(shared, "Assembling"), shared.open() as workspace:
        return workspace.assemble(session, query, shared.scope, model=model)
