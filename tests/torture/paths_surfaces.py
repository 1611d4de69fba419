"""Every way to name a file: the library, tools, memory tool, command line, HTTP, pages, MCP, import, hooks."""

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.stubs.clients import talk
from tests.torture import wire
from tests.torture.desk import Desk

from carrel.app import Workspace
from carrel.backing import restore
from carrel.cli.main import run
from carrel.clock import FixedClock
from carrel.errors import CarrelError
from carrel.http.app import build
from carrel.http.guard import LOOPBACK
from carrel.http.served import Served
from carrel.importing import bring_in
from carrel.importing.piece import OBSIDIAN
from carrel.mcp.seat import Seat
from carrel.mcp.server import build as build_mcp
from carrel.tools.registry import Registry
from carrel.workspace.namespace import SUFFIX
from carrel.workspace.scope import Scope

Way = Callable[[str], str]
"""Takes a path, and returns all that was answered; what is refused is a CarrelError, or `SaidNo`."""

_TOKEN = "t" * 43
_NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
_TEXT = "Written here.\n"
_MINE, _TAKEN, _MOVED = "/memories/mine.md", "/memories/taken.md", "knowledge/moved.md"
_REFUSED, _SERVER_FAULT = 400, 500
_API, _EXPLORER = "/api/v1/w/default/", "/w/default/"
_READS = ("files/{}", "preview/{}", "tree?path={}", "context/explain/{}", "memory/sections?file={}", "skills/{}",
          "memory/section?file={}&section=Notes", "sessions/{}", "sessions/{}/entries", "namespaces/{}/export", "sessions/{}/export",
          "sessions/{}/forecast", "self?agent={}", "context/report?session={}", "skills:lint?name={}")  # fmt: skip
_SHOWN = ("files/{}", "files/{}?tab=edit", "files/{}?tab=history", "tree/{}", "totals/{}", "context/explain/{}", "sessions/{}",
          "sessions/{}?view=window", "memory/section?file={}&section=Notes", "context?session={}", "overview?agent={}")  # fmt: skip
PAGES = "page "
"""How the ways begin that are pages of the explorer."""


class Asked(NamedTuple):
    """A request that has a path in its address, or in what it brings."""

    method: str
    address: str
    brings: Callable[[str], Any] = lambda _: None


_SAID = {"messages": [{"role": "user", "content": "Hello."}]}
_SECTION = f"{_API}memory/section?file={{}}&section="
REQUESTS: dict[str, Asked] = {
    **{f"http {address}": Asked("GET", f"{_API}{address}") for address in _READS},
    "http workspace": Asked("GET", "/api/v1/w/{}/files/AGENTS.md"),
    "http put": Asked("PUT", f"{_API}files/{{}}", lambda _: _TEXT),
    "http delete": Asked("DELETE", f"{_API}files/{{}}"),
    "http move": Asked(
        "POST", f"{_API}files:move", lambda path: {"source": "knowledge/k.md", "target": path}
    ),
    "http move from": Asked("POST", f"{_API}files:move", lambda path: {"source": path, "target": _MOVED}),
    "http record": Asked("POST", f"{_API}sessions/{{}}/entries", lambda _: _SAID),
    "http describe": Asked("PATCH", f"{_API}sessions/{{}}", lambda _: {"title": "Titled."}),
    "http compact": Asked("POST", f"{_API}sessions/{{}}:compact", lambda _: {"dry_run": True}),
    "http fork": Asked("POST", f"{_API}sessions/{{}}:fork", lambda _: {}),
    "http fork to": Asked("POST", f"{_API}sessions/s1:fork", lambda path: {"to": path}),
    "http prepare": Asked("POST", f"{_API}context:prepare", lambda path: {"session": path}),
    "http assemble": Asked("POST", f"{_API}context:assemble", lambda path: {"session": path}),
    "http remove": Asked("DELETE", f"{_API}sessions/{{}}"),
    "http tool": Asked("POST", f"{_API}tools/{{}}:call", lambda _: {"arguments": {}}),
    "http tool session": Asked(
        "POST", f"{_API}tools/who_am_i:call", lambda path: {"arguments": {}, "session": path}
    ),
    "http namespace": Asked("PATCH", f"{_API}namespaces/{{}}", lambda _: {"title": "Plain"}),
    "http section": Asked("POST", f"{_SECTION}N", lambda _: {"text": "x"}),
    "http section replace": Asked("PUT", f"{_SECTION}Notes", lambda _: {"text": _TEXT}),
    "http section move": Asked("PATCH", f"{_SECTION}Notes", lambda _: {"after": ""}),
    "http section rename": Asked("PATCH", f"{_SECTION}Notes", lambda _: {"heading": "Notices"}),
    **{f"{PAGES}{address}": Asked("GET", f"{_EXPLORER}{address}") for address in _SHOWN},
    f"{PAGES}workspace": Asked("GET", "/w/{}/files"),
    f"{PAGES}static": Asked("GET", "/static/{}"),
}
"""The requests among the ways; a test holds that no address with something of a path in it is missing."""

