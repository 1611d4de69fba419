"""Resources: what a client may read by its address, through the same doors as the tools."""

from collections.abc import Callable, Iterator
from urllib.parse import quote, unquote

from msgspec import Struct

from carrel import plainjson
from carrel.errors import NotFound, UsageError
from carrel.files import Stale, show
from carrel.markdown import sections
from carrel.mcp.offered import Offered, offered
from carrel.mcp.seat import Seat
from carrel.mcp.turns import context_of
from carrel.tools.access import NoSuchFile
from carrel.workspace.scope import HiddenByScope, Scope

SCHEME = "workspace://"
FRESH = 60_000
"""Milliseconds for which skills may be taken to be as they were."""

LARGEST = 1_000_000
"""Characters of a file that are sent at once."""

MOST_ENTRIES = 500
_MOST_LISTED = 500
_DEPTH = 16
_JSON = "application/json"
_MARKDOWN = "text/markdown"
_PLAIN = "text/plain"


class NoSuchResource(NotFound):
    """There is nothing at this address, as far as the client may know."""

    code = "no_such_resource"

    def __init__(self, uri: str) -> None:
        super().__init__(
            f"There is no {show(uri[:300])}.",
            hint="resources/list and resources/templates/list show what is.",
        )


class TooLargeToSend(UsageError):
    """A file has more text than is sent as one resource."""

    code = "too_large_to_send"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{show(path)} has more than {LARGEST:,} characters.", hint="file_read reads it page by page."
        )


class Listed(Struct, frozen=True, kw_only=True):
    """One resource, or a pattern of addresses, in a list."""

    uri: str
    name: str
    description: str
    kind: str = _JSON


class Text(Struct, frozen=True, kw_only=True):
    """What stands at an address; it may be kept for so many milliseconds."""

    uri: str
    text: str
    kind: str = _JSON
    fresh: int = 0


def listed(seat: Seat) -> list[Listed]:
    """Return the resources that are there, in a fixed order."""
    skills = [
        Listed(
            uri=f"{SCHEME}skills/{quote(each['name'], safe='')}",
            name=f"skill {each['name']}",
            description=each["description"],
            kind=_MARKDOWN,
        )
        for each in _skills(seat)[:_MOST_LISTED]
    ]
    return [*_always(seat), *skills]


def patterns(seat: Seat) -> list[Listed]:
    """Return the patterns of addresses, in a fixed order."""
    own = [
        Listed(
            uri=f"{SCHEME}memory/{{agent}}",
            name="memory",
            description="The notebooks of an agent.",
            kind=_MARKDOWN,
        ),
        Listed(
            uri=f"{SCHEME}memory/{{agent}}/{{section}}",
            name="section of memory",
            description="One section of them, by its heading.",
            kind=_MARKDOWN,
        ),
    ]
    return [
        Listed(
            uri=f"{SCHEME}files/{{+path}}",
            name="file",
            description="A text file of the workspace.",
            kind=_PLAIN,
        ),
        *(own if seat.scope is Scope.MAIN else ()),
        Listed(
            uri=f"{SCHEME}sessions/{{id}}",
            name="session",
            description=f"The last {MOST_ENTRIES} entries of a session.",
        ),
        Listed(
            uri=f"{SCHEME}skills/{{name}}",
            name="skill",
            description="The instructions of a skill.",
            kind=_MARKDOWN,
        ),
    ]


def read(seat: Seat, uri: str) -> list[Text]:
    """Return what stands at an address; of what the client may not see, not even that it is there."""
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    reader = _READERS.get(kind) if uri.startswith(SCHEME) else None
    if reader is None:
        raise NoSuchResource(uri)
    found = reader(seat, _decoded(uri, rest))
    if not found:
        raise NoSuchResource(uri)
    return [Text(uri=each.uri or uri, text=each.text, kind=each.kind, fresh=each.fresh) for each in found]


def whole_file(seat: Seat, path: str) -> str:
    """Return the whole text of a file, page by page as the tool gives it."""
    return _pages(_tool(offered(seat), "file_read"), {"path": path}, path)


def notebooks(seat: Seat) -> Iterator[tuple[str, str]]:
    """Yield the paths and texts of the agent's notebooks."""
    home, agent = seat.workspace.layout.home, seat.workspace.agent.id
    for path in (f"{home}MEMORY.md", f"{home}memory/{agent}.md", f"{home}agents/{agent}/memory.md"):
        try:
            yield path, whole_file(seat, path)
        except NoSuchFile:
            continue


