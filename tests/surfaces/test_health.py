"""`carrel health`: size, count, structure, and everything a person should look at, each with a next step."""

import os
import re
import socket

import pytest

from carrel import Workspace

KEYS = {"code", "severity", "path", "message", "hint"}


def health(cli, desk, *words):
    return cli("-C", desk, "health", "--json", *words).document


def found(cli, desk):
    return {(finding["code"], finding["path"]) for finding in health(cli, desk)["findings"]}


def test_a_whole_workspace_has_its_four_figures_and_no_findings(cli, sample):
    document = health(cli, sample)
    files = [path for path in sample.path.rglob("*") if path.is_file()]
    assert document["total_bytes"] == sum(path.stat().st_size for path in files)
    assert document["files"] == len(files)
    assert document["structure_valid"] is True
    assert document["findings"] == []
    assert set(document) <= {"schema_version", "total_bytes", "files", "structure_valid", "findings"}


def test_the_text_form_says_the_same(cli, sample):
    document = health(cli, sample)
    text = cli("-C", sample, "health").text
    assert f"{document['files']:,} files" in text
    assert f"{document['total_bytes']:,} bytes" in text
    assert "whole" in text


def test_its_own_folder_and_git_are_not_counted(cli, sample):
    before = health(cli, sample)
    sample.put({".git/objects/x": "x" * 1000, ".carrel/state/y": "y" * 1000})
    after = health(cli, sample)
    assert (after["files"], after["total_bytes"]) == (before["files"], before["total_bytes"])


def test_every_finding_has_all_its_keys_and_a_severity(cli, desk):
    desk.put(
        {"IDENTITY.md": "- **Name:** (your name)\n", "a.md": b"\xff", "b.md": "<!-- priority: soon -->\nB\n"}
    )
    findings = health(cli, desk)["findings"]
    assert {"missing", "unreadable", "front_matter", "placeholder"} <= {f["code"] for f in findings}
    for finding in findings:
        assert set(finding) == KEYS
        assert finding["severity"] in ("info", "warning", "error")
        assert finding["message"]


@pytest.mark.parametrize(
    ("layout", "lacking"),
    [("carrel", {"AGENTS.md"}), ("astra", {"SOUL.md", "workspace"}), ("nexo", {"IDENTITY.md", "SOUL.md"})],
)
def test_what_the_layout_needs_and_is_missing_breaks_the_structure(cli, desk, layout, lacking):
    desk.put({"carrel.yaml": f"layout: {layout}\n"})
    document = health(cli, desk)
    assert document["structure_valid"] is False
    missing = [f for f in document["findings"] if f["code"] == "missing"]
    assert {f["path"] for f in missing} == lacking
    assert all("carrel init" in f["hint"] for f in missing)
    assert "broken" in cli("-C", desk, "health").text


def test_following_the_hint_makes_the_structure_whole(cli, desk):
    desk.put({"carrel.yaml": "layout: nexo\n"})
    cli("init", desk, "--layout", "nexo")
    assert health(cli, desk)["structure_valid"] is True


def test_what_is_no_file_is_found(cli, sample, tmp_path):
    os.mkfifo(sample / "pipe.md")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(os.path.relpath(sample / "s"))
    (tmp_path / "outside.md").write_text("Outside.\n")
    (sample / "away.md").symlink_to(tmp_path / "outside.md")
    (sample / "round.md").symlink_to("round.md")
    (sample / "gone.md").symlink_to("nothing.md")
    (sample / "memory/2026-04-22.md").mkdir()
    codes = found(cli, sample)
    for path in ("pipe.md", "s", "away.md", "round.md", "gone.md"):
        assert ("not_a_file", path) in codes
    for path in ("pipe.md", "away.md", "round.md"):
        assert ("unreadable", path) in codes


def test_a_folder_in_the_place_of_a_file_is_found(cli, sample):
    (sample / "MEMORY.md").unlink()
    (sample / "MEMORY.md").mkdir()
    assert ("unreadable", "MEMORY.md") in found(cli, sample)


