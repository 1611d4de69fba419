"""Nothing that a client of the MCP server can ask for in shared scope tells of what is the owner's."""

import pytest
from tests.privacy.asking_mcp import FILES, SKILL, everything, server, told
from tests.privacy.canaries import CANARY, LAYOUTS, PUBLIC
from tests.stubs.clients import MODES, talk

from carrel import Workspace
from carrel.workspace.scope import Scope

WORDS = ("heron", "red ledger")


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
