"""The offline model: it quotes what it was given with the source, calls tools once, and is never surprised."""

import asyncio
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json
from tests.unit.context.conftest import Desk
from tests.unit.runtime.scripted import PlainDesk, assert_valid, play

from carrel.context.inputs import Recalled
from carrel.runtime.loop import CallEnded
from carrel.runtime.model import Reply, Request, ToolSpec
from carrel.runtime.offline import OfflineModel, answer
from carrel.runtime.offline.sources import OWN
from carrel.sessions.message import Message, ToolCall

CARREL = (
    Message(
        "system",
        """<document path="SOUL.md">
Kind, and exact.
</document>
<document path="IDENTITY.md">
name=Kate, creature=octopus, emoji=🐙, vibe=warm but sharp
</document>
<document path="USER.md">
Luis, in Bogota.
</document>
<document path="stack.md">
We use Python.
</document>
<knowledge>
Start here.

Files:
- knowledge/api.md
</knowledge>
<skills>
- deploy: Ship it safely
</skills>

You are Kate.""",
    ),
    Message(
        "system",
        """<memory path="MEMORY.md">
## People

- Ana uses a Samsung.
- The garden has 42 roses.
</memory>
<memory layer="experience" title="Agent Experience: Kate">
- Prefers short replies.
</memory>
<journal date="2026-04-24" path="memory/2026-04-24.md">
- wrote tests for the parser
</journal>""",
    ),
)
RECALL = """<recall>
<hit path="memory/2026-04-20.md" line="12" date="2026-04-20">Deploys happen on Thursdays.</hit>
</recall>"""
SESSION = "<session>\ndate: 2026-04-24 (Friday)\ntime zone: UTC\nsession: s1\n</session>"
NAMES = (
    *("who_am_i", "what_do_i_know", "my_stats", "read_file", "list_files"),
    *("skill_list", "skill_read", "memory_search", "session_logs"),
)


def tool(name, *properties):
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in properties}}
    return ToolSpec(name=name, description=f"About {name}.", parameters=schema)


def tools(*names):
    return tuple(tool(name) for name in names or NAMES)


def ask(question, *, prompt=CARREL, history=(), offered=(), since=()):
    own = Message("user", (question, RECALL, SESSION))
    return answer(Request(messages=(*prompt, *history, own, *since), tools=offered))


def asked(name, result, **arguments):
    """A call of this turn and its result."""
    call = ToolCall(id="call_1", name=name, arguments=arguments)
    text = result if isinstance(result, str) else json.encode(result).decode()
    return (
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", text, name=name, tool_call_id="call_1"),
    )


def quotes(reply):
    return [line[2:] for line in reply.text.splitlines() if line.startswith("- “")]


# What it quotes


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("What phone does Ana use?", "“Ana uses a Samsung.” — MEMORY.md"),
        ("How many roses are in the garden?", "“The garden has 42 roses.” — MEMORY.md"),
        ("what about 42", "“The garden has 42 roses.” — MEMORY.md"),
        ("When is the next deploy?", "“Deploys happen on Thursdays.” — memory/2026-04-20.md:12"),
        ("Did anyone write a test for parsers?", "“wrote tests for the parser” — memory/2026-04-24.md"),
        ("Where is Luis?", "“Luis, in Bogota.” — USER.md"),
        ("¿Dónde está Bogotá?", "“Luis, in Bogota.” — USER.md"),
        ("Short replies or long ones?", "“Prefers short replies.” — Agent Experience: Kate"),
        ("Which knowledge is about the api?", "“knowledge/api.md” — knowledge/KNOWLEDGE.md"),
        ("What day is it today?", "“date: 2026-04-24 (Friday)” — session"),
        ("Which people do we know?", "“Ana uses a Samsung.” — MEMORY.md"),
        ("What is your vibe?", "“name=Kate, creature=octopus, emoji=🐙, vibe=warm but sharp” — IDENTITY.md"),
    ],
)
def test_a_question_is_answered_with_the_line_that_knows_and_its_source(question, quote):
    reply = ask(question)
    assert quotes(reply)[0] == quote
    assert len(quotes(reply)) <= 3
    assert reply.text.startswith(OWN)
    assert (reply.finish, reply.tool_calls) == ("stop", ())


