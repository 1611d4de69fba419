from datetime import UTC, datetime

import pytest

from carrel.files.ephemeral import EphemeralFiles
from carrel.workspace.detect import DEFAULT_LAYOUT, detect_layout
from carrel.workspace.layout import LAYOUTS, load_layout
from carrel.workspace.manifest import MANIFEST_FILE, new_manifest
from carrel.workspace.scaffold import scaffold

PLACE = "/home/luis/desk"


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
        ([".squad-config.json"], "squad"),
        ([".squad-config.json", "workspace/AGENTS.md", "TOOLS.md"], "squad"),
        (["TOOLS.md"], "openclaw"),
        (["HEARTBEAT.md"], "openclaw"),
        (["BOOTSTRAP.md", "AGENTS.md", "SOUL.md", "IDENTITY.md", "notes/x.md"], "openclaw"),
        (["workspace/AGENTS.md", "TOOLS.md"], "astra"),
        (["AGENTS.md", "knowledge/KNOWLEDGE.md"], "agentscope"),
        (["AGENTS.md", "subagents/a.md"], "agentscope"),
        (["AGENTS.md", "knowledge/KNOWLEDGE.md", "SOUL.md"], None),
        (["knowledge/KNOWLEDGE.md"], None),
        ([], None),
    ],
)
def test_files_give_a_layout_away_or_not(paths, layout):
    assert detect_layout(EphemeralFiles(dict.fromkeys(paths, "x")), PLACE) == layout


@pytest.mark.parametrize(
    ("place", "paths", "layout"),
    [
        ("/home/luis/.agentscope/workspace", ["AGENTS.md"], "agentscope"),
        ("/home/luis/.agentscope", ["AGENTS.md"], "agentscope"),
        ("/home/luis/.agentscope", ["AGENTS.md", "SOUL.md"], None),
        ("/home/luis/.agentscope", ["SOUL.md"], None),
        ("/home/luis/.agentscope-old", ["AGENTS.md"], None),
    ],
)
def test_a_place_inside_the_folder_of_a_system_gives_its_layout_away(place, paths, layout):
    assert detect_layout(EphemeralFiles(dict.fromkeys(paths, "x")), place) == layout


def test_the_default_is_the_first_that_ships():
    assert DEFAULT_LAYOUT == "carrel"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_init_makes_is_recognised_or_is_the_default(layout):
    files = EphemeralFiles()
    manifest = (MANIFEST_FILE, new_manifest("desk", datetime(2026, 4, 24, 12, tzinfo=UTC), "1"))
    scaffold(files, load_layout(layout), [manifest] if layout == "squad" else [])
    settings = files.read("carrel.yaml")
    named = f"layout: {layout}" in settings.data.decode() if settings else False
    assert named or (detect_layout(files, PLACE) or DEFAULT_LAYOUT) == layout
