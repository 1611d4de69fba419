"""The explorer: trees, streams, totals and previews, for the owner and for everybody else."""

import hashlib
import os
import socket
import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel import Workspace
from carrel.context.report import Prefix, Report, Row, Tokens
from carrel.files import READ_LIMIT, Entry, FileStore, Part, Unreadable
from carrel.files.local import LocalFiles
from carrel.files.paths import BadPath
from carrel.runtime.explorer import DEEPEST, Node, Totals, beside, outline, total, tree, walk
from carrel.runtime.preview import DEEPEST_JSON, preview
from carrel.runtime.view import BARE, NoSuchPath, View, discreet, fetch, look
from carrel.testing import EphemeralFiles
from carrel.workspace.document import Documents
from carrel.workspace.layout import load_layout
from carrel.workspace.scope import FRONT_MATTER_BYTES, HiddenByScope, Privacy, Scope, private_identities

HOSTILE = [
    "plain.md", "with space.md", "new\nline.md", "tab\t.md", "esc\x1b[31m.md", "ünï.md", "😀.md", "-rf", "a,b.md",
    "%2e%2e.md", "bytes\udcff.md", "CON", "trailing ", ".hidden", "back\\slash", '"quoted".md', "a" * 200,
]  # fmt: skip


def put(root: Path, files: Mapping[str, str | bytes]) -> LocalFiles:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return LocalFiles(root)


def privacy_of(files: FileStore, layout: str = "carrel") -> Privacy:
    known = load_layout(layout)
    reading = Documents(files).reading()
    return Privacy(known, lambda: private_identities(reading, known))


def shared(files: FileStore, layout: str = "carrel") -> View:
    return look(privacy_of(files, layout), scope=Scope.SHARED)


def row(name: str, state: str = "included", reason: str = "", kind: str = "document", raw: int = 7) -> Row:
    return Row(
        name=name, kind=kind, raw_tokens=raw, tokens=raw, size=raw, limit=None, state=state,  # type: ignore[arg-type]
        reason=reason, stable=True, sha256=None,
    )  # fmt: skip


def report(*rows: Row, scope: str = "main", exact: bool = True) -> Report:
    return Report(
        layout="carrel", agent="main", session=None, scope=scope, model=None,
        tokens=Tokens(window=1000, used=1, exact=exact), unit="tokens", prefix=Prefix(sha256="", tokens=0),
        sections=rows, hidden=0, recall=(), warnings=(),
    )  # fmt: skip


def paths(nodes: object) -> list[str]:
    return [node.path for node in nodes]  # type: ignore[attr-defined]


def by_path(nodes: object) -> dict[str, Node]:
    return {node.path: node for node in nodes}  # type: ignore[attr-defined]


# --- the tree -----------------------------------------------------------------------------------------


def test_one_folder_is_listed_by_name_with_size_and_time(tmp_path: Path) -> None:
    files = put(tmp_path, {"b.md": "12345", "a/deep.md": "x", "c.bin": b"\0"})
    os.utime(tmp_path / "b.md", ns=(0, 1_700_000_000_999_999_999))
    a, b, c = tree(files)
    assert (a.path, a.kind, a.size, a.tokens) == ("a", "directory", 0, None)
    assert (b.path, b.kind, b.size, b.tokens, b.tokens_exact) == ("b.md", "file", 5, 2, False)
    assert b.modified == "2023-11-14T22:13:20Z"
    assert (c.tokens, c.state, c.reason, c.target) == (None, None, None, None)
    assert paths(tree(files, "a")) == paths(tree(files, "./a/")) == ["a/deep.md"]


