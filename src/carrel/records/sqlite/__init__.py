"""Records in one SQLite file: the embedded implementation, and with no path the one for tests."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from carrel.records.content import Payload, pack, sayings, unpack
from carrel.records.database import Database
from carrel.records.sqlite.schema import MIGRATIONS

if TYPE_CHECKING:
    from carrel.records.audit import Audit
    from carrel.records.changes import Changes
    from carrel.records.dreams import Dreams
    from carrel.records.facts import Facts
    from carrel.records.keys import Keys
    from carrel.records.proposals import Proposals
    from carrel.records.queue import Queue
    from carrel.records.recalls import Recalls
    from carrel.records.usage import Usage

_KEPT = """
    SELECT (SELECT payload FROM frozen WHERE agent = ?1 AND session = ?2 AND scope = ?3),
        (SELECT payload FROM assemblies WHERE agent = ?1 AND session = ?2)
    """
_BUSY = "Somebody else has the file open: purge again when nobody has."


class SqliteRecords:
    """Records in a file that several processes share; each write is on disk when it returns."""

    def __init__(self, path: Path | None = None, *, inside: Path | None = None) -> None:
        self._database = Database(path, MIGRATIONS, durable=True, inside=inside)

    @property
    def queue(self) -> "Queue":
        """What waits to be done."""
        from carrel.records.sqlite.queue import SqliteQueue  # noqa: PLC0415 - few commands need it

        return SqliteQueue(self._database)

    @property
    def usage(self) -> "Usage":
        """What the models cost."""
        from carrel.records.sqlite.usage import SqliteUsage  # noqa: PLC0415 - few commands need it

        return SqliteUsage(self._database)

    @property
    def audit(self) -> "Audit":
        """Who did what."""
        from carrel.records.sqlite.audit import SqliteAudit  # noqa: PLC0415 - few commands need it

        return SqliteAudit(self._database)

    @property
    def recalls(self) -> "Recalls":
        """What was remembered when."""
        from carrel.records.sqlite.recalls import SqliteRecalls  # noqa: PLC0415 - few commands need it

        return SqliteRecalls(self._database)

    @property
    def facts(self) -> "Facts":
        """What was learnt."""
        from carrel.records.sqlite.facts import SqliteFacts  # noqa: PLC0415 - few commands need it

        return SqliteFacts(self._database)

    @property
    def changes(self) -> "Changes":
        """What memory changed in files."""
        from carrel.records.sqlite.changes import SqliteChanges  # noqa: PLC0415 - few commands need it

        return SqliteChanges(self._database)

    @property
    def proposals(self) -> "Proposals":
        """What waits for the owner's word."""
        from carrel.records.sqlite.proposals import SqliteProposals  # noqa: PLC0415 - few commands need it

        return SqliteProposals(self._database)

    @property
    def dreams(self) -> "Dreams":
        """What was promoted by recall."""
        from carrel.records.sqlite.dreams import SqliteDreams  # noqa: PLC0415 - few commands need it

        return SqliteDreams(self._database)

    @property
    def keys(self) -> "Keys":
        """Who may come in."""
        from carrel.records.sqlite.keys import SqliteKeys  # noqa: PLC0415 - few commands need it

        return SqliteKeys(self._database)

    def transaction(self) -> AbstractContextManager[None]:
        """Keep all that is written inside, or none of it."""
        return self._database.transaction()

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
        return unpack(rows[0][0]) if rows else None

    def frozen(self, agent: str, session: str, scope: str) -> Payload | None:
        """Return the frozen parts; those of another scope do not count."""
        rows = self._database.rows(
            "SELECT payload FROM frozen WHERE agent = ? AND session = ? AND scope = ?",
            (agent, session, scope),
        )
        return unpack(rows[0][0]) if rows else None

    def kept(self, agent: str, session: str, scope: str) -> tuple[Payload | None, Payload | None]:
        """Return what is frozen and what was sent last."""
        frozen, sent = self._database.rows(_KEPT, (agent, session, scope))[0]
        return None if frozen is None else unpack(frozen), None if sent is None else unpack(sent)

    def keep_assembly(
        self, agent: str, session: str, scope: str, *, assembly: Payload, frozen: Payload
    ) -> None:
        """Keep both in one transaction, so that no crash leaves one without the other."""
        with self._database.transaction():
            self._database.rows(
                "INSERT OR REPLACE INTO assemblies VALUES (?, ?, ?)",
                (agent, session, pack(assembly, limit=None)),
            )
            self._database.rows(
                "INSERT INTO frozen VALUES (?, ?, ?, ?) ON CONFLICT (agent, session) DO UPDATE "
                "SET scope = excluded.scope, payload = excluded.payload WHERE scope != excluded.scope",
                (agent, session, scope, pack(frozen, limit=None)),
            )

    def thaw(self, agent: str, session: str) -> None:
        """End the freeze."""
        self._database.rows("DELETE FROM frozen WHERE agent = ? AND session = ?", (agent, session))

    def forget(self, texts: Collection[str]) -> int:
        """End the freezes, and forget the last calls, that hold one of these texts."""
        gone = 0
        with self._database.transaction():
            for _, said in sayings(texts):
                for table in ("frozen", "assemblies"):
                    sql = f"DELETE FROM {table} WHERE instr(payload, ?) RETURNING agent"  # noqa: S608 - our own
                    gone += len(self._database.rows(sql, (said,)))
        return gone

    def check(self) -> None:
        """Look at every page of the file."""
        self._database.check()

    def scrub(self) -> str:
        """Write the file anew without what was removed from it."""
        return "" if self._database.scrub() else _BUSY

    def close(self) -> None:
        """Close the file."""
        self._database.close()
