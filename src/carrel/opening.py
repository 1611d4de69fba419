"""Opening a directory: what its own files say, which agent is meant, and where its cache and state are."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, tzinfo
from hashlib import sha256
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel.config import DETECTED, WORKSPACE_FILE, Config, load_config, user_directories
from carrel.errors import CarrelError, NotFound, Unavailable, UsageError
from carrel.files import FileStore, Unreadable
from carrel.files.local import LinkOutside, LocalFiles
from carrel.files.resolve import RootMissing
from carrel.findings import Finding
from carrel.records.database import find_link
from carrel.settings import AgentSettings, Settings
from carrel.tokens import describe_model
from carrel.workspace.detect import DEFAULT_LAYOUT, detect_layout
from carrel.workspace.layout import Layout, load_layout
from carrel.workspace.manifest import MANIFEST_FILE, MANIFEST_LIMIT, Manifest, parse_manifest

STATE_FOLDER = ".carrel"
DEFAULT_AGENT = "main"
_SETTINGS_LIMIT = 1024 * 1024


class AgentRequired(UsageError):
    """Several agents are configured and none was named."""

    code = "agent_required"

    def __init__(self, known: Sequence[str]) -> None:
        super().__init__(
            f"This workspace has several agents: {', '.join(known)}.", hint="Name one with --agent."
        )


class UnknownAgent(NotFound):
    """No agent has this id."""

    code = "unknown_agent"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no agent {name!r}.", hint=f"Configured agents: {', '.join(known) or 'none'}."
        )


class UnreadableSettings(Unavailable):
    """carrel.yaml exists and is not text."""

    code = "unreadable_settings"


class Places(Struct, frozen=True, kw_only=True):
    """Where a workspace's own cache and state are kept.

    In a workspace that its owner trusts they live inside it, and `inside` is its directory; elsewhere reading
    leaves no trace in it.
    """

    cache: Path
    state: Path
    namespaces: Path
    inside: Path | None = None

    @property
    def records(self) -> Path:
        """The file of the records."""
        return self.state / "records.db"

    def claim(self) -> None:
        """Keep what Carrel is about to put into a workspace out of git; a failure shows when it is put."""
        if self.inside is None or os.path.lexists(self.inside / STATE_FOLDER / ".gitignore"):
            return
        with suppress(CarrelError, OSError):
            self.refuse_links(self.inside / STATE_FOLDER / ".gitignore")
            LocalFiles(self.inside).write(f"{STATE_FOLDER}/.gitignore", b"*\n", expect=None)

    def refuse_links(self, path: Path) -> None:
        """Make sure that nobody laid a link on the way to a file of ours."""
        if self.inside is not None and (odd := find_link(self.inside, path)):
            raise LinkOutside(odd)


class Opened(Struct, frozen=True, kw_only=True):
    """A directory and what its own files and its user's say of it."""

    root: Path
    files: FileStore
    config: Config
    manifest: Manifest | None
    noticed: tuple[Finding, ...]
    lower: FileStore | None = None
    """What is read where this directory has nothing."""
    environ: Mapping[str, str] = {}
    """Where keys of providers are."""

    @property
    def places(self) -> Places:
        """Where its cache and state are."""
        return find_places(self.root, self.config)

    def moved_to(self, folder: str | None) -> "Opened":
        """Return the same settings over the directory that an agent has for itself, if it has one."""
        if not folder:
            return self
        root = absolute(self.root / folder)
        return replace(self, root=root, files=self.over(open_files(root)))

    def over(self, upper: FileStore) -> FileStore:
        """Return a store with the lower layer, if there is one, read as settings and layout say."""
        settings = self.config.settings
        layout = load_layout(settings.layout or DEFAULT_LAYOUT)
        return _layered(upper, self.lower, settings.overlay.fallthrough or layout.fallthrough)


def open_directory(
    path: str | os.PathLike[str],
    *,
    environ: Mapping[str, str],
    layout: str | None = None,
    lower: str | os.PathLike[str] | None = None,
) -> Opened:
    """Read what a directory says of itself; nothing in it is executed or written.

    With a `lower` directory, what is absent here is read from there.
    """
    root = absolute(path)
    below = open_files(absolute(lower)) if lower is not None else None
    files = _layered(open_files(root), below, "absent")
    manifest, noticed = read_manifest(files)
    config = load_config(
        root,
        read_settings(files),
        environ=environ,
        directories=user_directories(environ),
        manifest=(MANIFEST_FILE, manifest.settings()) if manifest else None,
        flags={"layout": layout},
        detect_layout=lambda: detect_layout(files, str(root)),
    )
    opened = Opened(
        root=root,
        files=files,
        config=config,
        manifest=manifest,
        noticed=noticed,
        lower=below,
        environ=environ,
    )
    return replace(opened, files=opened.over(open_files(root)))


