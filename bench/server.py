"""Figures of the server over real HTTP: `python bench/server.py [--json FILE]`.

Server and client are processes of their own on one machine. An empty FastAPI route is measured in the same
run, before and after: what is compared is a ratio. Both run on uvicorn with h11 and asyncio's own loop, one
worker each, without an access log; the empty one has no guard, no key and no body to look at.
"""

import asyncio
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from carrel import Workspace
from figures import Figure, figure, options, run
from sessions import PROSE

CLIENTS = 8
SEARCHERS = 16
SECONDS = 4.0
STREAMS = 500
ROUNDS = 100
WORD = ["amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbour", "indigo", "juniper"]

EMPTY = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
async def empty():
    return {}
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False, http="h11", ws="none")
"""


def main() -> None:
    """Measure all, and print it."""
    given = options(__doc__).parse_args()
    run([assembling, searching, mixing, streaming], given.json)


@contextmanager
def served(home: Path, workspace: Path, port: int) -> Iterator[tuple[int, str]]:
    """A server over one workspace, as its process and its token."""
    command = [sys.executable, "-m", "carrel", "serve", str(workspace), "--port", str(port), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "CARREL_HOME": str(home)})
    assert process.stdout is not None
    process.stdout.readline()
    try:
        asyncio.run(until_there(port))
        yield process.pid, (home / "data" / "server.token").read_text()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def empty_route(port: int) -> Iterator[None]:
    """A FastAPI app with one route that does nothing."""
    process = subprocess.Popen([sys.executable, "-c", EMPTY, str(port)])
    try:
        asyncio.run(until_there(port))
        yield
    finally:
        process.terminate()
        process.wait(60)


async def until_there(port: int) -> None:
    """Wait until somebody listens."""
    for _ in range(400):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise RuntimeError("nobody listens")


def request(method: str, path: str, port: int, token: str = "", body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Authorization: Bearer {token}\r\n" if token else ""
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Read one answer whole; anything but success ends the benchmark."""
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.split(b" ", 2)[1] == b"200", head
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    return await reader.readexactly(int(length.split(b":")[1]))


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that is kept."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
    try:
        yield reader, writer
    finally:
        writer.close()


async def load(port: int, asked: bytes, clients: int, seconds: float = SECONDS) -> list[float]:
    """Ask from several connections for so long; return how long each answer took."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def client() -> None:
        async with connection(port) as (reader, writer):
            while time.perf_counter() < end:
                begin = time.perf_counter()
                writer.write(asked)
                await answer(reader)
                times.append(time.perf_counter() - begin)

    await asyncio.gather(*(client() for _ in range(clients)))
    return times


def rate(port: int, asked: bytes) -> float:
    """Requests per second, after a warm-up."""
    asyncio.run(load(port, asked, CLIENTS, 1.0))
    return len(asyncio.run(load(port, asked, CLIENTS))) / SECONDS


def make(folder: Path, name: str, tokens: int) -> Path:
    """A workspace whose context has about so many tokens."""
    place = folder / name
    Workspace.init(place)
    (place / "carrel.yaml").write_text("layout: carrel\nmodel: {name: gpt-4o, context_window: 400000}\n")
    text, number = "", 0
    while tokens > 0:
        text = f"# Page {number}\n\n" + (PROSE + "\n") * 400
        part = text[: min(tokens, 15_000) * 4]
        (place / f"page-{number:02}.md").write_text(part)
        tokens -= min(tokens, 15_000)
        number += 1
    return place


def assembling(folder: Path) -> list[Figure]:
    """`context:assemble` against an empty route, at two sizes."""
    found: list[Figure] = []
    for name, size, bar in (("8k", 7_500, 40), ("150k", 148_000, 15)):
        place = make(folder, name, size)
        with empty_route(8471), served(folder / "home", place, 8472) as (_, token):
            body = json.dumps({"query": None}).encode()
            asked = request("POST", "/api/v1/w/default/context:assemble", 8472, token, body)
            used = asyncio.run(tokens_of(8472, asked))
            base, ours = rate(8471, request("GET", "/", 8471)), rate(8472, asked)
            again = rate(8471, request("GET", "/", 8471))
            body = json.dumps({"session": "s1", "query": "Which page is about cedar?"}).encode()
            recalled = rate(8472, request("POST", "/api/v1/w/default/context:assemble", 8472, token, body))
        share = 100 * ours / statistics.mean((base, again))
        found += [
            figure(f"empty FastAPI route, beside {name}", statistics.mean((base, again)), "1/s"),
            figure(f"context:assemble of {used:,} tokens", ours, "1/s"),
            figure(f"context:assemble at {name}, of the empty route", share, "%", bar, at_least=True),
            figure(f"context:assemble at {name}, with a session and recall", recalled, "1/s"),
        ]
    return found


async def tokens_of(port: int, asked: bytes) -> int:
    """How many tokens an assembly has."""
    async with connection(port) as (reader, writer):
        writer.write(asked)
        return json.loads(await answer(reader))["report"]["tokens"]["used"]


def searching(folder: Path) -> list[Figure]:
    """Search with many clients at once: nobody waits much longer than the others."""
    place = folder / "searched"
    Workspace.init(place)
    for number in range(200):
        lines = (
            f"- {WORD[(number + i) % 10]} {WORD[(number * i) % 10]} note {number} {i}" for i in range(20)
        )
        (place / f"notes-{number}.md").write_text("# Notes\n\n" + "\n".join(lines) + "\n")
    with served(folder / "home", place, 8473) as (_, token):
        asked = request("GET", "/api/v1/w/default/search?q=amber+basalt+cedar", 8473, token)
        asyncio.run(load(8473, asked, 2, 2.0))
        times = sorted(asyncio.run(load(8473, asked, SEARCHERS)))
    half, most = statistics.median(times), times[int(len(times) * 0.99)]
    return [
        figure(f"search with {SEARCHERS} clients, p50", half * 1000, "ms"),
        figure(f"search with {SEARCHERS} clients, p99", most * 1000, "ms"),
        figure("search: p99 in p50", most / half, "x", 5),
        figure("search: answers", len(times) / SECONDS, "1/s"),
    ]


def mixing(folder: Path) -> list[Figure]:
    """What a change, a search and a prompt cost a server, with few files and with many."""
    few, many = (asked_of(folder, files) for files in (200, 10_000))
    return [
        figure("a change, a search and a prompt, 200 files: processor", few, "ms"),
        figure("a change, a search and a prompt, 10,000 files: processor", many, "ms"),
        figure("10,000 files in 200", many / few, "x"),
    ]


def asked_of(folder: Path, files: int) -> float:
    """The processor's time that a server took for a round, in ms."""
    place = folder / f"mixed-{files}"
    Workspace.init(place)
    for number in range(files):
        page = place / f"knowledge/{number // 100:03}/{number:05}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# Page {number}\n\n{WORD[number % 10]} {WORD[number // 10 % 10]} {number}.\n")
    with served(folder / "home", place, 8475) as (pid, token):
        asyncio.run(rounds(8475, token, 10))
        until_idle(pid)  # the index is made by then, its vectors too
        begin = spent(pid)
        asyncio.run(rounds(8475, token, ROUNDS))
        return (spent(pid) - begin) * 1000 / ROUNDS


