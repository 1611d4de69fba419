import os

import pytest
from msgspec.structs import replace

from carrel.files.ephemeral import EphemeralFiles
from carrel.files.local import LocalFiles
from carrel.workspace.document import Documents
from carrel.workspace.layout import LAYOUTS, load_layout, parse_layout
from carrel.workspace.scope import (
    HiddenByScope,
    Privacy,
    Scope,
    UnknownScope,
    parse_scope,
    private_identities,
    read_scoped,
    says_private,
)

CARREL = load_layout("carrel")


def privacy(layout=CARREL, *, identities=frozenset()) -> Privacy:
    return Privacy(layout, lambda: identities)


def layout_keeping(*private: str):
    names = ", ".join(f'"{name}"' for name in private)
    return parse_layout(f'{{name: x, marker: "[cut]", private: [{names}], messages: [{{history: true}}]}}')


@pytest.mark.parametrize("name", ["main", "shared"])
def test_a_scope_is_read_by_its_name(name):
    assert parse_scope(name) == name


@pytest.mark.parametrize("name", ["", "Main", "MAIN", "owner", "public", " main"])
def test_any_other_name_is_a_usage_error_and_never_a_default(name):
    with pytest.raises(UnknownScope) as error:
        parse_scope(name)
    assert error.value.code == "unknown_scope"


@pytest.mark.parametrize(
    "path",
    [
        "USER.md",
        "MEMORY.md",
        "DREAMS.md",
        "old/MEMORY.md",
        "memory/2026-04-24.md",
        "memory/deep/er.txt",
        "agents/kate/sessions/sessions.json",
        "user.md",
        "Memory.MD",
        "MEMORY/x.md",
        "Memory/X.md",
        "u\u017fer.md",  # the long s folds to s
    ],
)
def test_what_the_layout_keeps_is_private_whatever_its_case(path):
    assert privacy().covers_name(path)


@pytest.mark.parametrize(
    "path", ["AGENTS.md", "USERS.md", "memory.txt", "memory", "memoryx/a.md", "x/memory/a.md", "agents.md"]
)
def test_other_names_are_not_private(path):
    assert not privacy().covers_name(path)


@pytest.mark.parametrize(
    ("kept", "twin"),
    [
        ("Café.md", "Cafe\u0301.md"),
        ("Café.md", "CAFE\u0301.MD"),
        ("Straße.md", "STRASSE.md"),
        ("\u0390.md", "\u0399\u0308\u0301.md"),
        ("Café/**", "cafe\u0301/x.md"),
    ],
)
def test_a_twin_by_case_or_unicode_form_is_as_private_as_its_original(kept, twin):
    assert privacy(layout_keeping(kept)).covers_name(twin)


def test_a_link_is_as_private_as_what_it_leads_to():
    assert privacy().covers("notes.md", "MEMORY.md", "1", 1)
    assert privacy().covers("notes.md", "memory/x.md", "1", 1)
    assert privacy().covers("MEMORY.md", "notes.md", "1", 1)
    assert not privacy().covers("notes.md", "other.md", "1", 1)


def test_a_hard_link_is_as_private_as_the_file_it_shares_its_bytes_with():
    rules = privacy(identities=frozenset({"7"}))
    assert rules.covers("notes.md", "notes.md", "7", 2)
    assert not rules.covers("notes.md", "notes.md", "8", 2)


def test_identities_are_not_looked_for_where_a_file_has_one_name():
    def never() -> frozenset[str]:
        raise AssertionError

    assert not Privacy(CARREL, never).covers("notes.md", "notes.md", "7", 1)


def test_a_layout_may_say_what_shared_scope_shows_and_all_else_is_private():
    rules = privacy(load_layout("nexo"))
    assert not any(rules.covers_name(name) for name in ("IDENTITY.md", "SOUL.md", "AGENTS.md", "agents.md"))
    assert all(rules.covers_name(name) for name in ("TOOLS.md", "USER.md", "notes/2026-04-24.md", "a.md"))
    assert rules.covers("AGENTS.md", "MEMORY.md", "1", 1)


