"""Asking ahead: fewer round trips, and never an answer that the work itself has made untrue."""

import pytest

from carrel.app import Workspace
from carrel.files.postgres import PostgresFiles

HERE = "pg://acme/studio"


def notes(tenant) -> PostgresFiles:
    return PostgresFiles(tenant, "notes")


def trips(tenant, work) -> int:
    before = tenant.round_trips
    with tenant.foreseeing("looking"):
        work()
    return tenant.round_trips - before


def test_what_was_asked_twice_is_asked_for_at_once(tenant):
    files = notes(tenant)
    for name in ("a.md", "b.md", "c.md"):
        files.write(name, name.encode(), expect=None)

    def look() -> list[bytes]:
        return [content.data for name in ("a.md", "b.md", "c.md") if (content := files.read(name))]

    assert [trips(tenant, look) for _ in range(4)] == [3, 3, 1, 1]
    with tenant.foreseeing("looking"):
        assert look() == [b"a.md", b"b.md", b"c.md"]


def test_what_is_asked_again_within_the_work_is_known(tenant):
    files = notes(tenant)
    files.write("a.md", b"one", expect=None)
    assert trips(tenant, lambda: [files.read("a.md") for _ in range(5)]) == 1


def test_what_others_changed_is_seen_by_the_next_work(tenant):
    files = notes(tenant)
    digest = files.write("a.md", b"one", expect=None)
    for _ in range(3):
        trips(tenant, lambda: files.read("a.md"))
    files.write("a.md", b"two", expect=digest)
    with tenant.foreseeing("looking"):
        found = files.read("a.md")
    assert found is not None
    assert found.data == b"two"


def test_work_sees_what_it_has_changed_itself(tenant):
    files = notes(tenant)
    digest = files.write("a.md", b"0", expect=None)
    for number in range(1, 5):
        with tenant.foreseeing("changing"):
            found = files.read("a.md")
            assert found is not None
            assert found.digest == digest
            digest = files.write("a.md", str(number).encode(), expect=digest)
            again = files.read("a.md")
            assert again is not None
            assert again.data == str(number).encode()


def test_what_is_asked_only_once_is_not_asked_for_again(tenant):
    files = notes(tenant)
    for number in range(6):
        files.write(f"{number}.md", b"", expect=None)
    for number in range(6):
        assert trips(tenant, lambda number=number: files.read(f"{number}.md")) == 1


def test_answers_that_fail_are_typed_and_the_work_can_go_on(tenant):
    with tenant.foreseeing("odd"), pytest.raises(Exception, match="division"):
        tenant.rows("SELECT 1 / 0")
    assert trips(tenant, lambda: tenant.rows("SELECT 1")) == 1


def test_a_warm_assembly_takes_three_round_trips_at_most(database, tmp_path):
    environ = {"CARREL_DATABASE_URL": database, "CARREL_HOME": str(tmp_path / "home")}
    Workspace.init(HERE, environ=environ)
    with Workspace.open(HERE, environ=environ) as workspace:
        said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
        workspace.record("s1", said)
        tenant, counted = workspace.home.tenant, []
        for _ in range(4):
            for work in (
                workspace.assemble,
                lambda: workspace.assemble("s1"),
                lambda: workspace.prepare("s1"),
            ):
                before = tenant.round_trips
                work()
                counted.append(tenant.round_trips - before)
        assert max(counted[-3:]) <= 3, counted
        first = workspace.assemble().to_text()
        workspace.put("notes.md", b"The quokka lives on Rottnest.\n")
        assert "quokka" in workspace.assemble().to_text()
        assert "quokka" not in first