_HARMLESS = {
    "library list": "knowledge", "library write": "new/1.md", "library session": "s1", "library prompt": "s1", "library agent": "kate",
    "tool list_files": "knowledge", "tool write_file": "new/2.md", "tool memory_get": "MEMORY.md", "tool skill_read": "good",
    "tool skill_read file": "more.md", "memory view": "x.md", "memory create": "new-1.md", "memory insert": "x.md",
    "memory rename": "new-2.md", "memory delete": "new-1.md", "cli tree": "knowledge", "cli put": "new/3.md", "cli mv": "new/4.md",
    "cli record": "s1", "cli export": "s1", "cli hook": "s1", "http tree?path={}": "knowledge", "http skills/{}": "good",
    "http sessions/{}": "s1", "http sessions/{}/entries": "s1", "http put": "new/5.md", "http move": "new/6.md", "http record": "s1",
    "http namespaces/{}/export": "plain", "http sessions/{}/export": "s1", "http sessions/{}/forecast": "s1", "http self?agent={}": "kate",
    "http context/report?session={}": "s1", "http skills:lint?name={}": "good", "http workspace": "default", "http describe": "s1",
    "http compact": "long", "http fork": "s1", "http fork to": "forked", "http prepare": "s1", "http assemble": "s1", "http remove": "gone",
    "http tool": "who_am_i", "http tool session": "s1", "http namespace": "plain", "http section rename": "memory/x.md",
    "page tree/{}": "knowledge", "page totals/{}": "knowledge", "page sessions/{}": "s1", "page sessions/{}?view=window": "s1",
    "page context?session={}": "s1", "page overview?agent={}": "kate", "page workspace": "default", "page static": "carrel.css",
    "memory str_replace": "x.md", "memory rename from": "new-2.md", "mcp list": "knowledge", "mcp write": "new/7.md", "mcp memory": "MEMORY.md", "mcp skill": "good", "mcp skill file": "more.md",
}  # fmt: skip
"""What each way is tried with first, where it is not a file that everybody may change."""


class SaidNo(Exception):
    """An answer that refuses something; all of it is in this."""


class OursToAnswer(Exception):
    """An answer that puts the blame on us."""


def harmless(way: str) -> str:
    """Return a path with which a way does what it is for, once."""
    return _HARMLESS.get(way, "knowledge/k.md")


@contextmanager
def ways_into(desk: Desk) -> Iterator[dict[str, Way]]:
    """Open a desk in every way, and yield what can be done with a path; `environ` is the process's own."""
    space = desk.home / f"data/namespaces/plain{SUFFIX}"
    space.parent.mkdir(parents=True, exist_ok=True)
    space.write_text("---\ntitle: Plain\n---\nKnown.\n")
    with ExitStack() as stack:
        workspace = stack.enter_context(desk.open())
        served = stack.enter_context(Served([desk.root], open=lambda _, agent: _opened(desk, agent)))
        app = build(served, token=_TOKEN, clock=FixedClock(_NOW), hosts=LOOPBACK)
        workspace.record("gone", [{"role": "user", "content": "To be removed."}])
        workspace.record(
            "long", [{"role": role, "content": "Said. " * 1_000} for role in ("user", "assistant") * 20]
        )
        port = stack.enter_context(wire.at_a_port(app, log_level="critical"))
        yield {
            **_library(desk, workspace),
            **_tools(workspace),
            **_commands(desk.root),
            **_requests(desk.root, port),
            **_protocol(workspace),
            **_imports(desk, workspace),
        }


def _opened(desk: Desk, agent: str | None) -> Workspace:
    return Workspace.open(desk.root, agent=agent, team=agent is None, environ=desk.environ)


