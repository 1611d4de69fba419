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


memory.add_command(search)