async def rounds(port: int, token: str, count: int) -> None:
    """Change a file, ask for it, and have a prompt made, so often."""
    body = json.dumps({"session": "s1", "query": "Which page is about cedar?"}).encode()
    async with connection(port) as (reader, writer):
        for number in range(count):
            await change(port, token, 1)
            search = f"/api/v1/w/default/search?q={WORD[number % 10]}"
            writer.write(request("GET", search, port, token))
            await answer(reader)
            writer.write(request("POST", "/api/v1/w/default/context:assemble", port, token, body))
            await answer(reader)


def until_idle(pid: int) -> None:
    """Wait until a process has next to nothing to do."""
    before = -1.0
    while (now := spent(pid)) - before > 0.05:
        before = now
        time.sleep(1)


def spent(pid: int) -> float:
    """The processor's time that a process took so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def streaming(folder: Path) -> list[Figure]:
    """Many event streams held while things happen; memory stays as it was."""
    place = folder / "watched"
    Workspace.init(place)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, most), most))
    with served(folder / "home", place, 8474) as (pid, token):
        return asyncio.run(hold(pid, token, 8474))


async def hold(pid: int, token: str, port: int) -> list[Figure]:
    """Open the streams, let things happen, and look at the memory before and after."""
    told = 0
    ends: list[asyncio.StreamWriter] = []

    async def follow() -> None:
        nonlocal told
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        ends.append(writer)
        writer.write(request("GET", "/api/v1/w/default/events", port, token))
        async for line in reader:
            told += line.startswith(b"event: file.put")

    followers = [asyncio.create_task(follow()) for _ in range(STREAMS)]
    await asyncio.sleep(3)
    await change(port, token, 20)
    await asyncio.sleep(3)  # until the index was written once, which takes some memory
    before = resident(pid)
    changes = 200
    began = told
    await change(port, token, changes)
    await asyncio.sleep(2)
    after = resident(pid)
    for follower in followers:
        follower.cancel()
    for writer in ends:
        writer.close()
    return [
        figure(f"{STREAMS} event streams: resident", before, "MB"),
        figure(f"{STREAMS} event streams: more after {changes} changes", after - before, "MB", 5),
        figure("events that arrived", 100 * (told - began) / (changes * STREAMS), "%", 100, at_least=True),
    ]


async def change(port: int, token: str, count: int) -> None:
    """Write a file so often."""
    async with connection(port) as (reader, writer):
        for number in range(count):
            body = f"Note {number} of {time.time()}\n".encode()
            writer.write(request("PUT", "/api/v1/w/default/files/notes.md", port, token, body))
            await answer(reader)


def resident(pid: int) -> float:
    """The memory that a process holds, in megabytes."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    main()
