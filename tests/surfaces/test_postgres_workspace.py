"""A workspace at an address: every command works as in a directory, and no disk is written to."""

import io
import json
import os
import sys
from pathlib import Path

import pytest
from tests.conftest import snapshot

HERE = "pg://acme/studio"


@pytest.fixture
def remote(cli, database):
    cli.set(CARREL_DATABASE_URL=database)
    return cli


@pytest.fixture
def studio(remote):
    assert remote("init", HERE).code == 0
    return remote


def say(cli, text: str, **fields: str) -> str:
    return json.dumps({"role": "user", "content": text, **fields}) + "\n"


def put(cli, monkeypatch, path: str, text: str, *more: str):
    feed(monkeypatch, text)
    return cli("-C", HERE, "files", "put", path, *more)


def feed(monkeypatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))


def test_a_workspace_is_made_at_an_address_and_is_trusted(remote):
    made = remote("init", HERE, "--json").document
    assert "AGENTS.md" in made["created"]
    assert made["trusted"] is True
    again = remote("init", HERE, "--json").document
    assert again["created"] == []
    assert set(again["kept"]) == set(made["created"])


def test_an_address_where_nothing_was_made_is_not_found(remote):
    told = remote("-C", HERE, "context", "report", "--json")
    assert (told.code, told.error["code"]) == (3, "no_such_workspace")


@pytest.mark.parametrize(
    "address", ["pg://acme", "pg://", "pg:///studio", "pg://acme/../etc", "pg://acme/a/b", "pg://acme/a b"]
)
def test_what_only_looks_like_an_address_is_refused(remote, address):
    told = remote("-C", address, "health", "--json")
    assert (told.code, told.error["code"]) == (2, "bad_address")


def test_without_a_database_the_hint_says_how_one_is_named(cli):
    told = cli("-C", HERE, "health", "--json")
    assert (told.code, told.error["code"]) == (2, "no_database")
    assert "CARREL_DATABASE_URL" in told.error["hint"]


def test_the_users_own_file_may_name_the_database(cli, database):
    config = cli.home / "config" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"database:\n  url: {database}\nuser:\n  name: Ana\n")
    assert cli("init", HERE).code == 0
    assert cli("-C", HERE, "health").code == 0


def test_a_workspace_cannot_name_the_database(cli, sample):
    (sample / "carrel.yaml").write_text("database:\n  url: postgresql://stranger@/x\n")
    assert cli("-C", sample, "health", "--json").error["code"] == "bad_setting"


def test_the_password_of_a_database_is_in_no_error(cli):
    cli.set(CARREL_DATABASE_URL="postgresql://carrel:hunter2secret@127.0.0.1:1/none")
    told = cli("-C", HERE, "health", "--json")
    assert told.code == 1
    assert "hunter2secret" not in told.text + told.warnings


def test_a_file_that_is_put_is_read_searched_and_in_the_prompt(studio, monkeypatch):
    assert put(studio, monkeypatch, "notes.md", "The quokka lives on Rottnest.\n").code == 0
    assert studio("-C", HERE, "files", "cat", "notes.md").text == "The quokka lives on Rottnest.\n"
    hits = studio("-C", HERE, "search", "quokka", "--json").document["hits"]
    assert [hit["path"] for hit in hits] == ["notes.md"]
    assert "quokka" in studio("-C", HERE, "context", "show").text


def test_a_stale_write_is_a_conflict(studio, monkeypatch):
    put(studio, monkeypatch, "notes.md", "one\n")
    told = put(studio, monkeypatch, "notes.md", "two\n", "--expect", "absent", "--json")
    assert (told.code, told.error["code"]) == (5, "stale")


def test_what_is_said_is_recorded_once_and_is_in_the_next_call(studio, monkeypatch):
    feed(monkeypatch, say(studio, "My parrot is called Otto.", message_id="m1") * 2)
    recorded = studio("-C", HERE, "sessions", "record", "--session", "s1")
    assert recorded.code == 0, recorded.warnings
    shown = studio("-C", HERE, "sessions", "show", "s1", "--json").document
    assert [each["content"] for each in shown["entries"]] == ["My parrot is called Otto."]
    call = studio("-C", HERE, "context", "show", "--session", "s1", "--prepare", "--json").document
    assert "Otto" in json.dumps(call["messages"])


