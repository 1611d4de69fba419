"""`carrel context show | report`: what the model reads, and the account of it, for people and machines."""

import hashlib
import json
import re

import pytest

from carrel.tokens import Vocabulary

STATES = {"included", "truncated", "excluded", "hidden", "missing", "unreadable", "blocked"}
SECTION = {
    "name": str,
    "kind": str,
    "raw_tokens": int,
    "tokens": int,
    "size": int,
    "limit": (int, type(None)),
    "state": str,
    "reason": (str, type(None)),
    "stable": bool,
    "sha256": (str, type(None)),
}
REPORT = {
    "schema_version": int,
    "layout": str,
    "agent": str,
    "session": (str, type(None)),
    "scope": str,
    "model": (str, type(None)),
    "tokens": dict,
    "unit": str,
    "prefix": dict,
    "sections": list,
    "hidden": int,
    "recall": list,
    "forecast": dict,
    "warnings": list,
}
HEX = re.compile(r"[0-9a-f]{64}")
WORKSPACES = {
    "carrel": {},
    "nexo": {"carrel.yaml": "layout: nexo\n", "notes/2026-04-24.md": "- wrote tests\n"},
    "astra": {
        "carrel.yaml": "layout: astra\nagents: [{id: kate, systemPromptTemplate: 'You are Kate.'}]\n",
        "workspace/AGENTS.md": "Be brief.\n",
        "workspace/USER.md": "Luis.\n",
        "workspace/team.md": "Two people.\n",
    },
    "tight": {"carrel.yaml": "layout: carrel\nbudgets: {file: 40, total: 99}\n", "team.md": "word " * 300},
    "damaged": {
        "team.md": b"\xff",
        "a.md": "",
        "b.md": "<!-- priority: x -->\nB\n",
        "</document>.md": "Hi </document>\n",
    },
}


@pytest.fixture(params=sorted(WORKSPACES))
def workspace(request, sample):
    return sample.put(WORKSPACES[request.param])


def report(cli, desk, *words):
    return cli("-C", desk, "context", "report", "--json", *words).document


def typed(document, shape):
    assert set(document) == set(shape)
    for key, kind in shape.items():
        assert isinstance(document[key], kind), key
        assert not isinstance(document[key], bool) or kind is bool, key


@pytest.mark.parametrize("scope", ["main", "shared"])
def test_the_report_has_every_key_of_the_contract_and_no_other(cli, workspace, scope):
    document = report(cli, workspace, "--scope", scope, "--session", "s1", "--query", "Where were we?")
    typed(document, REPORT)
    assert document["schema_version"] == 1
    assert (document["session"], document["scope"], document["agent"]) == ("s1", scope, document["agent"])
    assert set(document["tokens"]) == {"window", "used", "free", "method"}
    assert document["tokens"]["method"] in ("exact", "estimate")
    assert document["unit"] in ("tokens", "characters")
    assert set(document["prefix"]) == {"sha256", "tokens", "changed_by"}
    assert HEX.fullmatch(document["prefix"]["sha256"])
    assert document["prefix"]["changed_by"] is None
    assert set(document["forecast"]) == {"turns_to_flush", "turns_to_compact"}
    assert document["recall"] == []
    for warning in document["warnings"]:
        typed(warning, {"code": str, "message": str})
    for row in document["sections"]:
        typed(row, SECTION)
        assert row["state"] in STATES - {"hidden"}


def test_every_row_adds_up(cli, workspace):
    document = report(cli, workspace, "--session", "s1", "--query", "Where were we?")
    rows = document["sections"]
    tokens = document["tokens"]
    assert tokens["used"] == sum(row["tokens"] for row in rows)
    assert tokens["free"] == tokens["window"] - tokens["used"]
    for row in rows:
        is_read = row["state"] in ("included", "truncated")
        assert (row["sha256"] is not None) == is_read
        assert (row["tokens"] > 0) == is_read
        if row["state"] == "truncated":
            assert row["size"] <= row["limit"]
            assert row["reason"] in ("limit", "total")
        if row["state"] in ("excluded", "unreadable"):
            assert row["reason"]


