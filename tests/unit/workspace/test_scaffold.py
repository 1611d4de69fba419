import pytest

from carrel.files import walk
from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents
from carrel.workspace.layout import LAYOUTS, load_layout, parse_layout
from carrel.workspace.scaffold import scaffold


def paths(files: EphemeralFiles) -> list[str]:
    return sorted(entry.path for entry in walk(files, skip=lambda _: False))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_workspace_has_files_that_can_be_read(layout):
    files = EphemeralFiles()
    made = scaffold(files, load_layout(layout))
    assert made.layout == layout
    assert list(made.created) == paths(files)
    assert made.kept == ()
    documents = Documents(files).reading().documents(made.created)
    assert all(document and not document.problem and not document.warnings for document in documents)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_exists_is_kept_and_a_second_time_changes_nothing(layout):
    files = EphemeralFiles()
    first = scaffold(files, load_layout(layout))
    files = EphemeralFiles({first.created[0]: "mine"})
    second = scaffold(files, load_layout(layout))
    assert second.kept == first.created[:1]
    kept = files.read(first.created[0])
    assert kept is not None
    assert kept.data == b"mine"
    third = scaffold(files, load_layout(layout))
    assert third.created == ()
    assert third.kept == first.created


def test_of_a_layout_from_outside_what_it_requires_is_begun():
    described = parse_layout(
        "name: desk\nmarker: cut\nrequires: [PERSONA.md, days/, 'agents/{agent}/']\nmessages: [{history: true}]\n"
    )
    files = EphemeralFiles({"PERSONA.md": "mine"})
    made = scaffold(files, described, [("carrel.yaml", b"layout: desk\n")])
    assert (made.layout, made.kept) == ("desk", ("PERSONA.md",))
    assert paths(files) == ["PERSONA.md", "carrel.yaml", "days/.gitkeep"]
