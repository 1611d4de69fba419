"""`carrel files`: what people and programs see, and the exit codes."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def give(monkeypatch: pytest.MonkeyPatch):
    """Return what puts bytes on standard input."""

    def given(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return given


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


SAMPLE = {
    "carrel.yaml": "layout: carrel\n",
    "AGENTS.md": "Be brief.\n",
    "USER.md": "CANARY\n",
    "memory/2026-04-24.md": "CANARY\n",
    "wish.md": "<!-- scope: private -->\nCANARY\n",
    "knowledge/KNOWLEDGE.md": "Start here.\n",
    "data.bin": b"\0\1",
}


def test_a_tree_is_drawn_with_sizes_tokens_and_states(cli, desk) -> None:
    desk.put({**SAMPLE, "long.md": "word " * 30_000, "README.md": "x"})
    for name in ("AGENTS.md", "long.md"):
        os.utime(desk / name, ns=(0, 1_777_032_000_000_000_000))
    done = cli("-C", desk, "files", "tree")
    assert done.code == 0
    lines = done.text.splitlines()
    assert re.fullmatch(r" +10 B  2026-04-24 12:00          3  in       ├── AGENTS.md", lines[1])
    assert any(
        re.fullmatch(r" +150\.0 kB  2026-04-24 12:00     30,00\d  cut      ├── long\.md \(limit\)", x)
        for x in lines
    )
    assert any(re.search(r"out      ├── README\.md \(not_for_prompt\)", line) for line in lines)
    assert any(line.endswith("│   └── KNOWLEDGE.md") for line in lines)
    assert lines[-1].startswith("9 files · 2 directories · 150.1 kB · ~30,0")


def test_a_stream_has_a_node_a_line_and_the_totals_last(cli, desk) -> None:
    desk.put(SAMPLE)
    *nodes, last = [json.loads(line) for line in cli("files", "tree", "-C", desk, "--json").text.splitlines()]
    assert list(nodes[0]) == [
        "path", "kind", "size", "modified", "tokens", "tokens_exact", "state", "reason", "target",
    ]  # fmt: skip
    assert {"files", "directories", "other", "bytes", "tokens", "tokens_exact"} == set(last["totals"])
    assert last["schema_version"] == 1
    assert last["totals"]["files"] == sum(node["kind"] == "file" for node in nodes) == len(SAMPLE)
    assert last["totals"]["bytes"] == sum(node["size"] for node in nodes)
    assert last["totals"]["tokens"] == sum(node["tokens"] or 0 for node in nodes)


def test_a_part_of_the_tree_can_be_asked_for(cli, desk) -> None:
    desk.put({"a/b/c.md": "", "a/d.md": "", ".git/HEAD": "x"})

    def shown(*words: str) -> list[str]:
        lines = cli("-C", desk, "files", "tree", "--json", *words).text.splitlines()[:-1]
        return [json.loads(line)["path"] for line in lines]

    assert shown("a") == ["a/b", "a/b/c.md", "a/d.md"]
    assert shown("a", "--depth", "1") == ["a/b", "a/d.md"]
    assert shown(".", "--depth", "1") == [".git", "a"]
    assert ".git/HEAD" in shown("--all")
    assert cli("-C", desk, "files", "tree", "nope", "--json").error["code"] == "no_such_path"
    assert cli("-C", desk, "files", "tree", "nope").code == 3
    assert cli("-C", desk, "files", "tree", "--depth", "0").code == 2
    assert cli("-C", desk, "files", "tree", "../x").code == 2


def test_a_name_that_is_not_unicode_can_be_asked_for_again(cli, desk) -> None:
    desk.put({"bytes\udcff.md": "x"})
    (node, _) = [json.loads(line) for line in cli("-C", desk, "files", "tree", "--json").text.splitlines()]
    assert node["path"] == "bytes\udcff.md"
    assert cli("-C", desk, "files", "cat", node["path"]).text == "x"


def test_no_name_moves_the_cursor(cli, desk) -> None:
    desk.put({"esc\x1b[2J.md": "x", "new\nline/x.md": "x"})
    (desk / "link.md").symlink_to("esc\x1b[2J.md")
    drawn = cli("-C", desk, "files", "tree").text
    assert "\x1b" not in drawn
    assert "new\\u000aline/" in drawn


@pytest.mark.parametrize(
    "verb", [["tree"], ["tree", "--json"], ["tree", "--all"], ["tree", "--all", "--json"]]
)
def test_shared_scope_never_sees_what_is_the_owners(cli, desk, verb: list[str]) -> None:
    desk.put({**SAMPLE, ".carrel/state/trash/x/notes.md": "CANARY"})
    text = cli("-C", desk, "--scope", "shared", "files", *verb).text
    assert "AGENTS.md" in text
    for name in ("CANARY", "USER", "memory", "2026-04-24.md", "wish", "trash", "private"):
        assert name not in text


def test_shared_scope_is_refused_every_verb(cli, desk, give) -> None:
    desk.put({**SAMPLE, ".carrel/state/trash/x/notes.md": "CANARY"})
    before = desk.snapshot()
    for path in (
        "USER.md",
        "wish.md",
        "memory/2026-04-24.md",
        "memory/none.md",
        ".carrel/state/trash/x/notes.md",
    ):
        for words in (
            ["cat", path],
            ["put", path],
            ["rm", path],
            ["mv", path, "mine.md"],
            ["mv", "AGENTS.md", path],
        ):
            give(b"x")
            done = cli("-C", desk, "--scope", "shared", "--json", "files", *words)
            # What is private by what it holds is not there, unless something would be put in its place.
            is_absent = path == "wish.md" and words[1] == path and words[0] != "put"
            assert done.error["code"] in (("no_such_path",) if is_absent else ("hidden_by_scope", "reserved"))
            assert "CANARY" not in done.text + done.warnings
    assert desk.snapshot() == before
    assert cli("-C", desk, "--scope", "nobody", "files", "tree").code == 2


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbfBOM", b"a\r\nb", "é😀 \u2028\n".encode(), b"no newline"])
def test_cat_prints_exactly_the_bytes(cli, desk, data: bytes) -> None:
    desk.put({"a.md": data})
    assert cli("-C", desk, "files", "cat", "a.md").out == data
    document = cli("-C", desk, "files", "cat", "a.md", "--json").document
    assert document["text"].encode() == data
    assert (document["digest"], document["size"]) == (sha(data), len(data))


def test_cat_refuses_what_it_cannot_print(cli, desk) -> None:
    desk.put({"zero.bin": b"\0", "latin.txt": b"caf\xe9", "docs/a.md": ""})
    os.mkfifo(desk / "pipe")
    (desk / "out").symlink_to("/etc/passwd")
    codes = {
        path: (
            cli("-C", desk, "files", "cat", path).code,
            cli("-C", desk, "--json", "files", "cat", path).error["code"],
        )
        for path in ("zero.bin", "latin.txt", "docs", "pipe", "out", "nope")
    }
    assert codes == {
        "zero.bin": (6, "binary_file"), "latin.txt": (6, "binary_file"), "docs": (1, "unreadable"),
        "pipe": (1, "unreadable"), "out": (1, "unreadable"), "nope": (3, "no_such_path"),
    }  # fmt: skip


def test_put_prints_the_digest_that_the_next_put_expects(cli, desk, give) -> None:
    desk.put({})
    give(b"one\r\n\0")
    done = cli("-C", desk, "files", "put", "notes/a.md")
    one = b"one\r\n\0"
    assert (done.code, done.text) == (0, sha(one) + "\n")
    assert (desk / "notes/a.md").read_bytes() == one
    give(b"two")
    done = cli("-C", desk, "files", "put", "--expect", done.text.strip().upper(), "notes/a.md", "--json")
    assert done.document == {
        "schema_version": 1, "path": "notes/a.md", "digest": sha(b"two"), "size": 3, "replaced": sha(one),
        "change": 2,
    }  # fmt: skip
    give(b"three")
    stale = cli("-C", desk, "files", "put", "--expect", sha(b"one"), "notes/a.md", "--json")
    assert (stale.code, stale.error["code"]) == (5, "stale")
    give(b"three")
    assert cli("-C", desk, "files", "put", "--expect", "absent", "notes/a.md").code == 5
    give(b"three")
    assert cli("-C", desk, "files", "put", "--expect", "abc", "notes/a.md").code == 2
    assert (desk / "notes/a.md").read_bytes() == b"two"


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("../x", (2, "bad_path")), ("/tmp/x", (2, "bad_path")), ("CON", (2, "bad_path")), (".git/x", (6, "reserved")),
        (".", (2, "usage")), ("agents.MD", (2, "name_taken")), ("AGENTS.md/x", (1, "unreadable")),
    ],
)  # fmt: skip
def test_put_writes_only_where_it_may(cli, desk, give, path: str, outcome: tuple[int, str]) -> None:
    desk.put(SAMPLE)
    give(b"x")
    done = cli("-C", desk, "files", "put", path, "--json")
    assert (done.code, done.error["code"]) == outcome
    assert {str(p.relative_to(desk)) for p in desk.path.rglob("*") if p.is_file()} == set(SAMPLE)
    assert (desk / "AGENTS.md").read_text() == "Be brief.\n"


def test_mv_moves_and_never_overwrites(cli, desk) -> None:
    desk.put(SAMPLE)
    done = cli("-C", desk, "files", "mv", "AGENTS.md", "docs/", "--json")
    assert done.document["target"] == "docs/AGENTS.md"
    assert (desk / "docs/AGENTS.md").read_text() == "Be brief.\n"
    assert not (desk / "AGENTS.md").exists()
    taken = cli("-C", desk, "files", "mv", "docs/AGENTS.md", "USER.md")
    assert taken.code == 5
    assert "exists already" in taken.warnings
    assert cli("-C", desk, "files", "mv", "nope", "x").code == 3


def test_rm_says_where_it_keeps_the_file(cli, desk) -> None:
    cli("init", desk)
    desk.put({"notes/a.md": "one"})
    kept = cli("-C", desk, "files", "rm", "notes/a.md", "--json").document["kept"]
    assert kept == f"{desk.path}/.carrel/state/trash/2026-04-24T120000Z-{sha(b'one')[:8]}/notes/a.md"
    assert Path(kept).read_text() == "one"
    assert not (desk / "notes/a.md").exists()
    desk.put({"notes/b.md": "two"})
    assert "kept as" in cli("-C", desk, "files", "rm", "notes/b.md").text
    assert cli("-C", desk, "files", "rm", "notes/b.md").code == 3


def test_rm_leaves_no_trace_in_a_workspace_that_is_not_trusted(cli, desk) -> None:
    desk.put({"a.md": "one", "b.md": ""})
    kept = Path(cli("-C", desk, "files", "rm", "a.md", "--json").document["kept"])
    assert kept.is_relative_to(cli.home)
    assert kept.read_text() == "one"
    assert os.listdir(desk) == ["b.md"]  # noqa: PTH208


def test_every_verb_has_help_with_examples(cli) -> None:
    for verb in ("tree", "cat", "put", "mv", "rm"):
        text = cli("files", verb, "--help").text
        assert "Examples:\n" in text
        assert "\\b" not in text


def test_a_reader_that_leaves_early_is_no_failure(process, desk) -> None:
    desk.put({f"{n}.md": "" for n in range(3000)})
    command = subprocess.Popen(
        [sys.executable, "-m", "carrel", "-C", str(desk.path), "files", "tree", "--json"],
        env=process.environment({"PYTHONPATH": str(Path(__file__).parents[2] / "src")}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None
    assert command.stderr is not None
    assert json.loads(command.stdout.readline())["path"] == "0.md"
    command.stdout.close()
    assert command.stderr.read() == b""
    command.stderr.close()
    assert command.wait() == 0


@pytest.mark.parametrize(
    "verb", [["files", "put", "SOUL.md"], ["memory", "add"], ["memory", "append", "SOUL.md", "Soul"]]
)
def test_closed_standard_input_is_told_and_empties_no_file(cli, sample, monkeypatch, verb):
    before = sample.snapshot()
    monkeypatch.setattr(sys, "stdin", None)
    outcome = cli("-C", sample, *verb)
    assert outcome.code == 2
    assert outcome.warnings.startswith("error[usage]: Standard input is closed")
    assert sample.snapshot() == before
