"""Building one message: select its sections, fit them into the budget, render what is kept."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, Self

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from carrel.context.budget import Budget, fit
from carrel.context.inputs import Inputs
from carrel.context.render import escaper, one_line, wrap
from carrel.context.report import Row
from carrel.context.rulers import Ruler, ruler_for
from carrel.context.section import JOINT, Section
from carrel.context.select import Selection, additional_tags, find_identity
from carrel.context.sources import select
from carrel.context.template import Values
from carrel.context.truncate import Marker
from carrel.context.volatile import recall_lines
from carrel.files import show
from carrel.findings import Finding
from carrel.records.content import shaped
from carrel.settings import AgentSettings, Settings
from carrel.tokens import describe_model, is_countable
from carrel.workspace.counts import TokenCounts
from carrel.workspace.document import Documents, Reading
from carrel.workspace.ignore import IGNORE_FILE, find_rules
from carrel.workspace.layout import Layout, MessageSpec
from carrel.workspace.namespace import namespace_of
from carrel.workspace.scope import Scope, privacy_of


class Window(Struct, frozen=True, kw_only=True):
    """How many tokens a model takes; where nobody said, that is assumed."""

    name: str | None
    size: int
    is_known: bool


class Ground(Struct, frozen=True, kw_only=True):
    """What all assemblies of one agent in one workspace have in common."""

    layout: Layout
    settings: Settings
    agent: AgentSettings
    documents: Documents
    namespaces: Documents
    counts: TokenCounts
    location: str
    """The absolute path of the workspace, links unresolved."""
    os_name: str = ""
    title: str = ""
    """What its manifest calls the workspace."""
    findings: tuple[Finding, ...] = ()
    """What was noticed when the workspace was opened."""

    @property
    def directory(self) -> str:
        """The last part of the location, a workspace's name when nobody gave it one."""
        return self.location.rstrip("/").rpartition("/")[2]

    @property
    def model_name(self) -> str | None:
        """The model that the agent speaks with, as far as anybody said."""
        return self.agent.model or self.settings.model.name

    def tokenizer_for(self, model: str | None) -> str | None:
        """Return the tokenizer that was chosen for a model, none where nobody did."""
        return self.settings.model.tokenizer if model == self.settings.model.name else None

    @property
    def given_window(self) -> int | None:
        """The window that the settings say, none where what is known of the model counts."""
        return self.agent.context_window or self.settings.model.context_window

    def window_of(self, model: str | None = None) -> Window:
        """Return what a call to a model may have, the settings' own where none is named."""
        name = model or self.model_name
        described, given = describe_model(name), self.given_window
        return Window(
            name=name,
            size=given or described.window,
            is_known=given is not None or (name is not None and described.known),
        )

    @property
    def ruler(self) -> Ruler:
        """What the layout's limits are counted with."""
        return ruler_for(self.layout.unit, self.counts)


class Built(Struct, frozen=True, kw_only=True):
    """One message of the layout, finished: the texts to send, their rows, and what was noticed.

    With `each` there is a text per section. `identities` are the files rendered here and in messages before.
    """

    texts: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    identities: frozenset[str] = frozenset()
    hidden: int = 0
    warnings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, to be frozen."""
        return to_builtins(self) | {"identities": sorted(self.identities)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Take it back from plain data."""
        return shaped(data, cls)


def build(
    ground: Ground, spec: MessageSpec, inputs: Inputs, budget: Budget, rendered: frozenset[str]
) -> tuple[Built, tuple[Reading, Reading]]:
    """Return a message, and everything that was looked at to make it."""
    selection = _selection(ground, inputs, rendered)
    sections = [_measured(ground, section) for section in select(selection, spec.parts)]
    _tell_of_estimates(selection, sections)
    tags = (*ground.layout.tags, *additional_tags(selection))
    hidden = 0
    if inputs.scope is Scope.SHARED:
        everything = _fit(ground, spec, sections, budget, tags)
        hidden = selection.withheld + sum(section.private and section.kept for section in everything)
        sections = [section for section in sections if not section.private]
    fitted = _framed(ground, spec, _fit(ground, spec, sections, budget, tags))
    texts, rows = _render(ground, spec, fitted)
    for_owner = () if inputs.scope is Scope.SHARED else selection.private_warnings
    built = Built(
        texts=texts,
        rows=rows,
        identities=rendered | {section.identity for section in fitted if section.kept and section.identity},
        hidden=hidden,
        warnings=(*selection.warnings, *for_owner),
    )
    return built, (selection.reading, selection.namespaces)


def _selection(ground: Ground, inputs: Inputs, rendered: frozenset[str]) -> Selection:
    reading = ground.documents.reading()
    privacy = privacy_of(ground.layout, reading)
    hidden_by = privacy if inputs.scope is Scope.SHARED else None
    rules = find_rules(reading)
    name = agent_name(ground, find_identity(reading, ground.layout, hidden_by).name)
    return Selection(
        layout=ground.layout,
        agent=ground.agent,
        inputs=inputs,
        reading=reading,
        namespaces=ground.namespaces.reading(),
        namespace=namespace_of(ground.agent, name, ground.location),
        privacy=privacy,
        ignored=rules,
        values=_values(ground, inputs, name),
        facts=_facts(ground, inputs, name),
        rendered=set(rendered),
        warnings=[
            Finding(code="ignore_rule", message=f"{IGNORE_FILE}: {problem}.", path=IGNORE_FILE)
            for problem in rules.problems
        ],
    )


def agent_name(ground: Ground, found: str | None) -> str:
    """Return what the agent is called: as configured, else as its identity says, else by its place."""
    agent = ground.agent
    named_by_place = ground.directory if not ground.settings.agents else agent.id
    return agent.display_name or found or named_by_place


