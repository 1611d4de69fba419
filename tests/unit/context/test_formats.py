"""An assembly as each provider's request, held to what the official clients' types and the real clients accept."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter, ValidationError

from carrel.app import Workspace
from carrel.context.assemble import Assembler, Assembly
from carrel.context.formats import BREAKPOINTS, OPENING, Body, to_anthropic, to_openai, to_responses
from carrel.context.inputs import Inputs, Recalled
from carrel.context.report import Report, Row, Tokens, describe_prefix
from carrel.sessions.message import Message, ToolCall
from carrel.sessions.window import settle
from carrel.workspace.scope import Scope

# ---------------------------------------------------------------------------------------------- what types accept

OPENAI = TypeAdapter(CompletionCreateParamsNonStreaming)
RESPONSES = TypeAdapter(ResponseCreateParamsNonStreaming)
ANTHROPIC = TypeAdapter(MessageCreateParamsNonStreaming)


def read_all(value: Any) -> Any:
    """Read what pydantic checks only when it is read: the items of an Iterable."""
    if isinstance(value, Mapping):
        return {key: read_all(item) for key, item in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    return [read_all(item) for item in value]


def accept(provider: TypeAdapter[Any], body: Body) -> None:
    """Fail unless the types take the body; a key they do not know is dropped by them, and differs here."""
    assert read_all(provider.validate_python(body, strict=True)) == body


def accept_all(assembly: Assembly) -> None:
    accept(OPENAI, to_openai(assembly, model="gpt-5"))
    accept(RESPONSES, to_responses(assembly, model="gpt-5"))
    accept(ANTHROPIC, to_anthropic(assembly, model="claude-sonnet-5") | {"max_tokens": 1000})


@pytest.mark.parametrize(
    ("provider", "body"),
    [
        (OPENAI, {"model": "m", "messages": [{"role": "tool", "content": "no call"}]}),
        (
            OPENAI,
            {"model": "m", "messages": [{"role": "user", "content": [{"type": "input_text", "text": ""}]}]},
        ),
        (RESPONSES, {"model": "m", "input": [{"role": "tool", "content": "no call"}]}),
        (
            RESPONSES,
            {"input": [{"role": "assistant", "content": [{"type": "output_text", "text": "no id"}]}]},
        ),
        (ANTHROPIC, {"model": "m", "max_tokens": 1, "messages": [{"role": "tool", "content": "x"}]}),
        (ANTHROPIC, {"model": "m", "messages": []}),
        (
            ANTHROPIC,
            {
                "model": "m",
                "max_tokens": 1,
                "messages": [],
                "system": [{"type": "text", "text": "x", "cache": {}}],
            },
        ),
    ],
)
def test_the_types_refuse_what_a_provider_would(provider, body):
    with pytest.raises((ValidationError, AssertionError)):
        accept(provider, body)


# ------------------------------------------------------------------------------------------ any messages whatever

TEXTS = st.text(st.characters(codec=None), max_size=8) | st.sampled_from(["", " ", "\n\t", "\ud800", "yes"])
SECTIONS = st.lists(st.tuples(TEXTS.filter(bool), st.booleans()), min_size=1, max_size=3)
IDS = st.sampled_from(["a", "b", "a_b", "a.b", "", "i" * 60, "\ud800", "tooluse|1"]) | TEXTS
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.floats() | st.none() | st.lists(TEXTS, max_size=2), max_size=2)
CALLS = st.builds(
    ToolCall,
    id=IDS,
    name=st.sampled_from(["read_file", "mcp.read", "", "n" * 80]) | TEXTS,
    arguments=ARGUMENTS | st.sampled_from(["", "{}", '{"a": 1}', "[1]", "not JSON", '{"a":"\ud800"}']),
)
HISTORY = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool", "system"]),
    TEXTS | st.lists(TEXTS, max_size=3).map(tuple),
    tool_calls=st.lists(CALLS, max_size=2).map(tuple),
    tool_call_id=IDS,
)
NEW = st.none() | st.lists(TEXTS.filter(bool), min_size=1, max_size=3)


class Made(NamedTuple):
    """An assembly put together by hand, and which of its messages hold nothing volatile up to their ends."""

    assembly: Assembly
    stable: list[bool]


def row(text: str, *, kind: str = "document", stable: bool = True) -> Row:
    digest = sha256(text.encode("utf-8", "replace")).hexdigest() if text else None
    return Row(
        name=kind, kind=kind, raw_tokens=1, tokens=1, size=1, limit=None, state="included", reason=None,
        stable=stable, sha256=digest,
    )  # fmt: skip


def report(rows: Sequence[Row]) -> Report:
    return Report(
        layout="carrel", agent="kate", session="s1", scope="main", model="gpt-5", unit="tokens",
        tokens=Tokens(window=1, used=1, exact=True), prefix=describe_prefix(rows), sections=tuple(rows),
        hidden=0, recall=(), warnings=(),
    )  # fmt: skip


@st.composite
def any_assembly(draw: st.DrawFn) -> Made:
    """Draw system messages of stable and other sections, any history, and perhaps a new user message."""
    messages, rows, stable = [], [], []
    for sections in draw(st.lists(SECTIONS, max_size=7)):
        messages.append(Message("system", "".join(text for text, _ in sections)))
        rows += [row(text, stable=flag) for text, flag in sections]
        stable.append(all(flag for _, flag in sections))
    for message in settle(draw(st.lists(HISTORY, max_size=6))).messages:
        messages.append(message)
        rows.append(row(message.to_text(), kind="history"))
        stable.append(True)
    if new := draw(NEW):
        messages.append(Message("user", new[0] if len(new) == 1 else tuple(new)))
        rows += [row(text, kind="query", stable=False) for text in new]
        stable.append(False)
    stable = [all(stable[: number + 1]) for number in range(len(stable))]
    return Made(Assembly(messages=tuple(messages), report=report(rows), frozen={}), stable)


def for_any_assembly(test: Callable[[Made], None]) -> Callable[[], None]:
    return settings(max_examples=60, deadline=None)(given(any_assembly())(test))


def parts(message: Message) -> list[str]:
    """The texts of a message as they can be sent."""
    content = (message.content,) if isinstance(message.content, str) else message.content or ("",)
    return [part.encode("utf-8", "replace").decode() for part in content]


def texts_of(message: Body) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content or ()]


def has_text(message: Message) -> bool:
    return any(parts(message))


def pieces(message: Message) -> list[str]:
    """What Anthropic gets of a message, block by block: its texts with sense, its calls, or the one result."""
    texts = [text for text in parts(message) if text.strip()]
    return ["".join(texts)] if message.role == "tool" else texts + ["call"] * len(message.tool_calls)


def piece_of(block: Body) -> str:
    if block["type"] == "tool_result":
        return "".join(text["text"] for text in block.get("content", ()))
    return block["text"] if block["type"] == "text" else "call"


def blocks_of(body: Body) -> list[Body]:
    """All blocks of an Anthropic body in the order in which it caches them."""
    return body.get("system", []) + [block for turn in body["messages"] for block in turn["content"]]


@for_any_assembly
def test_every_body_passes_the_official_types(made):
    accept_all(made.assembly)


@for_any_assembly
def test_every_body_can_be_sent_as_json(made):
    for convert in (to_openai, to_responses, to_anthropic):
        body = convert(made.assembly)
        assert json.loads(json.dumps(body, ensure_ascii=False).encode()) == body


@for_any_assembly
def test_openai_gets_each_message_in_its_place(made):
    sent = to_openai(made.assembly)["messages"]
    messages = made.assembly.messages
    assert [texts_of(m) for m in sent] == [
        parts(m) if has_text(m) or not m.tool_calls else [] for m in messages
    ]
    assert [message["role"] for message in sent] == [message.role for message in messages]
    assert [len(m.get("tool_calls", ())) for m in sent] == [len(m.tool_calls) for m in messages]


@for_any_assembly
def test_responses_gets_each_message_in_its_place(made):
    body = to_responses(made.assembly)
    expected = []
    for message in made.assembly.messages:
        if message.role == "assistant":
            expected += [["\n".join(parts(message))]] if has_text(message) else []
            expected += ["call"] * len(message.tool_calls)
        else:
            expected.append(parts(message))
    sent = [
        "call" if item.get("type") == "function_call" else texts_of({"content": item.get("output")} | item)
        for item in body["input"]
    ]
    assert sent == expected
    assert "instructions" not in body


@for_any_assembly
def test_anthropic_gets_all_text_in_order(made):
    sent = [piece_of(block) for block in blocks_of(to_anthropic(made.assembly))]
    expected = [piece for message in made.assembly.messages for piece in pieces(message)]
    assert [text for text in sent if text != OPENING] == expected


@for_any_assembly
def test_anthropic_gets_turns_that_alternate_beginning_with_the_user(made):
    turns = to_anthropic(made.assembly)["messages"]
    assert [turn["role"] for turn in turns] == [("user", "assistant")[n % 2] for n in range(len(turns))]


@for_any_assembly
def test_anthropic_gets_no_block_without_text_and_no_turn_without_a_block(made):
    body = to_anthropic(made.assembly)
    blocks = blocks_of(body)
    texts = [
        text for block in blocks for text in (block, *block.get("content", ())) if text["type"] == "text"
    ]
    assert all(text["text"].strip() for text in texts)
    assert all(block.get("content") != [] for block in blocks)
    assert all(turn["content"] for turn in body["messages"])
    assert body.get("system") != []


@for_any_assembly
def test_anthropic_caches_at_four_places_at_most_and_only_at_the_ends_of_stable_messages(made):
    sent = [block for block in blocks_of(to_anthropic(made.assembly)) if piece_of(block) != OPENING]
    numbered = [
        (number, piece) for number, message in enumerate(made.assembly.messages) for piece in pieces(message)
    ]
    ends = {index for index, (n, _) in enumerate(numbered) if n not in {m for m, _ in numbered[index + 1 :]}}
    marked = [index for index, block in enumerate(sent) if "cache_control" in block]
    assert len(marked) <= BREAKPOINTS
    assert set(marked) <= ends
    assert all(made.stable[numbered[index][0]] for index in marked)


# ----------------------------------------------------------------------------------------------- the three layouts

DOCUMENTS = {
    "SOUL.md": "Kind, and exact.",
    "AGENTS.md": "Be brief.",
    "USER.md": "Luis, in Bogota.",
    "IDENTITY.md": "- **Name:** Kate\n- **Emoji:** 🐙",
    "stack.md": "We use Python.",
    "team.md": "Two people.",
}
FILES = {
    "carrel": DOCUMENTS | {"MEMORY.md": "- Ana uses a Samsung.", "memory/2026-04-24.md": "- wrote tests"},
    "nexo": DOCUMENTS | {"MEMORY.md": "- Ana uses a Samsung.", "notes/2026-04-24.md": "- wrote tests"},
    "astra": {name if name == "SOUL.md" else f"workspace/{name}": text for name, text in DOCUMENTS.items()},
}
PROMPTS = {"plain": "You are Kate.", "memory": "You are Kate.\n{{memory}}"}
TALK = (Message("user", "Hello."), Message("assistant", "Hello, Luis."))
HITS = (Recalled(path="memory/2026-04-20.md", line=12, text="Ana moved.", date="2026-04-20"),)


@pytest.fixture(scope="module")
def desks(tmp_path_factory) -> Iterator[dict[tuple[str, str], Assembler]]:
    """An assembler for each layout, with a prompt that stays and with one that recalls."""
    home = str(tmp_path_factory.mktemp("home"))
    opened = []
    for layout, files in FILES.items():
        for prompt, template in PROMPTS.items():
            root = tmp_path_factory.mktemp(f"{layout}-{prompt}")
            settings = {"layout": layout, "agents": [{"id": "kate", "systemPromptTemplate": template}]}
            for name, text in (files | {"carrel.yaml": json.dumps(settings)}).items():
                path: Path = root / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, "utf-8")
            opened.append(((layout, prompt), Workspace.open(root, environ={"CARREL_HOME": home})))
    yield {key: workspace.assembler for key, workspace in opened}
    for _, workspace in opened:
        workspace.close()


def call(assembler: Assembler, query: str | None = "Where is Ana?", **given: Any) -> Assembly:
    now = datetime(2026, 4, 24, 12, tzinfo=UTC)
    return assembler.assemble(
        Inputs(scope=Scope.MAIN, now=now, time_zone="UTC", session="s1", query=query, **given)
    )


def marked(body: Body) -> list[str]:
    """The last line of each block with a place for the cache."""
    return [piece_of(block).splitlines()[-1] for block in blocks_of(body) if "cache_control" in block]


def without_marks(block: Body) -> Body:
    return {key: value for key, value in block.items() if key != "cache_control"}


@pytest.mark.parametrize(
    ("layout", "prompt", "given", "expected"),
    [
        ("carrel", "plain", {}, ["You are Kate.", "</journal>"]),
        ("carrel", "plain", {"history": TALK}, ["You are Kate.", "</journal>", "Hello, Luis."]),
        (
            "carrel",
            "plain",
            {"history": TALK, "recall": HITS},
            ["You are Kate.", "</journal>", "Hello, Luis."],
        ),
        ("carrel", "memory", {"history": TALK, "recall": HITS}, []),
        ("nexo", "plain", {}, ["- Ana uses a Samsung.", "You are Kate."]),
        ("nexo", "plain", {"history": TALK}, ["- Ana uses a Samsung.", "You are Kate.", "Hello, Luis."]),
        ("nexo", "memory", {"history": TALK}, ["- Ana uses a Samsung."]),
        ("astra", "plain", {}, ["- **Emoji:** 🐙", "We use Python.", "Two people.", "You are Kate."]),
        (
            "astra",
            "plain",
            {"history": TALK},
            ["We use Python.", "Two people.", "You are Kate.", "Hello, Luis."],
        ),
        (
            "astra",
            "plain",
            {"history": TALK, "recall": HITS},
            ["- **Emoji:** 🐙", "We use Python.", "Two people.", "You are Kate."],
        ),
        (
            "astra",
            "memory",
            {"history": TALK, "recall": HITS},
            ["Luis, in Bogota.", "- **Emoji:** 🐙", "We use Python.", "Two people."],
        ),
    ],
)
def test_anthropic_caches_up_to_the_last_ends_of_what_does_not_change(desks, layout, prompt, given, expected):
    assert marked(to_anthropic(call(desks[layout, prompt], **given))) == expected


@pytest.mark.parametrize("layout", FILES)
def test_without_a_query_everything_there_is_is_stable(desks, layout):
    assert marked(to_anthropic(call(desks[layout, "plain"], None, history=TALK)))[-1] == "Hello, Luis."


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize("prompt", PROMPTS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_layout_yields_bodies_that_the_types_accept(desks, layout, prompt, data):
    assembly = call(
        desks[layout, prompt],
        data.draw(st.none() | TEXTS),
        history=tuple(data.draw(st.lists(HISTORY, max_size=4))),
        recall=data.draw(st.sampled_from([(), HITS])),
    )
    accept_all(assembly)
    cached = [piece_of(block) for block in blocks_of(to_anthropic(assembly)) if "cache_control" in block]
    assert not any(part in text for text in cached for part in ("<recall>", "<session>", "Ana moved."))


@pytest.mark.parametrize("layout", FILES)
def test_what_one_turn_cached_the_next_turn_begins_with(desks, layout):
    history, before = (), []
    for number in range(4):
        question = f"Question {number}?"
        assembly = call(
            desks[layout, "plain"], question, history=history, recall=HITS if layout != "astra" else ()
        )
        blocks = blocks_of(to_anthropic(assembly))
        plain = [without_marks(block) for block in blocks]
        assert plain[: len(before)] == before
        assert "cache_control" in blocks[len(plain) - len(parts(assembly.messages[-1])) - 1]
        before = plain[: max(n for n, block in enumerate(blocks) if "cache_control" in block) + 1]
        history += (Message("user", question), Message("assistant", f"Answer {number}."))


# ------------------------------------------------------------------------------------------------------ details


def made_of(*messages: Message) -> Assembly:
    return Assembly(
        messages=messages, report=report([row(m.to_text(), kind="history") for m in messages]), frozen={}
    )


def test_the_carrel_layout_for_anthropic_as_a_person_reads_it(desks):
    body = to_anthropic(call(desks["carrel", "plain"], history=TALK, recall=HITS), model="claude-sonnet-5")
    assert list(body) == ["model", "system", "messages"]
    assert [block["text"].splitlines()[0] for block in body["system"]] == [
        '<document path="SOUL.md">',
        '<memory path="MEMORY.md">',
    ]
    mark = {"cache_control": {"type": "ephemeral"}}
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Hello."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello, Luis."} | mark]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Where is Ana?"},
                {
                    "type": "text",
                    "text": '<recall>\n<hit path="memory/2026-04-20.md" line="12" date="2026-04-20">Ana moved.</hit>\n</recall>',
                },
                {
                    "type": "text",
                    "text": "<session>\ndate: 2026-04-24 (Friday)\ntime zone: UTC\nsession: s1\n</session>",
                },
            ],
        },
    ]


def test_the_same_talk_for_openai_as_a_person_reads_it():
    talk = made_of(Message("system", "Be brief."), *TALK, Message("user", ("Where?", "<session>")))
    assert to_openai(talk, model="gpt-5") == {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hello, Luis."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Where?"}, {"type": "text", "text": "<session>"}],
            },
        ],
    }
    assert to_responses(talk) == {
        "input": [
            {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "input_text", "text": "Hello."}]},
            {"role": "assistant", "content": "Hello, Luis."},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Where?"},
                    {"type": "input_text", "text": "<session>"},
                ],
            },
        ],
    }


@pytest.mark.parametrize("convert", [to_openai, to_responses, to_anthropic])
def test_only_the_caller_names_the_model_to_call(convert):
    assembly = made_of(*TALK)
    assert assembly.report.model == "gpt-5"  # it is counted for, and an untrusted workspace may have named it
    assert "model" not in convert(assembly)
    assert convert(assembly, model="m")["model"] == "m"


def test_without_any_message_the_bodies_wait_for_the_callers():
    empty = made_of()
    assert to_openai(empty) == {"messages": []}
    assert to_responses(empty) == {"input": []}
    assert to_anthropic(empty) == {"messages": []}


def test_a_history_that_begins_with_a_reply_is_opened_by_the_user_for_anthropic():
    turns = to_anthropic(made_of(Message("system", "Be brief."), TALK[1]))["messages"]
    assert [(turn["role"], texts_of(turn)) for turn in turns] == [
        ("user", [OPENING]),
        ("assistant", ["Hello, Luis."]),
    ]


def test_a_system_message_within_history_keeps_its_place():
    talk = made_of(Message("system", "Be brief."), *TALK, Message("system", "Now in Spanish."), TALK[0])
    assert [m["role"] for m in to_openai(talk)["messages"]][3] == "system"
    assert [m["role"] for m in to_responses(talk)["input"]][3] == "system"
    body = to_anthropic(talk)
    assert [block["text"] for block in body["system"]] == ["Be brief."]
    assert texts_of(body["messages"][-1]) == ["Now in Spanish.", "Hello."]


def test_a_system_message_of_several_parts_is_cached_up_to_its_last_with_text():
    assert marked(to_anthropic(made_of(Message("system", ("Be kind.", "Be brief.", " "))))) == ["Be brief."]


def test_a_history_that_ends_with_the_user_is_still_cached_up_to_its_end():
    messages = (*TALK, Message("user", "Are you there?"), Message("user", "Hello?"))
    rows = [row(m.to_text(), kind="history") for m in messages[:3]] + [
        row("Hello?", kind="query", stable=False)
    ]
    turns = to_anthropic(Assembly(messages=messages, report=report(rows), frozen={}))["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert ["cache_control" in block for block in turns[-1]["content"]] == [True, False]


def test_a_query_repeated_word_by_word_is_not_taken_for_its_earlier_self():
    messages = (Message("user", "Go on."), TALK[1], Message("user", "Go on."))
    rows = [row(m.to_text(), kind="history") for m in messages[:2]] + [
        row("Go on.", kind="query", stable=False)
    ]
    assert marked(to_anthropic(Assembly(messages=messages, report=report(rows), frozen={}))) == [
        "Hello, Luis."
    ]


def test_converting_twice_gives_equal_bodies_that_share_nothing(desks):
    assembly = call(desks["carrel", "plain"], history=TALK)
    first = to_anthropic(assembly)
    first["messages"].clear()
    first["system"][0]["text"] = "overwritten"
    assert to_anthropic(assembly) == to_anthropic(call(desks["carrel", "plain"], history=TALK))


def test_the_package_needs_no_client():
    code = (
        "import sys, carrel.context.formats as _; sys.exit(bool({'openai', 'anthropic'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --------------------------------------------------------------------------------------------- the real clients

REPLIES = {
    "/v1/chat/completions": {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": []},
    "/v1/responses": {
        "id": "1", "object": "response", "created_at": 0, "model": "m", "output": [], "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True,
    },
    "/v1/messages": {
        "id": "1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}  # fmt: skip


class Stub(ThreadingHTTPServer):
    """A provider on this machine that keeps what it is sent, byte for byte."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.bodies: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps(REPLIES[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    with Stub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def clients(stub) -> Iterator[tuple[openai.OpenAI, anthropic.Anthropic]]:
    with (
        openai.DefaultHttpxClient(trust_env=False) as first,
        anthropic.DefaultHttpxClient(trust_env=False) as second,
    ):
        yield (
            openai.OpenAI(base_url=f"{stub.url}/v1", api_key="none", max_retries=0, http_client=first),
            anthropic.Anthropic(base_url=stub.url, api_key="none", max_retries=0, http_client=second),
        )


