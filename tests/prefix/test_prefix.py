"""What stands first stays the same from call to call, byte for byte; and when it does not, the report says why."""

import json
import os
import shutil
import time

import pytest

from carrel import Budget, Workspace

ENVIRON = {"CARREL_NOW": "2026-04-24T12:00:00Z"}
DAY_AFTER = "2026-04-25T12:00:00Z"
NEXO = {
    "carrel.yaml": "layout: nexo\nagents: [{id: kate, systemPromptTemplate: 'You are {{agent.id}}.'}]\n",
    "notes/2026-04-24.md": "- wrote tests\n",
}
ASTRA = {
    "carrel.yaml": "layout: astra\nagents: [{id: kate, systemPromptTemplate: 'You are {{agent.id}}.'}]\n",
    "workspace/AGENTS.md": "Be brief.\n",
    "workspace/USER.md": "Luis.\n",
    "workspace/team.md": "Two people.\n",
}
LAYOUTS = {"carrel": {}, "nexo": NEXO, "astra": ASTRA}


@pytest.fixture(params=sorted(LAYOUTS))
def any_layout(request, sample):
    return sample.put(LAYOUTS[request.param])


class Machine:
    """One process after another over the same workspace and the same home."""

    def __init__(self, desk, home):
        self.desk, self.environ = desk, ENVIRON | {"CARREL_HOME": str(home)}

    def prepare(self, query="Hello", *, session="s1", scope="main", now=None):
        environ = self.environ | ({"CARREL_NOW": now} if now else {})
        with Workspace.open(self.desk, environ=environ) as workspace:
            return workspace.prepare(session, query, scope)

    def preview(self, query="Hello", *, session="s1", scope="main", now=None):
        environ = self.environ | ({"CARREL_NOW": now} if now else {})
        with Workspace.open(self.desk, environ=environ) as workspace:
            return workspace.assemble(session, query, scope)


@pytest.fixture
def machine(sample, tmp_path):
    return Machine(sample, tmp_path / "home")


def system(assembly):
    return [message.to_text() for message in assembly.messages if message.role == "system"]


def assert_same_prefix(first, second):
    """The bytes themselves, and what the report says of them."""
    one, other = (json.dumps([m.to_json() for m in a.messages]).encode() for a in (first, second))
    before_user = json.dumps([m.to_json() for m in first.messages if m.role == "system"]).encode()[:-1]
    assert one.startswith(before_user)
    assert other.startswith(before_user)
    assert second.report.prefix.sha256 == first.report.prefix.sha256
    assert second.report.prefix.tokens == first.report.prefix.tokens > 0
    assert second.report.prefix.changed_by is None


def change(assembly):
    changed = assembly.report.prefix.changed_by
    return changed and (changed.section, changed.cause)


def test_the_first_call_has_nothing_to_compare_with(any_layout, machine):
    assert change(machine.prepare()) is None


def test_the_same_call_twice(any_layout, machine):
    first = machine.prepare()
    second = machine.prepare()
    assert_same_prefix(first, second)
    assert second.to_text() == first.to_text()


def test_a_new_question(any_layout, machine):
    assert_same_prefix(machine.prepare("Hello"), machine.prepare("And then?\n" * 50))


def test_no_question_at_all(any_layout, machine):
    assert_same_prefix(machine.prepare(None), machine.prepare("Hello"))


def test_another_session_has_the_same_prefix(any_layout, machine):
    assert_same_prefix(machine.prepare(session="s1"), machine.prepare(session="s2"))


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "memory/kate.md", "memory/2026-04-24.md", "memory/2026-04-24-new.md"]
)
def test_new_memory_waits_for_the_next_session(sample, machine, path):
    first = machine.prepare()
    with Workspace.open(sample, environ=machine.environ) as workspace:
        workspace.append(path, "- learnt something new\n")
    second = machine.prepare()
    assert_same_prefix(first, second)
    assert "learnt something new" not in second.to_text()
    assert "learnt something new" in machine.prepare(session="s2").to_text()


