"""A filter as a condition on chunks `c` and their places `p`."""

from collections.abc import Iterable, Sequence

from carrel.index import Filter
from carrel.index.cells import blob_of
from carrel.index.chunk import Chunk
from carrel.index.postgres.desk import blob
from carrel.index.within import LAST_DAY, plain

_MARK = b"\0"


def condition(within: Filter) -> tuple[str, list[object]]:
    """Return what must hold of a chunk, and the values in it."""
    conditions = ["true"]
    values: list[object] = []
    for column, wanted in (
        ("p.tier", within.tiers),
        ("p.agent", within.agents),
        ("p.session", within.sessions),
    ):
        if wanted:
            conditions.append(f"{column} = ANY(%s::bytea[])")
            values.append([blob(each) for each in wanted])
    if within.without:
        conditions.append("p.path <> ALL(%s::bytea[])")
        values.append([blob_of(each) for each in within.without])
    if within.paths:
        conditions.append(_any("p.path = %s OR (p.path >= %s AND p.path < %s)", len(within.paths)))
        for path in within.paths:
            own = blob_of(path.rstrip("/"))
            values += [own, own + b"/", own + b"0"]  # 0 comes after the slash
    for wanted in (_tags(within.tags), _sections(within.sections)):
        if wanted:
            conditions.append(_any("position(%s::bytea IN c.labels) > 0", len(wanted)))
            values += wanted
    if within.shared:
        conditions.append("NOT c.private")
    if within.since or within.until:
        conditions.append("c.date <> '' AND c.date >= %s AND c.date <= %s")
        values += [blob(within.since), blob(within.until or LAST_DAY)]
    return " AND ".join(conditions), values


def labels(chunk: Chunk) -> bytes:
    """Return the tags and headings of a chunk so that each can be found whole."""
    return b"".join((*_tags(chunk.tags), *_sections(chunk.headings)))


def _any(condition: str, count: int) -> str:
    return f"({' OR '.join([condition] * count)})"


def _tags(tags: Iterable[str]) -> Sequence[bytes]:
    return [_label("t", tag) for tag in tags]


def _sections(headings: Iterable[str]) -> Sequence[bytes]:
    return [_label("s", plain(each)) for each in headings]


def _label(kind: str, value: str) -> bytes:
    return b"".join((_MARK, kind.encode(), blob(value).replace(_MARK, b"\x01"), _MARK))
