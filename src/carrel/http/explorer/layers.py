"""An agent's memory as a page shows it: its two layers, the files of each, their sections, their lines."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.http.explorer.evidence import Spoken, spoken
from carrel.http.explorer.markup import rendered
from carrel.markdown.sections import Part, addresses_of, sections
from carrel.markdown.sections.parts import root_of
from carrel.memory.places import LEARNED, USER, notebook_of
from carrel.memory.written import Bullet, bullets
from carrel.records.facts import Fact, Layer, Store
from carrel.runtime.library import place_of
from carrel.workspace.document import Document

ROWS = 12
"""Lines of one section that the page of all shows; the section's own page has more."""

MOST_ROWS = 50
MOST_CARDS = 12
_LEAST_ROWS = 3
_ROOM = 60
MOST_FACTS = 2_000
_MOST_RECALLS = 2_000
_MOST_SPOKEN = 40
_PROSE = 4_000
_TIERS = ("profile", "journal")
_LEAST_WORD = 8

Recalls = Mapping[str, Sequence[tuple[str, int]]]
"""What was recalled of each file: the passages, and how often."""


class Line(Struct, frozen=True, kw_only=True):
    """One remembered line: what it says, the fact that it is if one accounts for it, and its recalls."""

    text: str
    fact: Fact | None = None
    recalls: int = 0
    said: tuple[Spoken, ...] = ()


class Card(Struct, frozen=True, kw_only=True):
    """One section of a file of memory; `left_out` counts the lines that are not shown here."""

    heading: str
    address: str
    tokens: int
    lines: tuple[Line, ...] = ()
    left_out: int = 0
    prose: Markup = Markup()


class Sheet(Struct, frozen=True, kw_only=True):
    """One file of memory: which layer it is of, what it is called, and its sections."""

    layer: Layer
    store: Store
    path: str
    title: str
    cards: tuple[Card, ...] = ()
    left_out: int = 0
    problem: str = ""
    exists: bool = True

    @property
    def is_editable(self) -> bool:
        """Whether its sections can be changed one by one; those of a namespace can't yet."""
        return self.store == "workspace"


class _Text(Struct, frozen=True, kw_only=True):
    """A file of memory taken apart: where it is recalled by, its text, its lines, and the facts they are."""

    place: str
    text: str
    lines: Sequence[Bullet]
    facts: Mapping[str, Fact]


class Reader(Struct, kw_only=True):
    """Reads the files of one agent's memory for one page, which has only so much room."""

    workspace: Workspace
    recalls: Recalls
    most: int = ROWS
    """Lines of one section."""
    start: int = 0
    """The line of a section that is the first to be shown."""
    room: int = _ROOM
    """Lines of the page that are left; few of each section are shown all the same."""
    lookups: int = _MOST_SPOKEN
    """Messages that may still be looked up."""

    def sheets(self) -> Iterator[Sheet]:
        """Yield the files, the agent's own namespace first."""
        yield self.experience()
        for path in project_files(self.workspace):
            yield self.project(path)
        user = self.project(f"{self.workspace.layout.home}{USER}", only=LEARNED)
        if user.cards:
            yield user

    def experience(self, only: str | None = None) -> Sheet:
        """Return what the agent learnt beyond this workspace, or the section with one address."""
        own = self.workspace.memory.namespace
        document = self.workspace.assembler.ground.namespaces.reading().document(own.path)
        title = str(document.meta.extra.get("title") or own.title) if document else own.title
        sheet = Sheet(layer="experience", store="namespaces", path=own.path, title=title)
        return self._filled(sheet, document, only)

    def project(self, path: str, only: str | None = None) -> Sheet:
        """Return one file of what stays in the workspace, or the section with one address."""
        document = self.workspace.assembler.ground.documents.reading().document(path)
        return self._filled(Sheet(layer="project", store="workspace", path=path, title=path), document, only)

    def _filled(self, sheet: Sheet, document: Document | None, only: str | None) -> Sheet:
        if document is None or document.problem:
            problem = document.problem or "" if document else ""
            return replace(sheet, problem=problem, exists=document is not None)
        telling = [each for each in _telling(document.verbatim) if only is None or each[1] == only]
        shown = telling[:MOST_CARDS]
        text = _Text(
            place=sheet.path if sheet.store == "workspace" else place_of(sheet.path),
            text=document.verbatim,
            lines=list(bullets(document.verbatim[: shown[-1][0].own_end])) if shown else (),
            facts=_by_line(self.workspace, sheet.store, sheet.path),
        )
        cards = tuple(self._card(text, part, address) for part, address in shown)
        return replace(sheet, cards=cards, left_out=len(telling) - len(shown))

    def _card(self, text: _Text, part: Part, address: str) -> Card:
        own = [line for line in text.lines if part.body <= line.start < part.own_end]
        shown = own[self.start :][: min(self.most, max(_LEAST_ROWS, self.room))]
        self.room -= len(shown)
        prose = _without(text.text[part.body : part.own_end], own)
        return Card(
            heading=part.heading,
            address=address,
            tokens=self.workspace.counts.count(text.text[part.body : part.own_end]),
            lines=tuple(self._line(text, each) for each in shown),
            left_out=max(0, len(own) - self.start - len(shown)),
            prose=rendered(prose[:_PROSE]) if prose.strip() and not self.start else Markup(),
        )

    def _line(self, text: _Text, bullet: Bullet) -> Line:
        fact = text.facts.get(bullet.line)
        is_told = fact is not None and fact.text in bullet.text  # what a dream notes beside it is left out
        return Line(
            text=fact.text if fact and is_told else bullet.text,
            fact=fact,
            recalls=recalled(self.recalls, text.place, fact.text if fact else bullet.text),
            said=self._said(fact) if fact else (),
        )

    def _said(self, fact: Fact) -> tuple[Spoken, ...]:
        if self.lookups <= 0 or not fact.evidence:
            return tuple(Spoken(session=fact.session, message=each) for each in fact.evidence[:1])
        self.lookups -= 1
        return spoken(self.workspace, fact.agent, fact.session, fact.evidence, 1)