def test_a_file_in_the_place_of_a_folder_is_found(cli, desk):
    desk.put(
        {
            "AGENTS.md": "Be brief.\n",
            "memory": "not a folder\n",
            "knowledge": "nor this\n",
            "skills": "nor this\n",
        }
    )
    paths = {path for _, path in found(cli, desk)}
    assert {"memory", "knowledge", "skills"} <= paths


def test_names_that_differ_by_case_are_found_under_a_name_that_exists(cli, sample):
    sample.put({"Team.md": "Three people.\n"})
    twins = [f for f in health(cli, sample)["findings"] if f["code"] == "name_twins"]
    assert len(twins) == 1
    assert twins[0]["path"] in ("team.md", "Team.md")


def test_what_is_cut_or_left_out_is_found(cli, sample):
    sample.put(
        {"carrel.yaml": "budgets: {file: 100, total: 150}\n", "a.md": "word " * 500, "b.md": "word " * 90}
    )
    codes = found(cli, sample)
    assert ("truncated", "a.md") in codes
    assert ("left_out", "b.md") in codes


def test_a_cut_is_told_in_one_unit(cli, desk):
    desk.put({"carrel.yaml": "layout: nexo\n", "IDENTITY.md": "- **Name:** K\n", "SOUL.md": "word " * 4000})
    message = next(f["message"] for f in health(cli, desk)["findings"] if f["code"] == "truncated")
    shown, whole = (int(word.replace(",", "")) for word in message.split() if word.replace(",", "").isdigit())
    assert shown < whole, message


def test_placeholders_are_listed_with_their_names(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "IDENTITY.md": "- **Name:** (your name)\n- **Vibe:** (how)\n"})
    finding = next(f for f in health(cli, desk)["findings"] if f["code"] == "placeholder")
    assert "name" in finding["message"]
    assert "vibe" in finding["message"]


def test_a_long_soul_is_told(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "SOUL.md": "word " * 2500})
    assert ("long_soul", "SOUL.md") in found(cli, desk)


def test_looking_at_a_cut_workspace_is_not_a_failure(cli, desk):
    desk.put({"carrel.yaml": "budgets: {file: 10}\n", "AGENTS.md": "word " * 400})
    document = health(cli, desk)
    assert document["structure_valid"] is True
    assert cli("-C", desk, "health").code == 0


PRIVATE = {
    "AGENTS.md": "Be brief.\n",
    "USER.md": b"\xff",
    "memory/2026-04-24.md": b"\xff",
    "Secret-Plan.md": "<!-- scope: private -->\nA plan.\n",
    "secret-plan.md": "<!-- scope: private -->\nAnother.\n",
    "skills/Hidden/SKILL.md": "---\nscope: private\n---\nNo description.\n",
    "IDENTITY.md": "<!-- scope: private -->\n- **Name:** (secret-name)\n",
    "public.md": "<!-- priority: soon -->\nHi.\n",
    "Public.md": "Hi.\n",
}


def test_shared_scope_hears_nothing_of_private_files_but_their_number(cli, desk):
    desk.put(PRIVATE)
    os.mkfifo(desk / "memory/pipe.md")
    os.mkfifo(desk / "pipe.md")
    for_owner, for_others = health(cli, desk), health(cli, desk, "--scope", "shared")
    assert for_others["files"] == for_owner["files"]
    assert for_others["total_bytes"] == for_owner["total_bytes"]
    text = str(for_others["findings"]) + cli("-C", desk, "--scope", "shared", "health").text
    for name in ("USER.md", "memory", "ecret", "Hidden", "IDENTITY"):
        assert name in str(for_owner["findings"])
        assert name not in text
    told = {(finding["code"], finding["path"]) for finding in for_others["findings"]}
    assert {("not_a_file", "pipe.md"), ("front_matter", "public.md")} <= told
    assert "name_twins" in {code for code, _ in told}


