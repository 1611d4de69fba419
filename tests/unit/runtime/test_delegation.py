"""Agents that ask agents: whose files they see, how far it goes, how it ends, and what is written down."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.runtime.scripted import asks, assert_valid, call

from carrel.app import Workspace
from carrel.opening import Opened, open_directory, open_files, pick_agent
from carrel.runtime.delegation import (
    DEPTH,
    KIND,
    MOST,
    MOST_ROUNDS,
    Delegation,
    ErrandDesk,
    Errands,
    Seat,
    hold_turn,
    root_of,
)
from carrel.runtime.loop import Ended, Event, Limits
from carrel.runtime.loop.hearing import ModelTimeout
from carrel.runtime.model import Model, Reply
from carrel.runtime.sweep import sweep
from carrel.sessions.message import Message
from carrel.settings import AgentSettings
from carrel.testing import SILENCE, ScriptedModel
from carrel.tools.registry import Registry
from carrel.workspace.scope import Scope, parse_scope

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
RESEARCHER = "---\ndescription: Finds things out\n{}---\nYou are a careful researcher.\n"
FILES = {
    "carrel.yaml": "layout: carrel\nagents:\n  - id: kate\n    systemPromptTemplate: You are Kate.\n"
    "  - id: bob\n    domain: Billing\n    systemPromptTemplate: You are Bob.\n"
    "  - id: eve\n    systemPromptTemplate: You are Eve.\n",
    "AGENTS.md": "Be brief.\n",
    "MEMORY.md": "Ana uses a Samsung.\n",
    "subagents/researcher.md": RESEARCHER.format(""),
}


class Room:
    """One agent's workspace, put together as the application does it."""

    def __init__(self, opened: Opened, agent: AgentSettings, models: dict[str, Model]):
        self.opened = opened
        self.models = models
        self.workspace = Workspace(opened.moved_to(agent.workspace), agent)

    @property
    def sessions(self):
        return self.workspace.sessions

    def delegation(self, session: str, scope: str, errands: Errands, model: Model) -> Delegation:
        return Delegation(
            ground=self.workspace.assembler.ground,
            session=session,
            scope=parse_scope(scope),
            trusted=self.workspace.config.trusted,
            errands=errands,
            open=self.seated,
            models=lambda name: self.models[name] if name else model,
            queued=lambda: self.workspace.records.queue,
        )

    def turn(
        self,
        session: str,
        message: str,
        *,
        model: Model,
        scope: str = "main",
        source: str = "",
        sender: str | None = None,
        errands: Errands,
    ):
        others = self.delegation(session, scope, errands, model).tools()
        registry = Registry((*self.workspace.tools(session=session, scope=scope), *others))
        desk = ErrandDesk(
            agent=self.workspace.agent.id,
            session=session,
            scope=parse_scope(scope),
            callbacks=self.workspace.callbacks,
            scribe=self.workspace.scribe,
            registry=registry.allowed(self.workspace.agent.allowed_tools),
            preparing=lambda text: self.workspace._prepare(session, text, scope),
            model=model.name,
            source=source,
            sender_id=sender,
            errands=errands,
        )
        return hold_turn(desk, model, Message("user", message))

    @contextmanager
    def seated(self, seat: Seat) -> Iterator["Room"]:
        room = Room(self._opened_for(seat), seat.agent, self.models)
        with room.workspace:
            yield room

    def _opened_for(self, seat: Seat) -> Opened:
        if seat.kind == "peer":
            return self.opened
        if seat.kind == "inherited":
            return replace(self.opened, root=self.workspace.root, files=self.workspace.files)
        root = root_of(self.workspace.root, seat)
        config = self.opened.config
        settings = replace(config.settings, agents=(seat.agent,), layout="carrel")
        config = replace(config, settings=settings, origins={**config.origins, "layout": "delegation"})
        return replace(
            self.opened, root=root, files=open_files(root), config=config, manifest=None, lower=None
        )


class House:
    """A workspace on disk with several agents in it."""

    def __init__(self, root: Path, home: Path):
        self.root = root
        self.environ = {"CARREL_HOME": str(home), "CARREL_NOW": NOW.isoformat()}
        self.models: dict[str, Model] = {}
        root.mkdir()

    def put(self, files: dict[str, str]) -> "House":
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return self

    def trust(self) -> "House":
        Workspace.trust(self.root, environ=self.environ)
        return self

    @contextmanager
    def room(self, agent: str = "kate") -> Iterator[Room]:
        opened = open_directory(self.root, environ=self.environ)
        room = Room(opened, pick_agent(opened.config.settings, agent), self.models)
        with room.workspace:
            yield room

    def say(self, model: Model, *, scope: str = "main", limits: Limits | None = None) -> list[Event]:
        """Hold one turn with Kate and return its events."""
        with self.room() as room:

            async def run() -> list[Event]:
                events = room.turn("s1", "Hi.", model=model, scope=scope, errands=Errands(limits=limits))
                return [event async for event in events]

            return asyncio.run(run())

    def log(self, path: str) -> list[dict[str, Any]]:
        """The lines of the only log in a folder."""
        (found,) = self.root.glob(f"{path}/*.log.jsonl")
        return [json.loads(line) for line in found.read_text().splitlines()]


OWN = "agents/researcher/workspace/agents/researcher/sessions"
KATES = "agents/kate/sessions"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "house", tmp_path / "home").put(FILES).trust()


def delegates(agent: str, task: str = "Find it.", own: str = "c1", **more: Any) -> tuple[Reply]:
    return (asks(call("delegate", own, agent=agent, task=task, **more)),)


def says(text: str) -> tuple[Reply]:
    return (Reply(text=text),)


