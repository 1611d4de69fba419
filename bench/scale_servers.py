"""Two server processes on one database beside one, and what each answer costs of a processor."""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_urlsafe

from tests.stubs.postgres import Server

from carrel import Workspace
from figures import Figure, figure
from server import load, request, until_there

HERE, SEEN = "pg://acme/studio", "/api/v1/w/acme.studio/context:assemble"
CLIENTS, SECONDS, ROUNDS = 8, 4.0, 3
FASTER, CHEAPER = 1.2, 0.85
TICKS = os.sysconf("SC_CLK_TCK")


def measure(server: Server, times: int) -> list[Figure]:
    """Figures of assemblies over HTTP, one server and two in turn."""
    del times
    environ = {
        **os.environ,
        "CARREL_DATABASE_URL": server.database(),
        "CARREL_TOKEN": token_urlsafe(32),
    }
    Workspace.init(HERE, environ=environ)
    with Workspace.open(HERE, environ=environ) as workspace:
        workspace.put("notes.md", b"Quokkas live on Rottnest.\n" * 400)
    with ExitStack() as stack:
        both = [stack.enter_context(serving(environ)) for _ in range(2)]
        asked = environ["CARREL_TOKEN"]
        answered([port for _, port in both], asked, 1.0)
        alone, together = [], []
        for _ in range(ROUNDS):
            alone.append(rates(both[:1], asked))
            together.append(rates(both, asked))
    faster = statistics.median(two[0] / one[0] for one, two in zip(alone, together, strict=True))
    cheaper = statistics.median(two[1] / one[1] for one, two in zip(alone, together, strict=True))
    return [
        figure(
            "assemblies a second over HTTP, one server process", statistics.median(r for r, _ in alone), "/s"
        ),
        figure("  of two, times as many", faster, "x", FASTER, at_least=True),
        figure("  of two, answers for each second of their processors", cheaper, "x", CHEAPER, at_least=True),
    ]


@contextmanager
def serving(environ: dict[str, str]) -> Iterator[tuple[int, int]]:
    """A server, as its process and its port."""
    command = [sys.executable, "-m", "carrel", "serve", HERE, "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)
    assert process.stdout is not None
    port = int(json.loads(process.stdout.readline())["url"].rpartition(":")[2])
    try:
        asyncio.run(until_there(port))
        yield process.pid, port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def rates(servers: Sequence[tuple[int, int]], token: str) -> tuple[float, float]:
    """Answers a second, and answers for each second of a processor that the servers took."""
    before = sum(taken(process) for process, _ in servers)
    count = answered([port for _, port in servers], token, SECONDS)
    return count / SECONDS, count / max(sum(taken(process) for process, _ in servers) - before, 0.01)


def answered(ports: Sequence[int], token: str, seconds: float) -> int:
    """How many answers as many clients get in some time, however many servers there are."""

    async def all_at_once() -> int:
        share = CLIENTS // len(ports)
        asked = [(port, request("POST", SEEN, port, token, b"{}")) for port in ports]
        return sum(
            map(len, await asyncio.gather(*(load(port, each, share, seconds) for port, each in asked)))
        )

    return asyncio.run(all_at_once())


def taken(process: int) -> float:
    """Seconds of a processor that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
