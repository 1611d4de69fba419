"""Files to index to hits: the Index port, what is asked of it and what it answers.

The index is derived from the files and can be deleted at any time. It never fails a caller over its own
state: what is damaged is set aside, what cannot be kept is held in memory, and an answer says `degraded`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from carrel.findings import Finding
from carrel.index.chunk import TIERS, Chunk
from carrel.index.fuse import Fused
from carrel.index.source import Lack, Place, Source, Text, Turn

__all__ = [
    "MODES",
    "TIERS",
    "Chunk",
    "Filter",
    "Found",
    "Hit",
    "Index",
    "Lack",
    "Mode",
    "Place",
    "Pointer",
    "Pointers",
    "Progress",
    "Query",
    "Source",
    "Status",
    "Stop",
    "SyncReport",
    "Text",
    "Turn",
    "Unsearched",
]

Mode = Literal["hybrid", "lexical", "vector", "literal", "regex"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "vector", "literal", "regex")

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""

Stop = Callable[[], bool]
"""Is asked before each batch of vectors whether the rest of them is to be left for later."""


class Filter(Struct, frozen=True, kw_only=True):
    """What a hit must be like; an empty field asks for nothing, several values for one of them.

    `shared` leaves out what is private. Paths are files or folders; sections are headings, whatever their
    case and accents; dates are inclusive, and who asks for them asks for what has one. What is of the paths
    in `without` is left out, whatever else is asked for.
    """

    shared: bool = False
    tiers: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    without: tuple[str, ...] = ()


class Query(Struct, frozen=True, kw_only=True):
    """A question: any text at all, how it is to be looked for, and in what.

    `least` is a score from 0 to 1 below which nothing is wanted. `boosts` are weights by tier, and `by_ranks`
    fuses lists by rank instead of score. `today` makes newer hits count a little more, and `diverse` those
    unlike the ones above. `case` and `lines` are for the modes literal and regex. Facets cost time with every
    match and are counted only when asked for; the `ranges` of hits are found for all but those who show none.
    """

    text: str
    mode: Mode = "hybrid"
    limit: int = 10
    within: Filter = Filter()
    least: float = 0.0
    boosts: Mapping[str, float] = {}
    by_ranks: bool = False
    today: str = ""
    diverse: bool = False
    case: bool = False
    lines: int = 0
    facets: bool = False
    ranges: bool = True


class Pointer(Struct, frozen=True):
    """Some lines of a document that others think answer a question, and how well; more is better."""

    path: str
    line: int
    end_line: int
    score: float


class Pointers(Struct, frozen=True, kw_only=True):
    """A list that takes part in an answer beside those of the index: the graph walk's, for instance."""

    name: str
    hits: tuple[Pointer, ...]
    weight: float = 1.0


class Hit(Struct, frozen=True, kw_only=True):
    """A chunk that was found: its score from 0 to 1, and in `fused` what each list said of it.

    `ranges` are character offsets in the chunk's text. A score says how hits compare, not how sure one is.
    """

    id: int
    chunk: Chunk
    score: float
    ranges: tuple[tuple[int, int], ...] = ()
    fused: Fused | None = None


class Found(Struct, frozen=True, kw_only=True):
    """The hits, best first; `degraded` when a part of the index could not answer, and `findings` say why."""

    hits: tuple[Hit, ...] = ()
    facets: Mapping[str, Mapping[str, int]] = {}
    degraded: bool = False
    findings: tuple[Finding, ...] = ()


class Unsearched(Struct, frozen=True):
    """Files that are there and cannot be searched: how many, and the first of their paths."""

    count: int
    paths: tuple[str, ...]


class SyncReport(Struct, frozen=True, kw_only=True):
    """What a sync did: places that were new or changed, that were gone, and chunks written anew.

    What could not be read is `unread`, and is found as it was before. So many chunks as are `waiting` have no
    vector yet. What cannot be searched is told of by reason, whether it is new or not.
    """

    changed: int = 0
    gone: int = 0
    chunks: int = 0
    unread: tuple[str, ...] = ()
    waiting: int = 0
    unsearched: Mapping[str, Unsearched] = {}
    findings: tuple[Finding, ...] = ()


class Status(Struct, frozen=True, kw_only=True):
    """How the index is: what it holds, what waits to be written, and what is wrong."""

    places: int = 0
    chunks: int = 0
    vectors: int = 0
    waiting: int = 0
    embedder: str = ""
    location: str = ""
    unsearched: Mapping[str, Unsearched] = {}
    degraded: bool = False
    findings: tuple[Finding, ...] = ()


class Index(Protocol):
    """Five verbs over what can be searched."""

    def sync(
        self,
        source: Source,
        *,
        only: Collection[str] | None = None,
        progress: Progress | None = None,
        stop: Stop | None = None,
    ) -> SyncReport:
        """Make the index match its source, of which only what changed is read; `only` looks at some paths.

        Words are found when this returns. Vectors take longer, and `stop` may leave some of them for later.
        """
        ...

    def search(self, query: Query, also: Sequence[Pointers] = ()) -> Found:
        """Answer a question from what is indexed, and from lists of what others found."""
        ...

    def status(self) -> Status:
        """Return how the index is."""
        ...

    def rebuild(self, source: Source, *, progress: Progress | None = None) -> SyncReport:
        """Forget everything and index it anew."""
        ...

    def close(self) -> None:
        """Let go of its files."""
        ...
