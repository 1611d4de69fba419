"""Recall: what was found for the user's message, as the prompt takes it."""

from collections.abc import Callable, Collection

from msgspec import Struct

from carrel.context.assemble import Standing
from carrel.context.inputs import Recalled
from carrel.index import Found, Hit
from carrel.index.pack import pack
from carrel.workspace.scope import sets_up

MORE = 3
"""So many times more hits are asked for than are wanted: some are in the prompt already."""

ALIKE = 0.3
"""How near a text must be to the message where no word of it was found: something is always nearest."""


class Known(Struct, frozen=True, kw_only=True):
    """What the model reads anyway: whole files, parts of others, and the messages of its session."""

    paths: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    text: str = ""
    """What is sent, where a passage of the files in `parts` may stand."""
    session: str = ""
    messages: frozenset[str] = frozenset()


def known_from(
    now: Standing, session: str | None, messages: Collection[str], *, sent: Standing | None = None
) -> Known:
    """Return what a call has without recall; what was cut, or came after a freeze, is not in it.

    `now` is the call by what the files say, `sent` the one with what its session froze.
    """
    sent = now if sent is None else sent
    current = {(row.name, row.sha256) for row in now.rows}
    rows = [row for row in sent.rows if row.sha256]
    whole = (row.name for row in rows if row.state == "included" and (row.name, row.sha256) in current)
    return Known(
        paths=frozenset(whole),
        parts=frozenset(row.name for row in rows),
        text="\n".join(sent.texts),
        session=session or "",
        messages=frozenset(messages),
    )


def choose(
    found: Found, known: Known, count: Callable[[str], int], *, tokens: int, hits: int
) -> tuple[tuple[Recalled, ...], tuple[Recalled, ...]]:
    """Return what is to be recalled of what was found, best first, and what else was found."""
    wanted = [hit for hit in found.hits if _is_telling(hit) and not _is_known(hit, known)]
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


def _is_telling(hit: Hit) -> bool:
    """Tell whether a hit has to do with the message: by its words, or by much the same meaning.

    What sets an agent up is not what it remembers.
    """
    if sets_up(hit.chunk.path):
        return False
    placings = hit.fused.placings if hit.fused else ()
    return not placings or any(each.name != "vectors" or each.score >= ALIKE for each in placings)


def _is_known(hit: Hit, known: Known) -> bool:
    chunk = hit.chunk
    if chunk.tier == "session":
        return chunk.session == known.session and chunk.message_id in known.messages
    return chunk.path in known.paths or (chunk.path in known.parts and chunk.text in known.text)