def _library(desk: Desk, workspace: Workspace) -> dict[str, Way]:
    def notebook(path: str) -> str:
        return str(workspace.memory.notebook(path).append("Notes", "- x"))

    def said(path: str) -> str:
        return str(workspace.record(path, [{"role": "user", "content": "Hello."}]))

    return {
        "library read": lambda path: str(workspace.read(path)),
        "library list": lambda path: str(workspace.list(path)),
        "library write": lambda path: str(workspace.write(path, _TEXT, expect=None)),
        "library append": lambda path: str(workspace.append(path, _TEXT)),
        "library explain": lambda path: str(workspace.explain(path)),
        "library notebook": notebook,
        "library session": said,
        "library prompt": lambda path: workspace.assemble(path, "secret").to_text(),
        "library agent": lambda path: str(_opened(desk, path).close()),
    }


def _tools(workspace: Workspace) -> dict[str, Way]:
    tools = workspace.tools(session="s1")
    asked: dict[str, dict[str, Any]] = {
        "read_file": {"path": 0},
        "list_files": {"under": 0},
        "write_file": {"path": 0, "content": _TEXT},
        "edit_file": {"path": 0, "old": "Secret", "new": "x"},
        "memory_get": {"path": 0},
        "skill_read": {"name": 0},
    }
    files = {"name": "good", "file": 0}
    memory: dict[str, dict[str, Any]] = {
        "view": {"path": 0},
        "create": {"path": 0, "file_text": _TEXT},
        "str_replace": {"path": 0, "old_str": "Secret", "new_str": "Known"},
        "insert": {"path": 0, "insert_line": 0, "insert_text": _TEXT},
        "delete": {"path": 0},
    }
    ways: dict[str, Way] = {}
    for name, more in asked.items():
        ways[f"tool {name}"] = lambda path, name=name, more=more: str(tools.call(name, _filled(more, path)))
    for command, more in memory.items():
        ways[f"memory {command}"] = lambda path, command=command, more=more: str(
            tools.call("memory", {"command": command, **_filled(more, f"/memories/{path}")})
        )
    return {
        **ways,
        "tool skill_read file": lambda path: str(tools.call("skill_read", _filled(files, path))),
        "memory rename": lambda path: _renamed(tools, path),
        "memory rename from": lambda path: _renamed_from(tools, path),
    }


def _renamed(tools: Registry, path: str) -> str:
    """Move a note that is the agent's own: any other stays where it is, wherever it should go."""
    with suppress(CarrelError):  # it is there already
        tools.call("memory", {"command": "create", "path": _MINE, "file_text": _TEXT})
    return str(
        tools.call("memory", {"command": "rename", "old_path": _MINE, "new_path": f"/memories/{path}"})
    )


def _renamed_from(tools: Registry, path: str) -> str:
    with suppress(CarrelError):  # of the last time, which would be in the way
        tools.call("memory", {"command": "delete", "path": _TAKEN})
    return str(
        tools.call("memory", {"command": "rename", "old_path": f"/memories/{path}", "new_path": _TAKEN})
    )


def _filled(arguments: dict[str, Any], path: str) -> dict[str, Any]:
    return {key: path if value == 0 and key != "insert_line" else value for key, value in arguments.items()}


def _commands(root: Path) -> dict[str, Way]:
    asked = {
        "cat": ("files", "cat", "{}"),
        "tree": ("files", "tree", "{}"),
        "put": ("files", "put", "{}"),
        "rm": ("files", "rm", "{}"),
        "mv": ("files", "mv", "knowledge/k.md", "{}"),
        "mv from": ("files", "mv", "{}", _MOVED),
        "explain": ("context", "explain", "{}"),
        "sections": ("memory", "sections", "{}"),
        "append": ("memory", "append", "{}", "Notes", "- x"),
        "record": ("sessions", "record", "--session", "{}"),
        "export": ("sessions", "export", "{}"),
        "hook": ("hook", "stop", "--harness", "claude", "--scope", "main"),
    }

    given = {"record": json.dumps({"role": "user", "content": "Hello."})}

    def command(words: tuple[str, ...], path: str) -> str:
        text = given.get(words[1], _TEXT)
        (root / _MOVED).unlink(missing_ok=True)  # of the last time, which would be in the way
        if words[0] == "hook":
            text = json.dumps({"session_id": path, "cwd": path, "prompt": path})
        return _ran(["-C", str(root), "--json", *(path if word == "{}" else word for word in words)], text)

    return {f"cli {name}": lambda path, words=words: command(words, path) for name, words in asked.items()}


