"""Figures of the MCP server: `python bench/mcp_calls.py [--json FILE] [--calls N]`.

A call over standard input and output, warm, with the SDK's own client; beside it a tool of the same SDK that
does nothing, in a process of its own, since absolute times are this machine's.
"""

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from mcp import Client, StdioServerParameters

from figures import Figure, figure, options, run

CALLS = 200
BAR = 20
EMPTY = """
from mcp.server import MCPServer
server = MCPServer("empty")
@server.tool()
def nothing() -> dict[str, str]:
    return {"path": "", "text": ""}
server.run()
"""
FILES = {
    "carrel.yaml": "agents: [{id: kate, displayName: Kate}]\n",
    "SOUL.md": "Kind, and exact.\n" * 40,
    "AGENTS.md": "Be brief. Say what you know and how you know it.\n" * 80,
    "MEMORY.md": "## People\n\n" + "".join(f"- Person {n} likes tea number {n}.\n" for n in range(200)),
}
TOOLS: Mapping[str, Mapping[str, object]] = {
    "who_am_i": {},
    "file_read": {"path": "AGENTS.md"},
    "file_list": {},
    "memory_search": {"query": "Which tea does person 7 like?", "session": "s1"},
    "what_do_i_know": {},
    "context_get": {"query": "Which tea does person 7 like?", "session": "s1"},
    "session_logs": {"action": "recent", "session": "s1"},
    "turn_record": {"session": "s1"},
}


def desk(folder: Path) -> Path:
    """A workspace with a few files, some notes and a session."""
    root = folder / "desk"
    notes = {f"notes/n{n}.md": f"# Note {n}\n\n" + f"Something about topic {n}.\n" * 20 for n in range(100)}
    for name, text in {**FILES, **notes}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def said(number: int) -> dict[str, object]:
    """A turn that was never recorded before."""
    question = {"role": "user", "content": f"Tea {number}?"}
    return {"messages": [question, {"role": "assistant", "content": "Yes."}]}


async def times(
    server: StdioServerParameters, calls: Mapping[str, Mapping[str, object]], rounds: int
) -> dict[str, list[float]]:
    """The times of each call in milliseconds, after a few that warm it up."""
    async with Client(server) as client:
        await client.list_tools()
        found = {name: await of_one(client, name, arguments, rounds) for name, arguments in calls.items()}
        if "turn_record" in calls:
            both = {name: calls[name] for name in ("turn_record", "memory_search")}
            pairs = [
                await of_one(client, name, both[name], 1, rounds + n) for n in range(20) for name in both
            ]
            found["memory_search right after turn_record"] = [each[0] for each in pairs[1::2]]
    return found


async def of_one(
    client: Client, name: str, arguments: Mapping[str, object], rounds: int, begin: int = 0
) -> list[float]:
    """The times of one call; unless it is only made once, the first few warm it up."""
    warm = 10 if rounds > 1 else 0
    spent: list[float] = []
    for number in range(begin, begin + rounds + warm):
        given = dict(arguments) | (said(begin * 1_000 + number) if name == "turn_record" else {})
        start = time.perf_counter()
        result = await client.call_tool(name, given)
        spent.append((time.perf_counter() - start) * 1000)
        assert not result.is_error, result
    return spent[warm:]


def stdio(folder: Path, *, rounds: int) -> list[Figure]:
    environment = {
        name: value for name, value in os.environ.items() if name.startswith(("CARREL_", "OPENBLAS_"))
    }
    empty = StdioServerParameters(command=sys.executable, args=["-c", EMPTY])
    ours = StdioServerParameters(
        command=sys.executable,
        args=["-m", "carrel", "-C", str(desk(folder)), "mcp", "--scope", "main"],
        env=environment,
    )
    nothing = asyncio.run(times(empty, {"nothing": {}}, rounds))["nothing"]
    called = asyncio.run(times(ours, TOOLS, rounds))
    every = [each for values in called.values() for each in values]
    return [
        figure("MCP over stdio: an empty tool of the SDK, median", statistics.median(nothing), "ms"),
        figure("MCP over stdio: all tools, median", statistics.median(every), "ms", BAR),
        *(
            figure(
                f"MCP over stdio: {name}, median",
                statistics.median(values),
                "ms",
                None if " " in name else BAR,
            )
            for name, values in called.items()
        ),
    ]


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help="calls of each tool")
    given = parser.parse_args()
    run([partial(stdio, rounds=given.calls)], given.json)
