"""Records in one SQLite file: the embedded implementation, and with no path the one for tests."""

from pathlib import Path

from msgspec import DecodeError, json

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

    def __init__(self, path: Path | None = None, *, inside: Path | None = None) -> None:
        self._database = Database(path, _MIGRATIONS, durable=True, inside=inside)

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
        return _decoded(rows[0][0]) if rows else None

    def frozen(self, agent: str, session: str, scope: str) -> Payload | None:
        """Return the frozen parts; those of another scope do not count."""
        rows = self._database.rows(
            "SELECT payload FROM frozen WHERE agent = ? AND session = ? AND scope = ?",
            (agent, session, scope),
        )
        return _decoded(rows[0][0]) if rows else None

    def keep_assembly(
        self, agent: str, session: str, scope: str, *, assembly: Payload, frozen: Payload
    ) -> None:
        """Keep both in one transaction, so that no crash leaves one without the other."""
        with self._database.transaction():
            self._database.rows(
                "INSERT OR REPLACE INTO assemblies VALUES (?, ?, ?)",
                (agent, session, _encoded(assembly)),
            )
            self._database.rows(
                "INSERT INTO frozen VALUES (?, ?, ?, ?) ON CONFLICT (agent, session) DO UPDATE "
                "SET scope = excluded.scope, payload = excluded.payload WHERE scope != excluded.scope",
                (agent, session, scope, _encoded(frozen)),
            )

    def thaw(self, agent: str, session: str) -> None:
        """End the freeze."""
        self._database.rows("DELETE FROM frozen WHERE agent = ? AND session = ?", (agent, session))

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _encoded(payload: Payload) -> str:
    try:
        return json.encode(payload).decode()
    except UnicodeEncodeError:
        # Text that is not Unicode, such as a query in another encoding, must come back as it was.
        import json as escaping  # noqa: PLC0415 - few have such text

        return escaping.dumps(payload)


def _decoded(text: str) -> Payload:
    try:
        return json.decode(text)
    except DecodeError:
        import json as escaping  # noqa: PLC0415 - as above

        return escaping.loads(text)
