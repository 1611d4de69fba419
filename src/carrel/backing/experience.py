"""Namespaces on their way: what an agent learnt is called by its workspace, and that changes its name."""

from collections.abc import Callable, Sequence

from carrel.belongings import namespaces_of, prefix_of, within
from carrel.files import FileStore
from carrel.markdown.frontmatter import BadMeta, update
from carrel.opening import Opened

_NOWHERE = "."
"""What the workspace of a namespace is called that is on its way."""


def neutral_namespaces(
    opened: Opened, folders: Sequence[str], store: FileStore
) -> tuple[dict[str, str], Callable[[str, bytes], bytes]]:
    """Return what each own namespace is called in a bundle, and how it reads there: of no place."""
    names = [entry.path for entry in store.list() if entry.kind == "file"]
    named: dict[str, str] = {}
    for folder, name in namespaces_of(opened.home, folders, opened.config.settings.agents, names):
        if folder is None:
            named[name] = name
        else:
            prefix = prefix_of(within(opened.home, folder).location)
            named[name] = f"agent.{folders.index(folder)}.{name.removeprefix(prefix)}"

    def written(path: str, data: bytes) -> bytes:
        return data if named[path] == path else of_workspace(data, _NOWHERE)

    return named, written


def own_name(neutral: str, folders: Sequence[str], located: Callable[[str], str]) -> tuple[str, str] | None:
    """Return what an agent's namespace is called at its new place, and whose it is; none for any other."""
    kind, _, rest = neutral.partition(".")
    number, _, agent = rest.partition(".")
    if kind != "agent" or number not in map(str, range(len(folders))):
        return None
    location = located(folders[int(number)])
    return prefix_of(location) + agent, location


def of_workspace(data: bytes, location: str) -> bytes:
    """Say whose a namespace is; one whose front matter nobody can edit stays as it is."""
    try:
        text = update(data.decode("utf-8", "surrogateescape"), {"workspace": location})
    except BadMeta:
        return data
    return text.encode("utf-8", "surrogateescape")
