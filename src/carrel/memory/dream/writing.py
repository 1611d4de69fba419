"""What a run writes, as text: its promotions at the end of MEMORY.md, and its entry in the diary.

Pure, and done twice it does nothing more: what stands there already is not written again.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from carrel.memory.dream.statements import statements
from carrel.memory.sameness import form_of
from carrel.records.dreams import Dream, Promotion

TITLE = "# Dream diary"


def heading_of(at: datetime) -> str:
    """Return what the promotions of a run stand below: `Dreamed 2026-04-23 03:00 UTC`."""
    return f"Dreamed {_minute(at)}"


def bullet_of(promotion: Promotion) -> str:
    """Return the line that a promotion becomes."""
    said = f"score={promotion.score:.2f}, hits={promotion.hits}, days={promotion.days}"
    return f"- {promotion.text} _({said})_"


def with_promotions(text: str | None, dream: Dream) -> str | None:
    """Return a notebook with what a run promotes at its end; none where all of it stands there already."""
    known = {form_of(each.text) for each in statements(text or "")}
    new = [each for each in dream.promotions if each.state == "planned" and form_of(each.text) not in known]
    return _with_block(text, [f"## {dream.heading}", "", *map(bullet_of, new)]) if new else None


def with_entry(text: str | None, dream: Dream) -> str | None:
    """Return a diary with the entry of a run; none where it has it already."""
    heading = f"## {_minute(dream.at)}, run {dream.id}"
    if text is not None and heading in text.splitlines():
        return None
    entry = [heading, "", *_told(dream)]
    return _with_block(text, entry if text and text.strip() else [TITLE, "", *entry])


def _told(dream: Dream) -> Iterable[str]:
    """Yield what happened; what was blocked is counted, since this file too is read by models."""
    counts = dream.counts
    done = [each for each in dream.promotions if each.state in ("planned", "promoted")]
    yield f"- Candidates: {counts.get('candidates', 0):,}"
    yield f"- Promoted: {len(done):,}"
    yield f"- Known already: {counts.get('known', 0):,}, blocked: {counts.get('blocked', 0):,}"
    if dream.reason and not done:
        yield f"- Why nothing was promoted: {dream.reason}"
    if done:
        yield ""
        yield f"### Promoted to {dream.path}"
        yield ""
        yield from map(bullet_of, done)


def _with_block(text: str | None, lines: Iterable[str]) -> str:
    """Return a text with lines at its end, after one that is empty; not a byte before them changes."""
    own = text or ""
    end = "\r\n" if "\r\n" in own else "\n"
    gap = "" if not own.strip("\ufeff") else (end if own.endswith("\n") else end * 2)
    if own.endswith((f"{end}{end}", "\n\n")):
        gap = ""
    return f"{own}{gap}{end.join(lines)}{end}"


def _minute(at: datetime) -> str:
    return f"{at.astimezone(UTC).isoformat(' ', 'minutes')[:16]} UTC"
