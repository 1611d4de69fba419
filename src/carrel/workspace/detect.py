"""Detection: which layout a directory has, by the files in it."""

from msgspec import Struct

from carrel.files import FileStore, Unreadable
from carrel.workspace.layout import LAYOUTS

DEFAULT_LAYOUT = LAYOUTS[0]


class Signs(Struct, frozen=True, kw_only=True):
    """Files, and with a slash at their end folders, that give a layout away.

    `inside` is a folder that the workspace itself may lie in.
    """

    layout: str
    any_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    inside: str = ""


# The first match wins.
_SIGNS = (
    Signs(layout="squad", any_of=(".squad-config.json",)),
    Signs(layout="astra", any_of=("workspace/AGENTS.md", "workspace/USER.md", "workspace/IDENTITY.md")),
    Signs(layout="openclaw", any_of=("TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")),
    Signs(
        layout="agentscope",
        any_of=("knowledge/", "subagents/"),
        all_of=("AGENTS.md",),
        none_of=("SOUL.md",),
        inside=".agentscope",
    ),
    Signs(layout="nexo", all_of=("SOUL.md", "IDENTITY.md", "notes/")),
)


def detect_layout(files: FileStore, location: str) -> str | None:
    """Return the layout that a directory's files give away, or nothing where none is certain."""
    names = sorted({name for signs in _SIGNS for name in (*signs.any_of, *signs.all_of, *signs.none_of)})
    stamps = files.stamps([name.rstrip("/") for name in names])
    there = [name for name, stamp in zip(names, stamps, strict=True) if stamp is not None]
    present = {name for name in there if not name.endswith("/") or _is_folder(files, name.rstrip("/"))}
    folders = set(location.split("/"))
    return next((signs.layout for signs in _SIGNS if _match(signs, present, folders)), None)


def _is_folder(files: FileStore, path: str) -> bool:
    try:
        files.list(path)
    except Unreadable as error:
        return error.reason != "not_directory"
    return True


def _match(signs: Signs, present: set[str], folders: set[str]) -> bool:
    if not present.issuperset(signs.all_of) or present.intersection(signs.none_of):
        return False
    lies_inside = signs.inside != "" and signs.inside in folders
    return bool(present.intersection(signs.any_of)) or not signs.any_of or lies_inside
