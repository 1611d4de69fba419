"""Retention: what is older than its owner wants to keep goes to the trash, once memory was made of it; off means off."""

import pytest

from carrel import Workspace
from carrel.files import Unreadable
from carrel.runtime import edit

OLD = "2026-01-01T12:00:00Z"
DAY_BEFORE = "2026-04-23T12:00:00Z"
NOW = "2026-04-24T12:00:00Z"
SETTINGS = "layout: carrel\nagents: [{id: kate, triggerInterval: 50}]\nretention: {session_days: 30, journal_days: 60}\n"
TURN = [
    {"role": "user", "content": "I decided that tea is at four."},
    {"role": "assistant", "content": "Noted."},
]
DAYS = ("2026-01-01", "2026-02-01", "2026-04-20")


@pytest.fixture
def old(cli, desk):
    """A workspace with a session and journals of January, and with others of April."""
    desk.put({"carrel.yaml": SETTINGS, "AGENTS.md": "Be brief.\n", "MEMORY.md": "## People\n"})
    cli("trust", desk)
    cli.set(CARREL_NOW=DAY_BEFORE)
    cli("-C", desk, "sweep")
    desk.put({f"memory/{day}.md": f"- wrote tests on {day}\n" for day in DAYS})
    for now, session in ((OLD, "january"), (NOW, "april")):
        cli.set(CARREL_NOW=now)
        with Workspace.open(desk.path) as workspace:
            workspace.record(session, TURN)
    return desk


def sessions(cli, desk):
    return {row["id"] for row in cli("-C", desk, "sessions", "list", "--json").document["sessions"]}


def journals(desk):
    """The days that there are, those of the archive too."""
    return sorted(path.stem for path in (desk / "memory").rglob("2026-*.md"))


def trash(desk):
    return sorted(path.name for path in (desk / ".carrel/state/trash").rglob("*") if path.is_file())


def retirements(cli, desk):
    return cli("-C", desk, "jobs", "list", "--kind", "retire", "--state", "done", "--json").document["jobs"]


def made_memory(cli, desk):
    assert cli("-C", desk, "memory", "extract").code == 0
    assert cli("-C", desk, "memory", "consolidate").code == 0


def test_what_is_old_goes_to_the_trash_and_is_reported(cli, old):
    made_memory(cli, old)
    outcome = cli("-C", old, "sweep")
    assert (
        "1 session and 2 days of the journal older than your settings keep went to the trash"
        in outcome.warnings
    )
    assert sessions(cli, old) == {"april"}
    assert journals(old) == ["2026-04-20"]
    assert {"2026-01-01.md", "2026-02-01.md", "january.jsonl"} <= set(trash(old))
    *_, job = retirements(cli, old)
    assert job["result"] == {"sessions": 1, "journals": 2, "waiting": 0, "pinned": 0}


def test_it_is_done_once_a_day(cli, old):
    made_memory(cli, old)
    cli("-C", old, "sweep")
    assert cli("-C", old, "sweep", "--json").document["done"] == 0
    cli.set(CARREL_NOW="2026-04-25T12:00:00Z")
    assert cli("-C", old, "sweep", "--json").document["findings"] == []


def test_a_dry_run_tells_what_would_go_and_nothing_goes(cli, old):
    made_memory(cli, old)
    before = old.snapshot()
    told = cli("-C", old, "sweep", "--dry-run", "--json").document
    assert old.snapshot() == before
    gone = {each["path"] for each in told["would_change"]["files"] if each["change"] == "removed"}
    assert {"memory/archive/2026-01-01.md", "memory/2026-02-01.md"} < gone
    assert [finding["code"] for finding in told["findings"]] == ["retired"]


def test_what_memory_was_not_made_of_yet_stays_until_it_was(cli, old):
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"january", "april"}
    assert journals(old)[:2] == ["2026-01-01", "2026-02-01"]
    found = cli("-C", old, "memory", "facts", "--session", "january", "--json").document["facts"]
    assert found, "the sweep that keeps it learns from it"
    cli.set(CARREL_NOW="2026-04-25T12:00:00Z")
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"april"}


def test_what_a_pinned_fact_rests_on_stays(cli, old):
    made_memory(cli, old)
    fact = cli("-C", old, "memory", "facts", "--session", "january", "--json").document["facts"][0]
    assert cli("-C", old, "memory", "pin", fact["id"]).code == 0
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"january", "april"}


