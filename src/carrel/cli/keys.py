"""`carrel keys list | create | revoke`: who may come in by HTTP, and how far."""

from datetime import timedelta
from typing import Any

import click
from msgspec import to_builtins

from carrel.cli import output
from carrel.cli.options import Shared, owner_only, shared_options
from carrel.cli.rehearsal import writes
from carrel.records.keys import RIGHTS, Key, Right, mint

_ACTOR = "owner"


@click.group()
@shared_options
def keys(_: Shared) -> None:
    r"""Make, list and revoke keys to this workspace over HTTP.

    \b
    Examples:
      carrel keys create ci --right read          for others' ears (shared scope)
      carrel keys create laptop --right write --hears main --days 90
      carrel keys list
      carrel keys revoke 3f9c2a7d10be
    """


@keys.command("list")
@shared_options
def list_(shared: Shared) -> None:
    r"""List the keys, revoked and expired ones too.

    \b
    Examples:
      carrel keys list --json
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        found, now = workspace.records.keys.all(), workspace.config.clock.now()
    if shared.as_json:
        output.document({"keys": [_known(key) for key in found]})
        return
    for key in found:
        state = "good" if key.opens(now) else "revoked" if key.revoked else "expired"
        about = output.printable(key.name)
        output.line(f"{key.id}  {key.right:5}  {key.scope:6}  {state:7}  {about}")
    if not found:
        output.line("There are no keys.", to_stderr=True)


@keys.command()
@click.argument("name")
@click.option(
    "--right", type=click.Choice(RIGHTS), default="read", show_default=True, help="How far it goes."
)
@click.option("--days", type=click.IntRange(1, 3_650), help="Good for so long; else until it is revoked.")
@click.option(
    "--hears",
    type=click.Choice(["shared", "main"]),
    default="shared",
    show_default=True,
    help="What its holder may hear.",
)
@shared_options
@writes
def create(shared: Shared, name: str, right: Right, days: int | None, hears: str) -> None:
    r"""Make a key and print it, this once.

    \b
    Examples:
      carrel keys create ci
      carrel keys create laptop --right write --hears main --days 90
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        now = workspace.config.clock.now()
        expires = now + timedelta(days=days) if days else None
        key, text = mint(name=name, right=right, scope=hears, now=now, expires=expires)
        workspace.records.keys.add(key)
        workspace.records.audit.note(
            at=now, actor=_ACTOR, action="key.create", target=key.id, detail={"right": right, "scope": hears}
        )
    if shared.as_json:
        output.document({**_known(key), "key": text})
        return
    output.line(text)
    output.line("It is not shown again. Send it as `Authorization: Bearer KEY`.", to_stderr=True)


@keys.command()
@click.argument("key", metavar="ID")
@shared_options
@writes
def revoke(shared: Shared, key: str) -> None:
    r"""Revoke a key: the next request with it is refused.

    \b
    Examples:
      carrel keys revoke 3f9c2a7d10be
    """
    owner_only(shared)
    with shared.open(team=True) as workspace:
        now = workspace.config.clock.now()
        revoked = workspace.records.keys.revoke(key, at=now)
        workspace.records.audit.note(at=now, actor=_ACTOR, action="key.revoke", target=revoked.id)
    if shared.as_json:
        output.document(_known(revoked))
    else:
        output.line(f"{revoked.id} opens nothing any more.")


def _known(key: Key) -> dict[str, Any]:
    """Return what is told of a key: not what opens."""
    told = to_builtins(key)
    del told["digest"]
    return told