def _ran(words: list[str], given: str) -> str:
    """Run a command in this process, and return all that it said."""
    before = sys.stdin, sys.stdout, sys.stderr
    out = io.BytesIO()
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "surrogatepass")))
    sys.stdout = sys.stderr = io.TextIOWrapper(out, "utf-8", "surrogateescape", write_through=True)
    try:
        code = run(words)
        said = out.getvalue().decode("utf-8", "replace")
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    if code not in range(7) or "Traceback" in said or '"internal"' in said:
        raise OursToAnswer(f"{code} {said[-300:]}")
    if code:
        raise SaidNo(said)
    return said


def _requests(root: Path, port: int) -> dict[str, Way]:
    def ask(asked: Asked, path: str) -> str:
        """Ask twice where the address has the path: as a client has to write it, and as it stands."""
        (root / _MOVED).unlink(missing_ok=True)  # of the last time, which would be in the way
        spelled = _written(path) if "{}" in asked.address else [""]
        body = asked.brings(_plain(path))
        answers = [_asked(port, asked.method, asked.address.replace("{}", each), body) for each in spelled]
        said = "".join(answer.text for answer in answers)
        if all(answer.status >= _REFUSED for answer in answers):
            raise SaidNo(said)
        return said

    return {name: lambda path, asked=asked: ask(asked, path) for name, asked in REQUESTS.items()}


def _written(path: str) -> list[str]:
    """Return a path as an address holds it, and as it is where one can hold that."""
    quoted = quote(path, safe="/", errors="surrogatepass")
    return [quoted, path] if path.isprintable() and " " not in path and path != quoted else [quoted]


def _asked(port: int, method: str, address: str, body: Any) -> wire.Answer:
    data = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    if data and not isinstance(body, str):
        headers["Content-Type"] = "application/json"
    answer = wire.send(port, method, address.encode(), headers, data.encode())
    if answer.status >= _SERVER_FAULT:
        raise OursToAnswer(f"{answer.status} {answer.text[:300]}")
    return answer


def _plain(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def _protocol(workspace: Workspace) -> dict[str, Way]:
    server = build_mcp(lambda _: Seat(workspace=workspace, scope=Scope.MAIN, may_write=True))

    def ask(work: Callable[[Any], Any]) -> str:
        try:
            answer = talk(server, work)
        except Exception as error:
            leaves = list(_leaves(error))
            if any(type(each).__name__ not in ("MCPError", "ValidationError") for each in leaves):
                raise
            raise SaidNo(str(leaves)) from None
        if getattr(answer, "is_error", False):
            raise SaidNo(str(answer))
        return str(answer)

    def call(tool: str, **arguments: str) -> str:
        return ask(lambda client: client.call_tool(tool, arguments))

    return {
        "mcp read": lambda path: call("file_read", path=_plain(path)),
        "mcp list": lambda path: call("file_list", under=_plain(path)),
        "mcp write": lambda path: call("file_write", path=_plain(path), content=_TEXT),
        "mcp memory": lambda path: call("memory_get", path=_plain(path)),
        "mcp skill": lambda path: call("skill_activate", name=_plain(path)),
        "mcp skill file": lambda path: call("skill_activate", name="good", file=_plain(path)),
        "mcp resource": lambda path: ask(
            lambda client: client.read_resource(f"workspace://files/{quote(_plain(path))}")
        ),
    }


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _leaves(each)
    else:
        yield error


def _imports(desk: Desk, workspace: Workspace) -> dict[str, Way]:
    source = desk.home / "source"

    def vault(path: str) -> str:
        """Import a folder in which a note is a link that says where the path says."""
        source.mkdir(parents=True, exist_ok=True)
        (source / "note.md").write_text("# Note\n\nText.\n")
        link = source / "linked.md"
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(path or "x")
        except (OSError, ValueError):
            return ""  # no link can say this
        return str(bring_in(workspace, source, kind=OBSIDIAN))

    def bundle(path: str) -> str:
        """Restore an export that says of a file that it belongs where the path says."""
        data, place = _TEXT.encode(), desk.home / "bundle.zip"
        row = {
            "part": "files",
            "path": path,
            "entry": "files/x.md",
            "size": len(data),
            "sha256": sha256(data).hexdigest(),
        }
        told = {"schema_version": 1, "kind": "carrel.bundle", "layout": "carrel", "scope": "main", "hidden": 0,
                "folders": [""], "left_out": [], "files": [row], "tables": []}  # fmt: skip
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr("manifest.json", json.dumps(told))
            archive.writestr("files/x.md", data)
        target = desk.home / "restored"
        shutil.rmtree(target, ignore_errors=True)
        return str(restore(place, target, environ=desk.environ))

    return {"import vault": vault, "import bundle": bundle}
