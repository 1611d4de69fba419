"""Which piece of an agent a file is, and where a layout keeps such pieces: told by its description alone.

`spot_of` reads a path of one layout, `path_of` writes the same piece as a path of another. Nothing here knows
one layout from another but by what its description says.
"""

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from carrel.importing.piece import Role
from carrel.workspace.ignore import IGNORE_FILE
from carrel.workspace.layout import Layout, Part
from carrel.workspace.manifest import MANIFEST_FILE
from carrel.workspace.skills import skills_folder
from carrel.workspace.subagents import subagents_folder
from carrel.workspace.tiers import day_of

KEPT = "memory/imported"
"""The folder, below a layout's home, for what has no place in it; private in every layout, and searched."""

_MEMORY = "memory"
_NOTEBOOK = "MEMORY.md"
_DIARY = "DREAMS.md"
_ARCHIVE = "archive"
_SETTINGS = frozenset(("carrel.yaml", MANIFEST_FILE, IGNORE_FILE))
_AGENT, _SESSION = "{agent}", "{session}"


class Spot(Struct, frozen=True, kw_only=True):
    """What a file is to an agent, its name as such, and whose it is where it is one agent's."""

    role: Role
    name: str
    agent: str = ""


def spot_of(path: str, layout: Layout, agents: Collection[str]) -> Spot:
    """Return what a file of a workspace is, by where its layout keeps what."""
    inner = path.removeprefix(layout.home)
    return (
        _session(path, layout)
        or _of_agent(path, layout, agents)
        or _in_folder(path, layout)
        or (_at_home(inner) if "/" not in inner else None)
        or Spot(role="other", name=path)
    )


def path_of(spot: Spot, layout: Layout, own: str) -> str | None:
    """Return where a layout keeps such a piece for the agent `own`, none where it has no place for it."""
    home, name = layout.home, spot.name
    if spot.role == "document":
        return _document(name, layout)
    if spot.role == "notebook":
        return _notebook(layout, own)
    if spot.role == "project":
        return _project(spot, layout, own)
    if spot.role in ("log", "attachment"):
        return _log(spot, layout)
    folders = _folders(layout)
    if spot.role in folders:
        return f"{folders[spot.role]}/{name}"
    return f"{home}{_DIARY}" if spot.role == "diary" else None


def kept_path(layout: Layout, kind: str, source: str) -> str:
    """Return where that is kept which has no place of its own."""
    return f"{layout.home}{KEPT}/{kind}/{source}"


def is_kept(path: str, layout: Layout) -> bool:
    """Tell whether a path is in the folder of what has no place: nothing in it is in any prompt."""
    return path.startswith(f"{layout.home}{KEPT}/")


def is_derived(path: str, layout: Layout) -> str | None:
    """Return the log that a window or a catalog is made from, "" for all of them; none for another file."""
    if found := _pattern(layout.sessions.window).fullmatch(path):
        agent = found.groupdict().get("agent") or ""
        return layout.sessions.log.replace(_AGENT, agent).replace(_SESSION, found["session"])
    return "" if layout.sessions.catalog and _pattern(layout.sessions.catalog).fullmatch(path) else None


def owner_place(layout: Layout, agent: str) -> str:
    """Return the file of a layout that holds what is known of its owner: private, and in the prompt."""
    return _document("USER.md", layout) or _notebook(layout, agent)


def rules_place(layout: Layout, agent: str) -> str:
    """Return the file of a layout that tells an agent how to work."""
    return _document("AGENTS.md", layout) or _notebook(layout, agent)


def _folders(layout: Layout) -> dict[Role, str]:
    """Return the folders of a layout, those that lie in others first."""
    return {
        "journal": layout.journal or f"{layout.home}{_MEMORY}",
        "memory": f"{layout.home}{_MEMORY}",
        "knowledge": next(
            (part.folder for part in _parts(layout) if part.kind == "knowledge"), f"{layout.home}knowledge"
        ),
        "skill": skills_folder(layout)[0],
        "subagent": subagents_folder(layout),
    }


def _parts(layout: Layout) -> Iterator[Part]:
    return (part for message in layout.messages for part in message.parts)


