"""Whether rows 2 and 4 tell of what they look for: held here on what they would find then."""

import shutil
from pathlib import Path

import pytest
from tests.torture import calls, operations, writers
from tests.torture.desk import Desk
from tests.torture.rows import Meter


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return operations.prepare(tmp_path_factory.mktemp("prepared") / "start")


@pytest.fixture
def desk(before: Desk, tmp_path: Path) -> Desk:
    return Desk.at(shutil.copytree(before.root.parent, tmp_path / "live"))


def cut(path: Path, lines: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def test_of_a_desk_that_nobody_touched_nothing_is_gone(before: Desk, desk: Desk) -> None:
    assert list(operations.gone(before, desk, None)) == []
    assert list(operations.gone(before, desk, ())) == []


@pytest.mark.parametrize("takes", [None, ()])
@pytest.mark.parametrize(
    "name", ["MEMORY.md", "memory/kate.md", "SOUL.md", "agents/kate/sessions/s1.log.jsonl"]
)
def test_whatever_stood_there_before_is_missed(
    before: Desk, desk: Desk, name: str, takes: tuple[str, ...] | None
) -> None:
    cut(desk.root / name, 0)
    assert list(operations.gone(before, desk, takes)) != []


def test_messages_a_torn_line_and_records_are_missed(before: Desk, desk: Desk) -> None:
    cut(desk.log("s1"), 3)
    with desk.log("s1").open("ab") as log:
        log.write(b'{"type":"entry","mess\n')
    with operations.records(desk, "rw") as database, database:
        database.execute("DELETE FROM changes")
    told = "; ".join(operations.gone(before, desk, None))
    assert "is gone" in told
    assert "is no JSON" in told
    assert "records are gone" in told


def test_only_what_an_operation_takes_may_be_gone_when_it_is_done(before: Desk, desk: Desk) -> None:
    (desk.root / "MEMORY.md").write_text("# Memory\n\n## Notes\n\n- zero\n")
    assert list(operations.gone(before, desk, ("the last change",))) == []
    assert list(operations.gone(before, desk, ())) == ["MEMORY.md: b'- the last change' is gone"]
    assert list(operations.gone(before, desk, None)) == ["MEMORY.md is not as it was"]


def test_the_parts_of_the_quick_tier_try_every_pair_once() -> None:
    each = calls.CALLS.quick // calls.CALLS.parts
    tried = [pair for part in range(1, calls.CALLS.parts + 1) for pair in calls.turns(part, each)[:each]]
    assert sorted(map(str, tried)) == sorted(map(str, calls.PAIRS))


@pytest.mark.parametrize(
    ("name", "data", "last"),
    [
        ("MEMORY.md", b"", b"# Memory\n"),
        ("MEMORY.md", b"# Memory\n- <0.1", b"# Memory\n"),
        ("MEMORY.md", b"# Memory\n", b"# Memory\n- <e1.0>\n- <e1.1>\n"),
        ("set.md", b"", b"<0.1>\n"),
        ("set.md", b"<0.1>\n", b"<0.1>\n<0.2>\n"),
    ],
)
def test_a_file_that_lacks_its_end_is_torn(name: str, data: bytes, last: bytes) -> None:
    assert not writers.is_whole(name, data, last)


@pytest.mark.parametrize(
    ("name", "data", "last"),
    [
        ("MEMORY.md", b"# Memory\n- <e1.0>\n- <e1.1>\n", b"# Memory\n- <e1.0>\n- <0.1>\n"),
        ("MEMORY.md", b"# Memory\n- So it is. _(score=0.59, hits=1, days=1)_\n", b"# Memory\n"),
        ("set.md", b"", b""),
        ("set.md", b"<0.1>\n<0.2>\n", b"<0.1>\n"),
    ],
)
def test_a_file_that_others_write_between_two_reads_is_whole(name: str, data: bytes, last: bytes) -> None:
    assert writers.is_whole(name, data, last)


@pytest.mark.parametrize(
    "name",
    ["MEMORY.md", "agents/kate/sessions/s1.log.jsonl", "agents/kate/sessions"],
)
def test_what_is_not_durable_is_missed(desk: Desk, name: str) -> None:
    assert calls.is_lost(str(desk.root / name))


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY.md (deleted)",
        ".carrel/cache/index.db",
        "agents/kate/sessions/s1.jsonl",
        "agents/kate/sessions/sessions.json",
        "empty",
    ],
)
def test_what_is_gone_derived_or_empty_need_not_be_durable(desk: Desk, name: str) -> None:
    (desk.root / "empty").mkdir()
    assert not calls.is_lost(str(desk.root / name))


def test_a_database_is_missed_where_its_log_is_gone_and_the_name_of_the_log_where_it_is_not(
    desk: Desk,
) -> None:
    database = desk.root / ".carrel/state/records.db"
    log = database.with_name("records.db-wal")
    log.touch()
    assert not calls.is_lost(str(database))
    assert calls.is_lost(str(database.parent))
    log.unlink()
    assert calls.is_lost(str(database))
    assert not calls.is_lost(str(database.parent))


@pytest.mark.parametrize("seed", range(1, 4))
def test_the_long_tier_begins_with_any_pair_and_tries_all(seed: int, tmp_path: Path) -> None:
    meter = Meter(calls.CALLS.long, 1, tmp_path, seed)
    assert set(map(str, calls.turns(meter.seed, meter.wanted))) == set(map(str, calls.PAIRS))
