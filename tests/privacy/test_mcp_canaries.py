"""Nothing that a client of the MCP server can ask for in shared scope tells of what is the owner's."""

import json
from itertools import product

import pytest
from mcp.shared.exceptions import MCPError
from tests.privacy.test_canaries import CANARY, LAYOUTS, PUBLIC
from tests.stubs.clients import MODES, talk

from carrel import Workspace
from carrel.mcp.offered import OFFERS
from carrel.mcp.prompts import PROMPTS
from carrel.mcp.resources import _READERS
from carrel.mcp.seat import Seat
from carrel.mcp.server import build
from carrel.workspace.scope import Scope

WORDS = ("heron", "red ledger")
FILES = sorted({path for _, private in LAYOUTS.values() for path in private})
SKILL = "heron"
SESSIONS = ("s0", "s1", "g1", "mcp.s1", "mcp.g1")


@pytest.fixture(params=sorted(LAYOUTS))
def owned(request, desk, cli):
    public, private = LAYOUTS[request.param]
    desk.put(
        {"carrel.yaml": f"layout: {request.param}\nagents: [{{id: kate, displayName: Kate}}]\n", **public}
    )
    desk.put({path: text for path, (text, _) in private.items()})
    with Workspace.open(desk.path) as workspace:
        workspace.record("s1", [{"role": "user", "content": CANARY}, {"role": "assistant", "content": "Hm."}])
        workspace.record("g1", [{"role": "user", "content": CANARY}], scope="shared")
        workspace.record("mcp.s1", [{"role": "user", "content": CANARY}])
        workspace.memory.add(f"{CANARY}, says Luis.")
        workspace.tools(scope="shared").call("memory_write", {"text": f"{CANARY}, says Mallory."})
        workspace.prepare("mcp.s1", CANARY)
        yield workspace


def server(workspace, scope=Scope.SHARED):
    return build(lambda _: Seat(workspace=workspace, scope=scope, may_write=True))


def calls():
    """Every tool, with arguments that ask for what is private in every way that it has."""
    asked = {
        "context_get": [{}, {"query": "What does the bird keep?"}, *({"session": s} for s in SESSIONS)],
        "file_list": [
            {"depth": 16},
            *({"under": folder} for folder in ("memory", "notes", "agents", "knowledge")),
        ],
        "file_read": [{"path": path} for path in FILES],
        "file_write": [{"path": "x.md", "content": "x"}],
        "memory_get": [{"path": path} for path in FILES],
        "memory_search": [
            {"query": "bird keeps ledger", "limit": 50, **more}
            for more in ({}, {"tier": "session"}, {"tier": "journal"}, *({"session": s} for s in SESSIONS))
        ],
        "memory_write": [{"text": "Somebody keeps something."}],
        "my_stats": [{}],
        "session_logs": [
            {"action": action, **more}
            for action, more in product(
                ("list_sessions", "read_session", "recent", "search"),
                (
                    {"query": "keeps"},
                    *({"query": "keeps", key: s} for key in ("session", "session_id") for s in SESSIONS),
                ),
            )
        ],
        "skill_activate": [{"name": SKILL}],
        "skill_list": [{}],
        "turn_record": [{"session": "s9", "messages": [{"role": "user", "content": "Hello."}]}],
        "what_do_i_know": [{}, {"filter": "e"}],
        "who_am_i": [{}],
    }
    assert set(asked) == {offer.name for offer in OFFERS}, "a new tool is asked here, too"
    return [(name, arguments) for name, many in asked.items() for arguments in many]


def addresses():
    """Every kind of resource, with the names of what is private."""
    asked = {
        "context": ["current"],
        "files": FILES,
        "health": [""],
        "memory": ["kate", "kate/Insights", "milo"],
        "sessions": SESSIONS,
        "skills": [SKILL],
        "tree": [""],
    }
    assert set(asked) == set(_READERS), "a new kind of resource is asked here, too"
    return [
        f"workspace://{kind}{'/' if name else ''}{name}" for kind, names in asked.items() for name in names
    ]


def prompts():
    asked = {
        "continue_session": [{"session": session} for session in SESSIONS],
        "daily_summary": [{"day": "2026-04-24"}, {}],
        "explain_context": [{}, {"query": "What does the bird keep?"}],
        "recall": [{"topic": "bird keeps ledger"}],
        "remember_this": [{"text": "Something."}],
        "review_memory": [{}],
    }
    assert set(asked) == {prompt.name for prompt in PROMPTS}, "a new prompt is asked here, too"
    return [(name, arguments) for name, many in asked.items() for arguments in many]


async def told(work):
    try:
        return (await work).model_dump_json()
    except MCPError as error:
        return json.dumps([error.message, error.data])


async def everything(client):
    """Return all that can be asked, each with what was answered."""
    for listing in (
        client.list_tools,
        client.list_resources,
        client.list_resource_templates,
        client.list_prompts,
    ):
        yield listing.__name__, await told(listing())
    for name, arguments in calls():
        yield f"{name} {arguments}", await told(client.call_tool(name, arguments))
    for address in addresses():
        yield address, await told(client.read_resource(address))
    for name, arguments in prompts():
        yield f"{name} {arguments}", await told(client.get_prompt(name, arguments))


def without_echo(asked, answer):
    """An answer without the names that the question gave, which tell nothing, and those of open folders."""
    for path in sorted(FILES, key=len, reverse=True):
        if path in asked:
            answer = answer.replace(path, "")
    if asked.startswith(("skill_activate", "workspace://skills")):
        answer = answer.replace(SKILL, "")
    return (
        answer.replace(f"skills/{SKILL}", "skills/")
        if asked.startswith(("file_list", "workspace://tree"))
        else answer
    )


@pytest.mark.parametrize("mode", MODES)
def test_no_answer_in_shared_scope_tells_of_what_is_the_owner_s(owned, mode):
    async def work(client):
        return [pair async for pair in everything(client)]

    answers = talk(server(owned), work, mode)
    assert len(answers) > 80
    for asked, answer in answers:
        said = without_echo(asked, answer)
        for word in (CANARY, *WORDS, "Luis", "Mallory"):
            assert word not in said, asked
        assert '"internal"' not in said, asked
    assert any(PUBLIC in answer for _, answer in answers)


def test_a_private_name_is_answered_the_same_whether_there_is_such_a_file_or_not(owned):
    async def work(client):
        names = (
            ("USER.md", "MEMORY.md", "memory/1999-01-01.md") if owned.layout.name != "nexo" else ("USER.md",)
        )
        home = owned.layout.home
        return [
            (await told(client.call_tool("file_read", {"path": home + name}))).replace(home + name, "X")
            for name in names
        ]

    answers = talk(server(owned), work)
    assert all("hidden_by_scope" in answer for answer in answers)
    assert len(set(answers)) == 1


def test_the_owner_is_shown_all_of_it(owned):
    """The other way round: shows that the checks above can fail."""

    async def work(client):
        return [pair async for pair in everything(client)]

    answers = dict(talk(server(owned, Scope.MAIN), work))
    speaking = {asked.split()[0].split("/")[0] for asked, answer in answers.items() if CANARY in answer}
    assert {"context_get", "file_read", "memory_search", "session_logs", "workspace:", "recall"} <= speaking
