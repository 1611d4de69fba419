"""Agents that ask agents: whose files they see, how far it goes, how it ends, and what is written down."""

import asyncio
import json
import threading
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.stubs import openai
from tests.stubs.openai import OpenAIStub
from tests.unit.runtime.house import KATES, NOW, House, errors, prompt, results, says, spoken
from tests.unit.runtime.scripted import asks, assert_valid, call

from carrel.runtime.delegation import KIND
from carrel.runtime.errands import DEPTH, MOST
from carrel.runtime.loop import Ended, Limits
from carrel.runtime.loop.hearing import ModelTimeout
from carrel.runtime.model import Reply
from carrel.testing import SILENCE, ScriptedModel

RESEARCHER = "---\ndescription: Finds things out\n{}---\nYou are a careful researcher.\n"
FILES = {
    "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n    systemPromptTemplate: You are Kate.\n"
    "  - id: bob\n    domain: Billing\n    systemPromptTemplate: You are Bob.\n"
    "  - id: eve\n    systemPromptTemplate: You are Eve.\n",
    "AGENTS.md": "Be brief.\n",
    "MEMORY.md": "Ana uses a Samsung.\n",
    "subagents/researcher.md": RESEARCHER.format(""),
}
OWN = "agents/researcher/workspace/agents/researcher/sessions"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house", tmp_path / "home").put(FILES).trust()


def delegates(agent: str, task: str = "Find it.", own: str = "c1", **more: Any) -> tuple[Reply]:
    return (asks(call("delegate", own, agent=agent, task=task, **more)),)


def test_an_answer_comes_back_bounded_and_named_as_another_agents(house):
    model = ScriptedModel(delegates("researcher"), says("x" * 50_000), says("Done."))
    assert isinstance(house.say(model)[-1], Ended)
    (result,) = results(house.log(KATES))
    assert (result["agent"], result["source"], result["finish"]) == ("researcher", "agent:researcher", "stop")
    assert result["truncated"]
    assert len(result["text"]) == 40_000
    header, question, answer = house.log(OWN)
    assert (header["id"], header["agent_id"], header["source_plugin"]) == (
        result["session"],
        "researcher",
        "agent",
    )
    assert (question["content"], question["sender_id"], question["source_plugin"]) == (
        "Find it.",
        "kate",
        "agent",
    )
    assert len(answer["content"]) == 50_000
    assert question["scope"] == answer["scope"] == "shared"


def test_an_isolated_subagent_sees_its_own_root_and_nothing_of_its_callers(house):
    house.put({"agents/researcher/workspace/notes.md": "Own notes.\n"})
    reads = asks(
        call("read_file", "r1", path="MEMORY.md"),
        call("read_file", "r2", path="../../../MEMORY.md"),
        call("list_files", "r3"),
    )
    model = ScriptedModel(delegates("researcher"), (reads,), says("Nothing."), says("Done."))
    house.say(model)
    asked = prompt(model, 1)
    assert "You are a careful researcher." in asked
    assert "Own notes." in asked
    assert [word for word in ("Samsung", "Be brief", "You are Kate", "Hi.") if word in asked] == []
    told = json.dumps(results(house.log(OWN)))
    assert "Samsung" not in told
    assert "subagents" not in told
    assert "notes.md" in told
    assert len(errors(house.log(OWN))) == 2


def test_only_the_folder_is_made_for_an_isolated_subagent(house):
    house.say(ScriptedModel(delegates("researcher"), says("Yes."), says("Done.")))
    root = house.root / "agents/researcher/workspace"
    assert sorted(path.name for path in root.iterdir()) == [".carrel", "agents"]


@pytest.mark.parametrize("scope", ["main", "shared"])
def test_a_subagent_on_its_callers_files_has_its_callers_scope(house, scope):
    house.put({"subagents/researcher.md": RESEARCHER.format("workspace:\n  mode: shared\n")})
    model = ScriptedModel(delegates("researcher"), says("Yes."), says("Done."))
    house.say(model, scope=scope)
    assert "Be brief." in prompt(model, 1)
    assert "You are a careful researcher." in prompt(model, 1)
    assert ("Samsung" in prompt(model, 1)) is (scope == "main")
    assert house.log("agents/researcher/sessions")[1].get("scope", "") == (
        "shared" if scope == "shared" else ""
    )