def _always(seat: Seat) -> Iterator[Listed]:
    yield Listed(
        uri=f"{SCHEME}context/current", name="context", description="What the model would read now, and why."
    )
    yield Listed(
        uri=f"{SCHEME}health", name="health", description="What a person should look at in the workspace."
    )
    if seat.scope is Scope.MAIN:
        agent = seat.workspace.agent.id
        yield Listed(
            uri=f"{SCHEME}memory/{quote(agent, safe='')}",
            name=f"memory of {agent}",
            description="The notebooks of the agent.",
            kind=_MARKDOWN,
        )
    yield Listed(uri=f"{SCHEME}tree", name="tree", description="Files and folders of the workspace.")


def _skills(seat: Seat) -> list[dict[str, str]]:
    tools = offered(seat)
    return tools["skill_list"].tool.call({})["skills"] if "skill_list" in tools else []


def _tree(seat: Seat, rest: str) -> list[Text]:
    if rest:
        return []
    tool = _tool(offered(seat), "file_list")
    return [_json(tool.tool.call({"depth": _DEPTH, "limit": 1_000}))]


def _file(seat: Seat, path: str) -> list[Text]:
    return [Text(uri="", text=whole_file(seat, path), kind=_kind_of(path))] if path else []


def _memory(seat: Seat, rest: str) -> list[Text]:
    if seat.scope is not Scope.MAIN:
        raise HiddenByScope("memory")
    agent, _, section = rest.partition("/")
    if agent != seat.workspace.agent.id:
        return []
    found = [_notebook(path, text) for path, text in notebooks(seat)]
    if not section:
        return found
    for each in found:
        try:
            return [Text(uri=each.uri, text=sections.read(each.text, section), kind=_MARKDOWN)]
        except sections.SectionNotFound:
            continue
    return []


def _session(seat: Seat, name: str) -> list[Text]:
    session = seat.session(name)
    tool = _tool(offered(seat, session), "session_logs").tool
    asked = {"action": "recent", "session_id": session, "limit": MOST_ENTRIES, "max_chars": 4_000}
    result = tool.call(asked)
    return [_json(result)] if result["ok"] else []


def _context(seat: Seat, rest: str) -> list[Text]:
    return [_json(context_of(seat, None, None, None))] if rest == "current" else []


def _skill(seat: Seat, name: str) -> list[Text]:
    tool = _tool(offered(seat), "skill_activate")
    return [Text(uri="", text=_pages(tool, {"name": name}, name), kind=_MARKDOWN, fresh=FRESH)]


def _health(seat: Seat, rest: str) -> list[Text]:
    return [_json(seat.workspace.health(scope=seat.scope).to_json())] if not rest else []


_READERS: dict[str, Callable[[Seat, str], list[Text]]] = {
    "context": _context,
    "files": _file,
    "health": _health,
    "memory": _memory,
    "sessions": _session,
    "skills": _skill,
    "tree": _tree,
}


def _notebook(path: str, text: str) -> Text:
    return Text(uri=f"{SCHEME}files/{quote(path)}", text=text, kind=_MARKDOWN)


def _tool(tools: dict[str, Offered], name: str) -> Offered:
    """Return a tool, if the agent has it: what its model may not do is not done by another way."""
    if name not in tools:
        raise NoSuchResource(name)
    return tools[name]


def _pages(tool: Offered, asked: dict[str, str], path: str) -> str:
    """Return all pages of a text as one; where it changes meanwhile, they would be of two."""
    texts: list[str] = []
    line: int | None = 1
    column, size, digest = 1, 0, None
    while line is not None:
        page = tool.tool.call({**asked, "offset": line, "column": column})
        if texts and page.get("digest") != digest:
            raise Stale(path, expected=digest, found=page.get("digest"))
        digest = page.get("digest")
        texts.append(page["text"])
        size += len(page["text"])
        if size > LARGEST:
            raise TooLargeToSend(path)
        line, column = page["more"], page["more_column"]
    return "".join(texts)


def _json(value: object) -> Text:
    return Text(uri="", text=plainjson.dumps(value).decode())


def _kind_of(path: str) -> str:
    return _MARKDOWN if path.lower().endswith((".md", ".markdown")) else _PLAIN


def _decoded(uri: str, rest: str) -> str:
    try:
        return unquote(rest, errors="strict")
    except UnicodeDecodeError:
        raise NoSuchResource(uri) from None
