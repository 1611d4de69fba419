"""PostgreSQL behind a bad link: nothing acknowledged is lost, nothing is done twice, and it is said what went wrong."""

import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from threading import Barrier, BrokenBarrierError, Event, Thread

import psycopg
import pytest
from tests.stubs.postgres import Server
from tests.stubs.proxy import Proxy

from carrel.files.postgres import PostgresFiles
from carrel.postgres import Postgres, PostgresUnavailable, Tenant
from carrel.postgres.migrations import migrate, steps


@pytest.fixture
def proxy(postgres_server: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres_server.home / ".s.PGSQL.5432")
    yield proxy
    proxy.close()


@pytest.fixture
def bob(proxy: Proxy, shared_database: str, tenant: Tenant) -> Iterator[Tenant]:
    """A tenant of a database at the other end of the link."""
    postgres = Postgres(proxy.url(shared_database))
    yield postgres.tenant(tenant.name)
    postgres.close()


@pytest.fixture
def files(bob: Tenant) -> PostgresFiles:
    return PostgresFiles(bob, "studio")


@pytest.fixture
def near(tenant: Tenant) -> PostgresFiles:
    """The same files over a link that nothing happens to."""
    return PostgresFiles(tenant, "studio")


def refused(call: Callable[[], object]) -> PostgresUnavailable:
    with pytest.raises(PostgresUnavailable) as caught:
        call()
    assert caught.value.code == "postgres_unavailable"
    assert "ry again" in caught.value.hint or caught.value.reason == "closed"
    return caught.value


def test_a_database_that_is_down_at_the_start_is_used_when_it_is_up(
    files: PostgresFiles, proxy: Proxy
) -> None:
    proxy.cut(stay_down=True)
    assert refused(lambda: files.read("a.md")).reason == "down"
    assert refused(lambda: files.append("a.md", b"x\n")).reason == "down"
    proxy.mend()
    assert files.append("a.md", b"x\n") == 2


def test_an_address_where_nobody_listens_is_a_database_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    tenant = Postgres(f"postgresql://someone:secret-word@127.0.0.1:{port}/there").tenant("bob")
    error = refused(lambda: tenant.rows("SELECT 1"))
    assert error.reason == "down"
    assert not any(word in error.message + error.hint for word in ("secret-word", "someone", "127.0.0.1"))


def test_a_transaction_that_loses_its_link_leaves_nothing(
    files: PostgresFiles, bob: Tenant, proxy: Proxy
) -> None:

    def work() -> None:
        with bob.transaction():
            files.write("a.md", b"half", expect=None)
            proxy.cut()
            files.write("b.md", b"other half", expect=None)

    assert refused(work).reason == "lost"
    assert files.list() == []


def test_a_transaction_of_which_the_end_is_not_known_says_so(
    files: PostgresFiles, bob: Tenant, proxy: Proxy
) -> None:
    def work() -> None:
        with bob.transaction():
            files.write("a.md", b"whole", expect=None)
            proxy.cut_after(down=0, up=0)

    assert refused(work).reason == "unknown"
    assert files.read("a.md") is None  # the COMMIT did not get there


def test_idempotent_work_is_done_again_when_the_link_is_lost(bob: Tenant, proxy: Proxy) -> None:
    attempts: list[int] = []

    def work() -> None:
        attempts.append(1)
        with bob.transaction():
            bob.rows(
                "INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, 'x') ON CONFLICT DO NOTHING",
                [bob.name],
            )
            if len(attempts) == 1:
                proxy.cut()

    bob.retried(work)
    assert len(attempts) == 2
    assert bob.rows("SELECT workspace FROM carrel.workspaces") == [("x",)]


def bytes_of(proxy: Proxy, call: Callable[[], object]) -> dict[str, int]:
    """How many bytes a call sends and receives over a connection that is there."""
    before = dict(proxy.passed)
    call()
    return {way: proxy.passed[way] - before[way] for way in before}


