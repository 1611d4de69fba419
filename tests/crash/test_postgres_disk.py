"""A database whose disk is full: nothing that was acknowledged is lost, and it is used again when there is room."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from tests.stubs.indexed import Shelf
from tests.stubs.postgres import Server

from carrel.files.postgres import PostgresFiles
from carrel.index import Query
from carrel.index.postgres import PostgresIndex
from carrel.postgres import Postgres, PostgresUnavailable, Tenant
from carrel.records.postgres import PostgresRecords

AT = datetime(2026, 4, 24, tzinfo=UTC)
END_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'carrel'"


@pytest.fixture
def bob(database: str) -> Iterator[Tenant]:
    postgres = Postgres(database)
    yield postgres.tenant("bob")
    postgres.close()


@contextmanager
def full(server: Server, url: str, table: str) -> Iterator[None]:
    """Let a table that is empty yet lie where no byte finds room; the system itself then says so."""
    name = url.partition("@/")[2].partition("?")[0]
    ((place,),) = server.execute(f"SELECT pg_relation_filepath('carrel.{table}')", database=name)
    path = server.home / "data" / place
    kept = path.rename(path.with_suffix(".kept"))
    path.symlink_to("/dev/full")
    server.execute(END_ALL)  # they had the file open
    yield
    path.unlink()
    kept.rename(path)
    server.execute(END_ALL)


CHANGES: dict[str, Callable[[PostgresFiles, PostgresRecords], object]] = {
    "workspace_segments": lambda files, _: files.append("kept.md", b"new\n"),
    "jobs": lambda _, records: records.queue.put("work", {}, key="new"),
    "audit": lambda _, records: records.audit.note(at=AT, actor="bob", action="tried"),
    "assemblies": lambda _, records: records.keep_assembly("bob", "s1", "main", assembly={}, frozen={}),
}


@pytest.mark.parametrize("table", sorted(CHANGES))
def test_a_full_disk_takes_no_change_and_keeps_all_it_has(
    bob: Tenant, postgres_server: Server, database: str, table: str
) -> None:
    files, records = PostgresFiles(bob, "studio"), PostgresRecords(bob, "studio")
    files.write("kept.md", b"kept\n", expect=None)
    with full(postgres_server, database, table):
        for _ in range(3):
            with pytest.raises(PostgresUnavailable) as caught:
                CHANGES[table](files, records)
            assert caught.value.reason == "full"
            assert "Make room" in caught.value.hint
            assert files.read("kept.md").data == b"kept\n"
    CHANGES[table](files, records)
    assert counted(bob, table) == 1


def counted(tenant: Tenant, table: str) -> int:
    return tenant.rows(f"SELECT count(*) FROM carrel.{table}")[0][0]


def test_an_index_on_a_full_disk_says_so_and_is_made_when_there_is_room(
    bob: Tenant, postgres_server: Server, database: str
) -> None:
    index, shelf = PostgresIndex(bob, "studio"), Shelf({"a.md": "The harbour."})
    with full(postgres_server, database, "index_chunks"):
        assert [finding.code for finding in index.sync(shelf).findings] == ["postgres_unavailable"]
        assert index.search(Query(text="harbour")).hits == ()
    assert index.sync(shelf).findings == ()
    assert [hit.chunk.path for hit in index.search(Query(text="harbour")).hits] == ["a.md"]