def test_a_folder_that_is_absent_and_one_that_is_empty_are_two_answers(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files = put(tmp_path, {"file.md": ""})
    assert list(tree(files, "empty")) == []
    with pytest.raises(NoSuchPath):
        tree(files, "nope")
    with pytest.raises(Unreadable) as failure:
        tree(files, "file.md")
    assert failure.value.reason == "not_directory"


@pytest.mark.parametrize("path", ["../x", "/etc", "a/../../b", "a\0b"])
def test_no_path_leads_out(tmp_path: Path, path: str) -> None:
    files = put(tmp_path, {"a/b.md": ""})
    for look_at in (tree, walk, preview, fetch):
        with pytest.raises(BadPath):
            look_at(files, path)


def test_a_walk_shows_each_folder_before_its_content(tmp_path: Path) -> None:
    files = put(tmp_path, {"b/c/x.md": "", "b/a.md": "", "z.md": "", "a.md": ""})
    assert paths(walk(files)) == ["a.md", "b", "b/a.md", "b/c", "b/c/x.md", "z.md"]
    assert paths(walk(files, "b")) == ["b/a.md", "b/c", "b/c/x.md"]
    assert paths(walk(files, depth=1)) == ["a.md", "b", "z.md"]
    assert paths(walk(files, depth=2)) == ["a.md", "b", "b/a.md", "b/c", "z.md"]


def test_an_outline_tells_the_last_of_each_folder(tmp_path: Path) -> None:
    files = put(tmp_path, {"a/x.md": "", "a/y.md": "", "b.md": ""})
    drawn = [(node.path, lasts) for node, lasts in outline(files)]
    assert drawn == [
        ("a", (False,)),
        ("a/x.md", (False, False)),
        ("a/y.md", (False, True)),
        ("b.md", (True,)),
    ]


def test_what_carrel_and_git_keep_is_closed_unless_everything_is_asked_for(tmp_path: Path) -> None:
    files = put(tmp_path, {".git/HEAD": "x", "sub/.carrel/state/a": "x", "a.md": ""})
    nodes = by_path(walk(files))
    assert set(nodes) == {".git", "sub", "sub/.carrel", "a.md"}
    assert nodes[".git"].reason == nodes["sub/.carrel"].reason == "closed"
    assert ".git/HEAD" in paths(walk(files, everything=True))
    assert paths(tree(files, ".git")) == [".git/HEAD"]


def test_temporary_files_of_writers_are_nobodys(tmp_path: Path) -> None:
    assert paths(walk(put(tmp_path, {".carrel-tmp-1": "x", "a.md": ""}))) == ["a.md"]


def test_links_are_shown_and_a_walk_counts_nothing_twice(tmp_path: Path) -> None:
    files = put(tmp_path, {"docs/a.md": "abc", "CLAUDE.md": "x"})
    (tmp_path / "alias").symlink_to("docs")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / "docs/up").symlink_to("..")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "gone").symlink_to("nowhere")
    nodes = by_path(walk(files))
    assert set(nodes) == {"AGENTS.md", "CLAUDE.md", "alias", "docs", "docs/a.md", "docs/up", "gone", "out"}
    assert (nodes["alias"].kind, nodes["alias"].target) == ("directory", "docs")
    assert (nodes["AGENTS.md"].kind, nodes["AGENTS.md"].target) == ("file", "CLAUDE.md")
    assert (nodes["docs/up"].kind, nodes["docs/up"].target) == ("directory", "")
    assert nodes["out"].kind == nodes["gone"].kind == "link"
    assert paths(tree(files, "alias")) == ["alias/a.md", "alias/up"]


def test_a_walk_that_begins_at_a_link_goes_on_below_it(tmp_path: Path) -> None:
    files = put(tmp_path, {"real/sub/a.md": "", "real/b.md": ""})
    (tmp_path / "alias").symlink_to("real")
    (tmp_path / "real/loop").symlink_to("../real")
    assert paths(walk(files, "alias")) == ["alias/b.md", "alias/loop", "alias/sub", "alias/sub/a.md"]


def test_pipes_and_sockets_are_special_and_block_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        nodes = by_path(walk(LocalFiles(tmp_path)))
    assert nodes["pipe.md"].kind == nodes["socket"].kind == "special"
    assert nodes["pipe.md"].tokens is None
    assert total(nodes.values()) == Totals(other=2)


class Unlistable(EphemeralFiles):
    """A store one of whose folders cannot be listed."""

    def list(self, under: str = "") -> list:  # type: ignore[type-arg]
        if under == "closed":
            raise Unreadable(under, "io_error")
        return super().list(under)


def test_a_folder_that_fails_is_named_and_the_walk_goes_on() -> None:
    nodes = by_path(walk(Unlistable({"closed/a.md": "", "z.md": ""})))
    assert nodes["closed"].reason == "io_error"
    assert set(nodes) == {"closed", "z.md"}


def test_hostile_names_come_through_unchanged(tmp_path: Path) -> None:
    files = put(tmp_path, dict.fromkeys(HOSTILE, "x"))
    assert sorted(paths(walk(files))) == sorted(HOSTILE)
    for name in HOSTILE:
        assert preview(files, name).text == "x"


def test_a_walk_into_a_bottomless_tree_ends_and_says_where() -> None:
    deep = EphemeralFiles({"d/" * 600 + "x.md": ""})
    nodes = list(walk(deep))
    assert total(nodes) == Totals(directories=DEEPEST)
    assert [node.reason for node in nodes[-2:]] == [None, "too_deep"]
    assert paths(tree(deep, nodes[-1].path)) == [f"{nodes[-1].path}/d"]


