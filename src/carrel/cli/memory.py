"""`carrel memory search`."""

import click

from carrel.cli.options import Shared, shared_options
from carrel.cli.search import search


@click.group()
@shared_options
def memory(_: Shared) -> None:
    r"""Search what the agent remembers.

    \b
    Examples:
      carrel memory search "Which phone does Ana use?"
      carrel memory search samsung --in-agent kate --section People
    """


_HELP = """Search what the agent remembers, and everything else that it has; the same as `carrel search`.

\b
Examples:
  carrel memory search "Which phone does Ana use?"
  carrel memory search samsung --in-agent kate --section People
  carrel memory search Samsung --mode literal --case --lines 2
"""

memory.add_command(click.Command("search", callback=search.callback, params=search.params, help=_HELP))
