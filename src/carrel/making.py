"""Making workspaces: a new one, what an old one lacks, and the trust that goes with it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from carrel.config import WORKSPACE_FILE, is_sensitive, read_clock, trust, user_directories
from carrel.errors import Conflict, NotFound, Unavailable, UsageError
from carrel.findings import Finding
from carrel.opening import (
    STATE_FOLDER,
    Opened,
    absolute,
    open_directory,
    open_files,
    read_manifest,
    read_settings,
    settle_layout,
)
from carrel.records.sqlite import SqliteRecords
from carrel.workspace.detect import DEFAULT_LAYOUT
from carrel.workspace.layout import load_layout
from carrel.workspace.manifest import MANIFEST_FILE, MANIFEST_LIMIT, new_manifest, parse_manifest
from carrel.workspace.scaffold import Scaffolded, restore_squad, scaffold


class CannotMakeWorkspace(UsageError):
    """There can be no directory at this place."""

    code = "cannot_make_workspace"

    def __init__(self, root: Path, error: OSError) -> None:
        super().__init__(
            f"Cannot make a workspace at {root}: {error.strerror}.", hint="Name another directory."
        )


class NoManifest(NotFound):
    """There is nothing to restore from."""

    code = "no_manifest"

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"{root} has neither {MANIFEST_FILE} nor {WORKSPACE_FILE}.",
            hint="`carrel init` makes a new workspace.",
        )


class Made(Struct, frozen=True, kw_only=True):
    """What was made, what was there before and stays untouched, and whether the whole is trusted.

    `findings` say what a person should look at before they trust it.
    """

    layout: str
    created: tuple[str, ...]
    kept: tuple[str, ...]
    trusted: bool
    agents: tuple[str, ...]
    findings: tuple[Finding, ...]


class LayoutDiffers(Conflict):
    """The directory is a workspace of another kind already; nothing was made."""

    code = "layout_differs"

    def __init__(self, root: Path, found: str, asked: str) -> None:
        super().__init__(
            f"{root} is a workspace of layout {found}, not {asked}.",
            hint="Leave out --layout to add what it lacks, or name another directory.",
        )


def init(
    path: str | os.PathLike[str], *, layout: str | None, version: str, environ: Mapping[str, str]
) -> Made:
    """Make a workspace in a directory, new or not; what exists is kept.

    Without a layout, of the kind that the directory is already, else of the default one. The result is
    trusted, unless what stood there before would decide something that needs trust.
    """
    if layout is not None:
        load_layout(layout)
    root = absolute(path)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotMakeWorkspace(root, error) from error
    opened = open_directory(root, environ=environ)
    found = opened.config.settings.layout
    says_so = opened.manifest is not None or opened.config.origins["layout"] == WORKSPACE_FILE
    if layout is not None and found is not None and says_so and found != layout:
        raise LayoutDiffers(root, found, layout)
    layout = layout or found or DEFAULT_LAYOUT
    harmless = _is_harmless(opened)
    if opened.manifest is not None:
        return _finished(root, restore_squad(opened.files, opened.manifest), environ, harmless=harmless)
    extra: list[tuple[str, bytes]] = []
    if layout == "squad":
        extra.append((MANIFEST_FILE, new_manifest(_name_of(root), read_clock(environ).now(), version)))
    return _finished(root, scaffold(opened.files, layout, extra), environ, harmless=harmless)


def restore(path: str | os.PathLike[str], *, environ: Mapping[str, str]) -> Made:
    """Bring back a workspace from its manifest: what is missing is made, what exists is kept."""
    opened = open_directory(path, environ=environ)
    harmless = _is_harmless(opened)
    content = opened.files.read(MANIFEST_FILE, limit=MANIFEST_LIMIT)
    if content is not None:
        made = restore_squad(opened.files, parse_manifest(content.data))
    elif read_settings(opened.files) is not None:
        made = scaffold(opened.files, settle_layout(opened.config, lambda _: _remembered(opened)))
    else:
        raise NoManifest(opened.root)
    return _finished(opened.root, made, environ, harmless=harmless)


def approve(path: str | os.PathLike[str], *, environ: Mapping[str, str]) -> None:
    """Trust a workspace as it is now."""
    root = absolute(path)
    files = open_files(root)
    manifest, _ = read_manifest(files)
    given = manifest.settings() if manifest else None
    trust(root, read_settings(files), user_directories(environ), manifest=given)


def _is_harmless(opened: Opened) -> bool:
    """Tell whether what stands here may be trusted unread: it is already, or there is nothing to it.

    A .carrel that came with the directory is a stranger's memory of it, to be looked at like settings.
    """
    if opened.config.trusted:
        return True
    given = opened.manifest.settings() if opened.manifest else None
    return not _is_foreign(opened) and not is_sensitive(read_settings(opened.files), manifest=given)


def _is_foreign(opened: Opened) -> bool:
    return not opened.config.known and os.path.lexists(opened.root / STATE_FOLDER)


def _finished(root: Path, made: Scaffolded, environ: Mapping[str, str], *, harmless: bool) -> Made:
    if harmless:
        approve(root, environ=environ)
    opened = open_directory(root, environ=environ)
    findings = opened.config.findings
    if _is_foreign(opened):
        findings += (_foreign_state(),)
    return Made(
        layout=made.layout,
        created=made.created,
        kept=made.kept,
        trusted=opened.config.trusted,
        agents=tuple(agent.id for agent in opened.config.settings.agents),
        findings=findings,
    )


def _foreign_state() -> Finding:
    return Finding(
        code="foreign_state",
        path=STATE_FOLDER,
        message=f"{STATE_FOLDER} was here before and is not trusted; it is left alone and not used.",
        hint="Delete it, or trust the workspace if it is your own.",
    )


def _remembered(opened: Opened) -> str | None:
    """Return the layout that this workspace was found to have earlier."""
    places = opened.places
    if not places.records.exists():
        return None
    with suppress(Unavailable):
        records = SqliteRecords(places.records, inside=places.inside)
        try:
            return records.layout()
        finally:
            records.close()
    return None


def _name_of(root: Path) -> str:
    """Return a directory's name as text, also where its bytes are not."""
    return os.fsencode(root.name).decode("utf-8", "replace")
