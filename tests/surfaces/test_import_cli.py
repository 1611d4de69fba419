"""`carrel import` as a person meets it: told beforehand, told afterwards, and safe to say twice."""

import json
from zipfile import ZipFile

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
    assert f"Next: carrel -C {desk} memory review" in done.text
    review = cli("-C", desk, "memory", "review").text
    assert "Imported from claude-code: CLAUDE.md, line 5." in review
    assert "+- `pnpm test` runs the tests" in review
    assert cli("-C", desk, "memory", "review", "approve", "--all").code == 0
    assert "`pnpm test` runs the tests" in cli("-C", desk, "context", "show").text
    assert "knowledge/claude-code/rules/api.md" in cli("-C", desk, "search", "kettle").text
    assert "2 there already" in cli("-C", desk, "import", shop).text


def test_an_import_is_taken_back_by_one_command(cli, desk, shop):
    assert cli("-C", desk, "import", shop, "--undo", "--json").error["code"] == "nothing_imported"
    assert "Undo: the same command with --undo" in cli("-C", desk, "import", shop, "--mine").text
    rules = desk / "knowledge/claude-code/rules/api.md"
    told = cli("-C", desk, "import", shop, "--undo", "--dry-run")
    assert "2 of 2 would be taken back." in told.text
    assert "pnpm" in (desk / "AGENTS.md").read_text()
    rules.write_text("My own rules.\n")
    done = cli("-C", desk, "import", shop, "--undo")
    assert (done.code, "import_edited" in done.warnings) == (5, True)
    assert "pnpm" not in (desk / "AGENTS.md").read_text()
    assert rules.read_text() == "My own rules.\n"


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


@pytest.mark.parametrize("form", ["zip", "json"])
def test_an_export_with_one_changed_file_is_not_brought_in_by_half(cli, desk, tmp_path, form):
    source = tmp_path / f"desk.{form}"
    assert cli("-C", desk, "export", "--to", source).code == 0
    if form == "json":
        source.write_text(source.read_text().replace("Be honest", "Be hornet"))
    else:
        change_in_zip(source, "files/SOUL.md", b"honest", b"hornet")
    assert cli("init", tmp_path / "other", "--layout", "nexo").code == 0
    before = snapshot(tmp_path / "other")
    for words in (("--mine",), ("--dry-run",)):
        done = cli("-C", tmp_path / "other", "import", source, *words, "--json")
        assert (done.error["code"], done.code) == ("bundle_damaged", 4)
    assert snapshot(tmp_path / "other") == before


def change_in_zip(path, name, old, new):
    with ZipFile(path) as file:
        held = [(info, file.read(info)) for info in file.infolist()]
    with ZipFile(path, "w") as file:
        for info, data in held:
            file.writestr(info, data.replace(old, new) if info.filename == name else data)


def test_a_file_that_is_named_by_a_link_is_the_file_that_it_leads_to(cli, desk, shop, tmp_path):
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/CLAUDE.md"
    link.symlink_to(shop / "CLAUDE.md")
    assert cli("-C", desk, "import", link, "--mine", "--json").document["counts"] == {"merge": 1}
    assert cli("-C", desk, "import", link, "--undo").code == 0
    assert "pnpm" not in (desk / "AGENTS.md").read_text()
    assert cli("-C", desk, "export", "--to", tmp_path / "desk.zip").code == 0
    (tmp_path / "links/latest.zip").symlink_to(tmp_path / "desk.zip")
    assert cli("-C", tmp_path / "again", "import", tmp_path / "links/latest.zip").code == 0
    assert (tmp_path / "again/SOUL.md").is_file()


def test_others_than_the_owner_import_nothing(cli, desk, shop):
    assert cli("-C", desk, "--scope", "shared", "import", shop, "--json").error["code"] == "hidden_by_scope"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nowhere",), ("no_source", 3)),
        (("things",), ("unknown_source", 2)),
        (("things", "--from", "notion"), ("unknown_kind", 2)),
        (("things", "--from", "claude-code"), ("no_source", 3)),
        (("none", "--from", "obsidian"), ("no_source", 3)),
    ],
)
def test_a_wrong_source_is_told_with_the_next_step(cli, desk, tmp_path, words, expected):
    write(tmp_path, "things/a.txt", "Some text.\n")
    (tmp_path / "none").mkdir()
    done = cli("-C", desk, "import", tmp_path / words[0], *words[1:], "--json")
    assert (done.error["code"], done.code) == expected


def test_secrets_in_files_that_are_brought_in_are_told(cli, desk, tmp_path):
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
    write(tmp_path, "vault/.obsidian/app.json", "{}")
    write(tmp_path, "vault/keys.md", f"The key is {secret}.\n")
    write(tmp_path, "vault/tea.md", "Green.\n")
    for words in (("--dry-run",), (), ("--json",)):
        done = cli("-C", desk, "import", tmp_path / "vault", *words)
        assert ("knowledge/keys.md" in done.warnings and "secrets_imported" in done.warnings) == (
            words != ("--json",)
        )
        assert secret not in done.warnings
        assert "tea.md" not in done.warnings


def test_no_name_is_not_the_current_directory(cli, desk, shop):
    done = cli("-C", desk, "import", "", "--json", cwd=shop)
    assert (done.error["code"], done.code) == ("no_source", 3)


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
