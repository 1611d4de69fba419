"""`carrel export`: all of a workspace, or what a person reads of it, and nothing that is not for who gets it."""

import io
import json
import re
import sys
import zipfile
from contextlib import closing
from html.parser import HTMLParser

import pytest
from tests.surfaces.test_migrate_cli import ADDRESS, fill

from carrel.bundle import read, rows
from carrel.bundle.reading import open_bundle, verify

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"


@pytest.fixture
def feed(monkeypatch):
    def given(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))

    return given


@pytest.fixture
def lived_in(cli, feed, tmp_path):
    root = tmp_path / "desk"
    assert cli("init", root).code == 0
    fill(cli, feed, root)
    (root / "MEMORY.md").write_text("# Memory\n\n## People\n\n- Ana keeps bees.\n")
    (root / "memory/2026-04-23.md").write_text("- 10:00 A quiet day.\n")
    return root


def exported(cli, place, to, *more):
    outcome = cli("-C", place, "export", "--to", to, "--json", *more)
    assert outcome.code == 0, outcome.text
    return outcome.document


def test_zip_and_json_hold_the_same(cli, lived_in, tmp_path):
    (lived_in / "pic.bin").write_bytes(bytes(range(256)))
    told = exported(cli, lived_in, tmp_path / "a.zip")
    assert told == exported(cli, lived_in, tmp_path / "a.json") | {"format": "zip", "file": told["file"]}
    with closing(open_bundle(tmp_path / "a.zip")) as one, closing(open_bundle(tmp_path / "a.json")) as two:
        assert one.manifest == two.manifest
        for held in one.manifest.files:
            assert read(one, held) == read(two, held)
        for table in one.manifest.tables:
            assert list(rows(one, table)) == list(rows(two, table))
        assert verify(two, "a.json").damaged == ()


def test_json_goes_to_standard_output_as_one_document(cli, lived_in):
    document = cli("-C", lived_in, "export", "--json").document
    assert document["kind"] == "carrel.bundle"
    soul = next(each for each in document["files"] if each["path"] == "SOUL.md")
    assert soul["text"] == (lived_in / "SOUL.md").read_text()
    assert any(table["table"] == "facts" and table["lines"] for table in document["tables"])
    assert cli("-C", lived_in, "export", "--format", "json").document == document


def test_an_export_comes_back_as_an_equal_workspace(cli, lived_in, tmp_path):
    for name in ("a.zip", "a.json"):
        exported(cli, lived_in, tmp_path / name)
        back = tmp_path / f"back-{name}"
        assert cli("backup", "restore", tmp_path / name, "--into", back).code == 0
        assert cli("trust", back).code == 0
        exported(cli, back, tmp_path / f"again-{name}")
        assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_credentials_are_left_out_and_told(cli, lived_in, tmp_path):
    (lived_in / ".env").write_text("TOKEN=1")
    (lived_in / "certs").mkdir()
    (lived_in / "certs/server.pem").write_text("x")
    told = exported(cli, lived_in, tmp_path / "a.zip")
    assert {each["path"] for each in told["left_out"]} == {".env", "certs/server.pem"}
    assert not [
        name for name in zipfile.ZipFile(tmp_path / "a.zip").namelist() if "env" in name or "pem" in name
    ]
    assert "left out: .env" in cli("-C", lived_in, "export", "--to", tmp_path / "b.zip").warnings


def test_a_credential_that_the_owner_lets_in_is_exported(cli, lived_in, tmp_path):
    (lived_in / "secrets.md").write_text("How we keep secrets.")
    (lived_in / ".carrelignore").write_text("!secrets.md\n")
    assert exported(cli, lived_in, tmp_path / "a.zip")["left_out"] == []
    assert "files/secrets.md" in zipfile.ZipFile(tmp_path / "a.zip").namelist()


def test_the_owner_is_told_of_secrets_in_a_whole_export(cli, lived_in, tmp_path):
    (lived_in / "notes.md").write_text(f"key: {SECRET}\n")
    told = exported(cli, lived_in, tmp_path / "a.zip")
    assert [finding["code"] for finding in told["findings"]] == ["secrets_exported"]
    assert "notes.md" in told["findings"][0]["message"]


@pytest.mark.parametrize("form", ["zip", "json", "md", "html"])
def test_shared_scope_gets_only_what_others_may_see(cli, lived_in, tmp_path, form):
    (lived_in / "open.md").write_text(f"Ports are open. key: {SECRET}\n")
    (lived_in / "mine.md").write_text("---\nscope: private\n---\nThe zebra is mine.\n")
    (lived_in / ".env").write_text("TOKEN=zebra")
    told = exported(cli, lived_in, tmp_path / f"a.{form}", "--scope", "shared")
    assert told["hidden"] > 3
    assert told["records"] == 0
    data = (tmp_path / f"a.{form}").read_bytes()
    if form == "zip":
        opened = zipfile.ZipFile(tmp_path / "a.zip")
        data = b"".join(name.encode() + opened.read(name) for name in opened.namelist())
    assert b"Ports are open." in data
    for private in (
        b"zebra",
        b"Ana keeps bees",
        b"Otto",
        b"Read the log first",
        b"quiet day",
        SECRET.encode(),
    ):
        assert private not in data
    for name in (b"mine.md", b"USER.md", b".env", b"audit"):
        assert name not in data
    assert b"REDACTED" in data