def test_what_the_user_said_earlier_is_quoted_and_the_later_word_comes_first():
    history = (
        Message("user", "Hi! My name is Ana. Which day is it?"),
        Message("assistant", "Friday, Ana."),
        Message("user", "Actually, my name is Anna."),
        Message("assistant", f"{OWN}. What I understood: the name is Anna."),
    )
    reply = ask("What is my name?", history=history)
    assert quotes(reply) == [
        "“Actually, my name is Anna.” — earlier in this conversation (user)",
        "“My name is Ana.” — earlier in this conversation (user)",
    ]


def test_the_agents_own_name_is_no_answer_to_a_question_about_mine():
    assert quotes(ask("What is my name?")) == []
    assert "name=Kate" in quotes(ask("What is your name?"))[0]


def test_what_an_assistant_said_earlier_is_quoted_too_but_no_question_is():
    history = (
        Message("user", "Is the harbour frozen?"),
        Message("assistant", "The harbour is frozen in May."),
    )
    reply = ask("When is the harbour frozen?", history=history)
    assert quotes(reply) == ["“The harbour is frozen in May.” — earlier in this conversation (assistant)"]


def test_where_nothing_matches_it_says_so_and_what_would_help():
    reply = ask("What is the capital of France?")
    assert reply.text.startswith(f"{OWN}, and nothing that I was given says anything about capital, France.")
    assert "MEMORY.md" in reply.text
    assert quotes(reply) == []


def test_who_are_you_is_answered_from_the_prompt_where_no_tool_is_offered():
    assert quotes(ask("Who are you?"))[0].endswith("— IDENTITY.md")
    bare = (Message("system", "You are Kate."),)
    assert quotes(ask("Who are you?", prompt=bare)) == ["“You are Kate.” — system message 1"]


def test_what_do_you_know_is_answered_from_memory_where_no_tool_is_offered():
    assert quotes(ask("What do you know?"))[0] == "“Ana uses a Samsung.” — MEMORY.md"
    assert quotes(ask("What do you know about me?"))[0] == "“Luis, in Bogota.” — USER.md"
    assert quotes(ask("What do you know about roses?")) == ["“The garden has 42 roses.” — MEMORY.md"]


def test_escaped_text_is_quoted_as_the_file_has_it_and_marks_of_structure_never():
    prompt = (
        Message(
            "system",
            '<document path="a &quot;b&quot; &amp; c.md">\n'
            "The tag &lt;document> opens a file.\n[truncated: a.md, 3 of 9 tokens shown]\n</document>",
        ),
    )
    reply = ask("Which tag opens a truncated document?", prompt=prompt)
    assert quotes(reply) == ['“The tag <document> opens a file.” — a "b" & c.md']


def test_the_name_of_a_file_cannot_forge_a_line_of_the_answer():
    prompt = (Message("system", '<document path="a&#10;- “All is lost.” — b.md">\nAna sails.\n</document>'),)
    assert ask("Does Ana sail?", prompt=prompt).text.count("\n- ") == 1


def test_a_long_line_is_quoted_by_the_sentence():
    line = "Filler without end. " * 100 + "The ferry leaves at noon. " + "More filler here. " * 100
    prompt = (Message("system", f'<document path="a.md">\n{line}\n</document>'),)
    assert quotes(ask("When does the ferry leave?", prompt=prompt)) == ["“The ferry leaves at noon.” — a.md"]


def test_the_same_line_in_two_places_is_quoted_once():
    prompt = (
        Message(
            "system",
            '<memory path="MEMORY.md">\n- Ana sails.\n</memory>\n<journal date="x" path="j.md">\n- Ana sails.\n</journal>',
        ),
    )
    assert quotes(ask("Does Ana sail?", prompt=prompt)) == ["“Ana sails.” — MEMORY.md"]


# Every layout

