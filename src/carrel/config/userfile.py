"""The user's own settings file: one, outside every workspace."""

import os
import stat
from pathlib import Path
from typing import cast

from carrel import plainyaml
from carrel.errors import Unavailable

DATABASE, OBJECTS = "database", "objects"


class UnreadableConfig(Unavailable):
    """The user's own settings file exists and cannot be read."""

    code = "unreadable_config"

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path} cannot be read: {problem}.",
            hint="Put a regular file there, or move it away; CARREL_HOME says where to look.",
        )


def read_user_file(path: Path) -> str | None:
    """Return its text, none where there is none."""
    try:
        # Not blocking, so that a pipe is not waited for.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UnreadableConfig(path, "it is not a regular file")
            content = file.read(plainyaml.LIMIT * 4 + 1)  # a character has at most four bytes
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableConfig(path, error.strerror or str(error)) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise plainyaml.BadYaml("not UTF-8", line=line, source=f"user file {path}") from error


def without_remote(data: object) -> object:
    """Return what it says beside where workspaces live that are in no directory: that is no setting."""
    if not isinstance(data, dict):
        return data
    table = cast("dict[object, object]", data)
    return {key: value for key, value in table.items() if key not in (DATABASE, OBJECTS)}