def test_markdown_reads_as_one_text(cli, lived_in):
    text = cli("-C", lived_in, "export", "--format", "markdown").text
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    assert headings == ["Persona", "Memory", "Journal", "Knowledge, skills and other files", "Sessions"]
    assert "\n### skills/weekly-review/SKILL.md\n" in text
    assert "\n### MEMORY.md\n\n#### Memory\n\n##### People\n\n- Ana keeps bees.\n" in text
    assert "\n### memory/2026-04-23.md\n" in text
    assert "> I keep a parrot called Otto" in text
    assert "Retry with jitter." in text  # what the agent learnt beyond this workspace
    assert "---\n" not in text.partition("## Sessions")[0]


def test_pages_for_people_have_no_secrets(cli, lived_in, tmp_path):
    (lived_in / "open.md").write_text(f"key: {SECRET}\n")
    for name in ("a.md", "a.html"):
        exported(cli, lived_in, tmp_path / name)
        assert SECRET not in (tmp_path / name).read_text()
        assert "[REDACTED:" in (tmp_path / name).read_text()


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.shown = list[str](), list[tuple[str, str | None]](), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.shown += data


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>[x](javascript:alert(3)) ![i](https://evil.example/i.png)"


def test_a_page_runs_nothing_and_loads_nothing_whatever_the_files_say(cli, feed, lived_in, tmp_path):
    for path in ("SOUL.md", "MEMORY.md", "memory/2026-04-23.md", 'x"><script>.md'):
        (lived_in / path).write_text(f"# {HOSTILE}\n\n{HOSTILE}\n\n```html\n</pre>{HOSTILE}\n```\n")
    assert cli("-C", lived_in, "memory", "add", HOSTILE).code == 0
    call = {"id": "c1", "name": HOSTILE, "arguments": {"q": HOSTILE}}
    said = [
        {"role": "user", "content": HOSTILE, "message_id": "m9", "sender_id": "u1"},
        {"role": "assistant", "content": "", "message_id": "m10", "tool_calls": [call]},
        {"role": "tool", "content": f"</pre>{HOSTILE}", "message_id": "m11", "tool_call_id": "c1"},
    ]
    feed("".join(json.dumps(each) + "\n" for each in said))
    assert cli("-C", lived_in, "sessions", "record", "--session", "evil").code == 0
    exported(cli, lived_in, tmp_path / "a.html")
    page = Tags((tmp_path / "a.html").read_text())
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "srcset")]
    links = [value or "" for name, value in page.attributes if name in ("href", "xlink:href")]
    assert all(link.startswith(("#", "http")) for link in links)
    assert "url(http" not in (tmp_path / "a.html").read_text()
    assert "alert(2)" in page.shown


def test_a_page_tells_of_context_memory_evidence_sessions_and_health(cli, lived_in, tmp_path):
    exported(cli, lived_in, tmp_path / "a.html")
    page = Tags((tmp_path / "a.html").read_text())
    for words in ("What the model reads", "SOUL.md", "Ana prefers tea.", "Ana keeps bees.", "A quiet day."):
        assert words in page.shown
    assert "I keep a parrot called Otto" in page.shown
    assert "skills/weekly-review/SKILL.md" in page.shown
    assert "Health" in page.shown
    assert "svg" in page.tags


def test_without_the_explorer_a_page_is_plain_and_whole(process, cli, lived_in, tmp_path):
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.modules['markdown_it'] = None\n"
        "from carrel.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    done = process("-C", lived_in, "export", "--to", tmp_path / "a.html", python=("-c", code))
    assert done.code == 0, done.warnings
    assert "Ana keeps bees." in (tmp_path / "a.html").read_text()


def test_the_format_must_be_known_and_the_file_new(cli, lived_in, tmp_path):
    for words in (
        (),
        ("--to", tmp_path / "a.tar"),
        ("--to", "", "--format", "zip"),
        ("--format", "zip"),
        ("--format", "markdown", "--json"),
    ):
        outcome = cli("-C", lived_in, "export", *words)
        assert outcome.code == 2, words
    (tmp_path / "a.zip").write_text("mine")
    refused = cli("-C", lived_in, "export", "--to", tmp_path / "a.zip", "--json")
    assert (refused.code, refused.error["code"]) == (5, "file_taken")
    assert (tmp_path / "a.zip").read_text() == "mine"


@pytest.mark.parametrize("words", [("export",), ("backup", "create")])
def test_a_file_inside_of_what_it_is_made_of_is_told(cli, lived_in, tmp_path, words):
    for place, is_inside in ((lived_in / "a.zip", True), (tmp_path / "a.zip", False)):
        done = cli("-C", lived_in, *words, "--to", place)
        assert done.code == 0
        assert ("written_inside" in done.warnings) is is_inside


def test_a_dry_run_tells_and_writes_nothing(cli, lived_in, tmp_path):
    told = exported(cli, lived_in, tmp_path / "a.zip", "--dry-run")
    assert told["files"] > 5
    assert not (tmp_path / "a.zip").exists()


def test_a_workspace_in_a_database_is_exported(cli, database, feed, tmp_path):
    cli.set(CARREL_DATABASE_URL=database)
    assert cli("init", ADDRESS).code == 0
    fill(cli, feed, ADDRESS)
    for name in ("a.zip", "a.json", "a.md", "a.html"):
        assert exported(cli, ADDRESS, tmp_path / name)["files"] > 3
    with closing(open_bundle(tmp_path / "a.zip")) as bundle:
        assert verify(bundle, "a.zip").damaged == ()