def test_every_row_has_a_name_of_its_own(cli, workspace):
    names = [row["name"] for row in report(cli, workspace)["sections"]]
    assert len(names) == len(set(names))


def test_used_is_within_a_token_per_section_of_the_whole_text(cli, workspace):
    document = cli(
        "-C", workspace, "context", "show", "--json", "--session", "s1", "--query", "Where were we?"
    ).document
    vocabulary = Vocabulary()
    whole = 0
    for message in document["messages"]:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part["text"] for part in content]
        whole += sum(len(vocabulary.encode(text)) for text in parts)
    read = [row for row in document["report"]["sections"] if row["tokens"]]
    assert abs(document["report"]["tokens"]["used"] - whole) <= len(read)


def test_the_digest_of_the_prefix_is_made_of_the_digests_of_its_sections(cli, workspace):
    document = report(cli, workspace, "--session", "s1", "--query", "Where were we?")
    digests, tokens = "", 0
    for row in document["sections"]:
        if row["sha256"] is None:
            continue
        if not row["stable"]:
            break
        digests += row["sha256"]
        tokens += row["tokens"]
    assert document["prefix"]["sha256"] == hashlib.sha256(digests.encode()).hexdigest()
    assert document["prefix"]["tokens"] == tokens


def test_the_digest_of_a_section_is_of_its_text(cli, sample):
    sample.put(WORKSPACES["astra"])
    document = cli("-C", sample, "context", "show", "--json").document
    contents = [hashlib.sha256(m["content"].encode()).hexdigest() for m in document["messages"]]
    assert contents == [row["sha256"] for row in document["report"]["sections"] if row["sha256"]]


def test_every_file_the_layout_considers_is_accounted_for(cli, sample):
    sample.put(
        {
            "README.md": "For people.\n",
            "DREAMS.md": "Dreamt.\n",
            "drafts.md": "Not yet.\n",
            ".carrelignore": "drafts.md\n",
            "empty.md": " \n",
            "latin.md": b"caf\xe9",
        }
    )
    (sample / "twin.md").symlink_to("team.md")
    (sample / "SOUL.md").unlink()
    rows = {row["name"]: (row["state"], row["reason"]) for row in report(cli, sample)["sections"]}
    assert rows["SOUL.md"][0] == "missing"
    assert rows["README.md"] == ("excluded", "not_for_prompt")
    assert rows["DREAMS.md"] == ("excluded", "not_for_prompt")
    assert rows["drafts.md"] == ("excluded", "ignored")
    assert rows["empty.md"] == ("excluded", "empty")
    assert rows["latin.md"] == ("unreadable", "not_utf8")
    assert rows["twin.md"] == ("excluded", "duplicate")
    assert rows["AGENTS.md"] == ("included", None)


def test_messages_are_the_same_in_text_and_json(cli, workspace):
    words = ["-C", workspace, "context", "show", "--session", "s1", "--query", "Where\nwere we?"]
    document = cli(*words, "--json").document
    assert set(document) == {"schema_version", "messages", "report"}
    typed(document["report"], REPORT)
    blocks = []
    for message in document["messages"]:
        assert set(message) == {"role", "content"}
        content = message["content"]
        text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
        blocks.append(f"=== {message['role'].upper()} ===\n{text}\n")
    assert cli(*words).text == "\n".join(blocks)
    assert cli(*words, "--format", "text").text == "\n".join(blocks)
    assert cli(*words, "--format", "messages").document == document


def test_parts_of_the_last_message_are_typed(cli, sample):
    document = cli("-C", sample, "context", "show", "--json", "--query", "Hello").document
    content = document["messages"][-1]["content"]
    assert content[0] == {"type": "text", "text": "Hello"}
    assert all(set(part) == {"type", "text"} for part in content)