def test_a_fact_is_remembered_listed_and_undone(studio):
    assert studio("-C", HERE, "memory", "add", "Ana prefers tea.").code == 0
    assert "Ana prefers tea." in studio("-C", HERE, "files", "cat", "memory/main.md").text
    assert studio("-C", HERE, "memory", "undo").code == 0
    assert "Ana prefers tea." not in studio("-C", HERE, "context", "show").text


def test_experience_is_the_tenants_and_reaches_no_other(studio, database):
    assert studio("-C", HERE, "memory", "add", "Retry with jitter.", "--layer", "experience").code == 0
    assert "Retry with jitter." in studio("-C", HERE, "context", "show").text
    assert len(studio("-C", HERE, "namespaces", "list", "--json").document["namespaces"]) == 1
    assert studio("init", "pg://globex/studio").code == 0
    assert studio("-C", "pg://globex/studio", "namespaces", "list", "--json").document["namespaces"] == []
    assert not (studio.home / "data" / "namespaces").exists()


def test_what_was_removed_is_in_the_trash(studio, monkeypatch):
    put(studio, monkeypatch, "gone.md", "Not needed.\n")
    told = studio("-C", HERE, "files", "rm", "gone.md", "--json").document
    assert told["kept"].startswith(f"the trash of {HERE}/")
    assert studio("-C", HERE, "files", "cat", "gone.md").code == 3


def test_sweep_health_and_jobs_work(studio):
    assert studio("-C", HERE, "sweep").code == 0
    health = studio("-C", HERE, "health", "--json").document
    assert health["structure_valid"] is True
    assert [each for each in health["findings"] if each["severity"] == "error"] == []
    assert studio("-C", HERE, "jobs", "list").code == 0


def test_sensitive_settings_count_only_after_trust_which_is_in_the_database(studio, monkeypatch):
    put(studio, monkeypatch, "carrel.yaml", "layout: carrel\nmodel:\n  name: openai:gpt-4o\n")
    told = studio("-C", HERE, "config", "show", "--json").document
    assert told["trusted"] is False
    assert [each["code"] for each in told["findings"]] == ["untrusted_setting"]
    assert studio("trust", HERE).code == 0
    assert studio("-C", HERE, "config", "show", "--json").document["trusted"] is True
    assert not (studio.home / "data").exists()


def test_two_workspaces_and_two_tenants_share_nothing(studio, monkeypatch):
    put(studio, monkeypatch, "notes.md", "The quokka lives on Rottnest.\n")
    studio("-C", HERE, "memory", "add", "Ana prefers tea.")
    for other in ("pg://acme/annex", "pg://globex/studio"):
        assert studio("init", other).code == 0
        assert studio("-C", other, "search", "quokka", "--json").document["hits"] == []
        assert studio("-C", other, "memory", "history", "--json").document["changes"] == []
        assert "quokka" not in studio("-C", other, "context", "show").text


def test_an_agent_with_a_folder_of_its_own_lives_in_it(studio, monkeypatch):
    settings = "agents:\n  - id: ana\n  - id: bob\n    workspace: ./agents/bob/home\n"
    put(studio, monkeypatch, "carrel.yaml", settings)
    studio("trust", HERE)
    assert studio("-C", HERE, "--agent", "bob", "memory", "add", "Bob likes figs.").code == 0
    assert "Bob likes figs." in studio("-C", HERE, "files", "cat", "agents/bob/home/memory/bob.md").text
    assert studio("-C", HERE, "--agent", "ana", "memory", "facts", "--json").code in (0, 2)


def test_nothing_is_written_to_the_disk(studio, monkeypatch, tmp_path):
    before = snapshot(tmp_path)
    put(studio, monkeypatch, "notes.md", "The quokka lives on Rottnest.\n")
    feed(monkeypatch, say(studio, "Hello.") + json.dumps({"role": "assistant", "content": "Hi."}) + "\n")
    studio("-C", HERE, "sessions", "record", "--session", "s1")
    studio("-C", HERE, "search", "quokka")
    studio("-C", HERE, "context", "show", "--session", "s1", "--prepare")
    studio("-C", HERE, "memory", "add", "Ana prefers tea.")
    studio("-C", HERE, "memory", "forget", "--query", "tea", "--purge", "--yes")
    studio("-C", HERE, "sweep")
    studio("-C", HERE, "health")
    assert snapshot(tmp_path) == before