@pytest.mark.parametrize("off", ["", "retention: {}\n"])
def test_without_an_age_nothing_goes_and_nothing_is_put(cli, old, off):
    made_memory(cli, old)
    old.put({"carrel.yaml": SETTINGS.partition("retention")[0] + off})
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"january", "april"}
    assert journals(old)[:2] == ["2026-01-01", "2026-02-01"]
    assert [job["key"] for job in retirements(cli, old)] == ["kate/2026-04-23"], "that of the day before"


@pytest.mark.parametrize("trusted", [True, False])
def test_a_workspace_that_nobody_trusts_cannot_throw_anything_away(cli, desk, trusted):
    off = "consolidation: {enabled: false}\n"
    desk.put({"carrel.yaml": SETTINGS + off, "memory/2026-01-01.md": "- wrote tests\n"})
    if trusted:
        cli("trust", desk)
    for now in (DAY_BEFORE, NOW):
        cli.set(CARREL_NOW=now)
        cli("-C", desk, "sweep")
    assert journals(desk) == ([] if trusted else ["2026-01-01"])


def test_health_says_what_the_next_sweep_will_take_away(cli, old):
    made_memory(cli, old)
    found = {each["code"]: each for each in cli("-C", old, "health", "--json").document["findings"]}
    assert found["past_retention"]["message"].startswith("1 session and 2 days of the journal")
    assert "--dry-run" in found["past_retention"]["hint"]
    cli("-C", old, "sweep")
    assert "past_retention" not in cli("-C", old, "health", "--json").text


def test_a_damaged_session_is_left_for_a_person_to_see(cli, old):
    made_memory(cli, old)
    (log,) = old.path.rglob("january.log.jsonl")
    first, rest = log.read_bytes().split(b"\n", 1)
    log.write_bytes(first + b"\n{broken\n" + rest)
    cli("-C", old, "sweep")
    assert "january" in sessions(cli, old)


LATER = ("2036-04-24T12:00:00Z", "2036-04-24T18:00:00Z")


def test_a_clock_that_is_years_ahead_takes_nothing_away(cli, old):
    made_memory(cli, old)
    for now in LATER:
        cli.set(CARREL_NOW=now)
        assert "[retired]" not in cli("-C", old, "sweep").warnings
        assert sessions(cli, old) == {"january", "april"}
    cli.set(CARREL_NOW=LATER[0].replace("04-24", "04-25"))
    assert "retired" in cli("-C", old, "sweep", "--json").text, "it is right, after all"
    assert sessions(cli, old) == set()


def test_after_a_long_time_it_is_told_first_what_will_go(cli, old):
    made_memory(cli, old)
    cli.set(CARREL_NOW="2026-06-24T12:00:00Z")
    outcome = cli("-C", old, "sweep")
    assert "2 sessions and 3 days of the journal" in outcome.warnings
    assert "[retention_announced]" in outcome.warnings
    assert trash(old) == []


def test_what_was_said_last_and_never_answered_is_learnt_before_it_goes(cli, old):
    made_memory(cli, old)
    cli.set(CARREL_NOW=OLD)
    with Workspace.open(old.path) as workspace:
        workspace.record("january", [{"role": "user", "content": "I decided that cake is at five."}])
        workspace.record("notes", [{"role": "user", "content": "I decided that scones are at six."}])
    cli.set(CARREL_NOW=NOW)
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"january", "april", "notes"}
    assert "cake is at five" in cli("-C", old, "memory", "facts", "--session", "january", "--json").text
    assert "scones are at six" in cli("-C", old, "memory", "facts", "--session", "notes", "--json").text
    cli.set(CARREL_NOW="2026-04-25T12:00:00Z")
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"april"}


def test_a_log_that_is_shorter_than_what_was_read_is_another_one_and_read_first(cli, old):
    (log,) = old.path.rglob("january.log.jsonl")
    short = log.read_bytes()
    cli.set(CARREL_NOW=OLD)
    with Workspace.open(old.path) as workspace:
        workspace.record("january", 3 * TURN)
    made_memory(cli, old)
    assert cli("-C", old, "sessions", "delete", "january", "--yes").code == 0
    log.write_bytes(short)
    cli.set(CARREL_NOW=NOW)
    cli("-C", old, "sweep")
    assert "january" in sessions(cli, old)


