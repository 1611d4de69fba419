"""A bell that all servers of a database hear, over links that are lost in silence."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from tests.stubs.postgres import Server
from tests.stubs.proxy import Proxy

from carrel.postgres import Postgres, PostgresUnavailable
from carrel.postgres.bell import ANY, Bell, Heard, mark

HERE = "pg://acme/studio"


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    raise AssertionError


@contextmanager
def listening(bell: Bell, heard: Heard) -> Iterator[None]:
    stopping = Event()
    listener = Thread(target=bell.listen, args=(heard, stopping))
    listener.start()
    try:
        yield
    finally:
        stopping.set()
        listener.join()


@pytest.fixture
def link(postgres_server: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    yield proxy
    proxy.close()


def test_the_first_ring_after_a_silent_loss_is_heard(database: str, link: Proxy) -> None:
    ringer, hearer = Bell(Postgres(link.url(database))), Bell(Postgres(database))
    heard: list[str] = []
    with listening(hearer, heard.append):
        until(lambda: ANY in heard)
        ringer.ring("another")
        link.cut()
        ringer.ring(HERE)
        until(lambda: mark(HERE) in heard)
    ringer.close()
    assert heard[-1] == mark(HERE)


def test_a_ring_that_cannot_be_heard_says_so_and_the_next_one_is(database: str, link: Proxy) -> None:
    ringer, hearer = Bell(Postgres(link.url(database))), Bell(Postgres(database))
    heard: list[str] = []
    with listening(hearer, heard.append):
        until(lambda: ANY in heard)
        ringer.ring("another")
        link.cut(stay_down=True)
        with pytest.raises(PostgresUnavailable):
            ringer.ring(HERE)
        link.mend()
        ringer.ring(HERE)
        until(lambda: mark(HERE) in heard)
    ringer.close()


def test_a_listener_that_fails_hears_the_next_ring(database: str, caplog: pytest.LogCaptureFixture) -> None:
    bell, heard = Bell(Postgres(database)), []

    def fails(sign: str) -> None:
        heard.append(sign)
        raise ValueError("the owner's secret")

    with caplog.at_level(logging.ERROR), listening(bell, fails):
        until(lambda: ANY in heard)
        bell.ring(HERE)
        until(lambda: mark(HERE) in heard)
        bell.ring("another")
        until(lambda: mark("another") in heard)
    bell.close()
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text