def _session(path: str, layout: Layout) -> Spot | None:
    """Return the session that a path is the log of, or an attachment of."""
    if found := _pattern(layout.sessions.log).fullmatch(path):
        return Spot(role="log", name=found["session"], agent=found.groupdict().get("agent") or "")
    folder = layout.sessions.log.rpartition("/")[0]
    found = _pattern(f"{folder}/{_SESSION}.files/{{rest}}").fullmatch(path)
    if found is None:
        return None
    name = f"{found['session']}.files/{found['rest']}"
    return Spot(role="attachment", name=name, agent=found.groupdict().get("agent") or "")


def _of_agent(path: str, layout: Layout, agents: Collection[str]) -> Spot | None:
    """Return the notebook of one agent; it has two, one beside its sessions and one for all to see."""
    for pattern in _projects(layout):
        found = _pattern(pattern).fullmatch(path)
        if found and (found["agent"] in agents or not pattern.endswith(f"/{_AGENT}.md")):
            return Spot(role="project", name=pattern.rpartition("/")[2], agent=found["agent"])
    return None


def _projects(layout: Layout) -> list[str]:
    given = [file for part in _parts(layout) if part.kind == "project" for file in part.files]
    return list(dict.fromkeys((*given, f"{layout.home}{_MEMORY}/{_AGENT}.md", f"agents/{_AGENT}/memory.md")))


def _in_folder(path: str, layout: Layout) -> Spot | None:
    for role, folder in _folders(layout).items():
        name = path.removeprefix(f"{folder}/")
        if name == path:
            continue
        if role != "journal":
            return Spot(role=role, name=name)
        above, _, last = name.rpartition("/")
        if above in ("", _ARCHIVE) and day_of(last):
            return Spot(role="journal", name=name)
    return None


def _at_home(name: str) -> Spot | None:
    if name in _SETTINGS:
        return Spot(role="settings", name=name)
    if name == _NOTEBOOK:
        return Spot(role="notebook", name=name)
    if name == _DIARY:
        return Spot(role="diary", name=name)
    is_document = name.endswith(".md") and name not in ("README.md", "LICENSE.md")
    return Spot(role="document", name=name) if is_document else None


def _document(name: str, layout: Layout) -> str | None:
    """Return the place of a document by this name: one that the layout names, else where any may stand."""
    parts = [part for part in _parts(layout) if part.kind in ("documents", "notebook")]
    files = [(file, part) for part in parts for file in part.files]
    for file, _ in files:
        if "*" not in file and file.rpartition("/")[2] == name:
            return file
    for file, part in files:
        folder, slash, pattern = file.rpartition("/")
        if "*" in file and fnmatchcase(name, pattern) and name not in part.without:
            return f"{folder}{slash}{name}"
    return None


def _notebook(layout: Layout, own: str) -> str:
    """Return the place of curated memory: the layout's own, else the agent's notebook."""
    return _document(_NOTEBOOK, layout) or _projects(layout)[0].replace(_AGENT, own)


def _project(spot: Spot, layout: Layout, own: str) -> str:
    """Return the place of an agent's notebook; a layout whose prompt has none has curated memory instead."""
    if spot.agent == own and not any(part.kind == "project" for part in _parts(layout)):
        return _notebook(layout, own)
    patterns = _projects(layout)
    same = (each for each in patterns if each.rpartition("/")[2] == spot.name)
    return next(same, patterns[0]).replace(_AGENT, spot.agent)


def _log(spot: Spot, layout: Layout) -> str:
    log = layout.sessions.log.replace(_AGENT, spot.agent)
    if spot.role == "log":
        return log.replace(_SESSION, spot.name)
    return f"{log.rpartition('/')[0]}/{spot.name}"


@lru_cache(maxsize=64)
def _pattern(text: str) -> re.Pattern[str]:
    """Return what matches the paths that a pattern of a layout stands for; "" matches nothing."""
    if not text:
        return re.compile(r"(?!)")
    escaped = re.escape(text)
    for name, form in (("rest", ".+"), ("agent", "[^/]+"), ("session", "[^/]+")):
        written = rf"\{{{name}\}}"
        escaped = escaped.replace(written, f"(?P<{name}>{form})", 1).replace(written, f"(?P={name})")
    return re.compile(escaped, re.DOTALL)
