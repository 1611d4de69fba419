"""One step of an import: what becomes of a piece, and the one change that makes it so."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from carrel.errors import CarrelError, Unavailable
from carrel.files import Unreadable
from carrel.importing.piece import Action, Piece, Row
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.screen.secrets import redact

BEFORE = "it was imported before"
CROWDED = "so much waits already that nobody would read more: review it, then import again"


class Put(Struct, frozen=True, kw_only=True):
    """Write a file, over the content with a digest where one is given; `kept`: so that it can be undone."""

    path: str
    data: bytes
    over: str | None = None
    kept: bool = False


class Edit(Struct, frozen=True, kw_only=True):
    """Do to a file what a proposal says, since nobody has to be asked."""

    proposal: Proposal


class Ask(Struct, frozen=True, kw_only=True):
    """Let a change wait for its owner."""

    proposal: Proposal


class Learn(Struct, frozen=True, kw_only=True):
    """Keep a fact."""

    fact: Fact


class Log(Struct, frozen=True, kw_only=True):
    """Write the log of a session, or its end behind the bytes that are there.

    Nothing is learnt from its first `unlearnt` entries by itself.
    """

    path: str
    data: bytes
    at: int
    agent: str
    session: str
    unlearnt: int = 0


class Hear(Struct, frozen=True, kw_only=True):
    """Record what was said in a session, each message once."""

    session: str
    messages: tuple[Mapping[str, Any], ...]
    unlearnt: int = 0


Deed = Put | Edit | Ask | Learn | Log | Hear


class Step(Struct, frozen=True, kw_only=True):
    """What becomes of a piece, the deed that does it, and the key by which it is known from then on.

    `waits` says that it is in no file before its owner says yes.
    """

    row: Row
    deed: Deed | None = None
    key: str = ""
    waits: bool = False


def step_of(
    piece: Piece, path: str, action: Action, reason: str = "", deed: Deed | None = None, *, key: str = ""
) -> Step:
    """Return the step that a piece takes to a path."""
    row = Row(source=piece.origin, target=path, action=action, reason=reason)
    return Step(row=row, deed=deed, key=key, waits=isinstance(deed, Ask))


def holds_secret(step: Step) -> bool:
    """Tell whether a step writes what looks like a secret: facts and proposals are screened, files not."""
    try:
        text = step.deed.data.decode() if isinstance(step.deed, Put | Log) else ""
    except UnicodeDecodeError:
        return False
    return bool(redact(text).kinds)


def is_fatal(error: CarrelError) -> bool:
    """Tell whether an error is of the disk or a database, so that going on makes no sense."""
    return isinstance(error, Unavailable) and not isinstance(error, Unreadable)
