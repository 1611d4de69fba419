"""What sessions keep from whom, and what they go on without: from the library, as an application uses it."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from carrel import Workspace
from carrel.errors import CarrelError
from carrel.workspace.scope import HiddenByScope

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    Workspace.init(tmp_path / "w")
    with Workspace.open(tmp_path / "w") as opened:
        yield opened


def say(workspace: Workspace, *texts: str, scope: str = "main", session: str = "s") -> None:
    for number, text in enumerate(texts):
        role = ("user", "assistant")[number % 2]
        workspace.record(session, [{"role": role, "content": text}], scope=scope)


def written(workspace: Workspace) -> str:
    files = [path for path in workspace.root.rglob("*") if path.is_file()]
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def logs(workspace: Workspace, **asked: Any) -> dict[str, Any]:
    return workspace.tools(session="s", scope="shared").call("session_logs", asked)


# ------------------------------------------------------------------------------------------------ whom it is told


def test_others_learn_nothing_of_what_the_owner_said_in_the_same_session(workspace: Workspace) -> None:
    say(workspace, "The CANARY is in Porto.", "Noted.")
    say(workspace, "Is it Porto?", "I do not know.", scope="shared")
    say(workspace, "Porto, Porto.", "Yes.")
    page = logs(workspace, action="read_session", session_id="s")
    assert [entry["content"] for entry in page["entries"]] == ["Is it Porto?", "I do not know."]
    assert (page["total_entries"], page["header"]) == (2, None)
    (row,) = logs(workspace, action="list_sessions")["sessions"]
    assert (row["entry_count"], row["title"]) == (2, "")
    assert row["first_timestamp"] == page["entries"][0]["timestamp"]
    assert [hit["preview"] for hit in logs(workspace, action="search", query="porto", limit=1)["hits"]] == [
        "Is it Porto?"
    ]
    shown = workspace.prepare("s", "Hi", "shared").to_text()
    assert "CANARY" not in shown
    assert "Is it Porto?" in shown


def test_others_keep_their_own_history_when_the_owner_s_is_summarised(workspace: Workspace) -> None:
    for number in range(20):
        say(workspace, f"The secret {number} is in drawer {number}. " * 30, "Noted. " * 30)
    say(workspace, "Hello group", "Hello you", scope="shared")
    say(workspace, "One more thing. " * 300, "Noted. " * 300)
    say(workspace, "And one more. " * 300, "Noted. " * 300)
    with pytest.raises(HiddenByScope):
        workspace.compact("s", scope="shared")
    assert workspace.compact("s").entries > 0
    shown = workspace.prepare("s", "Hi", "shared").to_text()
    assert "Hello group" in shown
    assert "drawer" not in shown


def test_others_are_not_told_what_the_owner_s_last_call_held(workspace: Workspace) -> None:
    workspace.prepare("s", "q")
    with pytest.raises(HiddenByScope):
        workspace.compare_last("s", scope="shared")
    workspace.prepare("s", "q", "shared")
    assert workspace.compare_last("s", scope="shared").before == "last call"


def test_credentials_and_settings_are_not_for_strangers(workspace: Workspace) -> None:
    for name in (".env", "id_rsa", "credentials.json"):
        (workspace.root / name).write_text("CANARY")
    tools = workspace.tools(scope="shared")
    names = {entry["path"] for entry in tools.call("list_files", {})["entries"]}
    assert not names & {".env", "id_rsa", "credentials.json", "carrel.yaml"}
    for path in (".env", "id_rsa", "credentials.json", "carrel.yaml"):
        with pytest.raises(CarrelError):
            tools.call("read_file", {"path": path})
    assert tools.call("who_am_i", {})["workspace_dir"] == "w"


def test_no_tool_lifts_the_rules_of_what_is_kept_out(workspace: Workspace) -> None:
    with pytest.raises(CarrelError) as refused:
        workspace.tools().call("write_file", {"path": ".carrelignore", "content": "!credentials*\n"})
    assert refused.value.code == "not_for_tools"


def test_an_agent_s_tools_reach_no_transcript_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    root = tmp_path / "team"
    Workspace.init(root)
    (root / "carrel.yaml").write_text(
        "layout: carrel\nagents:\n  - {id: kate, transcripts_dir: tr/kate}\n"
        "  - {id: bob, transcripts_dir: tr/bob}\n  - {id: eve, transcripts_dir: ../outside}\n"
    )
    Workspace.trust(root)
    with Workspace.open(root, agent="bob") as bob:
        say(bob, "CANARY")
    with Workspace.open(root, agent="kate") as kate:
        for tool, more in (("read_file", {}), ("write_file", {"content": "forged"})):
            with pytest.raises(CarrelError) as refused:
                kate.tools().call(tool, {"path": "tr/bob/s.log.jsonl", **more})
            assert refused.value.code == "not_for_tools"
        assert kate.read("tr/bob/s.log.jsonl") is not None  # its owner may
        with pytest.raises(HiddenByScope):
            kate.read("tr/bob/s.log.jsonl", scope="shared")
    with Workspace.open(root, agent="eve") as eve, pytest.raises(CarrelError) as refused:
        say(eve, "Hi")
    assert refused.value.code == "bad_path"


# ------------------------------------------------------------------------------------------------ what is not stored


def test_no_secret_is_stored_wherever_in_a_message_it_is(workspace: Workspace) -> None:
    script = base64.b64encode(f"export GITHUB={TOKEN}\n".encode()).decode()
    workspace.record(
        "s",
        [
            {"role": "user", "content": f"The key is {TOKEN}.", "sender_id": TOKEN, "name": TOKEN},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c", "name": "f", "arguments": {TOKEN: 1}}],
            },
            {"role": "tool", "content": TOKEN, "tool_call_id": "c", "source": TOKEN},
            {
                "role": "user",
                "content": [{"type": "file", "file": {"file_data": f"data:text/x-sh;base64,{script}"}}],
            },
        ],
    )
    workspace.update_session_index("s", f"About {TOKEN}", f"Title {TOKEN}")
    workspace.close()
    assert TOKEN not in written(workspace)
    assert "[REDACTED:GITHUB_TOKEN]" in written(workspace)


def test_a_secret_that_was_taken_out_is_said_and_the_message_is_shown_once(workspace: Workspace) -> None:
    recording = workspace.record("s", [{"role": "user", "content": f"The key is {TOKEN}."}])
    assert [finding.code for finding in recording.findings] == ["secrets_redacted"]
    assert workspace.prepare("s", f"The key is {TOKEN}.").to_text().count("The key is") == 1


def test_a_reference_to_an_attachment_is_ours_to_make(workspace: Workspace) -> None:
    forged = {"type": "attachment", "path": "../../SOUL.md", "sha256": "0" * 64}
    with pytest.raises(CarrelError) as refused:
        workspace.record("s", [{"role": "user", "content": [forged]}])
    assert refused.value.code == "bad_message"


@pytest.mark.parametrize("messages", [None, 5, "Hi", {"role": "user", "content": "Hi"}])
def test_messages_stand_in_a_list(workspace: Workspace, messages: Any) -> None:
    with pytest.raises(CarrelError) as refused:
        workspace.record("s", messages)
    assert refused.value.code == "bad_message"


# ------------------------------------------------------------------------------------------------ what is told


def test_the_same_id_for_something_else_is_said(workspace: Workspace) -> None:
    first = {"role": "user", "content": "first", "message_id": "42"}
    workspace.record("s", [first])
    assert workspace.record("s", [first]).findings == ()
    (finding,) = workspace.record("s", [first | {"content": "another"}]).findings
    assert finding.code == "message_id_reused"
    assert [placed.entry.content for placed in workspace.sessions.entries("s")] == ["first"]


def test_the_end_of_a_turn_is_told_once_and_with_what_was_recorded(workspace: Workspace) -> None:
    told: list[tuple[str, str]] = []
    workspace.callbacks.on("after_turn", lambda turn: told.append((turn.message.to_text(), turn.reply.text)))
    workspace.record("s", [{"role": "user", "content": [{"type": "text", "text": f"Keep {TOKEN}"}]}])
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Kept."}], "message_id": "a"}
    workspace.record("s", [answer])
    workspace.record("s", [answer])
    assert told == [("Keep [REDACTED:GITHUB_TOKEN]", "Kept.")]


def test_the_soul_of_an_agent_is_found_where_its_layout_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARREL_HOME", str(tmp_path / "home"))
    Workspace.init(tmp_path / "a", layout="astra")
    (tmp_path / "a" / "SOUL.md").write_text("Kind, and exact.")
    with Workspace.open(tmp_path / "a") as astra:
        assert astra.tools().call("who_am_i", {})["soul_excerpt"] == "Kind, and exact."


def test_a_log_that_cannot_be_read_is_listed_with_the_reason(workspace: Workspace) -> None:
    say(workspace, "Hi")
    (workspace.root / "agents/main/sessions/odd.log.jsonl").mkdir()
    rows = {row.id: row.problem for row in workspace.sessions.rows()[0]}
    assert rows == {"s": "", "odd": "directory"}


# ------------------------------------------------------------------------------------------------ what it goes on without


def test_what_was_said_is_recorded_though_the_records_are_damaged(workspace: Workspace) -> None:
    import asyncio  # noqa: PLC0415

    say(workspace, "one")
    workspace.prepare("s", "one")
    workspace.close()
    records = workspace.root / ".carrel/state/records.db"
    for path in records.parent.glob("records.db*"):
        path.write_bytes(b"noise" * 1_000)
    with Workspace.open(workspace.root) as again:
        say(again, "two")
        events = asyncio.run(_all(again.turn("s", "Are you there?")))
        warnings = {w.code for e in events if hasattr(e, "assembly") for w in e.assembly.report.warnings}
        assert "records_unavailable" in warnings
        assert "records_unavailable" in {finding.code for finding in again.health().findings}
        texts = [placed.entry.to_text() for placed in again.sessions.entries("s")]
        assert texts[:3] == ["one", "two", "Are you there?"]
        assert len(texts) == 4
        with pytest.raises(CarrelError) as failed:
            again.prepare("s", "and now?")  # whoever asks for what is kept is told that nothing is
        assert failed.value.code == "database_unavailable"
        assert "records.db" in failed.value.hint


@pytest.mark.parametrize("table", ["frozen", "assemblies"])
@pytest.mark.parametrize("payload", ['{"0', '{"0": {"texts": 7}, "rows": 7}', "[]"])
def test_a_damaged_record_costs_a_session_what_it_kept_and_not_the_call(
    workspace: Workspace, table: str, payload: str
) -> None:
    (workspace.root / "MEMORY.md").write_text("# Memory\n\nBefore.\n")
    say(workspace, "one")
    workspace.prepare("s", "one")
    (workspace.root / "MEMORY.md").write_text("# Memory\n\nAfter.\n")
    workspace.close()
    with closing(apsw.Connection(str(workspace.root / ".carrel/state/records.db"))) as database:
        (kept,) = next(iter(database.execute("SELECT payload FROM frozen")))
        number = next(iter(json.loads(kept)))
        database.execute(f"UPDATE {table} SET payload = ?", (payload.replace('"0"', f'"{number}"'),))
    with Workspace.open(workspace.root) as again:
        for call in (again.assemble, again.prepare):
            called = call("s", "two")
            assert "records_unavailable" in {each.code for each in called.report.warnings}
            assert "After." in called.to_text()
        mended = again.prepare("s", "three", reload=True)
        assert not mended.report.warnings
        assert not again.assemble("s", "four").report.warnings


def test_health_tells_of_damaged_records_that_nobody_has_met(workspace: Workspace) -> None:
    say(workspace, "one")
    workspace.prepare("s", "one")
    assert workspace.health().structure_valid
    workspace.close()
    path = workspace.root / ".carrel/state/records.db"
    with closing(apsw.Connection(str(path))) as database:
        (page,) = next(iter(database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'keys'")))
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : (page - 1) * 4096 + 8] = b"\xff" * 8
    path.write_bytes(data)
    with Workspace.open(workspace.root) as again:
        told = [each for each in again.health().findings if each.code == "records_unavailable"]
        assert [bool(each.hint) for each in told] == [True]


async def _all(turn: Any) -> list[Any]:
    return [event async for event in turn]
