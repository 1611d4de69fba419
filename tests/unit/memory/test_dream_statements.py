"""What a text states, and what is written of it: exactly the lines that people know from their MEMORY.md."""

from datetime import UTC, datetime
from typing import Any

import pytest

from carrel.memory.dream.statements import statements
from carrel.memory.dream.writing import bullet_of, heading_of, with_entry, with_promotions
from carrel.records.dreams import Dream, Promotion

NOW = datetime(2026, 4, 23, 3, 0, 59, tzinfo=UTC)
MEMORY = """## People

- Luis prefers Spanish but is fine switching to English.
- Ana uses a Samsung, not an iPhone.
"""
DREAMED = """
## Dreamed 2026-04-23 03:00 UTC

- User's timezone is America/Bogota _(score=0.42, hits=5, days=3)_
- Prefers short replies on WhatsApp _(score=0.38, hits=4, days=2)_
"""


def promotion(text: str, score: float = 0.42, hits: int = 5, days: int = 3, **changes: Any) -> Promotion:
    return Promotion(key=text.casefold(), text=text, score=score, hits=hits, days=days, **changes)


PROMOTIONS = (
    promotion("User's timezone is America/Bogota"),
    promotion("Prefers short replies on WhatsApp", 0.38, 4, 2),
)


def dream(*promotions: Promotion, **changes: Any) -> Dream:
    first = {"agent": "kate", "at": NOW, "path": "MEMORY.md", "diary": "DREAMS.md", "id": 3}
    return Dream(promotions=promotions, heading=heading_of(NOW), **(first | changes))


def said(text: str, *, in_journal: bool = False) -> list[str]:
    return [each.text for each in statements(text, in_journal=in_journal)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- Ana uses a Samsung.", ["Ana uses a Samsung."]),
        ("## People\n\n- Ana uses a Samsung.\n* Luis is tall.\n1. First.", ["Ana uses a Samsung.", "Luis is tall.", "First."]),
        ("- Ana uses\n  a Samsung,\nnot an iPhone.\n\nNext.", ["Ana uses a Samsung, not an iPhone.", "Next."]),
        ("- Parent\n  - Child\n    - Grandchild", ["Parent", "Child", "Grandchild"]),
        ("Met Ana.\nShe moved.\n\nLater.", ["Met Ana. She moved.", "Later."]),
        ("---\nscope: private\n---\n- One.", ["One."]),
        ("- One.\r\n- Two.\r\n", ["One.", "Two."]),
        ("```\n- not this\n```\n- this\n~~~\nnor this\n~~~", ["this"]),
        ("```\n- a fence that nobody closed", ["a fence that nobody closed"]),
        ("| a | b |\n|---|---|\n\n> quoted\n\n    code\n\n<div>", []),
        ("# Heading\n\n---\n\n***\n\n- \n-\n\n!!!", []),
        ("- ~~Ana uses a Nokia.~~ _(until 2026-04-01; now: Ana uses a Samsung.)_", []),
        ("", []),
        ("\ufeff- One.", ["One."]),
        ("- a\0b\u202e c \ud800", ["a b c ?"]),
    ],
)  # fmt: skip
def test_bullets_and_paragraphs_are_statements(text: str, found: list[str]) -> None:
    assert said(text) == found


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            "- 14:05 [decision] Chose JWT for authentication. _(session s1, m12)_",
            "Chose JWT for authentication.",
        ),
        ("- [note] met Ana", "met Ana"),
        ("- 9:30 met Ana", "met Ana"),
        ("- met Ana _(session s1)_", "met Ana"),
        ("- 3 boats are in the harbour", "3 boats are in the harbour"),
        ("Met Ana.", "Met Ana."),
    ],
)
def test_an_entry_of_a_journal_states_what_it_says(entry: str, text: str) -> None:
    assert said(entry, in_journal=True) == [text]


def test_what_was_dreamt_is_recognised() -> None:
    assert [(each.text, each.is_dreamt) for each in statements(MEMORY + DREAMED)] == [
        ("Luis prefers Spanish but is fine switching to English.", False),
        ("Ana uses a Samsung, not an iPhone.", False),
        ("User's timezone is America/Bogota", True),
        ("Prefers short replies on WhatsApp", True),
    ]


def test_promotions_stand_at_the_end_as_the_seed_has_them() -> None:
    assert with_promotions(MEMORY, dream(*PROMOTIONS)) == MEMORY + DREAMED


@pytest.mark.parametrize("text", [None, ""])
def test_a_notebook_that_is_not_there_begins_with_what_was_dreamt(text: str | None) -> None:
    assert with_promotions(text, dream(*PROMOTIONS)) == DREAMED[1:]


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("- One.", "\n\n"),
        ("- One.\n", "\n"),
        ("- One.\n\n", ""),
        ("- One.\n\n\n", ""),
        ("# One\r\n", "\r\n"),
        ("# One", "\n\n"),
        ("- One.\r\n- Two.", "\r\n\r\n"),
        ("---\ntitle: x\n---\n", "\n"),
    ],
)
def test_not_a_byte_before_a_promotion_changes(text: str, gap: str) -> None:
    block = DREAMED[1:].replace("\n", "\r\n") if "\r\n" in text else DREAMED[1:]
    assert with_promotions(text, dream(*PROMOTIONS)) == text + gap + block


def test_what_stands_there_already_is_not_written_again() -> None:
    run = dream(*PROMOTIONS)
    once = with_promotions(MEMORY, run)
    assert with_promotions(once, run) is None
    half = f"{MEMORY}\n- prefers SHORT replies on WhatsApp!\n"
    assert (
        with_promotions(half, run)
        == f"{half}\n## Dreamed 2026-04-23 03:00 UTC\n\n{bullet_of(PROMOTIONS[0])}\n"
    )


def test_what_was_dropped_is_not_written() -> None:
    dropped = promotion("Gone", state="dropped")
    assert with_promotions(MEMORY, dream(dropped)) is None
    assert "Gone" not in str(with_promotions(MEMORY, dream(dropped, *PROMOTIONS)))
    assert "Gone" not in str(with_entry(None, dream(dropped, *PROMOTIONS)))


def test_the_diary_tells_of_each_run_once() -> None:
    run = dream(*PROMOTIONS, counts={"candidates": 7, "known": 2, "blocked": 1})
    first = with_entry(None, run)
    assert first == (
        "# Dream diary\n\n## 2026-04-23 03:00 UTC, run 3\n\n- Candidates: 7\n- Promoted: 2\n"
        "- Known already: 2, blocked: 1\n\n### Promoted to MEMORY.md\n\n"
        "- User's timezone is America/Bogota _(score=0.42, hits=5, days=3)_\n"
        "- Prefers short replies on WhatsApp _(score=0.38, hits=4, days=2)_\n"
    )
    assert with_entry(first, run) is None
    second = with_entry(first, dream(id=4, reason="Nothing was recalled yet."))
    assert second == (
        f"{first}\n## 2026-04-23 03:00 UTC, run 4\n\n- Candidates: 0\n- Promoted: 0\n"
        "- Known already: 0, blocked: 0\n- Why nothing was promoted: Nothing was recalled yet.\n"
    )
