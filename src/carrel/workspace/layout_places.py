"""Where layouts come from: Carrel itself, a file of the workspace, the user's own folder, installed packages.

A layout is data wherever it comes from. Finding one runs no code, not even that of the package it is in, so
that a workspace may name any of them without being trusted. What ships with Carrel is never shadowed.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from carrel.errors import CarrelError
from carrel.extensions import ExtensionFailed, Offer, find, offered, offers
from carrel.files import FileStore
from carrel.files.local import LocalFiles
from carrel.files.paths import clean
from carrel.files.resolve import RootMissing
from carrel.plainyaml import LIMIT
from carrel.settings import EXTENSION, LAYOUT
from carrel.workspace.layout import LAYOUTS, BadLayout, Layout, UnknownLayout, load_layout, parse_layout

USER_FOLDER = "layouts"
"""Where a user's own layouts are, in their configuration directory."""

_ENDING = ".yaml"
_ALWAYS = ("USER.md", "MEMORY.md", "DREAMS.md", "memory/**", "agents/**")
"""What holds the owner's words in nearly every layout, also in one that a workspace had before this."""


def find_layout(name: str, files: FileStore, folder: Path) -> Layout:
    """Return the layout of a name, or the one that a file of the workspace describes, as `./my-layout.yaml`.

    `folder` holds the user's own, which come before those of packages.
    """
    if name in LAYOUTS:
        return load_layout(name)
    if is_file(name) and re.fullmatch(LAYOUT, name):
        layout = _read(files, clean(name), name)
    else:
        path = layout_file(name, folder)
        real = path.resolve() if path else None  # these folders are the user's, and so are the links in them
        layout = _read(LocalFiles(real.parent), real.name, str(path)) if real else None
        if layout is not None and layout.name != name:
            raise BadLayout(
                f"its `name` is {layout.name!r}, and not {name!r} as its file's", source=str(path)
            )
    if layout is None:
        raise UnknownLayout(name, [*LAYOUTS, *_others(folder)])
    return layout


def is_file(name: str) -> bool:
    """Tell whether a layout is named by its file in the workspace."""
    return name.startswith("./")


def layout_file(name: str, folder: Path) -> Path | None:
    """Return the file that describes a layout outside Carrel and the workspace, none where there is none."""
    if name in LAYOUTS or not re.fullmatch(EXTENSION, name):
        return None
    own = folder / f"{name}{_ENDING}"
    if own.is_file():
        return own
    if not offered("layouts", name):
        return None
    return _of_package(find("layouts", name, known=LAYOUTS))


def described_in(name: str, root: Path, folder: Path) -> list[Path]:
    """Return the files that decide about a layout: what was made by it must not outlive a change of them."""
    if name in LAYOUTS:
        return []
    if is_file(name):
        return [root / clean(name)]
    found = layout_file(name, folder)
    return [folder / f"{name}{_ENDING}", *([found] if found else [])]


def _of_package(offer: Offer) -> Path:
    """Return the file beside the code of a package; the package itself is found, and not imported."""
    from importlib.util import find_spec  # noqa: PLC0415 - few layouts are in packages

    package, *inner = offer.target.split(".")
    try:
        spec = find_spec(package) if re.fullmatch(r"[\w.]+", offer.target) else None
    except (ImportError, ValueError):
        spec = None
    places = spec.submodule_search_locations or () if spec else ()
    paths = [Path(place, *inner, f"{offer.name}{_ENDING}") for place in places]
    if (found := next(filter(Path.is_file, paths), None)) is None:
        raise ExtensionFailed(offer, f"has no file {offer.name}{_ENDING} in {offer.target}")
    return found


def _others(folder: Path) -> Iterator[str]:
    """Yield the names of those outside Carrel, the user's own first."""
    own = sorted(path.stem for path in folder.glob(f"*{_ENDING}")) if folder.is_dir() else []
    yield from own
    yield from (str(offer) for offer in offers("layouts") if offer.name not in (*LAYOUTS, *own))


def _read(files: FileStore, path: str, source: str) -> Layout | None:
    try:
        content = files.read(path, limit=LIMIT)
    except RootMissing:
        return None
    except CarrelError as error:
        raise BadLayout(error.message.rstrip("."), source=source) from error
    if content is None:
        return None
    try:
        text = content.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadLayout("it is not UTF-8", source=source) from None
    layout = parse_layout(text, source=source)
    if layout.name in LAYOUTS or not re.fullmatch(EXTENSION, layout.name):
        raise BadLayout(f"`name` is one of Carrel's own, or no name: {layout.name[:60]!r}", source=source)
    return replace(layout, private=tuple(dict.fromkeys((*layout.private, *_kept_private(layout, source)))))


def _kept_private(layout: Layout, source: str) -> Iterator[str]:
    """Yield what is the owner's whatever a description says: what Carrel itself writes of what they say."""
    yield from _ALWAYS
    yield f"{layout.home}memory/**"
    if layout.journal:
        yield f"{layout.journal}/**"
    kept = layout.sessions
    for path in filter(None, (kept.log, kept.window, kept.catalog, kept.events)):
        yield _folder_of(path, source)
    parts = (part for message in layout.messages for part in message.parts if part.kind == "project")
    for path in (path for part in parts for path in part.files):
        yield _folder_of(path, source) if "{" in path else path


def _folder_of(path: str, source: str) -> str:
    """Return all that is in the folder of some files, which is the same for every agent."""
    folder = path.partition("{")[0].rpartition("/")[0]
    if not folder:
        raise BadLayout(
            f"sessions and notebooks are in a folder that is always the same: {path[:60]!r}", source=source
        )
    return f"{folder}/**"