FILES = {
    "AGENTS.md": "Be brief.",
    "SOUL.md": "Kind, and exact.",
    "USER.md": "Luis, in Bogota.",
    "IDENTITY.md": "- **Name:** Kate\n- **Vibe:** warm but sharp",
    "MEMORY.md": "## People\n\n- Ana uses a Samsung.",
    "notes/2026-04-24.md": "- wrote tests for the parser",
    "memory/2026-04-24.md": "- wrote tests for the parser",
    "agents/kate/memory.md": "- Ana uses a Samsung.",
    "knowledge/KNOWLEDGE.md": "Start with the harbour.",
    "workspace/AGENTS.md": "Be brief.",
    "workspace/team.md": "Ana uses a Samsung.",
}
LAYOUTS = {
    "carrel": ("MEMORY.md", "memory/2026-04-24.md"),
    "astra": ("system message 3", "memory/2026-04-20.md:12"),
    "agentscope": ("MEMORY.md", None),
    "nexo": ("MEMORY.md", "notes/2026-04-24.md"),
    "squad": ("agent memory (project)", None),
    "openclaw": ("MEMORY.md", None),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_are_found_in_every_layout_as_it_is_really_rendered(layout):
    desk = Desk(
        FILES,
        layout,
        system_prompt_template="You are {{agent.displayName}}.",
        additional_context_files=("SOUL.md",),
    )
    recalled = Recalled(path="memory/2026-04-20.md", line=12, text="wrote tests\nfor the parser")

    def say(question):
        assembly = desk.assemble(
            query=question, session="s1", recall=(recalled,) if layout == "astra" else ()
        )
        return quotes(answer(Request(messages=assembly.messages)))

    phone, tests = LAYOUTS[layout]
    assert say("What phone does Ana use?") == [f"“Ana uses a Samsung.” — {phone}"]
    assert say("Who wrote a test of the parser?") == (
        [f"“wrote tests for the parser” — {tests}"] if tests else []
    )


def test_what_it_answered_earlier_is_not_quoted_when_it_is_recalled():
    answered = f"Ada: {OWN}. From what I was given:  - “user: The launch is on 12 May.” — s.jsonl:1"
    said = f"user: When is the launch? {answered} user: The launch is in Lima."
    prompt = f'<recall>\n<hit path="s2.jsonl" line="1">{said}</hit>\n</recall>'
    messages = (Message("system", prompt), Message("user", "Where is the launch?"))
    assert quotes(answer(Request(messages=messages))) == ["“user: The launch is in Lima.” — s2.jsonl:1"]


@pytest.mark.parametrize(
    ("prompt", "question", "quote"),
    [
        (
            "# SOUL\nLikes ferries.\n\n# MEMORY\n## Boats\n\n- one dinghy",
            "Which dinghy?",
            "“one dinghy” — MEMORY.md",
        ),
        ("# SOUL\nLikes ferries.\n\n# MEMORY\n- x", "ferries?", "“Likes ferries.” — SOUL.md"),
        ("# RECENT NOTES\n\n## 2026-04-23-trip\n- a ferry", "ferry?", "“a ferry” — notes/2026-04-23-trip.md"),
        (
            "You are Kate.\n\n# Project Context\n\n## TOOLS.md\n\nA ferry.\n## Not a file\nRoses.",
            "Which roses?",
            "“Roses.” — TOOLS.md",
        ),
        (
            "# Squad: S\n\n## Agent Memory\n\n### Experience\n- a ferry",
            "ferry?",
            "“a ferry” — agent memory (experience)",
        ),
        (
            "[Supplementary Context]\n\n### Sailing tips\nReef early.",
            "When to reef?",
            "“Reef early.” — Sailing tips",
        ),
        (
            "<loaded_context>\n<memory_context></memory_context>\n<docs_a.md>\nA ferry.\n</docs_a.md>\n</loaded_context>",
            "ferry?",
            "“A ferry.” — docs_a.md",
        ),
        (
            "Context from memory:\n- A ferry (slow) at noon (memory/a.md:7)",
            "ferry?",
            "“A ferry (slow) at noon” — memory/a.md:7",
        ),
    ],
    ids=["nexo", "soul", "notes", "openclaw", "squad", "namespace", "agentscope", "astra"],
)
def test_the_source_of_a_line_is_read_off_the_prompt(prompt, question, quote):
    assert quotes(ask(question, prompt=(Message("system", prompt),))) == [quote]


def test_what_a_layout_says_to_the_model_is_not_quoted_to_the_user():
    prompt = Message("system", "## Workspace guidance\nUse memory_search before you answer about decisions.")
    assert quotes(ask("Which decisions?", prompt=(prompt,))) == []


# Statements


@pytest.mark.parametrize(
    ("statement", "understood"),
    [
        ("My name is Ana.", ["The user's name is Ana."]),
        (
            "I prefer short replies, and my birthday is 3 May.",
            ["The user prefers short replies.", "The user's birthday is 3 May."],
        ),
        ("Remember that the gate closes at nine.", ["The gate closes at nine."]),
        ("We decided to use Postgres.", ["Decided to use Postgres."]),
    ],
)
def test_a_statement_is_acknowledged_with_what_was_understood(statement, understood):
    reply = ask(statement, offered=tools())
    assert [line for line in reply.text.splitlines() if line.startswith("- ")] == [
        f"- {u}" for u in understood
    ]
    assert OWN in reply.text
    assert reply.tool_calls == ()


def test_a_statement_with_a_question_is_acknowledged_and_answered():
    reply = ask("My name is Bo. What phone does Ana use?")
    assert "- Understood: The user's name is Bo." in reply.text
    assert quotes(reply)[0] == "“Ana uses a Samsung.” — MEMORY.md"


@pytest.mark.parametrize("text", ["Hello!", "thanks", "", "   ", "The sky is blue today."])
def test_a_greeting_or_an_unknown_statement_gets_to_know_what_could_be_said(text):
    reply = ask(text, offered=tools())
    assert OWN in reply.text
    assert "My name is" in reply.text
    assert reply.finish == "stop"


# Tools


@pytest.mark.parametrize(
    ("question", "name", "arguments"),
    [
        ("Who are you?", "who_am_i", {}),
        ("¿Quién eres?", "who_am_i", {}),
        ("Tell me about yourself", "who_am_i", {}),
        ("What do you know?", "what_do_i_know", {}),
        ("What do you know about the People?", "what_do_i_know", {"section": "People"}),
        ("what do you remember about Bogotá", "what_do_i_know", {"section": "Bogotá"}),
        ("How are you doing?", "my_stats", {}),
        ("Show me your stats please", "my_stats", {}),
        ("Please read notes/plan.md.", "read_file", {"path": "notes/plan.md"}),
        ("What is in `carrel.yaml`?", "read_file", {"path": "carrel.yaml"}),
        ("List the files", "list_files", {}),
        ("Which files are in notes/2026?", "list_files", {"under": "notes/2026"}),
        ("Which skills do you have?", "skill_list", {}),
        ("Read the deploy skill", "skill_read", {"name": "deploy"}),
        ("Show the skill called deploy-all", "skill_read", {"name": "deploy-all"}),
    ],
)
def test_what_a_tool_knows_best_is_asked_of_the_tool(question, name, arguments):
    reply = ask(question, offered=tools())
    assert reply.tool_calls == (ToolCall(id="call_1", name=name, arguments=arguments),)
    assert (reply.finish, reply.text) == ("tools", "")
    others = tuple(t for t in tools() if t.name not in (name, "memory_search", "session_logs"))
    assert name not in {call.name for call in ask(question, offered=others).tool_calls}


def test_arguments_are_named_as_the_tools_schema_names_them():
    offered = (tool("what_do_i_know", "filter"), tool("read_file", "file"))
    assert ask("What do you know about boats?", offered=offered).tool_calls[0].arguments == {
        "filter": "boats"
    }
    assert ask("Read a.md", offered=offered).tool_calls[0].arguments == {"file": "a.md"}


def test_a_search_is_made_only_where_the_prompt_knows_nothing():
    assert ask("What phone does Ana use?", offered=tools()).tool_calls == ()
    question = "What is the capital of France?"
    (call,) = ask(question, offered=tools()).tool_calls
    assert (call.name, call.arguments) == ("memory_search", {"query": question})
    (call,) = ask(question, offered=tools("session_logs")).tool_calls
    assert (call.name, call.arguments) == ("session_logs", {"action": "search", "query": "capital France"})


def test_a_search_without_a_hit_is_followed_by_the_next_one_and_then_by_an_honest_no():
    question = "What is the capital of France?"
    first = asked("memory_search", {"hits": []}, query=question)
    (call,) = ask(question, offered=tools(), since=first).tool_calls
    assert (call.name, call.id) == ("session_logs", "call_2")
    second = (
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", '{"ok": true, "hits": []}', tool_call_id="call_2"),
    )
    reply = ask(question, offered=tools(), since=(*first, *second))
    assert "nothing that I was given or that memory_search or session_logs found says anything" in reply.text


def test_what_a_search_found_is_quoted_with_its_place_and_not_the_question_itself():
    question = "What is the capital of France?"
    hits = [
        {"session_id": "s9", "number": 4, "role": "user", "preview": "…the capital of France…"},
        {"session_id": "s9", "number": 3, "role": "assistant", "preview": f"{OWN}. Capital of France."},
        {"session_id": "s8", "number": 2, "role": "user", "preview": "Paris is the capital of France"},
        {"session_id": "s8", "role": "tool", "preview": "capital of France: {}"},
    ]
    since = asked("session_logs", {"ok": True, "hits": hits})
    reply = ask(question, offered=tools("session_logs"), since=since)
    assert quotes(reply) == ["“Paris is the capital of France” — session s8, entry 2"]
    found = {"hits": [{"path": "memory/a.md", "line": 7, "text": "Paris, the capital"}]}
    reply = ask(question, offered=tools(), since=asked("memory_search", found))
    assert quotes(reply) == ["“Paris, the capital” — memory/a.md:7"]


def test_the_results_of_tools_are_told_with_their_source():
    me = {
        "agent_id": "kate",
        "model": None,
        "identity": {"name": "Kate", "avatar": None},
        "soul_excerpt": "Kind.",
    }
    assert quotes(ask("Who are you?", offered=tools(), since=asked("who_am_i", me))) == [
        "“agent_id: kate” — who_am_i",
        "“identity.name: Kate” — who_am_i",
        "“soul_excerpt: Kind.” — who_am_i",
    ]
    known = {"sections": [{"heading": "People", "bullets": ["Ana sails."]}], "truncated": False}
    since = asked("what_do_i_know", known)
    told = quotes(ask("What do you know?", offered=tools(), since=since))
    assert told[0] == "“Ana sails.” — MEMORY.md, People"
    page = {"path": "a.md", "text": "# A\n\n- one\n", "first_line": 1}
    since = asked("read_file", page)
    assert quotes(ask("Read a.md", offered=tools(), since=since)) == ["“# A” — a.md:1", "“- one” — a.md:3"]
    files = {"entries": [{"path": "a.md", "kind": "file"}, {"path": "b", "kind": "directory"}]}
    since = asked("list_files", files)
    assert quotes(ask("List the files", offered=tools(), since=since)) == [
        "“a.md” — list_files",
        "“b” — list_files",
    ]
    skills = [{"name": "deploy", "description": "Ship it"}]
    since = asked("skill_list", skills)
    assert quotes(ask("Which skills?", offered=tools(), since=since)) == ["“deploy: Ship it” — skill_list"]


def test_what_the_prompt_says_of_the_user_is_added_to_what_memory_says():
    known = {"sections": [{"heading": "People", "bullets": ["Ana uses a Samsung."]}], "truncated": False}
    reply = ask("What do you know about me?", offered=tools(), since=asked("what_do_i_know", known))
    assert quotes(reply)[:2] == ["“Ana uses a Samsung.” — MEMORY.md, People", "“Luis, in Bogota.” — USER.md"]
    assert sum("Samsung" in quote for quote in quotes(reply)) == 1


def test_a_memory_without_the_section_does_not_keep_the_prompt_from_answering():
    since = asked("what_do_i_know", {"sections": [], "truncated": False})
    reply = ask("What do you know about roses?", offered=tools("what_do_i_know"), since=since)
    assert "- what_do_i_know has nothing on that." in reply.text
    assert quotes(reply) == ["“The garden has 42 roses.” — MEMORY.md"]


def test_a_long_result_is_told_in_part_and_says_how_much_is_missing():
    page = {"path": "a.md", "text": "\n".join(f"line {n}" for n in range(1, 41)), "first_line": 1}
    reply = ask("Read a.md", offered=tools(), since=asked("read_file", page))
    assert len(quotes(reply)) == 12
    assert "… and 28 more from read_file." in reply.text


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"error": {"code": "no_such_file", "message": "There is no x.md.", "hint": "List them."}},
            "There is no x.md. List them.",
        ),
        ({"ok": False, "error": "session_not_found"}, "session_not_found"),
        ({"ok": False}, "it failed"),
    ],
)
def test_a_tool_that_failed_is_said_plainly_and_not_asked_again(result, said):
    reply = ask("Read x.md", offered=tools(), since=asked("read_file", result))
    assert f"- read_file could not help: {said}" in reply.text
    assert reply.tool_calls == ()
    assert quotes(reply) == []


