"""Figures of turns with a provider's model: `python bench/turns.py [--json FILE] [--turns N]`.

The provider is a stub in a process of its own, spoken to over real HTTP. It counts what it is sent, and
refuses what is over its window. Both processes read one clock.
"""

import asyncio
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from msgspec import Struct

from carrel import Workspace
from carrel.context.assemble import Assembly
from carrel.runtime.loop import CallEnded, Ended, Piece, Prepared
from carrel.runtime.model import Reply, Request
from carrel.runtime.providers.bodies import body_of
from carrel.tokens import Vocabulary
from figures import Figure, figure, options, run
from sessions import LINE, PROSE, make_workspace

MODEL = "gpt-4o-stub"
WINDOW = 32_000
ROUNDS = 60
WARM_UP = 5
EARLY = 50
AROUND = 20
PIECES = 20
THINKING = 0.005
"""Seconds before a model's first token, so that the request has been read by then."""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--turns", type=int, default=1_000, help="of the long conversation")
    given = parser.parse_args()
    if given.turns < EARLY + AROUND:
        parser.error(f"--turns: at least {EARLY + AROUND}, so that late is not early")
    run((around_a_turn, partial(long_conversation, turns=given.turns)), given.json)


class Note(Struct, frozen=True):
    """What the stub tells of one request: its size, and whether it was a turn, a summary, or refused."""

    size: int
    kind: str


@contextmanager
def provider(window: int) -> Iterator[tuple[str, Connection]]:
    """Run the stub; yield its base URL and where its notes come from."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, window))
    process.start()
    there.close()
    try:
        yield here.recv(), here
    finally:
        here.close()
        process.join()


def serve(pipe: Connection, window: int) -> None:
    """Be the provider until the other side hangs up."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.stubs.clerk import Clerk  # noqa: PLC0415 - the stubs of the tests are found from here on
    from tests.stubs.openai import OpenAIStub  # noqa: PLC0415 - as above

    clerk = Clerk(window, answer, tell=lambda size, kind: pipe.send((size, kind)))
    with OpenAIStub(clerk, keep=1) as stub:
        pipe.send(stub.url)
        try:
            pipe.recv()
        except (EOFError, ConnectionError):
            return


def answer(asked: Any, told: dict[str, Any]) -> Any:
    """Answer a question; where it asks for a file that was not read yet, read that first."""
    from tests.stubs.openai import DONE, calls, chunk  # noqa: PLC0415 - only the stub's process has them
    from tests.stubs.scripted import Answer  # noqa: PLC0415 - as above

    last = asked.body["messages"][-1]
    if last["role"] == "user" and "please read" in str(last["content"]):
        return calls(("read_file", {"path": "stack.md"}), told=told, ids=[f"call_{uuid4().hex}"])

    def steps() -> Iterator[bytes]:
        yield chunk({"role": "assistant", "content": ""})
        time.sleep(THINKING)
        yield chunk({"content": f"{time.monotonic()!r}"})  # the first token is when it was sent
        for number in range(PIECES):
            yield chunk({"content": f" {LINE}" if number % 4 == 0 else f" and {number},"})
        yield from (chunk({}, "stop"), chunk(told=told), DONE)

    return Answer(steps(), 200, {"Content-Type": "text/event-stream"})


class Overheard:
    """The workspace's own model; `request` is what it was asked last."""

    def __init__(self, workspace: Workspace) -> None:
        self._model = workspace.model()
        self.request: Request | None = None

    @property
    def name(self) -> str:
        return self._model.name

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        self.request = request
        async with aclosing(self._model.stream(request)) as said:
            async for item in said:
                yield item


class Held(Struct, frozen=True):
    """One turn: its seconds, those from its first token being sent to its arrival, and those of work.

    What the process works for is the same on a machine that does other things too.
    """

    seconds: float
    first: float
    worked: float
    calls: int = 0
    findings: tuple[str, ...] = ()


