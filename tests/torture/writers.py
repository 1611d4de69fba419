"""Row 4: agents, editors, the worker of the queue, a server that watches, and readers, all on the same files at once.

Who asks before writing is never overwritten in silence; what an editor's save takes away can be had back. A file that is
replaced is never seen half. An editor asks nobody, and yet its saves are not taken away either, where it is the only one and
gives a file its name when it is whole. One that truncates a file and writes it anew shows half of it to whoever looks then:
of such a file it is held that all which was acknowledged is in it, or in the history of changes.
"""

import random
import re
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path

from tests.torture import verifier
from tests.torture.deeds import Picking
from tests.torture.desk import FILES, Child, Desk, Say
from tests.torture.kills import link_of
from tests.torture.rows import Defect, Meter, Row

from carrel.app import Workspace
from carrel.errors import CarrelError, Conflict

_AGENTS, _MANY_AGENTS, _OPERATIONS = 8, 16, 200
_QUICK = _AGENTS * _OPERATIONS
_READS = 1_000_000
_PARTS = ("writes over HTTP", "jobs of the queue", "promoted by dreams", "saves of editors")
"""Of whom each has to have done something: who is dead is in nobody's way."""

_ANSWERS: dict[int, str] = {
    HTTPStatus.OK: "set.md {}",
    HTTPStatus.CREATED: "set.md {}",
    HTTPStatus.NO_CONTENT: "set.md {}",
    HTTPStatus.PRECONDITION_FAILED: "conflict 412",
}
_PAUSE = 0.002
"""Seconds between two requests."""

_BREATH = 0.02
"""Seconds for which a reader leaves the processor to others, after each thousand reads."""

_TOKEN = re.compile(rb"<([^<>\n]+)>")
_SAVED = re.compile(rb"<(e[^<>\n]+)>")
_AGENTS_OWN, _EDITORS_OWN = re.compile(r" \d+\.\d+$"), re.compile(r" e\d+\.\d+$")
_PROMOTED = re.compile(r"<(w[^<>\n]+)>")
_LINE = re.compile(rb"- <[^<>\n]+>|<[^<>\n]+>|- zero|- [^\n]+ _\(score=[\d.]+, hits=\d+, days=\d+\)_|#.*|")
_KINDS = ("log", "MEMORY.md", "set.md", "plan.md", "list.md")
"""Where agents write: a log, a notebook with a careful editor, a file by compare and swap, one with careless editors, and
one with `sed -i`."""

_RECOVERABLE = ("MEMORY.md", "plan.md", "list.md")
"""Where an editor may take away what it has not read; the history of changes has it then."""

_FILES = FILES | {
    "carrel.yaml": "layout: carrel\nsearch: {embedder: none}\n"
    "agents:\n  - {id: kate, display_name: Kate, trigger_interval: 1}\n"
    "dreaming: {min_recalls: 1, min_queries: 1, min_days: 1, min_score: 0}\n",
    "plan.md": "# Plan\n\n## Notes\n\n- zero\n",
    "list.md": "# List\n\n## Notes\n\n- zero\n",
    "set.md": "",
}
"""What is said is learnt at the next chance, and what was asked for once is promoted into MEMORY.md."""


def write_at_once(meter: Meter) -> None:
    """Let everybody write, round after round, each at a desk of its own."""
    totals, number = Counter[str](), 0
    _load(meter.folder / "0")
    agents = _AGENTS if meter.wanted <= _QUICK else _MANY_AGENTS
    while meter.goes_on:
        number += 1
        totals += _round(meter, Desk(meter.folder / str(number), _FILES), agents, meter.seed * 1_000 + number)
        meter.tried(agents * _OPERATIONS)
    for name in _PARTS:
        meter.check(totals[name] or not number, f"{name}: none")
        meter.figures[name] = f"{totals[name]:,}"
    meter.figures["reads, none torn"] = f"{totals['reads']:,}"
    if meter.wanted > _QUICK and not meter.goes_on and totals["reads"] < _READS:
        meter.left_out.append(f"fewer reads than the {_READS:,} that there should be")
    meter.figures["conflicts returned"] = f"{totals['conflicts']:,}"
    meter.figures["had back from history"] = f"{totals['had back']:,}"


def _load(folder: Path) -> None:
    """Load what dreams need, so that nobody has to who is forked from here."""

    def tell(say: Say) -> None:
        with Desk(folder, _FILES).open() as workspace:
            list(_dreamt(workspace, 0))
        say("\n".join(sys.modules))

    for name in Child(tell).listen():
        with suppress(ImportError):
            import_module(name)