def test_a_result_that_is_no_json_or_has_a_note_behind_it_is_still_read():
    since = asked("who_am_i", '{"agent_id": "kate"}\n\n[No more tools can be called in this turn.]')
    assert quotes(ask("Who are you?", since=since)) == ["“agent_id: kate” — who_am_i"]
    since = asked("who_am_i", "plain words\nof a tool")
    assert quotes(ask("Who are you?", since=since)) == ["“plain words” — who_am_i", "“of a tool” — who_am_i"]


def test_a_call_has_an_id_that_the_conversation_does_not_know():
    old = ToolCall(id="call_2", name="x")
    history = (Message("assistant", "", tool_calls=(old,)), Message("tool", "y", tool_call_id="call_2"))
    assert ask("Who are you?", offered=tools(), history=history).tool_calls[0].id == "call_3"


def test_without_tools_no_call_is_made_whatever_is_asked():
    for question in ("Who are you?", "Read a.md", "What is the capital of France?"):
        assert ask(question).tool_calls == ()


# The stream, and whole turns


def heard(request):
    async def listen():
        return [item async for item in OfflineModel().stream(request)]

    return asyncio.run(listen())


def test_the_answer_is_streamed_in_whole_words_and_then_told_as_a_whole():
    *pieces, reply = heard(Request(messages=(*CARREL, Message("user", "What phone does Ana use?"))))
    assert isinstance(reply, Reply)
    assert "".join(pieces) == reply.text
    assert len(pieces) > 5
    assert all(piece.split() == [piece.strip()] for piece in pieces)


