"""Every way in which somebody can name a file: the library, tools, memory tool, command line, HTTP, MCP, import, hooks."""

import io
import json
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.testclient import TestClient
from tests.stubs.clients import talk
from tests.torture.desk import Desk

from carrel.app import Workspace
from carrel.backing import restore
from carrel.cli.main import run
from carrel.clock import FixedClock
from carrel.http.app import build
from carrel.http.served import Served
from carrel.importing import bring_in
from carrel.importing.piece import OBSIDIAN
from carrel.mcp.seat import Seat
from carrel.mcp.server import build as build_mcp
from carrel.workspace.scope import Scope

Way = Callable[[str], str]
"""Takes a path, and returns all that was answered; what is refused is a CarrelError, or an answer that says so."""

_TOKEN = "t" * 43
_NOW = datetime(2026, 4, 24, 12, tzinfo=UTC)
_TEXT = "Written here.\n"
_SERVER_FAULT = 500
_READS = ("files/{}", "preview/{}", "tree?path={}", "context/explain/{}", "memory/sections?file={}", "skills/{}",
          "memory/section?file={}&section=Notes", "sessions/{}", "sessions/{}/entries", "namespaces/{}/export")  # fmt: skip


class OursToAnswer(Exception):
    """An answer that puts the blame on us."""


@contextmanager
def ways_into(desk: Desk) -> Iterator[dict[str, Way]]:
    """Open a desk in every way, and yield what can be done with a path; `environ` is the process's own."""
    with ExitStack() as stack:
        workspace = stack.enter_context(desk.open())
        served = stack.enter_context(Served([desk.root], open=lambda _, agent: _opened(desk, agent)))
        app = build(served, token=_TOKEN, clock=FixedClock(_NOW), hosts=("testserver",))
        client = stack.enter_context(TestClient(app, raise_server_exceptions=False))
        yield {
            **_library(desk, workspace),
            **_tools(workspace),
            **_commands(desk.root),
            **_requests(client),
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
    memory: dict[str, dict[str, Any]] = {
        "view": {"path": 0},
        "create": {"path": 0, "file_text": _TEXT},
        "insert": {"path": 0, "insert_line": 0, "insert_text": _TEXT},
        "delete": {"path": 0},
        "rename": {"old_path": "/memories/x.md", "new_path": 0},
    }
    ways: dict[str, Way] = {}
    for name, more in asked.items():
        ways[f"tool {name}"] = lambda path, name=name, more=more: str(tools.call(name, _filled(more, path)))
    for command, more in memory.items():
        ways[f"memory {command}"] = lambda path, command=command, more=more: str(
            tools.call("memory", {"command": command, **_filled(more, f"/memories/{path}")})
        )
    return ways


def _filled(arguments: dict[str, Any], path: str) -> dict[str, Any]:
    return {key: path if value == 0 and key != "insert_line" else value for key, value in arguments.items()}


def _commands(root: Path) -> dict[str, Way]:
    asked = {
        "cat": ("files", "cat", "{}"),
        "tree": ("files", "tree", "{}"),
        "put": ("files", "put", "{}"),
        "rm": ("files", "rm", "{}"),
        "mv": ("files", "mv", "knowledge/k.md", "{}"),
        "mv from": ("files", "mv", "{}", "knowledge/moved.md"),
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
    return said


def _requests(client: TestClient) -> dict[str, Way]:
    def ask(method: str, address: str, path: str, **body: Any) -> str:
        # Twice: as a client has to write it, and as it stands.
        said = ""
        for written in (quote(path, safe="/", errors="surrogatepass"), path):
            if not written.isascii() or not written.isprintable():
                continue
            answer = client.request(
                method,
                f"/api/v1/w/default/{address.format(written)}",
                headers={"Authorization": f"Bearer {_TOKEN}"},
                **body,
            )
            if answer.status_code >= _SERVER_FAULT:
                raise OursToAnswer(f"{answer.status_code} {answer.text[:300]}")
            said += answer.text
        return said

    message = {"messages": [{"role": "user", "content": "Hello."}]}
    return {
        **{f"http {address}": lambda path, address=address: ask("GET", address, path) for address in _READS},
        "http put": lambda path: ask("PUT", "files/{}", path, content=_TEXT),
        "http delete": lambda path: ask("DELETE", "files/{}", path),
        "http move": lambda path: ask(
            "POST", "files:move", "", json={"source": "knowledge/k.md", "target": _plain(path)}
        ),
        "http record": lambda path: ask("POST", "sessions/{}/entries", path, json=message),
        "http section": lambda path: ask(
            "POST", "memory/section?file={}&section=N", path, json={"text": "x"}
        ),
    }


def _plain(path: str) -> str:
    return path.encode("utf-8", "replace").decode()


def _protocol(workspace: Workspace) -> dict[str, Way]:
    server = build_mcp(lambda _: Seat(workspace=workspace, scope=Scope.MAIN, may_write=True))

    def ask(work: Callable[[Any], Any]) -> str:
        try:
            return str(talk(server, work))
        except Exception as error:
            leaves = list(_leaves(error))
            if any(type(each).__name__ not in ("MCPError", "ValidationError") for each in leaves):
                raise
            return str(leaves)

    return {
        "mcp read": lambda path: ask(lambda client: client.call_tool("file_read", {"path": _plain(path)})),
        "mcp list": lambda path: ask(lambda client: client.call_tool("file_list", {"path": _plain(path)})),
        "mcp write": lambda path: ask(
            lambda client: client.call_tool("file_write", {"path": _plain(path), "content": _TEXT})
        ),
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
