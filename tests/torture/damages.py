"""What can become of a file: every kind of damage that a disk, a crash, another program or a hand does to one."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

Damage = Callable[[Path, random.Random], None]
_NEWLINE = 10


def _flip(path: Path, chance: random.Random) -> None:
    spoilt = bytearray(path.read_bytes())
    for _ in range(chance.randint(1, 8)):
        spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
    path.write_bytes(spoilt)


def _cut(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _tear(path: Path, chance: random.Random) -> None:
    """Cut it in the middle of a character, where it has one of several bytes."""
    data = path.read_bytes()
    middles = [place for place, byte in enumerate(data) if byte & 0xC0 == 0x80]  # what UTF-8 goes on with
    os.truncate(path, chance.choice(middles or range(len(data))))


def _nulls(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    start, size = chance.randrange(len(data)), chance.choice((1, 200, 4_096, 143_000, 5_000_000))
    kept = data[start + size :] if chance.random() < 0.5 else data[start:]  # written over, or put between
    path.write_bytes(data[:start] + b"\0" * size + kept)


def _garbage(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    start = chance.randrange(len(data))
    path.write_bytes(data[:start] + chance.randbytes(chance.randint(1, 500)) + data[start:])


def _unending(path: Path, chance: random.Random) -> None:
    """Tear a line within a long text, in which others may begin: code that somebody quoted, for instance."""
    data = path.read_bytes()
    start = chance.randrange(len(data))
    torn = chance.choice((b'\\"', b'"', b"{", b"\\")) * 50_000
    path.write_bytes(data[:start] + torn + b"\n" + data[start:])


def _shuffle(path: Path, chance: random.Random) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    chance.shuffle(lines)
    path.write_bytes(b"".join(lines))


def _splice(path: Path, chance: random.Random) -> None:
    """Write lines into one another, as two do who know nothing of each other."""
    data = path.read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == _NEWLINE]
    for place in sorted(chance.sample(ends, min(len(ends), 3)), reverse=True):
        data = data[:place] + data[place + 1 :]
    if chance.random() < 0.5:  # as often
        lines, place = data.splitlines(keepends=True), chance.randrange(len(data))
        data = data[:place] + chance.choice(lines) + data[place:]
    path.write_bytes(data)


def _repeat(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    start = chance.randrange(len(data))
    path.write_bytes(data[:start] + data[max(0, start - chance.randint(1, 4_096)) :])


def _empty(path: Path, _: random.Random) -> None:
    os.truncate(path, 0)


def _missing(path: Path, _: random.Random) -> None:
    path.unlink()


def _folder(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, _: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to(chance.choice(("/dev/zero", "/proc/version", path.name, "..", "absent")))


def _beside(path: Path, chance: random.Random) -> None:
    """Put something where a database has a journal for a while: who opens one looks for it there."""
    beside = path.with_name(path.name + chance.choice(("-journal", "-wal", "-shm")))
    beside.write_bytes(chance.randbytes(chance.randint(1, 5_000)))
    if chance.random() < 0.5:  # as often
        _pipe(beside, chance)


def _exchange(path: Path, chance: random.Random) -> None:
    """Let two files of one kind in one folder change places."""
    others = [each for each in sorted(path.parent.glob(f"*{path.suffix}")) if each.is_file() and each != path]
    if others:
        other, aside = chance.choice(others), path.with_name("aside")
        path.rename(aside)
        other.rename(path)
        aside.rename(other)


CHANGES: Sequence[Damage] = (
    _flip, _cut, _tear, _nulls, _garbage, _unending, _shuffle, _splice, _repeat, _empty,
)  # fmt: skip
"""What leaves a file where it was."""

REPLACEMENTS: Sequence[Damage] = (_missing, _folder, _pipe, _link, _beside, _exchange)
"""What leaves something else, or nothing, in its place."""
