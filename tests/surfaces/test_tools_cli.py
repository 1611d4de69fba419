"""`carrel tools`: what a model may call, called by a person, with the same results and the same refusals."""

import io
import json
import sys

import pytest

SELF_REPORT = {"who_am_i", "what_do_i_know", "my_stats"}
FILES = {"read_file", "list_files", "write_file", "edit_file"}
SKILLS = {"skill_list", "skill_read"}


def called(cli, sample, name, *words):
    return cli("-C", sample, "tools", "call", name, *words, "--json")


def test_the_list_names_every_tool_and_what_it_takes(cli, sample):
    document = cli("-C", sample, "tools", "list", "--json").document
    tools = {tool["name"]: tool for tool in document["tools"]}
    assert document["schema_version"] == 1
    assert set(tools) >= SELF_REPORT | FILES | SKILLS
    assert all(set(tool) == {"name", "description", "parameters"} for tool in tools.values())
    assert tools["read_file"]["parameters"]["required"] == ["path"]
    assert [tool["name"] for tool in document["tools"]] == sorted(tools)


def test_the_list_for_people_says_what_writes(cli, sample):
    lines = {line.split()[0]: line for line in cli("-C", sample, "tools", "list").text.splitlines()}
    assert " writes " in lines["write_file"]
    assert " reads " in lines["read_file"]


def test_only_allowed_tools_are_listed_and_callable(cli, sample):
    sample.put({"carrel.yaml": "agents:\n  - id: kate\n    allowedTools: [read_file, my_*]\n"})
    tools = cli("-C", sample, "tools", "list", "--json").document["tools"]
    assert [tool["name"] for tool in tools] == ["my_stats", "read_file"]
    refused = called(cli, sample, "write_file", "--args", '{"path": "x.md", "text": "x"}')
    assert (refused.code, refused.error["code"]) == (3, "unknown_tool")
    assert not (sample / "x.md").exists()


def test_a_result_is_printed_bare(cli, sample):
    outcome = called(cli, sample, "read_file", "--args", '{"path": "SOUL.md"}')
    assert outcome.code == 0
    assert outcome.document["text"] == "Kind, and exact.\n"
    assert "schema_version" not in outcome.document
    assert outcome.text.count("\n") == 1


def test_a_result_for_people_is_the_same_on_several_lines(cli, sample):
    words = ("-C", sample, "tools", "call", "who_am_i")
    assert cli(*words).document == cli(*words, "--json").document
    assert cli(*words).text.count("\n") > 3


def test_a_result_for_people_moves_no_cursor(cli, sample):
    sample.put({"SOUL.md": "before \x1b[2J \x9b2J \u202e after\n"})
    outcome = cli("-C", sample, "tools", "call", "read_file", "--args", '{"path": "SOUL.md"}')
    assert not {"\x1b", "\x9b", "\u202e"} & set(outcome.text)
    assert outcome.document["text"] == "before \x1b[2J \x9b2J \u202e after\n"


def test_arguments_may_come_from_a_file(cli, sample, tmp_path):
    (tmp_path / "args.json").write_text('\ufeff{"path": "SOUL.md"}\n', "utf-8")
    outcome = called(cli, sample, "read_file", "--args", f"@{tmp_path}/args.json")
    assert outcome.document["text"] == "Kind, and exact.\n"


def test_arguments_may_come_from_standard_input(cli, sample, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"path": "SOUL.md"}')))
    assert called(cli, sample, "read_file", "--args", "-").document["text"] == "Kind, and exact.\n"


def test_a_closed_standard_input_gives_no_arguments(cli, sample, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert called(cli, sample, "read_file", "--args", "-").error["code"] == "bad_arguments"


def test_a_tool_that_needs_nothing_is_called_without_arguments(cli, sample):
    assert called(cli, sample, "my_stats").document["memories_stored"] == 1


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["frobnicate"], "unknown_tool", 3),
        (["read_file"], "bad_arguments", 2),
        (["read_file", "--args", "[]"], "bad_arguments", 2),
        (["read_file", "--args", "{"], "bad_arguments", 2),
        (["read_file", "--args", '{"path": 3.5}'], "bad_arguments", 2),
        (["read_file", "--args", '{"path": "SOUL.md", "colour": "red"}'], "bad_arguments", 2),
        (["read_file", "--args", "[" * 100_000], "bad_arguments", 2),
        (["read_file", "--args", "@nowhere.json"], "usage", 2),
        (["read_file", "--args", "@."], "usage", 2),
        (["read_file", "--args", "@\0"], "usage", 2),
        (["read_file", "--session", "../x", "--args", '{"path": "SOUL.md"}'], "bad_id", 2),
        (["read_file", "--args", '{"path": "../../etc/passwd"}'], "bad_path", 2),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_call_that_cannot_be_is_a_typed_error(cli, sample, words, code, exit_code):
    outcome = called(cli, sample, *words)
    assert (outcome.error["code"], outcome.code) == (code, exit_code)


def test_shared_scope_is_refused_what_is_the_owners(cli, sample):
    words = ("tools", "call", "read_file", "--args", '{"path": "MEMORY.md"}', "--json")
    assert "Samsung" in cli("-C", sample, *words).text
    outcome = cli("-C", sample, "--scope", "shared", *words)
    assert (outcome.code, outcome.error["code"]) == (6, "hidden_by_scope")
    assert "Samsung" not in outcome.text


def test_shared_scope_knows_nothing_of_memory(cli, sample):
    outcome = cli("-C", sample, "--scope", "shared", "tools", "call", "what_do_i_know", "--json")
    assert outcome.document == {"sections": [], "truncated": False}


def test_sessions_are_looked_into_with_their_own_tool(process, sample):
    said = json.dumps({"role": "user", "content": "the plan is blue"})
    recorded = process("-C", sample, "tools", "list", "--json")
    assert "session_logs" not in recorded.text
    log = sample / "agents/kate/sessions/s1.log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(f'{{"type":"session","version":1,"id":"s1"}}\n{{"type":"entry",{said[1:]}\n', "utf-8")
    words = ("tools", "call", "session_logs", "--session", "s1", "--json")
    outcome = process("-C", sample, *words, "--args", '{"action": "recent"}')
    assert "the plan is blue" in outcome.text


def test_who_waits_for_a_tool_at_a_terminal_is_told(cli, sample, monkeypatch):
    monkeypatch.setattr("carrel.cli.progress._SECONDS", 0.0001)
    monkeypatch.setattr("carrel.cli.progress._is_watched", lambda _: True)
    outcome = cli("-C", sample, "tools", "call", "memory_search", "--args", '{"query": "Ana"}')
    assert "Calling it … 1 s" in outcome.warnings