def test_a_peer_works_at_its_own_desk_and_hears_what_strangers_hear(house):
    model = ScriptedModel(delegates("bob"), says("42."), says("Done."))
    house.say(model)
    assert "You are Bob." in prompt(model, 1)
    assert "Samsung" not in prompt(model, 1)
    assert house.log("agents/bob/sessions")[2]["content"] == "42."


def test_a_declared_folder_counts_only_in_a_trusted_workspace(house, tmp_path):
    own = {
        "subagents/researcher.md": RESEARCHER.format("workspace:\n  path: desk\n"),
        "desk/notes.md": "Desk notes.",
    }
    model = ScriptedModel(delegates("researcher"), says("Yes."), says("Done."))
    house.put(own).say(model)
    assert "Desk notes." in prompt(model, 1)
    stranger = House(tmp_path / "stranger", tmp_path / "home").put(FILES | own)
    model = ScriptedModel(delegates("researcher"), says("Yes."), says("Done."))
    stranger.say(model)
    assert "Desk notes." not in prompt(model, 1)
    assert stranger.log(OWN)[2]["content"] == "Yes."


def test_a_subagents_own_model_tools_and_steps_count(house):
    more = "model: openai:small\ntools: [list_files, write_file]\nsteps: 1\n"
    with OpenAIStub(openai.calls(("list_files", {})), openai.text("Yes.")) as small:
        house.put({"subagents/researcher.md": RESEARCHER.format(more)})
        house.put({"carrel.yaml": f"{FILES['carrel.yaml']}model:\n  base_url: {small.url}\n"}).trust()
        model = ScriptedModel(delegates("researcher"), says("Done."))
        house.say(model)
    assert [body["model"] for body in small.bodies] == ["small", "small"]
    # In shared scope nothing is written, so what may write is not there.
    assert [tool["function"]["name"] for tool in small.bodies[0]["tools"]] == ["list_files"]
    assert [body.get("tool_choice") for body in small.bodies] == [None, "none"]
    assert small.bodies[1]["tools"] == small.bodies[0]["tools"]
    assert results(house.log())[0]["text"] == "Yes."
    assert len(model.requests) == 2


def test_a_root_that_is_a_link_is_refused(house):
    (house.root / "agents/researcher").mkdir(parents=True)
    (house.root / "agents/researcher/workspace").symlink_to(house.root)
    house.say(ScriptedModel(delegates("researcher"), says("Done.")))
    assert errors(house.log(KATES)) == ["delegate_failed"]


def test_agents_that_ask_each_other_in_a_circle_end_at_the_last_level(house):
    # Kate asks Bob, who asks Kate, who asks Bob, who is refused: then each answers the one before.
    model = ScriptedModel(
        delegates("bob", own="c1"),
        delegates("kate", own="c2"),
        delegates("bob", own="c3"),
        delegates("kate", own="c4"),
        says("Enough."),
    )
    house.say(model)
    assert len(model.requests) == 2 * (DEPTH + 1)
    logs = [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in house.root.glob("agents/*/sessions/*.log.jsonl")
    ]
    assert [code for log in logs for code in errors(log)] == ["delegation_too_deep"]
    for log in logs:
        assert_valid(spoken(log))


def test_a_subagent_cannot_ask_itself(house):
    house.put({"agents/researcher/workspace/subagents/researcher.md": RESEARCHER.format("")})
    house.put({"agents/researcher/workspace/subagents/other.md": RESEARCHER.format("")})
    model = ScriptedModel(delegates("researcher"), delegates("researcher"), says("Alone."), says("Done."))
    house.say(model)
    assert errors(house.log(OWN)) == ["asks_itself"]


def test_a_turn_has_others_work_a_bounded_number_of_times(house):
    many = asks(*(call("delegate", f"c{n}", agent="researcher", task=f"Part {n}.") for n in range(MOST + 2)))
    model = ScriptedModel((many,), *[says("Yes.")] * MOST, says("Done."))
    house.say(model)
    assert errors(house.log(KATES)) == ["too_many_delegations"] * 2
    assert len(model.requests) == MOST + 2
    assert len(list((house.root / OWN).glob("*.log.jsonl"))) == MOST