def _round(meter: Meter, desk: Desk, agents: int, seed: int) -> Counter[str]:
    with desk.carrel("serve", "--port", "0", stdout=subprocess.PIPE) as server:
        port, token = link_of(server)
        editors = [
            Child(lambda say, path=path, save=save, own=own: _edit(desk.root / path, save, seed + own, say))
            for own, (path, save) in enumerate(_EDITORS)
        ]
        readers = [
            Child(lambda say, path=path: _read(desk.root / path, say)) for path in ("MEMORY.md", "set.md")
        ]
        others = [Child(lambda say: _put(port, token, say)), Child(lambda say: _dream(desk, say))]
        for each in others:
            each.wait_for_word()  # they are slower to begin than agents are to be done
        workers = [Child(lambda say, own=own: _agent(desk, own, say)) for own in range(agents)]
        said = [line for each in workers for line in each.listen()]
        said += [line for each in (*others, *editors, *readers) for line in each.kill()]
        meter.check(server.poll() is None, "the server ended")
        server.kill()
    for each in (*workers, *others, *editors, *readers):
        meter.check(not each.has_failed, "one of them failed")
    wrong, had_back = _wrong(desk, said)
    for told in (*wrong, *_refused(said, agents)):
        meter.check(is_kept=False, told=told)
    return _counted(said) + Counter({"had back": had_back})


def _refused(said: Sequence[str], agents: int) -> Iterator[str]:
    """Tell of reads that were torn, of errors that are no conflicts, and where there were more of these than writes."""
    for begins in ("torn", "failed"):
        found = [line for line in said if line.startswith(begins)]
        if found:
            yield f"{len(found)} times {found[0]}"
    done = Counter(line.partition(" ")[0] for line in said if _AGENTS_OWN.search(line))
    for kind in _KINDS:
        asked = agents * _OPERATIONS // len(_KINDS)
        if done[kind] * 2 < asked:
            yield f"{kind}: {done[kind]} of {asked} writes were acknowledged"


def _counted(said: Sequence[str]) -> Counter[str]:
    """Return how often what happened: what nobody did was not tried."""
    return Counter(
        {
            "reads": sum(int(line.split()[1]) for line in said if line.startswith("reads")),
            "conflicts": sum(line.startswith("conflict") for line in said),
            "writes over HTTP": sum(line.startswith("set.md http.") for line in said),
            "jobs of the queue": sum(int(line.split()[1]) for line in said if line.startswith("swept")),
            "promoted by dreams": sum(line.startswith("MEMORY.md w.") for line in said),
            "saves of editors": sum(bool(_EDITORS_OWN.search(line)) for line in said),
        }
    )


def _agent(desk: Desk, own: int, say: Say) -> None:
    with desk.open() as workspace:
        for number in range(_OPERATIONS):
            kind, token = _KINDS[number % len(_KINDS)], f"{own}.{number}"
            try:
                _write(workspace, kind, token)
                say(f"{kind} {token}")
            except Conflict as error:
                say(f"conflict {error.code}")
            except CarrelError as error:
                say(f"failed {error.code}: {error.message}")


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
    """Write over HTTP, over what was read just before; whoever it is that ends, ends this too."""
    wire = HTTPConnection("127.0.0.1", port, timeout=60)
    head, path = {"Authorization": f"Bearer {token}"}, "/api/v1/w/default/files/set.md"
    say("ready")
    for number in range(1_000_000):
        wire.request("GET", path, headers=head)
        found = wire.getresponse()
        text, tag = found.read(), found.headers["ETag"] or ""
        status, own = found.status, f"http.{number}"
        if status == HTTPStatus.OK:
            wire.request("PUT", path, text + f"<{own}>\n".encode(), head | {"If-Match": tag})
            answer = wire.getresponse()
            answer.read()
            status = answer.status
        say(_ANSWERS.get(status, f"failed with {status} over HTTP").format(own))
        time.sleep(_PAUSE)


def _dream(desk: Desk, say: Say) -> None:
    """Do what waits in the queue, and dream, over and over; ready is who has done it once."""
    with desk.open() as workspace:
        for number in range(1_000_000):
            told = list(_dreamt(workspace, number))
            if number == 0:
                say("ready")
            for line in told:
                say(line)


def _dreamt(workspace: Workspace, number: int) -> Iterator[str]:
    """Say something that is worth knowing, learn it, ask for it, and promote it; tell what came of each."""
    fact = f"The berth <w.{number}> of the harbour was given away."
    messages = [{"role": "user", "content": fact}, {"role": "assistant", "content": "Good."}]
    try:
        workspace.record("s2", messages)
        yield f"swept {workspace.sweep(model=Picking()).done}"
        workspace.prepare("s2", f"Who was given the berth w.{number}?")
        dream = workspace.dreaming.run().dream
    except Conflict as error:
        yield f"conflict {error.code}"
    else:
        promoted = [each.text for each in dream.promotions if each.state == "promoted"] if dream else []
        yield from (f"MEMORY.md {token}" for text in promoted for token in _PROMOTED.findall(text))


