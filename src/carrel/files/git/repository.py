"""The `.git` of a workspace: made where there is none, held by one writer, not believed unseen."""

import errno
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from carrel.files.disk import Disk, LockTimeout
from carrel.files.durable import Directory
from carrel.files.git import refused, waiting
from carrel.files.git.folder import Folder
from carrel.files.paths import TEMPORARY
from carrel.files.resolve import DIRECTORY

INDEX_DRAFT = "carrel-index"
REF_DRAFT = "carrel-ref"

_OWN = ".git"
_NEW = f"{TEMPORARY}git"
_FOLDERS = {"objects": ("info", "pack"), "refs": ("heads", "tags")}
_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
"""
_HEAD = b"ref: refs/heads/main\n"
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
}
_EXTENSIONS = frozenset({"noop", "partialclone", "preciousobjects", "worktreeconfig"})
_HEADINGS = re.compile(r"(?:\s*+\[([^\]]*+)\])++")
_YES = frozenset({"true", "yes", "on", "1"})
_FAN_OUT = 2


@contextmanager
def opened(root: Path, disk: Disk, seconds: float, patience: float) -> Generator[Folder]:
    """Hold the repository of a directory, its own and never one above it; make it where there is none."""
    above = os.open(root, DIRECTORY & ~os.O_NOFOLLOW)
    try:
        _make(Directory(disk, above, _OWN), seconds)
        with _folder(disk, above, root, patience) as folder, Directory(disk, folder.fd, _OWN).locked(seconds):
            inspect(folder)
            _sweep(folder)
            yield folder
    except LockTimeout as error:
        hint = "They are committed with the next one."
        raise waiting(f"another process has held .git for {seconds:g} s", hint) from error
    finally:
        os.close(above)


@contextmanager
def seen(root: Path, disk: Disk) -> Generator[Folder | None]:
    """Look at the repository of a directory without changing anything; none where there is none."""
    above = os.open(root, DIRECTORY & ~os.O_NOFOLLOW)
    try:
        if not os.path.lexists(root / _OWN):
            yield None
            return
        with _folder(disk, above, root, 0) as folder:
            inspect(folder)
            yield folder
    finally:
        os.close(above)


def inspect(folder: Folder) -> None:
    """Refuse a repository that is not plainly this directory's own, or that its owner is busy with."""
    if os.fstat(folder.fd).st_uid != os.geteuid():
        raise refused(".git belongs to another user, who could not use it any more")
    if folder.look("commondir"):
        raise refused(".git is only a part of another repository")
    for name in _links(folder):
        raise refused(f"{name} is a link, or no plain file")
    settings = settings_of(folder)
    if settings.get("core.bare", "").lower() in _YES:
        raise refused("the repository is bare")
    if "core.worktree" in settings:
        raise refused("the repository belongs to another directory (core.worktree)")
    for key, value in settings.items():
        name = key.removeprefix("extensions.")
        if name != key and not _is_known(name, value):
            raise refused(f"the repository is of a kind that is not known here (extensions.{name})")
    for name, what in _UNDER_WAY.items():
        if folder.look(name):
            raise waiting(f"{what} is under way", "They are committed once it is over.")


def settings_of(folder: Folder) -> dict[str, str]:
    """Return what the repository's own file of settings says; what that includes does not count.

    Its syntax is read as far as honest files go: what could be hidden from here would change nothing.
    """
    text = (folder.read("config") or b"").decode(errors="replace").replace("\\\n", "")
    found: dict[str, str] = {}
    section = ""
    for line in text.split("\n"):
        headings, rest = _HEADINGS.match(line), line
        if headings is not None:
            section, rest = headings[1].strip().lower(), line[headings.end() :]
        key, equals, value = rest.strip().partition("=")
        if key and key[0] not in "#;":
            value = value.partition(" #")[0].partition(" ;")[0].strip().strip('"')
            found[f"{section}.{key.strip().lower()}"] = value if equals else "true"
    return found


def _is_known(extension: str, value: str) -> bool:
    plain = {"objectformat": "sha1", "refstorage": "files"}
    return extension in _EXTENSIONS or plain.get(extension) == value.lower()


def _links(folder: Folder) -> Iterator[str]:
    """Yield what would lead a writer, or a reader of objects, somewhere else or nowhere."""
    with folder.inside("refs", "heads"):
        pass
    with folder.inside("objects") as objects:
        yield from _odd(objects, stat.S_IFDIR, lambda name: len(name) == _FAN_OUT)
        if objects.look("info"):
            with objects.inside("info") as info:
                if info.look("alternates"):
                    raise refused("its objects are partly those of another repository (alternates)")
        if objects.look("pack"):
            with objects.inside("pack") as packs:
                yield from _odd(packs, stat.S_IFREG, lambda _: True)


def _odd(folder: Folder, wanted: int, counts: Callable[[str], bool]) -> Iterator[str]:
    with os.scandir(folder.fd) as items:
        for item in items:
            is_wanted = item.is_dir if wanted == stat.S_IFDIR else item.is_file
            if counts(item.name) and not is_wanted(follow_symlinks=False):
                yield f"{folder.name}/{item.name}"


@contextmanager
def _folder(disk: Disk, above: int, root: Path, patience: float) -> Generator[Folder]:
    try:
        fd = os.open(_OWN, DIRECTORY, dir_fd=above)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        is_link = stat.S_ISLNK(os.lstat(_OWN, dir_fd=above).st_mode)
        raise refused(f".git is {'a link' if is_link else 'a file'} that leads elsewhere") from error
    try:
        yield Folder(disk, fd, root / _OWN, _OWN, patience)
    finally:
        os.close(fd)


def _make(root: Directory, seconds: float) -> None:
    """Make a repository that appears as a whole; what a kill left of one is finished."""
    if _exists(root):
        return
    with root.locked(seconds):
        if _exists(root):
            return
        root.make(_NEW)
        with _opened_below(root, _NEW) as new:
            new.sweep(new.names()[1])
            for name, inner in _FOLDERS.items():
                new.make(name)
                with _opened_below(new, name) as folder:
                    for each in inner:
                        folder.make(each)
            for name, data in (("config", _CONFIG), ("HEAD", _HEAD)):
                with new.temporary(data, like=None) as temporary:
                    new.settle(temporary, name)
        root.settle(_NEW, _OWN)


def _exists(root: Directory) -> bool:
    try:
        os.lstat(_OWN, dir_fd=root.fd)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _opened_below(directory: Directory, name: str) -> Generator[Directory]:
    fd = os.open(name, DIRECTORY, dir_fd=directory.fd)
    try:
        yield replace(directory, fd=fd)
    finally:
        os.close(fd)


def _sweep(folder: Folder) -> None:
    """Remove what a killed writer left: whoever holds the repository is the only one alive."""
    if draft := folder.look(INDEX_DRAFT):
        lock = folder.look("index.lock")
        if lock and lock.st_ino == draft.st_ino:
            folder.discard("index.lock")
        folder.discard(INDEX_DRAFT)
    folder.discard(f"{INDEX_DRAFT}.lock")
    if draft := folder.look(REF_DRAFT):
        with folder.inside("refs", "heads") as heads:
            for _, _, names, fd in os.fwalk(dir_fd=heads.fd):
                for name in names:
                    if name.endswith(".lock") and os.lstat(name, dir_fd=fd).st_ino == draft.st_ino:
                        folder.disk.unlink(name, directory=fd)
        folder.discard(REF_DRAFT)
    with folder.inside("objects") as objects:
        directory = Directory(folder.disk, objects.fd, objects.name)
        directory.sweep(directory.names()[1])
