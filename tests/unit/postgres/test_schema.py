"""The rules of the house for the schema, and how it comes to be."""

import re
from collections.abc import Iterator
from threading import Thread

import psycopg
import pytest
from tests.stubs.postgres import Server

from carrel.errors import DatabaseUnavailable
from carrel.postgres import Postgres, PostgresNotReady
from carrel.postgres.migrations import migrate, steps

LEDGER = "schema_steps"
TABLES = """
    SELECT c.relname, c.relispartition, c.relrowsecurity AND c.relforcerowsecurity,
        (SELECT array_agg(pg_get_expr(p.polqual, c.oid) || ' / ' || pg_get_expr(p.polwithcheck, c.oid))
         FROM pg_policy p WHERE p.polrelid = c.oid)
    FROM pg_class c WHERE c.relnamespace = 'carrel'::regnamespace AND c.relkind IN ('r', 'p')
"""
INDEXES = """
    SELECT c.relname, i.indisprimary, array_agg(a.attname::text ORDER BY k.place)
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_class kind ON kind.oid = i.indexrelid JOIN pg_am ON pg_am.oid = kind.relam,
        unnest(i.indkey::int[]) WITH ORDINALITY AS k (number, place)
        LEFT JOIN LATERAL (SELECT attname FROM pg_attribute WHERE attrelid = i.indrelid AND attnum = k.number) a ON true
    WHERE c.relnamespace = 'carrel'::regnamespace AND pg_am.amname <> 'hnsw'
    GROUP BY c.relname, i.indexrelid, i.indisprimary
"""
WALL = "(tenant = ( SELECT carrel.tenant() AS tenant))"
RIGHTS = """
    SELECT DISTINCT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.relnamespace = 'carrel'::regnamespace AND r.rolname = 'carrel_member'
"""


@pytest.fixture
def admin(database: str) -> Iterator[psycopg.Connection]:
    """Who may look at everything, in a database whose tables for graphs exist too: they are made when needed."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SELECT carrel.index_graph(8)")
        yield connection


def test_every_table_stands_behind_the_wall(admin: psycopg.Connection) -> None:
    """A part of a table has no policy of its own: by itself it shows nothing to anybody."""
    tables = {name: seen for name, *seen in admin.execute(TABLES) if name != LEDGER}
    walled, part = [False, True, [f"{WALL} / {WALL}"]], [True, True, None]
    assert sum(seen == walled for seen in tables.values()) >= 3
    assert sum(seen == part for seen in tables.values()) == 16
    assert {name: seen for name, seen in tables.items() if seen not in (walled, part)} == {}


def test_the_tenant_leads_every_key_and_every_index(admin: psycopg.Connection) -> None:
    """Graphs of vectors are the exception: they have one column, and a tenant is in one part."""
    found = [(name, is_key, columns) for name, is_key, columns in admin.execute(INDEXES) if name != LEDGER]
    assert [row for row in found if row[2][0] != "tenant"] == []
    scoped = {name for name, *_ in admin.execute(SCOPED)}
    assert [row for row in found if row[0] in scoped and row[1] and row[2][1] != "workspace"] == []


SCOPED = "SELECT table_name FROM information_schema.columns WHERE table_schema = 'carrel' AND column_name = 'workspace'"


def test_tenants_may_only_work_with_rows(admin: psycopg.Connection) -> None:
    rights = list(admin.execute(RIGHTS))
    assert rights
    assert {right for _, right in rights} <= {"SELECT", "INSERT", "UPDATE", "DELETE"}
    assert LEDGER not in {name for name, _ in rights}
    assert [name for name, _ in rights if re.fullmatch(r"index_graph_8_\d+", name)] == []


@pytest.fixture
def empty(postgres_server: Server) -> str:
    """The URL of a database that has nothing of ours."""
    return postgres_server.database("template1")


def test_migrating_does_every_step_once(empty: str) -> None:
    postgres = Postgres(empty)
    assert postgres.migrate() == tuple(name for name, _ in steps())
    assert postgres.migrate() == ()


def test_processes_that_migrate_at_once_share_the_steps(empty: str) -> None:
    done: list[tuple[str, ...]] = []
    threads = [Thread(target=lambda: done.append(Postgres(empty).migrate())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for names in done for name in names) == [name for name, _ in steps()]


def test_a_step_that_fails_leaves_the_steps_before_it_and_nothing_of_itself(empty: str) -> None:
    good = ("0001_good", "CREATE TABLE carrel.good (x int)")
    bad = ("0002_bad", "CREATE TABLE carrel.bad (x int); SELECT 1/0")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate(empty, [good, bad])
    with psycopg.connect(empty) as connection:
        assert connection.execute(
            "SELECT to_regclass('carrel.good'), to_regclass('carrel.bad')"
        ).fetchone() == (
            "carrel.good",
            None,
        )
    assert migrate(empty, [good, ("0002_bad", "CREATE TABLE carrel.bad (x int)")]) == ("0002_bad",)


def test_a_database_without_the_schema_says_what_to_run(empty: str) -> None:
    tenant = Postgres(empty).tenant("bob")
    with pytest.raises(PostgresNotReady, match="not ready") as caught:
        tenant.rows("SELECT 1 FROM carrel.workspaces")
    assert "carrel database migrate" in caught.value.hint


def test_a_role_that_may_not_migrate_says_what_to_run(postgres_server: Server, empty: str) -> None:
    postgres_server.execute("DROP ROLE IF EXISTS humble")
    postgres_server.execute("CREATE ROLE humble LOGIN")
    with pytest.raises(DatabaseUnavailable) as caught:
        Postgres(empty.replace("postgres@", "humble@")).migrate()
    assert isinstance(caught.value, PostgresNotReady)
    assert "administrator" in caught.value.hint


def test_old_processes_read_and_write_while_a_step_is_done(database: str) -> None:
    postgres = Postgres(database)
    tenant = postgres.tenant("bob")
    tenant.rows("INSERT INTO carrel.workspaces (tenant, workspace) VALUES ('bob', 'studio')")
    with tenant.transaction():
        assert tenant.rows("SELECT workspace FROM carrel.workspaces") == [("studio",)]
        assert migrate(database, [("9999_more", "CREATE TABLE carrel.more (tenant text)")]) == ("9999_more",)
        assert tenant.rows("SELECT workspace FROM carrel.workspaces") == [("studio",)]
