"""Looks at what is on the disk with nothing but the standard library: no code of Carrel is used here."""

import json
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

TEMPORARY = ".carrel-tmp-"


def entries(log: Path) -> tuple[list[dict[str, object]], list[str]]:
    """Return the entries of a transcript, and what is wrong with its lines.

    The last line may be torn while nobody has written since: the next who writes mends it.
    """
    data = log.read_bytes()
    *lines, tail = data.split(b"\n")
    found, wrong = list[dict[str, object]](), list[str]()
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except ValueError:
            wrong.append(f"{log.name}:{number} is no JSON")
            continue
        if entry.get("type") == "entry":
            found.append(entry)
    if tail and _is_whole(tail):
        wrong.append(f"{log.name}: its last line is whole and has no end")
    return found, wrong


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def told_once(acknowledged: list[str], found: list[str], where: str) -> list[str]:
    """Return what was acknowledged and is lost, and whatever is there twice."""
    counts = Counter(found)
    lost = [f"{where}: {each} is lost" for each in acknowledged if not counts[each]]
    return lost + [f"{where}: {each} is there {times} times" for each, times in counts.items() if times > 1]


def leftovers(root: Path) -> list[Path]:
    """Return what unfinished writes left behind."""
    return [path for path in root.rglob(f"{TEMPORARY}*") if path.is_file()]


@contextmanager
def records(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a copy of a database, with the log that a killed process left beside it: what is there stays as it is."""
    with TemporaryDirectory(prefix="torture-copy-") as folder:
        for each in (path, path.with_name(f"{path.name}-wal")):
            if each.exists():
                shutil.copy(each, folder)
        with closing(sqlite3.connect(Path(folder, path.name))) as database:
            yield database


def database_is_sound(database: sqlite3.Connection) -> bool:
    """Tell whether SQLite itself finds nothing wrong with a database, each row in the form of its table."""
    with suppress(sqlite3.DatabaseError):
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return False


def column(database: sqlite3.Connection, sql: str) -> list[str]:
    """Return the first column of what a question finds; nothing where there is no such table yet."""
    with suppress(sqlite3.DatabaseError):
        return [str(row[0]) for row in database.execute(sql)]
    return []


def repository_is_sound(root: Path) -> bool:
    """Tell whether git itself finds nothing wrong with what is committed, where there is a repository and git."""
    if not (root / ".git/HEAD").exists() or not_looked_at():
        return True
    command = ["git", "-C", str(root), "-c", "safe.directory=*", "fsck", "--strict", "--no-dangling"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def not_looked_at() -> list[str]:
    """Return what cannot be looked at on this machine."""
    return [] if shutil.which("git") else ["not looked at here: what is committed, no git"]
