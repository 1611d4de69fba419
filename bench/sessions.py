"""Figures of sessions: `python bench/sessions.py [--json FILE]`.

Everything is compared within one run, as ratios: the machine's own speed drops out.
"""

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from pydoc_data.topics import topics

from carrel import Workspace
from carrel.context.assemble import Assembly
from carrel.sessions.log import Log
from carrel.sessions.offsets import Offsets
from carrel.sessions.transcript import Compaction, Entry, Header
from carrel.tokens import Vocabulary
from figures import Figure, figure, options, run, timed

PROSE = "\n".join(topics[name] for name in sorted(topics))
LINE = "The deploy of the billing service waits for Ana, who reviews the migration on Thursday afternoon. "
APPENDS = 600
TURNS = 100
WINDOW = 100
DISCOUNTS = {"Claude": 0.90, "OpenAI, least": 0.50, "OpenAI, most": 0.90, "Gemini": 0.90, "Grok": 0.75}
"""What providers take off for cached input, as seed 003 has it."""


def main() -> None:
    run((durable_append, next_turn, whole_turn, replay), options(__doc__).parse_args().json)


def make_workspace(folder: Path, name: str, layout: str = "carrel") -> Path:
    """A workspace of a few thousand tokens, as people have."""
    root = folder / name
    Workspace.init(root, layout=layout)
    home = root / "workspace" if layout == "astra" else root
    for number, title in enumerate(("AGENTS.md", "USER.md", "stack.md", "team.md", "style.md")):
        (home / title).write_text(PROSE[number * 2_500 : (number + 1) * 2_500])
    time.sleep(2.1)  # a file that changed within 2 s is never trusted by its stamp
    return root


