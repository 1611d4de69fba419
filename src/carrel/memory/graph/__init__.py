"""The graph of what is known: entities, the links between them, and a walk from a question.

Links in the page of an entity are edges; links in other documents are mentions of what they name, which
needs no page. An edge fades with the time since it was last observed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct

from carrel.memory.graph.pages import MENTION_WEIGHT, Link, Page, days_between, tokens_of

HALF_LIFE = 90
"""Days after which an edge that was not observed again has half its weight; one without a day keeps it."""

LEAST_WEIGHT = 0.10
"""Edges below are not walked. They stay in their files."""

HOPS = 2
HOP = 0.5
"""What is left of a score after each hop, beside the weight of the edge."""

PAGE = 0.5
"""What the other lines of an entity's page are worth, beside its name."""

_WIDEST = 100  # entities from which a hop is taken, best first
_MOST_EDGES = 500  # of one entity that are walked, heaviest first
_MOST_LEADS = 200  # and entities, and mentions of one of them: the latest, where files are named by days
_READ = 20_000  # characters of a query that are looked at
_MOST_TOKENS = 16  # of a name
_Lines = tuple[str, int, int]


class Edge(Struct, frozen=True, kw_only=True, gc=False):
    """A link between two entities, by their numbers, and the line that tells of it."""

    source: int
    target: int
    relation: str
    weight: float
    day: str
    path: str
    line: int


class Entity(Struct, frozen=True, kw_only=True):
    """One thing that is known, by its first name; it has a page, or is only linked to."""

    name: str
    page: Page | None = None
    edges: tuple[Edge, ...] = ()
    mentions: tuple[tuple[str, int], ...] = ()


class Graph(Struct, frozen=True, kw_only=True):
    """All entities; `names` gives the numbers of those that a row of tokens names, by the first of them."""

    entities: tuple[Entity, ...] = ()
    names: Mapping[str, Mapping[tuple[str, ...], tuple[int, ...]]] = {}


class Reached(Struct, frozen=True, kw_only=True, gc=False):
    """An entity that the walk came to, after how many hops, and over which entity."""

    name: str
    score: float
    hops: int
    via: str = ""


class Lead(Struct, frozen=True, kw_only=True, gc=False):
    """Some lines of a document, and how much they have to do with the question, from 0 to 1."""

    path: str
    line: int
    end_line: int
    score: float
    entity: str


class Walk(Struct, frozen=True, kw_only=True):
    """Where a question led, best first: the entities, and the places where they are told of.

    Places may overlap: a page, and a line in it that is worth more.
    """

    entities: tuple[Reached, ...] = ()
    leads: tuple[Lead, ...] = ()


def build(pages: Iterable[Page]) -> Graph:
    """Return the graph of all pages; the order in which they are given does not matter."""
    building = _Building()
    ordered = sorted(pages, key=lambda page: page.path)
    owners = [building.own(page) if page.names else None for page in ordered]
    for page, owner in zip(ordered, owners, strict=True):
        for link in page.links:
            building.link(page, owner, link)
    return building.graph()


def walk(graph: Graph, query: str, now: date) -> Walk:
    """Return what the entities named in a query lead to, over at most two hops."""
    today = date(now.year, now.month, now.day)
    reached = _reached(graph, named(graph, query), today)
    ranked = sorted(reached.items(), key=lambda item: (-item[1].score, item[1].name, item[0]))
    del ranked[_MOST_LEADS:]
    return Walk(entities=tuple(each for _, each in ranked), leads=_leads(graph, ranked, today))


def named(graph: Graph, query: str) -> tuple[int, ...]:
    """Return the entities that a query names, in its order: whole words, the longest name first."""
    tokens = tokens_of(query[:_READ])
    found: dict[int, None] = {}
    at = 0
    while at < len(tokens):
        length, numbers = _longest(graph.names.get(tokens[at], {}), tokens, at)
        found.update(dict.fromkeys(numbers))
        at += length
    return tuple(found)


def _longest(
    names: Mapping[tuple[str, ...], tuple[int, ...]], tokens: Sequence[str], at: int
) -> tuple[int, tuple[int, ...]]:
    if names:
        for length in range(min(_MOST_TOKENS, len(tokens) - at), 0, -1):
            numbers = names.get(tuple(tokens[at : at + length]))
            if numbers:
                return length, numbers
    return 1, ()


