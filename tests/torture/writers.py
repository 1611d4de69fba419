"""Row 4: agents, editors, the worker of the queue, a server that watches, and readers, all on the same files at once.

Who asks before writing is never overwritten in silence; what an editor's save takes away can be had back. A file that is
replaced is never seen half. An editor that truncates a file and writes it anew shows half of it to whoever looks then, and
asks nobody: of such a file it is held that all which was acknowledged is in it, or in the history of changes.
"""

import random
import re
import sqlite3
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.torture import verifier
from tests.torture.deeds import Picking
from tests.torture.desk import FILES, Child, Desk, Say
from tests.torture.kills import link_of
from tests.torture.rows import Defect, Meter, Row

from carrel.app import Workspace
from carrel.errors import CarrelError

_AGENTS, _MANY_AGENTS, _OPERATIONS = 8, 16, 200
_QUICK = _AGENTS * _OPERATIONS
_READS = 1_000_000
_BREATH = 0.02
"""Seconds for which a reader leaves the processor to others, after each thousand reads."""

_TOKEN = re.compile(rb"<([^<>\n]+)>")
_LINE = re.compile(rb"- <[^<>\n]+>|<[^<>\n]+>|- zero|#.*|")
_KINDS = ("log", "MEMORY.md", "set.md", "plan.md")
"""Where agents write: a log, a notebook with careful editors, a file by compare and swap, one with careless editors."""

_RECOVERABLE = ("MEMORY.md", "plan.md")
"""Where an editor may take away what it has not read; the history of changes has it then."""


def write_at_once(meter: Meter) -> None:
    """Let everybody write, round after round, each at a desk of its own."""
    totals, number = Counter[str](), 0
    agents = _AGENTS if meter.wanted <= _QUICK else _MANY_AGENTS
    while meter.goes_on:
        number += 1
        desk = Desk(
            meter.folder / str(number), FILES | {"plan.md": "# Plan\n\n## Notes\n\n- zero\n", "set.md": ""}
        )
        totals += _round(meter, desk, agents, meter.seed * 1_000 + number)
        meter.tried(agents * _OPERATIONS)
    meter.figures["reads, none torn"] = f"{totals['reads']:,}"
    if meter.wanted > _QUICK and not meter.goes_on and totals["reads"] < _READS:
        meter.left_out.append(f"fewer reads than the {_READS:,} that there should be")
    meter.figures["saves of editors"] = f"{totals['saved']:,}"
    meter.figures["conflicts returned"] = f"{totals['conflicts']:,}"
    meter.figures["had back from history"] = f"{totals['had back']:,}"


def _round(meter: Meter, desk: Desk, agents: int, seed: int) -> Counter[str]:
    with desk.carrel("serve", "--port", "0", stdout=subprocess.PIPE) as server:
        port, token = link_of(server)
        editors = [
            Child(lambda say, way=way, own=own: _edit(desk.root, way, seed + own, say))
            for own, way in enumerate((_rename_over, _sed, _append, _truncate))
        ]
        readers = [
            Child(lambda say, path=path: _read(desk.root / path, say)) for path in ("MEMORY.md", "set.md")
        ]
        others = [Child(lambda say: _put(port, token, say)), Child(lambda say: _worker(desk, say))]
        workers = [Child(lambda say, own=own: _agent(desk, own, say)) for own in range(agents)]
        said = [line for each in workers for line in each.listen()]
        said += [line for each in others for line in each.kill()]
        seen = [line for each in (*editors, *readers) for line in each.kill()]
        server.kill()
    for each in (*workers, *others, *editors, *readers):
        meter.check(not each.has_failed, "one of them failed")
    torn = [line for line in seen if line.startswith("torn")]
    meter.check(not torn, f"{len(torn)} torn reads: {torn[:1]}")
    wrong, had_back = _wrong(desk, said)
    for told in wrong:
        meter.check(is_kept=False, told=told)
    reads = sum(int(line.split()[1]) for line in seen if line.startswith("reads"))
    conflicts = sum(line.startswith("conflict") for line in said)
    return Counter(
        {"reads": reads, "saved": seen.count("saved"), "conflicts": conflicts, "had back": had_back}
    )


def _agent(desk: Desk, own: int, say: Say) -> None:
    with desk.open() as workspace:
        for number in range(_OPERATIONS):
            kind, token = _KINDS[number % len(_KINDS)], f"{own}.{number}"
            try:
                _write(workspace, kind, token)
                say(f"{kind} {token}")
            except CarrelError as error:
                say(f"conflict {error.code}")


def _write(workspace: Workspace, kind: str, token: str) -> None:
    if kind == "log":
        workspace.record("s1", [{"role": "user", "content": token, "message_id": token}])
    elif kind == "set.md":
        content = workspace.files.read(kind)
        assert content is not None
        workspace.write(kind, f"{content.data.decode()}<{token}>\n", expect=content.digest)
    else:
        workspace.memory.notebook(kind).append("Notes", f"- <{token}>")


