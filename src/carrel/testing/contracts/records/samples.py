"""What the contract of Records is tried with: moments, texts that try everything, and rows of each kind."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from carrel.records import Records
from carrel.records.changes import Change, Splice
from carrel.records.dreams import Dream, Promotion
from carrel.records.facts import Fact
from carrel.records.proposals import Proposal
from carrel.records.queue import Job
from carrel.records.recalls import RecallEvent, Remembered
from carrel.records.usage import Spent

NOW = datetime(2026, 4, 24, 12, 0, 0, 123_456, tzinfo=UTC)


LEASE = timedelta(minutes=5)


LATER = NOW + LEASE


MUCH_LATER = NOW + timedelta(days=1)


HOSTILE = [
    "", " ", "a\0b", "\udcff not Unicode", "é 🐙 \u202e", "'; DROP TABLE jobs; --", "%_\\", "12", "\r\n"
]  # fmt: skip


def take(records: Records, *kinds: str, now: datetime = NOW, worker: str = "ann") -> Job | None:
    return records.queue.take(kinds or ("extract",), now=now, lease=LEASE, worker=worker)


def taken(records: Records, *kinds: str, now: datetime = NOW, worker: str = "ann") -> Job:
    job = take(records, *kinds, now=now, worker=worker)
    assert job is not None
    return job


def only(records: Records) -> Job:
    (job,) = records.queue.jobs()
    return job


def keep(
    records: Records,
    *,
    scope: str = "main",
    sent: str = "sent",
    frozen: str = "as it was",
    session: str = "s1",
) -> None:
    records.keep_assembly("kate", session, scope, assembly={"text": sent}, frozen={"1": frozen})


def end_it(records: Records, job: Job, how: str) -> None:
    match how:
        case "finish":
            records.queue.finish(job)
        case "retry":
            records.queue.fail(job, "no", retry_at=NOW)
        case "give up":
            records.queue.fail(job, "no", retry_at=None)
        case _:
            records.queue.extend(job, now=NOW, lease=LEASE)


def write_all(records: Records) -> None:
    records.keep_assembly("kate", "s1", "main", assembly={"text": "sent"}, frozen={})
    records.queue.put("extract", {}, key="k")
    records.usage.add(spent(), turn="t1")
    records.audit.note(at=NOW, actor="kate", action="write")
    records.recalls.add([recall()])
    records.facts.add([Fact(id="f", agent="kate", layer="project", kind="note", text="t", key="t", at=NOW)])
    records.facts.advance("kate", "s1", expect=0, to=7)
    change = records.changes.begin(
        Change(
            at=NOW,
            actor="kate",
            action="append",
            path="p",
            before=None,
            after="d",
            splice=Splice(0, b"", b"x"),
        )
    )
    records.changes.settle(change.id, "done")
    proposal = records.proposals.add(
        Proposal(key="k", at=NOW, agent="kate", actor="kate", action="add", why="w", reason="r", path="p")
    )
    records.proposals.decide(proposal.id, "approved", at=NOW, by="owner")


def written(records: Records) -> list[bool]:
    return [
        records.last_assembly("kate", "s1") is not None,
        bool(records.queue.jobs()),
        records.usage.last("kate", "s1") is not None,
        bool(records.audit.events()),
        bool(records.recalls.count("kate", NOW)),
        bool(records.facts.find()),
        records.facts.cursor("kate", "s1") == 7,
        bool(records.changes.list(state="done")),
        bool(records.proposals.list(["approved"])),
    ]


def write_and_fail(records: Records, write: Callable[[], object]) -> None:
    with records.transaction():
        write()
        raise KeyError


def spent(**changes: object) -> Spent:
    figures = {
        "agent": "kate",
        "session": "s1",
        "model": "m",
        "at": NOW,
        "input": 100,
        "cached": 80,
        "output": 7,
    }
    return Spent(**(figures | changes))  # pyright: ignore[reportArgumentType]


def recall(**changes: object) -> RecallEvent:
    event = {
        "agent": "kate", "session": "s1", "at": NOW, "query": "what does Ana use?", "path": "MEMORY.md",
        "line": 3, "tier": "profile", "rank": 1, "score": 0.5, "text": "Ana uses a Samsung.", "who": "prepare",
    }  # fmt: skip
    return RecallEvent(**(event | changes))  # pyright: ignore[reportArgumentType]


ODD = [0, -1, 7, 2**63, -(2**80)]


def fact(name: str = "f1", **changes: Any) -> Fact:
    first = {"agent": "kate", "layer": "project", "kind": "note", "text": "T", "key": "t", "at": NOW}
    return Fact(id=name, **(first | changes))


def change(**changes: Any) -> Change:
    first = {
        "at": NOW, "actor": "kate", "action": "append", "path": "memory/kate.md", "before": None, "after": "d1",
        "splice": Splice(0, b"", b"- Ana uses a Samsung.\n"),
    }  # fmt: skip
    return Change(**(first | changes))


def proposal(key: str = "k1", **changes: Any) -> Proposal:
    first = {
        "at": NOW, "agent": "kate", "actor": "extraction", "action": "append", "why": "external_source",
        "reason": "A page said so.", "path": "memory/kate.md", "new": "- Ana uses a Samsung.",
    }  # fmt: skip
    return Proposal(key=key, **(first | changes))


def ids(facts: list[Fact]) -> list[str]:
    return [each.id for each in facts]


def numbers(changes: list[Change]) -> list[int]:
    return [each.id for each in changes]


EVERYTHING = fact(
    layer="experience", kind="preference", session="s1", evidence=("m1", "m2"), trust="tool", subject="Ana",
    valid_from="2026-04", valid_until="2026-05", state="written", reason="said so", store="namespaces",
    path="agents/kate.md", section="Insights", line="- T", superseded_by="f2", replaces="f0", seen=3, pinned=True,
    change=12,
)  # fmt: skip


HOUR = timedelta(hours=1)


TIERS = ("journal", "profile", "session")


def promotion(key: str = "k1", **changes: Any) -> Promotion:
    first = {"text": "Ana uses a Samsung.", "score": 0.5, "hits": 3, "days": 2}
    return Promotion(key=key, **(first | changes))


def dream(*promotions: Promotion, **changes: Any) -> Dream:
    first = {"agent": "kate", "at": NOW, "path": "MEMORY.md", "diary": "DREAMS.md", "heading": "Dreamed"}
    return Dream(promotions=promotions, **(first | changes))


def turned(planned: Dream, now: Any, **changes: Any) -> Dream:
    promotions = tuple(replace(each, state=now) for each in planned.promotions)
    return replace(planned, promotions=promotions, **changes)


def recalled(**changes: Any) -> RecallEvent:
    event = {
        "agent": "kate", "session": "s1", "at": NOW, "query": "q", "path": "memory/kate.md", "line": 3,
        "tier": "profile", "rank": 1, "score": 0.5, "text": "- Ana uses a Samsung.", "who": "prepare",
    }  # fmt: skip
    return RecallEvent(**(event | changes))


def remembered(records: Records, **wanted: Any) -> list[Remembered]:
    return records.recalls.remembered("kate", **({"tiers": TIERS, "until": NOW} | wanted))


TEXT = 'Ana said "zanzibarquokka"\nand left.'


def put(records: Records, key: str, **payload: object):
    return records.queue.put("errand", payload, key=key)


def end(records: Records, result: object = None, *, error: str = "") -> None:
    job = records.queue.take(("errand",), now=NOW, lease=LEASE, worker="w")
    assert job is not None
    if error:
        records.queue.fail(job, error, retry_at=None)
    else:
        records.queue.finish(job, {"answer": result})
