"""What a local directory holds, as entries and as stamps: the reading side of names."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from carrel.files import Entry, Kind, Stamp, Unreadable
from carrel.files.paths import TEMPORARY, parts
from carrel.files.resolve import DIRECTORY, Link, Place, Root, Steps, combined, release, resolved

LINK_STEPS = 100_000
"""What following all the links of one directory may cost; those beyond are reported unfollowed."""

Plan = list[tuple[tuple[str, ...], list[str]]]
"""Directories, and the names to look up in each, in the order asked for."""

_WORTH_REMEMBERING = 1000
_KINDS: dict[int, Kind] = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}
_PLAIN = frozenset({stat.S_IFREG >> 12, stat.S_IFDIR >> 12})


def entries(root: Root, under: str, place: Place) -> list[Entry]:
    """Return the entries of the directory at `place`, which was reached as `under`, by name."""
    canonical = place.target
    prefix, beneath = _prefix(under), _prefix(canonical)
    steps = Steps(LINK_STEPS)
    found = list[Entry]()
    with _opened(place) as fd, os.scandir(fd) as items:
        for item in items:
            name = item.name
            if name.startswith(TEMPORARY):
                continue
            try:
                here = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # gone since the directory was read
            if stat.S_ISLNK(here.st_mode):
                entry = _entry(prefix + name, beneath + name, here, place.links)
                found.append(_followed(root, entry, place.links, steps))
            else:
                found.append(_entry(prefix + name, beneath + name, here, place.links))
    found.sort(key=lambda entry: entry.path)
    return found


def stamp(root: Root, path: str) -> Stamp | None:
    """Return one stamp the thorough way, through links; None where there is no file or directory."""
    names = parts(path) if path else []
    try:
        with resolved(root, names) as place:
            if place.found is None or place.found.st_mode >> 12 not in _PLAIN:
                return None
            return combined(place.found, place.links)
    except (OSError, Unreadable):
        return None


def stamps(root: Root, paths: Sequence[str]) -> list[Stamp | None]:
    """Return a stamp for each path, at one system call each where neighbours follow each other."""
    found = list[Stamp | None]()
    plan = _remembered(tuple(paths)) if len(paths) <= _WORTH_REMEMBERING else _grouped(paths)
    for head, names in plan:
        try:
            fd = _neighbourhood(root, head)
        except FileNotFoundError:
            found.extend(None for _ in names)  # no link led there, so nothing else can be meant
            continue
        except OSError:
            found.extend(stamp(root, "/".join((*head, name))) for name in names)
            continue
        try:
            _stamp_neighbours(root, fd, head, names, found)
        finally:
            if fd != root.fd:
                release(fd)
    return found


def _stamp_neighbours(
    root: Root, fd: int, head: Sequence[str], names: Sequence[str], found: list[Stamp | None]
) -> None:
    """Add the stamps of names in one directory; whatever is unusual goes to `stamp`.

    This loop runs before every call of a model, so it is written to cost little beside its lstat.
    """
    lstat, add, plain = os.lstat, found.append, _PLAIN
    for name in names:
        try:
            here = lstat(name, dir_fd=fd) if name else os.fstat(fd)
        except FileNotFoundError:
            add(None)  # this directory was reached without a link, so nothing else can be meant
            continue
        except OSError:
            add(stamp(root, "/".join((*head, name))))
            continue
        if here.st_mode >> 12 in plain:
            add((here.st_ino, here.st_size, here.st_mtime_ns, here.st_ctime_ns))
        else:
            add(stamp(root, "/".join((*head, name))))


def _grouped(paths: Sequence[str]) -> Plan:
    """Check the paths and part them into runs with the same directory; the root has the name ""."""
    split = ([""] if path == "" else parts(path) for path in paths)
    runs = groupby(((tuple(names[:-1]), names[-1]) for names in split), key=itemgetter(0))
    return [(head, [name for _, name in run]) for head, run in runs]


# The same files are asked about turn after turn, and checking their paths costs as much as one lstat.
_remembered = lru_cache(maxsize=16)(_grouped)


def _neighbourhood(root: Root, head: Sequence[str]) -> int:
    """Open a directory that is reached without a link, so that its names can be looked up one by one."""
    fd = root.fd
    for name in head:
        try:
            below = os.open(name, DIRECTORY, dir_fd=fd)
        finally:
            if fd != root.fd:
                os.close(fd)
        fd = below
    return fd


@contextmanager
def _opened(place: Place) -> Generator[int]:
    fd = os.open(place.name or ".", DIRECTORY, dir_fd=place.directory)
    try:
        yield fd
    finally:
        os.close(fd)


def _followed(root: Root, link: Entry, before: tuple[Link, ...], steps: Steps) -> Entry:
    """Return what a link leads to if that is inside, else the link itself."""
    try:
        with resolved(root, link.target.split("/"), steps=steps) as end:
            if end.found is not None:
                return _entry(link.path, end.target, end.found, (*before, *end.links))
    except (OSError, Unreadable):
        pass  # what it leads to cannot be had; that it exists must still be seen
    return link


def _entry(path: str, target: str, here: os.stat_result, links: tuple[Link, ...]) -> Entry:
    return Entry(
        path=path,
        kind=_KINDS.get(stat.S_IFMT(here.st_mode), "special"),
        size=here.st_size,
        modified_ns=here.st_mtime_ns,
        target=target,
        identity=f"{here.st_dev}:{here.st_ino}",
        links=here.st_nlink,
        stamp=combined(here, links),
    )


def _prefix(directory: str) -> str:
    return f"{directory}/" if directory else ""