def test_a_new_day(sample, machine):
    first = machine.prepare()
    sample.put({"memory/2026-04-25.md": "- a new day\n"})
    second = machine.prepare(now=DAY_AFTER)
    assert_same_prefix(first, second)
    assert "date: 2026-04-25 (Saturday)" in second.to_text()
    assert "- a new day" in machine.prepare(session="s2", now=DAY_AFTER).to_text()


def test_a_new_day_in_a_layout_that_reads_at_session_start(sample, machine):
    sample.put(NEXO)
    first = machine.prepare()
    sample.put({"notes/2026-04-25.md": "- a new day\n", "SOUL.md": "Changed.\n", "MEMORY.md": "Changed.\n"})
    assert_same_prefix(first, machine.prepare(now=DAY_AFTER))


def test_the_date_in_the_prompt_is_the_change_of_a_new_day(sample, machine):
    sample.put({"carrel.yaml": "agents: [{id: kate, systemPromptTemplate: 'Today is {{date}}.'}]\n"})
    first = machine.prepare()
    assert "volatile_prompt" in {w.code for w in first.report.warnings}
    assert change(machine.prepare()) is None
    assert change(machine.prepare(now=DAY_AFTER)) == ("prompt", "changed")


def test_a_real_process_after_this_one(process, any_layout):
    words = (
        "-C",
        any_layout,
        "context",
        "show",
        "--prepare",
        "--json",
        "--session",
        "s1",
        "--query",
        "Hello",
    )
    first, second = process(*words).document, process(*words).document
    assert second["messages"] == first["messages"]
    assert second["report"]["prefix"] == first["report"]["prefix"]


def test_what_is_frozen_survives_the_process(process, sample):
    words = ("-C", sample, "context", "show", "--prepare", "--json", "--session", "s1", "--query", "Hello")
    first = process(*words).document
    sample.put({"MEMORY.md": "Rewritten.\n"})
    second = process(*words).document
    assert second["messages"] == first["messages"]
    rows = {row["name"]: row for row in second["report"]["sections"]}
    assert rows["MEMORY.md"]["stable"] is True


def test_frozen_parts_keep_their_rows_and_warnings(sample, machine):
    sample.put({"MEMORY.md": "<!-- priority: soon -->\nKept.\n", "memory/2026-04-24.md": b"\xff"})
    first = machine.prepare()
    sample.put({"MEMORY.md": "Fine.\n", "memory/2026-04-24.md": "Fine.\n"})
    second = machine.prepare()
    assert second.report.sections == first.report.sections
    assert second.report.warnings == first.report.warnings


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("AGENTS.md", "Be very brief.\n", ("AGENTS.md", "changed")),
        ("stack.md", "<!-- priority: 10 -->\nWe use Rust.\n", ("stack.md", "changed")),
        ("team.md", None, ("team.md", "removed")),
        ("SOUL.md", None, ("SOUL.md", "removed")),
        ("about.md", "New.\n", ("about.md", "added")),
        ("zebra.md", "New.\n", ("zebra.md", "added")),
        ("team.md", "<!-- priority: 1 -->\nTwo people.\n", ("team.md", "moved")),
        ("AGENTS.md", " \n", ("AGENTS.md", "removed")),
        ("AGENTS.md", b"\xff", ("AGENTS.md", "removed")),
        ("IDENTITY.md", "- **Name:** Milo\n", ("IDENTITY.md", "changed")),
        ("skills/review/SKILL.md", "Review.\n", ("skills", "changed")),
        ("knowledge/new.md", "New.\n", ("knowledge/KNOWLEDGE.md", "changed")),
        (".carrelignore", "team.md\n", ("team.md", "removed")),
    ],
)
def test_a_change_in_the_prefix_is_named(sample, machine, path, text, expected):
    machine.prepare()
    if text is None:
        (sample / path).unlink()
    else:
        sample.put({path: text})
    previewed = machine.preview()
    assert change(previewed) == expected
    prepared = machine.prepare()
    assert change(prepared) == expected
    assert prepared.to_text() == previewed.to_text()
    assert change(machine.prepare()) is None


