"""Every FileStore that is built in, held to its contract; a new one is by one more line in STORES."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carrel.files import FileStore
from carrel.files.local import LocalFiles
from carrel.files.objects import ObjectFiles
from carrel.files.overlay import OverlayFiles
from carrel.files.postgres import PostgresFiles
from carrel.files.tenant import TenantFiles
from carrel.testing import EphemeralFiles
from carrel.testing.contracts import FileStoreContract


def local(root: Path, name: str) -> LocalFiles:
    (root / name).mkdir()
    return LocalFiles(root / name)


def objects(root: Path, name: str) -> ObjectFiles:
    """Objects in memory, in a place that only this test has."""
    return ObjectFiles(f"memory://{root.parent.name}/{root.name}", "acme", name)


STORES: dict[str, Callable[[Path], FileStore]] = {
    "ephemeral": lambda _: EphemeralFiles(),
    "local": LocalFiles,
    "objects-memory": lambda root: objects(root, "studio"),
    "overlay-ephemeral": lambda _: OverlayFiles(EphemeralFiles(), EphemeralFiles()),
    "overlay-local": lambda root: OverlayFiles(local(root, "upper"), local(root, "lower")),
    "overlay-local-empty": lambda root: OverlayFiles(
        local(root, "upper"), local(root, "lower"), fallthrough="empty"
    ),
    "overlay-mixed": lambda root: OverlayFiles(EphemeralFiles(), LocalFiles(root)),
    "overlay-objects": lambda root: OverlayFiles(objects(root, "upper"), objects(root, "lower")),
    "overlay-tenant": lambda root: OverlayFiles(
        TenantFiles(local(root, "upper"), "bob"), TenantFiles(local(root, "lower"), "bob")
    ),
    "tenant-ephemeral": lambda _: TenantFiles(EphemeralFiles({"a.md": "", "memory/x": ""}), "Bob"),
    "tenant-local": lambda root: TenantFiles(LocalFiles(root), "bob"),
    "tenant-objects": lambda root: TenantFiles(objects(root, "studio"), "bob"),
    "tenant-overlay": lambda root: TenantFiles(OverlayFiles(LocalFiles(root), EphemeralFiles()), "bob"),
    "tenant-tenant": lambda root: TenantFiles(TenantFiles(LocalFiles(root), "bob"), "bob"),
}

# Stores behind a server, with the fixture that has it running.
REMOTE: dict[str, tuple[str, Callable[[Any, Path], FileStore]]] = {
    "objects": ("objects", lambda url, _: ObjectFiles(url, "acme", "studio")),
    "overlay-postgres": (
        "tenant",
        lambda tenant, _: OverlayFiles(PostgresFiles(tenant, "upper"), PostgresFiles(tenant, "lower")),
    ),
    "postgres": ("tenant", lambda tenant, _: PostgresFiles(tenant, "studio")),
    "tenant-postgres": ("tenant", lambda tenant, _: TenantFiles(PostgresFiles(tenant, "studio"), "bob")),
}


class TestFileStores(FileStoreContract):
    @pytest.fixture(params=sorted([*STORES, *REMOTE]))
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
        if (remote := REMOTE.get(request.param)) is not None:
            fixture, made = remote
            return made(request.getfixturevalue(fixture), tmp_path)
        return STORES[request.param](tmp_path)
