"""What only files in PostgreSQL have: round trips, rows, transactions, and names that others make at the same time."""

import random
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest

from carrel.files import Stale, Unreadable, is_settled
from carrel.files.paths import BadPath, NameTaken
from carrel.files.postgres import PATH_BYTES, PostgresFiles
from carrel.home.about import describe
from carrel.postgres import Tenant


@pytest.fixture
def files(tenant: Tenant) -> PostgresFiles:
    return PostgresFiles(tenant, "studio")


def trips(tenant: Tenant, call: Callable[[], object]) -> int:
    before = tenant.round_trips
    call()
    return tenant.round_trips - before


def test_a_question_is_one_round_trip_however_much_is_asked(tenant: Tenant, files: PostgresFiles) -> None:
    paths = [f"d{number % 7}/f{number}.md" for number in range(60)]
    for path in paths:
        files.write(path, b"x", expect=None)
    asked = [*paths, "", "absent", *(f"d{number}" for number in range(9))]
    assert trips(tenant, lambda: files.stamps(asked)) == 1
    assert trips(tenant, lambda: files.read("d1/f1.md")) == 1
    assert trips(tenant, lambda: files.part("d1/f1.md", 0, 1)) == 1
    assert trips(tenant, lambda: files.list("d1")) == 1
    assert trips(tenant, files.tree) == 1
    assert trips(tenant, lambda: files.read("no/such/file")) == 1


def test_a_change_is_one_round_trip_and_a_new_name_is_two(tenant: Tenant, files: PostgresFiles) -> None:
    digest = ""

    def create() -> None:
        nonlocal digest
        digest = files.write("a/b/c.md", b"one\n", expect=None)

    assert trips(tenant, create) == 2
    assert trips(tenant, lambda: files.append("a/b/c.md", b"two\n")) == 1
    digest = files.read("a/b/c.md").digest
    assert trips(tenant, lambda: files.write("a/b/c.md", b"x", expect=digest)) == 1
    digest = files.read("a/b/c.md").digest
    assert trips(tenant, lambda: files.remove("a/b/c.md", expect=digest)) == 1


def columns(tenant: Tenant, path: str) -> tuple[object, ...]:
    sql = "SELECT token_count, priority, tags FROM carrel.workspace_files WHERE tenant = %s AND path = %s"
    (row,) = tenant.rows(sql, [tenant.name, path])
    return row


def test_the_table_tells_of_a_document_as_long_as_it_is_what_was_written(tenant: Tenant) -> None:
    files = PostgresFiles(tenant, "studio", describe=describe)
    first = files.write("a.md", b"---\npriority: 3\ntags: [code, style]\n---\nBe kind.\n", expect=None)
    tokens, *rest = columns(tenant, "a.md")
    assert (tokens > 3, rest) == (True, [3, ["code", "style"]])
    files.write("a.md", b"Be kind.\n", expect=first)
    assert columns(tenant, "a.md") == (3, None, [])
    files.append("a.md", b"Be brief.\n")
    assert columns(tenant, "a.md") == (None, None, None)


@pytest.mark.parametrize(
    ("path", "data", "told"),
    [
        ("a.png", b"---\npriority: 3\n---\n", (None, None, None)),
        ("a.md", b"\xff\xfe", (None, None, None)),
        ("a.md", b"x" * 300_000, (None, None, None)),
        ("a.md", b"<!-- tags: a\0b, c -->\nx", (True, None, ["c"])),
        ("a.md", b"<!-- priority: 99999999999999999999 -->\n", (True, None, [])),
    ],
)
def test_any_bytes_are_a_document_of_which_as_much_is_told_as_is_known(
    tenant: Tenant, path: str, data: bytes, told: tuple[object, ...]
) -> None:
    PostgresFiles(tenant, "studio", describe=describe).write(path, data, expect=None)
    tokens, *rest = columns(tenant, path)
    assert (tokens and tokens > 3, *rest) == told


def test_an_append_rewrites_nothing_of_what_was_there(tenant: Tenant, files: PostgresFiles) -> None:
    files.write("log", b"first\n", expect=None)
    files.append("log", b"second\n")
    places = "SELECT start, ctid::text FROM carrel.workspace_segments WHERE tenant = %s ORDER BY start"
    before = tenant.rows(places, [tenant.name])
    files.append("log", b"third\n")
    after = tenant.rows(places, [tenant.name])
    assert after[: len(before)] == before
    assert [start for start, _ in after] == [6, 13]


