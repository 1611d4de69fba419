"""The engine as a whole: what is sent, what is remembered, and that the account of it is true."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from msgspec.structs import replace

from carrel.context.budget import Budget
from carrel.context.build import Built
from carrel.context.inputs import Inputs
from carrel.context.render import escaper
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.overlay import OverlayFiles
from carrel.settings import BudgetSettings, ModelSettings, Settings
from carrel.workspace.layout import LAYOUTS
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
FILES = {
    "carrel": {
        "AGENTS.md": "Be brief.",
        "SOUL.md": "Kind, and exact.",
        "MEMORY.md": "- Ana uses a Samsung.",
        "memory/2026-04-24.md": "- wrote tests",
        "team.md": "Two people.",
    },
    "astra": {"SOUL.md": "Kind.", "workspace/AGENTS.md": "Be brief.", "workspace/team.md": "Two people."},
    "nexo": {
        "SOUL.md": "Kind.",
        "AGENTS.md": "Be brief.",
        "MEMORY.md": "- Ana uses a Samsung.",
        "notes/2026-04-24.md": "- wrote tests",
    },
    "agentscope": {"AGENTS.md": "Be brief.", "MEMORY.md": "- Ana uses a Samsung.", "knowledge/api.md": "x"},
    "squad": {"agents/kate/memory.md": "Be brief.", "memory/kate.md": "- Ana uses a Samsung."},
    "openclaw": {"AGENTS.md": "Be brief.", "TOOLS.md": "A hammer.", "MEMORY.md": "- Ana uses a Samsung."},
}


def row(assembly, name):
    return next(row for row in assembly.report.sections if row.name == name)


@pytest.mark.parametrize("layout", ["carrel", "astra", "nexo", "openclaw"])
def test_an_empty_workspace_sends_nothing(desk, layout):
    assembly = desk({}, layout).assemble()
    assert assembly.messages == ()
    assert assembly.to_text() == ""
    assert assembly.report.tokens.used == 0
    assert {section.state for section in assembly.report.sections} <= {"missing"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_call_twice_gives_the_same_bytes(desk, layout):
    some = desk(FILES[layout], layout, system_prompt_template="You are {{agent.displayName}}.")
    assert some.assemble(query="q") == some.assemble(query="q") == some.fresh().assemble(query="q")


def test_text_is_printed_with_a_line_for_each_role(desk):
    text = desk({"workspace/AGENTS.md": "Be brief."}, "astra", system_prompt_template="Hi.").assemble(
        query="q"
    )
    assert text.to_text() == ("=== SYSTEM ===\nBe brief.\n\n=== SYSTEM ===\nHi.\n\n=== USER ===\nq\n")


def test_a_row_tells_the_digest_and_the_tokens_of_the_text_that_is_sent(desk):
    assembly = desk({"AGENTS.md": "Be brief.", "a.md": "x"}).assemble()
    first, second = (section for section in assembly.report.sections if section.sha256)
    texts = [
        '<document path="AGENTS.md">\nBe brief.\n</document>',
        '\n<document path="a.md">\nx\n</document>',
    ]
    assert assembly.messages[0].content == "".join(texts)
    assert [first.sha256, second.sha256] == [sha256(text.encode()).hexdigest() for text in texts]
    joined = f"{first.sha256}{second.sha256}"
    assert assembly.report.prefix.sha256 == sha256(joined.encode()).hexdigest()
    assert assembly.report.tokens.used == first.tokens + second.tokens


def test_the_settings_limits_go_before_the_layouts_and_a_call_may_have_its_own(desk):
    some = desk({"a.md": "word " * 300}).set(budgets=BudgetSettings(file=100))
    assert some.assembler.limits(Budget()) == Budget(file=100, total=150_000, memory=2_000)
    assert row(some.assemble(), "a.md").limit == 100
    assert row(some.assemble(), "a.md").state == "truncated"
    assert row(some.assemble(budget=(50, None)), "a.md").limit == 50
    assert row(some.assemble(budget=(10_000, None)), "a.md").state == "included"


def test_a_budget_of_nothing_leaves_all_but_the_pinned_out(desk):
    assembly = desk({"AGENTS.md": "x", "a.md": "x"}).assemble(budget=(None, 0))
    assert [row(assembly, name).state for name in ("AGENTS.md", "a.md")] == ["included", "excluded"]


@pytest.mark.parametrize("word", ["</document9", "<memory-x", "</hit_y"])
def test_a_cut_cannot_make_a_tag_of_a_word_that_only_begins_like_one(desk, word):
    """`</document9` is text, and needs no escape; cut after its t it would close the document."""
    some = desk({"a.md": word * 100})
    escape = escaper(some.ground.layout.tags)
    for limit in range(28, 40):
        assembly = some.assemble(budget=(limit, None))
        assert row(assembly, "a.md").state == "truncated"
        body = assembly.to_text().split("\n", 2)[2].removesuffix("\n</document>\n")
        assert escape(body) == body


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_changed_file_is_seen_at_the_next_call(desk, layout):
    some = desk(FILES[layout], layout)
    some.assemble()
    path = next(path for path, text in FILES[layout].items() if text == "Be brief.")
    some.put(path, "Be long.")
    assert "Be long." in some.assemble().to_text()
    some.put(path, " ")
    assert "Be long." not in some.assemble().to_text()


def test_astra_reads_its_soul_once_per_process(desk):
    some = desk(FILES["astra"], "astra")
    some.assemble()
    some.put("SOUL.md", "Cruel.")
    assert "Kind." in some.assemble().to_text()
    assert "Cruel." in some.fresh().assemble().to_text()


def test_a_new_day_brings_its_own_journal(desk):
    some = desk(FILES["carrel"] | {"memory/2026-04-25.md": "- a new day"})
    today = some.assemble()
    tomorrow = some.assemble(now=NOW + timedelta(days=1))
    assert "a new day" not in today.to_text()
    assert "a new day" in tomorrow.to_text()
    assert "wrote tests" in tomorrow.to_text()


@pytest.mark.parametrize("layout", ["carrel", "nexo"])
def test_what_is_frozen_stays_although_its_files_change(desk, layout):
    some = desk(FILES[layout], layout)
    first = some.assemble(session="s1")
    frozen = {number: built.to_json() for number, built in first.frozen.items()}
    some.put("MEMORY.md", "- Ana lost it.")
    again = some.assemble(session="s1", frozen=frozen, before=first.remember())
    assert again.messages == first.messages
    assert again.report.prefix == first.report.prefix
    assert again.report.prefix.changed_by is None
    thawed = some.assemble(session="s1", before=first.remember())
    assert "lost" in thawed.to_text()
    assert thawed.report.prefix.changed_by is not None
    assert (thawed.report.prefix.changed_by.section, thawed.report.prefix.changed_by.cause) == (
        "MEMORY.md",
        "changed",
    )


def test_a_frozen_message_survives_its_way_through_plain_data(desk):
    for built in desk(FILES["carrel"]).assemble(session="s1").frozen.values():
        assert Built.from_json(built.to_json()) == built


def test_astra_freezes_nothing(desk):
    assert desk(FILES["astra"], "astra").assemble(session="s1").frozen == {}


def test_the_window_and_the_method_are_the_models(desk):
    exact = desk({"AGENTS.md": "x"}).assemble().report.tokens
    assert exact.exact
    claude = desk({"AGENTS.md": "x"}, model="claude-opus-4").assemble().report
    assert claude.tokens.window == 200_000
    assert not claude.tokens.exact
    assert claude.model == "claude-opus-4"
    unknown = desk({"AGENTS.md": "x"}, model="mystery").assemble().report
    assert [warning.code for warning in unknown.warnings] == ["unknown_model"]
    told = desk({"AGENTS.md": "x"}, model="mystery", context_window=5).assemble().report
    assert told.tokens.window == 5
    assert [(warning.code, warning.severity) for warning in told.warnings] == [("over_window", "error")]


def test_a_line_too_long_to_be_counted_whole_is_told_of_and_makes_the_use_an_estimate(desk):
    word = "x" * 100_000
    report = desk({"AGENTS.md": word, "SOUL.md": "Kind."}).assemble(query="Hello.").report
    assert [(found.code, found.path) for found in report.warnings] == [("tokens_estimated", "AGENTS.md")]
    assert not report.tokens.exact
    asked = desk({"SOUL.md": "Kind."}).assemble(query=word).report
    assert (asked.tokens.exact, asked.warnings) == (False, ())


def test_the_settings_model_counts_where_the_agent_has_none(desk):
    settings = replace(Settings(), model=ModelSettings(name="gemini-2.5", context_window=77))
    report = desk({}).set(model=settings.model).assemble().report
    assert (report.model, report.tokens.window, report.tokens.exact) == ("gemini-2.5", 77, False)


def test_only_what_a_disk_or_memory_of_this_machine_holds_is_at_hand(desk):
    files = EphemeralFiles({"SOUL.md": "Kind."})
    inputs = Inputs(scope=Scope.MAIN, now=NOW, time_zone="UTC")
    near, composed = desk(files), desk(OverlayFiles(files, EphemeralFiles()))  # layers may be anywhere
    assert near.assemble().messages == composed.assemble().messages
    assert near.assembler.at_hand(inputs) == near.assemble()
    assert composed.assembler.at_hand(inputs) is None
