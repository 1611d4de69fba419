import sys

import pytest
from tests.stubs import extensions as stub

from carrel.extensions import ExtensionFailed
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.paths import BadPath
from carrel.workspace.layout import LAYOUTS, BadLayout, UnknownLayout
from carrel.workspace.layout_places import described_in, find_layout
from carrel.workspace.scope import Privacy, sets_up

DESK = 'name: desk\nmarker: "[cut {name}]"\nmessages: [{history: true}]\n'
NOTHING = EphemeralFiles()


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "layouts"
    made.mkdir()
    return made


def test_what_ships_with_carrel_is_never_shadowed(folder):
    (folder / "nexo.yaml").write_text(DESK.replace("desk", "nexo"))
    assert find_layout("nexo", NOTHING, folder).summary
    assert described_in("nexo", folder, folder) == []


def test_a_file_of_the_workspace_is_a_layout(folder):
    files = EphemeralFiles({"about/my-layout.yaml": DESK})
    assert find_layout("./about/my-layout.yaml", files, folder).name == "desk"


def test_the_users_own_come_before_those_of_packages(folder, tmp_path, monkeypatch):
    site = stub.make(tmp_path / "site", "carrel-acme", "[carrel.layouts]\ndesk = acme_layouts.inner\n")
    inner = site / "acme_layouts/inner"
    inner.mkdir(parents=True)
    (site / "acme_layouts/__init__.py").write_text("raise RuntimeError('run')")
    (inner / "desk.yaml").write_text(f"{DESK}summary: of a package\n")
    stub.install(monkeypatch, site)
    assert find_layout("desk", NOTHING, folder).summary == "of a package"
    assert "acme_layouts" not in sys.modules
    assert described_in("desk", folder, folder) == [folder / "desk.yaml", inner / "desk.yaml"]
    (folder / "desk.yaml").write_text(f"{DESK}summary: my own\n")
    assert find_layout("desk", NOTHING, folder).summary == "my own"


@pytest.mark.parametrize("target", ["nowhere", "acme_layouts:desk", "acme layouts", "..", ""])
def test_a_package_without_the_file_that_it_promises_is_to_blame(folder, tmp_path, monkeypatch, target):
    points = f"[carrel.layouts]\ndesk = {target}\n"
    stub.install(monkeypatch, stub.make(tmp_path / "site", "carrel-acme", points, acme_layouts=""))
    with pytest.raises(ExtensionFailed, match=r"carrel-acme 1\.0 has no file desk\.yaml"):
        find_layout("desk", NOTHING, folder)


@pytest.mark.parametrize(
    "name",
    ["novel", "../desk", "/etc/passwd", "./../my-layout.yaml", "./gone-layout.yaml", "./desk.yaml", "", "."],
)
def test_what_is_no_layout_is_told_those_that_there_are(folder, name):
    (folder / "mine.yaml").write_text(DESK)
    (folder.parent / "my-layout.yaml").write_text(DESK)
    with pytest.raises((UnknownLayout, BadPath)) as caught:
        find_layout(name, EphemeralFiles({"desk.yaml": DESK}), folder)
    if isinstance(caught.value, UnknownLayout):
        assert all(known in caught.value.hint for known in (*LAYOUTS, "mine"))


@pytest.mark.parametrize("name", ["desk", "absent"])
def test_without_a_folder_of_their_own_nobody_has_layouts_there(tmp_path, name):
    with pytest.raises(UnknownLayout):
        find_layout(name, NOTHING, tmp_path / "none")


def test_a_layout_of_the_users_own_may_be_a_link_to_where_they_keep_such_files(folder, tmp_path):
    (tmp_path / "dotfiles.yaml").write_text(DESK)
    (folder / "desk.yaml").symlink_to(tmp_path / "dotfiles.yaml")
    assert find_layout("desk", NOTHING, folder).name == "desk"


