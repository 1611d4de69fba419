"""Tasks for others that outlive a turn: how long each may take, and how the answer comes back, once."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.runtime.house import KATES, NOW, House, prompt, says, spoken
from tests.unit.runtime.scripted import asks, assert_valid, call

from carrel.errors import CarrelError
from carrel.records.usage import Spent
from carrel.runtime.delegation import KIND
from carrel.runtime.errands import DEPTH, MOST, MOST_ROUNDS, Errands
from carrel.runtime.loop import Limits
from carrel.runtime.model import Reply, Spend
from carrel.runtime.spending import SpendingCap
from carrel.runtime.sweep import LEASE
from carrel.testing import ScriptedModel

RESEARCHER = "---\ndescription: Finds things out\n---\nYou are a careful researcher.\n"
SETTINGS = "layout: carrel\nagents:\n  - id: kate\n    systemPromptTemplate: You are Kate.\n"
OWN = "agents/researcher/workspace/agents/researcher/sessions"


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path / "house", tmp_path / "home")
    return made.put({"carrel.yaml": SETTINGS, "subagents/researcher.md": RESEARCHER}).trust()


def leave(house: House, task: str = "Find it.", *, scope: str = "main", session: str = "s1") -> None:
    """Have Kate leave a task for later."""
    asked = asks(call("delegate", "c1", agent="researcher", task=task, background=True))
    house.say(ScriptedModel((asked,), says("It is under way.")), scope=scope, session=session)


def handed(house: House) -> list[dict[str, str]]:
    """What Kate was told of tasks that she had left."""
    return [line for line in house.log() if line.get("sender_id") == "researcher"]


# ------------------------------------------------------------------------------------------------------------- limits


def test_each_level_has_less_time_than_the_one_that_waits_for_it():
    errands = Errands(limits=Limits(timeout=100.0, patience=7.0, rounds=5))
    for _ in range(DEPTH):
        errands.begin()
        above, errands = errands, errands.below(None)
        assert (errands.limits.timeout or 0) < (above.limits.timeout or 0)
        assert (errands.limits.patience, errands.limits.rounds) == (7.0, 5)
    assert errands.depth == DEPTH
    # Who has no limit of its own still does not wait forever, and a declaration does not ask for endless rounds.
    unlimited = Errands(limits=Limits(timeout=None))
    unlimited.begin()
    assert unlimited.below(10**9).limits.timeout
    assert unlimited.below(10**9).limits.rounds == MOST_ROUNDS


def test_all_that_a_turn_leads_to_is_counted_together():
    top = Errands()
    for number in range(MOST):
        (top if number % 2 else top.below(None)).admit(f"s{number}")
    for errands in (top, top.below(None)):
        with pytest.raises(CarrelError) as caught:
            errands.admit("one more")
        assert caught.value.code == "too_many_delegations"


# ------------------------------------------------------------------------------------------------------- handing back


def test_the_answer_is_told_where_it_was_asked_as_somebody_elses_words(house):
    leave(house)
    house.sweep(ScriptedModel(says("The hull is NX-4711.")))
    (told,) = handed(house)
    assert told["role"] == "user"
    assert told["source_plugin"] == "agent"
    assert "agent:researcher" in told["content"]
    assert "Find it." in told["content"]
    assert told["content"].endswith("The hull is NX-4711.")
    assert_valid(spoken(house.log()))


def test_the_next_turn_reads_the_answer(house):
    leave(house)
    house.sweep(ScriptedModel(says("The hull is NX-4711.")))
    model = ScriptedModel(says("It is NX-4711."))
    house.say(model, "Well?")
    assert prompt(model).count("The hull is NX-4711.") == 1


def test_sweeping_again_and_again_tells_it_once(house):
    leave(house)
    for _ in range(3):
        house.sweep(ScriptedModel(says("Found.")))
    assert len(handed(house)) == 1


def test_a_worker_that_dies_before_the_job_is_done_tells_it_once(house):
    leave(house)
    with house.open() as workspace:
        job = workspace.records.queue.take([KIND], now=NOW, lease=timedelta(minutes=1), worker="dead")
        assert job is not None
        workspace.conversations.work(job, ScriptedModel(says("Found.")))
    silent = ScriptedModel()
    assert house.sweep(silent, at=NOW + timedelta(minutes=2)).done == 1
    assert silent.requests == []
    assert len(handed(house)) == 1


def test_a_worker_that_dies_between_the_answer_and_the_telling_tells_it_later(house):
    leave(house)
    with house.open() as workspace:
        job = workspace.records.queue.take([KIND], now=NOW, lease=timedelta(minutes=1), worker="dead")
        assert job is not None
        own = workspace.conversations
        own._delegation("", "shared", Errands(), ScriptedModel(says("Found."))).work(job)
    assert handed(house) == []
    assert house.sweep(ScriptedModel(), at=NOW + timedelta(minutes=2)).done == 1
    assert [told["content"][-6:] for told in handed(house)] == ["Found."]


WORKER = """
import os, sys
from carrel.app import Workspace
from carrel.runtime.model import Reply
from carrel.testing import ScriptedModel