def durable_append(folder: Path) -> list[Figure]:
    """One message a call, each durable before the next, beside the least that durable appending takes."""
    root = make_workspace(folder, "append")
    text = LINE * 3
    with Workspace.open(root) as workspace:
        workspace.record("s1", [{"role": "user", "content": text}])
        workspace.record("s1", [{"role": "user", "content": text}])
        log = root / workspace.sessions.log_path("s1")
        line = log.read_bytes().splitlines(keepends=True)[-1]
        bare = os.open(log.with_name("bare.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def least() -> None:
            os.write(bare, line)
            os.fdatasync(bare)

        header = Header(id="s2", agent_id="main")
        entry_log = Log(
            workspace.files, log.with_name("s2.log.jsonl").relative_to(root).as_posix(), Offsets(None)
        )

        def append() -> None:
            own = os.urandom(12).hex()
            entry = Entry(timestamp="2026-04-24T12:00:00.000Z", role="user", content=text, message_id=own)
            entry_log.add([entry], header, minted={own})

        append()
        append()
        floor: list[float] = []
        entries: list[float] = []
        messages: list[float] = []
        for _ in range(APPENDS):  # side by side, so that a slow moment of the disk hits all
            floor.append(timed(least))
            entries.append(timed(append))
            messages.append(timed(lambda: workspace.record("s1", [{"role": "user", "content": text}])))
        os.close(bare)
    return [
        figure("bare write + fdatasync", statistics.median(floor) * 1e6, "us"),
        figure("durable append of an entry, once by its id, indexed", statistics.median(entries) * 1e6, "us"),
        figure("  rate, of the bare loop's", 100 * sum(floor) / sum(entries), "%", 70, at_least=True),
        figure("record of a message: checked, screened, appended", statistics.median(messages) * 1e6, "us"),
        figure("  rate, of the bare loop's", 100 * sum(floor) / sum(messages), "%"),
    ]


def next_turn(folder: Path) -> list[Figure]:
    """The next turn of a long session and of a short one whose windows are the same."""
    root = make_workspace(folder, "long")
    sizes = {"500": 500, "50000": 50_000}
    with Workspace.open(root) as workspace:
        for session, size in sizes.items():
            fill(workspace, session, size)
    times: dict[str, list[float]] = {session: [] for session in sizes}
    opened: dict[str, list[float]] = {session: [] for session in sizes}
    for _ in range(5):  # as a fresh process would
        for session in sizes:
            with Workspace.open(root) as workspace:
                opened[session].append(timed(turn, workspace, session))
    with Workspace.open(root) as workspace:
        for session in sizes:
            turn(workspace, session)
        for _ in range(40):
            for session in sizes:
                times[session].append(timed(turn, workspace, session))
        listing = timed(lambda: workspace.sessions.rows(limit=20))
        pages = [partial(workspace.sessions.page, "50000", first=at) for at in (1, 25_000, 49_900)]
        page = statistics.median(timed(read) for read in pages)
    ratio = statistics.median(times["50000"]) / statistics.median(times["500"])
    fresh = statistics.median(opened["50000"]) / statistics.median(opened["500"])
    return [
        figure("next turn of a session of 500 entries", statistics.median(times["500"]) * 1e3, "ms"),
        figure("  of 50,000 entries with the same window, to that", ratio, "x", 2),
        figure("  the same after opening the workspace anew", fresh, "x", 2),
        figure("list of sessions, one of 50,000 entries among them", listing * 1e3, "ms"),
        figure("a page of 50 from anywhere in 50,000 entries", page * 1e3, "ms"),
    ]


def fill(workspace: Workspace, session: str, size: int) -> None:
    """Record a session of this size, of which the model sees the last hundred entries."""
    spoken = [
        {"role": ("user", "assistant")[number % 2], "content": f"{number}: {LINE}"} for number in range(size)
    ]
    for begin in range(0, size, 1_000):
        workspace.record(session, spoken[begin : begin + 1_000])
    workspace.sessions.compact(session, Compaction(summary="What went before.", through=size - WINDOW))
    workspace.sessions.settle(session)


def turn(workspace: Workspace, session: str) -> Assembly:
    """All that Carrel does around a call: the question, the context, the answer."""
    workspace.record(session, [{"role": "user", "content": LINE}])
    assembly = workspace.prepare(session, LINE)
    workspace.record(session, [{"role": "assistant", "content": LINE * 2}])
    return assembly


def whole_turn(folder: Path) -> list[Figure]:
    """What a turn costs beside the model, in syncs of this machine's disk."""
    root = make_workspace(folder, "turn")
    fd = os.open(root / "sync", os.O_WRONLY | os.O_CREAT)

    def sync() -> None:
        os.write(fd, LINE.encode())
        os.fsync(fd)

    with Workspace.open(root) as workspace:
        for _ in range(5):
            turn(workspace, "s1")
        time.sleep(2.1)  # the first turn made a folder, which is not trusted by its stamp for as long
        turn(workspace, "s1")
        syncs: list[float] = []
        turns: list[float] = []
        for _ in range(60):
            syncs.append(timed(sync))
            turns.append(timed(lambda: turn(workspace, "s1")))
    os.close(fd)
    one, whole = statistics.median(syncs), statistics.median(turns)
    return [
        figure("one fsync on this machine", one * 1e3, "ms"),
        figure("prepare + record around a turn, durable", whole * 1e3, "ms"),
        figure("  in fsyncs", whole / one, "fsyncs", 8),
    ]


def replay(folder: Path) -> list[Figure]:
    """A conversation of many turns with unchanged files, and what providers' caches make of its cost."""
    figures = []
    for layout in ("carrel", "astra"):
        root = make_workspace(folder, f"replay-{layout}", layout)
        calls = list(conversation(root))
        shares = list(common(calls))
        bar = 97 if layout == "carrel" else None
        name = f"{layout}: shared with the call before, over {TURNS} turns"
        figures.append(figure(name, 100 * statistics.mean(shares), "%", bar, at_least=True))
        figures.append(figure(f"{layout}:   the least of a turn", 100 * min(shares), "%"))
        for provider, discount in DISCOUNTS.items():
            cost = 1 - discount * statistics.mean(shares)
            figures.append(figure(f"{layout}:   input cost at {provider}'s discount", 100 * cost, "%"))
    return figures


def conversation(root: Path) -> Iterator[list[str]]:
    """Hold the conversation, and yield the messages of each call up to the user's last."""
    with Workspace.open(root) as workspace:
        for number in range(TURNS):
            question = f"Question {number}: what about the migration of service {number % 7}?"
            workspace.record("s1", [{"role": "user", "content": question}])
            assembly = workspace.prepare("s1", question)
            reply = f"Answer {number}: {LINE}"
            workspace.record("s1", [{"role": "assistant", "content": reply}])
            yield [*(message.to_text() for message in assembly.messages[:-1]), question]


def common(calls: Sequence[Sequence[str]]) -> Iterator[float]:
    """For each call but the first: tokens of what it begins with like the one before, to all of them."""
    vocabulary = Vocabulary()
    for before, now in pairwise(calls):
        old = vocabulary.encode("\n".join(before))
        new = vocabulary.encode("\n".join(now[:-1]))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
        yield same / len(new)


if __name__ == "__main__":
    main()