def test_a_layout_is_called_what_its_file_is_called(folder):
    (folder / "mine.yaml").write_text(DESK)
    with pytest.raises(BadLayout, match="'desk', and not 'mine'"):
        find_layout("mine", NOTHING, folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DESK.replace("desk", "carrel"), "one of Carrel's own"),
        (DESK.replace("desk", "'no name'"), "no name"),
        ("\udcff", "not UTF-8"),
        (f"{DESK}home: ../\n", "leads upwards"),
        (f"{DESK}journal: /etc\n", "is absolute"),
        (f"{DESK}requires: [.git/config]\n", "git's own"),
        (f'{DESK}sessions: {{log: ".carrel/{{session}}.jsonl"}}\n', "Carrel's or git's own"),
        (f'{DESK}sessions: {{log: "{{agent}}/{{session}}.jsonl"}}\n', "a folder that is always the same"),
        (DESK.replace("{history: true}", "{parts: [{kind: documents, files: [~/x]}]}"), "starts with '~'"),
        (
            DESK.replace("{history: true}", "{parts: [{kind: journal, folder: d, days: 1000000000}]}"),
            "between 0 and",
        ),
        (DESK.replace("[{history: true}]", f"[{', '.join(['{history: true}'] * 300)}]"), "more than 200"),
        (f"{DESK}limits: {{file: -1}}\n", "below zero"),
        (f"{DESK}private: [{', '.join(['x'] * 2_000)}]\n", "more than 1,000 paths"),
        (f"{DESK}requires: [{', '.join(['x'] * 2_000)}]\n", "more than 1,000 paths"),
        (f"{DESK}home: desk\n", "a slash is at the end of `home`"),
        (f"{DESK}home: ./desk/\n", "is written 'desk'"),
        (f"{DESK}journal: ./days\n", "is written 'days'"),
        (f"{DESK}journal: days/\n", "is written 'days'"),
        (f"{DESK}journal: my//days\n", "is written 'my/days'"),
        (f'{DESK}sessions: {{log: "./logs/{{session}}.jsonl"}}\n', "is written 'logs/{session}.jsonl'"),
        (f'{DESK}sessions: {{log: "logs/{{session}}/{{session}}.jsonl"}}\n', "has {session} in its name"),
        (f'{DESK}private: ["**"]\n', "neither a file nor a folder"),
        (f'{DESK}private: ["diary/*.md"]\n', "neither a file nor a folder"),
        (f"{DESK}private: [diary/]\n", "neither a file nor a folder"),
        (
            DESK.replace("{history: true}", '{parts: [{kind: project, files: ["{agent}.md"]}]}'),
            "a folder that is always the same",
        ),
        (f"{DESK}{'#' * 70_000}\n", "larger than may be read"),
    ],
)
def test_a_description_by_a_stranger_cannot_lead_outside_or_cost_without_end(folder, text, told):
    files = EphemeralFiles({"my-layout.yaml": text.encode("utf-8", "surrogateescape")})
    with pytest.raises(BadLayout, match=r"my-layout\.yaml") as caught:
        find_layout("./my-layout.yaml", files, folder)
    assert told in caught.value.message


def test_what_carrel_writes_of_its_owner_is_private_whatever_a_description_says(folder):
    text = f'{DESK}home: desk/\njournal: days\nsessions: {{log: "logs/{{session}}.jsonl"}}\nprivate: []\n'
    project = '{parts: [{kind: project, files: ["own/{agent}.md", team/NOTES.md]}]}'
    text = text.replace("{history: true}", project)
    layout = find_layout("./my-layout.yaml", EphemeralFiles({"my-layout.yaml": text}), folder)
    privacy = Privacy(layout, frozenset)
    for path in (
        "USER.md",
        "desk/MEMORY.md",
        "DREAMS.md",
        "desk/memory/kate.md",
        "days/2026-04-24.md",
        "logs/s1.jsonl",
        "own/kate.md",
        "team/NOTES.md",
        "memory/2026-04-24.md",
        "agents/kate/sessions/s1.log.jsonl",
    ):
        assert privacy.covers_name(path), path
    assert not privacy.covers_name("notes.md")
    assert not privacy.covers_name("team/plan.md")


@pytest.mark.parametrize("path", ["my-layout.yaml", "layout.yaml", "deep/MY-Layout.YAML", "carrel.yaml"])
def test_what_describes_a_layout_is_a_setting(path):
    assert sets_up(path)
    assert not sets_up(f"{path}/notes.md")