def test_a_replaced_file_leaves_no_segment_behind(tenant: Tenant, files: PostgresFiles) -> None:
    files.append("log", b"one\n")
    files.append("log", b"two\n")
    files.write("log", b"new", expect=files.read("log").digest)
    assert tenant.rows("SELECT count(*) FROM carrel.workspace_segments") == [(0,)]
    files.append("log", b"more\n")
    files.remove("log", expect=files.read("log").digest)
    assert tenant.rows("SELECT count(*) FROM carrel.workspace_segments") == [(0,)]
    assert files.list() == []


def test_what_describes_a_content_does_not_outlive_it(tenant: Tenant, files: PostgresFiles) -> None:
    digest = files.write("a.md", b"one\n", expect=None)
    describe = (
        "UPDATE carrel.workspace_files SET token_count = 3, priority = 1, tags = '{x}' WHERE sha256 = %s"
    )
    described = "SELECT token_count, priority, tags, version FROM carrel.workspace_files WHERE path = 'a.md'"
    tenant.rows(describe, [digest])
    assert tenant.rows(described) == [(3, 1, ["x"], 1)]
    digest = files.write("a.md", b"two\n", expect=digest)
    assert tenant.rows(described) == [(None, None, None, 2)]
    tenant.rows(describe, [digest])
    files.append("a.md", b"three\n")
    assert tenant.rows(described) == [(None, None, None, 3)]


def test_a_stamp_is_settled_at_once(files: PostgresFiles) -> None:
    files.write("a.md", b"x", expect=None)
    assert all(is_settled(stamp, stamp[2]) for stamp in files.stamps(["a.md", ""]))


def test_a_file_made_anew_with_the_same_bytes_has_another_stamp(files: PostgresFiles) -> None:
    digest = files.write("d/a.md", b"x", expect=None)
    before = files.stamps(["d/a.md", "d", ""])
    files.remove("d/a.md", expect=digest)
    files.write("d/a.md", b"x", expect=None)
    assert not set(before) & set(files.stamps(["d/a.md", "d", ""]))


def test_a_path_longer_than_an_index_holds_is_refused_when_it_is_new(files: PostgresFiles) -> None:
    longest = "/".join(["é" * 100] * 5)[: PATH_BYTES // 2 - 5] + "x" * 11
    while len(longest.encode()) < PATH_BYTES:
        longest += "x"
    assert files.append(longest, b"x\n") == 2
    with pytest.raises(BadPath, match="longer"):
        files.write(f"{longest}y", b"", expect=None)
    assert files.read(f"{longest}y") is None


def test_changes_of_a_transaction_are_kept_or_undone_together(tenant: Tenant, files: PostgresFiles) -> None:
    files.write("a.md", b"old\n", expect=None)

    def half() -> None:
        with tenant.transaction():
            files.append("a.md", b"new\n")
            files.write("d/b.md", b"new\n", expect=None)
            with pytest.raises(Stale):
                files.write("a.md", b"x", expect=None)
            with pytest.raises(Unreadable):
                files.append("d", b"x\n")
            assert files.read("a.md").data == b"old\nnew\n"
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert [entry.path for entry in files.tree()] == ["a.md"]
    assert files.read("a.md").data == b"old\n"


def test_two_workspaces_of_a_tenant_share_nothing(tenant: Tenant, files: PostgresFiles) -> None:
    other = PostgresFiles(tenant, ".trash/studio")
    files.write("a.md", b"one", expect=None)
    other.write("A.md", b"two", expect=None)
    assert [entry.path for entry in files.list()] == ["a.md"]
    assert [entry.path for entry in other.list()] == ["A.md"]


def test_folders_that_many_fill_and_empty_at_once_are_there_while_a_file_is(
    tenant: Tenant, files: PostgresFiles
) -> None:
    paths = ["a/b/c/1", "a/b/c/2", "a/b/3", "a/4", "A/5", "a/b"]

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(25):
            path = chance.choice(paths)
            with suppress(Stale, Unreadable, NameTaken):
                if content := files.read(path):
                    files.remove(path, expect=content.digest)
                elif chance.random() < 0.5:
                    files.write(path, b"x", expect=None)
                else:
                    files.append(path, b"x\n")

    failures: list[BaseException] = []

    def guarded(seed: int) -> None:
        try:
            work(seed)
        except BaseException as error:  # noqa: BLE001  a thread's failure must fail the test
            failures.append(error)

    threads = [Thread(target=guarded, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    rows = tenant.rows(
        "SELECT path, folder, is_folder FROM carrel.workspace_files WHERE tenant = %s", [tenant.name]
    )
    held = {folder for _, folder, _ in rows}
    assert {path for path, _, is_folder in rows if is_folder} - {""} == held - {None, ""}
    assert len({path.lower() for path, *_ in rows}) == len(rows)
