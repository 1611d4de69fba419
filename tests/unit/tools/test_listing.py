"""Listing files as a model does: in order, in pages, and not into what is closed."""

import pytest

from carrel.files import Unreadable
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.paths import BadPath
from carrel.tools.access import NoSuchFile, NotForTools
from carrel.tools.listing import MOST_ENTRIES

FILES = {
    "AGENTS.md": "Be brief.\n",
    "a.b/x.md": "1",
    "a/deep/er/z.md": "1",
    "a/x.md": "22",
    "a-b.md": "333",
}


def paths(result):
    return [entry["path"] for entry in result["entries"]]


def test_a_workspace_is_listed_two_levels_deep(desk):
    assert desk(FILES).call("list_files") == {
        "under": "",
        "count": 7,
        "entries": [
            {"path": "AGENTS.md", "kind": "file", "size": 10},
            {"path": "a", "kind": "directory", "size": None},
            {"path": "a/deep", "kind": "directory", "size": None},
            {"path": "a/x.md", "kind": "file", "size": 2},
            {"path": "a-b.md", "kind": "file", "size": 3},
            {"path": "a.b", "kind": "directory", "size": None},
            {"path": "a.b/x.md", "kind": "file", "size": 1},
        ],
        "more": None,
    }


def test_a_folder_is_listed_as_deep_as_asked(desk):
    tools = desk(FILES)
    assert paths(tools.call("list_files", under="a/", depth=1)) == ["a/deep", "a/x.md"]
    assert "a/deep/er/z.md" in paths(tools.call("list_files", under="./a", depth=9))


@pytest.mark.parametrize("root", ["", ".", "./", "/"])
def test_the_root_has_several_names(desk, root):
    assert desk(FILES).call("list_files", under=root, depth=1)["count"] == 4


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_one_after_the_other_are_the_whole_list(desk, limit):
    tools = desk(FILES | {f"many/{n}.md": "" for n in range(20)})
    found, after = [], ""
    while after is not None:
        page = tools.call("list_files", depth=9, limit=limit, after=after)
        assert page["count"] <= limit
        found += paths(page)
        after = page["more"]
    assert found == paths(tools.call("list_files", depth=9))
    assert len(found) == len(set(found)) == 30


def test_a_later_page_opens_no_folder_of_an_earlier_one(desk):
    class Counting(EphemeralFiles):
        def list(self, under=""):
            opened.append(under)
            return super().list(under)

    opened = []
    tools = desk(Counting({f"{n:03}/{m}.md": "" for n in range(100) for m in range(3)}))
    tools.call("list_files", after="097/1.md")
    assert opened == ["", "097", "098", "099"]


def test_a_page_has_an_upper_limit(desk):
    page = desk({f"{n}.md": "" for n in range(MOST_ENTRIES + 5)}).call("list_files", limit=10**9)
    assert page["count"] == MOST_ENTRIES
    assert page["more"]


def test_a_folder_that_is_not_there_is_an_error(desk):
    with pytest.raises(NoSuchFile):
        desk(FILES).call("list_files", under="nowhere")


def test_a_file_is_no_folder_to_list(desk):
    with pytest.raises(Unreadable, match="directory is needed"):
        desk(FILES).call("list_files", under="AGENTS.md")


def test_no_listing_leaves_the_workspace(desk):
    with pytest.raises(BadPath):
        desk(FILES).call("list_files", under="../..")


def test_what_is_not_for_tools_is_named_and_stays_closed(desk):
    tools = desk({"agents/kate/sessions/s1.jsonl": "x", ".git/config": "x", "logs/s.jsonl": "x", "a.md": ""})
    result = tools.call("list_files", depth=9)
    assert paths(result) == [".git", "a.md", "agents", "logs"]
    assert [entry.get("closed") for entry in result["entries"]] == [True, None, True, True]
    for folder in ("agents", "agents/kate", ".git", "LOGS"):
        with pytest.raises(NotForTools):
            tools.call("list_files", under=folder)


def test_what_the_scope_hides_is_not_in_a_list(desk):
    tools = desk({"MEMORY.md": "x", "a.md": "x"}, hidden=frozenset({"MEMORY.md"}))
    assert paths(tools.call("list_files")) == ["a.md"]


def test_loops_of_links_end(disk):
    tools = disk({"a/x.md": "x", "b/y.md": "y"}, {"a/up": "..", "b/twin": "../a"})
    assert paths(tools.call("list_files", depth=16)) == ["a", "a/up", "a/x.md", "b", "b/twin", "b/y.md"]
    assert paths(tools.call("list_files", under="b/twin", depth=2)) == ["b/twin/up", "b/twin/x.md"]


def test_a_link_opens_nothing_that_is_closed(disk):
    tools = disk({"agents/kate/sessions/s1.jsonl": "x"}, {"mine": "agents"})
    assert paths(tools.call("list_files", depth=9)) == ["agents", "mine"]
    with pytest.raises(NotForTools):
        tools.call("list_files", under="mine")


def test_a_folder_that_cannot_be_opened_is_listed_with_the_reason(desk):
    class Closed(EphemeralFiles):
        def list(self, under=""):
            if under == "b":
                raise Unreadable("b", "permission")
            return super().list(under)

    result = desk(Closed({"a/x.md": "", "b/y.md": "", "c.md": ""})).call("list_files")
    assert paths(result) == ["a", "a/x.md", "b", "c.md"]
    assert result["entries"][2]["unreadable"] == "permission"


def test_names_that_are_no_text_are_escaped_and_paged_over(desk):
    tools = desk({"caf\udce9/x.md": "", "caf\udce9/y.md": "", "z.md": ""})
    found, after = [], ""
    while after is not None:
        page = tools.call("list_files", limit=1, after=after)
        found += paths(page)
        after = page["more"]
    assert found == ["caf\\udce9", "caf\\udce9/x.md", "caf\\udce9/y.md", "z.md"]
    "".join(found).encode()