Save = Callable[[Path, bytes], None]


def _edit(path: Path, save: Save, seed: int, say: Say) -> None:
    """Save as an editor does, which asks nobody.

    Who truncates or adds in place lets others see half of it, if only at the end of a page: nobody reads along there, and
    what it writes into a file that was replaced meanwhile is nowhere.
    """
    chance = random.Random(seed)
    for number in range(1_000_000):
        time.sleep(chance.uniform(0.02, 0.08))
        own = f"e{seed}.{number}"
        save(path, f"- <{own}>\n".encode())
        say(f"{path.name if save in (_rename_over, _sed) else 'careless'} {own}")


def _rename_over(path: Path, more: bytes) -> None:
    """As vim does: the new text under another name, then in place of the old one."""
    own = path.with_name(f".{path.name}.swp")
    own.write_bytes(path.read_bytes() + more)
    own.replace(path)


def _sed(path: Path, more: bytes) -> None:
    """`sed -i`, which adds a line after the last."""
    subprocess.run(["sed", "-i", f"$a\\{more.decode().strip()}", str(path)], check=True, capture_output=True)


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


_EDITORS: tuple[tuple[str, Save], ...] = (
    ("MEMORY.md", _rename_over),
    ("list.md", _sed),
    ("plan.md", _append),
    ("plan.md", _truncate),
)


def _read(path: Path, say: Say) -> None:
    last = b""
    for count in range(1, 1_000_000_000):
        data = path.read_bytes()
        if data != last:
            if not is_whole(path.name, data, last):
                say(f"torn at {len(data)} {data[-60:]!r}")
            last = data
        if count % 1_000 == 0:
            say("reads 1000")
            time.sleep(_BREATH)


def is_whole(name: str, data: bytes, last: bytes) -> bool:
    """Tell whether a file that was read can be one that somebody has written, after what was read before.

    It is whole lines, and no end of it is missing: to one file everybody adds, in the other an editor's lines stay, but for
    its last one, which may have come while somebody else was at it, and then comes again.
    """
    if not (data.endswith(b"\n") or not (data or last)):
        return False
    if not all(_LINE.fullmatch(line) for line in data.split(b"\n")):
        return False
    if name == "set.md":
        return data.startswith(last)
    return set(_SAVED.findall(last)[:-1]) <= set(_SAVED.findall(data))


def _wrong(desk: Desk, said: Sequence[str]) -> tuple[list[str], int]:
    """Return what was acknowledged and is neither there nor to be had back, or is there twice; and what was had back."""
    acknowledged: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for line in said:
        kind, _, token = line.partition(" ")
        if kind in acknowledged:
            acknowledged[kind].append(token)
    log = desk.log("s1")
    entries, wrong = verifier.entries(log) if log.exists() else ([], [])
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
    share=7,
    in_memory=True,
    run=write_at_once,
    passes="every token once, or a returned conflict; 0 torn reads of files that are replaced, in ≥ 1M; "
    "what an editor's save took away, in place too, is in the history",
    defects=(
        Defect(
            "files/local.py",
            " as temporary, directory.locked(self._lock_seconds):\n"
            "                self._tidy(directory, name, is_new=directory.look(name) is None, own=temporary)\n"
            "                _compare(directory, name, expect)\n"
            "                directory.replace(temporary, name, expect)\n",
            " as temporary:\n"
            "                _compare(directory, name, expect)\n"
            "                directory.settle(temporary, name)\n",
            "no lock is taken",
        ),
        Defect(
            "files/local.py",
            "                _compare(directory, name, expect)\n"
            "                directory.replace(temporary, name, expect)\n",
            "                directory.settle(temporary, name)\n",
            "what is replaced is not compared under the lock",
        ),
        Defect(
            "files/local.py",
            "                directory.replace(temporary, name, expect)\n",
            '                __import__("time").sleep(0.002)\n                directory.settle(temporary, name)\n',
            "what an editor saves after the last look is overwritten",
        ),
        Defect(
            "files/durable.py",
            "            write_all(self.disk, fd, data)\n            self.disk.fsync(fd)\n            yield name\n",
            '            cut = data.rfind(b"\\n", 0, -1) + 1 or len(data)\n'
            "            write_all(self.disk, fd, data[:cut])\n            self.disk.fsync(fd)\n"
            "            yield name\n            write_all(self.disk, fd, data[cut:])\n",
            "a file has its name before its last line",
        ),
    ),
)