def test_the_journal_of_agents_of_whom_one_remembers_nothing_waits_for_the_other(cli, old):
    two = "agents: [{id: kate, triggerInterval: 50}, {id: mute, memory_enabled: false}]"
    old.put({"carrel.yaml": SETTINGS.replace("agents: [{id: kate, triggerInterval: 50}]", two)})
    cli("trust", old)
    for day in ("23", "24"):
        cli.set(CARREL_NOW=f"2026-04-{day}T12:00:00Z")
        cli("-C", old, "sweep")
    assert journals(old) == sorted(DAYS)


def test_what_lost_memory_is_made_of_anew_stays(cli, old):
    made_memory(cli, old)
    (old / "MEMORY.md").unlink()
    cli("-C", old, "sweep")
    assert journals(old) == sorted(DAYS)
    assert cli("-C", old, "memory", "consolidate").code == 0
    assert "2026-01-01" in (old / "MEMORY.md").read_text()


def test_one_session_that_cannot_go_keeps_no_other_from_going(cli, old, monkeypatch):
    cli.set(CARREL_NOW=OLD)
    with Workspace.open(old.path) as workspace:
        workspace.record("february", TURN)
    made_memory(cli, old)
    cli.set(CARREL_NOW=NOW)
    discard = edit.discard

    def failing(files, path, **how):
        if "february" in path:
            raise Unreadable(path, "permission")
        return discard(files, path, **how)

    monkeypatch.setattr(edit, "discard", failing)
    told = cli("-C", old, "sweep", "--json").document
    assert sessions(cli, old) == {"february", "april"}
    assert {finding["code"] for finding in told["findings"]} == {"retired", "unreadable"}
    assert (told["done"], told["retrying"]) == (1, 0)


def test_what_a_kill_leaves_of_a_session_goes_with_the_next_sweep(cli, old, monkeypatch):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJDRA=="}}
    cli.set(CARREL_NOW=OLD)
    with Workspace.open(old.path) as workspace:
        workspace.record("january", [{"role": "user", "content": [picture]}, TURN[1]])
    made_memory(cli, old)
    cli.set(CARREL_NOW=NOW)
    discard = edit.discard
    killed = []

    def killing(files, path, **how):
        if len(killed) == 2:  # of its three files
            raise KeyboardInterrupt
        killed.append(path)
        return discard(files, path, **how)

    with monkeypatch.context() as patch:
        patch.setattr(edit, "discard", killing)
        assert cli("-C", old, "sweep").code != 0
    assert len(killed) == 2
    assert cli("-C", old, "sweep").code == 0
    assert sessions(cli, old) == {"april"}
    left = [path for path in old.path.rglob("*january*/*") if path.is_file() and "trash" not in str(path)]
    assert left == []


def test_what_is_brought_back_from_the_trash_is_what_it_was(cli, old):
    made_memory(cli, old)
    before = {path: path.read_bytes() for path in old.path.rglob("january*") if path.is_file()}
    told = cli("-C", old, "sessions", "show", "january", "--json").document
    cli("-C", old, "sweep")
    for kept in (old / ".carrel/state/trash").rglob("january*"):
        path = old.path.joinpath(*kept.relative_to(old / ".carrel/state/trash").parts[1:])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(kept.read_bytes())
    assert {path: path.read_bytes() for path in before if path.exists()} == before
    assert cli("-C", old, "sessions", "show", "january", "--json").document == told


def test_a_session_that_somebody_goes_on_with_meanwhile_stays(cli, old, monkeypatch):
    cli.set(CARREL_NOW=OLD)
    with Workspace.open(old.path) as workspace:
        workspace.record("february", TURN)
    made_memory(cli, old)
    cli.set(CARREL_NOW=NOW)
    discard, others = edit.discard, {"january", "february"}

    def discarding(files, path, **how):
        if len(others) == 2:
            others.difference_update({name for name in others if name in path})
            with Workspace.open(old.path) as workspace:
                workspace.record(*others, [{"role": "user", "content": "Are you there?"}])
        return discard(files, path, **how)

    monkeypatch.setattr(edit, "discard", discarding)
    cli("-C", old, "sweep")
    assert sessions(cli, old) == {"april", *others}
    assert len(others) == 1


def test_the_hint_shows_what_went(cli, old):
    made_memory(cli, old)
    cli("-C", old, "sweep")
    shown = cli("-C", old, "files", "tree", ".carrel/state/trash", "--all")
    assert "january.log.jsonl" in shown.text