def test_shared_scope_is_not_told_that_a_private_file_is_missing(cli, desk):
    desk.put({"carrel.yaml": "layout: nexo\n", "SOUL.md": "Kind.\n"})
    for words in (["health"], ["config", "validate"]):
        document = cli("-C", desk, "--scope", "shared", *words, "--json").document
        assert {"missing"} == {finding["code"] for finding in document["findings"]}
        assert {"IDENTITY.md"} == {finding["path"] for finding in document["findings"]}


@pytest.mark.parametrize(
    ("layout", "unit"), [("nexo", "characters"), ("carrel", "tokens"), ("openclaw", "characters")]
)
def test_a_cut_names_its_unit(cli, desk, layout, unit):
    desk.put({"carrel.yaml": f"layout: {layout}\nbudgets: {{file: 1000}}\n", "SOUL.md": "word " * 4000})
    message = next(f["message"] for f in health(cli, desk)["findings"] if f["code"] == "truncated")
    whole = "19,999" if unit == "characters" else "4,000"
    assert re.fullmatch(rf"SOUL\.md is cut: [\d,]+ of {whole} {unit} are shown\.", message)


def test_names_cannot_write_to_the_terminal(cli, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "\x1b[31mred\u202e.md": b"\xff", "line\nfeed.md": b"\xff"})
    text = cli("-C", desk, "health").text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "line\nfeed" not in text


@pytest.mark.parametrize("verb", [["init"], ["trust"], ["-C"]])
def test_the_name_of_a_workspace_cannot_write_to_the_terminal(cli, tmp_path, verb):
    folder = tmp_path / "a\x1b[31m\u202eb"
    folder.mkdir()
    (folder / "carrel.yaml").write_text("agents: [{id: kate, profile: x}]\n")
    words = [*verb, folder] if verb != ["-C"] else ["-C", folder, "config", "show"]
    outcome = cli(*words)
    assert outcome.code == 0
    assert "\x1b" not in outcome.text + outcome.warnings
    assert "\u202e" not in outcome.text + outcome.warnings


def test_a_log_that_cannot_be_read_is_told(cli, sample):
    log = sample / "agents/kate/sessions/s1.log.jsonl"
    log.parent.mkdir(parents=True)
    with log.open("wb") as file:
        file.truncate(1 << 40)
    told = cli("-C", sample, "health", "--json").document["findings"]
    assert [each["path"] for each in told if each["code"] == "unreadable"] == [
        "agents/kate/sessions/s1.log.jsonl"
    ]


def test_what_was_damaged_and_set_aside_is_told_of_until_somebody_removes_it(cli, sample):
    cli("trust", sample)
    with Workspace.open(sample.path) as workspace:
        workspace.record("s1", [{"role": "user", "content": "Zebra?"}])
    cli("-C", sample, "search", "zebra")
    cache = sample / ".carrel/cache"
    for name in ("sessions.db", "tokens.db", "index/catalog.db"):
        (cache / name).write_bytes(b"no database at all " * 500)
    cli("-C", sample, "sessions", "show", "s1")
    cli("-C", sample, "search", "zebra")
    told = [each for each in health(cli, sample)["findings"] if each["code"] == "set_aside"]
    aside = {f".carrel/cache/{name}.damaged" for name in ("sessions.db", "tokens.db", "index/catalog.db")}
    assert {each["path"] for each in told} == aside
    assert {each["severity"] for each in told} == {"info"}
    assert "set_aside" not in {each["code"] for each in health(cli, sample, "--scope", "shared")["findings"]}
    for path in aside:
        (sample / path).unlink()
    assert "set_aside" not in {code for code, _ in found(cli, sample)}


def test_where_a_link_stands_in_the_place_of_the_cache_nothing_behind_it_is_told_of(cli, sample, tmp_path):
    cli("trust", sample)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.damaged").write_text("x")
    (sample / ".carrel/cache").mkdir(parents=True, exist_ok=True)
    (sample / ".carrel/cache/index").symlink_to(elsewhere)
    (sample / ".carrel/cache/tokens.db.damaged").write_text("x")
    aside = {path for code, path in found(cli, sample) if code == "set_aside"}
    assert aside == {".carrel/cache/tokens.db.damaged"}
