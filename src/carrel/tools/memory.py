"""Memory as a model may search it: hits first, and the lines around one when they are needed."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct

from carrel.errors import Refused
from carrel.files import show
from carrel.files.paths import clean
from carrel.tools.access import Access, text_of
from carrel.tools.excerpt import clip
from carrel.tools.page import page
from carrel.tools.registry import Tool

DEFAULT_HITS = 10
MOST_HITS = 50
LONGEST_TEXT = 2_000


class NotMemory(Refused):
    """A path that is no memory: other files are read with their own tool."""

    code = "not_memory"

    def __init__(self, path: str, *, hint: str = "Read other files with read_file.") -> None:
        super().__init__(f"{show(path)} is not a file of the agent's memory.", hint=hint)


class MemorySearch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to look for, and where."""

    query: Annotated[str, Meta(description="What you want to know, in words or as a question.")]
    limit: Annotated[
        int, Meta(description="Most hits.", extra_json_schema={"minimum": 1, "maximum": MOST_HITS})
    ] = DEFAULT_HITS
    tier: Annotated[
        str | None,
        Meta(description="Only session, journal, profile, graph, procedure, document or knowledge."),
    ] = None
    section: Annotated[str | None, Meta(description="Only below this heading.")] = None
    since: Annotated[str | None, Meta(description="Only from this day on, YYYY-MM-DD.")] = None
    until: Annotated[str | None, Meta(description="Only up to this day, YYYY-MM-DD.")] = None


class MemoryGet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which lines of which file of memory."""

    path: Annotated[str, Meta(description="The path of a hit.")]
    line: Annotated[int, Meta(description="The first line, from 1.", extra_json_schema={"minimum": 1})] = 1
    lines: Annotated[int, Meta(description="How many.", extra_json_schema={"minimum": 1})] = 50


class Look(Protocol):
    """Searches as one listener may; returns hits as every surface shows them."""

    def __call__(self, asked: MemorySearch) -> Mapping[str, Any]:
        """Return `hits` and `degraded`."""
        ...


def memory_tools(
    look: Look,
    access: Access,
    is_memory: Callable[[str], bool],
    learnt: Callable[[str], str | None] = lambda _: None,
) -> tuple[Tool, ...]:
    """Return the tools over what the agent has written and heard, and `learnt` elsewhere."""
    return (
        Tool(
            name="memory_search",
            description="Search what you know: memory, journal, past conversations, knowledge, documents.",
            parameters=MemorySearch,
            run=partial(_search, look),
            aliases={"q": "query", "max_results": "limit", "maxResults": "limit"},
        ),
        Tool(
            name="memory_get",
            description="Read lines of a memory file that memory_search found.",
            parameters=MemoryGet,
            run=partial(_get, access, is_memory, learnt),
            aliases={"from": "line", "startLine": "line"},
        ),
    )


def _search(look: Look, asked: MemorySearch) -> dict[str, Any]:
    found = look(asked)
    hits: list[dict[str, Any]] = []
    for hit in found["hits"]:
        text, is_cut = clip(hit["text"], LONGEST_TEXT)
        told = {name: value for name, value in hit.items() if name != "ranges" and value is not None}
        hits.append({**told, "text": text, **({"truncated": True} if is_cut else {})})
    return {"hits": hits, "degraded": found["degraded"]}


def _get(
    access: Access, is_memory: Callable[[str], bool], learnt: Callable[[str], str | None], asked: MemoryGet
) -> dict[str, Any]:
    if (text := learnt(asked.path)) is not None:
        return _paged(asked.path, text, asked)
    path = clean(asked.path)
    if not is_memory(path):
        raise NotMemory(path)
    content = access.read(path)
    if access.kept(content.target) == "settings":  # a link in memory may lead there
        raise NotMemory(path)
    return _paged(path, text_of(path, content), asked)


def _paged(path: str, text: str, asked: MemoryGet) -> dict[str, Any]:
    return {"path": path, **page("memory_get", text, offset=asked.line, limit=asked.lines).to_json()}
