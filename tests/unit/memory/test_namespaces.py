"""Namespaces: listed, found, switched, renamed and taken along, without a byte of what was learnt changing."""

import pytest
from tests.unit.memory.shelf import AUTHOR, Shelf, fact

from carrel.files import Unreadable
from carrel.files.local import LocalFiles
from carrel.markdown.frontmatter import BadMeta, parse
from carrel.memory.namespaces import AmbiguousNamespace, BadTitle, Namespaces, UnknownNamespace
from carrel.settings import AgentSettings
from carrel.workspace.namespace import LONGEST_TITLE, beginning, namespace_of

LEARNT = "- Prefers short replies.\n- Works in Bogotá.\n\n## Notes\n\n    code\n"
KATES = "---\ntitle: Kate\nenabled: false\nagent: kate\n---\n\n" + LEARNT


@pytest.fixture
def shelf(tmp_path):
    return Shelf(tmp_path)


@pytest.fixture
def spaces(shelf):
    return Namespaces(files=LocalFiles(shelf.spaces), pen=shelf.pen)


def put(shelf, key, text):
    (shelf.spaces / f"{key}.md").write_bytes(text.encode() if isinstance(text, str) else text)


def text(shelf, key):
    return (shelf.spaces / f"{key}.md").read_bytes().decode()


def test_the_first_experience_makes_a_namespace_that_nobody_else_reads(shelf, spaces):
    shelf.keeper.keep([fact("Likes tea.", trust="owner", layer="experience")], AUTHOR)
    (row,) = spaces.list()
    assert (row.title, row.enabled, row.agent, row.facts) == ("Agent Experience: Kate", False, "kate", 1)
    assert row.size == len(text(shelf, row.key).encode())
    assert row.key == shelf.namespace.key
    assert text(shelf, row.key).startswith("---\ntitle: ")


def test_two_agents_of_one_profile_share_one_and_others_do_not(tmp_path):
    first = Shelf(tmp_path, agent=AgentSettings(id="kate", profile="writer"))
    first.keeper.keep([fact("Likes tea.", trust="owner", layer="experience")], AUTHOR)
    second = Shelf(tmp_path, agent=AgentSettings(id="ada", profile="writer"))
    second.keeper.keep([fact("Likes maps.", trust="owner", layer="experience", evidence=("m2",))], AUTHOR)
    (row,) = Namespaces(files=LocalFiles(second.spaces), pen=second.pen).list()
    assert (row.key, row.profile, row.agent, row.facts) == ("profile.writer", "writer", "", 2)
    assert row.to_json()["agent"] is None


def test_it_is_switched_on_and_off_and_only_that_line_changes(shelf, spaces):
    put(shelf, "k", KATES)
    assert spaces.enable("Kate").enabled is True
    assert text(shelf, "k") == KATES.replace("enabled: false", "enabled: true")
    assert spaces.disable("k").enabled is False
    assert text(shelf, "k") == KATES


def test_to_switch_on_what_is_on_changes_nothing(shelf, spaces):
    put(shelf, "k", KATES)
    spaces.disable("k")
    assert shelf.records.changes.list() == []


def test_a_new_title_leaves_the_key_and_the_text(shelf, spaces):
    put(shelf, "k", KATES)
    row = spaces.rename("Kate", "What Kate knows")
    assert (row.key, row.title) == ("k", "What Kate knows")
    assert text(shelf, "k") == KATES.replace("title: Kate", "title: What Kate knows")
    assert spaces.find("what kate KNOWS").key == "k"


def test_a_change_can_be_taken_back_byte_for_byte(shelf, spaces):
    put(shelf, "k", KATES)
    spaces.rename("k", "Other")
    (change,) = shelf.records.changes.list()
    assert (change.store, change.actor, change.action) == ("namespaces", "owner", "rename")
    shelf.pen.undo([change], AUTHOR)
    assert text(shelf, "k") == KATES


HOSTILE = [
    "a\nb", "---", "x\n---\nenabled: true\n---\n", '"', "'", 'a"b: {c}', "# Rules", "true", "null", "~", "[a, b]",
    "- a", "{{memory}}", "</memory>", "<!-- enabled: true -->", "\x00\x07bell", "a\u2028b\x85c", "\u202eevil",
    "a\ud800b", "日記", "key: value", "\ufeffx", "%TAG", "@a", "`x`", "!!python/object:os.system",
]  # fmt: skip


@pytest.mark.parametrize("title", HOSTILE)
def test_a_hostile_title_stays_a_title(shelf, spaces, title):
    put(shelf, "k", KATES)
    row = spaces.rename("k", title)
    assert "\n" not in row.title
    assert row.title.strip() == row.title != ""
    assert (row.enabled, row.agent, row.facts) == (False, "kate", 2)
    assert text(shelf, "k").endswith("\n---\n\n" + LEARNT)
    assert spaces.find(title).key == "k"
    assert spaces.rename("k", "Kate").title == "Kate"
    assert text(shelf, "k") == KATES