class Steps:
    """The four changes of a store, each on a file of its own, and what must be there afterwards."""

    def __init__(self, files: PostgresFiles, near: PostgresFiles) -> None:
        self.files, self.near = files, near
        self.number = 0

    def prepare(self) -> str:
        """Leave a file as every change needs it, over the good link."""
        self.number += 1
        path = f"d{self.number}/a.md"
        self.near.write(path, b"old\n", expect=None)
        return path

    def create(self, path: str) -> None:
        self.files.write(f"{path}.new", b"new\n", expect=None)

    def replace(self, path: str) -> None:
        self.files.write(path, b"new\n", expect=sha(b"old\n"))

    def append(self, path: str) -> None:
        self.files.append(path, b"new\n")

    def append_at(self, path: str) -> None:
        self.files.append(path, b"new\n", at=4)

    def append_first(self, path: str) -> None:
        self.files.append(f"{path}.new", b"new\n")

    def remove(self, path: str) -> None:
        self.files.remove(path, expect=sha(b"old\n"))

    def found(self, path: str) -> list[bytes | None]:
        return [content and content.data for content in (self.near.read(path), self.near.read(f"{path}.new"))]


DONE = {
    "create": [b"old\n", b"new\n"],
    "replace": [b"new\n", None],
    "append": [b"old\nnew\n", None],
    "append_at": [b"old\nnew\n", None],
    "append_first": [b"old\n", b"new\n"],
    "remove": [None, None],
}
CUTS = 8


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("change", sorted(DONE))
def test_a_change_whose_link_is_cut_anywhere_is_made_exactly_once(
    files: PostgresFiles, near: PostgresFiles, proxy: Proxy, change: str, way: str
) -> None:
    steps = Steps(files, near)
    files.list()
    path = steps.prepare()
    size = bytes_of(proxy, lambda: getattr(steps, change)(path))[way]
    assert steps.found(path) == DONE[change]
    for cut in range(CUTS):
        path = steps.prepare()
        files.list()  # a connection is there
        proxy.cut_after(**{way: 1 + size * cut // CUTS})
        getattr(steps, change)(path)
        proxy.mend()
        assert steps.found(path) == DONE[change], cut


@pytest.mark.parametrize("change", sorted(DONE))
def test_a_change_whose_link_stays_down_is_refused_and_made_once_or_not_at_all(
    files: PostgresFiles, near: PostgresFiles, proxy: Proxy, change: str
) -> None:
    steps = Steps(files, near)
    before = [b"old\n", None]
    for cut in range(CUTS):
        path = steps.prepare()
        files.list()
        proxy.stays_down = True
        proxy.cut_after(**{("up", "down")[cut % 2]: 1 + 40 * cut})
        error = refused(lambda path=path: getattr(steps, change)(path))
        assert error.reason in ("down", "lost", "unknown")
        proxy.mend()
        files.list()  # whoever was left behind is gone now
        found = steps.found(path)
        assert found in (before, DONE[change])
        assert error.reason == "unknown" or found == before


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_question_whose_link_is_cut_is_asked_again(
    files: PostgresFiles, near: PostgresFiles, proxy: Proxy, way: str
) -> None:
    near.write("a.md", b"x" * 1000, expect=None)
    files.list()
    size = bytes_of(proxy, lambda: files.read("a.md"))[way]
    for cut in range(CUTS):
        files.list()
        proxy.cut_after(**{way: 1 + size * cut // CUTS})
        assert files.read("a.md").data == b"x" * 1000
        proxy.mend()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_what_a_lost_link_left_waiting_is_not_done_after_its_repetition(
    files: PostgresFiles, near: PostgresFiles, proxy: Proxy, shared_database: str
) -> None:
    """The first attempt stands in a queue at the server when its link is cut, unnoticed there."""
    near.write("a.md", b"old\n", expect=None)
    files.list()
    with psycopg.connect(shared_database) as holder:
        holder.execute("SELECT 1 FROM carrel.workspace_files FOR UPDATE")
        appending = Thread(target=lambda: files.append("a.md", b"new\n"))
        appending.start()
        wait_for(holder, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        proxy.half_open = True
        proxy.cut()
        wait_for(holder, "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        holder.rollback()
        appending.join()
    assert near.read("a.md").data == b"old\nnew\n"


def test_locks_of_a_lost_transaction_are_not_waited_for(
    files: PostgresFiles, near: PostgresFiles, bob: Tenant, proxy: Proxy
) -> None:
    near.write("a.md", b"old\n", expect=None)

    def work() -> None:
        with bob.transaction():
            files.append("a.md", b"half\n")
            proxy.half_open = True
            proxy.cut()
            files.append("a.md", b"other half\n")

    assert refused(work).reason == "lost"
    proxy.mend()
    files.append("a.md", b"new\n")
    assert near.read("a.md").data == b"old\nnew\n"


def wait_for(connection: psycopg.Connection, question: str) -> None:
    while connection.execute(question).fetchone() != (True,):
        connection.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.01)")


def test_every_connection_of_a_pool_may_be_broken_and_no_call_notices(
    files: PostgresFiles, proxy: Proxy, postgres_server: Server
) -> None:
    files.write("a.md", b"x", expect=None)
    for end in (proxy.cut, lambda: postgres_server.execute(END_OTHERS)):
        together(lambda barrier: (barrier.wait(), files.read("a.md")))
        end()
        together(lambda _: files.append("log", b"line\n"))
    assert files.read("log").data == b"line\n" * 2 * 8


def test_a_connection_that_broke_while_idle_is_not_handed_out(bob: Tenant, proxy: Proxy) -> None:
    """So a statement that may be done only once is not spent on it."""
    for number in range(3):
        bob.rows("SELECT 1")
        proxy.cut()
        bob.rows("INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, %s)", [bob.name, str(number)])
    assert bob.rows("SELECT count(*) FROM carrel.workspaces") == [(3,)]


END_OTHERS = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'carrel'"


def together(work: Callable[[Barrier], object]) -> None:
    barrier = Barrier(8)
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work(barrier)
        except BaseException as error:  # noqa: BLE001  a thread's failure must fail the test
            failures.append(error)

    threads = [Thread(target=guarded) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_writers_on_a_link_that_is_cut_again_and_again_lose_and_double_nothing(
    files: PostgresFiles, near: PostgresFiles, proxy: Proxy
) -> None:
    """What was acknowledged is there once; what was refused is there once, or not at all."""
    kept: list[str] = []
    refused_lines: list[str] = []
    stop = Event()

    def cutting() -> None:
        for number in count():
            if stop.wait(0.02):
                return
            proxy.half_open = number % 3 == 0
            proxy.cut_after(**{("up", "down")[number % 2]: 97 * (number % 31)})

    def writing(who: int) -> None:
        for number in range(25):
            line = f"{who}.{number}"
            try:
                files.append("log", f"{line}\n".encode())
                kept.append(line)
            except PostgresUnavailable:
                refused_lines.append(line)

    cutter = Thread(target=cutting)
    cutter.start()
    numbers = count()
    together(lambda _: writing(next(numbers)))
    stop.set()
    cutter.join()
    proxy.mend()
    files.list()
    found = near.read("log").data.decode().split()
    assert len(found) == len(set(found))
    assert set(kept) <= set(found) <= {*kept, *refused_lines}


def test_a_stall_is_waited_out(files: PostgresFiles, proxy: Proxy) -> None:
    files.list()
    proxy.stall()
    done: list[int] = []
    appending = Thread(target=lambda: done.append(files.append("log", b"x\n")))
    appending.start()
    appending.join(0.3)
    assert done == []
    proxy.mend()
    appending.join()
    assert done == [2]


def test_a_server_that_is_frozen_is_not_waited_for_for_ever(
    files: PostgresFiles, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("carrel.postgres.tenant._GRACE_SECONDS", -29.5)
    files.list()
    proxy.stall()
    assert refused(lambda: files.append("log", b"x\n")).reason in ("unknown", "down")
    proxy.mend()
    assert files.read("log") is None
    assert files.append("log", b"y\n") == 2


def test_a_slow_link_is_only_slow(files: PostgresFiles, proxy: Proxy) -> None:
    proxy.lag = 0.05
    files.write("a.md", b"x" * 300_000, expect=None)
    assert files.read("a.md").data == b"x" * 300_000


def test_a_statement_that_takes_too_long_is_ended(bob: Tenant) -> None:

    def work() -> None:
        with bob.transaction(seconds=1):
            bob.rows("SELECT pg_sleep(100)")

    assert refused(work).reason == "slow"


@pytest.fixture
def own(database: str) -> Iterator[PostgresFiles]:
    """Files in a database that a test may do anything to."""
    postgres = Postgres(database)
    yield PostgresFiles(postgres.tenant("bob"), "studio")
    postgres.close()


def test_a_database_that_takes_no_changes_is_read_and_used_again_when_it_does(
    own: PostgresFiles, postgres_server: Server, database: str
) -> None:
    name = database.partition("@/")[2].partition("?")[0]
    own.write("a.md", b"x", expect=None)
    postgres_server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres_server.execute(END_OTHERS)
    assert own.read("a.md").data == b"x"
    assert refused(lambda: own.append("a.md", b"y\n")).reason == "read_only"
    postgres_server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    assert own.append("a.md", b"y\n") == 4


@pytest.mark.parametrize(
    ("state", "reason"),
    [("53100", "full"), ("53300", "crowded"), ("55P03", "locked"), ("57014", "slow"), ("XX000", "broken")],
)
def test_what_a_server_reports_is_told_in_words_without_its_details(
    own: PostgresFiles, database: str, state: str, reason: str
) -> None:
    own.write("a.md", b"x\n", expect=None)
    with psycopg.connect(database) as connection:
        connection.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" RAISE EXCEPTION 'at /var/lib/pg/base/1' USING ERRCODE = '{state}'; END $$;"
            " CREATE TRIGGER fail BEFORE INSERT ON carrel.workspace_segments FOR EACH ROW EXECUTE FUNCTION fail()"
        )
    error = refused(lambda: own.append("a.md", b"y\n"))
    assert error.reason == reason
    assert "/var" not in error.message + error.hint
    assert own.read("a.md").data == b"x\n"
    assert own.write("b.md", b"z", expect=None)


def test_changes_that_stand_in_each_others_way_are_both_made(bob: Tenant) -> None:
    """Two transactions that lock two rows in opposite order: one is undone, and done again."""
    for name in "ab":
        bob.rows("INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, %s)", [bob.name, name])
    first = Barrier(2)

    def work(names: str) -> None:
        with bob.transaction():
            for name in names:
                bob.rows("SELECT 1 FROM carrel.workspaces WHERE workspace = %s FOR UPDATE", [name])
                with suppress(BrokenBarrierError):
                    first.wait(1)
            bob.rows("INSERT INTO carrel.workspaces (tenant, workspace) VALUES (%s, %s)", [bob.name, names])

    orders = iter(["ab", "ba"])
    threads = [Thread(target=lambda names=names: bob.retried(lambda: work(names))) for names in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bob.rows("SELECT count(*) FROM carrel.workspaces") == [(4,)]


def test_a_forked_process_does_not_use_its_parents_connections(files: PostgresFiles) -> None:
    files.write("a.md", b"x", expect=None)
    child = os.fork()
    if child == 0:
        try:
            files.read("a.md")
        except PostgresUnavailable as error:
            os._exit(7 if error.reason == "forked" else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert files.read("a.md").data == b"x"


def test_more_threads_than_connections_wait_for_each_other(shared_database: str, tenant: Tenant) -> None:
    narrow = Postgres(shared_database, size=2)
    files = PostgresFiles(narrow.tenant(tenant.name), "studio")
    together(lambda _: [files.append("log", b"x\n") for _ in range(5)])
    assert files.read("log").data == b"x\n" * 40
    narrow.close()
    assert refused(lambda: narrow.tenant(tenant.name).rows("SELECT 1")).reason == "closed"


def test_a_migration_that_is_interrupted_at_any_step_is_finished_by_the_next(
    postgres_server: Server, proxy: Proxy
) -> None:
    url = postgres_server.database("template1")
    for name, text in steps():
        for sent in (100, 300 + len(text) // 2, 300 + len(text)):  # connecting, in the step, at its end
            proxy.cut_after(up=sent)
            with pytest.raises(PostgresUnavailable):
                migrate(proxy.url(url), [(name, text)])
            proxy.mend()
            assert name not in ledger(url)
        assert migrate(url, [(name, text)]) == (name,)
    assert Postgres(url).migrate() == ()
    files = PostgresFiles(Postgres(url).tenant("bob"), "studio")
    assert files.append("a.md", b"x\n") == 2


def ledger(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('carrel.schema_steps')::text").fetchone() == (None,):
            return []
        return [name for (name,) in connection.execute("SELECT name FROM carrel.schema_steps")]