def send(clients: tuple[openai.OpenAI, anthropic.Anthropic], provider: str, assembly: Assembly) -> None:
    if provider == "openai":
        clients[0].chat.completions.create(**to_openai(assembly, model="gpt-5"))
    elif provider == "responses":
        clients[0].responses.create(**to_responses(assembly, model="gpt-5"))
    else:
        clients[1].messages.create(max_tokens=1000, **to_anthropic(assembly, model="claude-sonnet-5"))


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize("provider", ["openai", "responses", "anthropic"])
def test_two_questions_differ_on_the_wire_in_the_question_alone(desks, stub, clients, provider, layout):
    questions = ("Where is Ana?", "¿Quién más? 🐙")
    stub.bodies.clear()
    for question in questions:
        send(clients, provider, call(desks[layout, "plain"], question, history=TALK))
    first, second = stub.bodies
    asked = [json.dumps(question, ensure_ascii=False).encode() for question in questions]
    assert first.count(asked[0]) == second.count(asked[1]) == 1
    assert first.replace(asked[0], b"?") == second.replace(asked[1], b"?")


@pytest.mark.parametrize("layout", FILES)
@pytest.mark.parametrize("provider", ["openai", "responses"])
def test_for_openai_all_that_is_stable_stands_before_what_is_new(desks, stub, clients, provider, layout):
    recall = () if layout == "astra" else HITS
    assembly = call(desks[layout, "plain"], "Where is Ana?", history=TALK, recall=recall)
    stub.bodies.clear()
    send(clients, provider, assembly)
    send(clients, provider, call(desks[layout, "plain"], "And Luis?", history=TALK))
    same = common_start(*stub.bodies).decode()
    places = [same.find(json.dumps(m.content, ensure_ascii=False)) for m in assembly.messages[:-1]]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("layout", FILES)
