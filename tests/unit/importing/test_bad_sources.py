"""Whatever a source is, nothing outside of it is read, nothing is lost in silence, and a kill repeats nothing."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from tests.unit.importing.desks import furnish, rows_of, write

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.importing import UnknownKind, bring_in, source
from carrel.importing.guess import UnknownSource
from carrel.importing.source import NoSource, SourceTooLarge
from carrel.making import LayoutDiffers
from carrel.records.proposals import MOST_WAITING


@pytest.fixture
def environ(tmp_path):
    return {"CARREL_HOME": str(tmp_path / "home"), "CARREL_NOW": "2026-04-24T12:00:00Z"}


@pytest.fixture
def desk(tmp_path, environ):
    Workspace.init(tmp_path / "desk", environ=environ)
    with Workspace.open(tmp_path / "desk", environ=environ) as opened:
        yield opened


def files(desk):
    return {
        str(path.relative_to(desk.root)): path.read_bytes()
        for path in desk.root.rglob("*")
        if path.is_file() and ".carrel" not in path.parts
    }


def test_a_source_that_is_not_there_or_no_file_is_an_error(desk, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in ("nowhere", "pipe"):
        with pytest.raises(NoSource):
            bring_in(desk, tmp_path / name)


@pytest.mark.parametrize(
    "name", ["empty", "notes.txt", "cut.zip", "other.zip", "other.json", "lines.jsonl", "binary.md"]
)
def test_a_source_of_another_kind_changes_nothing(desk, tmp_path, name):
    place = tmp_path / "source" / name
    place.parent.mkdir()
    if name == "empty":
        place.mkdir()
    elif name == "other.zip":
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("../../etc/passwd", "x")
    else:
        place.write_bytes(b"PK\x03\x04 and no more" if name == "cut.zip" else b'{"a":"\xff"}\n')
    before = files(desk)
    with pytest.raises(CarrelError) as caught:
        bring_in(desk, place)
    assert caught.value.hint
    assert files(desk) == before


def test_a_kind_that_there_is_not_is_an_error(desk, tmp_path):
    with pytest.raises(UnknownKind):
        bring_in(desk, tmp_path, kind="notion")


def test_nothing_is_guessed_without_a_sign(desk, tmp_path):
    write(tmp_path, "things/a.md", "Some text.\n")
    with pytest.raises(UnknownSource):
        bring_in(desk, tmp_path / "things")
    assert rows_of(bring_in(desk, tmp_path / "things", kind="obsidian")) == {
        "a.md": ("new", "knowledge/a.md")
    }


def test_what_leads_out_of_a_source_is_not_followed(desk, tmp_path):
    vault = tmp_path / "vault"
    write(tmp_path, "secret.md", "the canary sings")
    write(vault, ".obsidian/app.json", "{}")
    write(vault, "in.md", "inside")
    (vault / "out.md").symlink_to(tmp_path / "secret.md")
    (vault / "up").symlink_to(tmp_path)
    (vault / "same.md").symlink_to("in.md")
    (vault / "round").symlink_to("round")
    os.mkfifo(vault / "pipe.md")
    done = bring_in(desk, vault)
    skipped = {row.source for row in done.rows if row.action == "skipped"}
    assert skipped == {"out.md", "up", "round", "pipe.md"}
    assert all(row.reason for row in done.rows if row.action == "skipped")
    assert not any(b"canary" in data for data in files(desk).values())


def test_text_that_is_none_is_copied_or_told(desk, tmp_path):
    write(tmp_path, "shop/CLAUDE.md", b"\xff\xfe bad")
    assert [row.action for row in bring_in(desk, tmp_path / "shop").rows] == ["skipped"]
    write(tmp_path, "vault/.obsidian/app.json", "{}")
    write(tmp_path, "vault/old.md", b"caf\xe9")
    bring_in(desk, tmp_path / "vault")
    assert (desk.root / "knowledge/old.md").read_bytes() == b"caf\xe9"


def test_what_no_owner_could_review_is_kept_beside(desk, tmp_path, environ):
    old = furnish(tmp_path / "old", "nexo", pieces=())
    write(old, "USER.md", b"\xff not text")
    rows = rows_of(bring_in(desk, old))
    assert rows["USER.md"] == ("beside", "memory/imported/nexo/USER.md")


def test_a_huge_file_and_a_huge_source_are_told(desk, tmp_path, monkeypatch):
    vault = tmp_path / "vault"
    write(vault, ".obsidian/app.json", "{}")
    for number in range(5):
        write(vault, f"{number}.md", "x")
    with (vault / "film.mp4").open("wb") as film:
        film.truncate(source.FILE_LIMIT + 1)
    rows = {row.source: row for row in bring_in(desk, vault).rows}
    assert rows["film.mp4"].action == "skipped"
    assert "bytes" in rows["film.mp4"].reason
    before = files(desk)
    monkeypatch.setattr(source, "MOST_FILES", 3)
    write(vault, "new.md", "y")
    with pytest.raises(SourceTooLarge):
        bring_in(desk, vault)
    assert files(desk) == before


def test_more_than_anybody_reads_does_not_wait_and_comes_with_the_next_import(desk, tmp_path):
    lines = "".join(f"- Fact number {number} is about bird {number}.\n" for number in range(MOST_WAITING + 5))
    write(tmp_path, "memory/MEMORY.md", lines)
    counts = bring_in(desk, tmp_path / "memory").counts
    assert (counts["proposal"], counts["skipped"]) == (MOST_WAITING, 5)
    review = desk.memory.review
    review.reject(review.all_waiting()[:10], by="owner")
    counts = bring_in(desk, tmp_path / "memory").counts
    assert (counts["proposal"], "skipped" in counts) == (5, False)


def test_credentials_in_a_workspace_stay_where_they_are(desk, tmp_path):
    old = furnish(tmp_path / "old", "carrel", pieces=("agents",))
    write(old, "credentials.json", "{}")
    write(old, "node_modules/x/README.md", "x")
    rows = rows_of(bring_in(desk, old, mine=True))
    assert rows["credentials.json"][0] == rows["node_modules/x/README.md"][0] == "skipped"


def test_settings_of_another_never_become_settings_here(desk, tmp_path):
    old = furnish(tmp_path / "old", "carrel", pieces=("agents",))
    before = (desk.root / "carrel.yaml").read_bytes()
    rows = rows_of(bring_in(desk, old, mine=True))
    assert rows["carrel.yaml"] == ("beside", "memory/imported/carrel/carrel.yaml.txt")
    assert (desk.root / "carrel.yaml").read_bytes() == before


def test_a_workspace_inside_of_its_source_is_no_part_of_it(desk):
    write(desk.root.parent, ".obsidian/app.json", "{}")
    write(desk.root.parent, "note.md", "x")
    sources = {row.source for row in bring_in(desk, desk.root.parent).rows}
    assert "note.md" in sources
    assert not any(each.startswith("desk/") for each in sources)


def test_a_directory_is_not_taken_for_another_layout_than_it_names(desk):
    with pytest.raises(LayoutDiffers):
        bring_in(desk, desk.root, kind="nexo")


def test_a_damaged_log_and_an_odd_name_are_kept_beside(desk, tmp_path):
    old = furnish(tmp_path / "old", "nexo", pieces=())
    write(old, "transcripts/notes.jsonl", '{"hello": 1}\n')
    write(old, "transcripts/.hidden.jsonl", '{"type":"session"}\n')
    rows = rows_of(bring_in(desk, old))
    assert rows["transcripts/notes.jsonl"][0] == "beside"
    assert rows["transcripts/.hidden.jsonl"][0] == "skipped"


_KILLED = """
import os, sys
from carrel.app import Workspace
from carrel.importing import bring_in
place, source, at, home = sys.argv[1:]
environ = {"CARREL_HOME": home, "CARREL_NOW": "2026-04-24T12:00:00Z"}
def die(done, of):
    if done == int(at):
        os.kill(os.getpid(), 9)
with Workspace.open(place, environ=environ) as desk:
    bring_in(desk, source, progress=die)
"""


@pytest.mark.parametrize("at", [1, 4, 9, 15])
def test_a_second_run_does_what_a_kill_has_left_and_repeats_nothing(tmp_path, environ, at):
    old = furnish(tmp_path / "old", "carrel")
    lines = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Hello."}}
    write(old, "plans/talk.jsonl", json.dumps(lines))
    outcomes = []
    for name in ("killed", "whole"):
        Workspace.init(tmp_path / name, environ=environ)
        if name == "killed":
            words = [str(tmp_path / name), str(old), str(at), environ["CARREL_HOME"]]
            done = subprocess.run([sys.executable, "-c", _KILLED, *words], check=False, timeout=120)
            assert done.returncode == -9
        with Workspace.open(tmp_path / name, environ=environ) as desk:
            bring_in(desk, old)
            assert {row.action for row in bring_in(desk, old).rows} == {"same"}
            waiting = sorted((each.path, each.new) for each in desk.memory.review.waiting(1000))
            outcomes.append((files(desk), waiting, desk.sessions.row("s1").entries))
    assert outcomes[0] == outcomes[1]
