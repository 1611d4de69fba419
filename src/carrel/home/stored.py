"""A workspace whose files are in a store of an extension; all else is kept in the user's own directories."""

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from carrel.config import Approvals, UserDirectories, approvals_of
from carrel.config.remote import DryRunElsewhere
from carrel.extensions import find, open_extension
from carrel.files import FileStore
from carrel.files.paths import clean
from carrel.files.tenant import within
from carrel.home.address import SCHEME, scheme_of
from carrel.home.beside import RECORDS_FILE, Beside

if TYPE_CHECKING:
    from carrel.runtime.delegation import Seat

_INNER = "inner"


class StoredHome(Beside, frozen=True, kw_only=True):
    """An address, and the store that an extension opened for it: nothing of Carrel's own is in there."""

    address: str
    files: FileStore
    root: None = None

    @property
    def location(self) -> str:
        """The address."""
        return self.address

    @property
    def approvals(self) -> Approvals:
        """The user's own list, in which it stands by its address."""
        return approvals_of(self.address, self.address, self.directories)

    def owned(self, *, known: bool) -> "StoredHome":
        """Return the same home: whoever knows it, what is kept of it is kept elsewhere."""
        del known
        return self

    def moved_to(self, folder: str) -> "StoredHome":
        """Return a folder of this workspace as the home of an agent that has it for itself."""
        folder = clean(folder)
        return replace(
            self,
            address=f"{self.address}/{folder}",
            files=within(self.files, folder),
            cache=self.cache / _INNER / folder,
            state=self.state / _INNER / folder,
        )

    def seated(self, seat: "Seat") -> "StoredHome":
        """Return the folder of a delegate that works apart."""
        return self.moved_to(seat.folder)

    def inner(self) -> list[str]:
        """Return the folders whose agents have records."""
        start = self.state / _INNER
        found = (Path(folder) for folder, _, names in os.walk(start) if RECORDS_FILE in names)
        return sorted(folder.relative_to(start).as_posix().replace(f"/{_INNER}/", "/") for folder in found)


def open_stored(address: str, environ: Mapping[str, str], directories: UserDirectories) -> StoredHome:
    """Return the home of a workspace at an address whose scheme an extension knows."""
    if directories.stage is not None:
        raise DryRunElsewhere
    if address.rstrip("/")[-1] != ":":  # what is kept of it is kept by its address, which has one spelling
        address = address.rstrip("/")
    offer = find("stores", scheme_of(address), known=(SCHEME.removesuffix("://"),))
    key = sha256(address.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return StoredHome(
        address=address,
        files=open_extension(offer, address, environ),
        directories=directories,
        cache=directories.cache / key,
        state=directories.data / "workspaces" / key,
    )