def test_a_change_is_named_in_the_layout_with_a_message_per_file(sample, machine):
    sample.put(ASTRA)
    machine.prepare()
    sample.put({"workspace/team.md": "Three people.\n"})
    assert change(machine.prepare()) == ("workspace/team.md", "changed")
    (sample / "workspace/team.md").unlink()
    assert change(machine.prepare()) == ("workspace/team.md", "removed")


def test_a_changed_prompt_is_named(sample, machine):
    machine.prepare()
    sample.put({"carrel.yaml": "agents: [{id: kate, systemPromptTemplate: 'You are new.'}]\n"})
    assert change(machine.prepare()) == ("prompt", "changed")


def test_a_smaller_budget_is_named_by_the_section_it_cuts(sample, machine):
    sample.put({"team.md": "word " * 400})
    machine.prepare()
    sample.put(
        {"carrel.yaml": "agents: [{id: kate, systemPromptTemplate: 'You are Kate.'}]\nbudgets: {file: 50}\n"}
    )
    section, cause = change(machine.prepare()) or ("", "")
    assert (section, cause) == ("team.md", "changed")


def test_what_only_grows_at_its_end_is_not_broken(sample, machine):
    (sample / "carrel.yaml").unlink()
    for path in ("knowledge", "skills", "memory"):
        shutil.rmtree(sample / path)
    (sample / "MEMORY.md").unlink()
    first = machine.prepare(None)
    sample.put({"zebra.md": "Last.\n"})
    second = machine.prepare(None)
    assert second.to_text().startswith(first.to_text().removesuffix("\n"))
    assert change(second) is None


def test_a_change_of_scope_is_named_and_ends_the_freeze(sample, machine):
    machine.prepare(scope="main")
    sample.put({"MEMORY.md": "Rewritten.\n"})
    shared = machine.prepare(scope="shared")
    assert shared.report.prefix.changed_by is not None
    assert shared.report.prefix.changed_by.cause == "scope"
    assert "Samsung" not in shared.to_text()
    back = machine.prepare(scope="main")
    assert back.report.prefix.changed_by is not None
    assert back.report.prefix.changed_by.cause == "scope"
    assert "Rewritten." in back.to_text()


def test_a_change_of_scope_is_named_even_where_only_the_end_is_gone(desk, tmp_path):
    machine = Machine(
        desk.put({"AGENTS.md": "Be brief.\n", "MEMORY.md": "The owner's.\n"}), tmp_path / "home"
    )
    machine.prepare(scope="main")
    shared = machine.prepare(scope="shared")
    assert shared.report.prefix.changed_by is not None
    assert shared.report.prefix.changed_by.cause == "scope"
    assert shared.report.prefix.changed_by.section != "MEMORY.md"


def test_looking_at_another_scope_does_not_end_the_freeze(sample, machine):
    first = machine.prepare()
    machine.preview(scope="shared")
    sample.put({"MEMORY.md": "Rewritten.\n"})
    assert_same_prefix(first, machine.prepare())


def test_looking_is_what_the_next_call_would_send(any_layout, machine):
    machine.prepare()
    looked = machine.preview("Next?")
    prepared = machine.prepare("Next?")
    assert prepared.to_text() == looked.to_text()
    assert prepared.report == looked.report


def test_without_its_cache_everything_is_the_same(sample, machine, cli):
    machine.environ["CARREL_HOME"] = str(cli.home)
    cli("trust", sample)
    first = machine.prepare()
    assert (sample / ".carrel/cache").is_dir()
    shutil.rmtree(sample / ".carrel/cache")
    sample.put({"MEMORY.md": "Rewritten.\n"})
    second = machine.prepare()
    assert_same_prefix(first, second)
    assert second.report == first.report
    assert second.to_text() == first.to_text()


def test_without_its_state_the_session_begins_anew(sample, machine, cli):
    machine.environ["CARREL_HOME"] = str(cli.home)
    cli("trust", sample)
    machine.prepare()
    shutil.rmtree(sample / ".carrel/state")
    sample.put({"MEMORY.md": "Rewritten.\n"})
    assert "Rewritten." in machine.prepare().to_text()