def test_for_anthropic_the_bytes_up_to_each_place_are_the_same_whatever_is_recalled(
    desks, stub, clients, layout
):
    stub.bodies.clear()
    for question, recall in (("Where is Ana?", HITS), ("And Luis?", ())):
        send(clients, "anthropic", call(desks[layout, "plain"], question, history=TALK, recall=recall))
    cached = [raw_up_to_mark(body) for body in stub.bodies]
    assert cached[0][: len(cached[1])] == cached[1][: len(cached[0])]
    assert len(min(cached, key=len)) > 100
    assert not any(word in raw for raw in cached for word in (b"Where is Ana?", b"And Luis?", b"Ana moved."))


def common_start(first: bytes, second: bytes) -> bytes:
    return bytes(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def raw_up_to_mark(raw: bytes) -> bytes:
    """What Anthropic caches of a body: system, then messages, up to the last place, in the bytes that were sent."""
    body = json.loads(raw)
    blocks = blocks_of(body)
    last = max(number for number, block in enumerate(blocks) if "cache_control" in block)
    pieces = [
        json.dumps(without_marks(b), ensure_ascii=False, separators=(",", ":")) for b in blocks[: last + 1]
    ]
    assert all(piece.encode().rstrip(b"}") in raw for piece in pieces)
    return "".join(pieces).encode()
