"""Whatever JSON a client sends as arguments, it is answered or refused by a code, and nothing private is told."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel import CarrelError, Workspace
from carrel.mcp import prompts, resources
from carrel.mcp.answers import problem_of, result_of
from carrel.mcp.offered import OFFERS, call, offered
from carrel.mcp.seat import Seat
from carrel.workspace.scope import Scope

SECRET = "The heron keeps the red ledger"
FILES = {
    "carrel.yaml": "agents: [{id: kate}]\n",
    "AGENTS.md": "Be brief.\n",
    "MEMORY.md": f"## People\n\n- {SECRET}\n",
    "memory/2026-04-24.md": f"- {SECRET}\n",
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Ship it\n---\nGo.\n",
}
NAMES = [
    "path",
    "query",
    "session",
    "session_id",
    "action",
    "text",
    "content",
    "if_match",
    "under",
    "offset",
    "limit",
    "messages",
    "name",
    "file",
    "filter",
    "section",
    "layer",
    "kind",
    "line",
    "lines",
    "since",
    "tier",
    "max_tokens",
    "column",
    "before",
    "max_chars",
]
WORDS = st.sampled_from(
    [
        "",
        ".",
        "..",
        "../x",
        "MEMORY.md",
        "memory/2026-04-24.md",
        "s1",
        "recent",
        "search",
        "list_sessions",
        "read_session",
        "add",
        "forget",
        "append",
        "replace",
        "deploy",
        "AGENTS.md",
        "\x00",
        "a/" * 300,
        "People",
    ]
)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    WORDS,
    st.text(max_size=20),
)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system", "x"]), "content": VALUES}
    ),
    max_size=3,
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5) | st.fixed_dictionaries(
    {"session": WORDS, "messages": MESSAGES}
)
TOOLS = st.sampled_from([offer.name for offer in OFFERS])


@pytest.fixture(scope="module", params=list(Scope))
def seat(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environ = {"CARREL_HOME": str(tmp_path_factory.mktemp("home"))}
    with Workspace.open(folder, environ=environ) as workspace:
        yield Seat(workspace=workspace, scope=request.param, may_write=True)


def held(seat, told):
    """What is told is JSON, and in shared scope nothing of what is private."""
    text = json.dumps(told)
    assert seat.scope is Scope.MAIN or "heron" not in text
    return text


@settings(max_examples=150)
@given(TOOLS, ARGUMENTS)
def test_any_arguments_are_answered_or_refused(seat, name, arguments):
    if name not in offered(seat):
        name = "file_read"
    try:
        told = result_of(call(seat, name, arguments)).structured_content
    except CarrelError as error:
        told = problem_of(error)
        assert told["code"] != "failed"
        assert len(told["message"]) < 2_000
    assert held(seat, told)


@settings(max_examples=100)
@given(
    st.sampled_from([*resources._READERS, "x"]),
    WORDS | st.text(max_size=30),
    st.sampled_from(["", "/", "//"]),
)
def test_any_address_is_read_or_refused(seat, kind, rest, slash):
    try:
        told = [each.text for each in resources.read(seat, f"workspace://{kind}{slash}{rest}")]
    except CarrelError as error:
        told = problem_of(error)
        assert len(told["message"]) < 2_000
    assert held(seat, told)


@settings(max_examples=60)
@given(
    st.sampled_from([*(prompt.name for prompt in prompts.PROMPTS), "x"]),
    st.dictionaries(
        st.sampled_from(["session", "day", "query", "topic", "text", "x"]),
        WORDS | st.text(max_size=20),
        max_size=2,
    ),
)
def test_any_prompt_is_filled_or_refused(seat, name, arguments):
    try:
        filled = prompts.fill(seat, name, arguments)
        told = [filled.words, *(each.text for each in filled.material)]
    except CarrelError as error:
        told = problem_of(error)
    assert held(seat, told)
