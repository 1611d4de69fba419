"""Forgetting: what the owner names goes from everywhere, and what remains is told."""

from typing import Annotated

from fastapi import Depends
from msgspec import Meta, Struct

from carrel.http.desk import Admin
from carrel.http.routing import Routes, sent
from carrel.memory.forget.choice import Choice
from carrel.memory.forget.rows import ForgottenRow, forgotten_row

routes = Routes("memory", "/w/{workspace}")

Short = Annotated[str, Meta(max_length=200)]


class Forget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts by their ids, and those of which all the rest that is given is true.

    It is a dry run unless it says that it is none. `purge` takes it out of transcripts and history, too.
    """

    facts: Annotated[tuple[Short, ...], Meta(max_length=1_000)] = ()
    session: Short | None = None
    sender: Annotated[str, Meta(max_length=1_000)] | None = None
    file: Annotated[str, Meta(max_length=4_096)] | None = None
    query: Annotated[str, Meta(max_length=1_000)] | None = None
    dry_run: bool = True
    purge: bool = False


@routes.post("/memory:forget", ForgottenRow, takes=Forget)
def forget(desk: Admin, body: Annotated[Forget, Depends(sent(Forget))]) -> ForgottenRow:
    """Forget facts everywhere, and tell where copies remain. Without `dry_run: false` it only looks."""
    choice = Choice(
        facts=body.facts, session=body.session, sender=body.sender, file=body.file, query=body.query
    )
    done = desk.own.forgetting.forget(choice, purge=body.purge, dry_run=body.dry_run)
    if not body.dry_run:
        desk.note("memory.forget", facts=len(done.facts), removed=len(done.removed), purge=body.purge)
    return forgotten_row(done)
