"""Statements and transactions of one tenant."""

from collections.abc import Iterator
from contextlib import suppress
from threading import Thread

import psycopg
import pytest

from carrel.errors import UsageError
from carrel.postgres import Postgres, PostgresUnavailable, Tenant

INSERT = "INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, %s)"
NAMES = "SELECT workspace FROM carrel.workspaces WHERE tenant = %s ORDER BY workspace"


def add(tenant: Tenant, name: str) -> None:
    tenant.rows(INSERT, [tenant.name, name])


def names(tenant: Tenant) -> list[str]:
    return [name for (name,) in tenant.rows(NAMES, [tenant.name])]


class Undo(Exception):
    pass


def undo(tenant: Tenant, *added: str) -> None:
    with suppress(Undo), tenant.transaction():
        for name in added:
            add(tenant, name)
        raise Undo


def add_twice(tenant: Tenant) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        add(tenant, "a")


def test_a_statement_alone_is_kept_at_once_in_one_round_trip(tenant: Tenant) -> None:
    before = tenant.round_trips
    add(tenant, "studio")
    assert tenant.round_trips == before + 1
    assert names(tenant) == ["studio"]


def test_any_bytes_and_texts_come_back_as_they_were(tenant: Tenant) -> None:
    data = bytes(range(256)) * 300
    assert tenant.rows("SELECT %s::bytea, %s::text, %s::text[]", [data, "é\u0301日\n", ["a,", '"']]) == [
        (data, "é\u0301日\n", ["a,", '"'])
    ]


def test_a_transaction_is_kept_as_a_whole(tenant: Tenant) -> None:
    with tenant.transaction():
        add(tenant, "a")
        add(tenant, "b")
    assert names(tenant) == ["a", "b"]


def test_a_transaction_that_fails_leaves_nothing(tenant: Tenant) -> None:
    undo(tenant, "a")
    assert names(tenant) == []


def test_a_part_that_fails_is_undone_alone(tenant: Tenant) -> None:
    with tenant.transaction():
        add(tenant, "a")
        undo(tenant, "b", "c")
        assert names(tenant) == ["a"]
        with tenant.transaction():
            add(tenant, "d")
    assert names(tenant) == ["a", "d"]


def test_a_part_in_which_a_statement_fails_does_not_end_the_whole(tenant: Tenant) -> None:
    with tenant.transaction():
        add(tenant, "a")
        with tenant.transaction():
            with pytest.raises(psycopg.errors.UniqueViolation), tenant.transaction():
                add(tenant, "a")
            add(tenant, "c")
        add(tenant, "b")
    assert names(tenant) == ["a", "b", "c"]


def test_a_failure_that_is_swallowed_does_not_keep_half_of_a_transaction(tenant: Tenant) -> None:
    def swallow() -> None:
        with tenant.transaction():
            add(tenant, "a")
            add_twice(tenant)

    with pytest.raises(PostgresUnavailable) as caught:
        swallow()
    assert caught.value.reason == "undone"
    assert names(tenant) == []


def test_parts_and_empty_transactions_cost_no_round_trip(tenant: Tenant) -> None:
    before = tenant.round_trips
    with tenant.transaction(), tenant.transaction():
        pass
    assert tenant.round_trips == before
    with tenant.transaction():
        with tenant.transaction():
            add(tenant, "a")
        with tenant.transaction(), tenant.transaction():
            add(tenant, "b")
    assert tenant.round_trips == before + 3  # two statements, one commit
    assert names(tenant) == ["a", "b"]


def test_each_thread_has_a_transaction_of_its_own(tenant: Tenant) -> None:
    seen: list[list[str]] = []
    with tenant.transaction():
        add(tenant, "a")
        thread = Thread(target=lambda: seen.append(names(tenant)))
        thread.start()
        thread.join()
    assert seen == [[]]


def test_everybody_who_asks_for_a_tenant_shares_its_transaction(shared_postgres: Postgres) -> None:
    one, two = shared_postgres.tenant("twice"), shared_postgres.tenant("twice")
    with one.transaction():
        add(two, "a")
        undo(one, "b")
        assert names(two) == ["a"]
    assert names(one) == ["a"]


def test_what_is_sent_goes_with_what_comes_next(tenant: Tenant) -> None:
    before = tenant.round_trips
    with tenant.transaction():
        tenant.send(INSERT, [tenant.name, "a"])
        with tenant.transaction():
            tenant.send(INSERT, [tenant.name, "b"])
        undo_sent(tenant)
        tenant.send(INSERT, [tenant.name, "d"])
    assert tenant.round_trips == before + 1
    assert names(tenant) == ["a", "b", "d"]
    with suppress(Undo), tenant.transaction():
        tenant.send(INSERT, [tenant.name, "e"])
        raise Undo
    tenant.send(INSERT, [tenant.name, "f"])
    assert names(tenant) == ["a", "b", "d", "f"]


def undo_sent(tenant: Tenant) -> None:
    with suppress(Undo), tenant.transaction():
        tenant.send(INSERT, [tenant.name, "c"])
        raise Undo


def test_of_those_that_name_a_lock_one_is_under_way(tenant: Tenant) -> None:
    def work() -> None:
        with tenant.transaction(lock="studio"), tenant.transaction(lock="studio"):
            number = len(names(tenant))
            add(tenant, f"{number:02}")

    threads = [Thread(target=lambda: [work() for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(tenant) == [f"{number:02}" for number in range(20)]


@pytest.mark.parametrize("name", ["", " ", ".", "a b", "../x", "a/b", "é", "a\0", "x" * 129, "\ud800"])
def test_what_is_no_name_is_no_tenant(shared_postgres: Postgres, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        shared_postgres.tenant(name)
    assert caught.value.code == "no_tenant"
    assert caught.value.hint


@pytest.fixture
def narrow(database: str) -> Iterator[Postgres]:
    """A database over one connection, which whoever comes next gets as the last one left it."""
    postgres = Postgres(database, size=1)
    yield postgres
    postgres.close()


def test_nothing_of_a_tenant_stays_with_a_connection(narrow: Postgres) -> None:
    add(narrow.tenant("bob"), "secret")
    undo(narrow.tenant("bob"), "other")
    with narrow._pool.connection() as connection:
        said = connection.execute(
            "SELECT current_user, current_setting('carrel.tenant', true), current_setting('statement_timeout')"
        ).fetchone()
    assert said == ("postgres", "", "0")
    assert names(narrow.tenant("eve")) == []
    assert names(narrow.tenant("bob")) == ["secret"]


@pytest.mark.parametrize(
    "url", ["nonsense", "postgresql://bob:hush@host:not-a-port/x?no", "host=\0", "\ud800"]
)
def test_an_address_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Postgres(url)
    assert caught.value.code == "bad_database_url"
    assert "hush" not in caught.value.message + caught.value.hint


def test_a_connection_of_ones_own_may_listen_for_as_long_as_it_likes(shared_postgres: Postgres) -> None:
    with shared_postgres.connection() as ear, shared_postgres.connection() as mouth:
        ear.execute("LISTEN bell")
        assert [list(ear.notifies(timeout=0.05)) for _ in range(3)] == [[], [], []]
        mouth.execute("NOTIFY bell, 'ding'")
        assert [heard.payload for heard in ear.notifies(timeout=5, stop_after=1)] == ["ding"]