def test_a_time_that_no_calendar_has_is_none() -> None:
    class Ancient(EphemeralFiles):
        def list(self, under: str = "") -> list:  # type: ignore[type-arg]
            from msgspec.structs import replace  # noqa: PLC0415

            return [replace(entry, modified_ns=2**80) for entry in super().list(under)]

    (node,) = tree(Ancient({"a.md": ""}))
    assert node.modified is None


def test_the_first_node_costs_one_listing() -> None:
    listed: list[str] = []

    class Watched(EphemeralFiles):
        def list(self, under: str = "") -> list:  # type: ignore[type-arg]
            listed.append(under)
            return super().list(under)

    files = Watched({f"d{n}/x.md": "" for n in range(50)})
    assert next(walk(files)).path == "d0"
    assert listed == ["", "d0"]


# --- state in the context -------------------------------------------------------------------------------


def test_a_node_says_what_became_of_its_file_in_the_context(tmp_path: Path) -> None:
    names = ["SOUL.md", "long.md", "tagged.md", "late.md", "broken.md", "empty.md", "else.md"]
    files = put(tmp_path, dict.fromkeys(names, "x" * 40))
    view = look(
        privacy_of(files),
        report(
            row("SOUL.md"),
            row("long.md", "truncated", "limit", raw=90),
            row("tagged.md", "excluded", "tag", raw=0),
            row("late.md", "excluded", "total", raw=11),
            row("broken.md", "unreadable", "not_utf8", raw=0),
            row("empty.md", "excluded", "empty", raw=0),
            row("gone.md", "missing", raw=0),
            row("else.md", kind="prompt"),
        ),
    )
    told = {n.path: (n.state, n.reason, n.tokens, n.tokens_exact) for n in tree(files, view=view)}
    assert told == {
        "SOUL.md": ("in", None, 7, True),
        "long.md": ("cut", "limit", 90, True),
        "tagged.md": ("out", "tag", 10, False),
        "late.md": ("out", "total", 11, True),
        "broken.md": ("out", "not_utf8", 10, False),
        "empty.md": ("out", "empty", 0, True),
        "else.md": (None, None, 10, False),
    }


def test_counts_in_an_unknown_vocabulary_are_estimates(tmp_path: Path) -> None:
    files = put(tmp_path, {"SOUL.md": "x"})
    (node,) = tree(files, view=look(privacy_of(files), report(row("SOUL.md"), exact=False)))
    assert (node.tokens, node.tokens_exact) == (7, False)


def test_two_notebooks_in_one_section_share_its_state_and_not_its_count(tmp_path: Path) -> None:
    files = put(tmp_path, {"memory/kate.md": "x" * 8, "agents/kate/memory.md": "y" * 12})
    joint = row("agents/kate/memory.md, memory/kate.md", kind="layer", raw=99)
    nodes = by_path(walk(files, view=look(privacy_of(files), report(joint))))
    assert (nodes["memory/kate.md"].state, nodes["memory/kate.md"].tokens) == ("in", 2)
    assert (nodes["agents/kate/memory.md"].state, nodes["agents/kate/memory.md"].tokens) == ("in", 3)


def test_a_name_that_the_report_cannot_print_still_finds_its_row(tmp_path: Path) -> None:
    files = put(tmp_path, {"new\nline.md": "x", "bytes\udcff.md": "x"})
    view = look(privacy_of(files), report(row("new?line.md"), row("bytes?.md", "truncated", "limit")))
    states = {node.path: node.state for node in tree(files, view=view)}
    assert states == {"new\nline.md": "in", "bytes\udcff.md": "cut"}


def test_a_real_workspace_is_counted_by_its_own_report(tmp_path: Path) -> None:
    home = {"CARREL_HOME": str(tmp_path / "home")}
    Workspace.init(tmp_path / "desk", layout="carrel", environ=home)
    put(tmp_path / "desk", {"ignored.key": "x", "README.md": "Hello.", "SOUL.md": "Kind, and exact.\n"})
    with Workspace.open(tmp_path / "desk", environ=home) as workspace:
        nodes = by_path(workspace.tree())
        counted = workspace.counts.count("Kind, and exact.")
        rows = {r.name: r for r in workspace.assemble().report.sections}
    assert (nodes["SOUL.md"].state, nodes["SOUL.md"].tokens) == ("in", counted)
    assert nodes["SOUL.md"].tokens_exact
    assert (nodes["README.md"].state, nodes["README.md"].reason) == ("out", "not_for_prompt")
    assert nodes["AGENTS.md"].tokens == rows["AGENTS.md"].raw_tokens
    assert nodes["skills"].state == "in"
    assert nodes["carrel.yaml"].state is None