def test_what_it_spent_is_a_quarter_of_the_characters():
    reply = answer(Request(messages=(Message("system", "x" * 400), Message("user", "What?"))))
    assert (reply.spend.input, reply.spend.cached) == (101, 0)
    assert reply.spend.output == (len(reply.text) + 3) // 4


def test_a_whole_turn_runs_on_it_with_a_tool():
    desk = PlainDesk({"who_am_i": lambda: '{"agent_id": "kate"}'})
    events = play(OfflineModel(), desk, "Who are you?")
    assert [event.call.name for event in events if isinstance(event, CallEnded)] == ["who_am_i"]
    assert "“agent_id: kate” — who_am_i" in desk.log[-1].to_text()
    assert events[-1].spend.input > 0
    assert_valid(desk.log)


QUESTIONS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "Who are you?",
            "What do you know about Ana?",
            "Read a.md",
            "skills?",
            "Where is Rome?",
            "Show files",
        ]
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["hits", "text", "error", "sections", "entries", "path", "ok"]), inner, max_size=3
        ),
    ),
    max_leaves=8,
)
RESULTS = st.one_of(st.text(max_size=20), VALUES.map(lambda value: json.encode(value).decode()))


@settings(max_examples=200, deadline=None)
@given(question=QUESTIONS, results=st.lists(RESULTS, min_size=9, max_size=9))
def test_whatever_tools_say_each_is_called_once_at_most_and_there_is_an_answer(question, results):
    said = iter(results)
    desk = PlainDesk({name: lambda **_: next(said) for name in NAMES})
    ended = play(OfflineModel(), desk, question)[-1]
    called = [call.name for message in desk.log for call in message.tool_calls]
    assert len(called) == len(set(called))
    assert (ended.finish, ended.findings) == ("stop", ())
    assert OWN in ended.reply.text
    assert_valid(desk.log)


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["system", "user", "assistant", "tool"]),
        content=st.one_of(
            st.text(max_size=80),
            st.tuples(st.text(max_size=40), st.text(max_size=40)),
            st.lists(
                st.sampled_from(
                    [
                        '<document path="a">',
                        "</document>",
                        "<recall>",
                        '<hit path="a" line="1">Ana</hit>',
                        "# SOUL",
                        "# MEMORY",
                        "## Agent Memory",
                        "<loaded_context>",
                        "<x.md>",
                        "</x.md>",
                        "- Ana sails (a.md:1)",
                        "Context from memory:",
                        "Ana sails.",
                        "```",
                        "\ud800\x00",
                        "- [ ] ask Ana",
                    ]
                ),
                max_size=8,
            ).map("\n".join),
        ),
    ),
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(
    messages=MESSAGES,
    question=st.sampled_from(["Does Ana sail?", "Who are you?", "document recall hit?", ""]),
)
def test_any_conversation_gets_the_same_answer_twice_and_no_mark_of_structure_is_quoted(messages, question):
    request = Request(messages=(*messages, Message("user", question)))
    first, second = answer(request), answer(request)
    assert first == second
    assert OWN in first.text
    assert not re.search(r"“</?(?:document|recall|hit|loaded_context)\b[^<>]*>” — ", first.text)
