"""What a curious client of the MCP server may ask for: every tool, resource and prompt, by every private name."""

import json
from itertools import product

from mcp.shared.exceptions import MCPError
from tests.privacy.canaries import LAYOUTS

from carrel.mcp.offered import OFFERS
from carrel.mcp.prompts import PROMPTS
from carrel.mcp.resources import _READERS
from carrel.mcp.seat import Seat
from carrel.mcp.server import build
from carrel.workspace.scope import Scope

FILES = sorted({path for _, private in LAYOUTS.values() for path in private})
SKILL = "heron"
SESSIONS = ("s0", "s1", "g1", "mcp.s1", "mcp.g1")


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
