"""What the contract of an index is tried with."""

from carrel.index import Index, Query
from carrel.testing.shelves import Shelf


def paths(index: Index, text: str, **asked: object) -> list[str]:
    found = index.search(Query(text=text, **asked))  # type: ignore[arg-type]
    assert not found.degraded, found.findings
    return [hit.chunk.path for hit in found.hits]


def filled_shelf() -> Shelf:
    made = Shelf(
        {
            "USER.md": "# User\n- Prefers tea over coffee\n- Lives in Zürich",
            "docs/deploy.md": "# Deploy\n\nRun the pipeline, then promote the build.\n\n## Rollback\n\nRevert the tag.",
            "docs/models.md": "# Models\n\nThe default is gpt-4o; see src/lib/api.ts for ERR_TIMED_OUT.",
            "memory/2026-04-20.md": "- Shipped the billing migration\n- Ana reviewed it",
            "knowledge/paper.md": "---\ntags: [research, billing]\n---\nA study of billing and of memory.",
        }
    )
    made.places_of = {
        "USER.md": {"tier": "profile", "private": True},
        "memory/2026-04-20.md": {"tier": "journal", "private": True},
        "knowledge/paper.md": {"tier": "knowledge", "agent": "kate"},
    }
    made.say(
        "s1", "We moved the billing service to Frankfurt.", "Good. Who reviews the migration?", speaker="Ana"
    )
    made.say("s1", "I will review it on Thursday.", speaker="Ben", private=True)
    made.say("s2", "The picnic is on Sunday.", date="2026-05-01", speaker="Ana")
    return made
