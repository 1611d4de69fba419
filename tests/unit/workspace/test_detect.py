import pytest

from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.detect import DEFAULT_LAYOUT, detect_layout
from carrel.workspace.layout import LAYOUTS
from carrel.workspace.scaffold import scaffold


@pytest.mark.parametrize(
    ("paths", "layout"),
    [
        (["workspace/AGENTS.md"], "astra"),
        (["workspace/USER.md"], "astra"),
        (["workspace/IDENTITY.md", "SOUL.md"], "astra"),
        (["SOUL.md", "IDENTITY.md", "notes/2026-04-24.md"], "nexo"),
        (["workspace/AGENTS.md", "SOUL.md", "IDENTITY.md", "notes/x.md"], "astra"),
        (["SOUL.md", "IDENTITY.md"], None),
        (["SOUL.md", "notes/x.md"], None),
        (["AGENTS.md"], None),
        (["workspace/other.md"], None),
        ([], None),
    ],
)
def test_files_give_a_layout_away_or_not(paths, layout):
    assert detect_layout(EphemeralFiles(dict.fromkeys(paths, "x"))) == layout


def test_the_default_is_the_first_that_ships():
    assert DEFAULT_LAYOUT == "carrel"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_init_makes_is_recognised_or_is_the_default(layout):
    files = EphemeralFiles()
    scaffold(files, layout)
    settings = files.read("carrel.yaml")
    named = f"layout: {layout}" in settings.data.decode() if settings else False
    assert named or (detect_layout(files) or DEFAULT_LAYOUT) == layout
