"""`carrel tools list | call`."""

import sys
from pathlib import Path
from typing import TextIO

import click
from msgspec import json

from carrel import plainjson
from carrel.cli import complete, output
from carrel.cli.chat.voice import safe
from carrel.cli.options import Shared, shared_options
from carrel.cli.progress import waiting
from carrel.cli.rehearsal import writes
from carrel.files import READ_LIMIT

_session = click.option(
    "--session",
    metavar="ID",
    shell_complete=complete.sessions,
    help="The conversation that the tools are used in.",
)


@click.group()
@shared_options
def tools(_: Shared) -> None:
    r"""List and call the tools that a model may call.

    \b
    Examples:
      carrel tools list                                        what there is
      carrel tools call who_am_i                               what the agent can tell of itself
      carrel tools call read_file --args '{"path":"SOUL.md"}'  a tool with arguments
    """


@tools.command("list")
@_session
@shared_options
def list_(shared: Shared, session: str | None) -> None:
    r"""List the tools, what each does, and whether it can change anything.

    With --json also the JSON Schema of their arguments, as a model is told of it.

    \b
    Examples:
      carrel tools list
      carrel --scope shared tools list --json
    """
    with shared.open() as workspace:
        specs = workspace.tools(session=session, scope=shared.scope).specs()
    if shared.as_json:
        output.document({"tools": [spec.to_json() for spec in specs]})
        return
    width = max([len(spec.name) for spec in specs] + [4])
    output.line(output.styled(f"{'tool':{width}}         what it does", bold=True))
    for spec in specs:
        sign = output.styled("writes", fg="yellow") if spec.writes else "reads "
        output.line(f"{spec.name:{width}}  {sign} {output.printable(spec.description)}")


@tools.command()
@click.argument("name", shell_complete=complete.tools)
@click.option("--args", "given", metavar="JSON|@FILE|-", default="", help="One JSON object. [default: {}]")
@_session
@shared_options
@writes
def call(shared: Shared, name: str, given: str, session: str | None) -> None:
    r"""Call a tool as a model would, and print its result as JSON.

    The arguments are one JSON object: as given, from a file (@FILE), or from standard input (-).

    \b
    Examples:
      carrel tools call my_stats
      carrel tools call read_file --args '{"path": "SOUL.md"}' --json
      carrel tools call write_file --args @note.json
      carrel --scope shared tools call what_do_i_know
    """
    with shared.open() as workspace:
        registry = workspace.tools(session=session, scope=shared.scope)
        registry.get(name)  # who misspelt it should not have to type the arguments first
        arguments = _arguments(given)
        with waiting(shared, "Calling it"):
            result = registry.call(name, arguments)
    if shared.as_json and shared.stage is not None:
        output.document({"result": result})
        return
    text = plainjson.dumps(plainjson.unicode_only(result))
    # For people as JSON too, so that what a terminal would obey can be escaped and still be the same.
    output.line(text.decode() if shared.as_json else safe(json.format(text, indent=2).decode()))


def _arguments(given: str) -> str:
    """Return the arguments as text; bytes that are no text stay what they are, for they may name a file."""
    if given == "-":
        stream: TextIO | None = sys.stdin  # none where the shell closed it
        data = stream.buffer.read(READ_LIMIT + 1) if stream else b""
    elif given.startswith("@"):
        data = _content(given[1:])
    else:
        return given
    if len(data) > READ_LIMIT:
        raise click.UsageError(f"--args takes at most {READ_LIMIT:,} bytes.")
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff").strip()


def _content(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(READ_LIMIT + 1)
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise click.UsageError(f"--args cannot be read from {output.printable(path)}: {problem}.") from None
