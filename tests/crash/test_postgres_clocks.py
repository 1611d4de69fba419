"""Servers that do not agree on the time, on one database: what is due is due for all of them at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from tests.stubs.postgres import Server
from tests.stubs.proxy import Proxy

from carrel import Workspace
from carrel.clock import SystemClock
from carrel.postgres import Postgres, PostgresUnavailable, Tenant
from carrel.postgres.clock import PostgresClock

HERE = "pg://acme/studio"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
Opened = Callable[[timedelta], Workspace]


@pytest.fixture
def opened(database: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens the workspace on a machine whose clock is wrong by so much."""
    environ = {"CARREL_DATABASE_URL": database, "CARREL_HOME": str(tmp_path)}
    Workspace.init(HERE, environ=environ)
    open_ones: list[Workspace] = []
    wrong = timedelta()

    def made(clock: SystemClock) -> None:
        clock.wrong_by = wrong

    def open_at(wrong_by: timedelta) -> Workspace:
        nonlocal wrong
        wrong = wrong_by
        open_ones.append(Workspace.open(HERE, environ=environ))
        return open_ones[-1]

    monkeypatch.setattr(SystemClock, "__init__", made)
    monkeypatch.setattr(SystemClock, "now", lambda clock: datetime.now(UTC) + clock.wrong_by)
    yield open_at
    for each in open_ones:
        each.close()


@pytest.mark.parametrize("wrong_by", [2 * HOUR, -2 * HOUR])
def test_a_job_is_leased_until_the_same_moment_for_all(opened: Opened, wrong_by: timedelta) -> None:
    right, wrong = opened(timedelta()), opened(wrong_by)
    right.records.queue.put("work", {}, key="1")
    for holder, other in ((right, wrong), (wrong, right)):
        job = take(holder)
        assert job is not None
        assert take(other) is None
        holder.records.queue.release(job)


@pytest.mark.parametrize("wrong_by", [2 * HOUR, -2 * HOUR])
def test_a_job_that_was_put_off_is_due_at_the_same_moment_for_all(
    opened: Opened, wrong_by: timedelta
) -> None:
    right, wrong = opened(timedelta()), opened(wrong_by)
    for number, each in enumerate((right, wrong)):
        each.records.queue.put("work", {}, key=f"later {number}", not_before=each.config.clock.now() + HOUR)
        due = each.config.clock.now() - (2 - number) * MINUTE  # clocks agree as well as a round trip tells
        each.records.queue.put("work", {}, key=f"now {number}", not_before=due)
    assert [take(each).key for each in (wrong, right)] == ["now 0", "now 1"]
    assert take(wrong) is take(right) is None


def test_what_is_said_through_servers_with_wrong_clocks_stands_in_its_order(opened: Opened) -> None:
    said = [
        opened(wrong_by).record("s1", [{"role": "user", "content": "Hello."}])
        for wrong_by in (2 * HOUR, -2 * HOUR, timedelta())
    ]
    assert len(said) == 3
    with opened(timedelta()) as workspace:
        moments = [placed.entry.timestamp for placed in workspace.sessions.entries("s1")]
    assert moments == sorted(moments)


def take(workspace: Workspace):
    return workspace.records.queue.take(["work"], now=workspace.config.clock.now(), lease=HOUR, worker="w")


def test_a_clock_goes_on_while_the_database_is_down(
    postgres_server: Server, shared_database: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.postgres.clock._SECONDS", 0.0)
    with link(postgres_server, shared_database, tenant.name) as (proxy, far):
        clock = PostgresClock(far)
        first = clock.now()
        proxy.cut(stay_down=True)
        assert first <= clock.now() <= clock.now()
        with pytest.raises(PostgresUnavailable):
            PostgresClock(far).now()
        proxy.mend()
        before = far.round_trips
        assert first < clock.now()
        assert far.round_trips > before


@contextmanager
def link(server: Server, url: str, name: str) -> Iterator[tuple[Proxy, Tenant]]:
    proxy = Proxy(server.home / ".s.PGSQL.5432")
    postgres = Postgres(proxy.url(url))
    yield proxy, postgres.tenant(name)
    postgres.close()
    proxy.close()


def test_the_clock_is_asked_once_and_not_for_every_look(tenant: Tenant) -> None:
    clock = PostgresClock(tenant)
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)
    assert tenant.round_trips == 1