def reading(files):
    return Documents(files).reading()


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("path", ["USER.md", "MEMORY.md", "user.md"])
def test_shared_scope_is_refused_a_private_file_whether_it_exists_or_not(name, path):
    for files in (EphemeralFiles({path: "mine"}), EphemeralFiles()):
        with pytest.raises(HiddenByScope) as error:
            read_scoped(reading(files), load_layout(name), path, Scope.SHARED)
        assert error.value.code == "hidden_by_scope"
        assert "mine" not in str(error.value)


def test_main_scope_reads_everything_and_an_absent_file_is_none():
    files = EphemeralFiles({"MEMORY.md": "mine"})
    found = read_scoped(reading(files), CARREL, "MEMORY.md", Scope.MAIN)
    assert found is not None
    assert found.text == "mine"
    assert read_scoped(reading(files), CARREL, "other.md", Scope.MAIN) is None
    assert read_scoped(reading(files), CARREL, "other.md", Scope.SHARED) is None


@pytest.mark.parametrize(
    "start", ["<!-- scope: private -->\n", "---\nscope: private\n---\n", "<!-- tags: private -->\n"]
)
def test_a_document_may_hide_itself(start):
    files = EphemeralFiles({"AGENTS.md": f"{start}mine"})
    with pytest.raises(HiddenByScope):
        read_scoped(reading(files), CARREL, "AGENTS.md", Scope.SHARED)


def test_a_document_cannot_show_what_the_layout_hides():
    files = EphemeralFiles({"MEMORY.md": "<!-- scope: shared -->\nmine"})
    with pytest.raises(HiddenByScope):
        read_scoped(reading(files), CARREL, "MEMORY.md", Scope.SHARED)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-01.md").write_text("mine")
    (tmp_path / "MEMORY.md").write_text("mine too")
    (tmp_path / "open.md").write_text("for all")
    return tmp_path


@pytest.mark.parametrize("private", ["MEMORY.md", "memory/2026-01-01.md"])
@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_no_kind_of_link_carries_a_private_file_into_shared_scope(root, make, private):
    make(root / private, root / "innocent.md")
    with pytest.raises(HiddenByScope):
        read_scoped(reading(LocalFiles(root)), CARREL, "innocent.md", Scope.SHARED)


def test_a_link_to_a_private_folder_hides_what_is_in_it(root):
    (root / "innocent").symlink_to("memory")
    with pytest.raises(HiddenByScope):
        read_scoped(reading(LocalFiles(root)), CARREL, "innocent/2026-01-01.md", Scope.SHARED)


class HardLinked(EphemeralFiles):
    """Files of which some are one, as on a disk: a second name changes the count of links and no folder."""

    def __init__(self, files: dict[str, str]) -> None:
        super().__init__(files)
        self.first_name: dict[str, str] = {}

    def link(self, old: str, new: str) -> None:
        content = self.read(old)
        assert content is not None
        self.write(new, content.data, expect=None)
        self.first_name |= {old: old, new: old}

    def read(self, path, *, limit=1_000_000):
        return self._linked(super().read(path, limit=limit), path)

    def list(self, under=""):
        return [self._linked(entry, entry.path) for entry in super().list(under)]

    def _linked(self, found, path):
        if path not in self.first_name:
            return found
        return replace(found, identity=self.first_name[path], links=2)


def test_a_hard_link_made_while_the_workspace_is_open_is_noticed():
    """Making it changes neither the private folder nor any file in it but its count of links."""
    files = HardLinked({"memory/2026-01-01.md": "mine"})
    documents = Documents(files)
    documents.reading().list("memory")
    files.link("memory/2026-01-01.md", "innocent.md")
    with pytest.raises(HiddenByScope):
        read_scoped(documents.reading(), CARREL, "innocent.md", Scope.SHARED)


def test_private_identities_are_those_of_private_files_under_any_name(root):
    os.link(root / "MEMORY.md", root / "a.md")
    os.link(root / "open.md", root / "b.md")
    found = private_identities(reading(LocalFiles(root)), CARREL)
    mine, others = (root / "MEMORY.md").stat(), (root / "open.md").stat()
    assert f"{mine.st_dev}:{mine.st_ino}" in found
    assert f"{others.st_dev}:{others.st_ino}" not in found


