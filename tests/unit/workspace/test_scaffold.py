import pytest

from carrel.files import walk
from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.document import Documents
from carrel.workspace.layout import LAYOUTS, UnknownLayout
from carrel.workspace.scaffold import scaffold


def paths(files: EphemeralFiles) -> list[str]:
    return sorted(entry.path for entry in walk(files, skip=lambda _: False))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_new_workspace_has_files_that_can_be_read(layout):
    files = EphemeralFiles()
    made = scaffold(files, layout)
    assert made.layout == layout
    assert list(made.created) == paths(files)
    assert made.kept == ()
    documents = Documents(files).reading().documents(made.created)
    assert all(document and not document.problem and not document.warnings for document in documents)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_exists_is_kept_and_a_second_time_changes_nothing(layout):
    files = EphemeralFiles()
    first = scaffold(files, layout)
    files = EphemeralFiles({first.created[0]: "mine"})
    second = scaffold(files, layout)
    assert second.kept == first.created[:1]
    kept = files.read(first.created[0])
    assert kept is not None
    assert kept.data == b"mine"
    third = scaffold(files, layout)
    assert third.created == ()
    assert third.kept == first.created


def test_an_unknown_layout_makes_nothing():
    files = EphemeralFiles()
    with pytest.raises(UnknownLayout):
        scaffold(files, "novel")
    assert paths(files) == []
