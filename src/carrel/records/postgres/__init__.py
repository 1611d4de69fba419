"""Records in PostgreSQL: the implementation for many tenants and many servers."""

# ruff: noqa: S608 - statements are made of words in this package alone; values are bound

from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from carrel.records.content import Payload, pack, sayings, unpack
from carrel.records.postgres.columns import OWN, digest, from_text
from carrel.records.postgres.ledger import Ledger
from carrel.records.rows.columns import to_text

if TYPE_CHECKING:
    from carrel.postgres import Tenant
    from carrel.records.audit import Audit
    from carrel.records.changes import Changes
    from carrel.records.dreams import Dreams
    from carrel.records.facts import Facts
    from carrel.records.keys import Keys
    from carrel.records.proposals import Proposals
    from carrel.records.queue import Queue
    from carrel.records.recalls import Recalls
    from carrel.records.usage import Usage

_LAYOUT = f"SELECT value FROM carrel.facts_of_workspace WHERE {OWN} AND name = 'layout'"
_REMEMBER = """
    INSERT INTO carrel.facts_of_workspace (tenant, workspace, name, value)
    VALUES (%(tenant)s, %(workspace)s, 'layout', %(layout)s)
    ON CONFLICT (tenant, workspace, name) DO UPDATE SET value = excluded.value
    """
_SESSION = f"{OWN} AND session_hash = {digest('agent', 'session')}"
_ASSEMBLY = f"SELECT payload FROM carrel.assemblies WHERE {_SESSION}"
_FROZEN = f"SELECT payload FROM carrel.frozen WHERE {_SESSION} AND scope = %(scope)s"
_KEEP = """
    WITH sent AS (
        INSERT INTO carrel.assemblies (tenant, workspace, agent, session, payload)
        VALUES (%(tenant)s, %(workspace)s, %(agent)s, %(session)s, %(assembly)s)
        ON CONFLICT (tenant, workspace, session_hash) DO UPDATE SET payload = excluded.payload
    )
    INSERT INTO carrel.frozen AS known (tenant, workspace, agent, session, scope, payload)
    VALUES (%(tenant)s, %(workspace)s, %(agent)s, %(session)s, %(scope)s, %(frozen)s)
    ON CONFLICT (tenant, workspace, session_hash)
    DO UPDATE SET scope = excluded.scope, payload = excluded.payload WHERE known.scope <> excluded.scope
    """
_THAW = f"DELETE FROM carrel.frozen WHERE {_SESSION}"
_HOLDS = "EXISTS (SELECT FROM unnest(%(sayings)s::text[]) AS said WHERE strpos(payload, said) > 0)"
_FORGET = f"""
    WITH thawed AS (
        DELETE FROM carrel.frozen WHERE {OWN} AND {_HOLDS} RETURNING agent
    ), sent AS (
        DELETE FROM carrel.assemblies WHERE {OWN} AND {_HOLDS} RETURNING agent
    )
    SELECT agent FROM thawed UNION ALL SELECT agent FROM sent
    """
_SCRUB = (
    "The server overwrites it in its own time: its owner can VACUUM FULL now, and let go of the logs and "
    "backups that hold it."
)