def test_a_database_that_is_not_ready_says_what_to_run(cli, postgres_server):
    cli.set(CARREL_DATABASE_URL=postgres_server.database("template0"))
    told = cli("init", HERE, "--json")
    assert (told.code, told.error["code"]) == (1, "postgres_not_ready")
    assert "carrel database migrate" in told.error["hint"]
    foretold = cli("database", "migrate", "--dry-run", "--json").document["done"]
    done = cli("database", "migrate", "--json").document["done"]
    assert foretold == done
    assert done[0].startswith("0001")
    assert cli("database", "migrate", "--json").document["done"] == []
    assert cli("init", HERE).code == 0


def test_a_report_loads_no_driver(process, sample):
    code = "import sys; from carrel.cli.main import run; run(['context', 'report']); sys.exit('psycopg' in sys.modules)"
    told = process(python=("-c", code), cwd=Path(os.fspath(sample)))
    assert told.code == 0, told.warnings


def standing(postgres_server, database: str, text: str) -> list[str]:
    """The tables of a database in which a text stands, as text or as bytes."""
    name = database.partition("?")[0].rpartition("/")[2]
    tables = postgres_server.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'carrel'", database=name
    )
    ways = f"r::text LIKE '%{text}%' OR r::text LIKE '%{text.encode().hex()}%'"
    return [
        table
        for (table,) in tables
        if postgres_server.execute(f"SELECT 1 FROM carrel.{table} r WHERE {ways} LIMIT 1", database=name)
    ]


def test_a_tenants_workspaces_are_listed_and_no_others(studio):
    assert studio("init", "pg://acme/annex").code == 0
    assert studio("init", "pg://globex/lab").code == 0
    listed = studio("database", "workspaces", "acme", "--json").document["workspaces"]
    assert listed == ["pg://acme/annex", HERE]
    assert studio("database", "workspaces", "globex").text == "pg://globex/lab\n"
    assert studio("database", "workspaces", "nobody", "--json").document["workspaces"] == []
    assert studio("database", "workspaces", "no body", "--json").error["code"] == "no_tenant"


def test_what_is_purged_stands_in_no_table(studio, monkeypatch, postgres_server, database):
    told = {"role": "user", "content": "My locker code word is zanzibarine.", "message_id": "m1"}
    feed(monkeypatch, json.dumps(told) + "\n")
    assert studio("-C", HERE, "sessions", "record", "--session", "s1").code == 0
    assert studio("-C", HERE, "memory", "add", "The locker code word is zanzibarine.").code == 0
    assert studio("-C", HERE, "search", "zanzibarine", "--json").document["hits"]
    call = ("context", "show", "--session", "s1", "--query", "Which code word has the locker?", "--prepare")
    assert studio("-C", HERE, *call).code == 0
    assert len(standing(postgres_server, database, "zanzibarine")) > 4
    (fact,) = studio("-C", HERE, "memory", "facts", "--json").document["facts"]
    purged = studio("-C", HERE, "memory", "forget", fact["id"], "--purge", "--yes", "--json")
    assert purged.code == 0, purged.text
    (remains,) = [copy for copy in purged.document["remaining"] if copy["kind"] == "records"]
    assert "VACUUM FULL" in remains["how"]
    left = standing(postgres_server, database, "zanzibarine")
    assert set(left) <= {"workspace_files", "workspace_segments"}, (left, purged.text)
    assert studio("-C", HERE, "search", "zanzibarine", "--json").document["hits"] == [] or left


def test_with_an_object_store_files_are_there_and_nowhere_else(
    remote, monkeypatch, postgres_server, database
):
    remote.set(CARREL_OBJECTS="memory://bucket-of-this-test")
    assert remote("init", HERE).code == 0
    assert put(remote, monkeypatch, "notes.md", "The quokka lives on Rottnest.\n").code == 0
    assert remote("-C", HERE, "files", "cat", "notes.md").text == "The quokka lives on Rottnest.\n"
    assert [hit["path"] for hit in remote("-C", HERE, "search", "quokka", "--json").document["hits"]] == [
        "notes.md"
    ]
    assert remote("-C", HERE, "memory", "add", "Ana prefers tea.").code == 0
    assert "Ana prefers tea." in remote("-C", HERE, "context", "show").text
    sql = "SELECT DISTINCT workspace FROM carrel.workspace_files ORDER BY workspace"
    name = database.partition("?")[0].rpartition("/")[2]
    assert postgres_server.execute(sql, database=name) == [(".trust",)]
