"""Figures of dreaming, consolidation and forgetting: `python bench/dreams.py [--json FILE] [--recalls N]`.

A sweep looks over a hundred thousand recalls. What a model reads to consolidate a journal is held against the
age of the workspace: once with all of the journal new, once with one new day behind what was consolidated.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path

from carrel import Workspace
from carrel.memory.forget.choice import Choice
from carrel.records.recalls import RecallEvent
from carrel.runtime.consolidation import BadConsolidation
from carrel.runtime.model import Reply, Request, Spend
from figures import Figure, figure, options, run, timed

RECALLS = 100_000
STATEMENTS = 5_000
QUERIES = 800
BATCH = 5_000
SECONDS = 5
AGES = (10, 100, 1_000)
"""Days of a journal."""
ENTRIES = 10
"""Of each day."""
MOST_TOKENS = 15_000
"""Of one question: 8,000 of new entries, 4,000 of memory, 2,000 beside it, and what is asked."""

NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
TODAY = date(2026, 4, 24)
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "indigo", "juniper")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--recalls", type=int, default=RECALLS, help="recall events of the sweep")
    given = parser.parse_args()
    run((partial(sweeping, given.recalls), consolidating, purging), given.json)


def make(folder: Path) -> Path:
    """Make a trusted workspace of one agent."""
    Workspace.init(folder)
    (folder / "carrel.yaml").write_text("layout: carrel\nsearch: {embedder: none}\nagents:\n  - id: kate\n")
    Workspace.trust(folder)
    return folder


def opened(root: Path) -> Workspace:
    home = str(root.parent / "home")
    return Workspace.open(root, environ={"CARREL_HOME": home, "CARREL_NOW": NOW.isoformat()})


def said(number: int) -> str:
    words = " ".join(WORDS[(number // 10**place) % 10] for place in range(4))
    return f"The {words} project moves on in week {number}."


def day_of(number: int) -> str:
    return f"memory/{TODAY - timedelta(days=number)}.md"


def journal(root: Path, days: int, *, first: int = 1) -> None:
    """Write so many days, the newest of them a number of days ago."""
    (root / "memory").mkdir(exist_ok=True)
    for number in range(first, first + days):
        lines = (f"- 09:{n:02} [note] {said(number * ENTRIES + n)}\n" for n in range(ENTRIES))
        (root / day_of(number)).write_text("".join(lines))


def sweeping(count: int, folder: Path) -> list[Figure]:
    """A dream over many recalls, and how many candidates they are of."""
    root = make(folder / "night")
    journal(root, STATEMENTS // ENTRIES)
    with opened(root) as workspace:
        events = recalls(count)
        while batch := [event for _, event in zip(range(BATCH), events, strict=False)]:
            workspace.records.recalls.add(batch)
        looked = timed(workspace.dreaming.look)
        took = timed(workspace.dreaming.run)
        dreamt = workspace.dreaming.status()
        assert dreamt.last is not None
    return [
        figure(f"candidates of {count:,} recalls", dreamt.last.counts["candidates"], ""),
        figure("promoted of them, as many as one run may", dreamt.counts["promoted"], "", 20, at_least=True),
        figure(f"a look at {count:,} recalls", looked, "s", SECONDS),
        figure(f"a sweep over {count:,} recalls, all written", took, "s", SECONDS),
    ]


def recalls(count: int) -> Iterator[RecallEvent]:
    """Yield recalls of all statements, over a month and by many queries, some far more often than others."""
    for number in range(count):
        statement = (number if number % 2 else number * number) % STATEMENTS
        day, place = divmod(statement, ENTRIES)
        yield RecallEvent(
            agent="kate",
            session=f"s{number % 50}",
            at=NOW - timedelta(minutes=number % 43_000 + 1),
            query=f"what of {WORDS[number % 10]} {number % QUERIES}",
            path=day_of(day + 1),
            line=place + 1,
            tier="journal",
            rank=number % 10 + 1,
            score=(number % 100) / 100,
            text=f"- 09:{place:02} [note] {said((day + 1) * ENTRIES + place)}",
            who="prepare",
        )


class Measuring:
    """A model that keeps how much it was given to read, and has nothing to say."""

    name = "scripted"

    def __init__(self, workspace: Workspace) -> None:
        self._count = workspace.counts.count
        self.read: list[int] = []

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        self.read.append(sum(self._count(message.to_text()) for message in request.messages))
        yield Reply(text="", spend=Spend(input=10, output=2))


def consolidating(folder: Path) -> list[Figure]:
    """What a model reads, by the age of a workspace."""
    figures: list[Figure] = []
    for days in AGES:
        root = make(folder / f"days-{days}")
        journal(root, days, first=2)
        with opened(root) as workspace:
            all_new = asked(workspace)
            took = timed(partial(by_rules, workspace))
            journal(root, 1)
            one_new = asked(workspace)
        figures += [
            figure(f"a first question over {days:,} days, all new", all_new, "tokens", MOST_TOKENS),
            figure(f"a question with one new day after {days:,}", one_new, "tokens", MOST_TOKENS),
            figure(f"{days:,} days of {ENTRIES} entries consolidated by rules", took, "s"),
        ]
    return figures


def asked(workspace: Workspace) -> int:
    """Return how many tokens a model is given, whose answer nobody can use."""
    model = Measuring(workspace)
    with suppress(BadConsolidation):
        workspace.conversations.learning.consolidate(model, dry_run=True)
    return model.read[0]


def by_rules(workspace: Workspace) -> None:
    learning = workspace.conversations.learning
    while learning.consolidate(workspace.model("offline")).reason == "done":
        pass


def purging(folder: Path) -> list[Figure]:
    """A fact forgotten for good out of a workspace with some history."""
    root = make(folder / "purge")
    journal(root, 300)
    with opened(root) as workspace:
        for number in range(100):
            workspace.record(
                f"s{number % 10}",
                [{"role": "user", "content": said(number)}, {"role": "assistant", "content": "Noted."}],
            )
        kept = workspace.memory.add("The garage opens with a blue key.")
        workspace.search("garage")
        took = timed(partial(workspace.forgetting.forget, Choice(facts=(kept.written[0].id,)), purge=True))
    return [figure("a purge over 300 days, 10 sessions and an index", took, "s")]


if __name__ == "__main__":
    main()