# --- scope ----------------------------------------------------------------------------------------------

PRIVATE = {
    "USER.md": "CANARY", "MEMORY.md": "CANARY", "memory/2026-04-24.md": "CANARY", "agents/kate/x.md": "CANARY",
    "wish.md": "<!-- scope: private -->\nCANARY", "tag.md": "---\ntags: [private]\n---\nCANARY",
    "odd.txt": "<!-- scope: privat -->\r\nCANARY", "latin.md": b"<!-- scope: private -->\nCANARY \xe9",
    "bom.md": b"\xef\xbb\xbf<!-- scope: private -->\nCANARY", "docs/user.MD": "CANARY",
    ".git/ORIG": "CANARY", ".carrel/state/trash/x/notes.md": "CANARY", "sub/.GIT/x": "CANARY",
    "long.md": "<!-- priority: 1 -->\n" * 20_000 + "<!-- scope: private -->\nCANARY",
    "line.md": f"<!-- tags: {'a' * FRONT_MATTER_BYTES} -->\n<!-- scope: private -->\nCANARY",
}  # fmt: skip
PUBLIC = {"SOUL.md": "Kind.", "docs/page.md": "Page.", "huge.txt": "x" * (FRONT_MATTER_BYTES + 5)}


def test_private_files_do_not_exist_in_shared_scope(tmp_path: Path) -> None:
    files = put(tmp_path, {**PRIVATE, **PUBLIC})
    view = shared(files)
    seen = by_path(walk(files, view=view, everything=True))
    assert {path for path, node in seen.items() if node.kind == "file"} == set(PUBLIC)
    assert set(seen) == {*PUBLIC, "docs"}  # of "sub" nothing is left to show
    assert total(seen.values()).bytes == sum(len(text) for text in PUBLIC.values())
    for path in PRIVATE:
        for read in (preview, fetch):
            with pytest.raises(HiddenByScope):
                read(files, path, view=view)
    for folder in ("memory", "agents", "agents/kate", ".git", ".carrel/state"):
        with pytest.raises(HiddenByScope):
            tree(files, folder, view=view)
    assert preview(files, "SOUL.md", view=view).text == "Kind."
    assert preview(files, "huge.txt", view=view, limit=3).text == "xxx"


def test_a_private_file_is_recognised_by_any_of_its_names(tmp_path: Path) -> None:
    files = put(tmp_path, {"MEMORY.md": "CANARY", "memory/a.md": "CANARY", "SOUL.md": "Kind."})
    (tmp_path / "soft.md").symlink_to("MEMORY.md")
    os.link(tmp_path / "MEMORY.md", tmp_path / "hard.md")
    (tmp_path / "folder").symlink_to("memory")
    view = shared(files)
    assert paths(walk(files, view=view)) == ["SOUL.md"]
    for path in ("soft.md", "hard.md", "folder/a.md", "./MEMORY.md", "memory//a.md", "memory/./a.md"):
        with pytest.raises(HiddenByScope):
            preview(files, path, view=view)
    with pytest.raises(HiddenByScope):
        tree(files, "memory/", view=view)
    with pytest.raises(NoSuchPath):
        tree(files, "folder", view=view)


def test_a_folder_of_nothing_but_private_files_is_not_there_for_others(tmp_path: Path) -> None:
    said = "<!-- scope: private -->\nCANARY"
    files = put(
        tmp_path, {"plans/merger.md": said, "plans/deep/a.md": said, "half/a.md": said, "half/b.md": "x"}
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "plans" / "loop").symlink_to(tmp_path / "plans")
    view = shared(files)
    assert paths(walk(files, view=view)) == ["empty", "half", "half/b.md"]
    for folder in ("plans", "plans/deep"):
        with pytest.raises(NoSuchPath):
            tree(files, folder, view=view)
    assert "plans" in paths(walk(files))


@pytest.fixture
def linked(tmp_path: Path) -> LocalFiles:
    """Private files in folders of their own, and links to these, beside one public file."""
    said = "<!-- scope: private -->\nCANARY"
    files = put(tmp_path, {"pub/a.md": "x", "pub/q/p.md": said, "pub/x/y/p.md": said, "pub/x/z/p.md": said})
    for link, target in (("link", "q"), ("nested", "x"), ("twice", "link"), ("only/link", "../q")):
        (tmp_path / "pub" / link).parent.mkdir(exist_ok=True)
        (tmp_path / "pub" / link).symlink_to(target)
    return files