def test_a_loop_of_links_ends(root):
    plain = private_identities(reading(LocalFiles(root)), CARREL)
    (root / "memory" / "up").symlink_to("..")
    assert private_identities(reading(LocalFiles(root)), CARREL) >= plain


@pytest.mark.parametrize(
    "path",
    [
        "carrel.yaml",
        "deep/carrel.yaml",
        "CARREL.YAML",
        ".carrelignore",
        ".git/config",
        "x/.carrel/state/records.db",
    ],
)
def test_what_sets_an_agent_up_and_what_carrel_keeps_for_itself_is_never_shared(path):
    assert privacy().covers_name(path)
    assert privacy().covers("notes.md", path, "1", 1)
    assert privacy().covers(path, "notes.md", "1", 1)


@pytest.mark.parametrize("path", ["carrel.yaml.md", "mycarrel.yaml", "carrel.yaml/notes.md", "git/config"])
def test_what_only_looks_like_a_setting_is_shared(path):
    assert not privacy().covers_name(path)


def test_a_folder_of_private_things_alone_is_not_known_of():
    rules = privacy(identities=frozenset({""}))
    assert rules.covers_folder("memory", "memory")
    assert rules.covers_folder("innocent", "memory")
    assert rules.covers_folder("memory", "innocent")
    assert rules.covers_folder(".git", ".git")
    assert not rules.covers_folder("notes", "notes")
    assert not rules.covers_folder("memoryx", "memoryx")


def test_a_name_alone_is_never_taken_for_a_hard_link():
    rules = privacy(identities=frozenset({""}))
    assert not rules.covers_name("notes.md")


@pytest.mark.parametrize(
    ("beginning", "is_whole", "private"),
    [
        (b"<!-- scope: private -->\nmine", True, True),
        (b"\xef\xbb\xbf<!-- scope: private -->\nmine", True, True),
        (b"---\r\nscope: private\r\n---\r\nmine", True, True),
        (b"<!-- scope: private -->\n\xff\xfe", True, True),
        (b"<!-- scope: shared -->\nmine", True, False),
        (b"for all", True, False),
        (b"for all", False, False),
        (b"<!-- a comment without an end", True, False),
        (b"<!-- a comment without an end", False, True),
        (b"<!-- a: b -->\nfor all\nand more", False, False),
        (b"<!-- priority: 1 --><!-- and one that runs on", False, True),
    ],
)
def test_the_first_bytes_of_a_file_tell_whether_it_calls_itself_private(beginning, is_whole, private):
    assert says_private(beginning, is_whole=is_whole) is private


def test_private_files_are_known_by_identity_in_every_folder_below_a_private_one(root):
    (root / "memory" / "deep" / "er").mkdir(parents=True)
    (root / "memory" / "deep" / "er" / "x.md").write_text("mine")
    (root / "memory" / "loop").symlink_to(".")
    (root / "notes").mkdir()
    (root / "notes" / "y.md").write_text("for all")
    (root / "notes" / "MEMORY.md").write_text("not looked for: no private name is kept in this folder")
    found = private_identities(reading(LocalFiles(root)), CARREL)

    def identity(path):
        here = (root / path).stat()
        return f"{here.st_dev}:{here.st_ino}"

    assert found == {identity(each) for each in ("MEMORY.md", "memory/2026-01-01.md", "memory/deep/er/x.md")}
    os.link(root / "memory/deep/er/x.md", root / "notes" / "innocent.md")
    with pytest.raises(HiddenByScope):
        read_scoped(reading(LocalFiles(root)), CARREL, "notes/innocent.md", Scope.SHARED)


def test_a_hard_link_between_shared_files_stays_shared(root):
    os.link(root / "open.md", root / "same.md")
    found = read_scoped(reading(LocalFiles(root)), CARREL, "same.md", Scope.SHARED)
    assert found is not None
    assert found.text == "for all"
