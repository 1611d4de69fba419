"""`carrel mcp`: serve an agent to MCP clients over standard input and output."""

from importlib.util import find_spec
from threading import Lock

import click

from carrel.cli.options import Shared, shared_options
from carrel.errors import Unavailable
from carrel.workspace.scope import Scope, parse_scope


class McpMissing(Unavailable):
    """The SDK of the protocol is not installed."""

    code = "mcp_missing"

    def __init__(self) -> None:
        super().__init__(
            "The MCP server needs the package mcp, which is not installed.",
            hint="Install it: pip install 'carrel[mcp]'",
        )


@click.command()
@click.option("--read-only", is_flag=True, help="Offer nothing that writes.")
@shared_options
def mcp(shared: Shared, *, read_only: bool) -> None:
    r"""Serve the agent's tools, memory and context to MCP clients over standard input and output.

    Agent and scope are fixed here; no client can change them. Unlike elsewhere the scope is shared unless you
    say main: with it, the client reads all that is yours.

    \b
    Examples:
      carrel -C my-agent mcp                        for anybody's ears
      carrel -C my-agent mcp --scope main           for your own assistant
      carrel -C my-agent mcp --agent kate --read-only
      claude mcp add carrel -- carrel -C ~/my-agent mcp --scope main
    """
    if find_spec("mcp") is None:
        raise McpMissing
    from carrel.mcp.seat import Seat  # noqa: PLC0415 - after it is known that the SDK is there
    from carrel.mcp.stdio import serve  # noqa: PLC0415 - as above

    with shared.open() as workspace:
        seat = Seat(workspace=workspace, scope=_scope(), may_write=not read_only, guard=Lock())
        serve(lambda _: seat)


def _scope() -> Scope:
    """Return the scope that somebody said, after the verb or before it, else shared."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        if given := context.params.get("scope"):
            return parse_scope(given)
        context = context.parent
    return Scope.SHARED