def test_a_link_to_a_folder_of_private_files_is_not_there_for_others(linked: LocalFiles) -> None:
    view = shared(linked)
    assert paths(walk(linked, view=view)) == ["pub", "pub/a.md"]
    for path in ("link", "twice", "nested", "nested/y", "only", "only/link", "q", "x/y"):
        with pytest.raises(NoSuchPath):
            tree(linked, f"pub/{path}", view=view)
        for read in (preview, fetch):
            with pytest.raises(NoSuchPath), discreet(f"pub/{path}", view):
                read(linked, f"pub/{path}", view=view)
    assert "pub/link" in paths(walk(linked))


def test_a_link_to_a_folder_with_something_public_stays(linked: LocalFiles, tmp_path: Path) -> None:
    (tmp_path / "pub/q/b.md").write_text("x")
    found = paths(walk(linked, view=shared(linked)))
    assert {"pub/link", "pub/twice", "pub/only", "pub/only/link", "pub/q", "pub/q/b.md"} <= set(found)
    assert not {"pub/nested", "pub/x"} & set(found)


def test_links_that_lead_round_end(tmp_path: Path) -> None:
    files = put(tmp_path, {"plans/merger.md": "<!-- scope: private -->\nCANARY", "a.md": "x"})
    for link, target in {
        "plans/self": ".",
        "plans/up": "..",
        "b/c": "../c",
        "c/b": "../b",
        "c/d": "..",
    }.items():
        (tmp_path / link).parent.mkdir(exist_ok=True)
        (tmp_path / link).symlink_to(target)
    view = shared(files)
    assert paths(tree(files, view=view)) == ["a.md", "b", "c"]
    (tmp_path / "c/d").unlink()
    (tmp_path / "c/p").symlink_to("../plans")
    assert paths(tree(files, view=view)) == ["a.md"]


def test_each_folder_behind_many_links_is_asked_once(tmp_path: Path) -> None:
    names = [f"f{number}" for number in range(12)]
    files = put(tmp_path, {"q/p.md": "<!-- scope: private -->\nCANARY"})
    for name in names:
        (tmp_path / name).mkdir()
        for other in (*names, "q"):
            (tmp_path / name / other).symlink_to(tmp_path / other)
    asked: list[str] = []

    class Noted(LocalFiles):
        def list(self, under: str = "") -> list[Entry]:
            asked.append(under)
            return super().list(under)

    view = shared(files)
    noted = Noted(tmp_path)
    assert paths(tree(noted, view=view)) == []
    assert len(asked) <= 1 + len(names) * (len(names) + 2)


def test_private_files_behind_a_hundred_folders_give_none_of_them_away(tmp_path: Path) -> None:
    files = put(tmp_path, {f"plans/{'d/' * 100}p.md": "<!-- scope: private -->\nCANARY"})
    assert paths(walk(files, view=shared(files))) == []


def test_a_folder_that_cannot_be_listed_is_not_there_for_others(tmp_path: Path) -> None:
    class Failing(EphemeralFiles):
        def list(self, under: str = "") -> list[Entry]:
            if under == "plans":
                raise Unreadable(under, "permission")
            return super().list(under)

    files = Failing({"plans/merger.md": "?", "SOUL.md": "x"})
    view = shared(files)
    assert paths(walk(files, view=view)) == ["SOUL.md"]
    with pytest.raises(NoSuchPath):
        tree(files, "plans", view=view)
    assert paths(walk(files)) == ["SOUL.md", "plans"]


def test_what_sets_an_agent_up_is_not_for_others(tmp_path: Path) -> None:
    files = put(tmp_path, {"carrel.yaml": "x", ".carrelignore": "x", "sub/Carrel.YAML": "x", "SOUL.md": "x"})
    view = shared(files)
    assert paths(walk(files, view=view)) == ["SOUL.md"]
    with pytest.raises(HiddenByScope):
        fetch(files, "carrel.yaml", view=view)


def test_whether_a_private_file_exists_is_not_said(tmp_path: Path) -> None:
    files = put(tmp_path, {"SOUL.md": "Kind."})
    view = shared(files)
    with pytest.raises(HiddenByScope):
        preview(files, "USER.md", view=view)
    with pytest.raises(HiddenByScope):
        tree(files, "memory", view=view)
    with pytest.raises(NoSuchPath):
        preview(files, "nope.md", view=view)