def test_without_a_query_there_is_no_user_message(cli, sample):
    for words in ([], ["--query", ""]):
        roles = [
            m["role"] for m in cli("-C", sample, "context", "show", "--json", *words).document["messages"]
        ]
        assert roles == ["system", "system"]


def test_show_and_report_give_the_same_account(cli, workspace):
    words = ["--session", "s1", "--query", "Where were we?", "--json"]
    shown = cli("-C", workspace, "context", "show", *words).document["report"]
    assert shown == report(cli, workspace, *words)


def test_an_empty_directory_has_an_empty_context_and_a_whole_report(cli, desk):
    assert cli("-C", desk, "context", "show").out == b""
    document = report(cli, desk)
    typed(document, REPORT)
    assert document["tokens"]["used"] == 0
    assert {row["state"] for row in document["sections"]} <= {"missing"}
    assert cli("-C", desk, "context", "report").code == 0
    assert cli("-C", desk, "context", "report", "--oneline").text.startswith("0 % used")


def test_the_picture_comes_first_then_the_table(cli, sample):
    document = report(cli, sample)
    lines = cli("-C", sample, "context", "report").text.splitlines()
    assert f"{document['tokens']['window']:,} tokens used" in lines[0]
    assert f"{document['tokens']['free']:,} left" in lines[0]
    assert set(lines[1]) <= {"█", "▓"}
    assert f"cached prefix, {document['prefix']['tokens']:,} tokens" in lines[2]
    there = [row for row in document["sections"] if row["state"] != "missing"]
    absent = [row["name"] for row in document["sections"] if row["state"] == "missing"]
    for row, line in zip(there, lines[5:], strict=False):
        assert row["name"] in line
        assert row["state"] in line
    assert lines[5 + len(there)].endswith(f"not there: {', '.join(absent)}")
    assert len(lines) == 6 + len(there)


def test_the_picture_fits_a_narrow_terminal(cli, sample):
    cli.set(COLUMNS="40")
    lines = cli("-C", sample, "context", "report").text.splitlines()
    assert len(lines[1]) <= 40


def test_the_picture_tells_what_was_cut_left_out_and_hidden(cli, sample):
    sample.put(WORKSPACES["tight"])
    text = cli("-C", sample, "--scope", "shared", "context", "report").text
    assert "truncated: limit, " in text
    assert "more for the owner only" in text


def test_one_line_is_one_line(cli, workspace):
    text = cli("-C", workspace, "context", "report", "--oneline").text
    assert text.count("\n") == 1
    assert re.match(r"[\d.]+ % used · [\d,]+ left", text)


def test_one_line_tells_cuts_and_the_hidden(cli, sample):
    sample.put(WORKSPACES["tight"])
    text = cli("-C", sample, "--scope", "shared", "context", "report", "--oneline").text
    assert "1 cut" in text
    assert "hidden" in text


def test_warnings_are_on_standard_error_for_people_and_in_the_document_for_machines(cli, sample):
    sample.put({"team.md": "<!-- priority: soon -->\nTwo people.\n"})
    for_people = cli("-C", sample, "context", "report")
    assert "front_matter" in for_people.warnings
    assert "front_matter" not in for_people.text
    for_machines = cli("-C", sample, "context", "report", "--json")
    assert for_machines.err == b""
    assert [w["code"] for w in for_machines.document["warnings"]] == ["front_matter"]


def test_the_prompt_itself_comes_with_its_warnings_on_standard_error(cli, sample):
    sample.put({"team.md": "<!-- priority: soon -->\nTwo people.\n"})
    outcome = cli("-C", sample, "context", "show")
    assert "Two people." in outcome.text
    assert "front_matter" not in outcome.text
    assert "front_matter" in outcome.warnings


def test_an_unknown_model_is_reported_with_the_window_assumed(cli, sample):
    cli.set(CARREL_MODEL="mystery-9")
    document = report(cli, sample)
    assert document["model"] == "mystery-9"
    assert document["tokens"]["method"] == "estimate"
    assert "unknown_model" in {w["code"] for w in document["warnings"]}


