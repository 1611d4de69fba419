"""A cache in a SQLite file: where it cannot be used, whoever has it goes on without, and says so."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from carrel.errors import Unavailable
from carrel.findings import Finding
from carrel.records.database import Database

Statement = tuple[str, Sequence[object]]


class CacheFile:
    """Rows that can be made again; nothing that goes wrong with the file is an error."""

    def __init__(self, path: Path | None, migrations: Sequence[str], *, inside: Path | None = None) -> None:
        self.findings: tuple[Finding, ...] = ()
        self._database = self._open(path, tuple(migrations), inside) if path is not None else None

    @property
    def is_usable(self) -> bool:
        """Whether anything is kept."""
        return self._database is not None

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return what is found, nothing where the file cannot be used."""
        if self._database is None:
            return []
        try:
            return self._database.rows(sql, tuple(values))
        except Unavailable as error:
            self._degrade(error)
            return []

    def keep(self, statements: Iterable[Statement]) -> None:
        """Write in one transaction; a failure costs only what it takes to make it again."""
        if self._database is None:
            return
        try:
            with self._database.transaction():
                for sql, values in statements:
                    self._database.rows(sql, tuple(values))
        except Unavailable as error:
            self._degrade(error)

    def close(self) -> None:
        """Let go of the file."""
        if self._database is not None:
            self._database.close()

    def _open(self, path: Path, migrations: tuple[str, ...], inside: Path | None) -> Database | None:
        try:
            database = Database(path, migrations, durable=False, inside=inside)
        except Unavailable as error:
            self._degrade(error)
            return None
        if database.was_damaged:
            message = f"{path.name} was damaged; it was set aside as {path.name}.damaged and begun anew."
            hint = f"Delete {path.name}.damaged when you have no use for it."
            self.findings += (Finding(code="cache_damaged", message=message, severity="info", hint=hint),)
        return database

    def _degrade(self, error: Unavailable) -> None:
        """Go on without the file, and say so once."""
        self._database = None
        self.findings += (
            Finding(code="cache_unavailable", message=error.message, severity="info", hint=error.hint),
        )
