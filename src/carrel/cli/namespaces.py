"""`carrel namespaces list | enable | disable | rename | export`."""

import click

from carrel.cli import complete, output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.rehearsal import writes


@click.group()
@shared_options
def namespaces(_: Shared) -> None:
    r"""Look after what agents learnt beyond one workspace.

    A namespace holds an agent's experience. Its own agent always reads it; others do once it is enabled.

    \b
    Examples:
      carrel namespaces list
      carrel namespaces enable "Agent Experience: Kate"
      carrel namespaces export "Agent Experience: Kate" > kate.md
    """


@namespaces.command("list")
@shared_options
def list_(shared: Shared) -> None:
    r"""List the namespaces: whose they are, how large, and whether everyone reads them.

    \b
    Examples:
      carrel namespaces list
      carrel namespaces list --json
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        rows = workspace.memory.namespaces.list()
    if shared.as_json:
        output.document({"namespaces": [row.to_json() for row in rows]})
        return
    for row in rows:
        state = output.styled("enabled", fg="green") if row.enabled else output.styled("disabled", dim=True)
        key = output.styled(row.key, dim=True)
        output.line(f"{state:<8}  {output.printable(row.title)}  {key}  {row.facts:,} facts")
    if not rows:
        output.line("No namespaces yet: the first experience that is kept makes one.", to_stderr=True)


def _switched(shared: Shared, name: str, *, enabled: bool) -> None:
    owner_only(shared)
    with shared.open(team=True) as workspace:
        own = workspace.memory.namespaces
        row = own.enable(name) if enabled else own.disable(name)
    if shared.as_json:
        output.document(row.to_json())
    else:
        output.line(f"{output.printable(row.title)} is {'enabled' if row.enabled else 'disabled'}.")


@namespaces.command()
@click.argument("namespace", shell_complete=complete.namespaces)
@shared_options
@writes
def enable(shared: Shared, namespace: str) -> None:
    r"""Let every agent read a namespace, named by its key or its title.

    \b
    Examples:
      carrel namespaces enable "Agent Experience: Kate"
    """
    _switched(shared, namespace, enabled=True)


@namespaces.command()
@click.argument("namespace", shell_complete=complete.namespaces)
@shared_options
@writes
def disable(shared: Shared, namespace: str) -> None:
    r"""Keep a namespace to its own agent.

    \b
    Examples:
      carrel namespaces disable "Agent Experience: Kate"
    """
    _switched(shared, namespace, enabled=False)


@namespaces.command()
@click.argument("namespace", shell_complete=complete.namespaces)
@click.argument("title")
@shared_options
@writes
def rename(shared: Shared, namespace: str, title: str) -> None:
    r"""Give a namespace another title; its key stays.

    \b
    Examples:
      carrel namespaces rename "Agent Experience: Kate" "What Kate knows"
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        row = workspace.memory.namespaces.rename(namespace, title)
    if shared.as_json:
        output.document(row.to_json())
    else:
        output.line(f"{row.key} is called {output.printable(row.title)} now.")


@namespaces.command()
@click.argument("namespace", shell_complete=complete.namespaces)
@shared_options
def export(shared: Shared, namespace: str) -> None:
    r"""Print a namespace as Markdown.

    \b
    Examples:
      carrel namespaces export "Agent Experience: Kate" > kate.md
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        text = workspace.memory.namespaces.export(namespace)
    if shared.as_json:
        output.document({"namespace": namespace, "text": text})
    else:
        output.write(text)
