"""Memory as a model may write it: facts, text for a section, and what is to be forgotten.

What a model has from outside, what would take the place of its owner's words, and what reads like an
instruction waits for the owner. The model is told what became of its wish, and before others nothing more:
not even whether something is known already.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from carrel.files.paths import clean
from carrel.markdown import sections
from carrel.markdown.sections import AmbiguousSection, SectionNotFound
from carrel.memory import journal
from carrel.memory.fact import KINDS, fact_id, key_of
from carrel.memory.keeping import Keeper
from carrel.memory.owned import is_owners, text_at
from carrel.memory.pen import Author
from carrel.memory.places import INSIGHTS, LEARNED, USER, Target
from carrel.memory.proposed import edit_of
from carrel.memory.review import carry_out
from carrel.memory.sorting import OWNER
from carrel.memory.trust import OUTSIDE, is_suspect
from carrel.records.facts import Fact, Layer, Trust
from carrel.records.proposals import Proposal
from carrel.tools.access import Access
from carrel.tools.forgetting import Forgetting
from carrel.tools.memory import NotMemory
from carrel.tools.proposing import EXTERNAL, INJECTION, OWNERS, Proposer, because, told
from carrel.tools.registry import BadArguments, Tool
from carrel.workspace.layout import Layout
from carrel.workspace.scope import Scope
from carrel.workspace.tiers import standing_of

NAME = "memory_write"
LONGEST_TEXT = 20_000
LONGEST_NAME = 300
_ALIKE = 20

Text = Annotated[
    str, Meta(description="What to remember, in plain words.", min_length=1, max_length=LONGEST_TEXT)
]
Kind = Annotated[str, Meta(description="What the words are about.", extra_json_schema={"enum": list(KINDS)})]


class MemoryWrite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to write, and where."""

    action: Annotated[
        Literal["add", "append", "replace", "forget"],
        Meta(
            description="add one statement; append text to a section; replace the text of a section; "
            "forget a statement, named by its words or its id."
        ),
    ]
    text: Text
    path: Annotated[
        str | None,
        Meta(description="MEMORY.md, USER.md, your notebook or today's journal; else your notebook."),
    ] = None
    section: Annotated[str, Meta(description="A heading of that file.", max_length=LONGEST_NAME)] = ""
    layer: Annotated[
        Layer, Meta(description="project: it stays here; experience: it goes with you everywhere.")
    ] = "project"
    kind: Kind = "note"


