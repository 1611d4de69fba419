"""`carrel import` as a person meets it: told beforehand, told afterwards, and safe to say twice."""

import json

import pytest
from tests.conftest import snapshot
from tests.unit.importing.desks import WORDS, furnish, write


@pytest.fixture
def desk(cli, tmp_path):
    assert cli("init", tmp_path / "desk").code == 0
    return tmp_path / "desk"


@pytest.fixture
def shop(tmp_path):
    write(tmp_path, "shop/CLAUDE.md", "# Shop\n\n## Commands\n\n- `pnpm test` runs the tests\n")
    write(tmp_path, "shop/.claude/rules/api.md", '---\npaths: ["src/**"]\n---\nValidate the kettle.\n')
    return tmp_path / "shop"


def test_the_way_from_another_program_to_an_answer(cli, desk, shop):
    told = cli("-C", desk, "import", shop, "--dry-run")
    assert told.code == 0
    assert "claude-code" in told.text
    assert "proposal  CLAUDE.md:5 → AGENTS.md" in told.text
    assert "Nothing was changed" in told.text
    assert "pnpm" not in (desk / "AGENTS.md").read_text()
    done = cli("-C", desk, "import", shop)
    assert "1 new, 1 waiting for you." in done.text
    assert "Next: carrel memory review" in done.text
    review = cli("-C", desk, "memory", "review").text
    assert "Imported from claude-code: CLAUDE.md, line 5." in review
    assert "+- `pnpm test` runs the tests" in review
    assert cli("-C", desk, "memory", "review", "approve", "--all").code == 0
    assert "`pnpm test` runs the tests" in cli("-C", desk, "context", "show").text
    assert "knowledge/claude-code/rules/api.md" in cli("-C", desk, "search", "kettle").text
    assert "2 there already" in cli("-C", desk, "import", shop).text


def test_machines_are_told_all_of_it(cli, desk, shop):
    document = cli("-C", desk, "import", shop, "--json").document
    assert document["kind"] == "claude-code"
    assert document["counts"] == {"new": 1, "proposal": 1}
    assert document["rows"][0] == {
        "source": "CLAUDE.md:5",
        "target": "AGENTS.md",
        "action": "proposal",
        "reason": "",
    }
    assert document["dry_run"] is False


def test_a_workspace_is_converted_to_another_layout(cli, tmp_path):
    old = furnish(tmp_path / "old", "astra")
    assert cli("init", tmp_path / "new", "--layout", "nexo").code == 0
    done = cli("-C", tmp_path / "new", "import", old, "--mine")
    assert done.code == 0
    assert "waiting" not in done.text
    prompt = cli("-C", tmp_path / "new", "context", "show").text
    assert all(WORDS[piece] in prompt for piece in ("agents", "soul", "user", "memory"))
    assert "notes/2026-04-21-birds.md" in done.text


def test_a_directory_is_taken_as_it_is(cli, tmp_path):
    old = furnish(tmp_path / "old", "openclaw")
    before = snapshot(old)
    done = cli("-C", old, "import", old)
    assert done.code == 0
    assert "none was changed" in done.text
    assert snapshot(old) == before


def test_an_export_is_a_whole_workspace_in_a_new_place_and_pieces_elsewhere(cli, desk, tmp_path):
    assert cli("-C", desk, "memory", "add", "Ana prefers tea.").code == 0
    assert cli("-C", desk, "export", "--to", tmp_path / "desk.zip").code == 0
    assert cli("-C", tmp_path / "again", "import", tmp_path / "desk.zip").code == 0
    for path in ("AGENTS.md", "memory/main.md", "carrel.yaml"):
        assert (tmp_path / "again" / path).read_bytes() == (desk / path).read_bytes()
    assert cli("trust", tmp_path / "again").code == 0
    learnt = cli("-C", tmp_path / "again", "memory", "facts", "--json").document["facts"]
    assert [fact["text"] for fact in learnt] == ["Ana prefers tea."]
    assert cli("init", tmp_path / "nexo", "--layout", "nexo").code == 0
    rows = cli("-C", tmp_path / "nexo", "import", tmp_path / "desk.zip", "--mine", "--json").document["rows"]
    assert ("memory/main.md", "MEMORY.md") in {(row["source"], row["target"]) for row in rows}
    assert "Ana prefers tea." in cli("-C", tmp_path / "nexo", "context", "show").text


def test_an_export_that_is_damaged_changes_nothing(cli, desk, tmp_path):
    assert cli("-C", desk, "export", "--to", tmp_path / "desk.zip").code == 0
    data = (tmp_path / "desk.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    before = snapshot(desk)
    for place in (desk, tmp_path / "new"):
        assert cli("-C", place, "import", tmp_path / "cut.zip", "--json").error["code"]
    assert snapshot(desk) == before
    assert not (tmp_path / "new").exists()


def test_others_than_the_owner_import_nothing(cli, desk, shop):
    assert cli("-C", desk, "--scope", "shared", "import", shop, "--json").error["code"] == "hidden_by_scope"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nowhere",), ("no_source", 3)),
        (("things",), ("unknown_source", 2)),
        (("things", "--from", "notion"), ("usage", 2)),
    ],
)
def test_a_wrong_source_is_told_with_the_next_step(cli, desk, tmp_path, words, expected):
    write(tmp_path, "things/a.txt", "Some text.\n")
    done = cli("-C", desk, "import", tmp_path / words[0], *words[1:], "--json")
    assert (done.error["code"], done.code) == expected


def test_a_workspace_in_a_database_is_imported_into_as_well(cli, database, shop, tmp_path):
    cli.set(CARREL_DATABASE_URL=database)
    assert cli("init", "pg://acme/desk").code == 0
    old = furnish(tmp_path / "old", "nexo")
    for source, counts in ((shop, {"new": 1, "merge": 1}), (shop, {"same": 2})):
        done = cli("-C", "pg://acme/desk", "import", source, "--mine", "--json")
        assert done.document["counts"] == counts, done.warnings
    assert cli("-C", "pg://acme/desk", "import", old, "--mine").code == 0
    assert cli("-C", "pg://acme/desk", "sessions", "show", "s1", "--json").code == 0
    assert WORDS["knowledge"] in cli("-C", "pg://acme/desk", "search", WORDS["knowledge"]).text
    again = cli("-C", "pg://acme/desk", "import", old, "--mine", "--json").document
    assert set(again["counts"]) == {"same"}


def test_names_of_files_cannot_move_the_cursor(cli, desk, tmp_path):
    write(tmp_path, "vault/.obsidian/app.json", "{}")
    write(tmp_path, "vault/a\x1b[2J.md", "x")
    done = cli("-C", desk, "import", tmp_path / "vault")
    assert done.code == 0
    assert "\x1b" not in done.text
    assert json.loads(cli("-C", desk, "import", tmp_path / "vault", "--json").text)["counts"] == {"same": 1}
