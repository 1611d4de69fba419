"""The long way to a hook's answer: the context assembled, or lines to recall gathered, and kept."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from carrel.adapters.harness import recall
from carrel.adapters.harness.brief import brief
from carrel.adapters.harness.keeping import Head, keep
from carrel.adapters.harness.kept import Kept
from carrel.adapters.harness.wire import Asked
from carrel.app import Workspace
from carrel.errors import CarrelError
from carrel.files import READ_LIMIT, Content, Entry, Part
from carrel.files import Stamp as FileStamp
from carrel.files.local import LocalFiles
from carrel.home.local import LocalHome
from carrel.markdown.frontmatter import parse
from carrel.opening import open_workspace, pick_agent, time_zone
from carrel.workspace.detect import DEFAULT_LAYOUT
from carrel.workspace.ignore import find_rules
from carrel.workspace.layout_places import USER_FOLDER, described_in
from carrel.workspace.manifest import MANIFEST_FILE
from carrel.workspace.tiers import MEMORY, standing_of

_MOST_FILES = 5_000
_MOST_BYTES = 8 * 1024 * 1024
_LARGEST = 256 * 1024
_SHORTEST_LINE = 8
_MARKDOWN = (".md", ".markdown", ".txt")


class NotingFiles(LocalFiles):
    """The files of a directory, which notes every path that somebody looks at."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.noted: dict[str, None] = {}

    def read(self, path: str, *, limit: int = READ_LIMIT) -> Content | None:
        """Return the content, as any store does."""
        self.noted[path] = None
        return super().read(path, limit=limit)

    def part(self, path: str, start: int, size: int) -> Part | None:
        """Return some of the content, as any store does."""
        self.noted[path] = None
        return super().part(path, start, size)

    def stamps(self, paths: Sequence[str]) -> list[FileStamp | None]:
        """Return the stamps, as any store does."""
        self.noted.update(dict.fromkeys(paths))
        return super().stamps(paths)

    def list(self, under: str = "") -> list[Entry]:
        """Return the entries, as any store does."""
        self.noted[under] = None
        return super().list(under)


class Gathered(Struct, frozen=True, kw_only=True):
    """An answer made anew, and what a person should know of it."""

    answer: Kept
    cut: tuple[str, ...] = ()
    """What was left out to fit the harness."""
    notes: tuple[str, ...] = ()


def gather(root: str, asked: Asked, *, environ: Mapping[str, str], key: list[str]) -> Gathered:
    """Make what is told at an event, and keep it where a later change can be seen: in a directory."""
    began_ns = time.time_ns()
    opened = open_workspace(root, environ=environ)
    chosen = pick_agent(opened.config.settings, asked.agent or None)
    own = opened.moved_to(chosen.workspace)
    if not isinstance(own.home, LocalHome):
        with Workspace(own, chosen, base=opened) as workspace:
            return _gathered(workspace, asked)
    files = NotingFiles(own.home.root)
    with Workspace(replace(own, files=files), chosen, base=opened) as workspace:
        gathered = _gathered(workspace, asked)
        looked_at = [*_outside(workspace, root), *(str(own.home.root / path) for path in files.noted)]
        until = 0 if environ.get("CARREL_NOW") else _end_of_day(workspace)
        head = Head(key=key, until=until, cache=workspace.config.directories.cache / "hooks")
        with suppress(CarrelError, OSError):  # then the next hook takes the long way too
            keep(own.home, gathered.answer, head, paths=looked_at, began_ns=began_ns)
    return gathered


def _gathered(workspace: Workspace, asked: Asked) -> Gathered:
    if asked.event == "session-start":
        told = brief(workspace, asked.harness, asked.scope)
        return Gathered(answer=Kept(told.text, b"", b""), cut=told.cut)
    lines, notes = _lines(workspace, asked.scope)
    return Gathered(answer=Kept("", *recall.build(lines)), notes=notes)


def _outside(workspace: Workspace, root: str) -> Iterator[str]:
    """Yield what decides about an answer and is not read through the agent's own store."""
    directories = workspace.config.directories
    yield from (os.path.join(root, name) for name in ("", "carrel.yaml", MANIFEST_FILE))  # noqa: PTH118 - may be ""
    yield from (str(directories.config / "config.yaml"), str(directories.data / "trust.json"))
    layout = workspace.config.settings.layout or DEFAULT_LAYOUT
    yield from map(str, described_in(layout, Path(root), directories.config / USER_FOLDER))
    namespaces = directories.data / "namespaces"
    for folder, _, names in os.walk(namespaces):
        yield folder
        yield from (os.path.join(folder, name) for name in names)  # noqa: PTH118 - of os.walk
    yield str(namespaces)


def _end_of_day(workspace: Workspace) -> int:
    """Return when the day ends in the workspace's time zone, in nanoseconds: answers may name it."""
    now = workspace.config.clock.now().astimezone(time_zone(workspace.config.settings.time_zone))
    day = datetime(now.year, now.month, now.day, tzinfo=now.tzinfo)
    return int((day + timedelta(days=1)).timestamp()) * 1_000_000_000


def _lines(workspace: Workspace, scope: str) -> tuple[list[tuple[str, int, str]], tuple[str, ...]]:
    """Return the lines of memory and knowledge that this scope may be reminded of."""
    if not workspace.agent.memory_enabled:
        return [], ()
    found: list[tuple[str, int, str]] = []
    read = files = 0
    for path in _paths(workspace, scope):
        text = _text(workspace, path, scope)
        read, files = read + len(text), files + 1
        if files > _MOST_FILES or read > _MOST_BYTES or len(found) >= recall.MOST_LINES:
            return found[: recall.MOST_LINES], (
                f"memory from {path} on is too much to be recalled by a hook",
            )
        found += _statements(path, text)
    return found, ()


def _paths(workspace: Workspace, scope: str) -> list[str]:
    """Return the files of memory and knowledge, the agent's own before days, the newest day first."""
    agents = [workspace.agent.id]
    home = workspace.layout.home
    ignored = find_rules(workspace.assembler.ground.documents.reading())
    listed = [
        f"{home}MEMORY.md",
        f"{home}USER.md",
        f"agents/{workspace.agent.id}/memory.md",
        *workspace.list_memory(scope=scope),
        *workspace.list_knowledge(scope=scope),
    ]
    standing = {path: standing_of(path, workspace.layout, agents) for path in dict.fromkeys(listed)}
    wanted = [
        path
        for path, where in standing.items()
        if path.endswith(_MARKDOWN)
        and (where.tier in MEMORY or where.tier == "knowledge")
        and not ignored(path)
    ]
    newest = sorted((path for path in wanted if standing[path].date), key=lambda path: standing[path].date)
    return [*(path for path in wanted if not standing[path].date), *reversed(newest)]


def _text(workspace: Workspace, path: str, scope: str) -> str:
    with suppress(CarrelError):  # what cannot be read, or is hidden, reminds of nothing
        text = workspace.read(path, scope=scope) or ""
        return text if len(text) <= _LARGEST else ""
    return ""


def _statements(path: str, text: str) -> Iterator[tuple[str, int, str]]:
    body = parse(text).body
    first = text.count("\n") - body.count("\n") + 1
    for number, line in enumerate(body.split("\n"), first):
        stated = line.strip().lstrip("-*+>").strip()
        if len(stated) >= _SHORTEST_LINE and not stated.startswith(("#", "<!--", "```", "|--")):
            yield path, number, stated
