"""Hits as every surface shows them: the shape of the machine-readable contract."""

from collections.abc import Iterator, Sequence
from typing import Any

from carrel.index import Found, Hit
from carrel.index.explain import explain


def found_to_json(found: Found) -> dict[str, Any]:
    """Return what a search gave."""
    return {
        "hits": [hit_to_json(hit) for hit in found.hits],
        "facets": {name: dict(counts) for name, counts in found.facets.items()},
        "degraded": found.degraded,
    }


def hit_to_json(hit: Hit) -> dict[str, Any]:
    """Return one hit; one that was said in a session names it and the message."""
    chunk = hit.chunk
    told: dict[str, Any] = {
        "path": chunk.path,
        "line": chunk.line,
        "end_line": chunk.end_line,
        "tier": chunk.tier,
        "agent": chunk.agent or None,
        "section": " > ".join(chunk.headings) or None,
        "date": chunk.date or None,
        "text": chunk.text,
        "ranges": [list(found) for found in hit.ranges],
        "scores": scores_of(hit),
    }
    if chunk.session:
        told |= {"session": chunk.session, "message_id": chunk.message_id or None}
    if chunk.speaker:
        told["speaker"] = chunk.speaker
    return told


def scores_of(hit: Hit) -> dict[str, float]:
    """Return the score from 0 to 1, and what each list said: its own score, and the rank there."""
    scores = {"score": round(hit.score, 6)}
    for placing in hit.fused.placings if hit.fused else ():
        scores[placing.name] = round(placing.score, 6)
        scores[f"{placing.name}_rank"] = placing.rank
    return scores


def reasons_of(found: Found) -> list[list[str]]:
    """Say of each hit why it is where it is, in sentences."""
    return [list(_why(found, rank, hit)) for rank, hit in enumerate(found.hits, 1)]


def _why(found: Found, rank: int, hit: Hit) -> Sequence[str]:
    if hit.fused is None:
        return ("It has the text as it was typed.",) if hit.score == 1 else ("Why is the owner's to know.",)
    names = {each.id: f"{each.chunk.path}:{each.chunk.line}" for each in found.hits}
    words = {"text": tuple(dict.fromkeys(_words(hit)))} if hit.ranges else {}
    return explain(hit.fused, rank, matched=words, where=lambda own: names.get(own, "another hit"))


def _words(hit: Hit) -> Iterator[str]:
    for start, end in hit.ranges:
        yield hit.chunk.text[start:end].casefold()
