"""Making workspaces: a new one, what an old one lacks, and the trust that goes with it."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from carrel.config import WORKSPACE_FILE, is_sensitive, read_clock, trust, user_directories
from carrel.errors import Conflict, NotFound, Unavailable, UsageError
from carrel.files.ephemeral import EphemeralFiles
from carrel.files.folders import make_folders
from carrel.findings import Finding
from carrel.home.address import is_address, is_foreign, parse_address, refuse_nearly
from carrel.home.local import STATE_FOLDER, absolute
from carrel.opening import Opened, find_home, open_workspace, read_manifest, read_settings, settle_layout
from carrel.workspace.detect import DEFAULT_LAYOUT
from carrel.workspace.layout import LAYOUTS
from carrel.workspace.layout_places import USER_FOLDER, find_layout, is_file
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

    def __init__(self, location: str) -> None:
        super().__init__(
            f"{location} has neither {MANIFEST_FILE} nor {WORKSPACE_FILE}.",
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
    """There is a workspace of another kind already; nothing was made."""

    code = "layout_differs"

    def __init__(self, location: str, found: str, asked: str) -> None:
        super().__init__(
            f"{location} is a workspace of layout {found}, not {asked}.",
            hint="Leave out --layout to add what it lacks, or name another directory.",
        )


def init(
    path: str | os.PathLike[str], *, layout: str | None, version: str, environ: Mapping[str, str]
) -> Made:
    """Make a workspace in a directory, new or not; what exists is kept.

    Without a layout, of the kind that the directory is already, else of the default one. The result is
    trusted, unless what stood there before would decide something that needs trust.
    """
    if layout is None or not is_file(layout):  # that file stands in a directory already
        if layout is not None:
            find_layout(layout, EphemeralFiles(), user_directories(environ).config / USER_FOLDER)
        make_home(path, environ)
    opened = open_workspace(path, environ=environ)
    found = opened.config.settings.layout
    says_so = opened.manifest is not None or opened.config.origins["layout"] == WORKSPACE_FILE
    if layout is not None and found is not None and says_so and found != layout:
        raise LayoutDiffers(opened.home.location, found, layout)
    layout = layout or found or DEFAULT_LAYOUT
    harmless = is_harmless(opened)
    if opened.manifest is not None:
        return _finished(path, restore_squad(opened.files, opened.manifest), environ, harmless=harmless)
    described, extra = opened.find_layout(layout), list[tuple[str, bytes]]()
    if layout not in LAYOUTS:
        extra.append((WORKSPACE_FILE, f"layout: {layout}\n".encode()))
    if layout == "squad":
        name, now = _name_of(opened.home.location), read_clock(environ).now()
        extra.append((MANIFEST_FILE, new_manifest(name, now, version)))
    return _finished(path, scaffold(opened.files, described, extra), environ, harmless=harmless)


def restore(path: str | os.PathLike[str], *, environ: Mapping[str, str]) -> Made:
    """Bring back a workspace from its manifest: what is missing is made, what exists is kept."""
    opened = open_workspace(path, environ=environ)
    harmless = is_harmless(opened)
    content = opened.files.read(MANIFEST_FILE, limit=MANIFEST_LIMIT)
    if content is not None:
        made = restore_squad(opened.files, parse_manifest(content.data))
    elif read_settings(opened.files) is not None:
        layout = settle_layout(opened.config, lambda _: _remembered(opened))
        made = scaffold(opened.files, opened.find_layout(layout))
    else:
        raise NoManifest(opened.home.location)
    return _finished(path, made, environ, harmless=harmless)


def approve(path: str | os.PathLike[str], *, environ: Mapping[str, str]) -> None:
    """Trust a workspace as it is now."""
    home = find_home(path, environ)
    manifest, _ = read_manifest(home.files)
    given = manifest.settings() if manifest else None
    trust(home.approvals, read_settings(home.files), manifest=given)


def make_home(path: str | os.PathLike[str], environ: Mapping[str, str]) -> None:
    """Make the place of a workspace where there is none."""
    if is_foreign(path):  # its store makes what it needs
        return
    if is_address(path):
        from carrel.config.remote import find_remote  # noqa: PLC0415 - few workspaces are in a database
        from carrel.home.postgres import make_remote  # noqa: PLC0415 - as above

        make_remote(parse_address(os.fspath(path)), find_remote(environ, user_directories(environ)))
        return
    refuse_nearly(path)
    root = absolute(path)
    if (stage := user_directories(environ).stage) is not None:
        from carrel.home.stage import staged  # noqa: PLC0415 - for dry runs only

        root = staged(root, stage)
    try:
        make_folders(root)
    except OSError as error:
        raise CannotMakeWorkspace(root, error) from error


def is_harmless(opened: Opened) -> bool:
    """Tell whether what stands here may be trusted unread: it is already, or there is nothing to it.

    A .carrel that came with the directory is a stranger's memory of it, to be looked at like settings.
    """
    if opened.config.trusted:
        return True
    given = opened.manifest.settings() if opened.manifest else None
    return not _is_foreign(opened) and not is_sensitive(read_settings(opened.files), manifest=given)


def _is_foreign(opened: Opened) -> bool:
    root = opened.home.root
    return root is not None and not opened.config.known and os.path.lexists(root / STATE_FOLDER)


def _finished(
    path: str | os.PathLike[str], made: Scaffolded, environ: Mapping[str, str], *, harmless: bool
) -> Made:
    if harmless:
        approve(path, environ=environ)
    opened = open_workspace(path, environ=environ)
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
    if not opened.home.has_records():
        return None
    with suppress(Unavailable):
        records = opened.home.records()
        try:
            return records.layout()
        finally:
            records.close()
    return None


def _name_of(location: str) -> str:
    """Return the last name of a place as text, also where its bytes are not."""
    return os.fsencode(location.rpartition("/")[2]).decode("utf-8", "replace")
