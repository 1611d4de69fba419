"""What is the owner's is not found by anybody else: not as a hit, a count, a reason, a recall, or by another name."""

import json
import os

import pytest

from carrel import CarrelError, Workspace
from carrel.index import Filter

WORD = "heronry"
CANARY = f"The {WORD} keeps the red ledger"
PUBLIC = "Anybody may read about the harbour."
PRIVATE = f"<!-- scope: private -->\n{CANARY}\n"
MODES = ("hybrid", "lexical", "vector", "literal", "regex")

# For each layout: what is the owner's, and where what everybody may read is.
LAYOUTS = {
    "carrel": (
        {
            "USER.md": CANARY,
            "MEMORY.md": CANARY,
            "DREAMS.md": CANARY,
            "memory/2026-04-24.md": CANARY,
            "memory/kate.md": CANARY,
            "memory/entities/ana.md": CANARY,
            "memory/procedures/ship.md": CANARY,
            "agents/kate/memory.md": CANARY,
            "agents/kate/plan.txt": CANARY,
            "ledger.md": PRIVATE,
            "ledger.txt": PRIVATE,
            "yaml.md": f"---\nscope: private\n---\n{CANARY}\n",
            "tagged.md": f"<!-- tags: private -->\n{CANARY}\n",
            "knowledge/ledger.md": PRIVATE,
            "skills/ledger/SKILL.md": f"---\nscope: private\nname: ledger\n---\n{CANARY}\n",
        },
        "team.md",
    ),
    "astra": (
        {
            "workspace/USER.md": CANARY,
            "workspace/MEMORY.md": CANARY,
            "workspace/memory/2026-04-24.md": CANARY,
            "memory/2026-04-24.md": CANARY,
            "workspace/ledger.md": PRIVATE,
        },
        "workspace/team.md",
    ),
    "nexo": (
        {
            "USER.md": CANARY,
            "MEMORY.md": CANARY,
            "notes/2026-04-24.md": CANARY,
            "other.md": CANARY,
            "knowledge/x.md": CANARY,
        },
        "SOUL.md",
    ),
    "squad": (
        {
            "memory/kate.md": CANARY,
            "agents/kate/memory.md": CANARY,
            "logs/events.jsonl": CANARY,
            "l.md": PRIVATE,
        },
        "team.md",
    ),
}


@pytest.fixture(params=sorted(LAYOUTS))
def layout(request):
    return request.param


@pytest.fixture
def owned(layout, desk, cli):
    private, public = LAYOUTS[layout]
    desk.put({"carrel.yaml": f"layout: {layout}\nagents: [{{id: kate}}]\n", **private})
    desk.put({public: PUBLIC})
    with opened(desk) as workspace:
        workspace.record("s0", [{"role": "user", "content": CANARY}])
        workspace.record("s0", [{"role": "user", "content": f"In another room: {CANARY}"}], scope="shared")
        workspace.record("s1", [{"role": "user", "content": f"For me alone: {CANARY}", "name": WORD}])
    return desk


def opened(desk, **fields):
    return Workspace.open(desk, environ=dict(os.environ), **fields)


def assert_says_nothing(told):
    text = told if isinstance(told, str) else json.dumps(told)
    assert WORD not in text.lower()
    assert "ledger" not in text.lower()


def asked(desk, query, **fields):
    """Everything that a search tells a listener who is not the owner."""
    with opened(desk) as workspace:
        return workspace.search(query, scope="shared", limit=100, facets=True, **fields)


def count(found):
    return sum(sum(counts.values()) for counts in found.facets.values())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", [WORD, CANARY, "red ledger", "MEMORY USER ledger"])
def test_nobody_else_finds_it_in_any_mode(owned, mode, query):
    with opened(owned) as workspace:
        assert workspace.search(WORD, mode=mode, limit=100).hits
    found = asked(owned, query, mode=mode, session="s1")
    for hit in found.hits:
        assert_says_nothing(repr(hit))
    assert count(found) == 0


def test_nobody_else_finds_it_from_the_shell(cli, owned):
    for words in (
        ("search", WORD),
        ("search", CANARY, "--explain"),
        ("search", WORD, "--mode", "literal", "--lines", "50"),
        ("search", ".+", "--mode", "regex", "--limit", "1000"),
        ("search", "ledger", "--tier", "profile", "--tier", "journal", "--tier", "session"),
        ("search", WORD, "--session", "s0"),
        ("search", WORD, "--session", "s1", "--in-agent", "kate"),
        ("memory", "search", "red", "--path", "memory"),
    ):
        outcome = cli("-C", owned, "--scope", "shared", *words, "--json")
        assert outcome.code == 0
        assert_says_nothing(outcome.text + outcome.warnings)
        assert_says_nothing(cli("-C", owned, "--scope", "shared", *words).text)


def test_a_question_of_everything_shows_only_what_everybody_may_see(owned, layout):
    found = asked(owned, ".", mode="regex", session="s9")
    assert [hit.chunk.path for hit in found.hits] == [LAYOUTS[layout][1]]
    assert [hit.chunk.path for hit in asked(owned, "harbour", mode="lexical").hits] == [LAYOUTS[layout][1]]