def reader_of(workspace: Workspace) -> Reader:
    """Return who reads an agent's memory for a page."""
    return Reader(workspace=workspace, recalls=recalls_of(workspace))


def project_files(workspace: Workspace) -> list[str]:
    """Return the files of Layer B: those that the prompt has, and the one that facts are written to."""
    agent, layout = workspace.agent, workspace.layout
    parts = (part for message in layout.messages for part in message.parts)
    named = [file for part in parts if part.kind in ("notebook", "project") for file in part.files]
    paths = [name.replace("{agent}", agent.id) for name in named if "*" not in name]
    with suppress(CarrelError):  # its id may make that another file
        paths.append(notebook_of(layout, agent))
    own = list(dict.fromkeys(paths))
    return sorted(own, key=lambda path: not fnmatchcase(path, "*memory/*.md"))


def recalls_of(workspace: Workspace) -> Recalls:
    """Return what was recalled of each file of memory, as far as it is kept."""
    found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    now = workspace.config.clock.now()
    kept = workspace.records.recalls.remembered(
        workspace.agent.id, tiers=_TIERS, until=now, limit=_MOST_RECALLS
    )
    for each in kept:
        found[each.path].append((each.text, each.hits))
    return found


def recalled(recalls: Recalls, place: str, text: str) -> int:
    """Return how often a line was among what a model was reminded of; what is too short to tell, never."""
    if len(text) < _LEAST_WORD:
        return 0
    return sum(hits for passage, hits in recalls.get(place, ()) if text in passage)


def _by_line(workspace: Workspace, store: Store, path: str) -> dict[str, Fact]:
    facts = workspace.memory.facts(states=("written",), path=path, limit=MOST_FACTS)
    return {fact.line: fact for fact in facts if fact.store == store}


def _telling(text: str) -> Iterator[tuple[Part, str]]:
    """Yield the sections that say something, each with its address; a title over others does not."""
    parts = sections(text)
    root = root_of(text, parts)
    for part, address in ((root, ""), *zip(parts, addresses_of(parts), strict=True)):
        if text[part.body : part.own_end].strip() or (part.end == part.own_end and part is not root):
            yield part, address


def _without(text: str, lines: Sequence[Bullet]) -> str:
    """Return what is left of a section's text where its lines are shown one by one."""
    shown = {each.line for each in lines}
    return "\n".join(line for line in text.splitlines() if line not in shown)