def settled(folder: Path, name: str, url: str) -> Path:
    """A workspace that its owner lets speak with the stub."""
    root = make_workspace(folder, name)
    settings = (
        f"layout: carrel\nmodel:\n  name: openai:{MODEL}\n  base_url: {url}\n  context_window: {WINDOW}\n"
    )
    (root / "carrel.yaml").write_text(settings)
    Workspace.trust(root)
    return root


async def hold(workspace: Workspace, model: Overheard, message: str) -> Held:
    """Hold one turn to its end."""
    first, calls = 0.0, 0
    codes: tuple[str, ...] = ()
    begin, idle = time.perf_counter(), time.process_time()
    async for event in workspace.turn("s1", message, model=model):
        if isinstance(event, Piece) and not first:
            first = time.monotonic() - float(event.text)
        elif isinstance(event, CallEnded):
            assert not event.failed, event.result
            calls += 1
        elif isinstance(event, Prepared) and isinstance(event.assembly, Assembly):
            codes += tuple(finding.code for finding in event.assembly.report.warnings)
        elif isinstance(event, Ended):
            codes += tuple(finding.code for finding in event.findings)
    return Held(time.perf_counter() - begin, first, time.process_time() - idle, calls, codes)


async def ask(model: Overheard, request: Request) -> Held:
    """Ask the model the same once more, with nothing around it."""
    first = 0.0
    begin, idle = time.perf_counter(), time.process_time()
    async for item in model.stream(request):
        if isinstance(item, str) and item and not first:
            first = time.monotonic() - float(item)
    return Held(time.perf_counter() - begin, first, time.process_time() - idle)


