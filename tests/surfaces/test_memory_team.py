"""Memory where there are several agents, two notebooks of one agent, or an agent that is called like a day."""

import json

import pygit2
import pytest

from carrel import Workspace

TEAM = """\
layout: carrel
agents:
  - id: kate
    workspace_git: {enabled: true}
  - id: ana
    memory_enabled: false
  - id: bob
"""
DAY = "2026-04-24"


@pytest.fixture
def team(cli, sample):
    """Three agents, of whom two learnt something; one has a history."""
    sample.put({"carrel.yaml": TEAM})
    assert cli("trust", sample).code == 0
    for agent, text in (("kate", "Herons sleep at noon."), ("bob", "Herons eat frogs.")):
        assert cli("-C", sample, "--agent", agent, "memory", "add", text).code == 0
    return sample


def test_status_without_an_agent_is_that_of_each(cli, team):
    told = cli("-C", team, "memory", "status", "--json").document["agents"]
    assert [(each["agent"], each["enabled"], each["facts"]["written"]) for each in told] == [
        ("kate", True, 1),
        ("ana", False, 0),
        ("bob", True, 1),
    ]
    shown = cli("-C", team, "memory", "status").text
    assert shown.count("Facts: 1 written") == 2
    assert shown.count("Waiting for you") == 1
    assert cli("-C", team, "--agent", "bob", "memory", "status", "--json").document["agent"] == "bob"


def test_search_history_and_review_without_an_agent_cover_all_of_them(cli, team):
    hits = cli("-C", team, "memory", "search", "herons", "--json").document["hits"]
    assert {"memory/kate.md", "memory/bob.md"} <= {hit["path"] for hit in hits}
    only = cli("-C", team, "memory", "search", "herons", "--in-agent", "bob", "--json").document["hits"]
    assert {hit["path"] for hit in only} == {"memory/bob.md"}
    changes = cli("-C", team, "memory", "history", "--json").document["changes"]
    assert [change["path"] for change in changes] == ["memory/bob.md", "memory/kate.md"]
    for agent in ("kate", "bob"):
        with Workspace.open(team.path, agent=agent) as workspace:
            workspace.tools(scope="shared").call("memory_write", {"text": f"{agent} saw a stork."})
    waiting = cli("-C", team, "memory", "review", "--json").document["proposals"]
    assert [each["agent"] for each in waiting] == ["kate", "bob"]
    assert cli("-C", team, "memory", "review", "approve", "--all").code == 0
    assert "kate saw a stork." in (team / "memory/kate.md").read_text()
    assert "bob saw a stork." in (team / "memory/bob.md").read_text()


def test_what_is_done_for_no_agent_in_particular_is_committed_where_one_of_them_has_a_history(cli, team):
    assert cli("-C", team, "memory", "append", "MEMORY.md", "People", "- Luis rows.").code == 0
    assert cli("-C", team, "memory", "undo").code == 0
    repository = pygit2.Repository(str(team.path))
    said = [commit.message.partition("\n")[0] for commit in repository.walk(repository.head.target)]
    assert said[:2] == ["memory: undo MEMORY.md", "memory: append MEMORY.md"]
    assert not repository.status().get("MEMORY.md")


def test_a_sweep_for_no_agent_in_particular_commits_what_had_to_wait(cli, team):
    (team / ".git/index.lock").write_text("")
    assert cli("-C", team, "memory", "append", "MEMORY.md", "People", "- Luis rows.").code == 0
    (team / ".git/index.lock").unlink()
    assert cli("-C", team, "sweep").code == 0
    (change, *_) = cli("-C", team, "memory", "history", "MEMORY.md", "--json").document["changes"]
    assert change["commit"]


def test_an_agent_that_is_called_like_the_team_has_its_own_settings(cli, sample):
    sample.put({"carrel.yaml": "agents:\n  - id: main\n    memory_enabled: false\n  - id: kate\n"})
    told = cli("-C", sample, "memory", "status", "--json").document["agents"]
    assert [(each["agent"], each["enabled"]) for each in told] == [("main", False), ("kate", True)]
    with Workspace.open(sample.path, team=True) as workspace:
        assert workspace.agent.memory_enabled is False


# ----------------------------------------------------------------------------------- the notebooks of an agent


def test_both_notebooks_of_an_agent_are_in_its_prompt(cli, sample):
    sample.put({"agents/kate/memory.md": "- Plans first.\n", "memory/kate.md": "## Insights\n\n- Herons.\n"})
    told = cli("-C", sample, "context", "show", "--json").document
    (memory,) = [m["content"] for m in told["messages"] if "<memory" in m["content"]]
    assert (
        '<memory layer="project" path="agents/kate/memory.md">\n- Plans first.\n</memory>\n'
        '<memory layer="project" path="memory/kate.md">\n## Insights\n\n- Herons.\n</memory>\n'
        '<journal date="2026-04-23"'
    ) in memory
    assert "Plans first" not in cli("-C", sample, "context", "show", "--scope", "shared", "--json").text


def test_where_there_is_one_notebook_the_prompt_has_that_one(cli, sample):
    before = cli("-C", sample, "context", "show").out
    sample.put({"agents/kate/memory.md": ""})
    assert cli("-C", sample, "context", "show").out == before


# ------------------------------------------------------------------------------ an agent that is called like a day


@pytest.fixture
def dated(cli, sample):
    """An agent whose notebook would be the journal of today."""
    sample.put({"carrel.yaml": json.dumps({"layout": "carrel", "agents": [{"id": DAY}]})})
    assert cli("trust", sample).code == 0
    return sample


def test_the_journal_of_a_day_is_read_as_such_and_not_as_a_notebook(cli, dated):
    dated.put({f"agents/{DAY}/memory.md": "- Plans first.\n"})
    text = cli("-C", dated, "context", "show").text
    assert f'<journal date="{DAY}" path="memory/{DAY}.md">\n- wrote tests\n</journal>' in text
    assert f'path="agents/{DAY}/memory.md">\n- Plans first.' in text
    assert text.count("- wrote tests") == 1
    rows = cli("-C", dated, "context", "report", "--json").document["sections"]
    assert [
        (row["kind"], row["state"], row["reason"]) for row in rows if row["name"] == f"memory/{DAY}.md"
    ] == [
        ("layer", "excluded", "journal"),
        ("journal", "included", None),
    ]


def test_nothing_is_written_into_a_journal_as_if_it_were_a_notebook(cli, dated):
    before = (dated / f"memory/{DAY}.md").read_bytes()
    with Workspace.open(dated.path) as workspace:
        workspace.record(
            "s1",
            [
                {"role": "user", "content": "We decided to use JWT."},
                {"role": "assistant", "content": "Noted."},
            ],
        )
    refused = cli("-C", dated, "memory", "extract", "--json")
    assert (refused.code, refused.error["code"]) == (2, "notebook_taken")
    assert (dated / f"memory/{DAY}.md").read_bytes() == before


def test_a_hit_in_the_journal_is_of_its_day_and_of_no_agent(cli, dated):
    hits = cli("-C", dated, "search", "wrote tests", "--tier", "journal", "--json").document["hits"]
    assert [(hit["path"], hit["tier"], hit["date"]) for hit in hits if "wrote" in hit["text"]] == [
        (f"memory/{DAY}.md", "journal", DAY)
    ]
    assert all(hit["agent"] != DAY for hit in hits)
    assert cli("-C", dated, "search", "wrote tests", "--tier", "profile", "--json").document["hits"] == []
