"""`carrel memory`: what the agent remembers, what changed in it, and what waits for its owner."""

import click

from carrel.cli import changes, facts, notebooks
from carrel.cli.consolidate import consolidate
from carrel.cli.forget import forget
from carrel.cli.options import Shared, shared_options
from carrel.cli.review import review
from carrel.cli.search import search


@click.group()
@shared_options
def memory(_: Shared) -> None:
    r"""See, correct and take back what the agent remembers.

    \b
    Examples:
      carrel memory status
      carrel memory search "Which phone does Ana use?"
      carrel memory add "All API calls go through src/lib/api.ts."
      carrel memory show MEMORY.md People
      carrel memory append MEMORY.md People "- Ana uses a Samsung."
      carrel memory review                     what waits for your word
      carrel memory history                    who changed what, and why
      carrel memory undo                       take the last change back
    """


_HELP = """Search what the agent remembers, and everything else that it has; the same as `carrel search`.

\b
Examples:
  carrel memory search "Which phone does Ana use?"
  carrel memory search samsung --in-agent kate --section People
  carrel memory search Samsung --mode literal --case --lines 2
"""

memory.add_command(click.Command("search", callback=search.callback, params=search.params, help=_HELP))
for command in (
    facts.status, facts.add, facts.facts, facts.pin, facts.extract, consolidate,
    notebooks.sections, notebooks.show, notebooks.append, notebooks.replace, notebooks.rename, notebooks.move,
    review, forget, changes.history, changes.diff, changes.undo,
):  # fmt: skip
    memory.add_command(command)