def _layered(upper: FileStore, lower: FileStore | None, fallthrough: Literal["absent", "empty"]) -> FileStore:
    if lower is None:
        return upper
    from carrel.files.overlay import OverlayFiles  # noqa: PLC0415 - few workspaces have two layers

    return OverlayFiles(upper, lower, fallthrough=fallthrough)


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path from the root of the file system, its links as the user wrote them."""
    try:
        return Path(os.path.abspath(path))  # noqa: PTH100 - pathlib has no way to take `..` away and no more
    except FileNotFoundError:
        raise RootMissing(os.fspath(path)) from None


def open_files(root: Path) -> LocalFiles:
    """Return the files below a directory."""
    try:
        return LocalFiles(root)
    except RuntimeError:  # pathlib's word for links that lead round in a circle
        raise Unreadable(str(root), "link_loop") from None
    except ValueError:  # a character that no path can have
        raise RootMissing(str(root)) from None


def read_settings(files: FileStore) -> str | None:
    """Return the text of carrel.yaml, none when there is none."""
    content = files.read(WORKSPACE_FILE, limit=_SETTINGS_LIMIT)
    if content is None:
        return None
    try:
        return content.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableSettings(f"{WORKSPACE_FILE} is not UTF-8.", hint="Save it as UTF-8.") from None


def read_manifest(files: FileStore) -> tuple[Manifest | None, tuple[Finding, ...]]:
    """Return the squad's manifest; a damaged one is a finding, since the files can still be read."""
    try:
        content = files.read(MANIFEST_FILE, limit=MANIFEST_LIMIT)
        return (parse_manifest(content.data) if content else None), ()
    except CarrelError as error:
        finding = Finding(
            code="corrupt_metadata",
            path=MANIFEST_FILE,
            message=error.message,
            severity="error",
            hint=error.hint,
        )
        return None, (finding,)


def pick_agent(settings: Settings, name: str | None) -> AgentSettings:
    """Return the agent asked for, else the only one, else a plain one called main."""
    known = {agent.id: agent for agent in settings.agents}
    if name is not None:
        if name in known or (not known and name == DEFAULT_AGENT):
            return known.get(name) or AgentSettings(id=name)
        raise UnknownAgent(name, list(known))
    if len(known) > 1:
        raise AgentRequired(list(known))
    return next(iter(known.values()), AgentSettings(id=DEFAULT_AGENT))


def team_of(settings: Settings) -> AgentSettings:
    """Return who stands for all agents that are at home here: what one of them has, this one has.

    It is no agent of its own: where one has its name, it is that one.
    """
    here = [agent for agent in settings.agents if agent.workspace is None]
    has_memory = not here or any(agent.memory_enabled for agent in here)
    same = (agent for agent in here if agent.id == DEFAULT_AGENT)
    team = next(same, AgentSettings(id=DEFAULT_AGENT, memory_enabled=has_memory))
    git = next((agent.workspace_git for agent in (team, *here) if agent.workspace_git.enabled), None)
    return replace(team, workspace_git=git or team.workspace_git)


def settle_layout(config: Config, remembered: Callable[[str | None], str | None]) -> str:
    """Return the name of the layout: as the settings say, else as remembered, else as the files give away."""
    named = config.settings.layout
    if named is not None and config.origins["layout"] != DETECTED:
        return named
    return remembered(named) or named or DEFAULT_LAYOUT


def stand_ins(settings: Settings, layout: Layout) -> dict[str, tuple[object, str]]:
    """Return what stands in for settings that nobody gave: the layout's word, and the model's."""
    model, own = describe_model(settings.model.name), f"layout {layout.name}"
    return {
        "layout": (layout.name, "this directory"),
        "budgets.file": (layout.limits.file, own),
        "budgets.total": (layout.limits.total, own),
        "overlay.fallthrough": (layout.fallthrough, own),
        "model.context_window": (model.window, "the model" if model.known else "an assumption"),
    }


def find_workspace(start: Path | None = None) -> Path:
    """Return the workspace that a command without -C means, seen from a directory, else the current one."""
    start = absolute("") if start is None else start
    for folder in (start, *start.parents):
        # One that may not be searched has nothing for this user, and is no reason to stop.
        if os.path.isfile(folder / WORKSPACE_FILE):  # noqa: PTH113 - pathlib's raises then
            return folder
    hidden = start / ".agentscope" / "workspace"
    return hidden if os.path.isdir(hidden) else start  # noqa: PTH112 - as above


def find_places(root: Path, config: Config) -> Places:
    """Return where a workspace's cache and state are: inside it only where its owner trusts it."""
    data = config.directories.data
    namespaces = data / "namespaces"
    if config.known:
        own = root / STATE_FOLDER
        return Places(cache=own / "cache", state=own / "state", namespaces=namespaces, inside=root)
    key = sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]
    return Places(
        cache=config.directories.cache / key, state=data / "workspaces" / key, namespaces=namespaces
    )


def time_zone(name: str) -> tzinfo:
    """Return the zone in which days begin."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - most workspaces are in UTC

    return ZoneInfo(name)