def test_no_tool_finds_it_for_a_stranger(owned, layout):
    with opened(owned) as workspace:
        for session in (None, "s1", "s9"):
            tools = workspace.tools(session=session, scope="shared")
            for query in (WORD, CANARY, "ledger"):
                assert_says_nothing(tools.call("memory_search", {"query": query, "limit": 50}))
            for path in LAYOUTS[layout][0]:
                with pytest.raises(CarrelError) as caught:
                    tools.call("memory_get", {"path": path})
                assert_says_nothing(caught.value.message.replace(path, ""))


def test_it_is_not_recalled_for_a_stranger(owned):
    with opened(owned) as workspace:
        for session in ("s1", "s9"):
            assembly = workspace.prepare(session, "What of the red book?", scope="shared")
            assert_says_nothing(assembly.to_text())
            assert_says_nothing(assembly.report.to_json()["recall"])


def test_what_strangers_recall_is_not_what_the_owner_recalled(cli, desk):
    desk.put(
        {"carrel.yaml": "agents: [{id: kate}]\n", "memory/2026-04-01.md": f"- {CANARY}\n", "team.md": PUBLIC}
    )
    with opened(desk) as workspace:
        assert CANARY in workspace.prepare("s1", "What does the heronry keep?").to_text()
        shared = workspace.prepare("s1", "What does it keep, the red book?", scope="shared")
        assert_says_nothing(shared.to_text())
        assert_says_nothing(shared.report.to_json())


# Sessions


@pytest.fixture
def mixed(cli, desk):
    """A session in which the owner was alone before and after others were there."""
    desk.put({"carrel.yaml": "agents: [{id: kate}, {id: milo}]\n", "team.md": PUBLIC})
    with opened(desk, agent="kate") as workspace:
        say = workspace.record
        say("s1", [{"role": "user", "content": CANARY}, {"role": "assistant", "content": f"A {WORD}!"}])
        say("s1", [{"role": "user", "content": "How is the weather?"}], scope="shared")
        say("s1", [{"role": "assistant", "content": "Sunny."}], scope="shared")
        say("s1", [{"role": "user", "content": f"Again: {CANARY}"}])
        say("s2", [{"role": "user", "content": f"Elsewhere: {CANARY}"}], scope="shared")
    with opened(desk, agent="milo") as workspace:
        workspace.record("s1", [{"role": "user", "content": f"To Milo: {CANARY}"}], scope="shared")
    return desk


def in_session(desk, query, **fields):
    with opened(desk, agent="kate") as workspace:
        return workspace.search(query, scope="shared", session="s1", facets=True, **fields)