class _Building:
    """A graph in the making: entities by the tokens of their names."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, ...], dict[int, None]] = {}
        self._first: list[str] = []
        self._pages: list[Page | None] = []
        self._edges: list[list[Edge]] = []
        self._mentions: list[dict[tuple[str, int], None]] = []

    def own(self, page: Page) -> int:
        """Add the entity that a page is of."""
        number = self._add(page.names[0], page)
        for name in page.names:
            self._name(name, number)
        return number

    def link(self, page: Page, owner: int | None, link: Link) -> None:
        """Add a link of a page, to every entity of that name."""
        for target in self._targets(link.target):
            if owner is None:
                self._mentions[target].setdefault((page.path, link.line))
            elif target != owner:
                edge = Edge(
                    source=owner,
                    target=target,
                    relation=link.relation,
                    weight=link.weight,
                    day=link.day,
                    path=page.path,
                    line=link.line,
                )
                self._edges[owner].append(edge)
                self._edges[target].append(edge)

    def graph(self) -> Graph:
        """Return what was built."""
        names: dict[str, dict[tuple[str, ...], tuple[int, ...]]] = {}
        for tokens, numbers in self._names.items():
            if len("".join(tokens)) > 1:  # a single character is a part of too much
                names.setdefault(tokens[0], {})[tokens] = tuple(numbers)
        parts = zip(self._first, self._pages, self._edges, self._mentions, strict=True)
        return Graph(
            entities=tuple(
                Entity(name=name, page=page, edges=_heaviest(edges), mentions=tuple(mentions)[-_MOST_LEADS:])
                for name, page, edges, mentions in parts
            ),
            names=names,
        )

    def _targets(self, name: str) -> Iterable[int]:
        tokens = tuple(tokens_of(name)[:_MOST_TOKENS])
        if tokens and tokens not in self._names:
            self._name(name, self._add(name, None))
        return tuple(self._names.get(tokens, ()))

    def _add(self, name: str, page: Page | None) -> int:
        self._first.append(name)
        self._pages.append(page)
        self._edges.append([])
        self._mentions.append({})
        return len(self._first) - 1

    def _name(self, name: str, number: int) -> None:
        tokens = tuple(tokens_of(name)[:_MOST_TOKENS])
        if tokens:
            self._names.setdefault(tokens, {})[number] = None


def _heaviest(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Return the edges that may be walked: by weight, then those observed last."""
    latest = sorted(edges, key=lambda edge: edge.day, reverse=True)
    return tuple(sorted(latest, key=lambda edge: -edge.weight)[:_MOST_EDGES])


def _weight(edge: Edge, today: date) -> float:
    """Return what an edge is worth today, 0 where that is too little to walk."""
    days = days_between(edge.day, today) or 0
    weight = edge.weight * 0.5 ** (max(days, 0) / HALF_LIFE)
    return weight if weight >= LEAST_WEIGHT else 0.0


def _reached(graph: Graph, seeds: Iterable[int], today: date) -> dict[int, Reached]:
    """Return the best way to each entity. Who is reached keeps the fewest hops, so a cycle ends by itself."""
    reached = {seed: Reached(name=graph.entities[seed].name, score=1.0, hops=0) for seed in seeds}
    frontier = list(reached)[:_WIDEST]
    for hops in range(1, HOPS + 1):
        found: dict[int, Reached] = {}
        for number in frontier:
            origin = reached[number]
            for other, weight in _neighbours(graph, number, today):
                score = origin.score * weight * HOP
                if other not in reached and (other not in found or score > found[other].score):
                    name = graph.entities[other].name
                    found[other] = Reached(name=name, score=score, hops=hops, via=origin.name)
        reached.update(found)
        frontier = sorted(found, key=lambda number: (-found[number].score, found[number].name, number))
        del frontier[_WIDEST:]
    return reached


def _neighbours(graph: Graph, number: int, today: date) -> Iterator[tuple[int, float]]:
    for edge in graph.entities[number].edges:
        weight = _weight(edge, today)
        if weight:
            yield edge.target if edge.source == number else edge.source, weight


def _leads(graph: Graph, ranked: Iterable[tuple[int, Reached]], today: date) -> tuple[Lead, ...]:
    """Return where what was reached is told of; of places with the same lines, the best."""
    reached = dict(ranked)
    best: dict[_Lines, tuple[float, str]] = {}
    for number, each in reached.items():
        for lines, score in _told(graph.entities[number], number, reached, today):
            if lines not in best or score > best[lines][0]:
                best[lines] = (score, each.name)
    places = sorted((-score, *lines, name) for lines, (score, name) in best.items())
    return tuple(
        Lead(path=path, line=line, end_line=end_line, score=-score, entity=name)
        for score, path, line, end_line, name in places[:_MOST_LEADS]
    )


def _told(
    entity: Entity, number: int, reached: Mapping[int, Reached], today: date
) -> Iterator[tuple[_Lines, float]]:
    own = reached[number].score
    if entity.page:
        page = entity.page
        yield (page.path, page.line, page.line), own
        yield (page.path, 1, page.end_line), own * PAGE
    for edge in entity.edges:
        other = reached.get(edge.target if edge.source == number else edge.source)
        if other and (weight := _weight(edge, today)):
            yield (edge.path, edge.line, edge.line), (own + other.score) / 2 * weight
    for path, line in entity.mentions:
        yield (path, line, line), own * MENTION_WEIGHT
