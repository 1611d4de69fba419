"""What a user asks for that changes something, and how to see from outside whether it is done, or as it was.

No code of Carrel looks at the outcome: files are read, the database by SQLite itself.
"""

import json
import re
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.torture import verifier
from tests.torture.desk import Desk

from carrel.app import Workspace

TOKEN = "torture-token-4711"
_SESSIONS = "sessions"
_DERIVED = re.compile(r"/\.carrel/cache(/|$)|/sessions/(sessions\.json|\w+\.jsonl)$")
_STORY = "The harbour is calm and the boats are many. " * 120
Look = Callable[[Desk], bool]


class Operation(NamedTuple):
    """A command, or what a program asks for, and how to tell the state after it from the one before."""

    name: str
    asked: tuple[str, ...] | Callable[[Workspace], object]
    is_done: Look
    is_undone: Look
    given: str = ""
    """What the command reads from standard input."""

    admits: str = ""
    """What it prints where it did only a part, and says so; the rest can be asked for again."""

    takes: tuple[str, ...] = ()
    """What need not be left when it is done: lines with one of these in them, or a file of this name. All else stays."""


def prepare(folder: Path) -> Desk:
    """Make a desk at which all operations have something to do."""
    desk = Desk(folder)
    vault = folder / "vault/memory"
    vault.mkdir(parents=True)
    (vault / "2026-04-01.md").write_text(f"- {TOKEN} of the vault\n")
    (folder / "vault/SOUL.md").write_text("Be somebody else.\n")
    (desk.root / "knowledge").mkdir()
    (desk.root / "knowledge/a.md").write_text("the old a\n")
    with desk.open() as workspace:
        _give_up_a_job(workspace)  # the first, so that it has the number 1
        for number in range(8):
            said = {"role": "user", "content": f"Boat {number}?", "message_id": f"u{number}"}
            told = {"role": "assistant", "content": f"{number}: {_STORY}", "message_id": f"a{number}"}
            workspace.record("s1", [said, told])
        workspace.memory.add("The berth of the Zoltan is pier nine.")
        workspace.memory.notebook("MEMORY.md").append("Notes", "- the last change")
    return desk


def _give_up_a_job(workspace: Workspace) -> None:
    queue, now = workspace.records.queue, datetime.now(UTC)
    queue.put("torture", {"about": TOKEN}, key="torture")
    job = queue.take(("torture",), now=now, lease=timedelta(seconds=60), worker="w")
    assert job is not None
    queue.fail(job, "on purpose", retry_at=None)


def _text(desk: Desk, path: str) -> str:
    file = desk.root / path
    return file.read_text("utf-8") if file.exists() else ""


def _times(path: str, token: str = TOKEN) -> Callable[[Desk], int]:
    return lambda desk: _text(desk, path).count(token)


def _entries(session: str) -> Callable[[Desk], int]:
    def count(desk: Desk) -> int:
        log = desk.log(session)
        found, _ = verifier.entries(log) if log.exists() else ([], [])  # `gone` tells what is wrong with it
        return sum(entry["message_id"] == TOKEN for entry in found)

    return count


def gone(before: Desk, desk: Desk, takes: tuple[str, ...] | None) -> Iterator[str]:
    """Tell what stood on a desk before and does not any more, but for what an operation takes away; and torn lines.

    Where nothing was done, which is None, files that are replaced are as they were to the last byte.
    """
    for name in _files(before.root.parent):
        old, now = before.root.parent / name, desk.root.parent / name
        if old.name == "sessions.json":
            yield from _ids_gone(old, now)
        elif takes is None and _SESSIONS not in name.parts:
            if not now.exists() or now.read_bytes() != old.read_bytes():
                yield f"{old.name} is not as it was"
        elif old.name not in (takes or ()):
            yield from _lines_gone(old, now, takes or ())
    for log in desk.log("s1").parent.glob("*.log.jsonl"):
        yield from verifier.entries(log)[1]
    rows = _rows(before) - _rows(desk)
    if rows:
        yield f"{len(rows)} records are gone: {sorted(rows)[:3]}"


def is_derived(path: str) -> bool:
    """Tell whether this is made anew from the truth where it is gone: a cache, and what a log of a session shows."""
    return _DERIVED.search(path) is not None


