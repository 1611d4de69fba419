"""Whatever is imported: each word of it is somewhere, what was there stays, and once is as good as twice."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from carrel.app import Workspace
from carrel.exporting import export
from carrel.importing import bring_in
from carrel.importing.blocks import blocks_of, facts_in
from carrel.importing.notes import graphed
from carrel.importing.places import path_of, spot_of
from carrel.importing.target import portable, with_digest
from carrel.workspace.layout import LAYOUTS, load_layout

WORDS = st.text(alphabet="abcdefgh äß漢#-*`[]()\n|", max_size=60)
NAMES = st.sampled_from(
    [
        "AGENTS.md", "SOUL.md", "USER.md", "MEMORY.md", "stack.md", "memory/main.md", "memory/2026-04-20.md",
        "memory/2026-04-20-x.md", "memory/entities/ana.md", "knowledge/KNOWLEDGE.md", "knowledge/a/b.md",
        "skills/x/SKILL.md", "subagents/y.md", "plans/z.md", "notes/2026-04-21.md", "README.md", "odd: name?.md",
    ]
)  # fmt: skip
TREES = st.dictionaries(NAMES, WORDS, max_size=6)


@contextmanager
def imported(layout, source_layout, here, there, *, mine):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        environ = {"CARREL_HOME": str(root / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}
        for place, files, name in ((root / "old", there, source_layout), (root / "new", here, layout)):
            place.mkdir()
            (place / "carrel.yaml").write_text(f"layout: {name}\nagents:\n  - id: main\n")
            for path, text in files.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text(text)
        Workspace.trust(root / "new", environ=environ)
        with Workspace.open(root / "new", environ=environ) as desk:
            yield desk, root / "old", bring_in(desk, root / "old", mine=mine)


def texts(root):
    paths = (path for path in root.rglob("*") if path.is_file() and ".carrel" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@settings(max_examples=15)
@given(
    layout=st.sampled_from(LAYOUTS),
    source=st.sampled_from(LAYOUTS),
    here=TREES,
    there=TREES,
    mine=st.booleans(),
)
@example(  # two files become one, of which the first waits
    layout="astra", source="carrel", here={}, there={"memory/main.md": "[", "MEMORY.md": ""}, mine=False
)
def test_twice_is_once_and_no_line_is_lost(layout, source, here, there, mine):
    with imported(layout, source, here, there, mine=mine) as (desk, old, done):
        after = texts(desk.root)
        waiting = [proposal.new for proposal in desk.memory.review.waiting(1000)]
        again = bring_in(desk, old, mine=mine)
        assert {row.action for row in again.rows} <= {"same", "skipped"}
        assert texts(desk.root) == after
        assert len(desk.memory.review.waiting(1000)) == len(waiting)
        held = b"\n".join(after.values()).decode() + "\n".join(waiting)
        skipped = {row.source for row in done.rows if row.action == "skipped"}
        for path, text in there.items():
            if path not in skipped:
                assert all(line.strip() in held for line in text.split("\n")), path
        for path, text in here.items():
            assert all(line in after[path].decode() for line in text.split("\n") if line.strip()), path


@settings(max_examples=10)
@given(layout=st.sampled_from(LAYOUTS), files=TREES, form=st.sampled_from(["zip", "json"]))
def test_an_export_brought_into_an_empty_workspace_has_the_same_files(layout, files, form):
    with imported(layout, layout, {}, files, mine=True) as (desk, old, _):
        environ = {"CARREL_HOME": str(old.parent / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}
        packed, new = old.parent / f"old.{form}", old.parent / "third"
        with packed.open("wb") as stream:
            export(old, form, stream, environ=environ, near=old.parent)
        new.mkdir()
        (new / "carrel.yaml").write_bytes((old / "carrel.yaml").read_bytes())
        Workspace.trust(new, environ=environ)
        with Workspace.open(new, environ=environ) as third:
            bring_in(third, packed, mine=True)
            assert texts(new) == texts(desk.root)
            assert {row.action for row in bring_in(third, packed, mine=True).rows} == {"same"}


@given(text=st.text(max_size=400))
def test_a_text_taken_apart_has_each_line_at_its_place(text):
    lines = text.split("\n")
    for block in blocks_of(text):
        assert lines[block.line - 1].strip("\r").strip() == block.text.split("\n")[0].strip("\r").strip()
    for fact in facts_in(text):
        assert fact.text.strip()
        assert "\n" not in fact.text


@given(text=st.text(alphabet="ab -*+[]:()\n`_", max_size=200))
def test_putting_relations_into_form_twice_changes_nothing_more(text):
    once = graphed(text, "2026-01-01")
    assert graphed(once, "2026-01-01") == once
    assert len(once.split("\n")) == len(text.split("\n"))


@given(path=st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4))
def test_any_name_becomes_one_that_every_system_holds(path):
    made = portable("/".join(name.replace("/", "_") for name in path))
    assert portable(made) == made
    assert portable(with_digest(made, b"x")) == with_digest(made, b"x")


@given(layout=st.sampled_from(LAYOUTS), path=NAMES)
def test_a_layout_knows_its_own_places(layout, path):
    described = load_layout(layout)
    spot = spot_of(f"{described.home}{path}", described, ["main"])
    place = path_of(spot, described, "main")
    if place is not None and spot.role not in ("document", "notebook", "project"):
        assert place == f"{described.home}{path}"
        assert spot_of(place, described, ["main"]) == spot
