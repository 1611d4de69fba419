"""A workspace in a database: files, records and index are rows of its tenant, and no disk is written to."""

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from carrel.clock import Clock
from carrel.config import Approvals
from carrel.config.remote import Remote
from carrel.errors import NotFound, Unavailable
from carrel.files import FileStore
from carrel.files.paths import clean
from carrel.files.tenant import within
from carrel.home.address import Address
from carrel.records import Records
from carrel.tokens import Tokenizer
from carrel.workspace.counts import TokenCounts

if TYPE_CHECKING:  # a report has no use for them
    from carrel.index import Index
    from carrel.index.embed import Embedder, EmbedderChoice
    from carrel.postgres import Postgres, Tenant
    from carrel.postgres.bell import Bell
    from carrel.postgres.leases import Leases
    from carrel.records.moving import Rows
    from carrel.runtime.delegation import Seat
    from carrel.runtime.edit import Trash
    from carrel.sessions.offsets import Offsets

NAMESPACES, TRUST, TRASH, SESSIONS = ".namespaces", ".trust", ".trash", ".sessions"
"""Stores of Carrel's own among the workspaces of a tenant; no address can name one."""


class PostgresMissing(Unavailable):
    """What speaks to a database, or to an object store, is not installed."""

    code = "postgres_missing"

    def __init__(self, extra: str) -> None:
        super().__init__(f"Carrel is installed without {extra}.", hint=f"pip install 'carrel[{extra}]'")


class NoSuchWorkspace(NotFound):
    """The tenant has no workspace of this name."""

    code = "no_such_workspace"

    def __init__(self, address: Address) -> None:
        super().__init__(f"There is no workspace at {address}.", hint=f"carrel init {address} makes it.")


class PostgresHome(Struct, frozen=True, kw_only=True):
    """The rows of one workspace; what is only a cache lives in the memory of the process."""

    address: Address
    database: "Postgres"
    tenant: "Tenant"
    files: FileStore
    root: None = None

    @property
    def location(self) -> str:
        """The address."""
        return str(self.address)

    @property
    def clock(self) -> Clock:
        """The database's: servers do not agree on the time, and what is due is due for all of them."""
        from carrel.postgres.clock import PostgresClock  # noqa: PLC0415 - as all that loads a driver

        return PostgresClock(self.tenant)

    @property
    def approvals(self) -> Approvals:
        """A list of the tenant's, with only this workspace on it: nobody waits for others' approvals."""
        return Approvals(
            name=self.location,
            shown=self.location,
            open=lambda: self._own(TRUST),
            file=f"{self.address.workspace}.json",
            place=f"the trust of {self.location}",
        )

    def owned(self, *, known: bool) -> "PostgresHome":
        """Return the same home: nothing of what Carrel keeps is among its files."""
        del known
        return self

    def moved_to(self, folder: str) -> "PostgresHome":
        """Return a folder of this workspace as the home of an agent that has it for itself."""
        folder = clean(folder)
        inner = f"{self.address.folder}/{folder}" if self.address.folder else folder
        return replace(self, address=replace(self.address, folder=inner), files=within(self.files, folder))

    def seated(self, seat: "Seat") -> "PostgresHome":
        """Return the folder of a delegate that works apart."""
        return self.moved_to(seat.folder)

    def has_records(self) -> bool:
        """Tell whether anything can have been recorded."""
        return True

    def records(self) -> Records:
        """Open the records."""
        from carrel.records.postgres import PostgresRecords  # noqa: PLC0415 - as all that loads a driver

        return PostgresRecords(self.tenant, self.address.name)

    def rows(self) -> "Rows":
        """Open the same as rows, to be moved."""
        from carrel.records.moving.postgres import PostgresRows  # noqa: PLC0415 - few workspaces are moved

        return PostgresRows(self.tenant, self.address.name)

    def inner(self) -> list[str]:
        """Return the folders whose agents have records."""
        from carrel.records.moving.postgres import names_below  # noqa: PLC0415 - as above

        start = f"{self.address.name}/"
        return [name.removeprefix(start) for name in names_below(self.tenant, start)]

    def counts(self, tokenizer: Tokenizer) -> TokenCounts:
        """Return token counts that last as long as the process."""
        return TokenCounts(tokenizer, None)

    def offsets(self) -> "Offsets":
        """Return what is known of logs, as long as the process lasts."""
        from carrel.sessions.offsets import Offsets  # noqa: PLC0415 - for conversations only

        return Offsets(None)

    def derived(self) -> FileStore:
        """Return the store of what is derived from sessions, which other servers see as well."""
        return self._own(f"{SESSIONS}/{self.address.name}")

    def trash(self) -> "Trash":
        """Return the trash."""
        from carrel.runtime.edit import Trash  # noqa: PLC0415 - loaded by who removes something

        return Trash(store=self._own(f"{TRASH}/{self.address.name}"), place=f"the trash of {self.location}")

    def find_trash(self) -> FileStore | None:
        """Return what was removed."""
        return self._own(f"{TRASH}/{self.address.name}")

    def find_namespaces(self) -> FileStore | None:
        """Return the tenant's namespaces."""
        return self._own(NAMESPACES)

    def open_namespaces(self) -> FileStore:
        """Return the same."""
        return self._own(NAMESPACES)

    def leases(self) -> "Leases":
        """Return what says which server of this database does a thing."""
        from carrel.postgres.leases import Leases  # noqa: PLC0415 - only servers need it

        return Leases(self.database)

    def bell(self) -> "Bell":
        """Return what all servers of this database hear."""
        from carrel.postgres.bell import Bell  # noqa: PLC0415 - as above

        return Bell(self.database)

    def foreseeing(self, *work: Hashable) -> AbstractContextManager[None]:
        """Ask at once for what work of this kind is known to ask."""
        return self.tenant.foreseeing((self.address, *work))

    def index(self, embedder: "Embedder | None") -> "Index":
        """Open the index."""
        from carrel.index.postgres import PostgresIndex  # noqa: PLC0415 - as above

        return PostgresIndex(self.tenant, self.address.name, embedder=embedder)

    def embedder(self, choice: "EmbedderChoice", environ: Mapping[str, str]) -> "Embedder | None":
        """Open what makes vectors; those that were made are in the index."""
        from carrel.index.embed import open_embedder  # noqa: PLC0415 - for searching only

        return open_embedder(choice, environ=environ)

    def indexed(self) -> list[str]:
        """Return the index, if it holds anything."""
        return ["index"] if self.index(None).status().chunks else []

    def set_aside(self) -> list[str]:
        """Return nothing: of what a database holds nothing is set aside."""
        return []

    def sweep_files(self) -> None:
        """Do nothing: of what was not written to its end, a database keeps nothing."""

    def drop_index(self) -> None:
        """Remove its rows."""
        from carrel.index.postgres import PostgresIndex  # noqa: PLC0415 - as above

        PostgresIndex(self.tenant, self.address.name, embedder=None).drop()

    def _own(self, name: str) -> FileStore:
        """Return a store of Carrel's own, in the database wherever the files are."""
        return _rows_of(self.tenant, name)


