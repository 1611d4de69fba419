"""The rows of one workspace: where all its records say whose they are."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import local
from typing import Any

from carrel.postgres import Tenant


class Ledger:
    """Statements about one workspace of one tenant; %(tenant)s and %(workspace)s are known to each."""

    def __init__(self, tenant: Tenant, workspace: str) -> None:
        self._tenant = tenant
        self._whose = {"tenant": tenant.name, "workspace": workspace}
        self._threads = local()

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement and return all its rows; unlike a SELECT, a change is tried only once."""
        return self._tenant.rows(sql, self._whose | values)

    def repeatable(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run a statement that changes nothing more when it is run again, which it is over a new link."""
        return self._tenant.retried(lambda: self.rows(sql, **values))

    def send(self, sql: str, **values: Any) -> None:
        """Run one like that whose answer nobody needs: in a transaction it goes with what comes next."""
        self._tenant.retried(lambda: self._tenant.send(sql, self._whose | values))

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Keep all that is written inside or none of it, while nobody else does so in this workspace.

        So what is read inside may be written back.
        """
        depth = getattr(self._threads, "depth", 0)
        with self._tenant.transaction(lock="" if depth else f"records/{self._whose['workspace']}"):
            self._threads.depth = depth + 1
            try:
                yield
            finally:
                self._threads.depth = depth
