"""Where a file stands in an agent's memory: its tier, whose it is, and of which day."""

import pytest

from carrel.workspace.layout import load_layout
from carrel.workspace.tiers import MEMORY, Standing, standing_of

AGENTS = ("kate", "milo")
LAYOUTS = ("agentscope", "astra", "carrel", "nexo", "openclaw", "squad")


def standing(path, layout="carrel"):
    return standing_of(path, load_layout(layout), AGENTS)


@pytest.mark.parametrize(
    ("layout", "path", "expected"),
    [
        ("carrel", "memory/2026-04-24.md", Standing("journal", date="2026-04-24")),
        ("carrel", "memory/2026-04-24-topic.md", Standing("journal", date="2026-04-24")),
        ("openclaw", "memory/2026-04-24_a.b.md", Standing("journal", date="2026-04-24")),
        ("agentscope", "memory/2026-04-24.md", Standing("journal", date="2026-04-24")),
        ("nexo", "notes/2026-04-24.md", Standing("journal", date="2026-04-24")),
        ("nexo", "memory/2026-04-24.md", Standing("document")),
        ("carrel", "notes/2026-04-24.md", Standing("document")),
        ("astra", "workspace/memory/2026-04-24.md", Standing("journal", date="2026-04-24")),
        ("astra", "memory/2026-04-24.md", Standing("journal", date="2026-04-24")),
        ("carrel", "memory/old/2026-04-24.md", Standing("document")),
        ("carrel", "memory/2026-04-24.txt", Standing("document")),
        ("carrel", "memory/x2026-04-24.md", Standing("document")),
        ("carrel", "memory/٢٠٢٦-04-24.md", Standing("document")),
        ("carrel", "memory/2026-04-24.topic.md", Standing("journal", date="2026-04-24")),
        ("carrel", "memory/2026-02-31.md", Standing("document")),
        ("carrel", "memory/2026-13-01-topic.md", Standing("document")),
    ],
)
def test_a_file_of_a_day_is_journal_where_the_layout_keeps_its_days(layout, path, expected):
    assert standing(path, layout) == expected


@pytest.mark.parametrize(
    ("layout", "path", "expected"),
    [
        ("carrel", "MEMORY.md", Standing("profile")),
        ("carrel", "USER.md", Standing("profile")),
        ("astra", "workspace/MEMORY.md", Standing("profile")),
        ("astra", "workspace/USER.md", Standing("profile")),
        ("nexo", "MEMORY.md", Standing("profile")),
        ("carrel", "memory/kate.md", Standing("profile", agent="kate")),
        ("squad", "memory/kate.md", Standing("profile", agent="kate")),
        ("squad", "agents/kate/memory.md", Standing("profile", agent="kate")),
        ("carrel", "agents/milo/memory.md", Standing("profile", agent="milo")),
        ("carrel", "memory/nobody.md", Standing("document")),
        ("carrel", "agents/nobody/memory.md", Standing("document")),
        ("carrel", "docs/MEMORY.md", Standing("document")),
        ("carrel", "memory.md", Standing("document")),
    ],
)
def test_notebooks_are_profile_and_say_whose_they_are(layout, path, expected):
    assert standing(path, layout) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_entities_procedures_skills_and_knowledge_are_found_below_the_home_of_every_layout(layout):
    home = load_layout(layout).home
    tiers = {
        path: standing(f"{home}{path}", layout).tier
        for path in (
            "memory/entities/ana.md",
            "memory/entities/people/ana.md",
            "memory/procedures/deploy.md",
            "skills/deploy/SKILL.md",
            "knowledge/api/v1.md",
            "knowledgeable.md",
            "AGENTS.md",
            "carrel.yaml",
        )
    }
    assert tiers == {
        "memory/entities/ana.md": "graph",
        "memory/entities/people/ana.md": "graph",
        "memory/procedures/deploy.md": "procedure",
        "skills/deploy/SKILL.md": "procedure",
        "knowledge/api/v1.md": "knowledge",
        "knowledgeable.md": "document",
        "AGENTS.md": "document",
        "carrel.yaml": "document",
    }


def test_what_is_in_an_agent_s_folder_is_that_agent_s():
    assert standing("agents/kate/plan.md") == Standing("document", agent="kate")
    assert standing("agents/nobody/plan.md") == Standing("document")
    assert standing("other/kate/plan.md") == Standing("document")


@pytest.mark.parametrize("path", ["AGENTS.md", "SOUL.md", "carrel.yaml", "knowledge/api.md", "team.md"])
def test_what_the_owner_writes_is_not_the_agent_s_memory(path):
    assert standing(path).tier not in MEMORY


@pytest.mark.parametrize("path", ["", "/", "a//b", "..", "\udcff.md", "memory/\0.md", "x" * 5_000])
def test_any_path_has_a_tier(path):
    assert standing(path) == Standing("document")
