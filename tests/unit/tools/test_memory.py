"""`memory_search` and `memory_get`: hits as a model reads them, and the lines around one."""

import pytest
from tests.unit.tools.conftest import Desk

from carrel.files import Unreadable
from carrel.tools.access import NoSuchFile, NotForTools
from carrel.tools.memory import LONGEST_TEXT, MOST_HITS, NotMemory, memory_tools
from carrel.tools.registry import BadArguments, Registry
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import HiddenByScope
from carrel.workspace.tiers import MEMORY, standing_of

HIT = {
    "path": "MEMORY.md",
    "line": 3,
    "end_line": 3,
    "tier": "profile",
    "agent": None,
    "section": "People",
    "date": None,
    "text": "- Ana uses a Samsung.",
    "ranges": [[2, 5]],
    "scores": {"score": 1.0},
}
FILES = {
    "MEMORY.md": "## People\n\n- Ana uses a Samsung.\n- Luis sails.\n",
    "memory/2026-04-24.md": "- wrote tests\n",
    "AGENTS.md": "Be brief.\n",
    "carrel.yaml": "layout: carrel\n",
    "agents/kate/sessions/s1.log.jsonl": "{}\n",
    "agents/kate/memory.md": "- Mine.\n",
}


def is_memory(path):
    return standing_of(path, load_layout("carrel"), ["kate"]).tier in MEMORY


class Searched:
    """Answers with hits that are given, and keeps what was asked."""

    def __init__(self, *hits):
        self.hits = hits
        self.asked = []

    def __call__(self, asked):
        self.asked.append(asked)
        return {"hits": self.hits, "facets": {}, "degraded": False}


def tools(desk=None, look=None):
    desk = desk or Desk(FILES)
    return Registry(memory_tools(look or Searched(HIT), desk.access, is_memory))


def get(path, desk=None, **arguments):
    return tools(desk).call("memory_get", {"path": path, **arguments})


def test_a_hit_is_told_without_what_only_a_screen_needs():
    told = tools().call("memory_search", {"query": "phone"})
    assert told == {
        "hits": [
            {
                "path": "MEMORY.md",
                "line": 3,
                "end_line": 3,
                "tier": "profile",
                "section": "People",
                "text": "- Ana uses a Samsung.",
                "scores": {"score": 1.0},
            }
        ],
        "degraded": False,
    }


def test_a_long_text_is_cut_and_says_so():
    (hit,) = tools(look=Searched({**HIT, "text": "word " * 5_000})).call("memory_search", {"query": "x"})[
        "hits"
    ]
    assert len(hit["text"]) <= LONGEST_TEXT
    assert hit["truncated"] is True


def test_what_is_asked_reaches_the_search():
    look = Searched()
    tools(look=look).call(
        "memory_search",
        {"q": "phone", "maxResults": "5", "tier": "journal", "section": "People", "since": "2026-01-01"},
    )
    (asked,) = look.asked
    assert (asked.query, asked.limit, asked.tier, asked.section, asked.since, asked.until) == (
        "phone", 5, "journal", "People", "2026-01-01", None,
    )  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [{}, {"query": 5.5}, {"query": "x", "limit": "many"}, {"query": "x", "y": 1}]
)
def test_bad_arguments_are_told(arguments):
    with pytest.raises(BadArguments):
        tools().call("memory_search", arguments)


def test_the_schema_tells_the_model_how_many_hits_it_may_have():
    (spec,) = [tool.spec for tool in memory_tools(Searched(), Desk(FILES).access, is_memory)][:1]
    assert spec.parameters["properties"]["limit"]["maximum"] == MOST_HITS
    assert spec.parameters["required"] == ["query"]
    assert not spec.writes


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory/2026-04-24.md", "agents/kate/memory.md", "./MEMORY.md"]
)
def test_files_of_memory_are_read(path):
    assert get(path)["text"]


def test_some_lines_are_read_and_it_is_told_which():
    told = get("MEMORY.md", line=3, lines=1)
    assert (told["path"], told["text"], told["first_line"], told["more"]) == (
        "MEMORY.md", "- Ana uses a Samsung.\n", 3, 4,
    )  # fmt: skip
    assert get("MEMORY.md", **{"from": 4})["text"] == "- Luis sails.\n"


def test_a_line_past_the_end_is_told():
    with pytest.raises(BadArguments, match="past the end"):
        get("MEMORY.md", line=99)


@pytest.mark.parametrize("path", ["AGENTS.md", "carrel.yaml", "agents/kate/sessions/s1.log.jsonl", "gone.md"])
def test_what_is_no_memory_is_refused(path):
    with pytest.raises(NotMemory):
        get(path)


@pytest.mark.parametrize(
    "path", ["../MEMORY.md", "memory/../../x.md", "/etc/passwd", "", "memory/a\0b.md", "memory\\x.md"]
)
def test_a_path_that_leads_out_is_refused(path):
    with pytest.raises(Exception, match=r"path|memory") as refused:
        get(path)
    assert refused.value.code in ("bad_path", "not_memory")


def test_a_day_that_is_not_there_is_told():
    with pytest.raises(NoSuchFile):
        get("memory/2020-01-01.md")


def test_a_link_that_leads_out_is_not_followed(disk, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    own = disk({"memory/2026-04-24.md": "x"}, {"memory/2026-04-23.md": str(outside)})
    with pytest.raises(Unreadable):
        get("memory/2026-04-23.md", own)


@pytest.mark.parametrize("target", ["../carrel.yaml", "../agents/kate/sessions/s1.log.jsonl"])
def test_a_link_does_not_make_memory_of_settings_and_transcripts(disk, target):
    own = disk(FILES, {"memory/2026-04-23.md": target})
    with pytest.raises((NotMemory, NotForTools)):
        get("memory/2026-04-23.md", own)


def test_a_file_that_is_hidden_is_refused():
    with pytest.raises(HiddenByScope):
        get("MEMORY.md", Desk(FILES, hidden=frozenset(("MEMORY.md",))))


def test_what_is_no_text_is_told():
    with pytest.raises(Unreadable):
        get("MEMORY.md", Desk({"MEMORY.md": b"\xff"}))