@pytest.mark.parametrize(
    ("name", "allowed", "code"),
    [("nobody", "", "unknown_delegate"), ("kate", "", "asks_itself"), ("eve", "bo*", "delegate_not_allowed")],
)
def test_who_cannot_be_asked_is_refused_with_those_who_can(house, name, allowed, code):
    text = FILES["carrel.yaml"]
    if allowed:
        text = text.replace("You are Kate.\n", f"You are Kate.\n    allowedDelegates: ['{allowed}']\n")
    house.put({"carrel.yaml": text}).say(ScriptedModel(delegates(name), says("Done.")))
    (result,) = results(house.log(KATES))
    assert result["error"]["code"] == code
    assert result["error"]["hint"]


def test_the_description_names_subagents_and_allowed_peers_in_order(house):
    text = FILES["carrel.yaml"].replace("You are Kate.\n", "You are Kate.\n    allowedDelegates: ['bo*']\n")
    model = ScriptedModel(says("Done."))
    house.put({"carrel.yaml": text, "subagents/hid.md": RESEARCHER.format("hidden: true\n")}).say(model)
    (tool,) = [tool for tool in model.requests[0].tools if tool.name == "delegate"]
    assert tool.description.splitlines()[1:] == ["- bob: Billing", "- researcher: Finds things out"]


def test_who_has_nobody_to_ask_has_no_tool_for_it(tmp_path):
    house = House(tmp_path / "house", tmp_path / "home").put({"carrel.yaml": "agents: [{id: kate}]\n"})
    model = ScriptedModel(says("Done."))
    house.say(model)
    assert "delegate" not in [tool.name for tool in model.requests[0].tools]


def test_a_delegate_that_is_silent_is_waited_for_as_long_as_any_model_and_no_longer(house):
    model = ScriptedModel(delegates("researcher"), ("Let me see", SILENCE), says("It did not answer."))
    ended = house.say(model, limits=Limits(patience=0.2))[-1]
    assert isinstance(ended, Ended)
    assert ended.reply.text == "It did not answer."
    assert errors(house.log(KATES)) == ["delegate_failed"]
    cut = house.log(OWN)[-1]
    assert (cut["content"], cut["finish"]) == ("Let me see", "error")
    assert model.closed == 3


def test_a_model_that_fails_is_an_error_that_the_caller_reads(house):
    model = ScriptedModel(delegates("researcher"), (RuntimeError("secret words"),), says("Done."))
    house.say(model)
    (result,) = results(house.log(KATES))
    assert result["error"]["code"] == "delegate_failed"
    assert "secret words" not in json.dumps(result)
    assert model.requests[2].messages


@pytest.mark.parametrize("deep", [False, True])
def test_cancelling_a_turn_stops_all_who_work_for_it(house, deep):
    """The child, or the child's child, is in the middle of its answer when its caller is stopped."""
    reached = threading.Event()
    scripts = [delegates("bob"), *([delegates("eve", own="c2")] if deep else [])]
    model = ScriptedModel(*scripts, ("Half an ans", reached.set, SILENCE))
    with house.open() as workspace:

        async def run() -> None:
            async with aclosing(workspace.turn("s1", "Hi.", model=model)) as events:
                async for _ in events:
                    pass

        async def watch() -> asyncio.Task[None]:
            task = asyncio.create_task(run())
            await asyncio.to_thread(reached.wait, 30)
            task.cancel()
            await asyncio.wait({task})
            # When the caller is over, so are the others: nothing is awaited in between.
            assert model.closed == len(model.requests)
            return task

        assert asyncio.run(watch()).cancelled()
    assert_valid(spoken(house.log(KATES)))
    assert errors(house.log(KATES)) == ["stopped"]
    last = house.log("agents/eve/sessions" if deep else "agents/bob/sessions")[-1]
    assert (last["content"], last["finish"]) == ("Half an ans", "cancelled")
    if deep:
        assert_valid(spoken(house.log("agents/bob/sessions")))
        assert errors(house.log("agents/bob/sessions")) == ["stopped"]


