"""How a file came to be what it is: the History port, and commits in a workspace's own git repository.

Each commit holds one change of one file and nothing else. What its owner changed in that file by hand is
committed first, as theirs; what they staged or changed elsewhere stays as it is. No filter is applied: a
commit holds the bytes of the file.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from carrel.files.disk import Disk
from carrel.files.git import told
from carrel.files.git.commits import CommitWriter
from carrel.files.git.objects import Objects
from carrel.files.git.refs import head_of
from carrel.files.git.repository import opened, seen, settings_of
from carrel.findings import Finding

_US = ("carrel", "carrel@localhost")
_OWNER = ("owner", "owner@localhost")
_PATIENCE_SECONDS = 1.0


class Commits(Protocol):
    """A history that is held for writing."""

    def content(self, path: str) -> bytes | None:
        """Return a file as it was committed last, none where it was not."""
        ...

    def commit(
        self, path: str, data: bytes | None, *, before: bytes | None, message: str, at: datetime
    ) -> str:
        """Commit that a file which was `before` is now `data`; return the commit, "" where that must wait.

        The same change is committed once, however often this is called.
        """
        ...


class History(Protocol):
    """Where changes of files are told, one by one."""

    def writing(self) -> AbstractContextManager[Commits | None]:
        """Hold the history for some commits, alone; none where it cannot be written now."""
        ...

    def findings(self) -> tuple[Finding, ...]:
        """Tell what is in the way of writing it."""
        ...


class GitHistory:
    """The git repository of one directory, made where there is none; never one of a directory above.

    What keeps a change from being committed is told by `findings`, and is no error: the change is made.
    """

    def __init__(
        self,
        root: Path,
        *,
        name: str | None = None,
        email: str | None = None,
        is_ignored: Callable[[str], bool] = lambda _: False,
        disk: Disk | None = None,
        lock_seconds: float = 5.0,
    ) -> None:
        self._root = root
        self._disk = disk or Disk()
        self._lock_seconds = lock_seconds
        self._who = _identity(name, email, _US)
        self._is_ignored = is_ignored
        self._problem: Finding | None = None
        self._ignored: dict[str, Finding] = {}

    @contextmanager
    def writing(self) -> Generator[Commits | None]:
        """Hold the repository: others who write memory wait, and git itself does not notice."""
        with ExitStack() as stack:
            writer: CommitWriter | None = None
            with told(self._tell):
                # What was in the way before is not waited for again: that would delay every change.
                patience = 0 if self._problem else _PATIENCE_SECONDS
                folder = stack.enter_context(opened(self._root, self._disk, self._lock_seconds, patience))
                settings = settings_of(folder)
                writer = CommitWriter(
                    folder=folder,
                    objects=Objects(stack.enter_context(folder.inside("objects"))),
                    owner=_identity(settings.get("user.name"), settings.get("user.email"), _OWNER),
                    who=self._who,
                    is_ignored=self._is_ignored,
                    tell=self._tell,
                )
            yield writer

    def findings(self) -> tuple[Finding, ...]:
        """Tell what is in the way now, else what was when a commit was tried last."""
        found: list[Finding] = []
        with told(found.append), seen(self._root, self._disk) as folder:
            if folder is not None:
                head_of(folder)
        if not found and self._problem is not None:
            found = [self._problem]
        return (*found, *self._ignored.values())

    def _tell(self, finding: Finding | None) -> None:
        """Remember what is in the way; none: nothing is."""
        if finding is not None and finding.code == "git_ignored":
            self._ignored[finding.path or ""] = finding
        else:
            self._problem = finding


def _identity(name: str | None, email: str | None, otherwise: tuple[str, str]) -> str:
    """Return a name and an address as a commit has them; what would end either early is left out."""
    given = (name or "", email or "")
    plain = ["".join(c for c in text if c.isprintable() and c not in "<>").strip() for text in given]
    return "{} <{}>".format(*(text or default for text, default in zip(plain, otherwise, strict=True)))
