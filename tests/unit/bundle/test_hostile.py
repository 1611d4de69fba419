"""A bundle may come from anywhere: whatever is wrong with it is told, and nothing of it is written."""

import json
import os
import stat
import struct
import zipfile
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from carrel.backing import restore
from carrel.bundle import errors
from carrel.bundle.reading import open_bundle, verify
from carrel.errors import CarrelError

SOUL = {"part": "files", "path": "SOUL.md", "entry": "files/SOUL.md"}


def told(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A manifest as Carrel writes one, but for the changes."""
    manifest: dict[str, Any] = {
        "schema_version": 1,
        "kind": "carrel.bundle",
        "layout": "carrel",
        "scope": "main",
        "hidden": 0,
        "folders": [""],
        "left_out": [],
        "files": [item for item in items if "part" in item],
        "tables": [item for item in items if "table" in item],
    }
    return manifest | changes


def held(item: dict[str, Any], data: bytes = b"kind\n", **changes: Any) -> dict[str, Any]:
    return {**item, "size": len(data), "sha256": sha256(data).hexdigest(), **changes}


def zipped(path: Path, manifest: object, entries: dict[str, bytes] | list[tuple[Any, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("manifest.json", json.dumps(manifest))
        for name, data in entries.items() if isinstance(entries, dict) else entries:
            target.writestr(name, data)
    return path


def refused_whole(path: Path, family: type[CarrelError]) -> str:
    """The message of a refusal that left nothing behind, not even the directory."""
    into = path.parent / "into"
    with pytest.raises(family) as caught:
        restore(path, into, environ={"CARREL_HOME": str(path.parent / "home")})
    assert not [each for each in path.parent.iterdir() if each.name not in (path.name, "home")]
    assert caught.value.hint
    return caught.value.message


def test_an_honest_one_is_restored(tmp_path):
    path = zipped(tmp_path / "a.zip", told(held(SOUL)), {"files/SOUL.md": b"kind\n"})
    restore(path, tmp_path / "into", environ={"CARREL_HOME": str(tmp_path / "home")})
    assert (tmp_path / "into/SOUL.md").read_bytes() == b"kind\n"


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../outside.md", "a/../../b.md", "a//b.md", "./a.md", "", ".carrel/state/x"),
        *("a/.GIT/config", "x\0.md", ".carrel-tmp-1", "a/" * 2100 + "b"),
    ],
)
def test_a_path_out_of_the_workspace_is_refused(tmp_path, name):
    item = held({"part": "files", "path": name, "entry": "files/x"})
    refused_whole(zipped(tmp_path / "a.zip", told(item), {"files/x": b"kind\n"}), errors.UnsafeBundle)


def test_a_folder_of_records_that_leads_elsewhere_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", told(held(SOUL), folders=["", "../x"]), {"files/SOUL.md": b"kind\n"})
    refused_whole(path, errors.UnsafeBundle)


def test_a_path_that_comes_twice_is_refused(tmp_path):
    items = [held(SOUL), held(SOUL, entry="odd/1")]
    path = zipped(tmp_path / "a.zip", told(*items), {"files/SOUL.md": b"kind\n", "odd/1": b"kind\n"})
    assert "twice" in refused_whole(path, errors.UnsafeBundle)


def test_a_file_that_is_a_folder_too_is_refused(tmp_path):
    items = [held(SOUL), held(SOUL, path="SOUL.md/x", entry="odd/1")]
    path = zipped(tmp_path / "a.zip", told(*items), {"files/SOUL.md": b"kind\n", "odd/1": b"kind\n"})
    refused_whole(path, errors.UnsafeBundle)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("other", ["files/SOUL.md", "files/soul.md", "files/SOUL.md/x"])
def test_entries_that_some_system_takes_for_one_are_refused(tmp_path, other):
    entries = [("files/SOUL.md", b"kind\n"), (other, b"other\n")]
    path = zipped(tmp_path / "a.zip", told(held(SOUL)), entries)
    refused_whole(path, errors.UnsafeBundle)


def test_an_entry_that_is_a_link_is_refused(tmp_path):
    link = zipfile.ZipInfo("files/SOUL.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = zipped(tmp_path / "a.zip", told(held(SOUL, b"/etc/passwd")), [(link, b"/etc/passwd")])
    assert "link" in refused_whole(path, errors.UnsafeBundle)


def test_an_entry_that_the_manifest_does_not_name_is_refused(tmp_path):
    entries = {"files/SOUL.md": b"kind\n", "../../evil": b"x"}
    refused_whole(zipped(tmp_path / "a.zip", told(held(SOUL)), entries), errors.UnsafeBundle)


def test_an_entry_that_is_missing_is_damage(tmp_path):
    assert "missing" in refused_whole(zipped(tmp_path / "a.zip", told(held(SOUL)), {}), errors.BundleDamaged)


def test_other_bytes_of_the_same_size_are_damage_that_is_named(tmp_path):
    path = zipped(tmp_path / "a.zip", told(held(SOUL)), {"files/SOUL.md": b"evil\n"})
    assert "SOUL.md" in refused_whole(path, errors.BundleDamaged)


def test_a_size_that_packing_cannot_reach_is_refused_before_it_is_unpacked(tmp_path):
    path = zipped(tmp_path / "a.zip", told(held(SOUL, size=1 << 40)), {"files/SOUL.md": b"kind\n"})
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<L", data, at + 24, (1 << 32) - 2)
    path.write_bytes(data)
    assert "large" in refused_whole(path, errors.UnsafeBundle)


def test_more_than_the_disk_has_room_for_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", told(held(SOUL, b"0" * 100_000)), {"files/SOUL.md": b"0" * 100_000})
    monkeypatch.setattr("carrel.backing.restoring.disk_usage", lambda _: type("Free", (), {"free": 1_000}))
    assert "room" in refused_whole(path, errors.BundleTooLarge)


def test_a_list_of_entries_that_would_fill_the_memory_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", told(held(SOUL)), {"files/SOUL.md": b"kind\n"})
    data = bytearray(path.read_bytes())
    struct.pack_into("<L", data, data.rfind(b"PK\x05\x06") + 12, (1 << 32) - 2)
    path.write_bytes(data)
    refused_whole(path, errors.BundleTooLarge)


@pytest.mark.parametrize("version", [2, 99, "3", None, True, 10**40])
def test_one_of_a_newer_format_is_left_alone(tmp_path, version):
    path = zipped(tmp_path / "a.zip", told(held(SOUL), schema_version=version, files="new"), {"x": b""})
    assert "newer" in refused_whole(path, errors.NewerBundle)


@pytest.mark.parametrize(
    "change",
    [
        {"files": 3},
        {"folders": []},
        {"folders": ["a"]},
        {"folders": ["", ""]},
        {"scope": "all"},
        {"hidden": "x"},
    ],
)
def test_a_manifest_that_makes_no_sense_is_told(tmp_path, change):
    refused_whole(
        zipped(tmp_path / "a.zip", told(held(SOUL), **change), {"files/SOUL.md": b"kind\n"}), CarrelError
    )


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"x\') --":1}',
        b'{"a b":1}',
        b"[1]",
        b'{"name":{"deep":1},"value":"x"}',
        b'{"name":"layout"}',
        b'{"name":"layout","value":3,"more":1}',
        b'{"name":"layout","value":99999999999999999999999}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_row_that_is_none_is_told_and_nothing_is_kept(tmp_path, line):
    table = {"folder": "", "table": "facts_of_workspace", "rows": 1, "entry": "records/f.jsonl"}
    path = zipped(tmp_path / "a.zip", told(held(table, line + b"\n")), {"records/f.jsonl": line + b"\n"})
    refused_whole(path, CarrelError)
    with closing(open_bundle(path)) as bundle:
        found = verify(bundle, "a.zip")
    assert len(found.damaged) == 1


@pytest.mark.parametrize("table", ["sqlite_master", "queries", "facts; DROP TABLE facts"])
def test_a_table_that_records_do_not_have_is_refused(tmp_path, table):
    item = held({"folder": "", "table": table, "rows": 1, "entry": "records/f.jsonl"}, b"{}\n")
    refused_whole(zipped(tmp_path / "a.zip", told(item), {"records/f.jsonl": b"{}\n"}), errors.UnsafeBundle)


def test_a_key_that_came_in_a_file_opens_nothing(tmp_path):
    row = {"id": "abc", "name": "evil", "digest": "0" * 64, "reach": "admin", "scope": "main"}
    line = json.dumps(row | {"created": 1, "expires": None, "revoked": None}).encode() + b"\n"
    item = held({"folder": "", "table": "keys", "rows": 1, "entry": "records/keys.jsonl"}, line)
    path = zipped(tmp_path / "a.zip", told(item), {"records/keys.jsonl": line})
    restore(path, tmp_path / "into", environ={"CARREL_HOME": str(tmp_path / "home")})
    from carrel.records.sqlite import SqliteRecords  # noqa: PLC0415 - what is kept, whoever asks

    records = SqliteRecords(tmp_path / "into/.carrel/state/records.db")
    assert [key.digest for key in records.keys.all()] == [""]
    records.close()


@pytest.mark.parametrize(
    "name", ["agent.1.main.md", "agent.0123456789abcdef.main.md", "profile.dev.md", "x.md"]
)
def test_a_namespace_of_somebody_else_is_not_brought_in(tmp_path, name):
    item = held({"part": "namespaces", "path": name, "entry": f"namespaces/{name}"})
    path = zipped(tmp_path / "a.zip", told(item), {f"namespaces/{name}": b"kind\n"})
    restored = restore(path, tmp_path / "into", environ={"CARREL_HOME": str(tmp_path / "home")})
    assert [finding.code for finding in restored.findings] == ["namespace_not_restored"]
    assert not list((tmp_path / "home").rglob("*.md"))


def test_what_is_no_bundle_is_told_by_its_kind(tmp_path):
    for name, data in {
        "a.zip": b"",
        "b.zip": b"\x1f\x8bgzip",
        "c.json": b'{"a":1}',
        "d.md": b"# Hello",
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(errors.NotABundle):
            open_bundle(tmp_path / name)
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as target:
        target.writestr("SOUL.md", "kind")
    with pytest.raises(errors.NotABundle, match="manifest"):
        open_bundle(tmp_path / "e.zip")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(errors.NotABundle):
            open_bundle(path)
    with pytest.raises(errors.NoSuchBundle):
        open_bundle(tmp_path / "none.zip")


def test_one_that_was_cut_off_anywhere_is_damaged(tmp_path):
    whole = zipped(tmp_path / "a.zip", told(held(SOUL)), {"files/SOUL.md": b"kind\n"}).read_bytes()
    for size in range(5, len(whole), 7):
        path = tmp_path / "cut.zip"
        path.write_bytes(whole[:size])
        with pytest.raises(errors.BundleDamaged):
            open_bundle(path)


def test_whatever_byte_is_wrong_no_other_error_comes_of_it(tmp_path):
    whole = zipped(tmp_path / "a.zip", told(held(SOUL)), {"files/SOUL.md": b"kind\n"}).read_bytes()
    path = tmp_path / "bad.zip"
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with suppress(CarrelError), closing(open_bundle(path)) as bundle:
            verify(bundle, "bad.zip")
