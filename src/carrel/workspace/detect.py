"""Detection: which layout a directory has, by the files in it."""

from msgspec import Struct

from carrel.files import FileStore
from carrel.workspace.layout import LAYOUTS


class Signs(Struct, frozen=True, kw_only=True):
    """Files that give a layout away; a name with a slash at its end is a directory."""

    layout: str
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()


# The first match wins.
_SIGNS = (
    Signs(layout="astra", any_of=("workspace/AGENTS.md", "workspace/USER.md", "workspace/IDENTITY.md")),
    Signs(layout="nexo", all_of=("SOUL.md", "IDENTITY.md", "notes/")),
)


def detect_layout(files: FileStore) -> str | None:
    """Return the layout that a directory's files give away, or nothing where none is certain."""
    names = {name.rstrip("/") for signs in _SIGNS for name in (*signs.any_of, *signs.all_of)}
    paths = sorted(names)
    present = {path for path, stamp in zip(paths, files.stamps(paths), strict=True) if stamp is not None}
    return next((signs.layout for signs in _SIGNS if _match(signs, present)), None)


def _match(signs: Signs, present: set[str]) -> bool:
    everything = all(name.rstrip("/") in present for name in signs.all_of)
    anything = not signs.any_of or any(name.rstrip("/") in present for name in signs.any_of)
    return everything and anything


DEFAULT_LAYOUT = LAYOUTS[0]
