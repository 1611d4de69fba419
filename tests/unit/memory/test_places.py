"""Where a fact belongs: which file, and which section of it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from tests.unit.memory.kept import NAMESPACE, fact

from carrel.memory.places import NotebookTaken, Target, place_of
from carrel.settings import AgentSettings, WorkspaceFiles
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.tiers import standing_of

KATE = AgentSettings(id="kate")
LEARNED = {"carrel": "USER.md", "astra": "workspace/USER.md", "nexo": "USER.md", "openclaw": "USER.md"}
DAYS = {"carrel": "memory", "agentscope": "memory", "nexo": "notes", "openclaw": "memory"}


def place(layout="carrel", agent=KATE, **more):
    return place_of(
        fact("The gate closes at nine.", **more), layout=load_layout(layout), agent=agent, namespace=NAMESPACE
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_belongs_to_the_project_goes_to_the_agents_notebook(layout):
    home = load_layout(layout).home
    assert place(layout) == Target(path=f"{home}memory/kate.md", section="Insights")
    assert place(layout, kind="decision", section="Decisions Made").section == "Decisions Made"
    assert standing_of(place(layout).path, load_layout(layout), ["kate"]).tier == "profile"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_travels_goes_to_the_agents_namespace(layout):
    assert place(layout, layer="experience", kind="preference") == Target(store="namespaces", path=NAMESPACE)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_of_the_user_goes_where_the_prompt_reads_it(layout):
    learned = Target(path=LEARNED.get(layout, ""), section="Learned")
    elsewhere = Target(store="namespaces", path=NAMESPACE)
    assert place(layout, kind="user") == (learned if layout in LEARNED else elsewhere)
    blind = AgentSettings(id="kate", workspace_files=WorkspaceFiles(exclude=("USER.md",)))
    assert place(layout, blind, kind="user") == elsewhere


@pytest.mark.parametrize("layout", LAYOUTS)
def test_entities_and_procedures_have_pages_that_the_layout_knows_as_such(layout):
    home = load_layout(layout).home
    for kind, folder, tier in (
        ("entity", "entities", "graph"),
        ("relation", "entities", "graph"),
        ("procedure", "procedures", "procedure"),
    ):
        found = place(layout, kind=kind, subject="Ana Martínez")
        assert found == Target(path=f"{home}memory/{folder}/ana-martinez.md", form="page")
        assert standing_of(found.path, load_layout(layout), ["kate"]).tier == tier
    assert place(layout, kind="entity", subject=" ").section == "Insights"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_happened_goes_to_the_journal_of_its_day_where_there_is_one(layout):
    found = place(layout, kind="event", section="outcome")
    if found.form == "journal":
        assert found.path.endswith("/2026-04-24.md")
        assert found.section == ""
        assert standing_of(found.path, load_layout(layout), ["kate"]).tier == "journal"
    else:
        assert found == replace(place(layout), section="Insights")
    assert layout not in DAYS or found.path == f"{DAYS[layout]}/2026-04-24.md"


def test_the_day_is_that_of_the_moment_as_it_is_given():
    late = datetime(2026, 4, 24, 23, 30, tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin"))
    assert place(kind="event", at=late).path == "memory/2026-04-25.md"


def test_an_agent_that_is_called_like_a_day_has_no_notebook_over_the_journal():
    with pytest.raises(NotebookTaken, match=r"memory/2026-04-24\.md"):
        place(agent=AgentSettings(id="2026-04-24"))
    assert place("nexo", AgentSettings(id="2026-04-24")).path == "memory/2026-04-24.md"
