"""The stage of a dry run: a copy of every place that a command opens, under the place's own path.

The command works as ever, and writes to the copies. A place is copied when it is opened first.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from carrel.config.directories import mirrored
from carrel.files.disk import typed_failures

Progress = Callable[[int, int], None]

_LIST = ".carrel-places"
_UNCHANGING = ("/.git/objects/", "/.git/lfs/objects/")
"""Git never writes to an object again, so that a second name is as good as a copy."""
_BESIDE = ("-wal", "-shm", "-journal")
_LOOKED_AT = 16
_MAGIC = b"SQLite format 3\0"
_EVERY = 100
_OPENING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def staged(place: Path, stage: Path, *, progress: Progress | None = None) -> Path:
    """Return the copy of a directory, made when it is asked for first; of what is not there, none is made."""
    real = Path(os.path.realpath(place))
    if real.is_relative_to(stage):
        return real
    target = mirrored(real, stage)
    if any(real.is_relative_to(known) for known in opened(stage)):
        return target
    with typed_failures(str(place)):
        with (stage / _LIST).open("ab") as known:
            known.write(os.fsencode(real) + b"\0")
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if real.is_dir():
            _copy(real, target, progress or (lambda _, __: None), stage)
        elif real.is_file():
            copy_file(real, target)
    return target


def opened(stage: Path) -> list[Path]:
    """Return the places that were asked for, the first one first."""
    with suppress(FileNotFoundError):
        names = (stage / _LIST).read_bytes().split(b"\0")
        return [Path(os.fsdecode(name)) for name in names if name]
    return []


def places(stage: Path) -> list[Path]:
    """Return those that are not inside another."""
    known = opened(stage)
    return [path for path in known if not set(path.parents).intersection(known)]


def _copy(place: Path, target: Path, progress: Progress, stage: Path) -> None:
    """Copy a directory: links as links, files that have two names as one file, nothing of what is neither."""
    entries = list(all_below(place, stage))
    seen: dict[tuple[int, int], Path] = {}
    target.mkdir(parents=True, exist_ok=True, mode=0o700)
    for done, (path, about) in enumerate(entries, 1):
        into = target / path.relative_to(place)
        if stat.S_ISDIR(about.st_mode):
            into.mkdir(exist_ok=True, mode=0o700)
        elif not os.path.lexists(into):
            _copy_one(path, into, about, seen, (place, target))
        if done % _EVERY == 0 or done == len(entries):
            progress(done, len(entries))
    for path, about in reversed(entries):
        if stat.S_ISDIR(about.st_mode):
            into = target / path.relative_to(place)
            into.chmod(stat.S_IMODE(about.st_mode))
            os.utime(into, ns=(about.st_atime_ns, about.st_mtime_ns))


def all_below(place: Path, stage: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield all below a directory but the stage, a directory before what is in it; others may work there."""
    pending = [place]
    while pending:
        try:
            found = sorted(os.scandir(pending.pop()), key=lambda entry: entry.name)
        except OSError:  # what this user may not read, the command cannot either
            continue
        for entry in found:
            with suppress(FileNotFoundError):
                about = entry.stat(follow_symlinks=False)
                yield Path(entry.path), about
                if stat.S_ISDIR(about.st_mode) and entry.path != str(stage):
                    pending.append(Path(entry.path))


def _copy_one(
    path: Path,
    into: Path,
    about: os.stat_result,
    seen: dict[tuple[int, int], Path],
    moved: tuple[Path, Path],
) -> None:
    """Copy what is not a directory."""
    if stat.S_ISLNK(about.st_mode):
        into.symlink_to(_led(path.readlink(), *moved))
        return
    if not stat.S_ISREG(about.st_mode) or is_beside_database(path):
        return
    same = seen.setdefault((about.st_dev, about.st_ino), into) if about.st_nlink > 1 else into
    if same != into:
        into.hardlink_to(same)
        return
    # Of a folder that nobody may write to, whoever clears the stage changes the modes of what is in it.
    if any(each in str(path) for each in _UNCHANGING) and os.access(path.parent, os.W_OK):
        with suppress(OSError):  # another disk
            into.hardlink_to(path)
            return
    with suppress(FileNotFoundError):  # somebody removed it meanwhile
        copy_file(path, into)


def is_beside_database(path: Path) -> bool:
    """Tell whether a file is what SQLite keeps beside a database, whose copy holds all of it."""
    for ending in _BESIDE:
        if path.name.endswith(ending) and (name := path.name.removesuffix(ending)):
            with suppress(OSError), path.with_name(name).open("rb") as database:
                return database.read(_LOOKED_AT) == _MAGIC
    return False


def _led(link: Path, place: Path, target: Path) -> Path:
    """Return where a link leads on the stage: one from the root of the file system into the place, too."""
    return target / link.relative_to(place) if link.is_relative_to(place) else link


def copy_file(path: Path, into: Path) -> None:
    """Copy one file, whole: of a database what is in its log, too; what may not be read is empty there."""
    try:
        fd = os.open(path, _OPENING)
    except PermissionError:
        into.touch(mode=0)
        return
    with os.fdopen(fd, "rb") as source:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return
        wal = path.with_name(f"{path.name}-wal")
        if wal.exists() and source.read(_LOOKED_AT) == _MAGIC:
            _copy_database(path, into)
        else:
            source.seek(0)
            with into.open("xb") as made:
                shutil.copyfileobj(source, made, 1024 * 1024)
    into.chmod(stat.S_IMODE(about.st_mode))
    os.utime(into, ns=(about.st_atime_ns, about.st_mtime_ns))


def _copy_database(path: Path, into: Path) -> None:
    """Copy a SQLite file that somebody may be writing, as it is at one moment."""
    import apsw  # noqa: PLC0415 - most dry runs meet none that is open

    source: Any = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    made: Any = apsw.Connection(str(into))
    try:
        with made.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(1000)
    finally:
        made.close()
        source.close()
