"""Addresses of workspaces that are in no directory: pg://TENANT/WORKSPACE, or another scheme's."""

import os
import re

from msgspec import Struct

from carrel.errors import UsageError
from carrel.files import show
from carrel.files.paths import BadId, valid_id

SCHEME = "pg://"
_SHOWN = 200


class BadAddress(UsageError):
    """It begins like an address and does not name a tenant and a workspace."""

    code = "bad_address"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"'{show(text[:_SHOWN])}' is no address of a workspace.",
            hint="Name a tenant and a workspace, like pg://acme/studio: letters, digits, '.', '_' and '-'.",
        )


class Address(Struct, frozen=True):
    """A workspace of a tenant, and a folder of it where an agent is at home there alone."""

    tenant: str
    workspace: str
    folder: str = ""

    @property
    def name(self) -> str:
        """What it is called among the workspaces of its tenant; no two have one name."""
        return f"{self.workspace}/{self.folder}" if self.folder else self.workspace

    def __str__(self) -> str:
        return f"{SCHEME}{self.tenant}/{self.name}"


def is_address(path: str | os.PathLike[str]) -> bool:
    """Tell whether a workspace is named by an address; else it is a directory."""
    return isinstance(path, str) and bool(scheme_of(path))


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Tell whether an address is one that only an extension can know."""
    return is_address(path) and not os.fspath(path).startswith(SCHEME)


def scheme_of(text: str) -> str:
    """Return what stands before `://`, "" where that is no scheme."""
    scheme, found, _ = text.partition("://")
    return scheme if found and re.fullmatch("[a-z][a-z0-9_-]*", scheme) else ""


def refuse_nearly(path: str | os.PathLike[str]) -> None:
    """Refuse to take `pg:/acme` or `PG://acme` for a new directory: what is put there is missed elsewhere."""
    text = os.fspath(path)
    if re.match(r"[A-Za-z][A-Za-z0-9+._-]*:[/\\]", text) and not os.path.lexists(text):
        raise BadAddress(text)


def parse_address(text: str) -> Address:
    """Return the address that a text is."""
    tenant, slash, workspace = text.removeprefix(SCHEME).removesuffix("/").partition("/")
    try:
        return Address(valid_id(tenant), valid_id(workspace)) if slash else _refuse(text)
    except BadId:
        return _refuse(text)


def _refuse(text: str) -> Address:
    raise BadAddress(text) from None
