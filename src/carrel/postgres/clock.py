"""The time of day as a database tells it: one for all its servers, whatever their own clocks say."""

import time
from datetime import UTC, datetime, timedelta

from carrel.errors import Unavailable
from carrel.postgres.tenant import Tenant

_SECONDS = 60.0
"""How long what was told is gone on from, by a clock that nobody sets."""


class PostgresClock:
    """The database's clock, asked once a minute; while it cannot be asked, the answer before goes on.

    So what one server leases or puts off, another sees due at the same moment.
    """

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._told: tuple[datetime, float] | None = None

    def now(self) -> datetime:
        """Return the database's time."""
        told = self._told
        if told is None or time.monotonic() - told[1] > _SECONDS:
            told = self._told = self._ask()
        return told[0] + timedelta(seconds=time.monotonic() - told[1])

    def _ask(self) -> tuple[datetime, float]:
        try:
            ((moment,),) = self._tenant.rows("SELECT clock_timestamp()")
        except Unavailable:
            if self._told is None:
                raise
            moment = self._told[0] + timedelta(seconds=time.monotonic() - self._told[1])
        return moment.astimezone(UTC), time.monotonic()
