"""Records in one SQLite file: the embedded implementation, and with no path the one for tests."""

from pathlib import Path

from msgspec import json

from carrel.records import Payload
from carrel.records.database import Database

_MIGRATIONS = (
    """
    CREATE TABLE facts_of_workspace (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE assemblies (
        agent TEXT NOT NULL, session TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE frozen (
        agent TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL, payload TEXT NOT NULL,
        PRIMARY KEY (agent, session)
    ) STRICT, WITHOUT ROWID;
    """,
)


class SqliteRecords:
    """Records in a file that several processes share; each write is on disk when it returns."""

    def __init__(self, path: Path | None = None) -> None:
        self._database = Database(path, _MIGRATIONS, durable=True)

    def layout(self) -> str | None:
        """Return the remembered layout."""
        rows = self._database.rows("SELECT value FROM facts_of_workspace WHERE name = 'layout'")
        return str(rows[0][0]) if rows else None

    def remember_layout(self, name: str) -> None:
        """Keep the layout."""
        self._database.rows("INSERT OR REPLACE INTO facts_of_workspace VALUES ('layout', ?)", (name,))

    def last_assembly(self, agent: str, session: str) -> Payload | None:
        """Return what the last `prepare` sent."""
        rows = self._database.rows(
            "SELECT payload FROM assemblies WHERE agent = ? AND session = ?", (agent, session)
        )
        return json.decode(rows[0][0]) if rows else None

    def frozen(self, agent: str, session: str, scope: str) -> Payload | None:
        """Return the frozen parts; those of another scope do not count."""
        rows = self._database.rows(
            "SELECT payload FROM frozen WHERE agent = ? AND session = ? AND scope = ?",
            (agent, session, scope),
        )
        return json.decode(rows[0][0]) if rows else None

    def keep_assembly(
        self, agent: str, session: str, scope: str, *, assembly: Payload, frozen: Payload
    ) -> None:
        """Keep both in one transaction, so that no crash leaves one without the other."""
        with self._database.transaction():
            self._database.rows(
                "INSERT OR REPLACE INTO assemblies VALUES (?, ?, ?)",
                (agent, session, json.encode(assembly).decode()),
            )
            self._database.rows(
                "INSERT INTO frozen VALUES (?, ?, ?, ?) ON CONFLICT (agent, session) DO UPDATE "
                "SET scope = excluded.scope, payload = excluded.payload WHERE scope != excluded.scope",
                (agent, session, scope, json.encode(frozen).decode()),
            )

    def thaw(self, agent: str, session: str) -> None:
        """End the freeze."""
        self._database.rows("DELETE FROM frozen WHERE agent = ? AND session = ?", (agent, session))

    def close(self) -> None:
        """Close the file."""
        self._database.close()