def _put(port: int, token: str, say: Say) -> None:
    """Write over HTTP, over what was read just before."""
    wire = HTTPConnection("127.0.0.1", port, timeout=60)
    head = {"Authorization": f"Bearer {token}"}
    with suppress(OSError, HTTPException):
        for number in range(1_000_000):
            wire.request("GET", "/api/v1/w/default/files/set.md", headers=head)
            found = wire.getresponse()
            text, tag = found.read(), found.headers["ETag"] or ""
            if found.status == 200:
                own = f"http.{number}"
                wire.request(
                    "PUT",
                    "/api/v1/w/default/files/set.md",
                    text + f"<{own}>\n".encode(),
                    head | {"If-Match": tag},
                )
                answer = wire.getresponse()
                answer.read()
                if answer.status in (200, 201, 204):
                    say(f"set.md {own}")
                elif answer.status == 412:
                    say("conflict 412")
            time.sleep(0.01)


def _worker(desk: Desk, say: Say) -> None:
    """Do what waits in the queue, and dream, over and over."""
    with desk.open() as workspace:
        while True:
            with suppress(CarrelError):
                workspace.sweep(model=Picking())
                workspace.dreaming.run()
            with suppress(CarrelError):
                workspace.search("zero", mode="lexical")
            say("swept")
            time.sleep(0.02)


Save = Callable[[Path, bytes], None]


def _edit(root: Path, save: Save, seed: int, say: Say) -> None:
    """Save as an editor does, which asks nobody.

    Who truncates or adds in place lets others see half of it, if only at the end of a page: nobody reads along there.
    """
    chance = random.Random(seed)
    path = root / ("plan.md" if save in (_truncate, _append) else "MEMORY.md")
    for number in range(1_000_000):
        time.sleep(chance.uniform(0.02, 0.08))
        with suppress(FileNotFoundError):
            save(path, f"- <e{seed}.{number}>\n".encode())
        say("saved")


def _rename_over(path: Path, more: bytes) -> None:
    """As vim does: the new text under another name, then in place of the old one."""
    own = path.with_name(f".{path.name}.swp")
    own.write_bytes(path.read_bytes() + more)
    own.replace(path)


def _sed(path: Path, more: bytes) -> None:
    """`sed -i`, which adds a line after the last."""
    subprocess.run(["sed", "-i", f"$a\\{more.decode().strip()}", str(path)], check=False, capture_output=True)


def _append(path: Path, more: bytes) -> None:
    """`echo >>`."""
    with path.open("ab") as file:
        file.write(more)


def _truncate(path: Path, more: bytes) -> None:
    """As many editors do: the file is emptied, then written."""
    text = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(text + more)


def _read(path: Path, say: Say) -> None:
    last = b""
    for count in range(1, 1_000_000_000):
        data = path.read_bytes()
        if data != last:
            last = data
            whole = data.endswith(b"\n") or not data
            if not whole or not all(_LINE.fullmatch(line) for line in data.split(b"\n")):
                say(f"torn at {len(data)} {data[-60:]!r}")
        if count % 1_000 == 0:
            say("reads 1000")
            time.sleep(_BREATH)


def _wrong(desk: Desk, said: Sequence[str]) -> tuple[list[str], int]:
    """Return what was acknowledged and is neither there nor to be had back, or is there twice; and what was had back."""
    acknowledged: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for line in said:
        kind, _, token = line.partition(" ")
        if kind in acknowledged:
            acknowledged[kind].append(token)
    entries, wrong = verifier.entries(desk.log("s1"))
    wrong += verifier.told_once(acknowledged["log"], [str(entry["message_id"]) for entry in entries], "log")
    wrong += verifier.told_once(acknowledged["set.md"], _tokens(desk, "set.md"), "set.md")
    kept, had_back = _kept(desk.root / ".carrel/state/records.db"), 0
    for path in _RECOVERABLE:
        counts = Counter(_tokens(desk, path))
        gone = [token for token in acknowledged[path] if not counts[token]]
        had_back += sum(token in kept for token in gone)
        wrong += [f"{path}: {token} is lost, and cannot be had back" for token in gone if token not in kept]
        wrong += [f"{path}: {token} is there {times} times" for token, times in counts.items() if times > 1]
    return wrong, had_back


def _tokens(desk: Desk, path: str) -> list[str]:
    return [token.decode() for token in _TOKEN.findall((desk.root / path).read_bytes())]


def _kept(records: Path) -> set[str]:
    """Return all that the history of changes holds, as it stands in the database."""
    with closing(sqlite3.connect(f"file:{records}?mode=ro", uri=True)) as database:
        return {token.decode() for data in _texts(database) for token in _TOKEN.findall(data)}


def _texts(database: sqlite3.Connection) -> Iterator[bytes]:
    for row in database.execute("SELECT old, new FROM changes"):
        for data in row:
            try:
                yield zlib.decompress(data)
            except zlib.error:
                yield data


WRITERS = Row(
    number=4,
    promise="agents, editors, worker, HTTP and watcher write the same files at once",
    quick=_QUICK,
    long=_MANY_AGENTS * 5_000,
    share=10,
    in_memory=True,
    run=write_at_once,
    passes="every token once, or a returned conflict; 0 torn reads of files that are replaced, in ≥ 1M; "
    "what an editor's save took away, in place too, is in the history",
    defects=(
        Defect(
            "files/disk.py",
            "            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
            "            pass\n",
            "no lock is taken",
        ),
        Defect(
            "files/local.py",
            "                _compare(directory, name, expect)\n                directory.settle(temporary, name)\n",
            "                directory.settle(temporary, name)\n",
            "what is replaced is not compared under the lock",
        ),
    ),
)
