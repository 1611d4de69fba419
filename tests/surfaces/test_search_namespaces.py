"""What an agent learnt elsewhere is found like what it wrote down here, by its own agent and nobody else."""

import json
import os

import pytest

from carrel import Workspace

FACT = "Zeppelins need a mooring mast."
MODES = ("hybrid", "lexical", "literal", "regex")


@pytest.fixture
def desk(cli, sample):
    """Two agents, of whom the first learnt something; words alone find it."""
    (cli.home / "config").mkdir(parents=True)
    (cli.home / "config/config.yaml").write_text("search: {embedder: none}\n")
    agents = "agents:\n  - {id: kate, display_name: Kate}\n  - {id: milo, display_name: Milo}\n"
    sample.put({"carrel.yaml": f"layout: carrel\n{agents}"})
    outcome = cli("-C", sample, "--agent", "kate", "memory", "add", FACT, "--layer", "experience", "--json")
    assert outcome.code == 0, outcome.text
    return sample


@pytest.fixture
def namespace(cli, desk):
    (path,) = (cli.home / "data/namespaces").glob("*.md")
    return path


def search(cli, desk, *words, agent="kate", command=("search",)):
    outcome = cli("-C", desk, "--agent", agent, *command, *words, "--json")
    assert outcome.code == 0, outcome.text + outcome.warnings
    return outcome.document["hits"]


@pytest.mark.parametrize("mode", MODES)
def test_it_is_found_where_it_stands_and_can_be_opened_by_its_path(cli, desk, namespace, mode):
    (hit,) = search(cli, desk, "mooring mast", "--mode", mode, "--tier", "profile")
    assert hit["path"] == f"namespace://{namespace.name}"
    assert namespace.read_text().splitlines()[hit["line"] - 1].endswith(FACT)
    assert (hit["tier"], hit["agent"]) == ("profile", "kate")
    name = hit["path"].removeprefix("namespace://")
    assert FACT in cli("-C", desk, "--agent", "kate", "namespaces", "export", name).text
    assert search(cli, desk, "mooring mast", "--mode", mode, "--path", hit["path"]) == [hit]


def test_every_surface_finds_it(cli, desk):
    one = search(cli, desk, "mooring mast")
    assert one == search(cli, desk, "mooring mast", command=("memory", "search"))
    asked = json.dumps({"query": "mooring mast"})
    told = search(cli, desk, "memory_search", "--args", asked, command=("tools", "call"))
    assert [hit["path"] for hit in told] == [hit["path"] for hit in one]
    assert FACT in one[0]["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("words", [("milo", "main"), ("kate", "shared"), ("milo", "shared")])
def test_nobody_else_finds_it(cli, desk, mode, words):
    agent, scope = words
    search(cli, desk, "mooring")  # it is in the index
    assert search(cli, desk, "mooring", "--mode", mode, "--scope", scope, agent=agent) == []


def test_the_index_keeps_it_whichever_agent_asks(desk, cli):
    with (
        Workspace.open(desk, agent="kate", environ=dict(os.environ)) as kate,
        Workspace.open(desk, agent="milo", environ=dict(os.environ)) as milo,
    ):
        assert kate.search("mooring").hits
        before = kate.searching.status().chunks
        assert not milo.search("mooring").hits
        assert milo.searching.status().chunks == before


def test_what_it_says_of_itself_is_not_found(cli, desk):
    for query in ("Agent Experience", "enabled: false", "workspace:"):
        hits = search(cli, desk, query, "--mode", "literal")
        assert not [hit for hit in hits if hit["path"].startswith("namespace:")]


def test_what_changes_there_is_found_by_the_next_search(cli, desk, namespace):
    assert search(cli, desk, "mooring")
    namespace.write_text(namespace.read_text().replace("mooring mast", "tall hangar"))
    assert not search(cli, desk, "mooring")
    assert FACT[:9] in search(cli, desk, "tall hangar")[0]["text"]
    namespace.unlink()
    assert not search(cli, desk, "tall hangar")


def test_it_is_not_searched_where_memory_is_switched_off(cli, desk):
    assert search(cli, desk, "mooring")
    desk.put({"carrel.yaml": "layout: carrel\nagents:\n  - {id: kate, memory_enabled: false}\n"})
    assert not search(cli, desk, "mooring")


def test_recall_repeats_nothing_of_it_that_is_in_the_prompt(desk, cli):
    with Workspace.open(desk, agent="kate", environ=dict(os.environ)) as workspace:
        assembly = workspace.prepare("s1", "What do zeppelins need, a mooring mast?")
    assert assembly.to_text().count(FACT) == 1
    assert not [row for row in assembly.report.recall if row.path.startswith("namespace:")]


def test_a_file_of_the_workspace_is_never_taken_for_one(cli, desk):
    desk.put({"namespace:/x.md": "Mooring rules.", "memory/namespace:x.md": "Mooring fees."})
    paths = {hit["path"] for hit in search(cli, desk, "mooring")}
    assert {"namespace:/x.md", "memory/namespace:x.md"} < paths


def get(cli, desk, path, agent, scope="main"):
    asked = json.dumps({"path": path, "line": 1})
    return cli(
        "-C",
        desk,
        "--agent",
        agent,
        "--scope",
        scope,
        "tools",
        "call",
        "memory_get",
        "--args",
        asked,
        "--json",
    )


def test_the_model_opens_a_hit_of_its_own_and_nobody_else_does(cli, desk):
    (hit,) = search(cli, desk, "mooring mast", "--tier", "profile")
    told = get(cli, desk, hit["path"], "kate").document
    assert told["text"].splitlines()[hit["line"] - 1].endswith(FACT)
    assert "workspace:" not in told["text"]
    for agent, scope in (("milo", "main"), ("kate", "shared"), ("milo", "shared")):
        assert FACT not in get(cli, desk, hit["path"], agent, scope).text


def test_one_that_is_switched_on_is_found_by_every_agent_of_the_owner(cli, desk, namespace):
    place = f"namespace://{namespace.name}"
    assert cli("-C", desk, "--agent", "kate", "namespaces", "enable", namespace.stem).code == 0
    assert [hit["path"] for hit in search(cli, desk, "mooring", agent="milo")] == [place]
    assert FACT in get(cli, desk, place, "milo").text
    assert search(cli, desk, "mooring", "--scope", "shared", agent="milo") == []
    with Workspace.open(desk, agent="milo", environ=dict(os.environ)) as milo:
        assembly = milo.prepare("s1", "What do zeppelins need, a mooring mast?")
    assert assembly.to_text().count(FACT) == 1  # it is in the prompt, and not recalled once more
    assert cli("-C", desk, "--agent", "kate", "namespaces", "disable", namespace.stem).code == 0
    assert search(cli, desk, "mooring", agent="milo") == []
    assert search(cli, desk, "mooring")
