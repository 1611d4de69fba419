"""How long each page of the explorer takes to make, and what a browser loads for it.

    python bench/ui.py [--json FILE]

Every page is asked of the interface itself, in this process and without a socket. What is loaded the first
time is the page, and the styles and scripts that it names.
"""

import asyncio
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from carrel import Workspace
from carrel.clock import SystemClock
from carrel.http.app import build
from carrel.http.explorer.pages import NAVIGATION
from carrel.http.served import Served
from carrel.records.proposals import Proposal
from figures import Figure, best, figure, options, run

TOKEN = "t" * 43
FILES, FEW, MANY = 10_000, 1_000, 100_000
FOLDER = 1_000
ROUNDS = 15
MOST_MS, MOST_KB = 150, 100
SESSIONS, TURNS, FACTS, PROPOSALS = 40, 50, 60, 40
DETAILS = (
    "files/archive", "files/archive/part-0/page-7.md", "files/handbook.md", "search?q=harbour+seven",
    "context?session=talk-0&query=harbour", "context/explain/handbook.md", "sessions/talk-0",
)  # fmt: skip
SHIPPED = re.compile(r'(?:href|src)="(/static/[^"]+)"')
IMPORTED = re.compile(r'from "\./([a-z]+\.js)"')


def main() -> None:
    """Measure all, and print it."""
    given = options(__doc__).parse_args()
    run([pages, trees], given.json)


class Asked:
    """The interface over one workspace, asked as its owner."""

    def __init__(self, served: Served) -> None:
        self._app = build(served, token=TOKEN, clock=SystemClock())
        self._runner = asyncio.Runner()

    def page(self, path: str) -> bytes:
        """Return an answer whole; anything but success ends the benchmark."""
        return self._runner.run(self._ask(path))

    def sent(self, path: str) -> int:
        """Return how much is sent to a browser, all of which take it compressed."""
        return len(self._runner.run(self._ask(path, (b"accept-encoding", b"gzip"))))

    async def _ask(self, path: str, *more: tuple[bytes, bytes]) -> bytes:
        address, _, query = path.partition("?")
        headers = [
            *more,
            (b"host", b"127.0.0.1"),
            (b"accept", b"text/html"),
            (b"authorization", f"Bearer {TOKEN}".encode()),
        ]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": address,
            "raw_path": address.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        told, status = list[bytes](), list[int]()

        bodies = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, object]:
            if not bodies:
                await asyncio.Event().wait()  # nobody hangs up
            return bodies.pop()

        async def send(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            else:
                told.append(message["body"])

        await self._app(scope, receive, send)
        assert status == [200], (path, status)
        return b"".join(told)

    def loaded(self, path: str) -> int:
        """Return how much a browser loads that has never been here."""
        page = self.page(path)
        names = set(SHIPPED.findall(page.decode()))
        waiting, sizes = list(names), {}
        while waiting:
            name = waiting.pop().partition("?")[0]
            if name not in sizes:
                sizes[name] = self.sent(name)
                if name.endswith(".js"):
                    waiting += [f"/static/{each}" for each in IMPORTED.findall(self.page(name).decode())]
        return self.sent(path) + sum(sizes.values())

    def close(self) -> None:
        """Let go of the loop."""
        self._runner.close()


@contextmanager
def asked(root: Path) -> Iterator[Asked]:
    """A workspace that is served, in this process."""
    with Served([root]) as served:
        app = Asked(served)
        try:
            yield app
        finally:
            app.close()


def make(root: Path, files: int) -> Path:
    """A workspace with so many files, a thousand in each folder."""
    Workspace.init(root)
    (root / "carrel.yaml").write_text(
        "layout: carrel\nmodel: {context_window: 128000}\nagents: [{id: kate}]\n"
    )
    (root / "handbook.md").write_text("# Handbook\n\n" + "Nobody has shortened this page yet. " * 4_000)
    for number in range(files):
        folder = root / f"archive/part-{number // FOLDER}"
        if number % FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"page-{number}.md").write_text(
            f"# Page {number}\n\nHarbour {number} is seven miles away.\n"
        )
    Workspace.trust(root)
    return root


def live(root: Path) -> None:
    """Fill a workspace with what the pages beside the files show."""
    now = datetime.now(UTC)
    for back in range(30):
        (root / f"memory/{(now - timedelta(days=back)).date()}.md").write_text(
            "- 09:00 [note] Ana was ill.\n" * 20
        )
    with Workspace.open(root, agent="kate") as kate:
        for number in range(SESSIONS):
            said = [message for turn in range(TURNS) for message in turn_of(turn)]
            kate.record(f"talk-{number}", said)
        for number in range(FACTS):
            kate.memory.add(f"Harbour {number} has {number} boats.")
        for number in range(PROPOSALS):
            kate.records.proposals.add(waiting(number, now))
        kate.prepare("talk-0", "harbour")
        kate.sweep()
        kate.searching.sync()


def turn_of(number: int) -> list[dict[str, str]]:
    """One turn of a conversation."""
    answer = f"Harbour {number} is seven miles away, behind the light. " * 4
    return [
        {"role": "user", "content": f"Where is harbour {number}?"},
        {"role": "assistant", "content": answer},
    ]


def waiting(number: int, now: datetime) -> Proposal:
    """One thing that waits for the owner."""
    return Proposal(
        key=f"bench:{number}",
        at=now,
        agent="kate",
        actor="model",
        action="append",
        why="external_source",
        reason="It came from somebody else.",
        path="MEMORY.md",
        section="People",
        new=f"- Boat {number} is Ana's.",
    )


def pages(folder: Path) -> list[Figure]:
    """Each page of a large workspace: the time to make it, and what is loaded."""
    root = make(folder / "large", FILES)
    live(root)
    found: list[Figure] = []
    with asked(root) as app:
        for path in (*(address for address, _, _ in NAVIGATION), *DETAILS):
            address = f"/w/large/{path}{'&' if '?' in path else '?'}agent=kate"
            begin = perf_counter()
            app.page(address)
            first = (perf_counter() - begin) * 1000
            taken = best(lambda address=address: app.page(address), ROUNDS)
            if not found:
                found.append(figure(f"{path}: the first look after a start", first, "ms", MOST_MS))
            found += [
                figure(
                    f"{path}: made, of {FILES:,} files (the first time {first:.0f} ms)", taken, "ms", MOST_MS
                ),
                figure(f"{path}: loaded", app.loaded(address) / 1000, "kB", MOST_KB),
            ]
        whole = best(lambda: app.page("/w/large/health?agent=kate&look=now"), ROUNDS)
        found.append(figure(f"the look at all {FILES:,} files, beside the page of health", whole, "ms"))
    return found


def trees(folder: Path) -> list[Figure]:
    """The first look at the tree, of a few files and of many."""
    found: list[Figure] = []
    times: dict[tuple[str, int], float] = {}
    looks = {"the tree": "files?agent=kate", "a folder of a thousand": "files/archive/part-0?agent=kate"}
    for files in (FEW, MANY):
        root = make(folder / f"tree-{files}", files)
        with asked(root) as app:
            for name, path in looks.items():
                times[name, files] = best(
                    lambda path=path, app=app, at=root.name: app.page(f"/w/{at}/{path}"), ROUNDS
                )
                found.append(figure(f"{name}, of {files:,} files", times[name, files], "ms"))
    return [
        *found,
        *(
            figure(f"{name}: {MANY:,} in {FEW:,}", times[name, MANY] / times[name, FEW], "x", 1.5)
            for name in looks
        ),
    ]


if __name__ == "__main__":
    main()
