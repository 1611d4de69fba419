"""What fresh eyes found in memory: links into folders that are not its own, and lines removed by hand."""

import pytest

from carrel import Workspace


def test_a_link_into_git_is_not_written_through_by_memory(cli, sample):
    (sample / ".git").mkdir()
    (sample / ".git/config").write_text("[core]\n\tbare = false\n")
    (sample / "memory/kate.md").symlink_to("../.git/config")
    cli("-C", sample, "memory", "add", "A heron.")
    cli("-C", sample, "memory", "append", "memory/kate.md", "A", "x")
    assert (sample / ".git/config").read_text() == "[core]\n\tbare = false\n"


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "append", "d.md", "A", "x"],
        ["tools", "call", "write_file", "--args", '{"path": "d.md", "content": "x"}'],
    ],
)
def test_a_dangling_link_into_git_is_not_written_through(cli, sample, words):
    (sample / ".git").mkdir()
    (sample / "d.md").symlink_to(".git/config.worktree")
    cli("-C", sample, *words)
    assert not (sample / ".git/config.worktree").exists()


def test_a_folder_that_is_a_link_into_git_is_not_written_into(cli, sample):
    (sample / ".git/x").mkdir(parents=True)
    (sample / "notes").symlink_to(".git/x")
    cli("-C", sample, "memory", "append", "notes/a.md", "A", "x")
    assert list((sample / ".git/x").iterdir()) == []


def test_a_fact_whose_line_its_owner_removed_by_hand_can_be_remembered_again(cli, sample):
    cli("-C", sample, "memory", "add", "Lions roar.")
    (sample / "memory/kate.md").write_text("")
    cli("-C", sample, "memory", "add", "Lions roar.")
    assert "Lions roar." in (sample / "memory/kate.md").read_text()


def test_a_fact_that_could_not_be_written_is_not_called_known(process, sample):
    (sample / "memory").chmod(0o555)
    process("-C", sample, "memory", "add", "Lions roar.", privileged=False)
    (sample / "memory").chmod(0o755)
    assert process("-C", sample, "memory", "add", "Lions roar.").code == 0
    assert "Lions roar." in (sample / "memory/kate.md").read_text()


@pytest.mark.parametrize("words", [["sweep"], ["memory", "search", "heron"]])
def test_a_team_needs_no_agent_for_what_concerns_all(cli, desk, words):
    desk.put({"carrel.yaml": "layout: squad\nagents: [{id: kate}, {id: milo}]\n"})
    assert cli("-C", desk, *words).code == 0


def test_a_person_is_told_why_nothing_was_taken_from_a_session_yet(cli, sample):
    with Workspace.open(sample) as workspace:
        workspace.record(
            "s1", [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
        )
    told = cli("-C", sample, "memory", "status")
    assert "too few new turns (1 of 5)" in told.text
    document = cli("-C", sample, "memory", "status", "--json").document
    assert document["enabled"] is True
    assert document["sessions"] == [
        {"session": "s1", "job": None, "reason": "too_few_turns", "turns": 1, "needed": 5}
    ]
