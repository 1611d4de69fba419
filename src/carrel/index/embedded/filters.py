"""A filter as a condition on the catalog, for what has no words: vectors, and texts as they stand."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from carrel.index import Filter
from carrel.index.catalog import Passage, Stored
from carrel.index.cells import blob_of, clean
from carrel.index.embedded.catalog import Catalog
from carrel.index.within import LAST_DAY, passes


def select(catalog: Catalog, within: Filter) -> Iterator[Stored]:
    """Yield the chunks that a filter lets through, by path and in their order."""
    condition, values = _condition(within)
    return (each for each in catalog.matching(condition, values) if passes(each.chunk, within))


def select_places(catalog: Catalog, within: Filter) -> Sequence[tuple[int, bool]]:
    """Return the places that a filter lets through, in the order of paths, and whether each is a session."""
    return catalog.places_with(*_on_places(within))


def read_place(catalog: Catalog, place: int, within: Filter) -> Sequence[Passage]:
    """Return what a filter lets through of such a place, in its order."""
    found = catalog.passages(place, *_on_chunks(within))
    if not (within.sections or within.tags):
        return found
    stored = catalog.chunks([own for own, *_ in found])
    return [each for each in found if each[0] in stored and passes(stored[each[0]].chunk, within)]


def select_ids(catalog: Catalog, within: Filter) -> Sequence[int] | None:
    """Return the ids of the chunks that a filter lets through, None where it lets all.

    An agent's own places are often all there are: then nobody has to look at every chunk.
    """
    if within.sections or within.tags:
        return array("q", (each.id for each in select(catalog, within)))
    is_of_places = not (within.shared or within.since or within.until)
    if is_of_places and not catalog.has_place_beside(*_on_places(within)):
        return None
    return array("q", catalog.ids(*_condition(within)))


def _condition(within: Filter) -> tuple[str, list[Any]]:
    (places, of_places), (chunks, of_chunks) = _on_places(within), _on_chunks(within)
    return f"{places} AND {chunks}", [*of_places, *of_chunks]


def _on_places(within: Filter) -> tuple[str, list[Any]]:
    conditions = ["1"]
    values: list[Any] = []
    for column, wanted in (
        ("p.tier", within.tiers),
        ("p.agent", within.agents),
        ("p.session", within.sessions),
    ):
        if wanted:
            conditions.append(f"{column} IN ({','.join('?' * len(wanted))})")
            values += [clean(each) for each in wanted]
    if within.paths:
        conditions.append(f"({' OR '.join(['p.path = ? OR substr(p.path, 1, ?) = ?'] * len(within.paths))})")
        for path in within.paths:
            own = blob_of(path.rstrip("/"))
            values += [own, len(own) + 1, own + b"/"]
    if within.without:
        conditions.append(f"p.path NOT IN ({','.join('?' * len(within.without))})")
        values += map(blob_of, within.without)
    return " AND ".join(conditions), values


def _on_chunks(within: Filter) -> tuple[str, list[Any]]:
    conditions = ["c.private = 0"] if within.shared else ["1"]
    values: list[Any] = []
    if within.since or within.until:
        conditions.append("c.date != '' AND c.date >= ? AND c.date <= ?")
        values += [clean(within.since), clean(within.until) or LAST_DAY]
    return " AND ".join(conditions), values