asked = lambda: print("asked", flush=True)
with Workspace.open(sys.argv[1], agent="kate") as workspace:
    done = workspace.sweep(model=ScriptedModel([asked, Reply(text="Found.")]))
print(f"left {done.left}", flush=True)
"""


def test_workers_that_are_killed_at_any_moment_lose_no_answer_and_tell_none_twice(house):
    chance = random.Random(7)
    tasks = [f"Find part {number}." for number in range(12)]
    asked = asks(
        *(
            call("delegate", f"c{n}", agent="researcher", task=task, background=True)
            for n, task in enumerate(tasks)
        )
    )
    house.say(ScriptedModel((asked,), says("Under way.")))
    now, kills = NOW, 0
    for _ in range(40):
        environ = {**os.environ, **house.environ, "CARREL_NOW": now.isoformat()}
        command = [sys.executable, "-c", WORKER, str(house.root)]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            heard = [worker.stdout.readline() for _ in range(chance.randrange(1, 4))]
            if heard[-1].startswith("left"):
                break
            time.sleep(chance.uniform(0, 0.04))
            os.kill(worker.pid, signal.SIGKILL)
        kills += 1
        now += LEASE + timedelta(seconds=1)
    assert kills > 3
    assert house.sweep(ScriptedModel(says("Found.")), at=now).left == 0
    told = [each["content"] for each in handed(house)]
    assert sorted(task for task in tasks for text in told if task in text) == sorted(tasks)
    assert len(told) == len(tasks)
    with house.open() as workspace:
        assert len(workspace.records.queue.jobs("done")) == len(tasks)


def test_it_is_told_in_the_scope_in_which_it_was_asked(house):
    leave(house, scope="shared")
    house.sweep(ScriptedModel(says("Found.")))
    (told,) = handed(house)
    assert told["scope"] == "shared"
    model = ScriptedModel(says("Yes."))
    house.say(model, "Well?", scope="shared")
    assert "Found." in prompt(model)


def test_what_the_owner_asked_for_is_not_told_to_strangers(house):
    leave(house)
    house.sweep(ScriptedModel(says("Found.")))
    model = ScriptedModel(says("Yes."))
    house.say(model, "Well?", scope="shared")
    assert "Found." not in prompt(model)


def test_an_answer_for_a_session_that_is_deleted_is_kept_with_the_job_and_brings_nothing_back(house):
    leave(house)
    with house.open() as workspace:
        workspace.discard(f"{KATES}/s1.log.jsonl")
    assert house.sweep(ScriptedModel(says("Found."))).done == 1
    with house.open() as workspace:
        assert not workspace.sessions.exists("s1")
        (job,) = workspace.records.queue.jobs("done")
        assert job.result is not None
        assert job.result["text"] == "Found."


# --------------------------------------------------------------------------------------------------- what it may cost


def spend(house: House, cost: float) -> None:
    with house.open() as workspace:
        spent = Spent(
            agent="kate", session="s9", model="gpt-5", at=NOW, input=1, cached=0, output=1, cost=cost
        )
        workspace.records.usage.add(spent, turn="t1")


def test_a_sweep_under_a_reached_cap_says_so_and_does_nothing(house):
    leave(house)
    leave(house, session="s2")
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_day: 1.0\n"}).trust()
    spend(house, 0.8)
    model = ScriptedModel(says("Found."))
    swept = house.sweep(model)
    assert [found.code for found in swept.findings] == ["background_stopped"]
    assert (swept.done, swept.failed, swept.retrying, swept.left) == (0, 0, 0, 2)
    assert model.requests == []
    with house.open() as workspace:
        assert [job.attempts for job in workspace.records.queue.jobs("waiting")] == [0, 0]
    tomorrow = house.sweep(model, at=NOW + timedelta(days=1))
    assert (tomorrow.done, tomorrow.findings) == (2, ())


def test_what_is_done_already_is_not_left(house):
    leave(house)
    house.sweep(ScriptedModel(says("Found.")))
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_day: 1.0\n"}).trust()
    spend(house, 0.8)
    assert house.sweep(ScriptedModel()).left == 0


def costs(dollars: float, text: str = "Found.") -> tuple[Reply]:
    return (Reply(text=text, spend=Spend(output=round(dollars * 100_000))),)


def test_background_work_stops_in_the_middle_of_a_sweep_where_its_share_is_spent(house):
    for number in range(4):
        leave(house, session=f"s{number}")
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_day: 1.0\n"}).trust()
    model = ScriptedModel(costs(0.45), name="gpt-5")
    swept = house.sweep(model)
    assert (len(model.requests), swept.done, swept.left) == (2, 2, 2)
    assert [found.code for found in swept.findings] == ["background_stopped"]


def test_what_a_subagent_spends_counts_for_the_whole_workspace(house):
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_day: 1.0\n"}).trust()
    asked = asks(call("delegate", "c1", agent="researcher", task="Find it."))
    model = ScriptedModel((asked,), costs(1.5), says("Done."), name="gpt-5")
    with pytest.raises(SpendingCap):
        house.say(model)
    assert len(model.requests) == 2
    assert_valid(spoken(house.log()))


def test_what_those_who_work_for_a_session_spend_counts_for_that_session(house):
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_session: 0.05\n"}).trust()
    asked = asks(call("delegate", "c1", agent="researcher", task="Find it."))
    model = ScriptedModel((asked,), costs(0.06), says("Done."), name="gpt-5")
    with pytest.raises(SpendingCap, match="a session is reached"):
        house.say(model)
    assert len(model.requests) == 2


def test_a_job_that_meets_the_share_of_background_work_waits_and_is_not_given_up(house):
    leave(house)
    house.put({"carrel.yaml": f"{SETTINGS}spending:\n  per_day: 1.0\n"}).trust()
    dear = Reply(text="", tool_calls=(call("list_files", "t1"),), spend=Spend(output=85_000))
    swept = house.sweep(ScriptedModel((dear,), costs(0.1), name="gpt-5"))
    assert (swept.done, swept.failed, swept.retrying) == (0, 0, 1)
    again = house.sweep(ScriptedModel(says("Found.")), at=NOW + timedelta(days=1))
    assert (again.done, len(handed(house))) == (1, 1)


def test_a_task_that_is_given_up_is_told_without_words_of_the_error(house):
    leave(house)
    (house.root / "subagents/researcher.md").unlink()
    assert house.sweep(ScriptedModel(says("Never."))).failed == 1
    (told,) = handed(house)
    assert "could not do what it was asked" in told["content"]
    assert "Error" not in told["content"]


def test_a_sweep_works_where_a_loop_is_running(house):
    leave(house)

    async def sweep() -> int:
        return house.sweep(ScriptedModel(says("Found."))).done

    assert asyncio.run(sweep()) == 1


def test_what_is_handed_in_between_question_and_answer_does_not_double_the_question(house):
    leave(house)
    with house.open() as workspace:
        workspace.record("s1", [{"role": "user", "content": "Well?"}])
        house.sweep(ScriptedModel(says("The hull is NX-4711.")))
        text = workspace.prepare("s1", "Well?").to_text()
    assert text.count("Well?") == 1
    assert "The hull is NX-4711." in text


@pytest.mark.parametrize(("model", "trusted"), [("openai:gpt-5", False), ("gpt-4o", True)])
def test_a_peers_model_that_may_not_be_called_is_not(house, model, trusted):
    peer = f"  - id: bo\n    model: {model}\n"
    house.put({"carrel.yaml": f"{SETTINGS}{peer}"})
    if trusted:
        house.trust()
    house.environ["OPENAI_API_KEY"] = "sk-never-to-be-used"
    asked = asks(call("delegate", "c1", agent="bo", task="Find it."))
    asker = ScriptedModel((asked,), says("Found."), says("Done."), name="given")
    house.say(asker)
    assert len(asker.requests) == 3  # the caller's own model answers for the peer
