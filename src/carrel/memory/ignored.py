"""Which files git is not to know of: by `.gitignore` in each folder on the way, and by its own list."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from carrel.errors import Unavailable
from carrel.files import FileStore
from carrel.workspace.ignore import ignore_rules

_NONE_OF_OURS = "!*"
"""What is hidden or private by our own rules is not so by git's."""

_SPECIAL = re.compile(r"([*?\[\\])")


def git_ignores(files: FileStore) -> Callable[[str], bool]:
    """Return the test of a path; the rules are read anew each time, since their owner may change them."""

    def is_ignored(path: str) -> bool:
        rules = [_NONE_OF_OURS, *_lines(files, ".git/info/exclude"), *_lines(files, ".gitignore")]
        folder = ""
        for name in path.split("/")[:-1]:
            folder += f"/{name}"
            rules += (_below(folder, line) for line in _lines(files, f"{folder[1:]}/.gitignore"))
        return ignore_rules("\n".join(rules))(path)

    return is_ignored


def _lines(files: FileStore, path: str) -> Iterator[str]:
    with suppress(Unavailable):
        content = files.read(path)
        yield from content.data.decode(errors="replace").split("\n") if content else ()


def _below(folder: str, line: str) -> str:
    """Return the rule of a folder as the root would have it."""
    line = line.rstrip("\r")
    if not line.strip() or line.startswith("#"):
        return ""
    negation = "!" if line.startswith("!") else ""
    pattern = line.removeprefix("!")
    is_anchored = "/" in pattern.rstrip().rstrip("/")
    inner = pattern.lstrip("/") if is_anchored else f"**/{pattern}"
    return negation + _SPECIAL.sub(r"\\\1", folder) + f"/{inner}"