async def exchange(client: Any, request: Request) -> Held:
    """Send the same request over bare HTTP, and read the answer event by event."""
    body = {"model": MODEL, "stream": True, **body_of(request, "openai")}
    first = 0.0
    begin, idle = time.perf_counter(), time.process_time()
    async with client.stream("POST", "/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if not first and line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                said = choices[0]["delta"].get("content") if choices else None
                first = time.monotonic() - float(said) if said else 0.0
    return Held(time.perf_counter() - begin, first, time.process_time() - idle)


def around_a_turn(folder: Path) -> list[Figure]:
    """What is added to an exchange: each turn beside its request to the model alone, and over bare HTTP."""

    async def each(workspace: Workspace, url: str) -> list[tuple[Held, Held, Held]]:
        model, rounds = Overheard(workspace), []
        async with httpx2.AsyncClient(base_url=url) as client:
            for number in range(WARM_UP + ROUNDS):
                turn = await hold(workspace, model, f"Question {number}: {LINE}")
                assert model.request is not None
                rounds.append((turn, await ask(model, model.request), await exchange(client, model.request)))
        return rounds[WARM_UP:]

    with provider(WINDOW) as (url, _), Workspace.open(settled(folder, "around", url)) as workspace:
        rounds = asyncio.run(each(workspace, url))
    loop = [turn.seconds - alone.seconds for turn, alone, _ in rounds]
    worked = [turn.worked - alone.worked for turn, alone, _ in rounds]
    turns, alones, bares = zip(*rounds, strict=True)
    firsts = [turn.first for turn in turns]
    return [
        figure("exchange with the provider over bare HTTP", median(bare.seconds for bare in bares), "ms"),
        figure("the same by pydantic-ai's client", median(alone.seconds for alone in alones), "ms"),
        figure("the same as a turn, durable", median(turn.seconds for turn in turns), "ms"),
        figure("  the loop around the provider's client", median(loop), "ms", 20),
        figure("    at the 95th percentile", percentile(loop, 95), "ms"),
        figure("    of it on the processor, the rest for the disk and for other work", median(worked), "ms"),
        figure("first token, from its sending to a bare reader", median(bare.first for bare in bares), "ms"),
        figure("first token, from its sending to the caller of a turn", median(firsts), "ms", 5),
        figure("    at the 95th percentile", percentile(firsts, 95), "ms", 5),
    ]


def long_conversation(folder: Path, turns: int) -> list[Figure]:
    """Many turns in a small window, some with calls of tools."""
    notes: list[list[Note]] = []

    async def talk(workspace: Workspace, pipe: Connection) -> list[Held]:
        model, held = Overheard(workspace), []
        for number in range(1, turns + 1):
            held.append(await hold(workspace, model, question(number)))
            notes.append(list(waiting(pipe)))
        return held

    with provider(WINDOW) as (url, pipe), Workspace.open(settled(folder, "long", url)) as workspace:
        held = asyncio.run(talk(workspace, pipe))
        log = workspace.root / workspace.sessions.log_path("s1")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [*what_was_sent(notes), *what_was_done(held, lines), *what_it_took(held, notes)]


def question(number: int) -> str:
    """Something to say, from a line to a page; every tenth time about a file."""
    begin = number * 997 % (len(PROSE) - 4_000)
    about = PROSE[begin : begin + (200, 400, 800, 3_000)[number % 4]]
    file = "please read stack.md again. " if number % 10 == 0 else ""
    return f"Question {number}: {file}{LINE}{about}"


def waiting(pipe: Connection) -> Iterator[Note]:
    while pipe.poll():
        yield Note(*pipe.recv())


def what_was_sent(notes: Sequence[Sequence[Note]]) -> list[Figure]:
    every = [note for turn in notes for note in turn]
    count = {kind: sum(note.kind == kind for note in every) for kind in ("turn", "summary", "refused")}
    return [
        figure(
            f"largest request of {len(notes):,} turns", max(note.size for note in every), "tokens", WINDOW
        ),
        figure("  requests that the provider refused as too long", count["refused"], "", 0),
        figure("  requests, calls of tools among them", count["turn"], ""),
        figure("  requests for a summary", count["summary"], ""),
    ]


def what_was_done(held: Sequence[Held], lines: Sequence[dict[str, Any]]) -> list[Figure]:
    """Compactions, of which there can be no more than the quarters of a window that were said."""
    done = [line for line in lines if line["type"] == "compaction"]
    entries = [line for line in lines if line["type"] == "entry"]
    said = sum(len(Vocabulary().encode(json.dumps(line["content"]))) for line in entries)
    codes = Counter(code for turn in held for code in set(turn.findings))
    return [
        figure("compactions", len(done), "", said // (WINDOW // 4)),
        figure("  of them by the model's summary", sum(line["method"] != "offline" for line in done), ""),
        figure("  turns that lost history uncompacted", codes["history_dropped"], "", 0),
        figure(
            "entries in the log",
            len(entries),
            "",
            2 * len(held) + 2 * sum(turn.calls for turn in held),
            at_least=True,
        ),
        *(figure(f"  turns that say {code}", times, "") for code, times in sorted(codes.items())),
    ]


def what_it_took(held: Sequence[Held], notes: Sequence[Sequence[Note]]) -> list[Figure]:
    """Time and tokens of a turn late in the conversation, to those of one early in it."""
    early = slice(max(0, EARLY - AROUND // 2), EARLY + AROUND // 2)
    late = slice(len(held) - AROUND, None)
    times = [median(turn.seconds for turn in held[part]) for part in (early, late)]
    sent = [
        statistics.median(sum(note.size for note in turn) for turn in notes[part]) for part in (early, late)
    ]
    return [
        figure(f"turn {EARLY}: time", times[0], "ms"),
        figure(f"turn {len(held):,}: time", times[1], "ms"),
        figure("  to that", times[1] / times[0], "x", 2),
        figure(f"turn {EARLY}: sent", sent[0], "tokens"),
        figure(f"turn {len(held):,}: sent", sent[1], "tokens"),
        figure("  to that", sent[1] / sent[0], "x", 2),
        figure("slowest turn", max(turn.seconds for turn in held) * 1000, "ms"),
        figure("whole conversation", sum(turn.seconds for turn in held), "s"),
    ]


def median(seconds: Iterable[float]) -> float:
    """The median, in milliseconds."""
    return statistics.median(seconds) * 1000


def percentile(seconds: Sequence[float], percent: int) -> float:
    """The seconds, as milliseconds, below which so many of a hundred are."""
    return statistics.quantiles(seconds, n=100)[percent - 1] * 1000


if __name__ == "__main__":
    main()
