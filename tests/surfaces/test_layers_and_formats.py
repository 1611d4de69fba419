"""Two layers seen as one workspace, and a context as a provider wants it."""

import io
import sys

import pytest


@pytest.fixture
def layers(tmp_path):
    upper, lower = tmp_path / "upper", tmp_path / "lower"
    for folder in (upper, lower / "knowledge"):
        folder.mkdir(parents=True)
    (lower / "carrel.yaml").write_text("layout: carrel\n")
    (lower / "AGENTS.md").write_text("Be brief.\n")
    (lower / "team.md").write_text("Two people.\n")
    (lower / "knowledge" / "api.md").write_text("x\n")
    (upper / "team.md").write_text("Three people.\n")
    return upper, lower


def test_what_is_absent_above_is_read_from_below(cli, layers):
    upper, lower = layers
    text = cli("-C", upper, "--lower", lower, "context", "show").text
    assert "Be brief." in text
    assert "Three people." in text
    assert "Two people." not in text
    assert "- knowledge/api.md" in text


def test_the_lower_layer_may_be_named_after_the_verb_too(cli, layers):
    upper, lower = layers
    assert "Be brief." in cli("-C", upper, "context", "show", "--lower", lower).text
    assert "Be brief." not in cli("-C", upper, "context", "show").text


def test_writing_leaves_the_lower_layer_alone(cli, layers, monkeypatch):
    upper, lower = layers
    before = {path: path.read_bytes() for path in lower.rglob("*") if path.is_file()}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Be long.\n")))
    assert cli("-C", upper, "--lower", lower, "files", "put", "AGENTS.md").code == 0
    assert (upper / "AGENTS.md").read_text() == "Be long.\n"
    assert {path: path.read_bytes() for path in lower.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("layout", "setting", "expected"),
    [
        ("carrel", "", False),
        ("agentscope", "", True),
        ("carrel", "empty", True),
        ("agentscope", "absent", False),
    ],
)
def test_an_emptied_file_falls_through_where_layout_or_settings_say_so(
    cli, layers, layout, setting, expected
):
    upper, lower = layers
    chosen = f"overlay: {{fallthrough: {setting}}}\n" if setting else ""
    (upper / "carrel.yaml").write_text(f"layout: {layout}\n{chosen}")
    (upper / "AGENTS.md").write_text("  \n")
    text = cli("-C", upper, "--lower", lower, "context", "show").text
    assert ("Be brief." in text) is expected


def test_a_lower_layer_that_is_not_there_is_a_typed_error(cli, layers):
    upper, lower = layers
    outcome = cli("-C", upper, "--lower", lower / "gone", "context", "show", "--json")
    assert outcome.code == 3
    assert outcome.error["code"] == "root_missing"


@pytest.mark.parametrize(
    ("form", "keys"),
    [("openai", {"messages"}), ("responses", {"input"}), ("anthropic", {"system", "messages"})],
)
def test_a_context_is_printed_as_a_providers_request(cli, layers, form, keys):
    _, lower = layers
    outcome = cli("-C", lower, "context", "show", "--query", "Who?", "--format", form)
    assert outcome.code == 0
    assert set(outcome.document) == {"schema_version", "request", "report"}
    assert set(outcome.document["request"]) == keys
    assert "Two people." in outcome.text
