"""Looks at what is on the disk with nothing but the standard library: no code of Carrel is used here."""

import json
import sqlite3
from collections import Counter
from pathlib import Path

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


def database_is_sound(path: Path) -> bool:
    """Tell whether SQLite itself finds nothing wrong with a copy of a database."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
