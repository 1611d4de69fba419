"""Recall: what was found for the user's message, as the prompt takes it."""

from collections.abc import Callable, Collection

from msgspec import Struct

from carrel.context.assemble import Assembly
from carrel.context.inputs import Recalled
from carrel.index import Found, Hit
from carrel.index.pack import pack

MORE = 3
"""So many times more hits are asked for than are wanted: some are in the prompt already."""


class Known(Struct, frozen=True, kw_only=True):
    """What the model reads anyway: whole files, and the messages of its session."""

    paths: frozenset[str] = frozenset()
    session: str = ""
    messages: frozenset[str] = frozenset()


def known_from(assembly: Assembly, session: str | None, messages: Collection[str]) -> Known:
    """Return what a call has without recall; a file that was cut may be found by the rest of it."""
    whole = frozenset(row.name for row in assembly.report.sections if row.state == "included" and row.sha256)
    return Known(paths=whole, session=session or "", messages=frozenset(messages))


def choose(
    found: Found, known: Known, count: Callable[[str], int], *, tokens: int, hits: int
) -> tuple[tuple[Recalled, ...], tuple[Recalled, ...]]:
    """Return what is to be recalled of what was found, best first, and what else was found."""
    wanted = [hit for hit in found.hits if not _is_known(hit, known)]
    packed = pack(wanted, count, budget=tokens, limit=hits)
    kept = tuple(
        Recalled(
            path=passage.path,
            line=passage.line,
            text=passage.text,
            date=passage.date or None,
            tier=passage.tier,
            score=passage.score,
        )
        for passage in packed.passages
    )
    return kept, tuple(_recalled(wanted[each.rank - 1]) for each in packed.left_out)


def _recalled(hit: Hit) -> Recalled:
    chunk = hit.chunk
    return Recalled(
        path=chunk.path,
        line=chunk.line,
        text=chunk.text,
        date=chunk.date or None,
        tier=chunk.tier,
        score=hit.score,
    )


def _is_known(hit: Hit, known: Known) -> bool:
    chunk = hit.chunk
    if chunk.tier == "session":
        return chunk.session == known.session and chunk.message_id in known.messages
    return chunk.path in known.paths