def _values(ground: Ground, inputs: Inputs, name: str) -> Values:
    settings = ground.settings
    return {
        "agent": {"id": ground.agent.id, "displayName": name},
        "domain": ground.agent.domain,
        "date": inputs.today.isoformat(),
        "workspace": {"name": settings.workspace.name or ground.directory},
        "user": {"id": settings.user.id, "name": settings.user.name},
        "memory": "\n".join(recall_lines(ground.layout, inputs.recall)),
    }


def _facts(ground: Ground, inputs: Inputs, name: str) -> dict[str, str]:
    escape = escaper(ground.layout.tags)
    own = {
        "os": ground.os_name,
        "location": ground.location,
        "squad": ground.title or ground.directory,
        "workspace": ground.settings.workspace.name or ground.directory,
        "agent": ground.agent.id,
        "agent_name": name,
    }
    return inputs.facts() | {key: escape(one_line(value)) for key, value in own.items()}


def _measured(ground: Ground, section: Section) -> Section:
    if not section.kept:
        return section
    return replace(
        section,
        size=ground.ruler.size(section.text),
        raw_tokens=ground.counts.count(section.text),
        members=tuple(_measured(ground, member) for member in section.members),
    )


def _tell_of_estimates(selection: Selection, sections: Iterable[Section]) -> None:
    for section in sections:
        if section.kept and not is_countable(section.text):
            told = f"{show(section.name)} has a line too long to be counted whole: its tokens are estimated."
            selection.warn("tokens_estimated", told, section)


def _fit(
    ground: Ground, spec: MessageSpec, sections: Sequence[Section], budget: Budget, tags: tuple[str, ...]
) -> tuple[Section, ...]:
    layout, ruler = ground.layout, ground.ruler
    marker = Marker(pattern=layout.marker, before=layout.before_marker, may_lack=layout.bare_cut, tags=tags)
    escape = escaper(tags)
    if spec.total == "memory":
        budget = replace(budget, total=budget.memory)

    def shorten(section: Section, limit: int) -> Section | None:
        cut = ruler.cut(section.text, limit, keep=section.keep, marker=marker, path=escape(section.name))
        if cut is None:
            return None
        span = cut.spans[0] if cut.spans else (0, 0)
        return replace(section, text=cut.text, size=ruler.size(cut.text), span=span)

    fitted = fit(sections, budget, spec.overflow or layout.overflow, shorten)
    parted = (replace(own, part=s.part) for s in fitted for own in _members(ground, s))
    return tuple(parted)


def _members(ground: Ground, section: Section) -> Sequence[Section]:
    """Part sections that competed as one, each with what the cut left of its own text."""
    if not section.members:
        return (section,)
    whole = JOINT.join(member.text for member in section.members)
    start = section.span[0] if section.span else 0
    mark = section.text.removesuffix(whole[start:]) if section.kept else ""
    parted: list[Section] = []
    begin = 0
    for member in section.members:
        cut_away = max(start - begin, 0)
        if not section.kept:
            parted.append(member.out(section.state, section.reason))
        elif cut_away >= len(member.text):
            parted.append(member.out("excluded", section.reason))
        elif mark or cut_away:  # the marker stands before the first text that is left
            text = mark + member.text[cut_away:]
            cut = replace(member, text=text, state="truncated", reason=section.reason)
            parted.append(replace(cut, size=ground.ruler.size(text), limit=section.limit))
            mark = ""
        else:
            parted.append(replace(member, limit=section.limit))
        begin += len(member.text) + len(JOINT)
    return parted


def _framed(ground: Ground, spec: MessageSpec, sections: Sequence[Section]) -> list[Section]:
    """Add the tags that are always there to where nothing stands between them."""
    framed: list[Section] = []
    for number, part in enumerate(spec.parts):
        own = [section for section in sections if section.part == number]
        framed.extend(own)
        alone = (_listing_alone(section) for section in own if section.after and not section.kept)
        framed.extend(_measured(ground, section) for section in alone)
        if part.always and not any(section.kept for section in own):
            name = part.open.strip("<>")
            framed.append(Section(name=name, kind="frame", part=number, open=part.open + part.close))
    return framed


def _listing_alone(section: Section) -> Section:
    """Return the list that stood after a text which is not in the prompt."""
    name = section.name.rpartition("/")[0]
    return Section(
        name=name, kind=section.kind, part=section.part, text=section.after.lstrip("\n"),
        open=section.open, close=section.close,
    )  # fmt: skip


def _render(
    ground: Ground, spec: MessageSpec, sections: Sequence[Section]
) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """Return the texts of a message and the rows of all its sections."""
    texts: list[str] = []
    rows: list[Row] = []
    led: set[str] = set()
    for section in sections:
        text = None
        if section.kept:
            part = spec.parts[section.part]
            gap = (spec.gap if part.gap is None else part.gap) if texts and not spec.each else ""
            lead = "".join(line for line in part.lead if line not in led)
            led.update(part.lead)
            text = gap + lead + wrap(section.text + section.after, section.open, section.close)
            texts.append(text)
        rows.append(row_of(section, text, ground.counts))
    return tuple(texts) if spec.each else tuple("".join(texts) for _ in texts[:1]), tuple(rows)


def row_of(section: Section, text: str | None, counts: TokenCounts) -> Row:
    """Return the row of a section whose rendered text is this, none when it is not in the prompt."""
    return Row(
        name=section.name,
        kind=section.kind,
        raw_tokens=section.raw_tokens,
        tokens=counts.count(text) if text else 0,
        size=section.size,
        limit=section.limit,
        state=section.state,
        reason=section.reason or None,
        stable=section.stable,
        sha256=sha256(text.encode("utf-8", "replace")).hexdigest() if text else None,
    )