def _files(folder: Path) -> Iterator[Path]:
    """Yield what is its owner's, from the folder on: all but records, and what is made anew when it is gone."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not {".carrel", "cache"} & set(name.parts):
            yield name


def _lines_gone(old: Path, now: Path, takes: tuple[str, ...]) -> Iterator[str]:
    """Tell which lines are gone, or stand in another order."""
    left = iter(now.read_bytes().splitlines() if now.exists() else [])
    for line in old.read_bytes().splitlines():
        is_taken = any(each.encode() in line for each in takes)
        if not is_taken and line not in left:
            yield f"{old.name}: {line[:80]!r} is gone"
            return


def _ids_gone(old: Path, now: Path) -> Iterator[str]:
    known = set(json.loads(old.read_bytes())["sessions"])
    missing = known - set(json.loads(now.read_bytes())["sessions"] if now.exists() else ())
    if missing:
        yield f"{old.name}: {sorted(missing)} are gone"


def _rows(desk: Desk) -> set[tuple[str, object]]:
    """Return which records there are, by what they are of and their id."""
    tables = ("changes", "facts", "jobs")
    with records(desk) as database:
        return {(table, row[0]) for table in tables for row in database.execute(f"SELECT id FROM {table}")}


def _once(count: Callable[[Desk], int]) -> tuple[Look, Look]:
    return lambda desk: count(desk) == 1, lambda desk: count(desk) == 0


def _is(path: str, text: str) -> Look:
    return lambda desk: _text(desk, path) == text


def records(desk: Desk, mode: str = "ro") -> "closing[sqlite3.Connection]":
    """Open what is kept of a desk in its database, by SQLite itself."""
    path = desk.root / ".carrel/state/records.db"
    return closing(sqlite3.connect(f"file:{path}?mode={mode}", uri=True))


def _row(sql: str) -> Callable[[Desk], object]:
    def look(desk: Desk) -> object:
        with records(desk) as database:
            return (database.execute(sql).fetchone() or (None,))[0]

    return look


def _compacted(desk: Desk) -> int:
    return desk.log("s1").read_text().count('{"type":"compaction"')


def _kept_in_trash(desk: Desk) -> bool:
    return any(
        path.read_text() == "the old a\n" for path in (desk.root / ".carrel/state/trash").rglob("a.md")
    )


def _backups(desk: Desk) -> list[Path]:
    return sorted((desk.root.parent / "safe").glob("*.zip"))


def _is_backup(desk: Desk) -> bool:
    with zipfile.ZipFile(_backups(desk)[0]) as archive:
        return archive.testzip() is None and any("MEMORY.md" in name for name in archive.namelist())


_NOTES, _JOB = "knowledge/a.md", _row("SELECT state FROM jobs WHERE kind = 'torture'")
_MESSAGE = json.dumps({"role": "user", "content": "hello", "message_id": TOKEN})

OPERATIONS = (
    Operation(
        "record a turn", ("sessions", "record", "--session", "s1"), *_once(_entries("s1")), given=_MESSAGE
    ),
    Operation(
        "record the first turn of a session",
        ("sessions", "record", "--session", "s2"),
        *_once(_entries("s2")),
        given=_MESSAGE,
    ),
    Operation(
        "append to a section",
        ("memory", "append", "MEMORY.md", "Notes", f"- {TOKEN}"),
        *_once(_times("MEMORY.md")),
    ),
    Operation(
        "replace a section",
        ("memory", "replace", "MEMORY.md", "Notes", f"- {TOKEN}"),
        lambda desk: TOKEN in _text(desk, "MEMORY.md") and "zero" not in _text(desk, "MEMORY.md"),
        lambda desk: TOKEN not in _text(desk, "MEMORY.md") and "zero" in _text(desk, "MEMORY.md"),
        takes=("zero", "the last change"),
    ),
    Operation(
        "rename a section",
        ("memory", "rename", "MEMORY.md", "Notes", "Remarks"),
        lambda desk: "## Remarks" in _text(desk, "MEMORY.md") and "zero" in _text(desk, "MEMORY.md"),
        lambda desk: "## Notes" in _text(desk, "MEMORY.md") and "zero" in _text(desk, "MEMORY.md"),
        takes=("## Notes",),
    ),
    Operation(
        "write a new file", ("files", "put", "deep/new.md"), *_once(_times("deep/new.md")), given=TOKEN
    ),
    Operation(
        "write over a file",
        ("files", "put", _NOTES),
        _is(_NOTES, TOKEN),
        _is(_NOTES, "the old a\n"),
        given=TOKEN,
        takes=("the old a",),
    ),
    Operation(
        "move a file",
        ("files", "mv", _NOTES, "knowledge/b.md"),
        lambda desk: not _text(desk, _NOTES) and _text(desk, "knowledge/b.md") == "the old a\n",
        lambda desk: (
            _text(desk, _NOTES) == "the old a\n" and _text(desk, "knowledge/b.md") in ("", "the old a\n")
        ),
        takes=("the old a",),
    ),
    Operation(
        "remove a file",
        ("files", "rm", _NOTES),
        lambda desk: not _text(desk, _NOTES) and _kept_in_trash(desk),
        _is(_NOTES, "the old a\n"),
        takes=("the old a",),
    ),
    Operation(
        "remember a fact", ("memory", "add", f"The {TOKEN} is at pier one."), *_once(_times("memory/kate.md"))
    ),
    Operation(
        "forget a fact",
        ("memory", "forget", "--query", "Zoltan", "--yes"),
        lambda desk: "Zoltan" not in _text(desk, "memory/kate.md"),
        lambda desk: "Zoltan" in _text(desk, "memory/kate.md"),
        takes=("Zoltan",),
    ),
    Operation(
        "undo a change",
        ("memory", "undo"),
        lambda desk: "the last change" not in _text(desk, "MEMORY.md") and "zero" in _text(desk, "MEMORY.md"),
        lambda desk: "the last change" in _text(desk, "MEMORY.md") and "zero" in _text(desk, "MEMORY.md"),
        takes=("the last change",),
    ),
    Operation(
        "note in the journal",
        lambda workspace: workspace.memory.note(TOKEN),
        *_once(
            lambda desk: sum(path.read_text().count(TOKEN) for path in (desk.root / "memory").glob("2*.md"))
        ),
    ),
    Operation("compact a session", ("sessions", "compact", "s1"), *_once(_compacted), takes=("s1.jsonl",)),
    Operation(
        "import", ("import", "../vault", "--mine"), *_once(_times("memory/2026-04-01.md")), admits='"skipped"'
    ),
    Operation(
        "make a backup",
        ("backup", "create", "--to", "../safe/"),
        lambda desk: len(_backups(desk)) == 1 and _is_backup(desk),
        lambda desk: not _backups(desk),
    ),
    Operation(
        "put a job back into the queue",
        ("jobs", "retry", "1"),
        lambda desk: _JOB(desk) == "waiting",
        lambda desk: _JOB(desk) == "failed",
    ),
)
