"""The tool with which a model asks other agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carrel.tools.delegate import (
    LONGEST_ANSWER,
    LONGEST_TASK,
    MOST_LISTED,
    Answered,
    Delegate,
    Queued,
    UnknownDelegate,
    delegate_tools,
    matches,
    narrowed,
    to_json,
)
from carrel.tools.registry import BadArguments, Registry


class Others:
    """Answers every task with itself, and remembers what is to be done later."""

    def __init__(self) -> None:
        self.later: list[tuple[str, str]] = []

    def run(self, agent: str, task: str) -> Answered:
        return Answered(agent=agent, session="s2", text=f"Did: {task}", finish="stop")

    def queue(self, agent: str, task: str) -> Queued:
        self.later.append((agent, task))
        return Queued(agent=agent, session="s2", state="waiting")


ANA = Delegate(id="ana", description="Reads\n  files")


def test_an_answer_names_its_source():
    tools = Registry(delegate_tools([ANA], Others()))
    assert tools.call("delegate", {"agent": "ana", "task": "Read."}) == {
        "agent": "ana",
        "session": "s2",
        "source": "agent:ana",
        "text": "Did: Read.",
        "finish": "stop",
        "truncated": False,
    }


def test_a_task_for_later_is_put_and_not_waited_for():
    others = Others()
    result = Registry(delegate_tools([ANA], others)).call(
        "delegate", {"agent": "ana", "task": "Read.", "background": "true"}
    )
    assert result == {"agent": "ana", "session": "s2", "queued": True, "state": "waiting"}
    assert others.later == [("ana", "Read.")]


def test_with_nobody_to_ask_there_is_no_tool():
    assert delegate_tools([], Others()) == ()


def test_those_who_can_be_asked_are_listed_in_order_on_a_line_each_up_to_a_limit():
    many = [Delegate(id=f"a{n:03}", description="d" * 9_000) for n in reversed(range(MOST_LISTED + 7))]
    (tool,) = delegate_tools([*many, ANA], Others())
    lines = tool.description.splitlines()[1:]
    assert lines[0].startswith("- a000: d")
    assert lines[-1] == "- and 8 more"
    assert len(lines) == MOST_LISTED + 1
    assert max(map(len, lines)) < 300
    (tool,) = delegate_tools([Delegate(id="zoe"), ANA], Others())
    assert tool.description.splitlines()[1:] == ["- ana: Reads files", "- zoe"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"agent": "ana"},
        {"agent": "ana", "task": ""},
        {"agent": "", "task": "Read."},
        {"agent": "ana", "task": "x" * (LONGEST_TASK + 1)},
        {"agent": "ana", "task": "Read.", "scope": "main"},
    ],
)
def test_a_task_that_makes_no_sense_is_refused_and_nobody_is_asked(arguments):
    with pytest.raises(BadArguments):
        Registry(delegate_tools([ANA], Others())).call("delegate", arguments)


def test_other_names_that_models_use_are_understood():
    tools = Registry(delegate_tools([ANA], Others()))
    assert tools.call("delegate", {"agent_id": "ana", "prompt": "Go."})["text"] == "Did: Go."


def test_an_unknown_name_leads_to_the_one_that_was_meant():
    assert "researcher" in UnknownDelegate("resercher", ["researcher", "bob"]).hint
    assert UnknownDelegate("q", ["b", "a"]).hint == "You may ask: a, b."
    assert len(UnknownDelegate("\n" * 9_000, [f"a{n}" for n in range(9_000)]).message) < 1_000


@given(st.text(alphabet=st.characters(), max_size=60), st.integers(2, 70))
def test_a_result_is_never_longer_than_its_limit_and_says_when_it_was_cut(text, limit):
    result = to_json(Answered(agent="a", session="s", text=text, finish="stop"), limit)
    assert len(result["text"]) <= limit <= LONGEST_ANSWER
    assert result["truncated"] is (len(text) > limit)


_NAMES = st.text(alphabet="ab", min_size=1, max_size=3)
_PATTERNS = st.lists(st.tuples(_NAMES, st.sampled_from(["", "*"])).map("".join), max_size=3)


@given(_PATTERNS, st.none() | _PATTERNS, _NAMES)
def test_a_subagent_has_exactly_the_tools_that_it_and_its_caller_may_use(caller, declared, name):
    # An empty declaration means none; an empty setting means all.
    expected = matches(name, caller) and (declared is None or (bool(declared) and matches(name, declared)))
    assert matches(name, narrowed(caller, declared)) is expected
