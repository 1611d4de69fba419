"""Opening a workspace: what its own files say, and which agent is meant."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from carrel import plainyaml
from carrel.config import DETECTED, WORKSPACE_FILE, Config, load_config, user_directories
from carrel.errors import CarrelError, NotFound, Unavailable, UsageError
from carrel.files import FileStore
from carrel.findings import Finding
from carrel.home import Home
from carrel.home.address import is_address, is_foreign, parse_address, scheme_of
from carrel.home.local import absolute, open_home
from carrel.settings import AgentSettings, Settings
from carrel.tokens import VOCABULARIES, describe_model
from carrel.workspace.detect import DEFAULT_LAYOUT, detect_layout
from carrel.workspace.layout import LAYOUTS, Layout
from carrel.workspace.layout_places import USER_FOLDER, find_layout, is_file
from carrel.workspace.manifest import MANIFEST_FILE, MANIFEST_LIMIT, Manifest, parse_manifest

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


class Opened(Struct, frozen=True, kw_only=True):
    """A workspace and what its own files and its user's say of it."""

    home: Home
    files: FileStore
    config: Config
    manifest: Manifest | None
    noticed: tuple[Finding, ...]
    lower: FileStore | None = None
    """What is read where this workspace has nothing."""
    environ: Mapping[str, str] = {}
    """Where keys of providers are."""

    def moved_to(self, folder: str | None) -> "Opened":
        """Return the same settings over the home that an agent has for itself, if it has one."""
        if not folder:
            return self
        home = self.home.moved_to(folder)
        return replace(self, home=home, files=self.over(home.files))

    def over(self, upper: FileStore) -> FileStore:
        """Return a store with the lower layer, if there is one, read as settings and layout say."""
        if self.lower is None:
            return upper
        settings = self.config.settings
        layout = self.find_layout(settings.layout or DEFAULT_LAYOUT)
        return _layered(upper, self.lower, settings.overlay.fallthrough or layout.fallthrough)

    def find_layout(self, name: str) -> Layout:
        """Return the layout of a name, wherever it comes from."""
        return find_layout(name, self.files, self.config.directories.config / USER_FOLDER)


def open_workspace(
    path: str | os.PathLike[str],
    *,
    environ: Mapping[str, str],
    layout: str | None = None,
    lower: str | os.PathLike[str] | None = None,
) -> Opened:
    """Read what a workspace says of itself; nothing in it is executed or written.

    With a `lower` one, what is absent here is read from there.
    """
    home = find_home(path, environ)
    below = find_home(lower, environ).files if lower is not None else None
    files = _layered(home.files, below, "absent")
    manifest, noticed = read_manifest(files)
    config = load_config(
        home.approvals,
        read_settings(files),
        environ=environ,
        directories=user_directories(environ),
        clock=home.clock,
        manifest=(MANIFEST_FILE, manifest.settings()) if manifest else None,
        flags={"layout": layout},
        detect_layout=lambda: detect_layout(files, home.location),
    )
    opened = Opened(
        home=home.owned(known=config.known),
        files=files,
        config=config,
        manifest=manifest,
        noticed=noticed,
        lower=below,
        environ=environ,
    )
    return replace(opened, files=opened.over(home.files))


def find_home(path: str | os.PathLike[str], environ: Mapping[str, str]) -> Home:
    """Return where a workspace lives: in a directory, or where its address says."""
    directories = user_directories(environ)
    if not is_address(path):
        return open_home(absolute(path), directories)
    plainyaml.remember_in(None)  # nothing of what is there is kept on this machine
    if is_foreign(path):
        from carrel.home.stored import open_stored  # noqa: PLC0415 - few workspaces are in a store of others

        return open_stored(os.fspath(path), environ, directories)
    from carrel.config.remote import find_remote  # noqa: PLC0415 - few workspaces are in a database
    from carrel.home.postgres import open_remote  # noqa: PLC0415 - as above

    return open_remote(parse_address(os.fspath(path)), find_remote(environ, directories))


def _layered(upper: FileStore, lower: FileStore | None, fallthrough: Literal["absent", "empty"]) -> FileStore:
    if lower is None:
        return upper
    from carrel.files.overlay import OverlayFiles  # noqa: PLC0415 - few workspaces have two layers

    return OverlayFiles(upper, lower, fallthrough=fallthrough)


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


def extensions_in_use(opened: Opened) -> Iterator[Finding]:
    """Yield which extensions the settings in force and the address name, and which of them are not there."""
    from carrel.extensions import Sort, find  # noqa: PLC0415 - few have one
    from carrel.index.embed import KINDS  # noqa: PLC0415 - as above

    settings, directories = opened.config.settings, opened.config.directories
    own = (
        settings.layout is not None
        and (directories.config / USER_FOLDER / f"{settings.layout}.yaml").is_file()
    )
    named: list[tuple[Sort, str | None, Sequence[str]]] = [
        ("embedders", settings.search.embedder, ("auto", *KINDS)),
        ("tokenizers", settings.model.tokenizer, VOCABULARIES),
        ("stores", scheme_of(opened.home.location), ("pg",)),
        ("layouts", None if own or is_file(settings.layout or "") else settings.layout, LAYOUTS),
    ]
    for sort, name, known in named:
        if not name or name in known:
            continue
        try:
            told = f"The {sort[:-1]} is an extension: {find(sort, name, known=known)}."
            yield Finding(code="extension_in_use", severity="info", message=told)
        except CarrelError as error:
            yield Finding(code=error.code, severity="error", message=error.message, hint=error.hint)


def find_workspace(start: Path | None = None) -> Path:
    """Return the workspace that a command without -C means, seen from a directory, else the current one."""
    start = absolute("") if start is None else start
    for folder in (start, *start.parents):
        # One that may not be searched has nothing for this user, and is no reason to stop.
        if os.path.isfile(folder / WORKSPACE_FILE):  # noqa: PTH113 - pathlib's raises then
            return folder
    hidden = start / ".agentscope" / "workspace"
    return hidden if os.path.isdir(hidden) else start  # noqa: PTH112 - as above


_TRACES = frozenset(
    {
        WORKSPACE_FILE,
        MANIFEST_FILE,
        ".carrel",
        "agents",
        "knowledge",
        "memory",
        "skills",
        "subagents",
        "workspace",
    }
)


def is_bare(directory: Path) -> bool:
    """Tell whether a directory has neither a page nor a folder that an agent of any layout would have."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names are all that is needed
    except OSError:
        return False
    return not any(name.endswith(".md") or name in _TRACES for name in names)


def time_zone(name: str) -> tzinfo:
    """Return the zone in which days begin."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - most workspaces are in UTC

    return ZoneInfo(name)
