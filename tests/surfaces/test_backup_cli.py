"""`carrel backup`: a file that is the workspace as it was at one moment, and a workspace of that file again."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from threading import Event, Thread

import pytest
from tests.conftest import snapshot
from tests.surfaces.test_migrate_cli import ADDRESS, fill, told

from carrel.app import Workspace
from carrel.backing import fill as pour
from carrel.backing import restore
from carrel.bundle.reading import open_bundle
from carrel.making import make_home
from carrel.opening import find_home

RUN = "import sys; from carrel.cli.main import run; run(sys.argv[1:])"


@pytest.fixture
def feed(monkeypatch):
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return given


@pytest.fixture
def lived_in(cli, feed, tmp_path):
    """A workspace with one of everything, and with names that not every system can hold."""
    root = tmp_path / "desk"
    assert cli("init", root).code == 0
    fill(cli, feed, root)
    (root / "a: b?.md").write_text("odd")
    (root / "Readme.md").write_text("one")
    (root / "README.md").write_text("two")
    (root / os.fsdecode(b"b\xff.bin")).write_bytes(bytes(range(256)))
    return root


def backed_up(cli, place, to, *more):
    outcome = cli("-C", place, "backup", "create", "--to", to, "--json", *more)
    assert outcome.code == 0, outcome.text
    return outcome.document


def files_of(root):
    return [row for row in snapshot(root) if b"/.carrel" not in row[0]]


def keyless(shown):
    """All that is told of a workspace, but for its keys, which come back without what opens."""
    return {name: value for name, value in shown.items() if name != "keys"}


def test_what_was_backed_up_comes_back_file_by_file_and_record_by_record(cli, lived_in, tmp_path):
    before = told(cli, lived_in)
    made = backed_up(cli, lived_in, tmp_path / "one.zip")
    assert made["rows"]["facts"] > 0
    assert made["rows"]["changes"] > 0
    back = tmp_path / "back"
    restored = cli("backup", "restore", tmp_path / "one.zip", "--into", back, "--json")
    assert restored.code == 0, restored.text
    assert restored.document["rows"] == made["rows"]
    assert {path.name: path.read_bytes() for path in lived_in.iterdir() if path.is_file()} == {
        path.name: path.read_bytes() for path in back.iterdir() if path.is_file()
    }
    assert (back / ".carrel/.gitignore").read_text() == "*\n"
    assert cli("trust", back).code == 0
    assert keyless(told(cli, back)) == keyless(before)
    assert cli("-C", back, "memory", "undo").code == 0


def test_the_same_workspace_gives_the_same_bytes_wherever_it_is(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    backed_up(cli, lived_in, tmp_path / "two.zip")
    assert cli("backup", "restore", tmp_path / "one.zip", "--into", tmp_path / "back").code == 0
    assert cli("trust", tmp_path / "back").code == 0
    backed_up(cli, tmp_path / "back", tmp_path / "three.zip")
    one, two, three = ((tmp_path / f"{name}.zip").read_bytes() for name in ("one", "two", "three"))
    assert one == two == three


def test_a_backup_changes_nothing_in_the_workspace(cli, lived_in, tmp_path):
    before = files_of(lived_in)
    backed_up(cli, lived_in, tmp_path / "one.zip")
    assert files_of(lived_in) == before


def test_what_is_in_a_file_is_nobodys_until_it_is_trusted(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    target = tmp_path / "desk2"
    assert cli("init", target).code == 0  # so that this place is trusted
    shutil.rmtree(target)
    restored = cli("backup", "restore", tmp_path / "one.zip", "--into", target)
    assert f"carrel trust {target}" in restored.text
    assert cli("-C", target, "config", "show", "--json").document["trusted"] is False
    assert cli("-C", target, "memory", "facts", "--json").document["facts"] == []
    assert cli("trust", target).code == 0
    assert cli("-C", target, "memory", "facts", "--json").document["facts"]


def test_no_secret_of_a_key_is_in_a_backup(cli, lived_in, tmp_path):
    shown = cli("-C", lived_in, "keys", "create", "second").text
    backed_up(cli, lived_in, tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "one.zip") as opened:
        keys = [json.loads(line) for line in opened.read("records/keys.jsonl").splitlines()]
        everything = b"".join(opened.read(name) for name in opened.namelist())
    assert {key["digest"] for key in keys} == {""}
    assert shown.split()[0].encode() not in everything


@pytest.mark.parametrize("kind", ["a file in it", "a file", "a link"])
def test_a_place_where_something_is_stays_as_it_is(cli, lived_in, tmp_path, kind):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    target = tmp_path / "taken"
    if kind == "a file in it":
        target.mkdir()
        (target / "mine.md").write_text("mine")
    elif kind == "a file":
        target.write_text("mine")
    else:
        target.symlink_to(lived_in)
    before = snapshot(tmp_path)
    refused = cli("backup", "restore", tmp_path / "one.zip", "--into", target, "--json")
    assert refused.code == 5
    assert "mv" in refused.error["hint"]
    assert snapshot(tmp_path) == before


def test_an_empty_directory_is_filled(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    (tmp_path / "empty").mkdir()
    assert cli("backup", "restore", tmp_path / "one.zip", "--into", tmp_path / "empty").code == 0
    assert (tmp_path / "empty/SOUL.md").read_bytes() == (lived_in / "SOUL.md").read_bytes()


def test_an_existing_file_is_not_overwritten(cli, lived_in, tmp_path):
    (tmp_path / "one.zip").write_text("mine")
    refused = cli("-C", lived_in, "backup", "create", "--to", tmp_path / "one.zip", "--json")
    assert (refused.code, refused.error["code"]) == (5, "file_taken")
    assert (tmp_path / "one.zip").read_text() == "mine"


def test_a_backup_has_the_date_in_its_name_and_is_for_its_owners_eyes(cli, lived_in, tmp_path):
    (tmp_path / "all").mkdir()
    made = backed_up(cli, lived_in, tmp_path / "all")
    assert made["file"] == str(tmp_path / "all/desk-2026-04-24T120000Z.zip")
    assert (tmp_path / "all/desk-2026-04-24T120000Z.zip").stat().st_mode & 0o077 == 0
    default = cli("-C", lived_in, "backup", "create", "--json").document["file"]
    assert default.startswith(str(cli.home))
    assert [each.name for each in (tmp_path / "all").iterdir()] == ["desk-2026-04-24T120000Z.zip"]


def test_a_dry_run_writes_nothing(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    before = snapshot(tmp_path)
    assert backed_up(cli, lived_in, tmp_path / "two.zip", "--dry-run")["files"] > 5
    done = cli("backup", "restore", tmp_path / "one.zip", "--into", tmp_path / "new", "--dry-run")
    assert done.code == 0
    assert [row for row in snapshot(tmp_path) if b"/.carrel" not in row[0]] == [
        row for row in before if b"/.carrel" not in row[0]
    ]


def test_verify_says_what_is_damaged(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    assert cli("backup", "verify", tmp_path / "one.zip", "--json").document["whole"] is True
    with zipfile.ZipFile(tmp_path / "one.zip") as old, zipfile.ZipFile(tmp_path / "bad.zip", "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(
                info, data.swapcase() if info.filename in ("files/SOUL.md", "files/notes.md") else data
            )
    bad = cli("backup", "verify", tmp_path / "bad.zip", "--json")
    assert bad.code == 4
    assert bad.document["whole"] is False
    assert len(bad.document["damaged"]) == 2
    assert "SOUL.md" in str(bad.document["damaged"])
    assert cli("backup", "verify", tmp_path / "bad.zip").code == 4


def test_a_truncated_backup_is_damaged_and_restores_nothing(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    data = (tmp_path / "one.zip").read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[: len(data) // 2])
    assert cli("backup", "verify", tmp_path / "cut.zip", "--json").code == 4
    refused = cli("backup", "restore", tmp_path / "cut.zip", "--into", tmp_path / "new", "--json")
    assert (refused.code, refused.error["code"]) == (4, "bundle_damaged")
    assert not (tmp_path / "new").exists()


def test_nobody_but_the_owner_backs_up(cli, lived_in, tmp_path):
    refused = cli(
        "-C", lived_in, "--scope", "shared", "backup", "create", "--to", tmp_path / "x.zip", "--json"
    )
    assert refused.code == 6
    assert not (tmp_path / "x.zip").exists()


def test_a_backup_made_while_agents_write_is_of_one_moment(cli, lived_in, tmp_path):
    """Each write goes to two files and to the records, so that a copy between two of them would show."""
    stop, wrote = Event(), Event()

    def work() -> None:
        with Workspace.open(lived_in, environ=os.environ) as workspace:
            number = 0
            while not stop.is_set():
                number += 1
                workspace.put("zz.md", f"{number}\n".encode())
                workspace.put("aa.md", f"{number}\n".encode())
                wrote.set()
                time.sleep(0.02)

    thread = Thread(target=work)
    thread.start()
    try:
        assert wrote.wait(30)
        backed_up(cli, lived_in, tmp_path / "one.zip")
    finally:
        stop.set()
        thread.join()
    with zipfile.ZipFile(tmp_path / "one.zip") as opened:
        first, second = int(opened.read("files/zz.md")), int(opened.read("files/aa.md"))
        changes = [json.loads(line) for line in opened.read("records/changes.jsonl").splitlines()]
    assert first - 1 <= second <= first
    written = [each["path"] for each in changes if each["path"] in ("aa.md", "zz.md")]
    assert len(written) in (
        first + second,
        first + second + 1,
    )  # the next may be planned, and not yet written


def test_a_killed_restore_leaves_nothing_to_see_and_the_next_one_ends_it(cli, lived_in, tmp_path):
    for number in range(300):
        (lived_in / f"n{number}.md").write_text(str(number))
    backed_up(cli, lived_in, tmp_path / "one.zip")
    target = tmp_path / "into"
    for seconds in (0.35, 0.5, 0.7):
        with subprocess.Popen(
            [sys.executable, "-c", RUN, "backup", "restore", tmp_path / "one.zip", "--into", target],
            stdout=subprocess.DEVNULL,
        ) as killed:
            time.sleep(seconds)
            killed.send_signal(signal.SIGKILL)
        if target.exists():  # it was quicker: then all of it is there
            break
    if not target.exists():
        assert cli("backup", "restore", tmp_path / "one.zip", "--into", target).code == 0
    assert len(list(target.glob("n*.md"))) == 301
    assert not list(tmp_path.glob(".carrel-tmp-*"))


def test_two_restores_into_one_place_do_not_mix(cli, lived_in, tmp_path):
    backed_up(cli, lived_in, tmp_path / "one.zip")
    from carrel.backing.tree import RestoreUnderWay, unseen  # noqa: PLC0415 - to hold the place

    with unseen(tmp_path / "into"), pytest.raises(RestoreUnderWay):
        restore(tmp_path / "one.zip", tmp_path / "into", environ={"CARREL_HOME": str(cli.home)})
    assert list((tmp_path / "into").iterdir()) == []
    assert not list(tmp_path.glob(".carrel-tmp-*"))


def test_a_workspace_in_a_database_is_backed_up_and_comes_back(cli, database, feed, tmp_path):
    cli.set(CARREL_DATABASE_URL=database)
    assert cli("init", ADDRESS).code == 0
    fill(cli, feed, ADDRESS)
    before = told(cli, ADDRESS)
    backed_up(cli, ADDRESS, tmp_path / "one.zip")
    back = tmp_path / "back"
    assert cli("backup", "restore", tmp_path / "one.zip", "--into", back).code == 0
    assert cli("trust", back).code == 0
    assert keyless(told(cli, back)) == keyless(before)
    backed_up(cli, back, tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    make_home("pg://acme/again", os.environ)
    with closing(open_bundle(tmp_path / "one.zip")) as bundle:
        pour(bundle, find_home("pg://acme/again", os.environ))
    backed_up(cli, "pg://acme/again", tmp_path / "three.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "three.zip").read_bytes()
