"""What an agent can tell of itself: who it is, what it knows, and how it is doing.

Short answers in a fixed shape. All is read through `Sources`, which already sees with the eyes of one scope.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from carrel.markdown.outline import Section, outline
from carrel.memory.concepts import concept_tags
from carrel.tools.excerpt import clip
from carrel.tools.knowledge import tell
from carrel.tools.registry import NoArguments, Tool
from carrel.workspace.document import Document, Documents
from carrel.workspace.identity import FIELDS, parse_identity
from carrel.workspace.layout import Layout
from carrel.workspace.scope import HiddenByScope, Scope, read_scoped

LONGEST_EXCERPT = 2_048
"""Characters of SOUL.md in an answer, the ellipsis included."""
MOST_TAGS = 10
DAYS = 7
FILES = ("IDENTITY.md", "SOUL.md", "USER.md", "AGENTS.md", "MEMORY.md", "DREAMS.md")
MEMORY = "MEMORY.md"

_DREAMED = "Dreamed "
_MOST_EVENTS = 10_000

Look = Callable[[str], Document | None]
"""Returns the document at a path of the workspace; none when it is absent, or not for this scope."""


class Sources(Struct, frozen=True, kw_only=True):
    """Where an agent's knowledge of itself comes from, for one agent and one scope.

    `sessions` counts those that this scope may know of. `recalls` counts the recalls of the agent since a
    moment, and `recalled` yields the texts that they found, the newest first.
    """

    agent_id: str
    model: str | None
    workspace_dir: str
    look: Look
    now: Callable[[], datetime]
    scope: Scope
    home: str = ""
    sessions: Callable[[], int] = lambda: 0
    recalls: Callable[[datetime], int] = lambda _: 0
    recalled: Callable[[datetime], Iterable[str]] = lambda _: ()


class WhatDoIKnow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of its knowledge an agent asks for."""

    filter: Annotated[
        str | None,
        Meta(
            description="Only sections whose heading, or one above it, contains this; case does not matter."
        ),
    ] = None


def looking(documents: Documents, layout: Layout, scope: Scope) -> Look:
    """Return how one scope sees the documents of a workspace."""

    def look(path: str) -> Document | None:
        try:
            return read_scoped(documents.reading(), layout, path, scope)
        except HiddenByScope:
            return None

    return look


def self_report_tools(sources: Sources) -> tuple[Tool, ...]:
    """Return the three tools with which an agent looks at itself."""
    return (
        Tool(
            name="who_am_i",
            description="Tell who you are: your id, model, workspace, identity, and the start of SOUL.md.",
            parameters=NoArguments,
            run=lambda _: who_am_i(sources),
        ),
        Tool(
            name="what_do_i_know",
            description="Tell what MEMORY.md holds, as sections of bullets; `truncated` when there is more.",
            parameters=WhatDoIKnow,
            run=partial(_what_do_i_know, sources),
            aliases={"section": "filter"},
        ),
        Tool(
            name="my_stats",
            description="Tell in numbers how you are doing: sessions, memories, recalls, dreams, files.",
            parameters=NoArguments,
            run=lambda _: my_stats(sources),
        ),
    )


def who_am_i(sources: Sources) -> dict[str, Any]:
    """Return id, model, place, identity and the beginning of the soul; null for what there is not."""
    identity = _text(sources, "IDENTITY.md")
    soul = _text(sources, "SOUL.md")
    if soul is None and sources.home:  # some layouts keep it above the other files
        soul = _text(replace(sources, home=""), "SOUL.md")
    known = None if identity is None else parse_identity(identity)
    return {
        "agent_id": sources.agent_id,
        "model": sources.model,
        "workspace_dir": sources.workspace_dir,
        "identity": None if known is None else {field: getattr(known, field) for field in FIELDS},
        "soul_excerpt": None if soul is None else clip(soul, LONGEST_EXCERPT)[0],
    }


def what_do_i_know(sources: Sources, wanted: str | None = None) -> dict[str, Any]:
    """Return the sections of MEMORY.md; where this scope may not see it, it is as if there were none."""
    return tell(outline(_text(sources, MEMORY) or ""), wanted)


def my_stats(sources: Sources) -> dict[str, Any]:
    """Return seven figures; of what is private, shared scope does not even learn how much there is."""
    sections = [section for notebook in _notebooks(sources) for section in outline(notebook)]
    dreamed = [section for section in sections if any(name.startswith(_DREAMED) for name in section.path)]
    recalls, tags = _recalls(sources) if sources.scope is Scope.MAIN else (0, [])
    return {
        "sessions_total": sources.sessions(),
        "memories_stored": sum(len(section.bullets) for section in sections),
        "memories_promoted": sum(len(section.bullets) for section in dreamed),
        "last_dream_ts": _last_dream(dreamed),
        "recall_events_7d": recalls,
        "top_concept_tags_7d": tags,
        "workspace_files_present": [name for name in FILES if _is_present(sources, name)],
    }


def _what_do_i_know(sources: Sources, asked: WhatDoIKnow) -> dict[str, Any]:
    return what_do_i_know(sources, asked.filter)


def _text(sources: Sources, name: str) -> str | None:
    """Return the text of a file beside AGENTS.md, none when it is absent, hidden or unreadable."""
    document = sources.look(sources.home + name)
    return None if document is None or document.problem else document.text


def _is_present(sources: Sources, name: str) -> bool:
    document = sources.look(sources.home + name)
    return document is not None and document.problem not in ("directory", "special_file")


def _notebooks(sources: Sources) -> Iterator[str]:
    """Yield the notebooks of an agent, each once even where two names lead to one."""
    agent, home = sources.agent_id, sources.home
    paths = (f"{home}{MEMORY}", f"{home}memory/{agent}.md", f"{home}agents/{agent}/memory.md")
    seen: set[str] = set()
    for document in map(sources.look, paths):
        if document is not None and not document.problem and document.identity not in seen:
            seen.add(document.identity)
            yield document.text


def _last_dream(dreamed: Iterable[Section]) -> str | None:
    """Return when the newest dream was, by the headings that dreams leave."""
    moments = [moment for section in dreamed for name in section.path if (moment := _dream_time(name))]
    return max(moments).isoformat().replace("+00:00", "Z") if moments else None


def _dream_time(heading: str) -> datetime | None:
    """Return the time in a heading such as `Dreamed 2026-04-23 03:00 UTC`."""
    if not (heading.startswith(_DREAMED) and heading.endswith(" UTC")):
        return None
    try:
        return datetime.fromisoformat(f"{heading[len(_DREAMED) : -len(' UTC')]}+00:00")
    except ValueError:
        return None


def _recalls(sources: Sources) -> tuple[int, list[list[Any]]]:
    """Return how much was recalled in the last days, and the tags that came up most."""
    since = sources.now() - timedelta(days=DAYS)
    tally = Counter[str]()
    for text, times in Counter(islice(sources.recalled(since), _MOST_EVENTS)).items():
        for tag in concept_tags(text):
            tally[tag] += times
    top = sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_TAGS]
    return sources.recalls(since), [list(pair) for pair in top]