def test_others_find_what_was_said_before_them(mixed):
    found = in_session(mixed, "weather", mode="lexical")
    assert found.hits[0].chunk.text == "How is the weather?"
    assert found.facets["session"] == {"s1": count(found) // 3}


@pytest.mark.parametrize("mode", MODES)
def test_others_do_not_find_the_owner_s_turns_nor_other_sessions_nor_other_agents(mixed, mode):
    for query in (WORD, CANARY, "Milo", "Elsewhere"):
        found = in_session(mixed, query, mode=mode, limit=100)
        for hit in found.hits:
            assert_says_nothing(repr(hit))
            assert hit.chunk.agent in ("", "kate")
        assert count(found) == 0


@pytest.mark.parametrize("mode", ["lexical", "literal", "regex"])
def test_a_turn_is_not_found_by_what_the_owner_said_beside_it(mixed, mode):
    assert in_session(mixed, WORD, mode=mode).hits == ()


def test_what_was_said_beside_a_turn_of_the_owner_s_counts_for_the_owner(mixed):
    """The other way round: whoever may see a turn may find it by those around it that everybody may see."""
    with opened(mixed, agent="kate") as workspace:
        texts = [hit.chunk.text for hit in workspace.search("weather", mode="lexical").hits]
    assert texts[0] == "How is the weather?"
    assert CANARY in texts


def test_a_filter_opens_no_other_session(mixed):
    for within in (
        Filter(sessions=("s2",)),
        Filter(sessions=("s1", "s2")),
        Filter(agents=("milo",)),
        Filter(tiers=("session",)),
        Filter(paths=("agents/milo",)),
        Filter(shared=False),
    ):
        found = in_session(mixed, CANARY, within=within, mode="literal")
        assert found.hits == ()
        assert count(found) == 0


def test_without_a_session_others_find_nothing_that_was_said(mixed):
    with opened(mixed, agent="kate") as workspace:
        assert workspace.search("weather", scope="shared", mode="lexical").hits == ()


def test_a_message_of_others_is_recalled_for_them_and_the_owner_s_is_not(mixed):
    with opened(mixed, agent="kate") as workspace:
        shared = workspace.prepare("s1", f"What did the {WORD[:4]}on keep, red?", scope="shared").to_text()
        assert CANARY not in shared


# Other names


ALIASES = {
    "symlink": lambda desk, alias: (desk / alias).symlink_to("MEMORY.md"),
    "absolute symlink": lambda desk, alias: (desk / alias).symlink_to(desk / "MEMORY.md"),
    "hard link": lambda desk, alias: (desk / alias).hardlink_to(desk / "MEMORY.md"),
}


@pytest.mark.parametrize("kind", sorted(ALIASES))
@pytest.mark.parametrize("when", ["before", "after"])
def test_another_name_of_a_private_file_finds_nothing(cli, desk, kind, when):
    desk.put({"MEMORY.md": CANARY, "team.md": PUBLIC})
    with opened(desk) as workspace:
        if when == "after":
            assert workspace.search(WORD, scope="shared", mode="lexical").hits == ()
        ALIASES[kind](desk, "open.md")
        assert workspace.search(WORD, scope="shared", mode="lexical", facets=True).hits == ()
        assert count(workspace.search(WORD, scope="shared", mode="lexical", facets=True)) == 0
        assert workspace.search(WORD, mode="lexical").hits


def test_a_new_private_file_with_a_second_name_finds_nothing(cli, desk):
    desk.put({"MEMORY.md": "old", "team.md": PUBLIC})
    with opened(desk) as workspace:
        assert workspace.search("old", scope="shared", mode="lexical").hits == ()
        desk.put({"draft.md": CANARY})
        assert workspace.search(WORD, scope="shared", mode="lexical").hits
        (desk / "MEMORY.md").unlink()
        (desk / "MEMORY.md").hardlink_to(desk / "draft.md")
        assert workspace.search(WORD, scope="shared", mode="lexical").hits == ()


def test_a_folder_that_leads_to_private_files_finds_nothing(cli, desk):
    desk.put({"memory/2026-04-24.md": CANARY, "team.md": PUBLIC})
    (desk / "public").symlink_to("memory")
    assert asked(desk, WORD, mode="literal").hits == ()


def test_a_link_that_leads_out_is_found_by_nobody(cli, desk, tmp_path):
    (tmp_path / "outside.md").write_text(CANARY)
    desk.put({"team.md": PUBLIC})
    (desk / "link.md").symlink_to(tmp_path / "outside.md")
    with opened(desk) as workspace:
        assert workspace.search(WORD, mode="literal").hits == ()


# Becoming private


@pytest.mark.parametrize(
    "change",
    [
        lambda desk: desk.put({"plan.md": PRIVATE}),
        lambda desk: desk.put({"plan.md": f"---\nscope: private\n---\n{CANARY}\n"}),
        lambda desk: (desk / "plan.md").rename(desk / "MEMORY.md"),
        lambda desk: desk.put({".carrelignore": "plan.md\n"}),
        lambda desk: (desk / "plan.md").unlink(),
        lambda desk: (
            desk.put({"carrel.yaml": "agents: [{id: kate}]\n"}) and desk.put({"plan.md": "Nothing.\n"})
        ),
    ],
    ids=["comment", "yaml", "renamed", "ignored", "gone", "emptied"],
)
def test_what_becomes_private_is_hidden_at_once(cli, desk, change):
    desk.put({"plan.md": f"{CANARY}\n", "team.md": PUBLIC})
    with opened(desk) as workspace:
        assert workspace.search(WORD, scope="shared", mode="lexical").hits
        change(desk)
        for mode in ("lexical", "literal", "hybrid"):
            found = workspace.search(WORD, scope="shared", mode=mode, facets=True)
            assert [hit for hit in found.hits if WORD in repr(hit)] == []
            assert count(found) == 0
        assert CANARY not in workspace.assemble(query="What does the heronry keep?", scope="shared").to_text()
    assert [hit for hit in asked(desk, WORD).hits if WORD in repr(hit)] == []


def test_what_becomes_public_is_found(cli, desk):
    desk.put({"plan.md": PRIVATE, "team.md": PUBLIC})
    with opened(desk) as workspace:
        assert workspace.search(WORD, scope="shared", mode="lexical").hits == ()
        desk.put({"plan.md": f"{CANARY}\n"})
        assert workspace.search(WORD, scope="shared", mode="lexical").hits


def test_settings_are_not_for_strangers(cli, desk):
    desk.put({"carrel.yaml": f"agents: [{{id: kate, displayName: {WORD}}}]\n", "team.md": PUBLIC})
    assert asked(desk, WORD, mode="literal").hits == ()
    with opened(desk) as workspace:
        assert workspace.search(WORD, mode="literal").hits


def test_a_secret_in_a_transcript_is_found_by_nobody(cli, desk):
    secret = "sk-ant-api03-" + "Qx7" * 30 + "AA"
    desk.put({"team.md": PUBLIC})
    with opened(desk) as workspace:
        workspace.record("s1", [{"role": "user", "content": f"My key is {secret}"}])
        assert workspace.search(secret, mode="literal").hits == ()
        assert workspace.search("My key is", mode="literal").hits