@pytest.mark.parametrize("path", ["own.md", "own.md/x", "USER.md/x", "plans", "plans/own.md/x/y"])
def test_a_private_file_in_the_way_is_as_absent_as_any_other(tmp_path: Path, path: str) -> None:
    said = "<!-- scope: private -->\nCANARY"
    files = put(tmp_path, {"own.md": said, "plans/own.md": said, "USER.md": "CANARY", "SOUL.md": "Kind."})
    view = shared(files)
    with pytest.raises(NoSuchPath):
        tree(files, path, view=view)
    for read in (preview, fetch):
        with pytest.raises(NoSuchPath), discreet(path, view):
            read(files, path, view=view)
    with pytest.raises(Unreadable):
        tree(files, "SOUL.md/x", view=view)
    with pytest.raises(Unreadable):
        tree(files, "own.md")


def test_a_layout_that_shows_three_files_shows_no_folders(tmp_path: Path) -> None:
    files = put(tmp_path, {"SOUL.md": "", "clients/acme.md": "", "notes/2026-04-24.md": "", "team.md": ""})
    assert paths(walk(files, view=shared(files, "nexo"))) == ["SOUL.md"]


def test_others_open_no_more_of_a_crowded_folder_than_they_are_shown(tmp_path: Path) -> None:
    secret = "<!-- scope: private -->\nCANARY"
    some = {f"notes/{number:03}.md": secret if number % 3 == 0 else "Open." for number in range(300)}
    put(tmp_path, some)
    opened: list[str] = []

    class Noted(LocalFiles):
        def part(self, path: str, start: int, size: int) -> Part | None:
            opened.append(path)
            return super().part(path, start, size)

    files = Noted(tmp_path)
    found = beside(files, "notes/100.md")
    assert (found.node and found.node.path, found.number) == ("notes/100.md", 100)
    assert paths(islice(found.before, 2)) == ["notes/099.md", "notes/098.md"]
    assert paths(islice(found.after, 2)) == ["notes/101.md", "notes/102.md"]
    view = shared(files)
    opened.clear()
    others = beside(files, "notes/100.md", view=view)
    assert others.number is None
    assert paths(islice(others.before, 2)) == ["notes/098.md", "notes/097.md"]
    assert paths(islice(others.after, 2)) == ["notes/101.md", "notes/103.md"]
    assert paths(islice(tree(files, "notes", view=view, after="200.md"), 2)) == [
        "notes/202.md",
        "notes/203.md",
    ]
    assert len(opened) < 15
    for absent in ("notes/099.md", "notes/none.md"):
        nothing = beside(files, absent, view=view)
        assert (nothing.node, paths(nothing.before), nothing.number) == (None, [], 0)
        assert paths(nothing.after) == paths(tree(files, "notes", view=view))


def test_the_owner_sees_private_files_marked_beside_a_shared_report(tmp_path: Path) -> None:
    files = put(tmp_path, {"USER.md": "x", "SOUL.md": "x", "wish.md": "<!-- scope: private -->\nx"})
    view = look(privacy_of(files), report(row("SOUL.md"), scope="shared"))
    states = {node.path: (node.state, node.reason) for node in tree(files, view=view)}
    assert states == {
        "SOUL.md": ("in", None),
        "USER.md": ("private", "scope"),
        "wish.md": ("private", "scope"),
    }


def test_a_file_that_nobody_can_ask_is_private(tmp_path: Path) -> None:
    class Failing(EphemeralFiles):
        def part(self, path: str, start: int, size: int) -> object:  # type: ignore[override]
            if path == "doubt.md":
                raise Unreadable(path, "io_error")
            return super().part(path, start, size)

    files = Failing({"doubt.md": "?", "SOUL.md": "x"})
    view = shared(files)  # type: ignore[arg-type]
    assert paths(walk(files, view=view)) == ["SOUL.md"]  # type: ignore[arg-type]
    with pytest.raises(HiddenByScope):
        preview(files, "doubt.md", view=view)  # type: ignore[arg-type]


# --- previews -------------------------------------------------------------------------------------------