def results(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the tools of a session gave."""
    return [json.loads(line["content"].partition("\n\n[")[0]) for line in lines if line.get("role") == "tool"]


def spoken(lines: list[dict[str, Any]]) -> list[Message]:
    """A log as a conversation."""
    return [
        Message(
            line["role"],
            line["content"],
            tool_calls=tuple(
                call(each["name"], each["id"], **each["arguments"]) for each in line.get("tool_calls", ())
            ),
            tool_call_id=line.get("tool_call_id", ""),
        )
        for line in lines
        if line["type"] == "entry"
    ]


def prompt(model: ScriptedModel, number: int) -> str:
    return "\n".join(message.to_text() for message in model.requests[number].messages)


def errors(lines: list[dict[str, Any]]) -> list[str]:
    return [each["error"]["code"] for each in results(lines) if "error" in each]


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
    more = "model: small\ntools: [list_files, write_file]\nsteps: 1\n"
    house.put({"subagents/researcher.md": RESEARCHER.format(more)}).trust()
    small = ScriptedModel((asks(call("list_files", "l1")),), says("Yes."), name="small")
    house.models["small"] = small
    house.say(ScriptedModel(delegates("researcher"), says("Done.")))
    # In shared scope nothing is written, so what may write is not there.
    assert [tool.name for tool in small.requests[0].tools] == ["list_files"]
    assert small.requests[1].tools == ()


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
    with house.room() as room:

        async def run() -> None:
            async with aclosing(room.turn("s1", "Hi.", model=model, errands=Errands())) as events:
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
        threading.Event().wait(1.5)  # the model keeps its own loop, so that only the caller notices the time

    model = ScriptedModel(delegates("bob"), ("Half", slow, SILENCE))
    with pytest.raises(ModelTimeout):
        house.say(model, limits=Limits(timeout=1.0))
    assert_valid(spoken(house.log(KATES)))
    assert errors(house.log(KATES)) == ["stopped"]
    assert house.log("agents/bob/sessions")[-1]["content"] == "Half"


def test_the_same_call_has_the_same_session_and_another_has_another(house):
    def ask(own: str, task: str) -> str:
        with house.room() as room:
            delegation = room.delegation("s1", "main", Errands(), ScriptedModel(says("Yes.")))
            desk_call = call("delegate", own, agent="researcher", task=task)
            registry = Registry(delegation.tools())
            desk = ErrandDesk(
                agent="kate",
                session="s1",
                scope=Scope.MAIN,
                callbacks=room.workspace.callbacks,
                scribe=room.workspace.scribe,
                registry=registry,
                preparing=room.workspace.assemble,
                errands=delegation.errands,
            )
            return json.loads(desk.call(desk_call))["session"]

    first = ask("c1", "Find it.")
    assert ask("c1", "Find it.") == first
    assert len({first, ask("c2", "Find it."), ask("c1", "Find more."), ask("c1", "\ud800")}) == 4


def swept(room: Room, model: Model, now: datetime = NOW, **options: Any):
    work = room.delegation("", "shared", Errands(), model).work
    return sweep(room.workspace.records, {KIND: work}, worker="w", now=lambda: now, **options)


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
    with house.room() as room:
        done = swept(room, ScriptedModel(says("Found.")))
        (job,) = room.workspace.records.queue.jobs()
        assert (done.done, done.left, job.key) == (1, 0, result["session"])
        assert (job.result["text"], job.result["source"]) == ("Found.", "agent:researcher")
        assert swept(room, ScriptedModel()).done == 0
    assert [line.get("content") for line in house.log(OWN)] == [None, "Find it.", "Found."]


def test_a_worker_that_dies_after_the_answer_asks_nobody_again(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    with house.room() as room:
        queue = room.workspace.records.queue
        lost = queue.take([KIND], now=NOW, lease=timedelta(minutes=1), worker="dead")
        assert lost is not None
        room.delegation("", "shared", Errands(), ScriptedModel(says("Found."))).work(lost)
        before = house.log(OWN)
        silent = ScriptedModel()
        assert swept(room, silent).done == 0  # the lease still holds
        assert swept(room, silent, NOW + timedelta(minutes=2)).done == 1
        assert silent.requests == []
        assert queue.jobs()[0].result["text"] == "Found."
    assert house.log(OWN) == before


def test_a_worker_that_dies_before_the_answer_leaves_one_question_and_one_answer(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    with house.room() as room:
        failing = ScriptedModel(("Half", RuntimeError()))
        assert swept(room, failing).retrying == 1
        later = NOW + timedelta(hours=1)
        assert swept(room, ScriptedModel(says("Found.")), later).done == 1
    log = house.log(OWN)
    assert [line["content"] for line in log[1:]] == ["Find it.", "Half", "Found."]
    assert_valid(spoken(log))


def test_a_background_task_keeps_the_scope_it_was_asked_in(house):
    house.put({"subagents/researcher.md": RESEARCHER.format("workspace:\n  mode: shared\n")})
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")), scope="shared")
    model = ScriptedModel(says("Found."))
    with house.room() as room:
        assert swept(room, model).done == 1
    assert "Be brief." in prompt(model, 0)
    assert "Samsung" not in prompt(model, 0)


def test_a_task_for_somebody_who_is_gone_is_given_up(house):
    house.say(ScriptedModel(delegates("researcher", background=True), says("Later.")))
    (house.root / "subagents/researcher.md").unlink()
    with house.room() as room:
        assert swept(room, ScriptedModel()).failed == 1
        assert "unknown_delegate" in room.workspace.records.queue.jobs("failed")[0].error


def test_who_was_asked_may_not_put_the_task_off(house):
    model = ScriptedModel(delegates("bob"), delegates("eve", background=True), says("Well."), says("Done."))
    house.say(model)
    assert errors(house.log("agents/bob/sessions")) == ["background_not_here"]
