"""--dry-run: every command that writes takes it, tells what would change, and changes not one byte anywhere."""

import asyncio
import io
import json
import os
import sqlite3
import stat
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import click
import pytest
from tests.conftest import NOW, SAMPLE, Cli, snapshot
from tests.stubs import openai
from tests.stubs.embeddings import EmbeddingsStub, embedded
from tests.stubs.openai import OpenAIStub

from carrel import Workspace
from carrel.backing import create
from carrel.cli.main import carrel as program
from carrel.records.keys import mint
from carrel.records.proposals import Proposal

READERS = {
    "agents list", "agents show", "backup verify", "config schema", "config show", "config validate",
    "context diff", "context explain", "context report", "database workspaces", "dream candidates",
    "dream status", "files cat", "files tree", "health", "index status", "jobs list", "jobs show", "keys list",
    "memory diff", "memory facts", "memory history", "memory search", "memory sections", "memory show",
    "memory status", "namespaces export", "namespaces list", "search", "sessions forecast", "sessions list",
    "sessions search", "sessions show", "sessions tail", "skills lint", "skills list", "skills show",
    "tools list", "completion",
}  # fmt: skip
OTHERS = {"serve", "mcp", "hook", "demo", "bench"}
"""What they do, those who call them ask for; the demo works on a workspace of its own."""

MESSAGE = '{"role": "user", "content": "Ana moved to Lima."}\n'
WRITERS = {
    "init": ["init", "another"],
    "restore": ["restore", "DESK"],
    "trust": ["trust", "STRANGER"],
    "context show": ["context", "show", "--prepare", "--session", "s1", "--query", "Ana"],
    "chat": ["chat", "--session", "s1"],
    "index rebuild": ["index", "rebuild"],
    "index sync": ["index", "sync"],
    "memory add": ["memory", "add", "Luis likes tea.", "--layer", "experience"],
    "memory append": ["memory", "append", "MEMORY.md", "People", "- Luis likes tea."],
    "memory consolidate": ["memory", "consolidate"],
    "memory extract": ["memory", "extract"],
    "memory forget": ["memory", "forget", "FACT", "--purge"],
    "memory move": ["memory", "move", "stack.md", "Two"],
    "memory pin": ["memory", "pin", "FACT"],
    "memory rename": ["memory", "rename", "MEMORY.md", "People", "Friends"],
    "memory replace": ["memory", "replace", "MEMORY.md", "People", "- Nobody."],
    "memory review approve": ["memory", "review", "approve", "--all"],
    "memory review reject": ["memory", "review", "reject", "--all"],
    "memory undo": ["memory", "undo"],
    "dream run": ["dream", "run"],
    "dream revert": ["dream", "revert"],
    "namespaces disable": ["namespaces", "disable", "NAMESPACE"],
    "namespaces enable": ["namespaces", "enable", "NAMESPACE"],
    "namespaces rename": ["namespaces", "rename", "NAMESPACE", "What Kate knows"],
    "sessions compact": ["sessions", "compact", "s2"],
    "sessions delete": ["sessions", "delete", "s1"],
    "sessions export": ["sessions", "export", "s1", "--to", "s1.md"],
    "sessions fork": ["sessions", "fork", "s1"],
    "sessions record": ["sessions", "record", "--session", "s1"],
    "sweep": ["sweep"],
    "jobs retry": ["jobs", "retry", "JOB"],
    "tools call": ["tools", "call", "write_file", "--args", '{"path": "notes/new.md", "content": "New."}'],
    "files mv": ["files", "mv", "team.md", "notes/"],
    "files put": ["files", "put", "team.md"],
    "files rm": ["files", "rm", "team.md"],
    "keys create": ["keys", "create", "ci"],
    "keys revoke": ["keys", "revoke", "KEY"],
    "export": ["export", "--to", "desk.zip"],
    "backup create": ["backup", "create"],
    "backup restore": ["backup", "restore", "BACKUP", "--into", "another"],
    "import": ["import", "VAULT"],
    "integrate": ["integrate", "claude", "install"],
    "migrate": ["migrate", "--to", "another"],
}  # fmt: skip
NO_CHANGE = {"index sync", "index rebuild", "namespaces disable"}
"""What is derived from files does not count, and a new namespace is nobody else's already."""
MAY_FAIL = {"dream revert"}
"""There is nothing to take back, and so there would not be anything."""
FORETELLING = {
    "memory consolidate",
    "memory forget",
    "dream run",
    "sessions compact",
    "sessions export",
    "export",
}
FORETELLING |= {"backup create", "backup restore", "import", "integrate", "migrate", "database migrate"}


