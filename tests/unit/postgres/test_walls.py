"""Nothing of one tenant reaches another: not by a query that forgot to ask whose rows, nor by a connection."""

from collections.abc import Iterator

import psycopg
import pytest

from carrel.files.postgres import PostgresFiles
from carrel.postgres import Postgres, Tenant
from carrel.postgres.tenant import MEMBER

CANARY = b"canary-5f3a of bob"
FORGETFUL = "SELECT path, content FROM carrel.workspace_files"


@pytest.fixture
def house(database: str) -> Iterator[Postgres]:
    postgres = Postgres(database, size=1)
    bob = PostgresFiles(postgres.tenant("bob"), "studio")
    bob.write("secret.md", CANARY, expect=None)
    bob.append("log.jsonl", CANARY + b"\n")
    yield postgres
    postgres.close()


def test_a_query_that_forgot_the_tenant_finds_nothing_foreign(house: Postgres) -> None:
    eve = house.tenant("eve")
    assert eve.rows(FORGETFUL) == []
    assert eve.rows("SELECT * FROM carrel.workspace_segments") == []
    assert eve.rows(f"{FORGETFUL} WHERE tenant = %s", ["bob"]) == []
    assert eve.rows("UPDATE carrel.workspace_files SET content = '' RETURNING path") == []
    assert eve.rows("DELETE FROM carrel.workspace_files RETURNING path") == []
    assert len(house.tenant("bob").rows(FORGETFUL)) == 3  # with its root


def test_without_the_wall_that_query_would_have_found_it(house: Postgres) -> None:
    """The other way round: shows that the test above can fail."""
    with house.connection() as connection:
        connection.execute("ALTER TABLE carrel.workspace_files DISABLE ROW LEVEL SECURITY")
    found = house.tenant("eve").rows(FORGETFUL)
    assert CANARY in [content for _, content in found]


def test_the_conditions_of_our_own_queries_hold_without_the_wall(house: Postgres) -> None:
    with house.connection() as connection:
        for table in ("workspace_files", "workspace_segments"):
            connection.execute(f"ALTER TABLE carrel.{table} DISABLE ROW LEVEL SECURITY")
    eve = PostgresFiles(house.tenant("eve"), "studio")
    assert eve.read("secret.md") is None
    assert eve.part("log.jsonl", 0, 100) is None
    assert eve.list() == []
    assert eve.stamps(["secret.md", "log.jsonl"]) == [None, None]
    eve.write("secret.md", b"eve's", expect=None)
    eve.append("log.jsonl", b"eve's\n")
    bob = PostgresFiles(house.tenant("bob"), "studio")
    assert [bob.read(path).data for path in ("secret.md", "log.jsonl")] == [CANARY, CANARY + b"\n"]
    assert PostgresFiles(house.tenant("bob"), "other").list() == []


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO carrel.workspaces (tenant, workspace) VALUES ('bob', 'planted')",
        "INSERT INTO carrel.workspaces (tenant, workspace) VALUES ('', 'planted')",
        "UPDATE carrel.workspaces SET tenant = 'bob' WHERE workspace = 'own'",
    ],
)
def test_nothing_is_planted_in_a_foreign_tenant(house: Postgres, statement: str) -> None:
    eve = house.tenant("eve")
    eve.rows("INSERT INTO carrel.workspaces (tenant, workspace) VALUES ('eve', 'own')")
    with pytest.raises(Exception, match=r"not ready|row-level"):
        eve.rows(statement)
    assert house.tenant("bob").rows("SELECT workspace FROM carrel.workspaces") == []


def test_a_query_without_a_tenant_is_an_error_even_where_one_was_set_before(house: Postgres) -> None:
    assert house.tenant("bob").rows(FORGETFUL)
    with house._pool.connection() as connection:  # the very connection that just served bob
        for tenant in ("", None):
            with pytest.raises(psycopg.Error, match="no tenant is set"), connection.transaction():
                member(connection, tenant)
    with house.connection() as new, pytest.raises(psycopg.Error, match="no tenant is set"):
        member(new, None)


def member(connection: psycopg.Connection, tenant: str | None) -> None:
    connection.execute(f"SET ROLE {MEMBER}")
    if tenant is not None:
        connection.execute("SELECT set_config('carrel.tenant', %s, true)", [tenant])
    connection.execute(FORGETFUL)


def test_the_role_of_tenants_owns_nothing_and_bypasses_nothing(house: Postgres) -> None:
    with house.connection() as connection:
        role = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole FROM pg_roles WHERE rolname = %s",
            [MEMBER],
        ).fetchone()
        owned = connection.execute(
            "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = %s",
            [MEMBER],
        ).fetchone()
    assert role == (False, False, False, False)
    assert owned == (0,)


def test_a_tenant_cannot_take_down_its_wall(house: Postgres) -> None:
    eve = house.tenant("eve")
    for statement in (
        "ALTER TABLE carrel.workspace_files DISABLE ROW LEVEL SECURITY",
        "DROP POLICY wall ON carrel.workspace_files",
        "DROP TABLE carrel.workspace_files",
        "CREATE TABLE carrel.mine (x int)",
        "TRUNCATE carrel.workspace_files",
        "COPY carrel.workspace_files TO PROGRAM 'cat'",
    ):
        with pytest.raises(Exception, match="not ready"):
            eve.rows(statement)


def test_one_connection_serves_tenants_in_turn_without_mixing_them(house: Postgres) -> None:
    tenants = [house.tenant(f"t{number}") for number in range(5)]
    for tenant in tenants:
        PostgresFiles(tenant, "studio").write("who.md", tenant.name.encode(), expect=None)
    for _ in range(3):
        for tenant in tenants:
            assert own(tenant) == [("who.md", tenant.name.encode())]


def own(tenant: Tenant) -> list[tuple]:
    return tenant.rows(f"{FORGETFUL} WHERE NOT is_folder")
