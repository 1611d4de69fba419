"""One workspace's rows of the index in a database: every statement names its tenant and workspace."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from carrel.index.cells import blob_of, clean
from carrel.postgres import Tenant

OWN = "tenant = %s AND workspace = %s"
"""What every statement asks for first; the two values of `Desk.own` go with it."""


class Desk:
    """A workspace of a tenant."""

    def __init__(self, tenant: Tenant, workspace: str) -> None:
        self.tenant = tenant
        self.workspace = workspace
        self.own = (tenant.name, workspace)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run one statement whose first two values are the tenant and the workspace."""
        return self.tenant.rows(sql, (*self.own, *values))

    def send(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run one like that whose answer nobody needs; in a transaction it goes with the next."""
        self.tenant.send(sql, (*self.own, *values))


class State(Struct, frozen=True, kw_only=True):
    """How the index of a workspace is; `generation` is another one after every change."""

    format: int = 0
    generation: int = 0
    taken: int = 0
    last_id: int = 0
    last_segment: int = 0
    chunks: int = 0
    vectors: int = 0
    embedder: str = ""
    dimensions: int = 0
    is_graphed: bool = False


STATE = "format, generation, taken, last_id, last_segment, chunks, vectors, embedder, dimensions, is_graphed"


def state_of(row: Sequence[Any]) -> State:
    """Return the state that a row of `STATE` tells."""
    told: dict[str, Any] = dict(zip(STATE.split(", "), row, strict=False))
    told["embedder"] = text_of(told["embedder"])
    return State(**told)


def key_of(path: str) -> bytes:
    """Return what a place is looked up by: its path may be longer than an index takes."""
    return sha256(blob_of(path)).digest()[:16]


def blob(text: str) -> bytes:
    """Return a text as the rows hold it; what is not Unicode becomes a mark that says so."""
    return clean(text).encode()


def text_of(data: bytes) -> str:
    """Return the text again."""
    return data.decode("utf-8", "replace")