def test_sessions_of_two_agents_are_told_apart(sample, machine):
    sample.put({"carrel.yaml": "agents: [{id: kate}, {id: milo}]\n", "memory/milo.md": "- is Milo\n"})
    for agent, marker in (("kate", False), ("milo", True)):
        with Workspace.open(sample, agent=agent, environ=machine.environ) as workspace:
            assembly = workspace.prepare("s1", "Hello")
            assert ("- is Milo" in assembly.to_text()) is marker
            assert change(assembly) is None


def test_a_file_is_seen_however_fast_it_changes(sample, machine):
    with Workspace.open(sample, environ=machine.environ) as workspace:
        for number in range(300):
            text = f"Rule {number:03}.\n"
            fd = os.open(sample / "AGENTS.md", os.O_WRONLY)  # in place: same inode, same size
            os.write(fd, text.encode().ljust(10))
            os.close(fd)
            assert text.strip() in workspace.assemble().to_text()


def test_a_file_is_seen_even_when_its_times_are_set_back(sample, machine):
    path = sample / "AGENTS.md"
    past = time.time_ns() - 10_000_000_000
    os.utime(path, ns=(past, past))
    with Workspace.open(sample, environ=machine.environ) as workspace:
        assert "Be brief." in workspace.assemble().to_text()
        path.write_text("Be quick.\n")
        os.utime(path, ns=(past, past))
        assert "Be quick." in workspace.assemble().to_text()


def test_a_soul_that_is_read_once_per_process_changes_in_the_next(sample, machine):
    sample.put(ASTRA)
    with Workspace.open(sample, environ=machine.environ) as workspace:
        first = workspace.prepare("s1", "Hello")
        sample.put({"SOUL.md": "Changed.\n"})
        assert_same_prefix(first, workspace.prepare("s1", "Hello"))
    assert change(machine.prepare()) == ("SOUL.md", "changed")


def test_a_memory_in_the_prompt_ends_the_prefix_before_it(sample, machine):
    sample.put({"carrel.yaml": "agents: [{id: kate, systemPromptTemplate: 'Known: {{memory}}.'}]\n"})
    assembly = machine.prepare()
    rows = [row for row in assembly.report.sections if row.sha256]
    assert next(row.name for row in rows if not row.stable) == "prompt"
    assert "memory_in_prompt" in {w.code for w in assembly.report.warnings}


def test_a_budget_of_one_call_is_not_the_budget_of_the_next(sample, machine):
    with Workspace.open(sample, environ=machine.environ) as workspace:
        whole = workspace.assemble()
        tight = workspace.assemble(budget=Budget(file=3, total=3))
        assert tight.to_text() != whole.to_text()
        assert workspace.assemble().to_text() == whole.to_text()


WORLDS = [
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Apia"},
    {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "TZ": "America/Bogota", "HOME": "/nonexistent"},
]


def test_the_same_files_and_inputs_give_the_same_bytes_in_any_world(process, any_layout, tmp_path):
    any_layout.put({f"zz{number}.md": f"File {number}.\n" for number in range(20)})
    words = ("-C", any_layout, "context", "show", "--json", "--session", "s1", "--query", "¿Y ahora?")
    folders = [tmp_path, any_layout.path, tmp_path / "elsewhere"]
    folders[-1].mkdir()
    outcomes = [
        process(*words, env=world | {"CARREL_HOME": str(tmp_path / f"home{number}")}, cwd=folders[number])
        for number, world in enumerate(WORLDS)
    ]
    assert {outcome.code for outcome in outcomes} == {0}
    assert len({outcome.out for outcome in outcomes}) == 1


def test_a_copy_of_the_files_gives_the_same_bytes(sample, machine, tmp_path):
    first = machine.prepare()
    other = tmp_path / "elsewhere"
    other.mkdir()
    for path in sorted(
        sample.path.rglob("*"), reverse=True
    ):  # another order on disk, other times, other inodes
        if path.is_file():
            target = other / path.relative_to(sample.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    second = Machine(other, tmp_path / "home2").prepare()
    assert second.to_text() == first.to_text()
    assert second.report == first.report
