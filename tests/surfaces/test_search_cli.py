"""`carrel search`, `carrel memory search`, `carrel index` and `memory_search`: one search, however it is asked."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from tests.conftest import PATIENCE

from carrel import Workspace
from carrel.errors import UsageError
from carrel.index import TIERS
from carrel.tools.registry import BadArguments

HIT = {
    "path": str,
    "line": int,
    "end_line": int,
    "tier": str,
    "agent": (str, type(None)),
    "section": (str, type(None)),
    "date": (str, type(None)),
    "text": str,
    "ranges": list,
    "scores": dict,
}
OF_SESSION = {"session": str, "message_id": (str, type(None)), "speaker": str}
MODES = ("hybrid", "lexical", "vector", "literal", "regex")
QUESTION = "Which phone does Ana use?"


@pytest.fixture(params=["none", "auto"])
def embedder(request):
    return request.param


def embed_by(home, embedder):
    """Say in the user's own settings what makes vectors: a workspace's own would need trust."""
    (home / "config").mkdir(parents=True)
    (home / "config/config.yaml").write_text(f"search: {{embedder: {embedder}}}\n")


@pytest.fixture
def words_alone(tmp_path):
    embed_by(tmp_path / "home", "none")


@pytest.fixture
def shelf(sample, words_alone):
    """The sample with more to find, and words alone to find it by."""
    return sample.put(
        {
            "notes/todo.md": "# Work\n\n## Later\n\nTODO: call the harbour.\ntodo: nothing\n\nError 4711 came.\n",
            "notes/tagged.md": "<!-- tags: sea, work -->\nThe harbour master answers on Mondays.\n",
            "memory/2026-04-20.md": "- The harbour was closed.\n",
            "memory/entities/ana.md": "# Ana\n\n- works at the harbour\n",
        }
    )


def search(cli, desk, *words):
    outcome = cli("-C", desk, "search", *words, "--json")
    assert outcome.code == 0, outcome.text + outcome.warnings
    return outcome.document


def paths(document):
    return [hit["path"] for hit in document["hits"]]


def record(desk, cli, session, *texts, scope="main", agent="kate"):
    with Workspace.open(desk, agent=agent, environ=dict(os.environ)) as workspace:
        workspace.record(session, [{"role": "user", "content": text} for text in texts], scope=scope)


# The contract


def test_a_hit_of_a_file_has_every_key_of_the_contract_and_no_other(cli, sample, embedder):
    embed_by(cli.home, embedder)
    document = search(cli, sample, QUESTION)
    assert set(document) == {"schema_version", "hits", "facets", "degraded"}
    assert document["degraded"] is False
    assert document["hits"]
    for hit in document["hits"]:
        assert set(hit) == set(HIT)
        assert all(isinstance(hit[name], kind) for name, kind in HIT.items()), hit
        assert hit["tier"] in TIERS
        assert 1 <= hit["line"] <= hit["end_line"]
        assert 0 <= hit["scores"]["score"] <= 1
        assert all(isinstance(score, int | float) for score in hit["scores"].values())
        for start, end in hit["ranges"]:
            assert 0 <= start < end <= len(hit["text"])
    best = document["hits"][0]
    assert (best["path"], best["tier"], best["section"]) == ("MEMORY.md", "profile", "People")
    assert "Ana" in {best["text"][start:end] for start, end in best["ranges"]}


def test_a_hit_of_a_session_names_it_and_the_message(cli, shelf):
    record(shelf, cli, "s1", "The walrus sleeps.")
    (hit,) = search(cli, shelf, "walrus")["hits"]
    assert set(hit) == {*HIT, *OF_SESSION}
    assert (hit["tier"], hit["session"], hit["agent"], hit["date"]) == ("session", "s1", "kate", "2026-04-24")
    logged = [json.loads(line) for line in (shelf / hit["path"]).read_text().splitlines()]
    assert hit["message_id"] in [line.get("message_id") for line in logged]


def test_lines_are_those_of_the_file(cli, shelf):
    for mode in ("lexical", "literal"):
        for hit in search(cli, shelf, "harbour", "--mode", mode)["hits"]:
            lines = (shelf / hit["path"]).read_text().split("\n")
            assert hit["text"] == "\n".join(lines[hit["line"] - 1 : hit["end_line"]]), (mode, hit)


def test_hits_come_best_first_and_ties_by_path_and_line(cli, shelf):
    shelf.put({f"same/{name}.md": "The same walrus text.\n" for name in "cab"})
    hits = search(cli, shelf, "walrus")["hits"]
    order = [(-hit["scores"]["score"], hit["path"], hit["line"]) for hit in hits]
    assert order == sorted(order)
    assert paths({"hits": hits}) == ["same/a.md", "same/b.md", "same/c.md"]


def test_facets_count_every_match_and_not_only_those_shown(cli, shelf):
    document = search(cli, shelf, "harbour", "--limit", "1")
    assert len(document["hits"]) == 1
    assert document["facets"]["tier"] == {"document": 2, "journal": 1, "graph": 1}


# The same everywhere


def test_search_memory_search_and_the_tool_give_the_same_hits(cli, sample, embedder):
    embed_by(cli.home, embedder)
    record(sample, cli, "s1", "Ana bought another phone.")
    for query in (QUESTION, "harbour", "Python people", ""):
        one = search(cli, sample, query)
        two = cli("-C", sample, "memory", "search", query, "--json").document
        arguments = json.dumps({"query": query})
        three = cli("-C", sample, "tools", "call", "memory_search", "--args", arguments, "--json").document
        assert one == two
        told = [{k: v for k, v in hit.items() if k != "ranges" and v is not None} for hit in one["hits"]]
        assert told == three["hits"]
        assert three["degraded"] is one["degraded"]
        with Workspace.open(sample, environ=dict(os.environ)) as workspace:
            found = workspace.search(query)
        assert [(hit.chunk.path, hit.chunk.line) for hit in found.hits] == [
            (hit["path"], hit["line"]) for hit in one["hits"]
        ]


FILTERS = [
    {"tier": "journal", "since": "2026-04-20", "until": "2026-04-20", "limit": 3},
    {"tier": "document", "limit": 1},
    {"section": "later"},
    {"since": "2026-04-20"},
    {"until": "2026-04-19"},
    {"tier": "session"},
]


@pytest.mark.parametrize("scope", ["main", "shared"])
@pytest.mark.parametrize("asked", FILTERS)
def test_the_tool_s_filters_are_those_of_the_shell(cli, shelf, asked, scope):
    record(shelf, cli, "s1", "Ana walked to the harbour.")
    words = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    given = ("-C", shelf, "--scope", scope)
    arguments = json.dumps({"query": "harbour", **asked})
    one = cli(*given, "search", "harbour", *words, "--json").document
    two = cli(*given, "memory", "search", "harbour", *words, "--json").document
    three = cli(*given, "tools", "call", "memory_search", "--args", arguments, "--json").document
    assert one == two
    told = [{k: v for k, v in hit.items() if k != "ranges" and v is not None} for hit in one["hits"]]
    assert told == three["hits"]
    assert told or scope == "shared" or asked not in FILTERS[:3]


def test_a_filter_of_the_tool_holds(cli, shelf):
    arguments = json.dumps({"query": "harbour", **FILTERS[0]})
    told = cli("-C", shelf, "tools", "call", "memory_search", "--args", arguments, "--json").document
    assert paths(told) == ["memory/2026-04-20.md"]


@pytest.mark.parametrize("arguments", [{"since": "tomorrow"}, {"until": "2026-02-30"}, {"until": "\udcff"}])
def test_the_tool_is_told_that_a_day_is_none(cli, shelf, arguments):
    with (
        Workspace.open(shelf, environ=dict(os.environ)) as workspace,
        pytest.raises(BadArguments, match="day"),
    ):
        workspace.tools().call("memory_search", {"query": "harbour", **arguments})


@pytest.mark.parametrize("tier", ["attic", "", "\udcff"])
def test_a_tier_that_does_not_exist_is_an_empty_answer_for_the_tool(cli, shelf, tier):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        for scope in ("main", "shared"):
            hits = workspace.tools(scope=scope).call("memory_search", {"query": "harbour", "tier": tier})[
                "hits"
            ]
            assert bool(hits) == (not tier)


# Modes and filters


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_answers(cli, sample, mode):
    document = search(cli, sample, "Samsung", "--mode", mode)
    assert paths(document)[0] == "MEMORY.md"


def test_meaning_is_found_without_a_common_word(cli, sample):
    sample.put({"garage.md": "The automobile is parked behind the house.\n"})
    assert paths(search(cli, sample, "Where is my car?", "--mode", "vector"))[0] == "garage.md"


def test_vectors_without_an_embedder_are_answered_by_words(cli, shelf):
    assert paths(search(cli, shelf, "Samsung", "--mode", "vector")) == ["MEMORY.md"]


def test_literal_finds_what_is_typed_and_the_case_may_matter(cli, shelf):
    both = search(cli, shelf, "TODO", "--mode", "literal")["hits"]
    assert sum(len(hit["ranges"]) for hit in both) == 2
    exact = search(cli, shelf, "TODO", "--mode", "literal", "--case")["hits"]
    assert [(hit["line"], hit["text"], hit["ranges"]) for hit in exact] == [
        (5, "TODO: call the harbour.", [[0, 4]])
    ]
    assert exact[0]["section"] == "Work > Later"


def test_literal_shows_the_lines_around(cli, shelf):
    (hit,) = search(cli, shelf, "4711", "--mode", "literal", "--lines", "2")["hits"]
    assert (hit["line"], hit["end_line"]) == (6, 8)
    assert hit["text"] == "todo: nothing\n\nError 4711 came."
    assert [hit["text"][start:end] for start, end in hit["ranges"]] == ["4711"]


def test_a_pattern_is_found_within_a_line(cli, shelf):
    (hit,) = search(cli, shelf, r"error [0-9]{4}", "--mode", "regex", "--path", "notes")["hits"]
    assert (hit["path"], hit["line"]) == ("notes/todo.md", 8)
    assert search(cli, shelf, r"error [0-9]{4}", "--mode", "regex", "--case")["hits"] == []


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?=x)", r"(a)\1", "a" * 100_000, "\udcff("])
def test_a_pattern_that_cannot_be_used_is_a_usage_error(cli, shelf, pattern):
    outcome = cli("-C", shelf, "search", pattern, "--mode", "regex", "--json")
    if outcome.code == 0:  # a long text is a pattern too
        assert pattern.isalpha()
        assert outcome.document["hits"] == []
    else:
        assert (outcome.code, outcome.error["code"]) == (2, "bad_pattern")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_is_a_bomb_elsewhere_is_harmless(cli, shelf, pattern):
    shelf.put({"bomb.txt": "a" * 50_000 + "!\n"})
    outcome = cli("-C", shelf, "search", pattern, "--mode", "regex", "--path", "bomb.txt", "--json")
    assert outcome.code == 0
    assert len(outcome.document["hits"]) <= 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--tier", "journal"), {"memory/2026-04-20.md"}),
        (("--tier", "graph", "--tier", "journal"), {"memory/2026-04-20.md", "memory/entities/ana.md"}),
        (("--section", "later"), {"notes/todo.md"}),
        (("--section", "Work"), {"notes/todo.md"}),
        (("--tag", "sea"), {"notes/tagged.md"}),
        (("--path", "notes"), {"notes/todo.md", "notes/tagged.md"}),
        (("--path", "notes/"), {"notes/todo.md", "notes/tagged.md"}),
        (("--path", "notes/todo.md"), {"notes/todo.md"}),
        (("--path", "note"), set()),
        (("--since", "2026-04-20"), {"memory/2026-04-20.md", "s1"}),
        (("--until", "2026-04-20"), {"memory/2026-04-20.md"}),
        (("--since", "2026-04-21"), {"s1"}),
        (("--session", "s1"), {"s1"}),
        (("--in-agent", "kate"), {"s1"}),
        (("--tier", "session"), {"s1"}),
    ],
    ids=lambda value: " ".join(sorted(value) if isinstance(value, set) else value),
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid", "literal", "regex"])
def test_a_filter_holds_in_every_mode(cli, shelf, words, expected, mode):
    record(shelf, cli, "s1", "I was at the harbour.")
    hits = search(cli, shelf, "harbour", "--mode", mode, *words)["hits"]
    assert {hit.get("session", hit["path"]) for hit in hits} == expected


@pytest.mark.parametrize(
    "words",
    [
        ("--section", "Nowhere"),
        ("--tag", "none"),
        ("--path", "../.."),
        ("--path", "/etc"),
        ("--path", ""),
        ("--path", "\udcff"),
        ("--session", "../x"),
        ("--session", "gone"),
        ("--in-agent", "nobody"),
        ("--since", "tomorrow"),
        ("--until", "\udcff"),
        ("--since", "2026-02-30"),
        ("--since", "2026-04-24", "--until", "2020-01-01"),
    ],
    ids=ascii,
)
@pytest.mark.parametrize("mode", ["hybrid", "literal"])
def test_an_unknown_value_of_a_filter_is_an_empty_answer_or_a_usage_error(cli, shelf, words, mode):
    outcome = cli("-C", shelf, "search", "harbour", "--mode", mode, *words, "--json")
    assert outcome.code in (0, 2)
    if outcome.code == 2:
        assert outcome.error["code"]
    else:
        assert outcome.document["hits"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--mode", "guess"),
        ("--tier", "attic"),
        ("--limit", "0"),
        ("--limit", "many"),
        ("--limit", "1001"),
        ("--lines", "-1"),
        ("--lines", "51"),
        ("--scope", "everybody"),
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_a_usage_error(cli, shelf, words):
    outcome = cli("-C", shelf, "search", "harbour", *words, "--json")
    assert (outcome.code, bool(outcome.error["code"])) == (2, True)


def test_no_more_hits_than_asked_for(cli, shelf):
    shelf.put({f"many/{number}.md": f"walrus {number}\n" for number in range(30)})
    assert len(search(cli, shelf, "walrus")["hits"]) == 10
    assert len(search(cli, shelf, "walrus", "--limit", "25")["hits"]) == 25
    assert len(search(cli, shelf, "walrus", "--mode", "literal", "--limit", "3")["hits"]) == 3


# Any text is a query


ODD = {
    "empty": "",
    "white space": " \t\n ",
    "punctuation": "?!... ()[]{}<>\"'`~",
    "stop words": "what is the of and",
    "operators": 'AND OR NOT ( "',
    "field": "text:x path:* ^2 ~1",
    "surrogate": "Samsung \udcff\ud800",
    "emoji": "🐙 Kate",
    "combining": "e\u0301" * 500,
    "directions": "\u202eSamsung\u202c",
    "long word": "x" * 9_000,
}


@pytest.mark.parametrize("query", ODD.values(), ids=ODD)
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "vector", "literal"])
def test_any_text_is_a_query(cli, sample, query, mode):
    document = search(cli, sample, query, "--mode", mode)
    assert document["degraded"] is False
    assert isinstance(document["hits"], list)


@pytest.mark.parametrize("mode", MODES)
def test_a_query_of_a_megabyte_or_with_a_nul_is_answered(shelf, cli, mode):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        if mode in ("literal", "regex"):  # what is looked for as typed may only be so long
            with pytest.raises(UsageError, match="the most is"):
                workspace.search("Samsung " * 130_000, mode=mode)
        else:
            long = workspace.search("Samsung " * 130_000, mode=mode)
            assert [hit.chunk.path for hit in long.hits] == ["MEMORY.md"]
        assert len(workspace.search("Samsung\0phone", mode=mode).hits) <= 10
        assert workspace.search("Samsung", mode=mode).hits[0].chunk.path == "MEMORY.md"


def test_an_empty_query_finds_nothing(cli, sample):
    for mode in ("hybrid", "lexical", "vector", "literal"):
        assert search(cli, sample, "", "--mode", mode)["hits"] == []


@pytest.mark.parametrize("limit", [0, -1, 10**9])
def test_any_limit_is_brought_into_range(shelf, cli, limit):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert len(workspace.search("harbour", limit=limit).hits) <= 1_000


@pytest.mark.parametrize("session", ["../../x", "", "a/b", "\0", "x" * 500, "s.log"])
@pytest.mark.parametrize("scope", ["main", "shared"])
def test_a_session_that_cannot_be_holds_nothing_and_is_in_nobody_s_way(shelf, cli, session, scope):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        found = workspace.search("Python", scope=scope, session=session)
    assert [hit.chunk.path for hit in found.hits] == ["stack.md"]


# For people


def test_a_person_sees_where_it_is_and_what_was_found(cli, shelf):
    outcome = cli("-C", shelf, "search", "Samsung")
    assert outcome.code == 0
    assert "1.  MEMORY.md:1  profile  People" in outcome.text
    assert "Ana uses a Samsung." in outcome.text


def test_nothing_found_is_no_error_and_is_said(cli, shelf):
    outcome = cli("-C", shelf, "search", "xylophone")
    assert (outcome.code, outcome.text) == (0, "")
    assert "Nothing was found." in outcome.warnings


def test_what_is_found_moves_no_cursor(cli, shelf):
    shelf.put({"bad\x1b[2J.md": "walrus \x1b[2J \x9b2J \u202e end\n"})
    for words in ((), ("--explain",), ("--mode", "literal")):
        text = cli("-C", shelf, "search", "walrus", *words).text
        assert "walrus" in text
        assert not {"\x1b", "\x9b", "\u202e"} & set(text)


def test_explain_says_why_each_hit_is_where_it_is(cli, sample):
    text = cli("-C", sample, "search", QUESTION, "--explain").text
    assert text.count("·") >= text.count("\n1. ") + 1
    document = search(cli, sample, QUESTION, "--explain")
    assert len(document["why"]) == len(document["hits"])
    assert all(reasons and all(reasons) for reasons in document["why"])
    assert any("ana" in reason.casefold() for reason in document["why"][0])


def test_explain_says_it_of_what_was_typed(cli, shelf):
    document = search(cli, shelf, "TODO", "--mode", "literal", "--explain")
    assert document["why"] == [["It has the text as it was typed."]] * len(document["hits"])


# What changes


def test_what_is_written_is_found_by_the_next_search_of_the_process(shelf, cli):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert workspace.search("walrus").hits == ()
        workspace.put("new.md", b"The walrus sleeps.\n")
        assert [hit.chunk.path for hit in workspace.search("walrus").hits] == ["new.md"]
        workspace.record("s9", [{"role": "user", "content": "Where is the pelican?"}])
        assert [hit.chunk.session for hit in workspace.search("pelican").hits] == ["s9"]
        workspace.record("s9", [{"role": "user", "content": "And the ostrich?"}])
        assert workspace.search("ostrich").hits[0].chunk.text == "And the ostrich?"
        shelf.put({"new.md": "The penguin sleeps.\n"})
        assert workspace.search("walrus", mode="literal").hits == ()
        assert [hit.chunk.path for hit in workspace.search("penguin").hits] == ["new.md"]
        (shelf / "new.md").unlink()
        assert workspace.search("penguin", facets=True).hits == ()
        assert workspace.search("penguin", facets=True).facets["tier"] == {}


def test_what_one_process_writes_another_finds(shelf, cli, process):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert workspace.search("walrus").hits == ()
        added = subprocess.run(
            [process.script, "-C", shelf.path, "sessions", "record", "--session", "s1"],
            input=b'{"role":"user","content":"The walrus sleeps."}\n',
            env=process.environment({}),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert added.returncode == 0, added.stderr
        assert [hit.chunk.session for hit in workspace.search("walrus").hits] == ["s1"]
        workspace.put("new.md", b"The pelican sleeps.\n")
        assert paths(process("-C", shelf, "search", "pelican", "--json").document) == ["new.md"]


@pytest.mark.parametrize("settled", [2_000_000_000, -(10**15)], ids=["new", "settled"])
def test_what_is_ignored_later_is_not_found_from_then_on(shelf, cli, settled, monkeypatch):
    monkeypatch.setattr("carrel.files.SETTLED_NS", settled)
    shelf.put({"drafts/a.md": "The walrus sleeps.\n"})
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert workspace.search("walrus").hits
        shelf.put({".carrelignore": "drafts/\n"})
        assert workspace.search("walrus").hits == ()
        (shelf / ".carrelignore").unlink()
        assert workspace.search("walrus").hits


def test_what_becomes_private_later_is_hidden_from_then_on(shelf, cli, monkeypatch):
    monkeypatch.setattr("carrel.files.SETTLED_NS", -(10**15))
    shelf.put({"plan.md": "The walrus sleeps.\n", "notes/plan.txt": "The walrus eats.\n"})

    def seen():
        with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
            found = [workspace.search("walrus", scope=scope).hits for scope in ("main", "shared")]
        return [sorted(hit.chunk.path for hit in hits) for hits in found]

    assert seen() == [["notes/plan.txt", "plan.md"]] * 2
    shelf.put({"notes/plan.txt": "<!-- scope: private -->\nThe walrus eats.\n"})
    assert seen() == [["notes/plan.txt", "plan.md"], ["plan.md"]]
    shelf.put({"carrel.yaml": "agents: [{id: kate, transcriptsDir: notes}]\n"})
    shelf.put({"notes/plan.txt": "The walrus eats.\n"})
    (shelf / "plan.md").rename(shelf / "USER.md")
    assert seen()[1] == []


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"carrel.yaml": "agents: [{id: bot7, displayName: Aria Winter}]\n"}, "Aria Winter"),
        ({"carrel.yaml": "agents: [{id: bot7}]\n", "IDENTITY.md": "- **Name:** Aria\n"}, "Aria"),
        ({"carrel.yaml": "agents: [{id: bot7}]\n", "IDENTITY.md": "- **Name:** (your name)\n"}, "bot7"),
        (
            {"carrel.yaml": "agents: [{id: bot7}]\n", "IDENTITY.md": "<!-- scope: private -->\nName: Eve\n"},
            "bot7",
        ),
    ],
)
def test_an_agent_speaks_by_its_name_and_counts_more_where_it_is_named(cli, shelf, files, name):
    (shelf / "IDENTITY.md").unlink()
    shelf.put(files)
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        for session, role in (("s1", "user"), ("s2", "assistant")):
            workspace.record(session, [{"role": role, "content": "Hiking in the mountains is fine."}])
        asked = workspace.search(f"What does {name.split()[0]} say of hiking in the mountains?")
        assert [hit.chunk.speaker for hit in asked.hits[:2]] == [name, "user"]
        others = workspace.search("What does anybody say of hiking in the mountains?", scope="main")
        assert [hit.chunk.speaker for hit in others.hits[:2]] == ["user", name]


def test_what_an_agent_is_called_does_not_depend_on_who_looks(cli, shelf):
    shelf.put({"carrel.yaml": "agents: [{id: kate, displayName: Katharina}, {id: milo}]\n"})
    for agent in ("kate", "milo"):
        with Workspace.open(shelf, agent=agent, environ=dict(os.environ)) as workspace:
            workspace.record(agent, [{"role": "assistant", "content": f"The walrus of {agent} sleeps."}])
    seen = []
    for agent in ("kate", "milo"):
        with Workspace.open(shelf, agent=agent, environ=dict(os.environ)) as workspace:
            hits = workspace.search("walrus", mode="literal").hits
            seen.append({hit.chunk.agent: hit.chunk.speaker for hit in hits})
            assert workspace.searching.sync().changed == 0
    assert seen == [{"kate": "Katharina", "milo": "Kate"}] * 2


@pytest.mark.parametrize("path", ["notes", "./notes", "notes/", "./notes//", "/notes", "notes/./todo.md"])
def test_a_path_is_the_same_however_it_is_spelled(cli, shelf, path):
    for mode in ("lexical", "literal"):
        hits = search(cli, shelf, "harbour", "--path", path, "--mode", mode)["hits"]
        assert hits
        assert {hit["path"] for hit in hits} <= {"notes/todo.md", "notes/tagged.md"}


@pytest.mark.parametrize("path", [".", "./", "/"])
def test_the_root_has_everything_in_it(cli, shelf, path):
    assert search(cli, shelf, "harbour", "--path", path) == search(cli, shelf, "harbour")
    assert search(cli, shelf, "harbour", "--path", "../notes")["hits"] == []


@pytest.mark.parametrize("mode", ["", "fuzzy", "Hybrid", "\x1b[31m", None])
def test_a_mode_that_there_is_not_is_a_usage_error_with_a_hint(cli, shelf, mode):
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace, pytest.raises(UsageError) as caught:
        workspace.search("harbour", mode=mode)
    assert caught.value.code == "unknown_mode"
    assert "lexical" in caught.value.hint
    assert "\x1b" not in caught.value.message


def test_what_cannot_be_searched_is_said(cli, shelf):
    large = "x" * (1024 * 1024 + 1)
    shelf.put({"a.png": b"\x89PNG\r\n\0", "b.txt": b"\xff\xfe", "large.txt": large, "odd\x1b.bin": b"\0"})
    report = cli("-C", shelf, "index", "sync", "--json").document
    expected = {
        "not_text": {"count": 3, "paths": ["a.png", "b.txt", "odd\x1b.bin"]},
        "too_large": {"count": 1, "paths": ["large.txt"]},
    }
    assert report["unsearched"] == expected
    assert cli("-C", shelf, "index", "status", "--json").document["unsearched"] == expected
    for verb in ("sync", "status", "rebuild"):
        text = cli("-C", shelf, "index", verb).text
        assert "4 files are not searched: 3 not text, 1 too large\n" in text
        assert "  not text: a.png, b.txt, odd\\u001b.bin\n" in text
    (shelf / "large.txt").unlink()
    assert "too_large" not in cli("-C", shelf, "index", "sync", "--json").document["unsearched"]
    assert search(cli, shelf, "harbour")["degraded"] is False


def test_a_file_that_may_not_be_read_is_said_too(process, shelf):
    shelf.put({"secret.md": "The walrus sleeps.\n"})
    (shelf / "secret.md").chmod(0)
    report = process("-C", shelf, "index", "sync", "--json", privileged=False).document
    assert report["unsearched"] == {"unreadable": {"count": 1, "paths": ["secret.md"]}}
    (shelf / "secret.md").chmod(0o644)
    report = process("-C", shelf, "index", "sync", "--json", privileged=False).document
    assert (report["changed"], report["unsearched"]) == (1, {})


def test_a_session_that_is_gone_is_not_found(shelf, cli):
    record(shelf, cli, "s1", "The walrus sleeps.")
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert workspace.search("walrus").hits
        shutil.rmtree(shelf / "agents")
        assert workspace.search("walrus").hits == ()


def test_a_large_workspace_is_not_looked_over_each_time_and_shows_nothing_that_is_gone(
    shelf, cli, monkeypatch
):
    monkeypatch.setattr("carrel.runtime.freshness.LARGE", 3)
    monkeypatch.setattr("carrel.runtime.freshness.FRESH", 1_000.0)
    shelf.put({"open.md": "The walrus sleeps.\n", "gone.md": "The walrus eats.\n"})
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert len(workspace.search("walrus", scope="shared").hits) == 2
        workspace.record("s1", [{"role": "user", "content": "A pelican."}])
        assert workspace.search("pelican", session="s1").hits[0].chunk.session == "s1"
        shelf.put({"open.md": "<!-- scope: private -->\nThe walrus sleeps.\n"})
        (shelf / "gone.md").unlink()
        assert workspace.search("walrus", scope="shared").hits == ()
        assert [hit.chunk.path for hit in workspace.search("walrus").hits] == ["open.md"]


# Where the index is


def test_searching_leaves_no_trace_in_a_workspace_nobody_trusts(cli, shelf):
    before = shelf.snapshot()
    for words in (("search", QUESTION), ("index", "sync"), ("index", "status"), ("index", "rebuild")):
        assert cli("-C", shelf, *words).code == 0
        assert cli("-C", shelf, *words, "--json").code == 0
    assert cli("-C", shelf, "--scope", "shared", "search", QUESTION).code == 0
    assert shelf.snapshot() == before


def test_in_a_trusted_workspace_only_its_own_folder_is_written(cli, shelf):
    cli("trust", shelf)
    before = {item[0] for item in shelf.snapshot()}
    assert cli("-C", shelf, "search", QUESTION).code == 0
    new = {os.fsdecode(item[0]) for item in shelf.snapshot()} - {os.fsdecode(path) for path in before}
    assert new
    assert all(path.startswith(str(shelf / ".carrel")) for path in new)
    assert (shelf / ".carrel/.gitignore").read_text() == "*\n"
    assert (shelf / ".carrel/cache/index/catalog.db").is_file()


def contents(desk):
    own = os.fsencode(desk / ".carrel")
    return [(item[0], item[-1]) for item in desk.snapshot() if not item[0].startswith(own)]


@pytest.mark.parametrize(
    "harm",
    [
        lambda index: shutil.rmtree(index.parent.parent),
        shutil.rmtree,
        lambda index: [path.write_bytes(b"garbage" * 99) for path in index.rglob("*") if path.is_file()],
        lambda index: [path.write_bytes(b"") for path in index.rglob("*") if path.is_file()],
        lambda index: (index / "catalog.db").unlink(),
        lambda index: [shutil.rmtree(path) for path in index.iterdir() if path.is_dir()],
        lambda index: (shutil.rmtree(index), index.write_bytes(b"a file")),
        lambda index: (shutil.rmtree(index), index.symlink_to("/nowhere")),
    ],
    ids=["no .carrel", "no index", "garbage", "empty", "no catalog", "no words", "a file", "a link"],
)
def test_a_damaged_index_answers_and_the_workspace_is_as_it_was(cli, shelf, harm):
    cli("trust", shelf)
    before = contents(shelf)
    expected = paths(search(cli, shelf, "harbour"))
    harm(shelf / ".carrel/cache/index")
    assert paths(search(cli, shelf, "harbour")) == expected
    again = search(cli, shelf, "harbour")
    assert paths(again) == expected
    assert contents(shelf) == before


def test_an_index_that_is_damaged_while_it_is_open_answers(cli, shelf):
    cli("trust", shelf)
    with Workspace.open(shelf, environ=dict(os.environ)) as workspace:
        assert workspace.search("walrus").hits == ()
        shutil.rmtree(shelf / ".carrel")
        shelf.put({"new.md": "The walrus sleeps.\n"})
        assert [hit.chunk.path for hit in workspace.search("walrus").hits] == ["new.md"]


def test_an_index_that_cannot_be_written_is_kept_in_memory_and_it_is_said(process, shelf):
    assert process("trust", shelf).code == 0
    (shelf / ".carrel").mkdir(exist_ok=True)
    (shelf / ".carrel").chmod(0o555)
    try:
        outcome = process("-C", shelf, "search", "harbour", "--json", privileged=False)
    finally:
        (shelf / ".carrel").chmod(0o755)
    assert outcome.code == 0
    assert outcome.document["degraded"] is True
    assert "memory/2026-04-20.md" in paths(outcome.document)
    assert "warning" in outcome.warnings


def test_an_index_that_was_made_once_answers_where_nothing_can_be_written(process, shelf):
    assert process("trust", shelf).code == 0
    assert process("-C", shelf, "search", "harbour").code == 0
    own = [shelf / ".carrel", *(shelf / ".carrel").rglob("*")]
    for path in own:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        outcome = process("-C", shelf, "search", "harbour", "--json", privileged=False)
    finally:
        for path in own:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert outcome.code == 0
    assert "memory/2026-04-20.md" in paths(outcome.document)
    assert outcome.document["degraded"] is True


def test_two_processes_search_and_write_at_the_same_time(process, shelf):
    assert process("trust", shelf).code == 0
    program = (
        "import os, sys\n"
        "from carrel import Workspace\n"
        "own = sys.argv[2]\n"
        "with Workspace.open(sys.argv[1], environ=dict(os.environ)) as workspace:\n"
        "    for number in range(12):\n"
        "        workspace.put(f'many/{own}{number}.md', f'walrus {own}-{number:02}\\n'.encode())\n"
        "        workspace.record(own, [{'role': 'user', 'content': f'pelican {own}-{number:02}'}])\n"
        "        found = workspace.search(f'{own}-{number:02}', mode='literal')\n"
        "        assert len(found.hits) == 2, (own, number, found)\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", program, shelf.path, own],
            env=process.environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for own in ("one", "two", "three")
    ]
    for each in running:
        _, errors = each.communicate(timeout=PATIENCE)
        assert each.returncode == 0, errors.decode()
    document = process("-C", shelf, "search", "walrus", "--limit", "100", "--json").document
    assert document["degraded"] is False
    assert len(document["hits"]) == 36
    assert len(process("-C", shelf, "search", "pelican", "--limit", "100", "--json").document["hits"]) == 36


# The index by hand


def test_status_says_what_the_index_holds(cli, shelf):
    report = cli("-C", shelf, "index", "sync", "--json").document
    assert (report["gone"], report["unread"], report["findings"]) == (0, [], [])
    status = cli("-C", shelf, "index", "status", "--json").document
    assert status["places"] == report["changed"]
    assert status["chunks"] == report["chunks"] > 0
    assert (status["vectors"], status["embedder"], status["waiting"], status["degraded"]) == (0, "", 0, False)
    assert "words only" in cli("-C", shelf, "index", "status").text


def test_a_sync_takes_in_only_what_changed(cli, shelf):
    cli("-C", shelf, "index", "sync")
    assert cli("-C", shelf, "index", "sync", "--json").document["changed"] == 0
    shelf.put({"team.md": "Three people.\n"})
    (shelf / "stack.md").unlink()
    report = cli("-C", shelf, "index", "sync", "--json").document
    assert (report["changed"], report["gone"]) == (1, 1)
    assert "0 changed · 0 gone" in cli("-C", shelf, "index", "sync").text


def test_a_rebuild_gives_the_same_hits(cli, sample):
    before = search(cli, sample, QUESTION)
    status = cli("-C", sample, "index", "status", "--json").document
    report = cli("-C", sample, "index", "rebuild", "--json").document
    assert (report["changed"], report["chunks"]) == (status["places"], status["chunks"])
    assert search(cli, sample, QUESTION) == before


@pytest.mark.parametrize("verb", ["sync", "status", "rebuild"])
def test_the_index_is_the_owner_s(cli, shelf, verb):
    outcome = cli("-C", shelf, "--scope", "shared", "index", verb, "--json")
    assert (outcome.code, outcome.error["code"]) == (6, "hidden_by_scope")


# Embedders that fail


def test_an_embedder_that_cannot_be_had_leaves_words_and_says_so(cli, sample):
    cli.set(OPENAI_API_KEY=None)
    sample.put({"carrel.yaml": "agents: [{id: kate}]\nsearch: {embedder: openai, embedder_url: 'ftp://x'}\n"})
    cli("trust", sample)
    outcome = cli("-C", sample, "search", "Samsung", "--json")
    assert outcome.code == 0
    assert paths(outcome.document) == ["MEMORY.md"]
    assert outcome.document["degraded"] is True
    assert "warning" in outcome.warnings


def test_a_stranger_s_workspace_sends_nothing_to_its_server(cli, sample):
    sample.put(
        {"carrel.yaml": "search: {embedder: openai, embedder_url: 'http://127.0.0.1:9', embedder_model: x}\n"}
    )
    outcome = cli("-C", sample, "search", "Samsung", "--json")
    assert outcome.code == 0
    assert paths(outcome.document)[0] == "MEMORY.md"
    assert cli("-C", sample, "index", "status", "--json").document["embedder"].startswith("static")


# What is loaded

LOADED = "import json, sys; {0}; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
RUN = "from carrel.cli.main import run; assert run(sys.argv[1:]) == 0"


def loaded(process, *words):
    outcome = process(*words, python=("-c", LOADED.format(RUN)))
    assert outcome.code == 0, outcome.warnings
    return set(json.loads(outcome.warnings.splitlines()[-1]))


def is_of_search(name):
    return name.partition(".")[0] in ("tantivy", "numpy") or name.startswith(
        ("carrel.index", "carrel.searching")
    )


@pytest.mark.parametrize(
    "words", [("context", "report"), ("context", "show"), ("context", "report", "--json")]
)
def test_a_report_without_a_query_loads_nothing_of_search(process, sample, words):
    assert [name for name in loaded(process, "-C", sample, *words) if is_of_search(name)] == []


@pytest.mark.parametrize(
    "settings", ["layout: openclaw\n", "layout: nexo\n", "layout: squad\n", "budgets: {recall_tokens: 0}\n"]
)
def test_nor_does_one_with_a_query_where_nothing_is_recalled(process, sample, settings):
    sample.put({"carrel.yaml": f"{settings}agents: [{{id: kate}}]\n"})
    modules = loaded(process, "-C", sample, "context", "report", "--query", QUESTION)
    assert [name for name in modules if is_of_search(name)] == []


def test_one_with_a_query_does(process, sample):
    """The other way round: shows that the checks above can fail."""
    assert "tantivy" in loaded(process, "-C", sample, "context", "report", "--query", QUESTION)


def test_searching_words_alone_loads_no_numpy(process, shelf):
    assert "numpy" not in loaded(process, "-C", shelf, "search", "harbour")


# Layouts


LAYOUTS = {
    "carrel": ("memory/2026-04-20.md", "MEMORY.md", "agents/kate/sessions/s1.log.jsonl"),
    "openclaw": ("memory/2026-04-20-a.md", "MEMORY.md", "agents/kate/sessions/s1.log.jsonl"),
    "agentscope": ("memory/2026-04-20.md", "MEMORY.md", "agents/kate/sessions/s1.log.jsonl"),
    "astra": ("workspace/memory/2026-04-20.md", "workspace/MEMORY.md", "agents/kate/sessions/s1.log.jsonl"),
    "nexo": ("notes/2026-04-20.md", "MEMORY.md", "transcripts/s1.jsonl"),
    "squad": (None, "memory/kate.md", "logs/sessions/kate/s1.log.jsonl"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_finds_its_days_its_notebooks_and_what_was_said(cli, desk, words_alone, layout):
    journal, notebook, log = LAYOUTS[layout]
    desk.put({"carrel.yaml": f"layout: {layout}\nagents: [{{id: kate}}]\n"})
    desk.put({path: "- The walrus sleeps.\n" for path in (journal, notebook) if path})
    record(desk, cli, "s1", "Where is the walrus?")
    hits = search(cli, desk, "walrus")["hits"]
    expected = {notebook: "profile", log: "session"} | ({journal: "journal"} if journal else {})
    assert {hit["path"]: hit["tier"] for hit in hits} == expected
    assert [hit["date"] for hit in hits if hit["tier"] == "journal"] == ["2026-04-20"] * bool(journal)
