"""What belongs to a workspace, wherever it lives: its files, the homes inside it, its agents' namespaces.

Whoever takes a workspace elsewhere, to another home or into a file, takes these along.
"""

from collections.abc import Iterator, Mapping, Sequence

from carrel.errors import Conflict
from carrel.files import Entry, FileStore, Unreadable, show, walk
from carrel.files.paths import is_own
from carrel.findings import Finding
from carrel.home import Home
from carrel.home.local import STATE_FOLDER
from carrel.records.moving import TABLES, Row
from carrel.settings import AgentSettings
from carrel.workspace.namespace import namespace_of

MARK = f"{STATE_FOLDER}/migration.json"
"""What stands in a workspace until all of it has come."""

LIMIT = 1 << 30
"""The largest file that is taken along, in bytes."""

_NAMESPACED = ("facts", "changes", "proposals")
"""Tables that name files of namespaces."""


class TargetTaken(Conflict):
    """There is something at the place that a workspace is to be brought to."""

    code = "target_taken"

    def __init__(self, location: str) -> None:
        super().__init__(
            f"There is something at {location} already.",
            hint="Name a place where nothing is; a move that was broken off goes on by itself.",
        )


def claim(home: Home, told: bytes) -> None:
    """Take a place for what `told` says, unless something is there that this has not brought."""
    mark = home.files.read(MARK)
    if mark is None and is_empty(home):
        home.files.write(MARK, told, expect=None)
    elif mark is None or mark.data != told:
        raise TargetTaken(home.location)


def finish(home: Home) -> None:
    """Say that all has come."""
    if (mark := home.files.read(MARK)) is not None:
        home.files.remove(MARK, expect=mark.digest)


def entries(store: FileStore, findings: list[Finding]) -> Iterator[Entry]:
    """Yield all files; what leads outside or is no file is told of, and what cannot be read is an error."""
    for entry in walk(store, skip=lambda entry: is_own(entry.path)):
        if entry.kind == "file":
            yield entry
        elif entry.kind == "directory":
            raise Unreadable(entry.path, "permission")
        else:
            message = f"{show(entry.path)} is no file of the workspace, and is not moved."
            findings.append(Finding(code="not_moved", path=entry.path, message=message))


def is_empty(home: Home) -> bool:
    """Tell whether there is neither a file nor a record."""
    if next(entries(home.files, []), None) is not None:
        return False
    if not home.has_records():
        return True
    rows = home.rows()
    try:
        return all(next(iter(rows.read(table)), None) is None for table in TABLES)
    finally:
        rows.close()


def within(home: Home, folder: str) -> Home:
    """Return the home in a folder of this one, "" for itself."""
    return home.moved_to(folder) if folder else home


def namespaces_of(
    home: Home, folders: Sequence[str], agents: Sequence[AgentSettings], names: Sequence[str]
) -> Iterator[tuple[str | None, str]]:
    """Yield those of these namespaces that belong to agents at home here, each with the folder of its home.

    That of a profile has no folder: it is its agents' wherever they work.
    """
    for folder in folders:
        prefix = prefix_of(within(home, folder).location)
        yield from ((folder, name) for name in names if name.startswith(prefix))
    for agent in agents:
        if agent.profile and (own := namespace_of(agent, "", "").path) in names:
            yield None, own


def prefix_of(location: str) -> str:
    """Return what the files of namespaces begin with that belong to agents at home there."""
    return namespace_of(AgentSettings(id="x"), "", location).path.removesuffix("x.md")


def renamed(row: Row, table: str, paths: Mapping[str, str]) -> Row:
    """Return a row that names a namespace by what it is called elsewhere."""
    if table not in _NAMESPACED or row.get("store") != "namespaces" or row.get("path") not in paths:
        return row
    return row | {"path": paths[row["path"]]}
