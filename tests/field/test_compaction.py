"""What was lost when history was shrunk: work that nobody had saved, whole days of it, summaries that said nothing."""

import asyncio
import json
from contextlib import suppress

import pytest
from tests.field.talk import DECISION, JOURNAL, is_compacted, log_path, long_talk
from tests.unit.http.served import TOKEN, serving

from carrel import CarrelError, Workspace
from carrel.runtime.model import ContextTooLong, Reply
from carrel.testing import ScriptedModel

NARROW = "layout: carrel\nagents: [{id: kate}]\nmodel: {context_window: 9000}\n"


def on_request(workspace, cli, desk):
    workspace.compact("s1")


def by_a_model(workspace, cli, desk):
    asyncio.run(workspace.summarise("s1", ScriptedModel([Reply(text="")])))


def by_the_command(workspace, cli, desk):
    cli("-C", desk, "sessions", "compact", "s1")


def after_an_overflow(workspace, cli, desk):
    async def held():
        model = ScriptedModel([ContextTooLong("m")], [Reply(text="Well.")])
        async for _ in workspace.turn("s1", "And now?", model=model):
            pass

    asyncio.run(held())


def by_a_full_window(workspace, cli, desk):
    desk.put({"carrel.yaml": NARROW})
    with Workspace.open(desk) as narrow:
        narrow.prepare("s1", "And now?")


WAYS = (on_request, by_a_model, by_the_command, by_a_full_window, after_an_overflow)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_was_decided_is_in_the_journal_before_history_shrinks_on_every_way(cli, sample, way):
    journal = sample / JOURNAL
    journal.unlink()
    journal.mkdir()  # nothing can be saved
    with Workspace.open(sample) as workspace:
        long_talk(workspace)
        with suppress(CarrelError):
            way(workspace, cli, sample)
    assert not is_compacted(sample.path)
    journal.rmdir()
    cli.set(CARREL_NOW="2026-04-24T13:00:00Z")  # what failed is not tried again at once
    with Workspace.open(sample) as workspace:
        way(workspace, cli, sample)
    assert is_compacted(sample.path)
    assert "JWT for authentication" in journal.read_text()


def test_a_compaction_over_http_saves_first_too(tmp_path):
    with serving(tmp_path) as place:
        long_talk(place.workspace)
        journal = place.root / JOURNAL
        journal.mkdir(parents=True)
        address = "/api/v1/w/default/sessions/s1:compact"
        refused = place.client.post(address, json={}, headers={"Authorization": f"Bearer {TOKEN}"})
        assert refused.json()["code"] == "compaction_stopped"
        journal.rmdir()
        place.told("POST", "/sessions/s1:compact", {})
        assert "JWT for authentication" in journal.read_text()


def test_after_any_number_of_compactions_one_command_gives_every_word_back(cli, sample):
    said = []
    for number in range(3):
        with Workspace.open(sample) as workspace:
            said += long_talk(workspace, turns=6)
        before = log_path(sample.path).read_bytes()
        assert cli("-C", sample, "sessions", "compact", "s1").code == 0
        assert log_path(sample.path).read_bytes().startswith(before), number
    shown = cli("-C", sample, "sessions", "show", "s1", "--limit", "500", "--json").document
    assert [entry["content"] for entry in shown["entries"] if entry["role"] == "user"] == said
    exported = cli("-C", sample, "sessions", "export", "s1", "--format", "jsonl").text.splitlines()
    lines = [json.loads(line) for line in exported]
    assert [line["content"] for line in lines if line.get("role") == "user"] == said


SKELETONS = {
    "nothing": "",
    "blanks": " \n\t\n",
    "headings": "## Requests\n\n## Facts\n\n## Open questions\n",
    "none of each": "## Requests\n- None\n\n## Facts\n- N/A\n\n## Next steps\n- (none)\n",
    "an apology": "I'm sorry, I cannot help with that.",
    "another talk": "## Requests\n- Asked for a recipe of lasagne with aubergines and much cheese on top\n",
}


@pytest.mark.parametrize("answer", SKELETONS.values(), ids=SKELETONS)
def test_an_empty_skeleton_never_stands_in_the_place_of_history(cli, sample, answer):
    with Workspace.open(sample) as workspace:
        long_talk(workspace)
        done = asyncio.run(workspace.summarise("s1", ScriptedModel([Reply(text=answer)])))
        shown = workspace.assemble("s1").to_text()
    assert [finding.code for finding in done.findings if finding.code.startswith("summary")]
    assert "JWT" in shown
    assert "B-3" in shown
    assert answer.strip() == "" or answer.strip() not in shown


def test_a_session_goes_on_where_no_summary_can_be_made_at_all(cli, sample):
    """Neither a model nor the rules: history stays, and what is wrong is told."""
    with Workspace.open(sample) as workspace:
        long_talk(workspace)
        workspace.callbacks.on("before_compaction", lambda _: 1 / 0)
        with pytest.raises(CarrelError) as caught:
            workspace.compact("s1")
        assert caught.value.hint
        assert DECISION in workspace.assemble("s1").to_text()
    assert not is_compacted(sample.path)