def test_a_preview_says_what_a_file_is_and_how_to_change_it_later(tmp_path: Path) -> None:
    files = put(tmp_path, {"a.md": "# A\n\nText\n"})
    os.utime(tmp_path / "a.md", ns=(0, 1_700_000_000_000_000_000))
    found = preview(files, "a.md")
    assert found.to_json() == {
        "path": "a.md", "kind": "markdown", "size": 10, "modified": "2023-11-14T22:13:20Z",
        "digest": hashlib.sha256(b"# A\n\nText\n").hexdigest(), "text": "# A\n\nText\n", "truncated": False,
        "formatted": False, "lines": 3, "problem": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("empty.md", b"", ("markdown", "", 0, None)),
        ("bom.txt", b"\xef\xbb\xbfhi", ("text", "hi", 1, None)),
        ("crlf.txt", b"a\r\nb\r\n", ("text", "a\r\nb\r\n", 2, None)),
        ("latin.txt", b"caf\xe9 au lait, merci", ("text", "caf� au lait, merci", 1, "not_utf8")),
        ("own.txt", "�".encode(), ("text", "�", 1, None)),
        ("zero.txt", b"a\0b", ("binary", None, None, None)),
        ("noise.bin", bytes(range(128, 256)), ("binary", None, None, None)),
        ("utf16.txt", "hi".encode("utf-16"), ("binary", None, None, None)),
        ("torn.txt", b"ten letters \xf0\x9f\x98", ("text", "ten letters �", 1, "not_utf8")),
        ("lines.jsonl", b"{}\n{}\n", ("text", "{}\n{}\n", 2, None)),
        ("a.JSON", b'{"a":[2.50,1e400]}', ("json", '{\n  "a": [\n    2.50,\n    1e400\n  ]\n}', 6, None)),
        ("bad.json", b'{"a":', ("json", '{"a":', 1, None)),
        ("deep.json", b"[" * 5000, ("json", "[" * 5000, 1, None)),
    ],
)
def test_every_kind_of_content_has_its_preview(
    tmp_path: Path, name: str, data: bytes, expected: tuple[str, str | None, int | None, str | None]
) -> None:
    found = preview(put(tmp_path, {name: data}), name)
    assert (found.kind, found.text, found.lines, found.problem) == expected
    assert (found.size, found.truncated) == (len(data), False)
    assert found.digest == hashlib.sha256(data).hexdigest()


def test_deep_json_is_valid_and_still_not_blown_up(tmp_path: Path) -> None:
    deep = "[" * (DEEPEST_JSON + 1) + "1,1,1" + "]" * (DEEPEST_JSON + 1)
    found = preview(put(tmp_path, {"deep.json": deep}), "deep.json")
    assert (found.text, found.formatted) == (deep, False)
    disguised = '{"a":"' + "]" * 99 + '","b":' + deep + "}"
    assert not preview(put(tmp_path, {"sly.json": disguised}), "sly.json").formatted
    shallow = "[" * DEEPEST_JSON + "]" * DEEPEST_JSON
    assert preview(put(tmp_path, {"ok.json": shallow}), "ok.json").formatted


def test_json_with_a_text_that_never_ends_is_looked_over_once() -> None:
    """It would take many minutes if each of its quotes were looked at as the beginning of a text."""
    data = b'{"a": "' + rb"\"" * 400_000
    found = preview(EphemeralFiles({"a.json": data}), "a.json", limit=len(data))
    assert (found.formatted, found.truncated, found.size) == (False, False, len(data))


@given(st.text(min_size=1), st.integers(0, 40))
def test_a_cut_never_splits_a_character(text: str, limit: int) -> None:
    text = text.replace("\0", "0").replace("\ufeff", "m")
    data = text.encode("utf-8", "replace")
    found = preview(EphemeralFiles({"a.txt": data}), "a.txt", limit=limit)
    assert found.kind == "text"
    assert found.text is not None
    assert data.decode().startswith(found.text)
    assert limit - 4 < len(found.text.encode()) <= limit or not found.truncated
    assert found.truncated == (len(data) > limit)
    assert found.problem is None
    assert found.digest == hashlib.sha256(data).hexdigest()


def test_lines_are_limited_too(tmp_path: Path) -> None:
    files = put(tmp_path, {"a.txt": "1\n2\n3\n", "b.txt": "1\n2"})
    assert (preview(files, "a.txt", lines=2).text, preview(files, "a.txt", lines=2).truncated) == (
        "1\n2\n",
        True,
    )
    assert not preview(files, "a.txt", lines=3).truncated
    assert (preview(files, "b.txt", lines=2).lines, preview(files, "b.txt", lines=2).truncated) == (2, False)


def test_a_huge_file_costs_no_more_than_its_first_bytes(tmp_path: Path) -> None:
    with (tmp_path / "huge.log").open("wb") as file:
        file.write(b"begin\n" * 20)
        file.truncate(1 << 40)
    files = LocalFiles(tmp_path)
    found = preview(files, "huge.log", limit=12)
    assert (found.text, found.truncated, found.size) == ("begin\nbegin\n", True, 1 << 40)
    assert (found.digest, found.lines) == (None, None)
    assert preview(files, "huge.log", limit=12, view=shared(files)).text == "begin\nbegin\n"


