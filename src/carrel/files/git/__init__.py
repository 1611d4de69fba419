"""A workspace's own git repository, written by hand: nothing of it is run, and no link in it is followed.

pygit2 reads objects, packed or not, and edits a copy of the index. Its other ways are not ours: it reads
settings that may include a pipe, follows links when it writes, and leaves its locks behind when it is killed.
So objects, refs and the index are written here, as durably as every other file.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from carrel.findings import Finding

OWN = ".git"


class LeftAlone(Exception):
    """Why nothing is committed now; no error of a user's, since the change itself is made."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def refused(why: str) -> LeftAlone:
    """Return that this repository is not one to write to."""
    return LeftAlone(
        Finding(
            code="git_refused",
            message=f"Changes of memory are not committed: {why}.",
            path=OWN,
            hint="Make .git a plain repository of this directory, or switch workspace_git off.",
        )
    )


def damaged(why: str) -> LeftAlone:
    """Return that something in the repository cannot be understood."""
    return LeftAlone(
        Finding(
            code="git_damaged",
            message=f"Changes of memory are not committed: {why}.",
            path=OWN,
            hint="Repair the repository (git fsck tells more); the changes are committed afterwards.",
        )
    )


def waiting(why: str, hint: str) -> LeftAlone:
    """Return that it is not the time to commit."""
    return LeftAlone(
        Finding(
            code="git_waiting",
            severity="info",
            message=f"Changes of memory wait to be committed: {why}.",
            path=OWN,
            hint=hint,
        )
    )


def failed(why: str) -> LeftAlone:
    """Return that the system would not have it."""
    return LeftAlone(
        Finding(
            code="git_failed",
            message=f"Changes of memory could not be committed: {why}.",
            path=OWN,
            hint="Check room and permissions; the changes are committed with the next one.",
        )
    )


@contextmanager
def told(tell: Callable[[Finding], object]) -> Generator[None]:
    """Turn what is in the way of a commit into a finding."""
    try:
        yield
    except LeftAlone as left:
        tell(left.finding)
    except OSError as error:
        tell(failed(error.strerror or str(error)).finding)
