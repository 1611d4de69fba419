"""What an agent learns of itself, in the shapes that seed 002 gives."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from carrel.files.ephemeral import EphemeralFiles
from carrel.tools.knowledge import LIMIT
from carrel.tools.registry import BadArguments, Registry
from carrel.tools.self_report import Sources, looking, self_report_tools
from carrel.workspace.document import Documents
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import Scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
SEED = """## People

- Luis prefers Spanish but is fine switching to English.
- Ana uses a Samsung, not an iPhone.

## Dreamed 2026-04-23 03:00 UTC

- User's timezone is America/Bogota _(score=0.42, hits=5, days=3)_
- Prefers short replies on WhatsApp _(score=0.38, hits=4, days=2)_

## Open questions

- What phone carrier does Luis use?
"""
FILES = {
    "IDENTITY.md": "- **Name:** Kate\n- **Creature:** _(pick something)_\n- **Vibe:** warm but sharp\n- **Emoji:** 🐙\n",
    "SOUL.md": "Kind, and exact.\n",
    "USER.md": "Luis.\n",
    "AGENTS.md": "ana\n",
    "MEMORY.md": SEED,
}


def agent(files=FILES, scope=Scope.MAIN, layout="nexo", **more):
    described = load_layout(layout)
    sources = Sources(
        agent_id="kate",
        model="offline",
        workspace_dir="/home/luis/desk",
        look=looking(Documents(EphemeralFiles(files)), described, scope),
        now=lambda: NOW,
        scope=scope,
        home=described.home,
        **more,
    )
    return Registry(self_report_tools(sources))


def size(result):
    return len(json.dumps(result, ensure_ascii=False, separators=(",", ":")).encode())


def know(memory, **arguments):
    result = agent({"MEMORY.md": memory}).call("what_do_i_know", arguments)
    assert set(result) == {"sections", "truncated"}
    assert all(set(section) == {"heading", "bullets"} for section in result["sections"])
    assert size(result) <= LIMIT
    return result


# ----------------------------------------------------------------------------------------------------- who_am_i


def test_an_agent_knows_who_it_is():
    assert agent().call("who_am_i") == {
        "agent_id": "kate",
        "model": "offline",
        "workspace_dir": "/home/luis/desk",
        "identity": {
            "name": "Kate",
            "creature": None,
            "vibe": "warm but sharp",
            "emoji": "🐙",
            "avatar": None,
        },
        "soul_excerpt": "Kind, and exact.",
    }


@pytest.mark.parametrize(
    "files", [{}, {"IDENTITY.md": b"\xff", "SOUL.md": b"\xff"}], ids=["absent", "unreadable"]
)
def test_what_there_is_not_is_null(files):
    known = agent(files).call("who_am_i")
    assert (known["identity"], known["soul_excerpt"]) == (None, None)


def test_an_identity_without_fields_is_an_identity_all_the_same():
    known = agent({"IDENTITY.md": "Nothing yet.\n", "SOUL.md": ""}).call("who_am_i")
    assert known["identity"] == dict.fromkeys(("name", "creature", "vibe", "emoji", "avatar"))
    assert known["soul_excerpt"] == ""


@pytest.mark.parametrize(
    ("soul", "excerpt"),
    [("é" * 2048, "é" * 2048), ("é" * 2049, "é" * 2047 + "…"), ("🐙" * 5000, "🐙" * 2047 + "…")],
)
def test_a_soul_is_quoted_up_to_2048_characters_in_all(soul, excerpt):
    assert agent({"SOUL.md": soul}).call("who_am_i")["soul_excerpt"] == excerpt


def test_an_excerpt_does_not_part_a_letter_from_its_marks():
    family = "👩\u200d👩\u200d👧"
    excerpt = agent({"SOUL.md": "x" * 2046 + family}).call("who_am_i")["soul_excerpt"]
    assert excerpt == "x" * 2046 + "…"


def test_others_may_know_the_persona_too():
    known = agent(scope=Scope.SHARED).call("who_am_i")
    assert known == agent().call("who_am_i")


# ----------------------------------------------------------------------------------------------- what_do_i_know


def test_an_agent_knows_what_its_memory_says():
    result = know(SEED)
    assert [section["heading"] for section in result["sections"]] == [
        "People",
        "Dreamed 2026-04-23 03:00 UTC",
        "Open questions",
    ]
    assert result["sections"][0]["bullets"][1] == "Ana uses a Samsung, not an iPhone."
    assert result["truncated"] is False


@pytest.mark.parametrize("arguments", [{"filter": "OPEN"}, {"section": "quest"}, {"filter": " open "}])
def test_a_filter_is_part_of_a_heading_in_any_case(arguments):
    result = know(SEED, **arguments)
    assert [section["heading"] for section in result["sections"]] == ["Open questions"]


def test_a_filter_takes_what_stands_below_a_heading_with_it():
    result = know("## People\n### Family\n- Ana\n## Places\n- Bogota\n", filter="people")
    assert [section["heading"] for section in result["sections"]] == ["People", "Family"]


def test_an_empty_filter_filters_nothing():
    assert know(SEED, filter=" ") == know(SEED) == know(SEED, filter=None)


def test_a_filter_that_nothing_matches_leaves_nothing_out():
    assert know(SEED, filter="weather") == {"sections": [], "truncated": False}


def test_an_unknown_argument_is_refused():
    with pytest.raises(BadArguments, match="`limit` is not an argument"):
        agent().call("what_do_i_know", {"limit": 5})


def test_ten_bullets_a_section_and_no_more():
    bullets = "".join(f"- {n}\n" for n in range(11))
    result = know(f"## Many\n{bullets}## Few\n- x\n")
    assert [len(section["bullets"]) for section in result["sections"]] == [10, 1]
    assert result["truncated"] is True
    assert know(f"## Many\n{bullets[:-5]}")["truncated"] is False


def test_a_long_memory_fills_the_answer_and_says_that_there_is_more():
    memory = "".join(f"## Section {n}\n" + "- é word in a bullet\n" * 8 for n in range(60))
    result = know(memory)
    assert result["truncated"] is True
    assert size(result) > LIMIT * 0.95


def test_headings_still_tell_what_could_be_asked_for():
    memory = "".join(f"## Section {n}\n" + f"- {'long ' * 60}\n" * 9 for n in range(30))
    result = know(memory)
    assert [section["heading"] for section in result["sections"]] == [f"Section {n}" for n in range(30)]
    assert len(result["sections"][0]["bullets"]) == 9
    assert result["sections"][-1]["bullets"] == []
    asked = know(memory, filter="Section 29")
    assert len(asked["sections"][0]["bullets"]) == 9
    assert asked["truncated"] is False


def test_one_enormous_bullet_is_shortened_visibly():
    result = know("## A\n- " + "é" * 1_000_000 + "\n## B\n- b\n")
    first, second = result["sections"]
    assert first["bullets"][0].endswith("é…")
    assert len(first["bullets"][0]) > 2_900
    assert second["heading"] == "B"
    assert result["truncated"] is True


def test_one_enormous_heading_is_shortened_visibly():
    result = know(f"## {'h' * 100_000}\n- b\n")
    assert result["sections"][0]["heading"].endswith("h…")
    assert result["sections"][0]["bullets"] == ["b"]
    assert result["truncated"] is True


def test_what_json_escapes_counts_as_long_as_it_gets():
    assert know("## A\n" + '- "\\\\\x01"\n' * 10 + "- \x01\n" * 2000)["truncated"] is True


def test_no_memory_is_no_knowledge():
    assert agent({}).call("what_do_i_know") == {"sections": [], "truncated": False}


@pytest.mark.parametrize("layout", ["nexo", "carrel", "astra", "openclaw"])
def test_others_learn_nothing_of_a_memory_not_even_how_long_it_is(layout):
    home = load_layout(layout).home
    files = {f"{home}{name}": text * 100 for name, text in FILES.items()}
    known = agent(files, Scope.SHARED, layout).call("what_do_i_know")
    assert known == {"sections": [], "truncated": False}


# ----------------------------------------------------------------------------------------------------- my_stats


def test_the_seven_figures():
    asked = []

    def recalls(since):
        asked.append(since)
        return 321

    facts = ["Ana uses a Samsung", "Ana likes Bogota", "ana"]
    stats = agent(
        FILES | {"memory/kate.md": "## Insights\n- one\n- two\n", "agents/kate/memory.md": "- three\n"},
        sessions=lambda: 12,
        recalls=recalls,
        recalled=lambda _: facts,
    ).call("my_stats")
    assert stats == {
        "sessions_total": 12,
        "memories_stored": 8,
        "memories_promoted": 2,
        "last_dream_ts": "2026-04-23T03:00:00Z",
        "recall_events_7d": 321,
        "top_concept_tags_7d": [["ana", 3], ["bogota", 1], ["likes", 1], ["samsung", 1], ["uses", 1]],
        "workspace_files_present": ["IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "MEMORY.md"],
    }
    assert asked == [NOW - timedelta(days=7)]


def test_of_many_tags_the_ten_most_frequent_are_told():
    words = [f"w{n}" for n in range(30)]
    events = [word for n, word in enumerate(words) for _ in range(n + 1)]
    tags = agent({}, recalled=lambda _: events).call("my_stats")["top_concept_tags_7d"]
    assert tags == [[f"w{n}", n + 1] for n in range(29, 19, -1)]


def test_a_new_agent_has_figures_too():
    assert agent({}).call("my_stats") == {
        "sessions_total": 0,
        "memories_stored": 0,
        "memories_promoted": 0,
        "last_dream_ts": None,
        "recall_events_7d": 0,
        "top_concept_tags_7d": [],
        "workspace_files_present": [],
    }


def test_the_newest_dream_counts_and_impossible_ones_do_not():
    memory = (
        "## Dreamed 2026-04-23 03:00 UTC\n- a\n## Dreamed 2025-12-31 23:59 UTC\n- b\n### Themes\n- c\n"
        "## Dreamed 2026-13-45 99:00 UTC\n- d\n## Dreamed in vain\n- e\n## Not Dreamed 2027-01-01 00:00 UTC\n- f\n"
    )
    stats = agent({"MEMORY.md": memory}).call("my_stats")
    assert stats["last_dream_ts"] == "2026-04-23T03:00:00Z"
    assert stats["memories_promoted"] == 5
    assert stats["memories_stored"] == 6


def test_a_notebook_with_two_names_is_counted_once(tmp_path):
    from carrel.files.local import LocalFiles  # noqa: PLC0415 - only a real disk has links

    (tmp_path / "MEMORY.md").write_text("- a\n- b\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/kate.md").symlink_to("../MEMORY.md")
    layout = load_layout("carrel")
    sources = Sources(
        agent_id="kate",
        model=None,
        workspace_dir=str(tmp_path),
        look=looking(Documents(LocalFiles(tmp_path)), layout, Scope.MAIN),
        now=lambda: NOW,
        scope=Scope.MAIN,
    )
    assert Registry(self_report_tools(sources)).call("my_stats")["memories_stored"] == 2


def test_files_stand_where_the_layout_has_them():
    files = {"workspace/IDENTITY.md": "- Name: Kate\n", "workspace/DREAMS.md": "x", "SOUL.md": "not here"}
    stats = agent(files, layout="astra").call("my_stats")
    assert stats["workspace_files_present"] == ["IDENTITY.md", "DREAMS.md"]


@pytest.mark.parametrize(
    ("layout", "seen"),
    [("nexo", ["IDENTITY.md", "SOUL.md", "AGENTS.md"]), ("carrel", ["IDENTITY.md", "SOUL.md", "AGENTS.md"])],
)
def test_others_learn_no_private_figure(layout, seen):
    def private(since):
        raise AssertionError("what was recalled is private")

    stats = agent(FILES, Scope.SHARED, layout, sessions=lambda: 1, recalls=private, recalled=private).call(
        "my_stats"
    )
    assert stats == {
        "sessions_total": 1,
        "memories_stored": 0,
        "memories_promoted": 0,
        "last_dream_ts": None,
        "recall_events_7d": 0,
        "top_concept_tags_7d": [],
        "workspace_files_present": seen,
    }


def test_a_file_that_calls_itself_private_is_not_present_for_others():
    files = {"SOUL.md": "<!-- scope: private -->\nsecret\n", "AGENTS.md": "x"}
    known = agent(files, Scope.SHARED, "carrel")
    assert known.call("my_stats")["workspace_files_present"] == ["AGENTS.md"]
    assert known.call("who_am_i")["soul_excerpt"] is None
