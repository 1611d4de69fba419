"""Whether a filter lets a chunk through, and how headings are compared."""

from carrel.index import Filter
from carrel.index.analysis import fold
from carrel.index.chunk import Chunk

LAST_DAY = "9999-12-31"


def plain(heading: str) -> str:
    """Return a heading as it is compared."""
    return " ".join(fold(heading).casefold().split())


def passes(chunk: Chunk, within: Filter) -> bool:
    """Tell whether a filter lets a chunk through."""
    if (within.shared and chunk.private) or chunk.path in within.without:
        return False
    wanted = (
        (within.tiers, (chunk.tier,)),
        (within.agents, (chunk.agent,)),
        (within.sessions, (chunk.session,)),
        (within.tags, chunk.tags),
        ([plain(each) for each in within.sections], [plain(each) for each in chunk.headings]),
    )
    if any(asked and not set(asked).intersection(own) for asked, own in wanted):
        return False
    return _is_under(chunk.path, within) and _is_between(chunk.date, within)


def _is_under(path: str, within: Filter) -> bool:
    folders = [each.rstrip("/") for each in within.paths]
    return not folders or any(path == each or path.startswith(f"{each}/") for each in folders)


def _is_between(day: str, within: Filter) -> bool:
    if not (within.since or within.until):
        return True
    return bool(day) and within.since <= day <= (within.until or LAST_DAY)
