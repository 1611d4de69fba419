"""Memory by rules: what is new is added as it is written, and where there is no room the oldest goes."""

from collections.abc import Callable, Sequence

from carrel.memory.consolidate.pieces import Bullet, Material, Piece, size_of
from carrel.memory.sameness import form_of


def pick(material: Material, *, count: Callable[[str], int]) -> tuple[Bullet, ...]:
    """Return the statements, each once, the newest of them as far as there is room; in their own order."""
    kept = {form_of(text) for text in material.kept}
    same: dict[str, list[Piece]] = {}
    for piece in material.pieces:
        if piece.form not in kept:
            same.setdefault(piece.form, []).append(piece)
    bullets = [_bullet(pieces) for pieces in same.values()]
    newest = sorted(range(len(bullets)), key=lambda at: (bullets[at].day, at), reverse=True)
    chosen: set[int] = set()
    room = material.room
    topics: set[str] = set()
    for at in newest:
        bullet = bullets[at]
        more = size_of([bullet], count) if bullet.topic not in topics else count(f"{bullet.line}\n")
        if more <= room:
            chosen.add(at)
            topics.add(bullet.topic)
            room -= more
    return tuple(bullet for at, bullet in enumerate(bullets) if at in chosen)


def _bullet(pieces: Sequence[Piece]) -> Bullet:
    """Return a statement as it was first written; what stands in memory already is the first."""
    return Bullet(text=pieces[0].text, topic=pieces[0].topic, sources=tuple(pieces))