def test_a_caller_that_runs_out_of_time_stops_those_who_work_for_it(house):
    def slow() -> None:
        threading.Event().wait(5)  # the model keeps its own loop, so that only the caller notices the time

    model = ScriptedModel(delegates("bob"), ("Half", slow, SILENCE))
    with pytest.raises(ModelTimeout):
        house.say(model, limits=Limits(timeout=4.0))
    assert_valid(spoken(house.log(KATES)))
    assert errors(house.log(KATES)) == ["stopped"]
    assert house.log("agents/bob/sessions")[-1]["content"] == "Half"


def test_the_same_call_has_the_same_session_and_another_has_another(tmp_path):
    """A turn that is held again after a crash finds its delegate's session again."""

    def ask(number: int, own: str, task: str) -> str:
        house = House(tmp_path / f"house-{number}", tmp_path / "home").put(FILES).trust()
        house.say(ScriptedModel(delegates("researcher", task, own), says("Yes."), says("Done.")))
        (result,) = results(house.log())
        return result["session"]

    asked = [
        ("c1", "Find it."),
        ("c1", "Find it."),
        ("c2", "Find it."),
        ("c1", "Find more."),
        ("c1", "\ud800"),
    ]
    first, again, *others = (ask(number, *each) for number, each in enumerate(asked))
    assert again == first
    assert len({first, *others}) == 4


def test_a_background_task_is_queued_and_done_by_a_sweep(house):
    model = ScriptedModel(delegates("researcher", background=True), says("It is under way."))
    house.say(model)
    (result,) = results(house.log(KATES))
    assert result == {
        "agent": "researcher",
        "session": result["session"],
        "queued": True,
        "state": "waiting",
    }
    assert not (house.root / OWN).exists()
    done = house.sweep(ScriptedModel(says("Found.")))
    with house.open() as workspace:
        (job,) = workspace.records.queue.jobs()
    assert (done.done, done.left, job.key) == (1, 0, result["session"])
    assert job.result is not None
    assert (job.result["text"], job.result["source"]) == ("Found.", "agent:researcher")
    assert house.sweep(ScriptedModel()).done == 0
    assert [line.get("content") for line in house.log(OWN)] == [None, "Find it.", "Found."]


def test_a_worker_that_dies_after_the_answer_asks_nobody_again(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    with house.open() as workspace:
        queue = workspace.records.queue
        lost = queue.take([KIND], now=NOW, lease=timedelta(minutes=1), worker="dead")
        assert lost is not None
        workspace.conversations.work(lost, ScriptedModel(says("Found.")))
    before = house.log(OWN)
    silent = ScriptedModel()
    assert house.sweep(silent).done == 0  # the lease still holds
    assert house.sweep(silent, at=NOW + timedelta(minutes=2)).done == 1
    assert silent.requests == []
    with house.open() as workspace:
        (job,) = workspace.records.queue.jobs()
    assert job.result is not None
    assert job.result["text"] == "Found."
    assert house.log(OWN) == before


def test_a_worker_that_dies_before_the_answer_leaves_one_question_and_one_answer(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    assert house.sweep(ScriptedModel(("Half", RuntimeError()))).retrying == 1
    assert house.sweep(ScriptedModel(says("Found.")), at=NOW + timedelta(hours=1)).done == 1
    log = house.log(OWN)
    assert [line["content"] for line in log[1:]] == ["Find it.", "Half", "Found."]
    assert_valid(spoken(log))


def test_a_background_task_keeps_the_scope_it_was_asked_in(house):
    house.put({"subagents/researcher.md": RESEARCHER.format("workspace:\n  mode: shared\n")})
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")), scope="shared")
    model = ScriptedModel(says("Found."))
    assert house.sweep(model).done == 1
    assert "Be brief." in prompt(model, 0)
    assert "Samsung" not in prompt(model, 0)


def test_a_task_for_somebody_who_is_gone_is_given_up(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    (house.root / "subagents/researcher.md").unlink()
    assert house.sweep(ScriptedModel()).failed == 1
    with house.open() as workspace:
        assert "unknown_delegate" in workspace.records.queue.jobs("failed")[0].error


def test_who_was_asked_may_not_put_the_task_off(house):
    model = ScriptedModel(delegates("bob"), delegates("eve", background=True), says("Well."), says("Done."))
    house.say(model)
    assert errors(house.log("agents/bob/sessions")) == ["background_not_here"]
