"""Making a backup: copied at one moment, written for good, and read again before it is called one."""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from msgspec import Struct

from carrel.backing.gathering import Choice, Copy, gather
from carrel.backing.newfile import new_file, refuse_file
from carrel.bundle import BundleDamaged
from carrel.bundle.reading import Progress, Verified, open_bundle, verify
from carrel.bundle.zips import write_zip
from carrel.config import user_directories
from carrel.files.disk import typed_failures
from carrel.findings import Finding
from carrel.home.local import absolute
from carrel.opening import Opened, open_workspace

FOLDER = "backups"
"""Where backups go in the user's own data, if nobody says where."""

_ODD = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


class Created(Struct, frozen=True, kw_only=True):
    """A backup that was made and verified, or what would go into it."""

    source: str
    file: str
    files: int
    size: int
    rows: Mapping[str, int]
    file_size: int = 0
    dry_run: bool = False
    findings: tuple[Finding, ...] = ()


def create(
    source: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str],
    progress: Progress | None = None,
    dry_run: bool = False,
) -> Created:
    """Back up a workspace into a file, or into a directory under a name with the date.

    Without either it goes to the user's own directory of backups.
    """
    opened = open_workspace(source, environ=environ)
    target = _target(opened, to, environ)
    refuse_file(target)
    with copied(opened, near=target.parent, progress=progress) as copy:
        if not dry_run:
            with new_file(target) as stream:
                write_zip(copy, stream)
                stream.flush()
                _read_again(stream.name, progress)
        manifest = copy.manifest
        return Created(
            source=opened.home.location,
            file=str(target),
            files=sum(held.part == "files" for held in manifest.files),
            size=manifest.size,
            rows=manifest.count_rows(),
            file_size=0 if dry_run else target.stat().st_size,
            dry_run=dry_run,
            findings=copy.findings,
        )


def check(file: str | os.PathLike[str], *, progress: Progress | None = None) -> Verified:
    """Read all of a backup and return what is damaged; what is none at all is an error."""
    with closing(open_bundle(file)) as bundle:
        return verify(bundle, os.fspath(file), progress=progress)


@contextmanager
def copied(
    opened: Opened, *, near: Path, choice: Choice | None = None, progress: Progress | None = None
) -> Generator[Copy]:
    """Hold a copy of a workspace, in a file that has no name, on the disk where it will be needed."""
    with typed_failures(str(near)), TemporaryFile(dir=near if near.is_dir() else None) as spool:
        yield gather(opened, spool, choice=choice, progress=progress)


def _read_again(name: str, progress: Progress | None) -> None:
    found = check(name, progress=progress)
    if found.damaged:
        raise BundleDamaged(name, f"was not written as it should be: {found.damaged[0]}")


def _target(opened: Opened, to: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Path:
    if to is None:
        return user_directories(environ).data / FOLDER / _dated(opened)
    target = absolute(to)
    with typed_failures(str(target)):
        is_folder = os.fspath(to).endswith("/") or target.is_dir()
    return target / _dated(opened) if is_folder else target


def _dated(opened: Opened) -> str:
    name = _ODD.sub("-", opened.home.location.rstrip("/").rpartition("/")[2]).strip(".-")[:_LONGEST_NAME]
    return f"{name or 'workspace'}-{opened.config.clock.now():%Y-%m-%dT%H%M%SZ}.zip"