class MemoryNote(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to propose to the owner."""

    text: Text
    kind: Kind = "note"


class Writer(Struct, frozen=True, kw_only=True):
    """Who writes an agent's memory for its model, as far as the turn allows."""

    agent: str
    agents: tuple[str, ...]
    layout: Layout
    keeper: Callable[[], Keeper]
    proposer: Proposer
    access: Access

    def write(self, asked: MemoryWrite) -> dict[str, Any]:
        """Do what the model asks for or let it wait, and tell which."""
        _check(asked.kind)
        if asked.action == "add":
            return self._add(asked)
        place = self._place(asked)
        if asked.action == "forget":
            return self._forget(asked, place)
        return self._append(asked, place) if asked.action == "append" else self._replace(asked, place)

    def note(self, asked: MemoryNote) -> dict[str, Any]:
        """Let what somebody else says wait for the owner; what is known of it is not for them to hear."""
        _check(asked.kind)
        self.proposer.refuse_flood()
        fact = self._fact(asked.text, asked.kind, "project", "external")
        kept = self.keeper().keep([fact], self._author("add"))
        if kept.refused:
            return {"state": "refused", "why": kept.refused[0].reason}
        return {"state": "waiting", "why": EXTERNAL}

    def _add(self, asked: MemoryWrite) -> dict[str, Any]:
        trust = self.proposer.turn().trust_in(asked.text)
        if trust in OUTSIDE:
            self.proposer.refuse_flood()
        fact = self._fact(asked.text, asked.kind, asked.layer, trust, asked.section)
        keeper = self.keeper()
        place = keeper.target(fact) if asked.path is None else self._place(asked)
        self._refuse_others(place)
        if place.form == "journal":
            self._refuse_other_days(place)
            fact = replace(fact, kind="event", section="")
        elif asked.section:
            self._try_section(place)
        here = replace(keeper, target=partial(_always, place))
        kept = here.keep([fact], self._author("add"))
        if kept.refused:
            return {"state": "refused", "why": kept.refused[0].reason}
        return _written(kept.written[0]) if kept.written else self._known(fact, place)

    def _try_section(self, place: Target) -> None:
        """Refuse a heading that no file could have, before a fact is planned that nobody could write."""
        with suppress(AmbiguousSection):  # of several the first is taken
            sections.append(text_at(self.keeper().pen, place.store, place.path), place.section, "- x")

    def _known(self, fact: Fact, place: Target) -> dict[str, Any]:
        """Tell of a fact that was not written: it waits, or stands there, or was taken back before."""
        found = self.proposer.records().facts.find(agent=self.agent, key=fact.key, limit=_ALIKE)
        by_state = {each.state: each for each in found}
        for state in ("written", "planned"):
            if same := by_state.get(state):
                return {"state": "known", **_where(same)}
        if same := by_state.get("waiting"):
            return {**_where(same), **self._waiting(same)}
        if found:
            return {"state": "refused", "why": "superseded" if "superseded" in by_state else "taken_back"}
        return {"state": "known", "path": place.path, "section": place.section}

    def _waiting(self, fact: Fact) -> dict[str, Any]:
        waiting = self.proposer.waiting()
        return next((told(each) for each in reversed(waiting) if fact.id in each.facts), {"state": "waiting"})

    def _append(self, asked: MemoryWrite, place: Target) -> dict[str, Any]:
        text = self._screened(asked)
        if place.form == "journal":
            now, evidence = self._refuse_other_days(place), self.proposer.turn().evidence
            text = journal.entry(
                text, category="note", at=now, session=self.proposer.session, message="".join(evidence[:1])
            )
        return self._settle(self._wanted(asked, place, action="append", new=text))

    def _screened(self, asked: MemoryWrite) -> str:
        """Return a text as it may be written or wait; one that may not is BlockedByPrivacy."""
        return self.keeper().pen.screen.may(asked.text)

    def _refuse_other_days(self, place: Target) -> datetime:
        """Refuse an entry in the journal of another day than today, and return the time of this one."""
        keeper = self.keeper()
        now = keeper.clock.now().astimezone(keeper.zone)
        today = journal.day_path(self.layout, now.date())
        if place.path != today:
            raise BadArguments(NAME, f"the journal takes entries of today alone, in {today}")
        return now

    def _replace(self, asked: MemoryWrite, place: Target) -> dict[str, Any]:
        if place.form == "journal":
            raise BadArguments(NAME, "the journal is only ever added to", hint="Append an entry instead.")
        if not asked.section:
            raise BadArguments(NAME, "`section` is missing: replace puts a text in the place of a section's")
        keeper = self.keeper()
        try:
            old = sections.read(text_at(keeper.pen, place.store, place.path), place.section)
        except SectionNotFound:
            old = ""
        wanted = self._wanted(asked, place, action="replace", old=old, new=self._screened(asked))
        if not wanted.why and is_owners(keeper.records(), place.store, place.path, old):
            wanted = because(wanted, OWNERS)
        return self._settle(wanted)

    def _forget(self, asked: MemoryWrite, place: Target) -> dict[str, Any]:
        named = place if asked.path is not None else None
        return Forgetting(agent=self.agent, keeper=self.keeper(), proposer=self.proposer).forget(
            asked.text, named, self._author("forget")
        )

    def _wanted(self, asked: MemoryWrite, place: Target, **fields: Any) -> Proposal:
        """Return the change that is asked for, with why it has to wait, if it has."""
        trust = self.proposer.turn().trust_in(asked.text)
        why = INJECTION if is_suspect(asked.text, trust) else EXTERNAL if trust in OUTSIDE else ""
        return self.proposer.proposal(
            why, trust=trust, store=place.store, path=place.path, section=place.section, **fields
        )

    def _settle(self, wanted: Proposal) -> dict[str, Any]:
        """Make a change, or let it wait."""
        where = {"path": wanted.path, "section": wanted.section}
        keeper = self.keeper()
        if wanted.why:
            # What could never be written, or stands there already, is nothing to ask the owner about.
            now = text_at(keeper.pen, wanted.store, wanted.path)
            if edit_of(wanted)(now) is None:
                return {"state": "known", **where}
            return {**where, **told(self.proposer.wait(wanted))}
        change = carry_out(keeper, wanted, self._author(wanted.action))
        return {"state": "written" if change else "known", **where, "id": str(change.id) if change else None}

    def _fact(self, text: str, kind: str, layer: Layer, trust: Trust, section: str = "") -> Fact:
        proposer = self.proposer
        evidence = proposer.turn().evidence
        return Fact(
            id=fact_id(self.agent, proposer.session, evidence, text),
            agent=self.agent,
            layer=layer,
            kind=kind,
            text=text,
            key=key_of(text),
            at=proposer.clock.now(),
            session=proposer.session,
            evidence=evidence,
            trust=trust,
            section=section,
        )

    def _place(self, asked: MemoryWrite) -> Target:
        """Return the place that is named, else the agent's own notebook; what is no memory is refused."""
        if asked.path is None:
            probe = self._fact("", "note", asked.layer, "agent", asked.section)
            place = self.keeper().target(probe)
            self._refuse_others(place)
            return place
        path = clean(asked.path)
        content = self.access.reach.read(path)
        targets = self.access.targets(path, content)
        if not all(map(self._is_own, (path, *targets))):
            raise NotMemory(path, hint="Write other files with write_file.")
        if standing_of(path, self.layout, self.agents).tier == "journal":
            return Target(path=path, form="journal")
        usual = LEARNED if self._owners in (path, *targets) else INSIGHTS
        place = Target(path=path, section=asked.section or usual)
        self._refuse_others(place)
        return place

    @property
    def _owners(self) -> str:
        return f"{self.layout.home}{USER}"

    def _refuse_others(self, place: Target) -> None:
        """Refuse what is no memory behind a link, and what the owner wrote of themselves."""
        written = self.access.reach.target(place.path) if place.store == "workspace" else place.path
        if written != place.path and not self._is_own(written):
            raise NotMemory(place.path, hint="It is a link to something else; ask the owner to replace it.")
        if self._owners in (place.path, written) and place.section.casefold() != LEARNED.casefold():
            raise NotMemory(place.path, hint=f"Of {USER}, only the section {LEARNED} is yours.")

    def _is_own(self, path: str) -> bool:
        standing = standing_of(path, self.layout, self.agents)
        return standing.tier in ("journal", "profile") and standing.agent in ("", self.agent)

    def _author(self, action: str) -> Author:
        actor = self.agent if self.agent != OWNER else "agent"  # nobody becomes the owner by a name
        return Author(
            actor=actor, action=action, reason=NAME, agent=self.agent, session=self.proposer.session
        )


def memory_write_tools(writer: Writer, scope: Scope) -> tuple[Tool, ...]:
    """Return the tool that writes memory; before others than the owner it only proposes."""
    aliases = {"content": "text", "fact": "text", "file": "path", "heading": "section", "type": "kind"}
    if scope is Scope.MAIN:
        return (
            Tool(
                name=NAME,
                description="Keep something for good in your memory, or forget it. `state` tells what became "
                "of it: written, known already, waiting for the owner, or refused.",
                parameters=MemoryWrite,
                run=writer.write,
                writes=True,
                aliases=aliases,
            ),
        )
    return (
        Tool(
            name=NAME,
            description="Propose something to keep in your memory; your owner decides on it later.",
            parameters=MemoryNote,
            run=writer.note,
            writes=True,
            aliases={key: name for key, name in aliases.items() if name in ("text", "kind")},
        ),
    )


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise BadArguments(NAME, f"`kind` must be one of {', '.join(KINDS)}")


def _always(place: Target, _: Fact) -> Target:
    return place


def _where(fact: Fact) -> dict[str, Any]:
    return {"path": fact.path, "section": fact.section, "id": fact.id}


def _written(fact: Fact) -> dict[str, Any]:
    return {"state": "written", **_where(fact)}