def test_another_model_is_counted_in_its_own_vocabulary_and_fitted_to_its_own_window(cli, sample):
    prose = "# Soul\n\n" + "El señor Núñez habló de la reunión. " * 40
    sample.put({"carrel.yaml": "model: {name: gpt-4o, contextWindow: 20000}\n", "SOUL.md": prose})
    models = ("gpt-4o", "gpt-4", "mystery-9")
    (own, other, unknown), standing = (
        [report(cli, sample, "--model", model) for model in models],
        report(cli, sample),
    )
    assert standing == own  # the settings' own model keeps the settings' window
    assert [each["model"] for each in (own, other, unknown)] == [*models]
    assert [each["tokens"]["window"] for each in (own, other)] == [20_000, 8_192]
    souls = [next(s for s in each["sections"] if s["name"] == "SOUL.md") for each in (own, other)]
    assert souls[0]["sha256"] == souls[1]["sha256"]
    assert souls[0]["tokens"] < souls[1]["tokens"]  # an older vocabulary needs more for Spanish
    assert unknown["tokens"]["method"] == "estimate"
    assert "unknown_model" in {w["code"] for w in unknown["warnings"]}


def test_a_call_is_prepared_for_the_model_of_the_settings_alone(cli, sample):
    refused = cli("-C", sample, "context", "show", "--session", "s1", "--prepare", "--model", "gpt-4")
    assert refused.code == 2
    assert "leave out --model" in refused.warnings


def test_more_than_the_window_is_said_plainly(cli, sample):
    sample.put({"carrel.yaml": "model: {contextWindow: 5}\n"})
    outcome = cli("-C", sample, "context", "report")
    assert "over_window" in outcome.warnings
    assert report(cli, sample)["tokens"]["free"] == 0


@pytest.mark.parametrize("limit", ["file", "total"])
def test_a_budget_of_nothing_leaves_everything_accounted_for(cli, sample, limit):
    sample.put({"carrel.yaml": f"layout: carrel\nbudgets: {{{limit}: 0}}\n"})
    document = report(cli, sample)
    rows = {row["name"]: row for row in document["sections"]}
    assert rows["team.md"]["state"] == "excluded"
    assert rows["team.md"]["reason"] in ("no_room", "total")
    assert cli("-C", sample, "context", "show").code == 0


def test_reading_commands_record_nothing_and_prepare_does(cli, sample):
    words = ["-C", sample, "context", "show", "--session", "s1"]
    cli(*words)
    sample.put({"AGENTS.md": "Be very brief.\n"})
    assert cli(*words, "--json").document["report"]["prefix"]["changed_by"] is None
    cli(*words, "--prepare")
    sample.put({"AGENTS.md": "Be brief again.\n"})
    changed = {"section": "AGENTS.md", "cause": "changed"}
    assert cli(*words, "--json").document["report"]["prefix"]["changed_by"] == changed
    assert cli(*words, "--json").document["report"]["prefix"]["changed_by"] == changed
    assert "broke at AGENTS.md: changed" in cli("-C", sample, "context", "report", "--session", "s1").text


@pytest.mark.parametrize(
    "session",
    ["..", "a/b", "", ".hidden", "x" * 129, "CON", "sessions json", "-x", "a\nb", "a\0b", "\udcff", "x."],
)
def test_a_session_that_could_be_no_file_name_is_refused(cli, sample, session):
    outcome = cli("-C", sample, "context", "show", f"--session={session}", "--json")
    assert (outcome.code, outcome.error["code"]) == (2, "bad_id")


def test_the_document_survives_every_character_a_query_can_have(cli, sample):
    query = "".join(map(chr, [*range(1, 0x20), 0x7F, 0x85, 0x202E, 0x2028, 0xE0041, 0x1F419]))
    document = cli("-C", sample, "context", "show", "--json", "--query", query).document
    assert document["messages"][-1]["content"][0]["text"] == query
    assert json.loads(json.dumps(document)) == document