def commands(group=program, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def test_every_command_only_reads_or_takes_dry_run():
    for name, command in commands():
        takes = any("--dry-run" in parameter.opts for parameter in command.params)
        assert takes == (name not in READERS | OTHERS), name
        assert not takes or name in WRITERS or name == "database migrate", f"{name} is not tried below"


async def one_turn(workspace, text):
    async for _ in workspace.turn("s1", text):
        pass


class Studio:
    """A workspace in which every command finds something to change, with a home and a project around it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {"CARREL_HOME": str(folder / "home"), "CARREL_NOW": NOW, "HOME": str(folder)}
        self.desk = folder / "desk"
        for name, text in SAMPLE.items():
            (self.desk / name).parent.mkdir(parents=True, exist_ok=True)
            (self.desk / name).write_text(text)
        (self.desk / "stack.md").write_text("# One\n\n1\n\n# Two\n\n2\n")
        (folder / "stranger").mkdir()
        (folder / "stranger/carrel.yaml").write_text("layout: carrel\nmodel: {name: 'openai:gpt-5'}\n")
        (folder / "vault/.obsidian").mkdir(parents=True)
        (folder / "vault/Tea.md").write_text("# Tea\n\n- Green.\n")
        Workspace.trust(self.desk, environ=self.environ)
        with Workspace.open(self.desk, environ=self.environ) as workspace:
            self._fill(workspace)
        self.names["BACKUP"] = str(self._backup())
        self.names |= {
            "DESK": str(self.desk),
            "STRANGER": str(folder / "stranger"),
            "VAULT": str(folder / "vault"),
        }

    def _fill(self, workspace: Workspace) -> None:
        for number in range(6):
            asyncio.run(one_turn(workspace, f"I decided that door {number} is for API calls."))
        said = [{"role": role, "content": "tea " * 200} for _ in range(12) for role in ("user", "assistant")]
        workspace.record("s2", said)
        kept = workspace.memory.add("Ana uses a Samsung and lives in Quito.")
        workspace.memory.add("Prefers short replies.", layer="experience")
        workspace.search("Ana")
        now = workspace.config.clock.now()
        queue = workspace.records.queue
        queue.put("odd", {}, key="odd")
        failed = queue.take(["odd"], now=now, lease=timedelta(minutes=1), worker="test")
        queue.fail(failed, "It is odd.", retry_at=None)
        workspace.records.proposals.add(
            Proposal(
                key="p", at=now, agent="kate", actor="extract", action="append", why="external_source",
                reason="It came from a tool.", path="MEMORY.md", section="People", new="- Luis likes tea.",
            )
        )  # fmt: skip
        key, _ = mint(name="old", right="read", scope="shared", now=now, expires=None)
        workspace.records.keys.add(key)
        self.names = {
            "FACT": kept.written[0].id,
            "KEY": key.id,
            "JOB": str(failed.id),
            "NAMESPACE": workspace.memory.namespaces.list()[0].key,
        }

    def _backup(self) -> Path:
        return Path(create(self.desk, self.folder / "desk-backup.zip", environ=self.environ).file)

    def words(self, name: str) -> list[str]:
        return [self.names.get(word, word) for word in WRITERS[name]]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("studio"))


@pytest.fixture
def run(studio: Studio, cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def run(*words: str, given: str = MESSAGE):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        return cli("-C", studio.desk, *words, cwd=studio.folder)

    cli.set(**studio.environ)
    return run


@pytest.mark.parametrize("name", sorted(WRITERS))
def test_a_dry_run_tells_what_would_change_and_changes_not_one_byte(studio, run, name, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    before = snapshot(studio.folder)
    outcome = run(*studio.words(name), "--dry-run", "--json")
    assert snapshot(studio.folder) == before
    assert "carrel-dry-run" not in outcome.text + outcome.warnings
    assert not list(tmp_path.glob("carrel-dry-run*"))
    if name in MAY_FAIL:
        assert outcome.error
        return
    assert outcome.code == 0, outcome.text + outcome.warnings
    document = json.loads(outcome.text.splitlines()[-1])
    assert document.get("dry_run", True) is True
    if name not in FORETELLING:
        assert document["dry_run"]
        told = document["would_change"]
        assert bool(told["files"] or told["records"]) == (name not in NO_CHANGE)


def test_a_dry_run_of_a_move_into_a_database_leaves_no_trace_here(studio, run):
    before = snapshot(studio.folder)
    outcome = run("migrate", "--to", "pg://acme/studio", "--dry-run", "--json")
    assert (outcome.code, outcome.document["target"]) == (0, "pg://acme/studio")
    assert snapshot(studio.folder) == before


def changed_files(before, after, root):
    """What differs between two snapshots, outside our own folder."""
    old, new = ({item[0]: item[-1] for item in each if stat.S_ISREG(item[1])} for each in (before, after))
    changed = {os.fsdecode(path) for path in {*old, *new} if old.get(path) != new.get(path)}
    return {os.path.relpath(path, root) for path in changed if "/.carrel/" not in path}


@pytest.mark.parametrize(
    "words",
    [
        ["files", "rm", "team.md"],
        ["files", "mv", "team.md", "notes/"],
        ["memory", "append", "MEMORY.md", "People", "- Luis likes tea."],
        ["tools", "call", "write_file", "--args", '{"path": "new.md", "content": "New."}'],
    ],
    ids=" ".join,
)
def test_what_a_dry_run_foretells_is_what_the_command_then_does(cli, sample, words):
    cli("trust", sample)
    foretold = cli("-C", sample, *words, "--dry-run", "--json").document["would_change"]["files"]
    before = sample.snapshot()
    assert cli("-C", sample, *words).code == 0
    told = {each["path"] for each in foretold if not each["path"].startswith(".carrel/")}
    assert told == changed_files(before, sample.snapshot(), sample.path)
    assert told


def test_a_person_is_shown_the_lines_that_would_change_and_what_to_do_next(cli, sample):
    outcome = cli(
        "-C", sample, "memory", "replace", "MEMORY.md", "People", "- Ana uses a Nokia.", "--dry-run"
    )
    assert outcome.text.startswith("Dry run")
    assert "    -- Ana uses a Samsung.\n    +- Ana uses a Nokia.\n" in outcome.text
    assert outcome.text.endswith("Nothing was changed. Next: the same command without --dry-run\n")


def test_others_learn_how_much_would_change_and_not_what(cli, sample):
    told = cli("-C", sample, "--scope", "shared", "files", "rm", "team.md", "--dry-run", "--json")
    assert told.document["would_change"] == {"count": 2}
    assert "Two people" not in told.text


def test_an_error_is_the_one_that_the_command_would_end_with(cli, sample):
    before = sample.snapshot()
    outcome = cli("-C", sample, "files", "rm", "nowhere.md", "--dry-run", "--json")
    assert (outcome.code, outcome.error["code"]) == (3, "no_such_path")
    assert sample.snapshot() == before


def test_a_workspace_in_a_database_is_not_copied_and_the_hint_says_what_to_do(cli):
    cli.set(CARREL_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    outcome = cli("-C", "pg://acme/studio", "files", "rm", "team.md", "--dry-run", "--json")
    assert outcome.error["code"] == "dry_run_elsewhere"
    assert "backup" in outcome.error["hint"]


def test_the_home_that_an_agent_has_elsewhere_is_not_touched_either(cli, desk, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "MEMORY.md").write_text("## People\n\n- Ana.\n")
    desk.put({"carrel.yaml": f"layout: carrel\nagents: [{{id: kate, workspace: {elsewhere}}}]\n"})
    cli("trust", desk)
    before = snapshot(elsewhere)
    told = cli(
        "-C", desk, "memory", "append", "MEMORY.md", "People", "- Luis.", "--dry-run", "--json"
    ).document
    assert snapshot(elsewhere) == before
    assert [each["path"] for each in told["would_change"]["files"]] == [str(elsewhere / "MEMORY.md")]


def test_links_pipes_and_files_with_two_names_are_on_the_stage_what_they_are_outside(cli, desk):
    desk.put(
        {"CLAUDE.md": "Be brief.\n", "MEMORY.md": "## People\n\n- Ana.\n", "carrel.yaml": "layout: carrel\n"}
    )
    (desk / "AGENTS.md").symlink_to(desk / "CLAUDE.md")
    (desk / "ana.md").hardlink_to(desk / "MEMORY.md")
    os.mkfifo(desk / "pipe")
    before = desk.snapshot()
    outcome = cli(
        "-C", desk, "context", "show", "--prepare", "--session", "s1", "--dry-run", "--scope", "shared"
    )
    assert "Be brief." in outcome.text
    assert "Ana" not in outcome.text
    assert desk.snapshot() == before


def test_what_another_process_has_not_put_into_the_file_of_records_yet_counts(cli, sample):
    cli("trust", sample)
    with Workspace.open(sample.path, environ=os.environ) as workspace:
        fact = workspace.memory.add("Luis likes tea.").written[0]
        told = cli("-C", sample, "memory", "pin", fact.id, "--dry-run", "--json")
        assert told.document["would_change"]["records"] == [{"table": "facts", "added": 1, "removed": 1}]
        assert not workspace.memory.facts()[0].pinned


def test_a_dry_run_asks_no_model_and_spends_nothing(cli, sample, monkeypatch):
    said = [
        {"role": "user", "content": "I decided that tea is at four."},
        {"role": "assistant", "content": "Yes."},
    ]
    with OpenAIStub(openai.text("A Samsung.", told=openai.usage(1_500, 20))) as stub:
        model = f"model: {{name: 'openai:gpt-4o', base_url: '{stub.url}'}}\n"
        sample.put({"carrel.yaml": f"layout: carrel\nagents: [{{id: kate, triggerInterval: 1}}]\n{model}"})
        sample.put({"memory/2026-04-23.md": "- wrote tests\n"})
        cli("trust", sample)
        with Workspace.open(sample.path) as workspace:
            workspace.record("s1", said)
        for words in (
            ["memory", "extract"],
            ["memory", "extract", "--model", "openai:gpt-4o"],
            ["memory", "consolidate"],
            ["sweep"],
            ["chat", "--session", "s1"],
        ):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Does Ana use a Samsung?\n")))
            outcome = cli("-C", sample, *words, "--dry-run")
            assert outcome.code == 0, outcome.warnings
            assert stub.bodies == [], words
            assert ("no model is asked" in outcome.text) == ("consolidate" not in words), "whose help says it"


def test_a_dry_run_sends_no_text_to_be_embedded_and_says_so(cli, sample):
    with EmbeddingsStub(embedded) as stub:
        search = f"search: {{embedder: openai, embedder_url: '{stub.url}', embedder_model: x}}\n"
        sample.put({"carrel.yaml": f"layout: carrel\nagents: [{{id: kate}}]\n{search}"})
        cli("trust", sample)
        outcome = cli(
            "-C", sample, "context", "show", "--prepare", "--session", "s1", "--query", "Ana", "--dry-run"
        )
        assert "[dry_run_sends_nothing]" in outcome.warnings
        assert cli("-C", sample, "index", "sync", "--dry-run").code == 0
        assert stub.bodies == []


def test_a_home_that_a_link_leads_to_is_known_in_a_dry_run_too(cli, desk, tmp_path):
    (tmp_path / "moved").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "moved")
    cli.set(CARREL_HOME=str(tmp_path / "link/home"))
    desk.put({"carrel.yaml": "layout: carrel\nmodel: openai:gpt-5\n", "MEMORY.md": "## People\n"})
    cli("trust", desk)
    outcome = cli("-C", desk, "memory", "append", "MEMORY.md", "People", "- Luis.", "--dry-run")
    assert "untrusted_setting" not in outcome.warnings
    told = cli(
        "-C", desk, "memory", "append", "MEMORY.md", "People", "- Luis.", "--dry-run", "--json"
    ).document
    assert {row["table"] for row in told["would_change"]["records"]} >= {"changes"}


def test_what_sqlite_keeps_beside_a_database_would_not_go_and_a_file_that_is_called_so_is_one(cli, sample):
    sample.put({"trip-journal": "Lima.\n"})
    cli("trust", sample)
    with closing(sqlite3.connect(sample / "own.db")) as database:
        database.executescript("PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
        assert (sample / "own.db-wal").exists()
        told = cli("-C", sample, "files", "rm", "trip-journal", "--dry-run", "--json").document[
            "would_change"
        ]
    outside = [each for each in told["files"] if not each["path"].startswith(".carrel/")]
    assert [(each["path"], each["change"]) for each in outside] == [("trip-journal", "removed")]


def test_a_repository_that_may_only_be_read_keeps_its_modes(process, desk):
    desk.put({"AGENTS.md": "Be brief.\n", "carrel.yaml": "layout: carrel\n", ".git/objects/ab/cd": "object"})
    (desk / ".git/objects/ab/cd").chmod(0o444)
    (desk / ".git/objects/ab").chmod(0o555)
    before = desk.snapshot()
    outcome = process("-C", desk, "files", "rm", "AGENTS.md", "--dry-run", privileged=False)
    assert outcome.code == 0, outcome.warnings
    assert desk.snapshot() == before
