"""`carrel database migrate | workspaces`: the tables in which workspaces at pg:// addresses live."""

import os

import click

from carrel.cli import output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.config import user_directories
from carrel.config.remote import find_remote


@click.group()
@shared_options
def database(_: Shared) -> None:
    r"""Look after the database that CARREL_DATABASE_URL names, or database.url in your own config.yaml.

    \b
    Examples:
      carrel database migrate                 once, and after every update of Carrel
      carrel init pg://acme/studio            then a workspace lives there
      carrel database workspaces acme         all that a tenant has
    """


@database.command()
@click.option("--dry-run", is_flag=True, help="Name the steps that there are to do, and do none.")
@shared_options
def migrate(shared: Shared, *, dry_run: bool) -> None:
    r"""Make the tables that Carrel needs, or bring them up to date; what is up to date stays as it is.

    It may be run twice, by several at once, and while servers of the version before work on.

    \b
    Examples:
      carrel database migrate --dry-run
      carrel database migrate
      carrel database migrate --json
    """
    from carrel.home.postgres import connect  # noqa: PLC0415 - few commands need a database

    found = connect(find_remote(os.environ, user_directories(os.environ)))
    done = found.pending() if dry_run else found.migrate()
    if shared.as_json:
        output.document({"done": list(done), "dry_run": dry_run})
        return
    for step in done:
        output.line(f"  {output.styled('to do' if dry_run else 'done', fg='green')}  {step}")
    if dry_run and done:
        output.line("Nothing was changed. Next: carrel database migrate")
    else:
        output.line("The database is up to date.")


@database.command()
@click.argument("tenant")
@shared_options
def workspaces(shared: Shared, tenant: str) -> None:
    r"""List the addresses of a tenant's workspaces, one a line.

    \b
    Examples:
      carrel database workspaces acme
      carrel serve $(carrel database workspaces acme)
    """
    from carrel.home.postgres import list_remote  # noqa: PLC0415 - as above

    owner_only(shared)
    found = [*map(str, list_remote(tenant, find_remote(os.environ, user_directories(os.environ))))]
    if shared.as_json:
        output.document({"workspaces": found})
        return
    for address in found:
        output.line(address)
    if not found:
        output.line(f"{output.printable(tenant)} has no workspace.", to_stderr=True)