def open_remote(address: Address, remote: Remote) -> PostgresHome:
    """Return the home of a workspace that was made before."""
    home = _home(address, remote)
    if not home.tenant.rows(_FIND, (address.tenant, address.workspace)):
        raise NoSuchWorkspace(address)
    return home


def list_remote(tenant: str, remote: Remote) -> list[Address]:
    """Return the workspaces of a tenant by name."""
    rows = connect(remote).tenant(tenant).rows(_LIST, (tenant,))
    return [Address(tenant, name) for (name,) in rows]


def make_remote(address: Address, remote: Remote) -> None:
    """Make the place of a workspace where there is none."""
    _home(address, remote).tenant.rows(_MAKE, (address.tenant, address.workspace))


_OPEN: "WeakValueDictionary[str, Postgres]" = WeakValueDictionary()
_LOCK = Lock()


def connect(remote: Remote) -> "Postgres":
    """Return the database, the same for all in this process, who so share its connections.

    They end with the last who has hold of it.
    """
    try:
        from carrel.postgres import Postgres  # noqa: PLC0415 - nothing else needs a driver
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("carrel"):
            raise
        raise PostgresMissing("postgres") from None
    url = remote.database.reveal()
    with _LOCK:
        if (database := _OPEN.get(url)) is None:
            database = _OPEN[url] = Postgres(url)
        return database


def _home(address: Address, remote: Remote) -> PostgresHome:
    database = connect(remote)
    tenant = database.tenant(address.tenant)
    files = _files(address, tenant, remote)
    return PostgresHome(address=address, database=database, tenant=tenant, files=files)


def _files(address: Address, tenant: "Tenant", remote: Remote) -> FileStore:
    if not remote.objects:
        from carrel.files.postgres import PostgresFiles  # noqa: PLC0415 - as all that loads a driver
        from carrel.home.about import describe  # noqa: PLC0415 - as above

        return PostgresFiles(tenant, address.workspace, describe=describe)
    try:
        from carrel.files.objects import ObjectFiles  # noqa: PLC0415 - only where somebody has such a store
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("carrel"):
            raise
        raise PostgresMissing("objects") from None
    return ObjectFiles(remote.objects, address.tenant, address.workspace, access=remote.access)


def _rows_of(tenant: "Tenant", workspace: str) -> FileStore:
    from carrel.files.postgres import PostgresFiles  # noqa: PLC0415 - as above

    return PostgresFiles(tenant, workspace)


_FIND = "SELECT 1 FROM carrel.workspaces WHERE tenant = %s AND workspace = %s"
_LIST = "SELECT workspace FROM carrel.workspaces WHERE tenant = %s ORDER BY workspace"
_MAKE = "INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, %s) ON CONFLICT DO NOTHING"
