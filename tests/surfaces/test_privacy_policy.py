"""Secrets and personal data before memory: blocked, marked or written, as `privacy` says, at every way in."""

import json

import pytest

KEY = "gh" + "p_" + "x7Qk29ZbLmN4pRtVwY6sDfGhJ8aC1eU3oI5q"
MAIL = "tom@example.com"
NOTEBOOK = "memory/kate.md"
MARK, OF_MAIL = "[REDACTED:GITHUB_TOKEN]", "[REDACTED:EMAIL_ADDRESS]"


@pytest.fixture
def desk(cli, tmp_path):
    """Run a command in Kate's workspace under some policies."""
    root = tmp_path / "desk"

    def run(*words, secrets=None, personal=None, **more):
        root.mkdir(exist_ok=True)
        rows = [
            f"  {key}: {value}\n" for key, value in (("secrets", secrets), ("personal", personal)) if value
        ]
        privacy = "privacy:\n" + "".join(rows) if rows else ""
        (root / "carrel.yaml").write_text(f"layout: carrel\n{privacy}agents:\n  - id: kate\n")
        assert cli("trust", root).code == 0
        return cli("-C", root, *words, **more)

    run.root = root
    return run


def written(desk, path=NOTEBOOK):
    found = desk.root / path
    return found.read_text() if found.exists() else ""


@pytest.mark.parametrize(
    "words", [("append", NOTEBOOK, "Keys"), ("replace", NOTEBOOK, "Keys")], ids=["append", "replace"]
)
def test_a_notebook_holds_marks_nothing_or_all_of_it(desk, words):
    text = f"- The key is {KEY}, ask {MAIL}."
    outcome = desk("memory", *words, text, "--json", secrets="block")
    assert (outcome.code, outcome.error["code"]) == (6, "blocked_by_privacy")
    assert KEY not in outcome.text + outcome.warnings
    assert not (desk.root / NOTEBOOK).exists()
    assert desk("memory", *words, text).code == 0
    assert (KEY in written(desk), MARK in written(desk), MAIL in written(desk)) == (False, True, True)
    assert desk("memory", *words, text, personal="redact").code == 0
    assert OF_MAIL in written(desk)
    assert desk("memory", *words, text, secrets="allow").code == 0
    assert KEY in written(desk)


def test_what_its_owner_wrote_by_hand_keeps_every_byte(desk):
    own = f"# Mine\r\n\r\n- My key is {KEY}.\r\n\r\n## Open\r\n\r\n- One.\r\n"
    desk("config", "show")
    (desk.root / "MEMORY.md").write_bytes(own.encode())
    assert (
        desk("memory", "append", "MEMORY.md", "Open", "- Two.", secrets="block", personal="block").code == 0
    )
    assert (desk.root / "MEMORY.md").read_bytes() == f"{own}- Two.\r\n".encode()


def test_a_fact_with_a_secret_is_refused_and_one_with_an_address_is_marked(desk):
    told = desk("memory", "add", f"The key is {KEY}.", "--json").document
    assert [fact["reason"] for fact in told["refused"]] == ["secret"]
    told = desk("memory", "add", f"Tom has the address {MAIL}.", "--json", personal="redact").document
    assert [fact["text"] for fact in told["written"]] == [f"Tom has the address {OF_MAIL}."]
    again = desk("memory", "add", f"Tom has the address {MAIL}.", "--json", personal="redact").document
    assert (again["written"], again["refused"], again["known"]) == ([], [], 1)
    told = desk("memory", "add", f"Tom's other one is {MAIL}.", "--json", personal="block").document
    assert [(fact["reason"], MAIL in fact["text"]) for fact in told["refused"]] == [("personal", False)]
    assert desk("memory", "add", f"Tom writes from {MAIL}.").code == 0
    assert written(desk).count(MAIL) == 1
    assert KEY not in written(desk)


def test_marks_are_told_by_health(desk):
    desk("memory", "append", NOTEBOOK, "Keys", f"- {KEY}")
    found = desk("health", "--json").document["findings"]
    (told,) = [finding for finding in found if finding["code"] == "memory_redacted"]
    assert "github_token" in told["message"]
    assert told["path"] == NOTEBOOK


@pytest.mark.parametrize("action", ["append", "replace"])
def test_a_model_writes_marks_or_is_refused(desk, action):
    args = {"action": action, "text": f"Mail {MAIL}, key {KEY}.", "section": "Insights"}
    words = ("tools", "call", "memory_write", "--args", json.dumps(args), "--json")
    assert desk(*words, personal="block").error["code"] == "blocked_by_privacy"
    told = desk(*words, personal="redact").document
    assert told["state"] in ("written", "waiting")
    waiting = desk("memory", "review", "--json").text
    assert KEY not in written(desk) + waiting
    assert MAIL not in written(desk) + waiting


def test_entries_of_a_journal_enter_memory_with_marks_or_not_at_all(desk):
    desk("config", "show")
    day = desk.root / "memory/2026-04-20.md"
    day.parent.mkdir()
    day.write_text(
        f"- 09:00 [decision] Tom is reached at {MAIL} from now on.\n- 09:05 [note] Ana drinks tea.\n"
    )
    told = desk("memory", "consolidate", personal="block")
    assert "1 private" in told.warnings + told.text
    assert "Ana drinks tea." in written(desk, "MEMORY.md")
    assert "Tom" not in written(desk, "MEMORY.md")
    day.write_text(f"{day.read_text()}- 10:00 [note] Eva is reached at {MAIL} as well.\n")
    assert desk("memory", "consolidate", personal="redact").code == 0
    assert f"Eva is reached at {OF_MAIL} as well." in written(desk, "MEMORY.md")
    assert MAIL in day.read_text()


def test_a_stranger_cannot_open_what_the_owner_has_closed(cli, tmp_path):
    root = tmp_path / "cloned"
    root.mkdir()
    (root / "carrel.yaml").write_text("layout: carrel\nprivacy:\n  secrets: allow\n")
    cli("-C", root, "memory", "append", "MEMORY.md", "Keys", f"- {KEY}")
    assert KEY not in (root / "MEMORY.md").read_text()


def test_a_model_that_writes_files_of_memory_is_held_to_the_same(desk):
    def call(name, path, text, **policies):
        args = json.dumps({"path": path, "content": text})
        return desk("tools", "call", name, "--args", args, "--json", **policies)

    assert call("write_file", NOTEBOOK, f"# Kate\n\n- {KEY}\n").code == 0
    assert written(desk) == f"# Kate\n\n- {MARK}\n"
    (desk.root / "soon.md").symlink_to("memory/2026-04-25.md")
    assert call("write_file", "soon.md", f"- {KEY}\n").code == 0
    assert written(desk, "memory/2026-04-25.md") == f"- {MARK}\n"
    refused = call("write_file", "memory/2026-04-24.md", f"- {KEY}\n", secrets="block")
    assert refused.error["code"] == "blocked_by_privacy"
    assert not (desk.root / "memory/2026-04-24.md").exists()
    assert call("write_file", "src/settings.py", f"KEY = '{KEY}'\n").code == 0
    assert KEY in written(desk, "src/settings.py")