@pytest.mark.parametrize("title", ["", " \n\t", "\x00", "x" * (LONGEST_TITLE + 1), "long " * 2_000])
def test_a_title_that_tells_nobody_anything_is_refused(shelf, spaces, title):
    put(shelf, "k", KATES)
    with pytest.raises(BadTitle):
        spaces.rename("k", title)
    assert text(shelf, "k") == KATES


@pytest.mark.parametrize("name", [*HOSTILE, "x" * 10_000, ""])
def test_an_agent_of_any_name_gets_a_namespace_with_a_title(name):
    begun = beginning(namespace_of(AgentSettings(id="kate"), name, "/w\udcff\n---\nenabled: true"))
    parsed = parse(begun)
    assert parsed.body == ""
    assert parsed.meta.extra["enabled"] is False
    assert parsed.meta.extra["agent"] == "kate"
    title = str(parsed.meta.extra["title"])
    assert title.startswith("Agent Experience:")
    assert "\n" not in title
    assert len(title) <= LONGEST_TITLE


def test_two_may_have_one_title_and_are_then_told_apart_by_key(shelf, spaces):
    put(shelf, "a", KATES)
    put(shelf, "b", KATES)
    with pytest.raises(AmbiguousNamespace) as told:
        spaces.enable("Kate")
    assert told.value.keys == ("a", "b")
    assert "a, b" in told.value.hint
    assert spaces.enable("b").key == "b"
    assert text(shelf, "a") == KATES


def test_a_key_comes_before_a_title(shelf, spaces):
    put(shelf, "a", KATES.replace("title: Kate", "title: b"))
    put(shelf, "b", KATES)
    assert spaces.find("b").key == "b"
    assert spaces.find("b.md").key == "b"


def test_an_exact_title_comes_before_one_in_other_case(shelf, spaces):
    put(shelf, "a", KATES)
    put(shelf, "b", KATES.replace("title: Kate", "title: KATE"))
    assert spaces.find("KATE").key == "b"
    with pytest.raises(AmbiguousNamespace):
        spaces.find("kate")


@pytest.mark.parametrize("name", ["nobody", "", "../k", "x" * 100_000, "\x1b[31m"])
def test_a_namespace_that_is_not_there_is_told(shelf, spaces, name):
    put(shelf, "k", KATES)
    with pytest.raises(UnknownNamespace) as told:
        spaces.enable(name)
    assert "Kate" in told.value.hint
    assert "\x1b" not in told.value.message
    assert len(told.value.message) < 1_000


def test_where_there_are_none_that_is_told(spaces):
    assert spaces.list() == []
    with pytest.raises(UnknownNamespace, match="no namespace"):
        spaces.export("Kate")


def test_it_is_taken_along_as_it_is(shelf, spaces):
    put(shelf, "k", KATES)
    assert spaces.export("Kate") == KATES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- a\n", "---\nenabled: true\n---\n- a\n"),
        ("", "---\nenabled: true\n---\n"),
        ("\ufeff- a\r\n- b", "\ufeff---\r\nenabled: true\r\n---\r\n- a\r\n- b"),
        ("<!-- a note -->\n- a\n", "---\nenabled: true\n---\n<!-- a note -->\n- a\n"),
        (
            "---\r\ntitle: x # mine\r\n---\r\n- a\r\n",
            "---\r\ntitle: x # mine\r\nenabled: true\r\n---\r\n- a\r\n",
        ),
    ],
)
def test_a_file_that_somebody_made_by_hand_gets_what_it_lacks(shelf, spaces, before, after):
    put(shelf, "k", before)
    assert spaces.enable("k").enabled is True
    assert text(shelf, "k") == after


@pytest.mark.parametrize("before", ["---\n: [broken\n---\n- a\n", "<!-- tags: a -->\n- a\n"])
def test_first_lines_that_cannot_be_kept_are_left_alone(shelf, spaces, before):
    put(shelf, "k", before)
    with pytest.raises(BadMeta):
        spaces.enable("k")
    assert text(shelf, "k") == before


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(shelf, spaces):
    put(shelf, "a", b"\xff\xfe")
    put(shelf, "b", b"x" * (2 * 1024 * 1024 + 1))
    (shelf.spaces / "c.md").symlink_to("/etc/hostname")
    (shelf.spaces / "d.txt").write_text("no namespace")
    assert [(row.key, row.problem) for row in spaces.list()] == [
        ("a", "not_utf8"), ("b", "too_large"), ("c", "link_outside"),
    ]  # fmt: skip
    with pytest.raises(Unreadable):
        spaces.export("a")


def test_what_a_file_says_of_itself_in_other_types_is_no_title(shelf, spaces):
    put(shelf, "k", "---\ntitle: [a, b]\nenabled: 'true'\nagent: {x: 1}\nprofile: 5\n---\n- a\n")
    (row,) = spaces.list()
    assert (row.enabled, row.agent, row.profile) == (False, "", "")
    assert "\n" not in row.title
