"""`carrel completion`: what lets a shell complete commands."""

import click
from click.shell_completion import get_completion_class

from carrel.cli import output
from carrel.cli.options import Shared, shared_options
from carrel.cli.verbs import VARIABLE

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@shared_options
def completion(shared: Shared, shell: str) -> None:
    r"""Print the script that lets SHELL complete commands, options, sessions, agents and files.

    Put the line of your shell below into its start-up file.

    \b
    Examples:
      eval "$(carrel completion bash)"                                     in ~/.bashrc
      eval "$(carrel completion zsh)"                                      in ~/.zshrc
      carrel completion fish > ~/.config/fish/completions/carrel.fish
    """
    chosen = get_completion_class(shell)
    assert chosen is not None
    script = chosen(click.get_current_context().find_root().command, {}, "carrel", VARIABLE).source()
    if shared.as_json:
        output.document({"shell": shell, "script": script})
    else:
        output.write(script)