def test_a_file_that_is_too_large_to_read_is_previewed_from_any_store() -> None:
    private = "<!-- scope: private -->\n" + "x" * READ_LIMIT
    files = EphemeralFiles({"a.txt": "x" * (READ_LIMIT + 1), "b.txt": "abc", "c.md": private})
    assert preview(files, "a.txt", limit=3, view=shared(files)).text == "xxx"
    with pytest.raises(HiddenByScope):
        preview(files, "c.md", view=shared(files))
    assert preview(files, "b.txt", limit=2).text == "ab"
    assert preview(files, "b.txt").modified == "1970-01-01T00:00:00Z"


def test_what_cannot_be_read_is_an_outcome_and_not_a_failure(tmp_path: Path) -> None:
    files = put(tmp_path, {"docs/a.md": ""})
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "out.md").symlink_to("/etc/passwd")
    (tmp_path / "loop.md").symlink_to("loop.md")
    problems = {p: preview(files, p).problem for p in ("docs", "pipe.md", "out.md", "loop.md", "docs/a.md/x")}
    assert problems == {
        "docs": "directory", "pipe.md": "special_file", "out.md": "link_outside", "loop.md": "link_loop",
        "docs/a.md/x": "not_directory",
    }  # fmt: skip
    assert all(preview(files, p).text is None for p in problems)
    with pytest.raises(NoSuchPath):
        preview(files, "nope.md")


def test_a_link_inside_is_previewed_as_what_it_leads_to(tmp_path: Path) -> None:
    files = put(tmp_path, {"CLAUDE.md": "Be kind."})
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    assert preview(files, "AGENTS.md").text == "Be kind."


# --- invariants -----------------------------------------------------------------------------------------

_names = st.sampled_from(["a", "b.md", "USER.md", "memory", "notes", ".git", "é.md", "new\nline", "x.bin"])
_texts = st.sampled_from(["", "text", "<!-- scope: private -->\nx", "---\ntags: private\n---\n", "\0"])
_trees = st.dictionaries(st.lists(_names, min_size=1, max_size=4).map("/".join), _texts, max_size=12)
_links = st.dictionaries(_names, st.sampled_from([".", "memory", "a", "/etc", "USER.md", "nope"]), max_size=3)


def built(root: str, contents: Mapping[str, str], links: Mapping[str, str]) -> LocalFiles:
    """A real directory of some files and links; what collides with another is left out."""
    for path, text in contents.items():
        place = Path(root, path)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    for name, target in links.items():
        if not os.path.lexists(Path(root, name)):
            Path(root, name).symlink_to(target)
    return LocalFiles(root)


def expanded(files: FileStore, view: View, under: str = "") -> list[Node]:
    """What a person sees who opens every folder that stands under its own name."""
    found: list[Node] = []
    for node in tree(files, under, view=view):
        found.append(node)
        if node.kind == "directory" and node.target is None and node.reason != "closed":
            found += expanded(files, view, node.path)
    return found


@settings(deadline=None, max_examples=60)
@given(_trees, _links)
def test_stream_folders_totals_and_scopes_agree(contents: dict[str, str], links: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as root:
        files = built(root, contents, links)
        for view in (BARE, shared(files)):
            nodes = list(walk(files, view=view))
            assert nodes == expanded(files, view)
            assert len(set(paths(nodes))) == len(nodes)
            totals = total(nodes)
            assert totals.files + totals.directories + totals.other == len(nodes)
            assert totals.bytes == sum(node.size for node in nodes)
            assert totals.tokens == sum(node.tokens or 0 for node in nodes)
        owner, guest = by_path(walk(files, everything=True)), by_path(walk(files, view=shared(files)))
        assert guest.items() <= owner.items()
        for path, node in owner.items():
            if node.kind == "file" and path not in guest:
                assert_refused(files, path)


def assert_refused(files: FileStore, path: str) -> None:
    with pytest.raises(HiddenByScope):
        preview(files, path, view=shared(files))


@given(names=st.lists(st.sampled_from(HOSTILE), unique=True, min_size=1), data=st.data())
def test_after_any_name_come_those_that_a_whole_listing_has_after_it(
    names: list[str], data: st.DataObject
) -> None:
    files = EphemeralFiles({f"folder/{name}": b"x" for name in names})
    every = [node.path for node in tree(files, "folder")]
    last = data.draw(st.sampled_from(every))
    found = [node.path for node in tree(files, "folder", after=last.rpartition("/")[2])]
    assert found == every[every.index(last) + 1 :]