class PostgresRecords:
    """The records of one workspace of a tenant; any number of servers share them.

    The tenant's connections are whoever's who opened them: closing these records leaves them open.
    """

    def __init__(self, tenant: "Tenant", workspace: str) -> None:
        self._ledger = Ledger(tenant, workspace)

    @property
    def queue(self) -> "Queue":
        """What waits to be done."""
        from carrel.records.postgres.queue import PostgresQueue  # noqa: PLC0415 - few calls need it

        return PostgresQueue(self._ledger)

    @property
    def usage(self) -> "Usage":
        """What the models cost."""
        from carrel.records.postgres.usage import PostgresUsage  # noqa: PLC0415 - few calls need it

        return PostgresUsage(self._ledger)

    @property
    def audit(self) -> "Audit":
        """Who did what."""
        from carrel.records.postgres.audit import PostgresAudit  # noqa: PLC0415 - few calls need it

        return PostgresAudit(self._ledger)

    @property
    def recalls(self) -> "Recalls":
        """What was remembered when."""
        from carrel.records.postgres.recalls import PostgresRecalls  # noqa: PLC0415 - few calls need it

        return PostgresRecalls(self._ledger)

    @property
    def facts(self) -> "Facts":
        """What was learnt."""
        from carrel.records.postgres.facts import PostgresFacts  # noqa: PLC0415 - few calls need it

        return PostgresFacts(self._ledger)

    @property
    def changes(self) -> "Changes":
        """What memory changed in files."""
        from carrel.records.postgres.changes import PostgresChanges  # noqa: PLC0415 - few calls need it

        return PostgresChanges(self._ledger)

    @property
    def proposals(self) -> "Proposals":
        """What waits for the owner's word."""
        from carrel.records.postgres.proposals import PostgresProposals  # noqa: PLC0415 - few calls need it

        return PostgresProposals(self._ledger)

    @property
    def dreams(self) -> "Dreams":
        """What was promoted by recall."""
        from carrel.records.postgres.dreams import PostgresDreams  # noqa: PLC0415 - few calls need it

        return PostgresDreams(self._ledger)

    @property
    def keys(self) -> "Keys":
        """Who may come in."""
        from carrel.records.postgres.keys import PostgresKeys  # noqa: PLC0415 - few calls need it

        return PostgresKeys(self._ledger)

    def transaction(self) -> AbstractContextManager[None]:
        """Keep all that is written inside, or none of it."""
        return self._ledger.transaction()

    def layout(self) -> str | None:
        """Return the remembered layout."""
        rows = self._ledger.rows(_LAYOUT)
        return to_text(rows[0][0]) if rows else None

    def remember_layout(self, name: str) -> None:
        """Keep the layout."""
        self._ledger.repeatable(_REMEMBER, layout=from_text(name))

    def last_assembly(self, agent: str, session: str) -> Payload | None:
        """Return what the last `prepare` sent."""
        rows = self._ledger.rows(_ASSEMBLY, agent=from_text(agent), session=from_text(session))
        return unpack(rows[0][0]) if rows else None

    def frozen(self, agent: str, session: str, scope: str) -> Payload | None:
        """Return the frozen parts; those of another scope do not count."""
        rows = self._ledger.rows(_FROZEN, agent=from_text(agent), session=from_text(session), scope=scope)
        return unpack(rows[0][0]) if rows else None

    def kept(self, agent: str, session: str, scope: str) -> tuple[Payload | None, Payload | None]:
        """Return what is frozen and what was sent last."""
        names = {"agent": from_text(agent), "session": from_text(session)}
        frozen, sent = self._ledger.rows(f"SELECT ({_FROZEN}), ({_ASSEMBLY})", scope=scope, **names)[0]
        return None if frozen is None else unpack(frozen), None if sent is None else unpack(sent)

    def keep_assembly(
        self, agent: str, session: str, scope: str, *, assembly: Payload, frozen: Payload
    ) -> None:
        """Keep both in one statement, so that no crash leaves one without the other."""
        self._ledger.send(
            _KEEP,
            agent=from_text(agent),
            session=from_text(session),
            scope=scope,
            assembly=pack(assembly, limit=None),
            frozen=pack(frozen, limit=None),
        )

    def thaw(self, agent: str, session: str) -> None:
        """End the freeze."""
        self._ledger.repeatable(_THAW, agent=from_text(agent), session=from_text(session))

    def forget(self, texts: Collection[str]) -> int:
        """End the freezes, and forget the last calls, that hold one of these texts."""
        with self._ledger.transaction():
            return len(self._ledger.rows(_FORGET, sayings=[said for _, said in sayings(texts)]))

    def check(self) -> None:
        """Look whether the server answers; its own files are its own to look after."""
        self.layout()

    def scrub(self) -> str:
        """Return what only the server's owner can do: the disk is the server's, and so is its time."""
        return _SCRUB

    def close(self) -> None:
        """Leave the tenant's connections to whoever opened them."""
